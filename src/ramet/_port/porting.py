"""Port a model file to another version of Keras: read, translate, write."""

from __future__ import annotations

import contextlib
import copy
import datetime
import errno
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ramet._files import ArraySpec, Json, items_of, map_objects, path_with_name, private_copy, scan_config, unsafe_file
from ramet._port.against import compare
from ramet._port.archive import empty_groups, saved_groups, target_arrays, write_archive, write_h5_weights
from ramet._port.cautions import add_cautions
from ramet._port.compiling import custom_names, translate_compile
from ramet._port.draft import Model, tensors_in
from ramet._port.explicit_masks import make_masks_explicit, refuse_masked_values
from ramet._port.keras_2 import express_hard_sigmoid, modernize_model, serialized_function, translate_model
from ramet._port.keras_3 import complete_model
from ramet._port.notes import Notes
from ramet._port.optimizer_state import UnknownStateError, state_of_keras_2, state_of_keras_3, trained_weights
from ramet._port.other_formats import check_format
from ramet._port.placement import FLIPPED, Arrays, Values, account_for, scaled_gates
from ramet._port.reading import check_depth, read_model, read_specs
from ramet._port.releases import known_versions, resolve_version
from ramet._port.report import PortReport
from ramet._port.settings import is_hard_sigmoid
from ramet._port.source import SourceFile, check_weights_argument, open_source
from ramet._port.variables import own_slots
from ramet._port.version_rules import is_before
from ramet._port.versions import rename_weights, rewrite_for
from ramet._port.vocabularies import place_vocabularies
from ramet._port.writing import write_model
from ramet._report import escape, replaced_file
from ramet.errors import ArgumentError, ModelFileError, OutOfBudgetError, PortError, RametError, UnsafeFileError

_Path: TypeAlias = "str | os.PathLike[str]"
TF_KERAS = "tf_keras"
_DATE = "%Y-%m-%d@%H:%M:%S"
OPTIMIZER_STATE = "the state of the optimizer, which starts again when training goes on"
_LONGEST = 200
# Bytes that a file has besides its arrays.
_SPARE = 2**22


def port(
    source: _Path,
    target: _Path | None = None,
    *,
    to: str | None = None,
    weights: _Path | None = None,
    functions: Mapping[str, str] | None = None,
    custom: Iterable[str] = (),
    force: bool = False,
    isolated: bool = True,
) -> PortReport:
    """Rewrite a model file so that another version of Keras loads it.

    The source may be a file of Keras 1, 2 or 3: `.h5`, `.keras`, the JSON of a model with its weights, or a SavedModel of
    Keras. It is read as data; nothing in it runs. A setting is dropped only if it has the default value of the version that
    has it; otherwise it is translated, or the file is refused. Layers and variables keep their names.

    Args:
        source: The file or folder to port.
        target: The file to write; without it, the report is a plan and nothing is written. The extension is `.keras`, or
            `.h5` for tf_keras.
        to: The version of Keras that is to load the target, such as "3.8", or "tf_keras"; by default the newest.
        weights: The weights that belong to the JSON of a model.
        functions: For `Lambda` layers, whose code is never run: the registered name of a function by the path of the layer.
        custom: The names of your own classes and functions, which are registered wherever the target is loaded.
        force: Whether an existing target is replaced.
        isolated: Whether HDF5 is read in a separate process, which an untrusted file requires.

    Returns:
        What was rewritten, translated, dropped and left out, and what happened to every array of the source.

    Raises:
        PortError: The file cannot be ported without a difference; the message names every layer and setting.
        UnsafeFileError: The file contains code, or opens other files.
        ModelFileError: The file is missing, broken, or not a model.
        ArgumentError: The target exists, or the version is unknown.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="head")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "new.keras")
    ...     model.save(file)
    ...     report = ramet.port(file, os.path.join(folder, "old.keras"), to="3.8")
    >>> report.to_version, report.is_written
    ('3.8', True)
    """
    plan = plan_port(
        source,
        to=to,
        weights=weights,
        functions=functions,
        custom=custom,
        isolated=isolated,
        target=target,
        force=force,
    )
    return plan if target is None else accepted(plan)


def plan_port(
    source: _Path,
    *,
    to: str | None,
    weights: _Path | None,
    functions: Mapping[str, str] | None,
    custom: Iterable[str],
    isolated: bool,
    target: _Path | None,
    force: bool,
    runs: bool = False,
    registry: Iterable[str] = (),
    needs_functions: bool = True,
) -> PortReport:
    """Port a file, or list the reasons why it cannot be ported.

    Arguments are those of `port`, and three more. `runs`: whether the file is going to run afterwards, so that code in it
    matters. `registry`: the names of classes and functions that are registered in the running Keras. `needs_functions`:
    whether there must be a layer for each of the functions.
    """
    wanted = TF_KERAS if to == TF_KERAS else resolve_version(to) if to is not None else known_versions()[-1]
    written = None if target is None else _check_target(path_with_name(target), wanted, force=force)
    given = path_with_name(source)
    for layer, function in (functions or {}).items():
        if not isinstance(function, str):
            raise ArgumentError(
                f"Cannot port with functions={{{layer!a}: ...}}: the name of a function is expected.",
                found=f"an object of the class {type(function).__name__}",
                fix="pass its registered name, or load the file with ramet.load, which takes functions.",
            )
    check_format(given)
    check_weights_argument(given, weights)
    if weights is not None:
        check_format(path_with_name(weights))
    notes = Notes(frozenset([*custom, *(functions or {}).values()]), frozenset(registry), dict(functions or {}))
    with contextlib.ExitStack() as stack:
        # What was scanned is what is ported, even if somebody replaces the file meanwhile.
        copied = stack.enter_context(private_copy(given))
        if weights is not None and not str(weights).endswith(".weights.json"):  # whose shards are beside it
            weights = stack.enter_context(private_copy(path_with_name(weights)))
        opened = stack.enter_context(open_source(copied, weights, isolated=isolated))
        _check_safe(opened, runs=runs)
        check_depth(opened.config)
        check_depth(opened.training, "compile_config")
        with _unexpected_errors(given):
            made = _prepare(opened, wanted, notes, written)
            if needs_functions:
                _check_functions(opened, notes)
            if not notes.refusals:
                _check_result(made, notes, wanted)
                _leave_out_optimizer(made)
        report = PortReport(
            str(given),
            None if written is None else str(written),
            opened.version or opened.generation,
            wanted,
            tuple(notes),
            notes.refusals,
            dict(made.arrays.fates),
            is_current=made.is_current,
        )
        if written is not None and not notes.refusals:
            with _unexpected_errors(given):
                _write(made, written, sum(map(_bytes_of, opened.arrays.values())), force=force)
            report = report.with_written()
    return report


@contextlib.contextmanager
def _unexpected_errors(source: Path) -> Iterator[None]:
    """Raise an error of ramet for any other error inside the block.

    The config of a broken or hostile file may have anything anywhere. Rules refuse what they know.
    """
    name = escape(source.name)
    try:
        yield
    except RametError:
        raise
    except MemoryError:
        reason = "it takes more memory than there is"
        raise OutOfBudgetError(f"Cannot port '{name}': {reason}.", path=str(source)) from None
    except Exception as error:
        raise ModelFileError(
            f"Cannot port '{name}': it contains something that Keras does not write.",
            found=escape(f"{type(error).__name__}: {' '.join(str(error).split())[:_LONGEST]}"),
            fix="if Keras loads the file, please report this, with the output of --debug.",
            path=str(source),
        ) from error


