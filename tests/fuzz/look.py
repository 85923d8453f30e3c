"""What the program does with a file that nobody vouches for: read it, show it, scan it."""

from ramet._cli.show import show_text
from ramet._files import Limits, read_archive, scan
from ramet._graph import to_json
from ramet.errors import RametError

READ = "read"
# Less time than the product gives a process that reads HDF5, so that a campaign gets on.
LIMITS = Limits(seconds=5)


def look(path, *, isolated):
    """How the reader and the scan answer: each "read", a verdict, or the name of the error that refuses.

    Args:
        path: of the file.
        isolated: whether HDF5 is read in a process of its own, as the product does.

    Raises:
        Exception: any other than ramet's own, which is what a campaign looks for.
    """
    return _answer(_read, path, isolated), _answer(_scanned, path, isolated)


def _answer(work, path, isolated):
    try:
        return work(path, isolated)
    except RametError as error:
        _check_text(str(error))
        return type(error).__name__


def _read(path, isolated):
    with read_archive(path, LIMITS, isolated=isolated) as file:
        _check_text(show_text(file, weights=False, colour=False))
        to_json(file.graph).encode()
        _check_text(show_text(file, weights=True, colour=False))
    return READ


def _scanned(path, isolated):
    report = scan(path, LIMITS, isolated=isolated)
    _check_text(str(report))
    report.to_json().encode()
    return report.verdict


def _check_text(text):
    """Nothing in a file reaches a terminal as it is: it might be an order to the terminal."""
    odd = next((line for line in text.split("\n") if not line.isprintable()), None)
    if odd is not None:
        raise AssertionError(f"a line with characters that a terminal acts on: {odd!a}")
