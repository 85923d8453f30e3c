"""Read, show and scan one untrusted file."""

from ramet._files import Limits, list_file, open_model_file, scan
from ramet.errors import RametError

READ = "read"
# Less time than ramet gives the process that reads HDF5, so that a campaign makes progress.
LIMITS = Limits(seconds=5)


def look(path, *, isolated):
    """Return the answers of the reader and of the scan: "read", a verdict, or the name of the error.

    Args:
        path: The path of the file.
        isolated: Whether HDF5 is read in a separate process, as ramet does.

    Raises:
        Exception: Any error that is not one of ramet, which a campaign looks for.
    """
    return _answer(_read, path, isolated), _answer(_scanned, path, isolated)


def _answer(work, path, isolated):
    try:
        return work(path, isolated)
    except RametError as error:
        _check_text(str(error))
        return type(error).__name__


def _read(path, isolated):
    with open_model_file(path, LIMITS, isolated=isolated) as file:
        _check_text(str(list_file(file)))
        file.graph.to_json().encode()
        _check_text(str(list_file(file, weights=True)))
    return READ


def _scanned(path, isolated):
    report = scan(path, LIMITS, isolated=isolated)
    _check_text(str(report))
    report.to_json().encode()
    return report.verdict


def _check_text(text):
    """Check that no control characters from a file reach the terminal."""
    odd = next((line for line in text.split("\n") if not line.isprintable()), None)
    if odd is not None:
        raise AssertionError(f"a line with control characters: {odd!a}")