def _write(made: _Prepared, target: Path, size: int, *, force: bool) -> None:
    """Write the target as a whole: it is the old file or the new one, however this ends."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The weights are written to a file of their own first. The HDF5 library may crash if the disk is full.
        if shutil.disk_usage(target.parent).free < 2 * size + _SPARE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with replaced_file(target) as beside:
            if made.original is not None and made.is_current:
                shutil.copyfile(made.original, beside)
            else:
                made.write(beside)
            if not force:
                _check_absent(target)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:_LONGEST]
        raise ModelFileError(
            f"Cannot write '{escape(str(target))}': {escape(reason)}.",
            fix="choose another folder, or make sure that this one exists, is writable and has enough space.",
            path=str(target),
        ) from error


def _bytes_of(spec: ArraySpec) -> int:
    """Return how many bytes an array takes, roughly."""
    bits = re.search(r"\d+", spec.dtype)
    return math.prod(spec.shape) * max(int(bits[0]) // 8 if bits else 1, 1)


def compare_ported(
    report: PortReport,
    *,
    source: _Path,
    against: str,
    weights: _Path | None = None,
    backend: str | None = None,
    modules: Sequence[str] = (),
    trusted: bool = False,
) -> PortReport:
    """Run the source and the target of a port on the same inputs, and return the report with the result.

    Args:
        report: The report of a port that was written.
        source: The source, which was checked by `plan_port(runs=True)`, unless it is trusted.
        against: "tf_keras", or the path of a Python with the version of Keras that is not the installed one.
        weights: The weights of the source, if it is the JSON of a model.
        backend: The backend of the installed Keras, or None for the configured one.
        modules: Modules with the user's classes and functions, for the installed Keras.
        trusted: Whether code in the source may run.
    """
    assert report.target is not None, "only a port that was written can be compared"
    if against == TF_KERAS and any(note.text.startswith(FLIPPED) for note in report.notes):
        raise PortError(
            f"Cannot compare '{escape(Path(report.source).name)}' with tf_keras: it was written with Theano, and tf_keras does "
            "not flip its kernels.",
            fix="the file was written; compare its outputs with some that you have kept.",
        )
    with open_source(source, weights, isolated=True) as opened:
        config, is_old = opened.config, opened.generation != "Keras 3"
    comparison = compare(
        Path(source),
        Path(report.target),
        config=config,
        against=against,
        is_source_old=is_old,
        weights=None if weights is None else Path(weights),
        backend=backend,
        modules=modules,
        trusted=trusted,
    )
    return report.with_comparison(comparison)


def _check_target(path: Path, wanted: str, *, force: bool) -> Path:
    allowed = (".keras", ".h5") if wanted == TF_KERAS else (".keras",)
    if path.suffix not in allowed:
        raise ArgumentError(
            f"Cannot write '{escape(path.name)}': unsupported file extension.",
            expected=" or ".join(allowed),
            fix=f"write to '{escape(path.stem)}{allowed[0]}'.",
        )
    if not force:
        _check_absent(path)
    return path


def _check_absent(path: Path) -> None:
    if os.path.lexists(path):
        raise ArgumentError(
            f"Cannot write '{escape(str(path))}': it exists.",
            fix="choose another name, or replace it with --force (force=True).",
        )


def accepted(report: PortReport) -> PortReport:
    """Return the report of a file that can be ported; raise `PortError` for another."""
    if not report.refusals:
        return report
    first = report.refusals[0]
    more = f", and {len(report.refusals) - 1} more" if len(report.refusals) > 1 else ""
    where = f" at '{escape(first.path)}'" if first.path else ""
    fix = first.fix
    if "--import" in fix:
        fix += ' In Python: ramet.port(..., custom=["Name"]) or ramet.load(..., custom_objects={"Name": Name}).'
    if "--function" in fix:
        fix += " In Python: functions={layer: function}, with the function for ramet.load and its name for ramet.port."
    raise PortError(
        f"Cannot port '{escape(Path(report.source).name)}' to {report.target_name}{where}: {escape(first.reason)}{more}.",
        fix=fix,
        path=first.path or None,
    )


# The code of a Lambda layer, for which there is a refusal of its own, and how the model was compiled, which is left out.
_EXPECTED_CODE = re.compile(
    r"[^:]*: (?:model_config|config)(?:\.config|\.layers\[\d+\]|\[\d+\]|\.layer)*\.config\.(?:function|output_shape|mask)"
    r"|[^:]*: (?:training_config|(?:config\.)?compile_config)\b.*"
)


def _check_safe(source: SourceFile, *, runs: bool) -> None:
    """Refuse a file with code in it.

    If the file itself is going to run, nothing in it may be code or need any, not even the graph of a SavedModel.
    """
    name = escape(source.path.name)
    if runs:
        found = [one for one in source.findings if one.severity != "note"]
        fix = "leave out --against, which runs the original, or add --trust if you trust its author."
        if source.path.is_dir() and not found:
            reason = "a SavedModel is a program of TensorFlow, which may do anything when it runs"
            raise UnsafeFileError(f"Cannot compare with '{name}': {reason}.", fix=fix, path=str(source.path))
    else:
        unsafe = [one for one in source.findings if one.severity == "unsafe"]
        found = [one for one in unsafe if one.kind != "lambda" or not _EXPECTED_CODE.fullmatch(one.place)]
        fix = f"run `ramet scan {name}`, and do not load the file."
    if found:
        raise unsafe_file(source.path, found, fix)


def _check_result(made: _Prepared, notes: Notes, wanted: str) -> None:
    """Scan the config that is to be written, as a file from elsewhere is scanned, and refuse what is not safe.

    The scan of the source is not enough: translating makes new names out of those in the file, and some findings, such as the
    code of Lambda layers, are expected to be gone from the result.

    Args:
        made: The port.
        notes: Gets reasons to refuse the file.
        wanted: The version that loads the result.
    """
    # Since this release, Keras finds classes and functions in its registry only; before, it imports any module.
    has_registry = wanted != TF_KERAS and not is_before(wanted, "3.9")
    for one in list(scan_config(made.config, "config.json", "config", legacy=made.is_legacy)):
        is_own = one.severity == "trust" and one.kind in ("class", "function")
        if one.severity == "note" or (is_own and one.name and notes.allows(one.name)):
            continue
        what = f"{one.what[:1].lower()}{one.what[1:].rstrip('.')}"
        if one.place.startswith("config.json: config.compile_config"):
            # The model is complete without it.
            if made.config.pop("compile_config", None) is not None:
                made.is_current = False
                notes.add("left out", "", f"how the model was compiled: {what}; compile it again before training")
        elif is_own and made.is_current and has_registry:
            notes.add("caution", one.path, what)
        elif one.kind == "lambda":
            reason = "its function is Python code in the file, which is not run or translated"
            notes.refuse(one.path, reason, f"write the function again and pass it: --function {one.path}=module:name.")
        elif one.severity == "unsafe":
            reason = f"the result would not be safe to load: {what}"
            notes.refuse(one.path, reason, "do not load the file; `ramet scan` shows more.")
        else:
            reason = f"the result would depend on more than Keras: {what}"
            notes.refuse(one.path, reason, "if it is yours, pass the module that defines it: --import my_layers.")


def _leave_out_optimizer(made: _Prepared) -> None:
    """Account for the state of the optimizer of a model that is not compiled in the target."""
    if made.config.get("compile_config") is None and not made.is_current:
        for path, (what, _) in made.arrays.fates.items():
            if what != "left out" and path.startswith(("optimizer/", "optimizer_weights/")):
                made.arrays.leave_out(path, "state of the optimizer")


@dataclass
class _Prepared:
    """A port that only has to be written.

    Attributes:
        arrays: What happens to every array of the source.
        write: Writes the target.
        config: What the target will contain: the serialized model, and how it was compiled.
        is_current: Whether the target loads the source as it is.
        is_legacy: Whether the config is one of Keras 2.
        original: The file that is copied as long as it is current; None if it cannot be copied.
    """

    arrays: Arrays
    write: Callable[[Path], object]
    config: dict[str, Json]
    is_current: bool = False
    is_legacy: bool = False
    original: Path | None = None


def _prepare(source: SourceFile, wanted: str, notes: Notes, target: Path | None) -> _Prepared:
    if source.generation == "Keras 3":
        given = source.config
        source.config = _with_functions(given, notes)
        return _from_keras_3(source, wanted, notes, given)
    if wanted == TF_KERAS and source.generation == "Keras 2" and _is_copy(source, target):
        return _copied(source)
    return _from_keras_2(source, wanted, notes)


def _is_copy(source: SourceFile, target: Path | None) -> bool:
    """Return whether tf_keras loads the source as it is, and the target would be a file of the same format."""
    is_whole = source.path.is_dir() or source.path.suffix != ".json"
    if target is None:
        return is_whole
    return source.path.is_file() and is_whole and (source.path.suffix == ".keras") == (target.suffix == ".keras")


def _with_functions(config: dict[str, Json], notes: Notes) -> dict[str, Json]:
    """Return the config of a Keras 3 model in which Lambda layers have the functions that the user gave for them."""
    if not notes.functions:
        return config
    changed: dict[str, Json] = copy.deepcopy(config)
    waiting: list[tuple[str, Json]] = [("", changed)]
    while waiting:
        path, value = waiting.pop()
        settings = value.get("config") if isinstance(value, dict) else None
        if isinstance(settings, dict) and isinstance(value.get("class_name"), str) and value is not changed:
            name = settings.get("name")
            path = "/".join(filter(None, (path, name if isinstance(name, str) else "")))
            if value["class_name"] == "Lambda" and (function := notes.function_for(path)) is not None:
                settings["function"] = serialized_function(function)
        waiting += [(path, item) for item in items_of(value) or ()]
    return changed


def _check_functions(source: SourceFile, notes: Notes) -> None:
    """Refuse functions for layers that do not exist."""
    unused = [key for key in notes.functions if key not in notes.used]
    if unused and not notes.refusals:
        raise ArgumentError(
            f"Cannot replace the function of {escape(unused[0])!a}: '{escape(source.path.name)}' has no Lambda layer of this name.",
            fix="run `ramet show` on the file, which lists its layers.",
        )


def _copied(source: SourceFile) -> _Prepared:
    """A file that the target loads as it is."""
    arrays = Arrays()
    for path in source.arrays:
        arrays.fates[path] = ("used", path)

    def write(target: Path) -> None:
        shutil.copyfile(source.path, target)

    copied = {"config": source.config, "training": source.training}
    return _Prepared(arrays, write, copied, is_current=True, is_legacy=True)


def _from_keras_2(source: SourceFile, wanted: str, notes: Notes) -> _Prepared:
    arrays = Arrays()
    model = read_model(map_objects(source.config, _untupled))
    modernize_model(model, notes, is_keras_1=source.generation == "Keras 1")
    source.place(model, arrays, notes)
    members = place_vocabularies(model, source, arrays, notes)
    before = _trained(model)
    translate_model(model, notes)
    if wanted != TF_KERAS and is_before(wanted, "3.10"):
        express_hard_sigmoid(model, wanted, notes)
    make_masks_explicit(model, notes, source=2, target=known_versions()[-1] if wanted == TF_KERAS else wanted)
    add_cautions(model, notes)
    training = translate_compile(source.training, _output_names(model), notes)
    config: dict[str, Json] = {} if notes.refusals else write_model(model)
    if training is not None and not notes.refusals:
        config["compile_config"] = training
    account_for(source.arrays, arrays, model, notes)
    state = _optimizer_state(source, model, config, arrays, notes, before=before, wanted=wanted)
    if wanted == TF_KERAS:
        return _tf_keras_target(config, target_arrays(model), source, arrays, notes)
    return _keras_3_target(source, model, config, state, arrays, wanted, notes, members)


def _trained(model: Model) -> list[Values] | UnknownStateError:
    try:
        return trained_weights(model)
    except UnknownStateError as error:
        return error


def _optimizer_state(
    source: SourceFile,
    model: Model,
    config: dict[str, Json],
    arrays: Arrays,
    notes: Notes,
    *,
    before: list[Values] | UnknownStateError | None,
    wanted: str,
) -> dict[str, Values]:
    """Return the state of the optimizer by its paths in the target; a note gives the reason if it is left out.

    `before` are the trained weights in the order of Keras 2, or None for a file of Keras 3.
    """
    if notes.refusals or not any(path.startswith(("optimizer/", "optimizer_weights/")) for path in source.arrays):
        return {}
    compiled = config.get("compile_config")
    try:
        if not isinstance(compiled, dict) or wanted == TF_KERAS or not source.optimizer.paths:
            raise UnknownStateError("the target has no place for it")
        if before is None:
            return state_of_keras_3(source.optimizer, compiled["optimizer"], model, source.arrays, arrays)
        after = trained_weights(model)
        if isinstance(before, UnknownStateError):
            raise before
        return state_of_keras_2(source.optimizer, compiled["optimizer"], before, after, source.arrays, arrays)
    except UnknownStateError as reason:
        text = f"{OPTIMIZER_STATE}: {reason}"
        notes.add("left out", "", text)
        return {}


def _output_names(model: Model) -> list[str]:
    """Return the names of the outputs of a model: those of the layers that they come from."""
    if model.is_functional:
        return [tensor.layer for tensor in tensors_in(model.outputs)]
    return [layer.name for layer in model.layers[-1:]]


def _untupled(fields: dict[str, Json]) -> Json:
    """Return a list for the object that Keras 2 writes for a tuple or a shape."""
    if fields.get("class_name") in ("__tuple__", "TensorShape") and isinstance(fields.get("items"), list):
        return fields["items"]
    return fields


def _keras_3_target(
    source: SourceFile,
    model: Model,
    config: dict[str, Json],
    state: dict[str, Values],
    arrays: Arrays,
    wanted: str,
    notes: Notes,
    members: dict[str, Callable[[], bytes]],
) -> _Prepared:
    newest = known_versions()[-1]
    if not notes.refusals and wanted != newest:
        _check_masks_of_values(config, newest, wanted, notes)
        config = rewrite_for(config, source=newest, target=wanted, notes=notes)

    def write(target: Path) -> None:
        values = target_arrays(model) | (state if "compile_config" in config else {})
        groups = empty_groups(model)
        renamed = rename_weights(list(values), source=newest, target=wanted, config=config)
        values = {renamed.get(path, path): value for path, value in values.items()}

        def write_weights(path: Path) -> None:
            write_h5_weights(path, values, groups, source.read)

        write_archive(target, config, _metadata(wanted), write_weights, members)

    return _Prepared(arrays, write, config)


def _metadata(version: str) -> dict[str, str]:
    now = datetime.datetime.now(tz=datetime.UTC).strftime(_DATE)
    release = f"{version}.0"
    return {"keras_version": release, "date_saved": now}


def _from_keras_3(source: SourceFile, wanted: str, notes: Notes, given: dict[str, Json]) -> _Prepared:
    arrays = Arrays()
    written_by = _release_of(source)
    if not source.structured:
        # An HDF5 file of Keras 3: weights by the names of layers, and a config without modules.
        model = read_model(map_objects(source.config, _untupled))
        source.place(model, arrays, notes)
        complete_model(model, notes)
        config: dict[str, Json] = {} if notes.refusals else write_model(model)
        training = translate_compile(source.training, _output_names(model), notes)
        if training is not None and not notes.refusals:
            config["compile_config"] = training
        account_for(source.arrays, arrays, model, notes)
        state = _optimizer_state(source, model, config, arrays, notes, before=None, wanted=wanted)
        if wanted == TF_KERAS:
            return _tf_keras_target(config, target_arrays(model), source, arrays, notes)
        return _keras_3_target(source, model, config, state, arrays, wanted, notes, {})
    for path in source.arrays:
        arrays.fates[path] = ("used", path)
    values = {path: Values((path,), spec.shape, spec.dtype) for path, spec in source.arrays.items()}
    if wanted == TF_KERAS:
        return _tf_keras_target(source.config, values, source, arrays, notes)
    _check_masks_of_values(source.config, written_by, wanted, notes)
    config, scaled = _for_before_3_10(source.config, written_by, wanted, notes)
    config = rewrite_for(config, source=written_by, target=wanted, notes=notes)
    renamed = rename_weights(list(source.arrays), source=written_by, target=wanted, config=source.config)
    renamed = {path: name for path, name in renamed.items() if path != name}
    for path, class_name in scaled.items():
        values[path] = scaled_gates(values[path], class_name)
        arrays.fates[path] = ("converted", values[path].how)
    values = {renamed.get(path, path): value for path, value in values.items()}

    def write(target: Path) -> None:
        def write_weights(path: Path) -> None:
            if renamed or scaled or source.weights is None:
                write_h5_weights(path, values, set(source.groups), source.read)
                return
            with source.weights() as stored, path.open("wb") as copy:
                shutil.copyfileobj(stored, copy, 1 << 20)

        write_archive(target, config, _metadata(wanted), write_weights, source.members)

    unknown = [name for name in custom_names(config.get("compile_config")) if not notes.allows(name)]
    if unknown:
        config = {key: value for key, value in config.items() if key != "compile_config"}
        text = f"how the model was compiled: {unknown[0]!a} is your own; pass its module with --import to keep it"
        notes.add("left out", "", text)
    is_current = config == given and not renamed
    # The JSON of a model is a file, too, but it has no weights.
    original = source.path if source.path.is_file() and source.path.suffix != ".json" else None
    return _Prepared(arrays, write, config, is_current=is_current, original=original)


def _check_masks_of_values(config: dict[str, Json], source: str, target: str, notes: Notes) -> None:
    settings = config.get("config")
    has_layers = isinstance(settings, dict) and isinstance(settings.get("layers"), list)
    if has_layers and is_before(target, "3.12") and not is_before(source, "3.12"):
        refuse_masked_values(read_model(copy.deepcopy(config)), target, notes)


def _for_before_3_10(
    config: dict[str, Json], source: str, target: str, notes: Notes
) -> tuple[dict[str, Json], dict[str, str]]:
    """Prepare a model for releases before 3.10, which lose some masks and have no activations that are made of layers.

    Returns:
        Its config, and the classes of recurrent layers by the paths of their weights, if these have to be scaled.
    """
    if not is_before(target, "3.10") or is_before(source, "3.10"):
        return config, {}
    settings = config.get("config")
    if not isinstance(settings, dict) or not isinstance(settings.get("layers"), list):
        return config, {}  # a class of its own: the file does not contain how it calls its layers
    model = read_model(copy.deepcopy(config))
    read_specs(model, config)
    changed = make_masks_explicit(model, notes, source=3, target=target)
    scaled = {
        f"{group}/{slot.group}/vars/{slot.number}".replace("//", "/"): layer.class_name
        for group, layer in saved_groups(model)
        if is_hard_sigmoid(layer.config.get("recurrent_activation"))
        for slot in own_slots(layer) or ()
    }
    if scaled:
        express_hard_sigmoid(model, target, notes)
    return ({**config, **write_model(model)} if changed or scaled else config), scaled


def _release_of(source: SourceFile) -> str:
    """Return the release that wrote a file of Keras 3; the newest for one that is newer than the table."""
    parts = source.version.split(".")
    found = ".".join(parts[:2]) if len(parts) > 1 else ""
    return found if found in known_versions() else known_versions()[-1]


def _tf_keras_target(
    config: dict[str, Json], values: dict[str, Values], source: SourceFile, arrays: Arrays, notes: Notes
) -> _Prepared:
    from ramet._port.to_keras_2 import keras_2_compile, keras_2_config, write_keras_2_archive, write_keras_2_h5
    from ramet._port.to_keras_2_weights import check_weights

    if notes.refusals:
        return _Prepared(arrays, lambda _: None, {})
    model, old = keras_2_config(config, notes, source.members)
    if not notes.refusals:
        check_weights(model, values, arrays, notes)
    compiled = config.get("compile_config")
    training = keras_2_compile(compiled if isinstance(compiled, dict) else None, notes)

    written: dict[str, Json] = {"model": old, "compile_config": training}

    def write(target: Path) -> None:
        writer = write_keras_2_h5 if target.suffix == ".h5" else write_keras_2_archive
        writer(target, model, old, written.get("compile_config"), values, source.read)

    return _Prepared(arrays, write, written, is_legacy=True)
