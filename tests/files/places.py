"""Places in a config, and markers that are put there."""

import copy

NAME = "ramet-tests>marker"
# A function and an object that only a registry knows. Where Keras asks for one of them, it would ask for anything.
MARKERS = (
    {"class_name": "function", "config": NAME, "module": None, "registered_name": NAME},
    {"class_name": NAME, "config": {}, "module": None, "registered_name": NAME},
)


def places(value, path=()):
    """The path of every value in a config, the config itself first."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def put(config, path, value):
    """The config with another value at a path."""
    if not path:
        return copy.deepcopy(value)
    changed = copy.deepcopy(config)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed
