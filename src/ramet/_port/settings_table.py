"""Which classes, names and settings the newest Keras 3 has."""

from __future__ import annotations

from ramet._port.releases import known_versions, release_of

NEWEST = known_versions()[-1]
# Classes that Keras exports under another name than their own, which is in HDF5 files.
EXPORTED = {"GroupedQueryAttention": "GroupQueryAttention"}


def has_class(name: str) -> bool:
    """Return whether the newest Keras has a class of this full name: `keras.layers.Dense`."""
    return release_of(NEWEST).find(name) is not None


def takes_setting(name: str, setting: str) -> bool:
    """Return whether a class of the newest Keras takes a setting."""
    found = release_of(NEWEST).find(name)
    return found is not None and found.takes(setting)


def has_name(kind: str, name: str) -> bool:
    """Return whether the newest Keras knows a short name, such as "relu" among the "activations"."""
    return name in release_of(NEWEST).names(kind)
