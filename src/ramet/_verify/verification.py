"""The public function `verify`: two models, two files, two graphs, or one file on several backends."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import keras

from ramet._files import open_model_file
from ramet._graph import Graph
from ramet._keras import (
    capture_model,
    check_version,
    expand_shared,
    keep_name_counters,
    keep_random_state,
    load_copy,
    safe_copy,
    seed_generators,
)
from ramet._report import progress_callback, with_article
from ramet._source import form_of, is_path, saved
from ramet._verify.across import TOLERANCE, check_backends, verify_across
from ramet._verify.checks import CHECKS, GRAPH_CHECKS
from ramet._verify.compare import Tolerance, check_tolerance, compare_by_path
from ramet._verify.findings import NotRun
from ramet._verify.pair import Pair
from ramet._verify.report import Check, Proof, Report
from ramet._verify.side import size_of
from ramet.errors import ArgumentError, EditError, ModelFileError, NotAModelError, RametError, foreign_errors

# The reason of a check that is not run because only graphs are compared.
_ONLY_GRAPHS = "a graph holds neither values nor code; pass two models or two files"


def verify(
    model: Any,
    twin: Any = None,
    *,
    tolerance: float | Mapping[str, float] | None = None,
    only: Iterable[str] | str | None = None,
    skip: Iterable[str] | str | None = None,
    inputs: Any = None,
    targets: Any = None,
    seed: int = 0,
    share: Iterable[Any] = (),
    backends: Iterable[str] | None = None,
    progress: Callable[[str, int, int], None] | Literal[False] | None = None,
) -> Report:
    """Check whether a model is an exact, independent twin of another, and return a report.

    The checks are structure, settings, state, identity, outputs, masks, gradients, training, independence and file;
    each passes, fails, or is not run for a reason. Afterwards both models are as they were: values, random generators,
    optimizers that were not built, compiled functions. No code that makes twins is used to compare them. Each model is
    called seven times (eight on JAX), two of them with a backward pass, and saved once; the files are loaded unless
    they are equal byte by byte.

    Args:
        model: The original: a model, a single layer, the path of a `.keras` file, or a graph from `ramet.capture`.
        twin: The other, likewise. A live model is saved and loaded before it is compared with a file, because no loaded
            model is an exact twin of a live one. If either side is a graph, only the checks that a graph can prove are
            run: structure and settings. Capture two graphs in the same way: graphs of files and of live models differ
            in form.
        tolerance: None for bit-equality, or the largest difference allowed between floating-point numbers, relative to
            the largest number in the original's array: one number, or one for each dtype. With a tolerance,
            floating-point dtypes may differ as well, and each check reports the largest relative difference
            (`check.largest`).
        only: The names of the checks to run.
        skip: The names of the checks to leave out.
        inputs: Example inputs, for a model whose inputs cannot be inferred; for a single layer with several arguments,
            a dict of them. By default inputs are made from the model's input specs; inputs that the original itself
            refuses are left out and counted.
        targets: Example targets for the training step.
        seed: The seed of inputs and random layers.
        share: Objects that both models share on purpose, as in `ramet.clone(model, share=[...])`.
        backends: Run one file on each of these backends, in separate processes and on the same inputs, and compare the
            outputs; within `tolerance`, by default 1e-4 for float32.
        progress: None for a progress bar in a terminal when it takes long, False for none, or a function that is called
            with the name of each check, its number, and the number of checks.

    Returns:
        The report, which is true if no check failed and at least one was run.

    Raises:
        ArgumentError: A check, backend or tolerance is invalid.
        NotAModelError: An argument is not a model, layer, path or graph.
        ModelFileError: A file is missing, broken, or not a model.
        UnsafeFileError: A file is not safe to load.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> report = ramet.verify(model, ramet.clone(model))
    >>> report.ok
    True
    >>> report["state"].summary
    '2 variables with 10 numbers are bit-equal'
    """
    check_version()
    check_tolerance(tolerance)
    if backends is not None:
        return _verify_on_backends(model, twin, list(backends), tolerance, seed)
    chosen = _chosen_checks(only, skip)
    if isinstance(model, Graph) or isinstance(twin, Graph):
        return _verify_graphs(model, twin, chosen, tolerance, seed)
    with keep_name_counters(), keep_random_state():
        ours, theirs = _live_models(model, twin, seed)
        shared = expand_shared(share, "verify", [ours, theirs])
        pair = Pair(
            ours,
            theirs,
            tolerance=tolerance,
            seed=seed,
            inputs=inputs,
            targets=targets,
            share=shared,
            differentiates="gradients" in chosen,
        )
        with _user_errors(ours):
            is_big = len(ours.variables) > 500 or sum(map(size_of, ours.variables)) > 2e7
        report_step = progress_callback(progress, "verifying", delay=0.0 if is_big else 1.0)
        checks = []
        try:
            for number, name in enumerate(chosen):
                report_step(name, number, len(chosen))
                checks.append(_run(CHECKS[name], name, pair))
        finally:
            pair.end()
            report_step("", len(chosen), len(chosen))
        graphs = pair.ours.graph, pair.theirs.graph
    about = f"{type(ours).__name__}, {_how(tolerance)}; Keras {keras.__version__} on {keras.backend.backend()}"
    if is_path(model) != is_path(twin):
        about += "; the live model was saved and loaded like the file"
    proves: Proof = "twin" if len(chosen) == len(CHECKS) else "part"
    return Report(ours.name, theirs.name, tuple(checks), about, graphs, proves=proves)


def _how(tolerance: Tolerance) -> str:
    return "compared bit by bit" if tolerance is None else f"compared within {tolerance}"


def _user_errors(model: Any) -> contextlib.AbstractContextManager[None]:
    return foreign_errors("verify", f"'{model.name}'", RametError)


def _run(check: Callable[[Pair], Check], name: str, pair: Pair) -> Check:
    if pair.tolerance is not None:
        pair.tolerance.largest = None
    try:
        with _user_errors(pair.ours.model):
            try:
                found = check(pair)
            except NotRun as reason:
                return Check(name, "not run", reason=str(reason))
        return found if pair.tolerance is None else dataclasses.replace(found, largest=pair.tolerance.largest)
    finally:
        pair.end()


def _verify_on_backends(model: Any, twin: Any, backends: list[str], tolerance: Tolerance, seed: int) -> Report:
    if twin is not None or not is_path(model):
        raise ArgumentError(
            "Cannot verify on several backends: that takes one file, which each backend loads in a separate process.",
            expected="verify('model.keras', backends=['jax', 'torch', 'tensorflow'])",
            fix="save the model first: model.save('model.keras').",
        )
    check_backends(Path(model), backends)
    with safe_copy(Path(model)) as copy:
        return verify_across(copy, backends, tolerance, seed)


def _chosen_checks(only: Iterable[str] | str | None, skip: Iterable[str] | str | None) -> list[str]:
    wanted, unwanted = ([names] if isinstance(names, str) else list(names or ()) for names in (only, skip))
    for name in [*wanted, *unwanted]:
        if name not in CHECKS:
            raise ArgumentError(
                f"Cannot run the check {name!r}: there is no such check.",
                expected=", ".join(CHECKS),
                closest=difflib.get_close_matches(str(name), CHECKS, n=3),
                fix="use one of these names.",
            )
    return [name for name in CHECKS if (only is None or name in wanted) and name not in unwanted]


def _live_models(model: Any, twin: Any, seed: int) -> tuple[Any, Any]:
    """Return both models, loaded where a path was given.

    A live model that is compared with a file is saved and loaded, too. No loaded model is an exact twin of a live one: a
    file keeps neither the state of random generators nor the totals of metrics nor the automatic names of inputs.
    """
    models = _live_model(model, "model", seed), _live_model(twin, "twin", seed)
    if is_path(model) == is_path(twin):
        return models
    live, path = (twin, Path(model)) if is_path(model) else (model, Path(twin))
    with saved(live, like=path) as copy:
        try:
            loaded = _load(copy, seed)
        except RametError as error:
            raise ArgumentError(
                f"Cannot verify '{live.name}' against a file: Keras cannot load the model after saving it.",
                found=error.found or str(error).partition("\n")[0],
                fix="load the file with keras.saving.load_model and verify two live models.",
            ) from error
    return (models[0], loaded) if is_path(model) else (loaded, models[1])


def _live_model(given: Any, argument: str, seed: int) -> Any:
    if is_path(given):
        return _load(Path(given), seed)
    if given is None and argument == "twin":
        raise ArgumentError(
            "Cannot verify a model on its own: there is nothing to compare it with.",
            expected="verify(model, twin), or verify('model.keras', backends=['jax', 'torch'])",
            fix="pass the other model.",
        )
    if not isinstance(given, keras.Layer):
        raise NotAModelError(
            f"Cannot verify an object of class {type(given).__name__} ({argument}=): it is not a model.",
            expected="a Keras model or layer, the path of a .keras file, or a graph",
            fix="pass one of these.",
        )
    return given


def _load(path: Path, seed: int) -> Any:
    # A file does not keep random choices: a `Dropout` without a seed draws one whenever it is created. Both files are
    # loaded from the same seed; otherwise no two files of such a model would be equal.
    with keep_name_counters():
        seed_generators(seed)
        with safe_copy(path) as copy:
            try:
                return load_copy(copy)
            except (RametError, MemoryError, RecursionError):
                raise
            except Exception as error:
                raise ModelFileError(
                    f"Cannot load '{path.name}': Keras does not accept the file.",
                    found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
                    fix="pass a model file that keras.saving.load_model can load.",
                    path=str(path),
                ) from error


def _verify_graphs(model: Any, twin: Any, chosen: list[str], tolerance: Tolerance, seed: int) -> Report:
    """Run the checks that graphs can prove; the others are reported as not run."""
    from_file = any(form_of(given) == "file" for given in (model, twin) if isinstance(given, Graph))
    ours = _graph_of(model, "model", seed, from_file=from_file)
    theirs = _graph_of(twin, "twin", seed, from_file=from_file)
    checks = [
        GRAPH_CHECKS[name](ours, theirs, within=tolerance is not None)
        if name in GRAPH_CHECKS
        else Check(name, "not run", reason=_ONLY_GRAPHS)
        for name in chosen
    ]
    about = f"graph of {with_article(ours.class_name)}, {_how(tolerance)}"
    return Report(ours.name, theirs.name, tuple(checks), about, (ours, theirs), proves="graph")


def _graph_of(given: Any, argument: str, seed: int, *, from_file: bool) -> Graph:
    """Return a graph in the form of files or of live models, whichever the graph on the other side has."""
    if isinstance(given, Graph):
        return given
    if from_file and is_path(given):
        with open_model_file(given) as file:
            return file.graph
    with keep_name_counters(), keep_random_state():
        live = _live_model(given, argument, seed)
        if not from_file:
            return capture_model(live)
        with saved(live, like=Path("model.keras")) as path, open_model_file(path) as file:
            return file.graph


def check_same_function(model: Any, edited: Any) -> None:
    """Raise an error unless a model and its edited version return the same outputs at inference.

    Inputs are made from the input specs of the model.
    """
    with keep_name_counters(), keep_random_state():
        pair = Pair(model, edited, tolerance=TOLERANCE)
        try:
            for case in pair.cases:
                ours, theirs = (pair.result(side, case) for side in (pair.ours, pair.theirs))
                if theirs.error is not None:
                    difference = f"the edited model raises {theirs.error}"
                else:
                    # Layers may have other names now, so outputs are compared by position.
                    mine, yours = (_by_number(one.outputs) for one in (ours, theirs))
                    found = next(compare_by_path(mine, yours, pair.tolerance), None)
                    difference = "" if found is None else f"output {found}"
                if difference:
                    raise EditError(
                        f"Cannot edit '{model.name}': the edited model computes something else.",
                        expected="the same outputs, because every edit preserves the function",
                        found=f"on {case.name} inputs, {difference}",
                        fix="apply the edits one by one to find the cause, and please report it.",
                    )
        except NotRun as reason:
            raise EditError(
                f"Cannot check the edits of '{model.name}': {reason}.",
                fix="leave out check=, and compare the outputs yourself.",
            ) from None
        finally:
            pair.end()


def _by_number(outputs: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {str(number): values for number, values in enumerate(outputs.values())}
