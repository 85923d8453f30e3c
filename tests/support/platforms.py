"""Marks of tests that need what only some systems have."""

import sys

import pytest

posix = pytest.mark.skipif(
    sys.platform == "win32",
    reason="Windows has other signals, links, permissions and file names; Linux and macOS run this",
)
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits the memory of a process, and has /proc; Linux runs this"
)
