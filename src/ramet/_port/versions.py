"""Configs of one Keras 3 release, rewritten for another one.

Keras adds settings to its classes in every release and writes all of them, so that an older release finds settings that it
does not know and refuses the file. `keras_settings.json`, written by `tools/keras_settings.py`, lists the classes of every
release with their settings and defaults. With this table a config is rewritten as data, without Keras:

- A setting that the target does not have is dropped if it has its default value; otherwise it is translated or refused.
- A setting that the file does not contain and whose default changed is written with the default of the source.
- A class, function or text that the target does not have is refused, unless another name means the same.
- Whatever concerns training only, in `compile_config`, is left out instead of refused.

Classes that are not Keras' own are not changed; Keras' own objects in their configs are.

Weights files have the same layout from Keras 3.0 to 3.15, except for some variables of optimizers, see `rename_weights`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ramet._files import Json, describe_json, map_objects, snake_case, walk_json
from ramet._port.notes import Notes
from ramet._port.releases import (
    MARK,
    KerasClass,
    Release,
    first_release,
    has_no_default,
    is_same,
    known_versions,
    release_of,
    resolve_version,
)
from ramet._port.version_calls import Calls
from ramet._port.version_rules import adapt_to_loader, check_behavior, is_before, is_loaded_as, renamed_classes
from ramet._port.version_weights import rename_weights

__all__ = ["known_versions", "rename_weights", "resolve_version", "rewrite_for"]

_Object: TypeAlias = dict[str, Json]

# Since these releases, a file contains dtype policies as objects, and nested inputs and outputs.
_POLICY_OBJECTS = "3.4"
# Since this release, a single input or output is not written as a list of one.
_SINGLE_TENSORS = "3.11"

# Settings and arguments of calls that got another name.
_RENAMED: dict[str, tuple[tuple[str, str], ...]] = {
    "keras.src.ops.nn.Threshold": (("threshold_value", "threshold"), ("value", "default_value"))
}
# Values that mean the same as the default, as Keras writes them.
_LIKE_DEFAULT: dict[tuple[str, str], Json] = {("keras.layers.InputLayer", "ragged"): False}
_KINDS = {
    "activation": "activations",
    "initializer": "initializers",
    "regularizer": "regularizers",
    "constraint": "constraints",
}
_COMPILE_KINDS = {"optimizer": "optimizers", "loss": "losses", "metrics": "metrics", "weighted_metrics": "metrics"}


def rewrite_for(config: dict[str, Json], *, source: str, target: str, notes: Notes) -> dict[str, Json]:
    """Return the config of a model for another release of Keras.

    Args:
        config: The whole `config.json` of a `.keras` file; it is not changed.
        source: The release that wrote it, as `resolve_version` returns it.
        target: The release that is to load it.
        notes: Receives what is changed and left out, and every reason to refuse the file. With a refusal, the returned
            config is not usable.
    """
    holder = {"": map_objects(config, dict)}
    # Also for the same release: it may have written what it cannot load.
    _Rewriter(release_of(source), release_of(target), notes).rewrite(holder)
    rewritten: dict[str, Json] = holder[""]
    return rewritten


@dataclass(frozen=True, slots=True)
class _Rewriter:
    source: Release
    target: Release
    notes: Notes

    def rewrite(self, holder: _Object, path: str | None = None) -> None:
        """Rewrite all objects in a value in place, the outermost first: what it drops is not visited."""
        waiting: list[tuple[Any, Any, str | None]] = [(holder, key, path) for key in holder]
        while waiting:
            owner, key, path = waiting.pop()
            value = owner[key]
            if isinstance(value, dict) and isinstance(value.get("class_name"), str):
                path = self._path_of(value, path)
                replaced = self._rewrite_object(value, path)
                owner[key] = value = replaced
            if isinstance(value, dict):
                waiting += [(value, each, path) for each in reversed(value)]
            elif isinstance(value, list):
                waiting += [(value, each, path) for each in reversed(range(len(value)))]

    def _path_of(self, value: _Object, path: str | None) -> str:
        """Return the path of a layer, or of the layer that an object is part of. The path of the outer model is empty."""
        if path is None:
            return ""
        config = value.get("config")
        name = value.get("name")
        if name is None and isinstance(config, dict):
            known = self.source.find(_full_name(value))
            is_layer = known.is_layer if known else "trainable" in config
            name = config.get("name") if is_layer else None
        return "/".join(filter(None, (path, name))) if isinstance(name, str) else path

    def _rewrite_object(self, value: _Object, path: str) -> Json:
        if value["class_name"] == "function":
            self._check_function(value, path)
            return value
        name = _full_name(value)
        if name in _POLICIES:
            return self._policy(value, path)
        is_own = _is_own(value)
        if isinstance(value.get("compile_config"), dict):
            self._compile_config(value, path, is_own=is_own)
        config = value.get("config")
        if isinstance(config, dict) and isinstance(config.get("layers"), list) and "output_layers" in config:
            # A functional model, whatever its class.
            self._tensors(config, path)
            self._free_names(value, config, path)
        if not is_own or not isinstance(config, dict):
            return value
        before = self.source.find(name)
        if before is None:
            return value  # the target refuses what the source would have refused
        after = self._find_in_target(value, name, path)
        if after is None:
            return value
        calls = Calls(name, before, after, value)
        self._settings(config, calls, path)
        self._arguments(config, calls, path)
        check_behavior(name, value, self.source.version, self.target.version, path, self.notes)
        adapt_to_loader(name, value, self.target.version, path, self.notes)
        return value

    # Names.

    def _find_in_target(self, value: _Object, name: str, path: str) -> KerasClass | None:
        """Return the class in the target, and write the name that it has there; refuse it if it is not there."""
        found = self.target.find(name)
        if found is not None:
            return found
        own = name.rpartition(".")[2]
        for other in (*self.source.other_names(name), *renamed_classes(name)):
            if (found := self.target.find(other)) is not None:
                if not is_loaded_as(other):
                    return found
                value["module"], _, value["class_name"] = other.rpartition(".")
                self.notes.add(
                    "rewritten", path, f"{own} is called {value['class_name']} in Keras {self.target.version}"
                )
                return found
        has = [version for version in known_versions() if release_of(version).find(name) is not None]
        other = f"Keras {has[-1]} or older" if is_before(has[-1], self.target.version) else f"Keras {has[0]} or newer"
        reason = f"{own} does not exist in Keras {self.target.version}"
        self.notes.refuse(path, reason, f"replace it, or port for {other}.")
        return None

    def _check_function(self, value: _Object, path: str) -> None:
        name = value.get("config")
        if isinstance(name, str):
            self._check_name(name, ("activations", "losses", "metrics"), path)

    def _check_name(self, name: str, kinds: tuple[str, ...], path: str, setting: str = "") -> None:
        """Refuse the short name of a function or class that the target does not have, or has with other defaults."""
        what = f"{setting}='{name}'" if setting else name
        if name in self.source.names(*kinds) and name not in self.target.names(*kinds):
            since = first_release(name in release_of(version).names(*kinds) for version in known_versions())
            reason = f"{what} does not exist in Keras {self.target.version}"
            self.notes.refuse(path, reason, f"use another one, or port for Keras {since} or newer.")
            return
        for kind in kinds:
            before, after = (each.function(f"keras.{kind}.{name}") for each in (self.source, self.target))
            changed = _changed_defaults(before or {}, after or {})
            if changed:
                reason = f"the default of {changed[0]} in {what} is another one in Keras {self.target.version}"
                self.notes.refuse(path, reason, "use a layer in which this setting is explicit.")

    # Settings.

    def _settings(self, config: _Object, calls: Calls, path: str) -> None:
        """Drop, translate or refuse the settings that the target does not take, and add those whose default changed."""
        before, after = calls.before, calls.after
        for key in list(config):
            value = config[key]
            if key == "dtype" and not before.is_layer and value is not None and calls.moves_to_call(key):
                # Until Keras 3.10, operations take a dtype policy of this name, which has no effect.
                calls.set_argument(key, config.pop(key))
                self.notes.add("rewritten", path, f"dtype is an argument of the call in Keras {self.target.version}")
                continue
            if after.takes(key) or not before.takes(key):
                self._check_value(key, value, calls, path)
                continue
            renamed = next((other for pair in _RENAMED.get(calls.name, ()) for other in _partner(pair, key)), None)
            if renamed is not None and after.takes(renamed):
                config[renamed] = config.pop(key)
                self.notes.add("rewritten", path, f"{key} is {renamed} in Keras {self.target.version}")
            elif key == "name" and not before.is_layer:
                # Before Keras 3.11, most operations could not be named. Nothing refers to this name.
                config.pop(key)
                self.notes.add("dropped", path, "operations of this class have no name of their own")
            elif is_same(value, before.settings.get(key, {MARK: ""})) or _is_like_default(
                calls.name, key, value, config
            ):
                config.pop(key)
                is_default = is_same(value, before.settings.get(key, {MARK: ""}))
                what = "is the default of" if is_default else "means the same as the default of"
                self.notes.add("dropped", path, f"{key}={_python(value)} {what} Keras {self.source.version}")
            elif calls.moves_to_call(key):
                calls.set_argument(key, config.pop(key))
                self.notes.add("rewritten", path, f"{key} is an argument of the call in Keras {self.target.version}")
            else:
                self._refuse_setting(key, value, calls, path)
        for key, default in after.settings.items():
            earlier = before.settings.get(key, {MARK: ""})
            if has_no_default(default) and key not in before.settings:
                earlier = (before.call or {}).get(key, earlier)  # an argument of the call that was left out
            if key != "name" and key not in config and not has_no_default(earlier) and not is_same(default, earlier):
                config[key] = earlier
                self.notes.add(
                    "rewritten", path, f"{key}={_python(earlier)}, the default of Keras {self.source.version}"
                )

    def _refuse_setting(self, key: str, value: Json, calls: Calls, path: str) -> None:
        has = [version for version in known_versions() if (found := calls.at(version)) and found.takes(key)]
        is_removed = is_before(has[-1], self.target.version)
        other = f"port for Keras {has[-1]} or older" if is_removed else f"port for Keras {has[0]} or newer"
        default = calls.before.settings.get(key, {MARK: ""})
        way = f"set {key}={_python(default)}, or " if not has_no_default(default) else ""
        short = calls.name.rpartition(".")[2]
        reason = f"{short} has no setting {key} in Keras {self.target.version}, and here it is {_python(value)}"
        self.notes.refuse(path, reason, f"{way}{other}.")

    def _check_value(self, key: str, value: Json, calls: Calls, path: str) -> None:
        """Refuse a text that the target does not know: the name of a function, or one of a few allowed texts."""
        if not isinstance(value, str):
            return
        kind = next((kind for word, kind in _KINDS.items() if key.endswith(word)), None)
        if kind is not None:
            self._check_name(value, (kind,), path, key)
        before, after = calls.before.texts.get(key, ()), calls.after.texts.get(key, ())
        if value in before and after and value not in after:
            short = calls.name.rpartition(".")[2]
            reason = f"{short} does not know {key}='{value}' in Keras {self.target.version}"
            self.notes.refuse(path, reason, f"use one of {', '.join(after)}.")

    def _arguments(self, config: _Object, calls: Calls, path: str) -> None:
        """Drop, translate or refuse the arguments of calls that the target does not take."""
        for call in calls:
            calls.name_arguments(call)
            kwargs = call["kwargs"]
            for key in list(kwargs):
                if calls.after.call_takes(key):
                    continue
                value = kwargs.pop(key)
                if is_same(value, (calls.before.call or {}).get(key, {MARK: ""})):
                    self.notes.add(
                        "dropped", path, f"{key}={_python(value)} is the default of Keras {self.source.version}"
                    )
                elif (
                    calls.moves_to_settings(key)
                    and not _has_tensor(value)
                    and is_same(config.setdefault(key, value), value)
                ):
                    self.notes.add("rewritten", path, f"{key} is a setting in Keras {self.target.version}")
                else:
                    short = calls.name.rpartition(".")[2]
                    reason = f"{short} takes no argument {key} in its calls in Keras {self.target.version}"
                    self.notes.refuse(path, reason, f"call it without {key}.")

    # Parts of a config with a form of their own.

    def _policy(self, value: _Object, path: str) -> Json:
        """Return a dtype policy as the target writes it: before Keras 3.4 it is a name."""
        name = _full_name(value)
        config = value.get("config")
        if not isinstance(config, dict):
            return value
        if not is_before(self.target.version, _POLICY_OBJECTS):
            after = self._find_in_target(value, name, path)
            if after is not None and not is_before(self.source.version, _POLICY_OBJECTS):
                before = self.source.find(name)
                assert before is not None, "a policy of the source"
                self._settings(config, Calls(name, before, after, value), path)
            return value
        policy = config.get("name")
        if name in _PLAIN_POLICIES and isinstance(policy, str):
            self.notes.add("rewritten", path, f"the dtype policy is written as '{policy}'")
            return policy
        self.notes.refuse(
            path,
            f"Keras {self.target.version} cannot read a {value['class_name']}",
            f"use a plain dtype policy, or port for Keras {_POLICY_OBJECTS} or newer.",
        )
        return value

    def _tensors(self, config: _Object, path: str) -> None:
        """Write the inputs and outputs of a functional model as the target does."""
        for key in ("input_layers", "output_layers"):
            found = config.get(key)
            if not is_before(self.target.version, _SINGLE_TENSORS):
                is_older = is_before(self.source.version, _SINGLE_TENSORS)
                if is_older and isinstance(found, list) and len(found) == 1 and _is_tensor(found[0]):
                    config[key] = found[0]
                    self.notes.add("rewritten", path, f"{key}: one tensor is not a list of one")
                continue
            if _is_tensor(found):
                config[key] = [found]
                self.notes.add("rewritten", path, f"{key}: one tensor is a list of one")
            elif is_before(self.target.version, _POLICY_OBJECTS):
                items = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
                if not all(_is_tensor(item) for item in items):
                    what = "inputs" if key == "input_layers" else "outputs"
                    reason = f"Keras {self.target.version} has no nested {what}"
                    self.notes.refuse(path, reason, f"use a flat list or dict of {what}.")

    def _free_names(self, model: _Object, config: _Object, path: str) -> None:
        """Rename layers whose names could be given to operations, too.

        Before Keras 3.11, most operations have no name in a config and get one such as `concatenate_1` when they are
        loaded. If a layer of the same model has this name, Keras refuses the file.
        """
        layers = [
            each for each in config["layers"] if isinstance(each, dict) and isinstance(each.get("class_name"), str)
        ]
        unnamed = [each for each in layers if self._loses_name(each)]
        taken = "|".join({re.escape(snake_case(each["class_name"])) for each in unnamed})
        names = {str(each.get("name")) for each in layers}
        renamed: dict[str, str] = {}
        for layer in layers:
            name = str(layer.get("name"))
            if taken and re.fullmatch(rf"(?:{taken})(?:_\d+)?", name) and layer not in unnamed:
                new = next(new for new in _candidates(name) if new not in names)
                names.add(new)
                renamed[name] = layer["name"] = new
                if isinstance(layer.get("config"), dict):
                    layer["config"]["name"] = new
                self.notes.add("renamed", "/".join(filter(None, (path, name))), f"the layer is called {new}")
        if renamed:
            # Names of outputs are keys of losses and metrics.
            _rename_tensors([config["layers"], config.get("input_layers"), config.get("output_layers")], renamed)
            for setting in (model.get("compile_config") or {}).values():
                if isinstance(setting, dict) and "class_name" not in setting:
                    for name in renamed.keys() & setting.keys():
                        setting[renamed[name]] = setting.pop(name)

    def _loses_name(self, value: _Object) -> bool:
        before, after = (each.find(_full_name(value)) for each in (self.source, self.target))
        if not _is_own(value) or before is None or after is None or before.is_layer:
            return False
        return not after.takes("name")

    def _compile_config(self, value: _Object, path: str, *, is_own: bool) -> None:
        """Rewrite how a model was compiled. What the target does not have is left out: the model itself is complete."""
        config = value["compile_config"]
        before, after = (each.find("keras.Model") for each in (self.source, self.target))
        assert before is not None, "every release has models"
        assert after is not None, "every release has models"
        for key in list(config):
            if is_own and key in before.compile and key not in after.compile:
                setting = config.pop(key)
                kind = "dropped" if is_same(setting, before.compile[key]) else "left out"
                self.notes.add(kind, path, f"{key}={_python(setting)} of `compile`")  # type: ignore[arg-type]  # one of two
                continue
            found = Notes()
            one = {key: config[key]}
            rewriter = _Rewriter(self.source, self.target, found)
            if kinds := _COMPILE_KINDS.get(key):
                for text in _texts(one[key]):
                    rewriter._check_name(text, (kinds, "losses") if kinds == "metrics" else (kinds,), path)
            rewriter.rewrite(one, path)
            if not found.refusals:
                config[key] = one[key]
                for note in found:
                    self.notes.add(note.kind, note.path, note.text)
                continue
            reason = found.refusals[0].reason
            if key in ("metrics", "weighted_metrics"):
                config[key] = None
                self.notes.add("left out", path, f"{key} of `compile`: {reason}")
            else:
                del value["compile_config"]
                self.notes.add(
                    "left out", path, f"how the model was compiled, and the state of its optimizer: {reason}"
                )
                return


_PLAIN_POLICIES = ("keras.DTypePolicy", "keras.FloatDTypePolicy", "keras.dtype_policies.DTypePolicy")
_POLICIES = frozenset(
    [
        *_PLAIN_POLICIES,
        "keras.dtype_policies.FloatDTypePolicy",
        "keras.dtype_policies.DTypePolicyMap",
        *(
            f"keras.dtype_policies.{kind}DTypePolicy"
            for kind in ("AWQ", "GPTQ", "Int4", "Quantized", "QuantizedFloat8")
        ),
    ]
)


def _full_name(value: _Object) -> str:
    return f"{value.get('module')}.{value['class_name']}"


def _is_own(value: _Object) -> bool:
    """Return whether an object is of one of Keras' own classes, rather than of a registered one."""
    module = value.get("module")
    registered = value.get("registered_name")
    is_keras = isinstance(module, str) and module.partition(".")[0] == "keras"
    return is_keras and registered in (None, value["class_name"])


