"""Whether an op is of a class: asked of the live op where there is one, else by names."""

from __future__ import annotations

from collections.abc import Callable

from ramet._select.candidate import Candidate

__all__ = ["class_test"]


def class_test(classes: tuple[type | str, ...]) -> Callable[[Candidate], bool]:
    """A function that tells whether an op is of one of the classes."""
    types = tuple(item for item in classes if isinstance(item, type))
    names = frozenset(item for item in classes if isinstance(item, str))
    dotted = frozenset(name for name in names if "." in name)
    known: dict[type, bool] = {}  # most ops of a model are of a few classes

    def live(kind: type) -> bool:
        return issubclass(kind, types) or any(
            base.__name__ in names or _is_one_of(dotted, base.__module__, base.__name__) for base in kind.__mro__
        )

    def test(candidate: Candidate) -> bool:
        op = candidate.op
        if op.registered_name in names:
            return True
        if candidate.live is not None:
            kind = type(candidate.live)
            if kind not in known:
                known[kind] = live(kind)
            return known[kind]
        if op.class_name in names or _is_one_of(dotted, op.module, op.class_name):
            return True
        return any(_is_class(item, op.class_name, op.module, op.registered_name) for item in types)

    return test


def _is_one_of(dotted: frozenset[str], module: str | None, name: str) -> bool:
    if module is None:
        return False
    return any(
        own == name and _same_module(where, module) for where, _, own in (item.rpartition(".") for item in dotted)
    )


def _is_class(item: type, name: str, module: str | None, registered: str | None) -> bool:
    """Whether a class is the one that names describe; data knows no base classes."""
    if item.__name__ != name:
        return False
    if module is not None:
        return _same_module(module, item.__module__)
    # A file names no module for a registered class, which is never Keras' own.
    package = (registered or "").rpartition(">")[0]
    return not package or item.__module__.partition(".")[0] != "keras"


def _same_module(first: str, second: str) -> bool:
    """Whether two names of a module can mean one: `keras.layers` is where `keras.src.layers.core.dense` is public."""
    if first == second:
        return True
    public, private = sorted((first, second), key=lambda name: ".src." in f"{name}.")
    shown = private.replace(".src.", ".", 1)
    return private != shown and f"{shown}.".startswith(f"{public}.")
