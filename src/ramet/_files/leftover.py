"""What the config of a model says that its graph does not: keys of no layer, and whatever else would be lost.

A graph keeps what is known to matter. Two configs that differ must never be called equal, so what is left is compared as
it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ramet._diff import Change, differences, equal
from ramet._files.frozen import map_json
from ramet._files.model_file import ModelFile
from ramet._files.text import Json
from ramet._graph import Argument, fold

__all__ = ["compare_raw_configs", "shares_settings"]

# Keys of a layer or a model that the graph, or the comparison of compile settings, tells of.
_TOLD = frozenset(
    {"module", "class_name", "config", "registered_name", "name", "inbound_nodes", "build_config", "compile_config",
     "shared_object_id"}
)  # fmt: skip
# Where the settings of layers come from that hold no state. Keras makes one for each layer when it loads a file, so a model
# and its reloaded copy would always seem to share other ones.
_SETTINGS = frozenset(
    {
        "builtins",
        "keras.activations",
        "keras.constraints",
        "keras.dtype_policies",
        "keras.initializers",
        "keras.regularizers",
    }
)
_TOLD_BY_MODELS = frozenset(
    {"name", "trainable", "layers", "input_layers", "output_layers", "dtype", "build_input_shape"}
)


def compare_raw_configs(before: ModelFile, after: ModelFile, *, told: bool) -> Iterator[Change]:
    """Changes of keys that no graph has; where nothing else has changed, of every other value, too.

    Args:
        before: the one file.
        after: the other, of the same kind.
        told: whether other differences between the models are known already: what else is different in their configs
            may follow from them.
    """
    if before.config is None or after.config is None:
        return
    found = False
    ours, theirs = before.records, after.records
    for path in ours if ours is not theirs else ():
        if path in theirs:
            for what, old, new in differences(_untold(ours[path]), _untold(theirs[path])):
                found = True
                yield Change("file", path, path, what, old, new)
    if told or found:
        return
    texts = before.training_config, after.training_config
    for name, pair in (("config", (before.config, after.config)), ("training_config", texts)):
        if pair[0] is pair[1]:
            continue
        old, new = map(_frozen, pair)
        if not equal(old, new):
            for what, was, now in differences(old, new, name=name):
                yield Change("file", "", "", what, was, now)


def shares_settings(file: ModelFile) -> bool:
    """Return whether layers in a file share initializers or other settings that the user passed as one object."""
    waiting: list[Json] = [file.config, file.training_config]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "shared_object_id" in item and _is_setting(item) and not _is_policy(item):
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _untold(record: dict[str, Json]) -> Argument:
    """The parts of a record that the graph does not have."""
    left = {key: value for key, value in record.items() if key not in _TOLD}
    config = record.get("config")
    if isinstance(config, dict) and isinstance(config.get("layers"), list):
        inside = {key: value for key, value in config.items() if key not in _TOLD_BY_MODELS}
        left |= {"config": inside} if inside else {}
    return _frozen(left)


def _frozen(config: Json) -> Argument:
    return map_json(_numbered(config), lambda _: False, lambda item: item)


def _numbered(config: Json) -> Json:
    """The config with shared objects counted in their order: their numbers differ from one save to the next."""
    numbers: dict[object, int] = {}
    waiting: list[Json] = [config]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if type(item.get("shared_object_id")) is int and not _is_setting(item):
                numbers.setdefault(item["shared_object_id"], len(numbers))
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))

    def join(item: Json, done: list[Json]) -> Json:
        if not isinstance(item, dict):
            return done if isinstance(item, list) else item
        kept = dict(zip(item, done, strict=True))
        if type(item.get("shared_object_id")) is int:
            number = kept.pop("shared_object_id")
            kept |= {} if _is_setting(item) else {"shared object": numbers[number]}
        return kept

    return fold(config, _inside, join)


def _is_setting(record: dict[str, Json]) -> bool:
    return record.get("module") in _SETTINGS or _is_policy(record)


def _is_policy(record: dict[str, Json]) -> bool:
    module, name = record.get("module"), str(record.get("class_name"))
    return module in ("keras", "keras.dtype_policies") and name.endswith(("DTypePolicy", "DTypePolicyMap"))


def _inside(item: Json) -> Iterable[Json] | None:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else None