def _changed_defaults(before: dict[str, Json], after: dict[str, Json]) -> list[str]:
    shared = [
        key for key in before if key in after and not has_no_default(before[key]) and not has_no_default(after[key])
    ]
    return [key for key in shared if not is_same(before[key], after[key])]


def _partner(pair: tuple[str, str], name: str) -> Iterator[str]:
    if name in pair:
        yield pair[1 - pair.index(name)]


def _is_like_default(name: str, key: str, value: Json, config: _Object) -> bool:
    if key == "lora_alpha" and value == config.get("lora_rank"):
        return True  # a scale of 1, which is all that older releases have
    # Before a class had this setting, it worked on channels at the end.
    return is_same(value, _LIKE_DEFAULT.get((name, key), {MARK: ""})) or (
        key == "data_format" and value == "channels_last"
    )


def _is_tensor(value: Json) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], str)


def _candidates(name: str) -> Iterator[str]:
    yield f"{name}_layer"
    yield from (f"{name}_layer_{number}" for number in range(1, 10**6))


def _rename_tensors(value: Json, renamed: dict[str, str]) -> None:
    """Rename layers in all references to tensors, `[name, call, output]`, in place."""
    for item in walk_json(value):
        if _is_tensor(item) and item[0] in renamed and all(type(each) is int for each in item[1:]):
            item[0] = renamed[item[0]]


def _has_tensor(value: Json) -> bool:
    return isinstance(value, dict | list) and "__keras_tensor__" in json.dumps(value)


def _texts(value: Json) -> Iterator[str]:
    """Yield the texts in nested lists and dicts that are not objects."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, dict) and "class_name" not in item:
            waiting += item.values()


def _python(value: Json) -> str:
    """Return a setting as one would write it in Python."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value) if not isinstance(value, str) or len(value) < 40 else describe_json(value)
    if isinstance(value, list) and len(value) < 5 and not any(isinstance(item, list | dict) for item in value):
        return repr(tuple(value))
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        return f"a {value['class_name']}"
    return describe_json(value)
