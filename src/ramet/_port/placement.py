"""Find the values of every variable in a file of Keras 2: by the names of layers and variables.

The result is stored in the drafts of the layers (`Layer.arrays`). Every array of the file is accounted for: used, converted,
or left out with a reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ramet._files import ArraySpec, snake_case
from ramet._port.conversions import conversion_of
from ramet._port.draft import Layer, Model
from ramet._port.notes import Notes
from ramet._port.settings_table import EXPORTED, has_class
from ramet._port.variables import Slot, all_slots, inner_layers, own_slots, saved_order, walk_layers
from ramet._report import escape, joined

if TYPE_CHECKING:
    import numpy as np

# Array, by its path in the source file.
_Weights: TypeAlias = dict[str, ArraySpec]
Use: TypeAlias = Literal["used", "converted", "left out"]


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one variable of the target.

    Attributes:
        paths: The arrays of the source file from which they are made; several for gates that Keras 1 keeps apart.
        shape: The shape of the values.
        dtype: Their dtype.
        convert: Makes the values from those arrays, or None if they are unchanged.
        how: What the conversion does, for the report.
    """

    paths: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    convert: Callable[..., np.ndarray[Any, Any]] | None = None
    how: str = ""

    def then(self, change: Callable[[Any], Any], order: Sequence[int], how: str) -> Values:
        """Return the values after another conversion, which gives their axes another order."""
        before = self.convert

        def convert(*parts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            changed: np.ndarray[Any, Any] = change(parts[0] if before is None else before(*parts))
            return changed

        shape = tuple(self.shape[axis] for axis in order)
        return Values(self.paths, shape, self.dtype, convert, f"{self.how}, {how}" if self.how else how)


def scaled_gates(values: Values, class_name: str) -> Values:
    """Return a kernel or bias of a recurrent layer with the columns of its gates, not of its candidate, times 1.2."""
    names = "zrh" if class_name.startswith("GRU") else "ifco"
    before = values.convert

    def convert(*parts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        import numpy as np

        array = parts[0] if before is None else before(*parts)
        columns = np.split(array, len(names), axis=-1)
        scaled = [column if gate in "hc" else column * 1.2 for gate, column in zip(names, columns, strict=True)]
        return np.concatenate(scaled, axis=-1).astype(array.dtype)

    how = "gates times 1.2" + (f", {values.how}" if values.how else "")
    return Values(values.paths, values.shape, values.dtype, convert, how)


FLIPPED = "its kernel is flipped"
_CORRELATED = re.compile(r"Conv[123]D(Transpose)?|ConvLSTM2D")


def flip_kernels(model: Model, notes: Notes) -> None:
    """Flip the kernels of convolutions, in place: Theano convolves where TensorFlow correlates."""
    for path, layer in walk_layers(model):
        if not _CORRELATED.fullmatch(layer.class_name):
            continue
        kernels = [("cell", 0), ("cell", 1)] if layer.class_name == "ConvLSTM2D" else [("", 0)]
        for key in kernels:
            if key in layer.arrays:
                layer.arrays[key] = _flipped(layer.arrays[key])
        if kernels[0] in layer.arrays:
            notes.add("translated", path, f"{FLIPPED}: the file was written with Theano")


def _flipped(values: Values) -> Values:
    before = values.convert

    def convert(*parts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        array = parts[0] if before is None else before(*parts)
        return array[(slice(None, None, -1),) * (array.ndim - 2)]

    how = "flipped" + (f", {values.how}" if values.how else "")
    return Values(values.paths, values.shape, values.dtype, convert, how)


@dataclass(slots=True)
class Arrays:
    """What happens to each array of the source file: (what, the variable or the reason), by its path."""

    fates: dict[str, tuple[Use, str]] = field(default_factory=dict)

    def use(self, source: Values, variable: str) -> None:
        """Record that a variable gets its values from some arrays."""
        for path in source.paths:
            what: Use = "converted" if source.how else "used"
            self.fates[path] = (what, f"{variable}, {source.how}" if source.how else variable)

    def leave_out(self, path: str, reason: str) -> None:
        """Record that an array is not needed."""
        self.fates[path] = ("left out", reason)


def place_named(
    model: Model,
    groups: Sequence[tuple[str, list[tuple[str, str]]]],
    specs: _Weights,
    arrays: Arrays,
    notes: Notes,
    *,
    is_keras_1: bool = False,
) -> None:
    """Place the weights of an HDF5 file of Keras 1 or 2.

    Args:
        model: The model.
        groups: The outermost layers in the file: name, and for each weight its name and its path in the file, in order.
        specs: The arrays of the file.
        arrays: Gets the fate of every array.
        notes: Gets reasons to refuse the file.
        is_keras_1: Whether Keras 1 wrote the file.
    """
    by_name = {layer.source: layer for layer in model.layers}
    filled = [(name, weights) for name, weights in groups if weights]
    layers = {name: by_name.get(name) for name, _ in filled}
    if any(layer is None for layer in layers.values()):
        # A weights file of another instance of the model, with other numbers in the names: Keras 2 goes by the order.
        with_weights = [layer for layer in model.layers if all_slots(layer) != []]
        if len(with_weights) == len(filled):
            layers = {name: layer for (name, _), layer in zip(filled, with_weights, strict=True)}
    for name, weights in filled:
        layer = layers[name]
        if layer is None:
            reason = f"the file has weights of a layer {name!a}, which the model does not have"
            notes.refuse("", reason, "use the weights that were saved with this model.")
            continue
        _place_layer(layer, weights, specs, arrays, notes, is_keras_1=is_keras_1)
    if not filled and any(all_slots(layer) for layer in model.layers):
        fix = "give the original an Input(shape=...), and save it after it was trained."
        notes.refuse("", "the file has no weights: the model was saved before it had any", fix)
        return
    found = {id(layer) for layer in layers.values()}
    for layer in model.layers:
        expected = all_slots(layer)
        if expected and id(layer) not in found:
            _refuse_missing(layer, [slot.name for slot in expected], notes)


def _refuse_missing(layer: Layer, names: Iterable[str], notes: Notes) -> None:
    reason = f"the file has no weights for {joined(list(names), 3)} of this layer"
    notes.refuse(layer.name, reason, "use the weights that were saved with this model.")


def _place_layer(
    layer: Layer,
    weights: list[tuple[str, str]],
    specs: _Weights,
    arrays: Arrays,
    notes: Notes,
    *,
    is_keras_1: bool,
) -> None:
    slots = saved_order(layer)
    if slots is None:
        _place_unknown(layer, weights, specs, arrays, notes)
        return
    for name, path in weights:
        if _variable_name(name) in _WITHOUT_COUNTERPART:
            arrays.leave_out(path, _WITHOUT_COUNTERPART[_variable_name(name)])
    weights = [(name, path) for name, path in weights if _variable_name(name) not in _WITHOUT_COUNTERPART]
    names = [name for name, _ in weights]
    paths = [path for _, path in weights]
    # Keras 1, and layers that were converted to other classes, keep other weights than the class has today.
    conversion = conversion_of(layer, [specs[path].shape for path in paths], is_keras_1=is_keras_1)
    if conversion is not None:
        for slot, step in zip(slots, conversion, strict=True):
            used = tuple(paths[number] for number in step.numbers)
            _fill(slot, Values(used, step.shape, specs[used[0]].dtype, step.convert, step.how), arrays, notes)
        return
    order = match_names(slots, names) or _match_order(slots, names, [specs[path].shape for path in paths], layer, notes)
    if order is None:
        reason = (
            f"its weights in the file, {joined([escape(name) for name in names], 4)}, are not those of the layer "
            f"({joined([slot.name for slot in slots], 4) or 'none'})"
        )
        fix = "use the weights that were saved with this model, or save both again with the version of Keras that wrote them."
        notes.refuse(layer.name, reason, fix)
        return
    for slot, number in zip(slots, order, strict=True):
        path = paths[number]
        _fill(slot, Values((path,), specs[path].shape, specs[path].dtype), arrays, notes)


# Variables in SavedModels that have no influence on the outputs outside training.
_WITHOUT_COUNTERPART = {"StateVar": "state of a random generator", "num_documents": "state of adapt()"}


def _fill(slot: Slot, source: Values, arrays: Arrays, notes: Notes) -> None:
    if not _fits(slot.shape, source.shape):
        wanted = "(" + ", ".join("?" if size is None else str(size) for size in slot.shape or ()) + ")"
        reason = f"its {slot.name} in the file has the shape {source.shape}, but its settings require {wanted}"
        notes.refuse(slot.layer.name, reason, "use the weights that were saved with this model.")
        return
    slot.layer.arrays[slot.group, slot.number] = source
    arrays.use(source, "/".join((*slot.owners, slot.name)))


def _fits(wanted: tuple[int | None, ...] | None, found: tuple[int, ...]) -> bool:
    if wanted is None:
        return True
    return len(wanted) == len(found) and all(size in (None, other) for size, other in zip(wanted, found, strict=True))


def _place_unknown(layer: Layer, weights: list[tuple[str, str]], specs: _Weights, arrays: Arrays, notes: Notes) -> None:
    """Place the weights of a class of the user: its own variables, in the order in which it creates them."""
    if layer.model is not None or inner_layers(layer):
        unknown = [(path, one) for path, one in _inside(layer) if one.model is None and own_slots(one) is None]
        for path, one in unknown:
            if weights and _is_of_keras(one, notes):
                _refuse_unknown(path, one, notes)
                continue
            if not notes.allows(one.class_name):
                continue  # refused for its class
            reason = f"its class {one.class_name!a} is not one of Keras, so its variables inside {layer.name!a} are not known"
            notes.refuse(path, reason, "save the nested model in a file of its own, and port that.")
        return
    if weights and _is_of_keras(layer, notes):
        _refuse_unknown(layer.name, layer, notes)
        return
    if not notes.allows(layer.class_name):
        return  # refused for its class
    if any(name.count("/") > 1 for name, _ in weights):
        reason = f"its class {layer.class_name!a} is not one of Keras, and has layers inside, whose order is not known"
        notes.refuse(layer.name, reason, "load its weights in code, into the class for Keras 3.")
        return
    for number, (name, path) in enumerate(weights):
        source = Values((path,), specs[path].shape, specs[path].dtype)
        layer.arrays["", number] = source
        arrays.use(source, f"{layer.source}/{_variable_name(name)}")


def _is_of_keras(layer: Layer, notes: Notes) -> bool:
    name = EXPORTED.get(layer.class_name, layer.class_name)
    return has_class(f"keras.layers.{name}") and not notes.allows(layer.class_name)


def _refuse_unknown(path: str, layer: Layer, notes: Notes) -> None:
    """Refuse a layer of Keras that is not among the rules: its weights would be lost, or in a wrong order."""
    reason = f"the order in which HDF5 files keep the weights of {layer.class_name} is not known"
    notes.refuse(
        path, reason, "load the file with the version of Keras that wrote it, save it as .keras, and port that."
    )


def _inside(layer: Layer) -> list[tuple[str, Layer]]:
    return list(walk_layers(Model("", "Sequential", [layer])))


# Names of weights: `bidirectional/forward_lstm/lstm_cell/kernel:0`.


def _variable_name(name: str) -> str:
    return name.rpartition("/")[2].partition(":")[0]


def match_names(slots: list[Slot], names: list[str]) -> list[int] | None:
    """Return for each slot the number of the weight with its name, or None if the names do not decide it."""
    if len(slots) != len(names):
        return None
    by_variable: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        by_variable.setdefault(_variable_name(name), []).append(number)
    expected: dict[str, list[Slot]] = {}
    for slot in slots:
        expected.setdefault(slot.name, []).append(slot)
    if {name: len(found) for name, found in expected.items()} != {
        name: len(found) for name, found in by_variable.items()
    }:
        return None
    chosen: dict[Slot, int] = {}
    for variable, group in expected.items():
        numbers = by_variable[variable]
        if len(group) == 1:
            chosen[group[0]] = numbers[0]
            continue
        owners = {owner for slot in group for owner in slot.owners}
        named = {number: [step for step in names[number].split("/")[:-1] if step in owners] for number in numbers}
        by_owner: dict[str, list[int]] = {}
        for number in numbers:
            by_owner.setdefault(named[number][-1] if named[number] else "", []).append(number)
        for slot in group:
            # Nearly always, a name contains the layer that the variable belongs to.
            near = by_owner.get(slot.owners[-1], [])
            fitting = [number for number in near if tuple(named[number]) == slot.owners]
            if len(fitting) != 1:
                fitting = [number for number in near if _belongs(slot, named[number], group)]
            if not fitting:
                fitting = [number for number in numbers if _belongs(slot, named[number], group)]
            if len(fitting) != 1:
                return None
            chosen[slot] = fitting[0]
    if len(set(chosen.values())) != len(slots):
        return None
    return [chosen[slot] for slot in slots]


def _belongs(slot: Slot, named: list[str], group: list[Slot]) -> bool:
    """Return whether the innermost of the layers that a weight's name contains is that of the slot."""
    if not named:
        return False
    # The names that occur must be those around the slot, in this order, and end with the innermost that is unique to it.
    inner = [owner for owner in slot.owners if owner in named]
    return inner == named and (slot.owners[-1] in named or _is_unique(slot, named, group))


def _is_unique(slot: Slot, named: list[str], group: list[Slot]) -> bool:
    return sum([owner for owner in other.owners if owner in named] == named for other in group) == 1


def _match_order(
    slots: list[Slot], names: list[str], shapes: list[tuple[int, ...]], layer: Layer, notes: Notes
) -> list[int] | None:
    """Return the weights in order, as Keras 2 loads them, if the names of the variables and the shapes are those expected."""
    if len(slots) != len(names):
        return None
    variables = [_variable_name(name) for name in names]
    known = {slot.name for slot in slots}
    plain = [_without_number(name) for name in variables]
    if not known.isdisjoint(plain) and plain != [slot.name for slot in slots]:
        return None
    if not all(_fits(slot.shape, shape) for slot, shape in zip(slots, shapes, strict=True)):
        return None
    if len(slots) > 1 and layer.model is not None:
        notes.add("translated", layer.name, "its weights have other names than its layers; they are taken in order")
    return list(range(len(slots)))


def _without_number(name: str) -> str:
    return re.sub(r"_\d+$", "", name)


# Archives, in which Keras 2.12 and later save weights by the structure of the model.


def place_structured(
    model: Model,
    find: Callable[[str], list[tuple[str, str]]],
    layers_group: Callable[[str], str | None],
    has: Callable[[str], bool],
    specs: _Weights,
    arrays: Arrays,
    notes: Notes,
) -> None:
    """Place the weights of an archive of Keras 2.

    Args:
        model: The model.
        find: Returns the variables in a group, as number and path.
        layers_group: Returns the group of the layers of a model, or None.
        has: Returns whether there is a group.
        specs: The arrays of the file.
        arrays: Gets the fate of every array.
        notes: Gets reasons to refuse the file.
    """
    waiting: list[tuple[Model, str]] = [(model, "")]
    while waiting:
        inner, group = waiting.pop()
        found = layers_group(group)
        if found is None:
            for layer in inner.layers:
                if all_slots(layer):
                    _refuse_missing(layer, ["its variables"], notes)
            continue
        names = _group_names(inner, is_twice=False)
        if found.endswith(_OLD_LAYERS) and not _has_all(inner, names, found, has):
            names = _group_names(inner, is_twice=True)
        for layer, name in zip(inner.layers, names, strict=True):
            waiting += _place_group(layer, f"{found}/{name}", find, specs, arrays, notes)


def _group_names(model: Model, *, is_twice: bool) -> list[str]:
    """Return the names of the groups of a model's layers: their classes, numbered.

    Some releases, such as Keras 2.13, list every layer with weights twice, and count it twice.
    """
    counts: Counter[str] = Counter()
    names = []
    for layer in model.layers:
        base = snake_case(layer.class_name)
        names.append(f"{base}_{counts[base]}" if counts[base] else base)
        counts[base] += 2 if is_twice and all_slots(layer) != [] else 1
    return names


def _has_all(model: Model, names: list[str], group: str, has: Callable[[str], bool]) -> bool:
    return all(has(f"{group}/{name}") for layer, name in zip(model.layers, names, strict=True) if all_slots(layer))


def _place_group(
    layer: Layer,
    group: str,
    find: Callable[[str], list[tuple[str, str]]],
    specs: _Weights,
    arrays: Arrays,
    notes: Notes,
) -> list[tuple[Model, str]]:
    """Place the variables of a layer and of those in its settings; return the models among them, with their groups."""
    nested: list[tuple[Model, str]] = []
    waiting = [(layer, group)]
    while waiting:
        one, path = waiting.pop()
        if one.model is not None:
            nested.append((one.model, path))
            continue
        slots = own_slots(one)
        if slots is None:
            _place_own_class(one, path, specs, arrays)
        if one.class_name in _WITHOUT_CELL and slots:
            _place_cudnn(one, slots, dict(find(path)), specs, arrays, notes)
            slots = []
        for slot in slots or ():
            where = f"{path}/{_OLD_GROUPS.get(slot.group, slot.group)}" if slot.group else path
            entries = dict(find(where))
            saved = entries.get(saved_key(one, slot.number))
            if saved is None:
                _refuse_missing(one, [slot.name], notes)
            else:
                _fill(slot, Values((saved,), specs[saved].shape, specs[saved].dtype), arrays, notes)
        if one.class_name in ("SpectralNormalization", "TextVectorization") and slots:
            # The wrapper counts the kernel of its layer among its own variables; so does a TextVectorization its lookup.
            twice = find(path)[:1] if one.class_name == "SpectralNormalization" else find(f"{path}/_lookup_layer")
            for _, array in twice:
                arrays.leave_out(array, "the file has it twice")
        counts: dict[str, int] = {}
        for attribute, inner in inner_layers(one):
            name = attribute
            if attribute == "cells":
                base = snake_case(inner.class_name)
                number = counts[base] = counts.get(base, -1) + 1
                name = f"cells/{base}_{number}" if number else f"cells/{base}"
            waiting.append((inner, f"{path}/{name}"))
    return nested


def _place_own_class(layer: Layer, group: str, specs: _Weights, arrays: Arrays) -> None:
    """Place the variables of a class of the user, and of the layers that it holds in its attributes.

    Keras 3 names their groups after the same attributes. Only those inside MultiHeadAttention have other names.
    """
    found = [path.removeprefix(f"{group}/") for path in specs if path.startswith(f"{group}/")]
    groups = {path.rpartition("/")[0].removesuffix("vars").rstrip("/") for path in found}
    renamed = {
        f"{base}{old}": f"{base}{new}"
        for base in {one.removesuffix(_OLD_GROUPS["query_dense"]) for one in groups}
        if all(f"{base}{old}" in groups for old in _OLD_GROUPS.values())
        for new, old in _OLD_GROUPS.items()
    }
    for path in found:
        where, _, key = path.rpartition("/")
        inner = where.removesuffix("vars").rstrip("/")
        source = Values((f"{group}/{path}",), specs[f"{group}/{path}"].shape, specs[f"{group}/{path}"].dtype)
        layer.arrays[renamed.get(inner, inner), key] = source
        arrays.use(source, f"{layer.source}/{path}")


def saved_key(layer: Layer, number: int | str) -> str:
    """Return the name of a variable of a layer in its group; Keras numbers nearly all."""
    if layer.class_name == "SpectralNormalization":
        return "1"  # the first is the kernel of the layer inside
    if layer.class_name in ("IntegerLookup", "StringLookup", "TextVectorization"):
        return "idf_weights"
    return str(number)


def _place_cudnn(
    layer: Layer, slots: Sequence[Slot], saved: dict[str, str], specs: _Weights, arrays: Arrays, notes: Notes
) -> None:
    """Place the variables of a layer for cuDNN, which holds them itself instead of a cell."""
    missing = [slot.name for slot in slots if str(slot.number) not in saved]
    if missing:
        _refuse_missing(layer, missing, notes)
        return
    paths = [saved[str(slot.number)] for slot in slots]
    steps = conversion_of(layer, [specs[path].shape for path in paths], is_keras_1=False)
    for number, (slot, path) in enumerate(zip(slots, paths, strict=True)):
        values = Values((path,), specs[path].shape, specs[path].dtype)
        if steps is not None:
            values = replace(values, shape=steps[number].shape, convert=steps[number].convert, how=steps[number].how)
        _fill(slot, values, arrays, notes)


_OLD_LAYERS = "_layer_checkpoint_dependencies"
_OLD_GROUPS = {f"{part}_dense": f"_{part}_dense" for part in ("key", "output", "query", "value")}

# Layers without a cell: they hold their variables themselves.
_WITHOUT_CELL = frozenset({"CuDNNGRU", "CuDNNLSTM"})


# State that a file may have besides the weights of layers, with the reason to leave it out.
_OTHER_STATE = (
    (re.compile(r"optimizer(_weights)?/"), "state of the optimizer"),
    (re.compile(r"metrics|(.*/)?(compile_metrics|_metrics|loss_tracker)/"), "state of a metric"),
    (re.compile(r"(.*/)?_?(seed|random)_generator(_\d+)?/"), "state of a random generator"),
)


def account_for(paths: Iterable[str], arrays: Arrays, model: Model, notes: Notes) -> None:
    """Name the conversions of all arrays of the source, and give every array that nothing uses a reason.

    An array that belongs to nothing known is a reason to refuse the file: the model would compute without it.
    """
    sources = {path: one for _, layer in walk_layers(model) for one in layer.arrays.values() for path in one.paths}
    unknown = []
    for path in paths:
        what, detail = arrays.fates.get(path, ("", ""))
        if path in sources:
            if what == "used" and sources[path].how:
                arrays.fates[path] = ("converted", f"{detail}, {sources[path].how}")
            continue
        if what == "used":
            arrays.leave_out(path, "its layer does not contribute to the outputs")
        if what:
            continue
        reason = next((text for pattern, text in _OTHER_STATE if pattern.match(path)), None)
        if reason is None:
            unknown.append(path)
        arrays.leave_out(path, reason or "no variable of the model")
    if unknown and not notes.refusals:
        reason = (
            f"the file has weights that no layer of the model needs: {joined([escape(path) for path in unknown], 3)}"
        )
        notes.refuse("", reason, "use the weights that were saved with this model.")
