"""Keras' global name counters. A layer made for a moment must not rename the user's next ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras


@contextlib.contextmanager
def names_untouched() -> Iterator[None]:
    """Whatever is named inside, the next automatic names are the ones that would have come."""
    counters = _counters()
    before = dict(counters)
    try:
        yield
    finally:
        counters.clear()
        counters.update(before)


def _counters() -> Any:
    # The counters live in a module without a public name; a public function of that module knows them.
    keras.backend.get_uid("ramet")  # makes the table if there is none yet
    table = keras.utils.clear_session.__wrapped__ if hasattr(keras.utils.clear_session, "__wrapped__") else None
    state = (table or keras.utils.clear_session).__globals__["get_global_attribute"]
    counters = state("object_name_uids")
    counters["ramet"] -= 1
    if counters["ramet"] == 0:
        del counters["ramet"]
    return counters
