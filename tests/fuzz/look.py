"""Read, show, scan and port one untrusted file."""

from ramet import port
from ramet._files import Limits, list_file, open_model_file, scan
from ramet.errors import RametError

READ = "read"
PORTED, REFUSED = "ported", "refused"
# The file that a port writes, beside the one that is read.
TARGET = "ported.keras"
# Less time than ramet gives the process that reads HDF5, so that a campaign makes progress.
LIMITS = Limits(seconds=5)


def look(path, *, isolated):
    """Return the answers of the reader, of the scan and of the port: "read", a verdict, "ported", or the name of the error.

    Args:
        path: The path of the file.
        isolated: Whether HDF5 is read in a separate process, as ramet does.

    Raises:
        Exception: Any error that is not one of ramet, which a campaign looks for.
    """
    return tuple(_answer(work, path, isolated) for work in (_read, _scanned, _ported))


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


def _ported(path, isolated):
    is_json = path.suffix == ".json" and not path.name.endswith(".weights.json")
    weights = path.with_suffix(".weights.h5") if is_json else None
    for older in ("3.3", "tf_keras"):
        _answer(lambda *_, to=older: _check_port(port(path, to=to, weights=weights, isolated=isolated)), path, isolated)
    target = path.with_name(TARGET)
    try:
        report = port(path, target, weights=weights, isolated=isolated, force=True)
        _check_port(report)
        verdict = scan(target, LIMITS, isolated=isolated).verdict
        # A file that is current already is copied with the names of the user's classes in it.
        assert verdict == "safe" or (report.is_current and verdict == "needs trust"), f"the ported file is {verdict}"
    finally:
        target.unlink(missing_ok=True)
    return PORTED


def _check_port(report):
    for text in (str(report), report.to_markdown()):
        _check_text(text)
    report.to_json().encode()
    return REFUSED if report.refusals else PORTED


def _check_text(text):
    """Check that no control characters from a file reach the terminal."""
    odd = next((line for line in text.split("\n") if not line.isprintable()), None)
    if odd is not None:
        raise AssertionError(f"a line with control characters: {odd!a}")
