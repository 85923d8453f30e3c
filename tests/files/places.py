"""Places in a config, and markers to put there."""

import contextlib
import copy
from unittest import mock

NAME = "ramet-tests>marker"
# A function and an object that only a registry can have. Where Keras looks one of them up, it looks up anything.
MARKERS = (
    {"class_name": "function", "config": NAME, "module": None, "registered_name": NAME},
    {"class_name": NAME, "config": {}, "module": None, "registered_name": NAME},
)


def places(value, path=()):
    """Yield the path of every value in a config, the config itself first."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def put(config, path, value):
    """Return the config with another value at a path."""
    if not path:
        return copy.deepcopy(value)
    changed = copy.deepcopy(config)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def looks_up(config, load, functions):
    """Return whether a loader looks up the marker in a config.

    Args:
        config: A config with a marker.
        load: Loads a config, and may raise anything.
        functions: The functions that look up names, as pairs of a module and a name.
    """
    names = []

    def recording(function):
        def recorded(*args, **kwargs):
            names.extend(args[:2])
            return function(*args, **kwargs)

        return recorded

    with contextlib.ExitStack() as stack:
        for module, name in functions:
            stack.enter_context(mock.patch.object(module, name, recording(getattr(module, name))))
        stack.enter_context(contextlib.suppress(Exception))
        load(config)
    return NAME in [name for name in names if isinstance(name, str)]
