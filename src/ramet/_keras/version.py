"""Which Keras is here, and whether it is one that ramet knows."""

from __future__ import annotations

import warnings

import keras

from ramet.errors import UnsupportedKerasError, UntestedKerasWarning

OLDEST = (3, 12)
NEWEST_TESTED = (3, 15)

_checked: set[str] = set()


def check_version(version: str | None = None) -> None:
    """Refuse a Keras older than the oldest supported one; warn once about one newer than any tested."""
    version = keras.__version__ if version is None else version
    if version in _checked:
        return
    release = _release(version)
    if release < OLDEST:
        raise UnsupportedKerasError(
            f"Cannot use Keras {version}: ramet needs Keras {_dotted(OLDEST)} or newer.",
            fix=f"pip install 'keras>={_dotted(OLDEST)}'.",
        )
    _checked.add(version)
    if release > NEWEST_TESTED:
        warnings.warn(
            f"Keras {version} is newer than the newest one ramet was tested with ({_dotted(NEWEST_TESTED)}). "
            "Twins are made as usual; compare one with its original before you rely on it.",
            UntestedKerasWarning,
            stacklevel=2,
        )


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int("".join(digit for digit in minor if digit.isdigit()) or 0)


def _dotted(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))
