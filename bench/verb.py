"""Measuring every verb and command, compared with what a user would do without ramet.

Each function returns seconds by name, and the reasons of failures; `bench.ratio` turns the seconds into ratios with targets.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

import ramet
from bench.alternative import clone_model_and_set_weights, save_and_load
from bench.case import chain
from bench.measure import interleave, talk
from ramet import edits

GROWTH = (40, 160)
# A verb takes long enough that a few turns will do, and a process even fewer.
TURNS = 4
TURNS_OF_COMMANDS = 2

RECIPE = """[[edit]]
freeze = "block_*"
"""


def measure_verbs() -> dict[str, Any]:
    """Return the seconds of each verb, file comparison and command, and the seconds per layer of a small and a large model."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [measure_calls(), measure_files(Path(folder)), measure_commands(Path(folder))]
    seconds, failed = ({key: value for part in parts for key, value in part[place].items()} for place in (0, 1))
    megabytes = seconds.pop("megabytes")
    return {"seconds": seconds, "failed": failed, "megabytes": megabytes, "growth": measure_growth()}


def trained_model() -> tuple[Any, Any]:
    """Return a convolutional network of 155 layers after one step of Adam, and a batch as large as those of `verify`."""
    model = keras.applications.MobileNetV2((64, 64, 3), weights=None, classes=10)
    model.compile(optimizer="adam", loss="mse")
    batch = np.random.default_rng(0).normal(size=(3, 64, 64, 3)).astype("float32")
    model.train_on_batch(batch, np.zeros((3, 10), "float32"))
    return model, batch


def forward_and_backward(model: Any, batch: Any) -> Any:
    """Return the gradients of the mean square of the outputs, computed eagerly, as in `verify`."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        def loss(trainable: list[Any]) -> Any:
            outputs, _ = model.stateless_call(
                trainable, [variable.value for variable in model.non_trainable_variables], batch, training=True
            )
            return keras.ops.mean(outputs**2)

        return jax.block_until_ready(jax.grad(loss)([variable.value for variable in model.trainable_variables]))
    values = [variable.value for variable in model.trainable_variables]
    if backend == "torch":
        import torch

        return torch.autograd.grad(keras.ops.mean(model(batch, training=True) ** 2), values)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        number = keras.ops.mean(model(batch, training=True) ** 2)
    return tape.gradient(number, values)


def compare_by_hand(model: Any, other: Any) -> bool:
    """Return whether configs and weights are equal, with plain Keras and numpy."""
    weights = zip(model.get_weights(), other.get_weights(), strict=True)
    return model.get_config() == other.get_config() and all(np.array_equal(ours, theirs) for ours, theirs in weights)


def measure_calls() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the seconds of each verb on a live model and of its alternatives, and the reasons of failures."""
    model, batch = trained_model()
    twin, spare = ramet.clone(model), ramet.clone(model)
    seconds, _, failed = interleave(
        {
            **_verbs(model, twin),
            "edit, freeze": lambda: ramet.edit(model, edits.freeze(ramet.of_class("Dense"))),
            # Not on the model itself: a run in training mode changes moving averages, and the twin would differ.
            "forward and backward": lambda: forward_and_backward(spare, batch),
            "save and load": lambda: save_and_load(model),
            "clone_model + set_weights": lambda: clone_model_and_set_weights(model),
            "get_config": model.get_config,
            "summary": lambda: model.summary(print_fn=lambda _text: None),
            "compare by hand": lambda: compare_by_hand(model, twin),
            **({"plot_model": lambda: _plot(model)} if _can_plot() else {}),
        },
        turns=TURNS,
    )
    return seconds, failed


def _verbs(model: Any, twin: Any) -> dict[str, Callable[[], Any]]:
    """Return the verbs that are measured on one model and for their growth."""
    dropout = edits.insert_after(_last_dense(model), lambda _old: keras.layers.Dropout(0.1))
    return {
        "verify": lambda: _verify(model, twin),
        "edit, insert": lambda: ramet.edit(model, dropout),
        "diff": lambda: str(ramet.diff(model, twin)),
        "capture": lambda: ramet.capture(model),
        "draw": lambda: ramet.draw(model).to_svg(),
    }


def _verify(model: Any, twin: Any) -> None:
    report = ramet.verify(model, twin, progress=False)
    if not report.ok:  # after a difference, runs would be repeated
        raise RuntimeError(str(report))


def _last_dense(model: Any) -> Any:
    return next(layer for layer in reversed(model.layers) if isinstance(layer, keras.layers.Dense))


def _plot(model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        keras.utils.plot_model(model, Path(folder) / "model.svg", show_shapes=True)


def _can_plot() -> bool:
    try:
        import pydot
    except ImportError:
        return False
    return bool(pydot.find_graphviz() if hasattr(pydot, "find_graphviz") else True)


def measure_files(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Measure the diff of two files of 250 MB, with one changed array and with all arrays changed."""
    paths = [folder / name for name in ("model.keras", "one.keras", "all.keras")]
    model = chain(15, 2048)
    model.save(paths[0])
    kernel = model.layers[7].kernel
    kernel.assign(kernel + np.eye(2048, dtype="float32"))
    model.save(paths[1])
    for variable in model.weights:
        variable.assign(variable * 1.01 + 0.01)
    model.save(paths[2])
    seconds, _, failed = interleave(
        {
            "diff of files, one array": lambda: str(ramet.diff(paths[0], paths[1])),
            "diff of files, all arrays": lambda: str(ramet.diff(paths[0], paths[2])),
            "read both files": lambda: [path.read_bytes() for path in paths[:2]],
        },
        turns=TURNS,
    )
    return {**seconds, "megabytes": 2 * paths[0].stat().st_size / 1e6}, failed


def measure_commands(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Measure whole processes without the start of Python: each command, and a Python script that does the same."""
    model, out, recipe = folder / "a.keras", folder / "out.keras", folder / "recipe.toml"
    trained, _ = trained_model()
    trained.save(model)
    recipe.write_text(RECIPE, encoding="utf-8")
    load = f"import keras, numpy as np; m = keras.models.load_model({str(model)!r})"
    again = f"n = keras.models.load_model({str(model)!r})"
    write = f"n.save({str(out)!r})"
    copy = "n = keras.models.clone_model(m); n.set_weights(m.get_weights())"
    batch = "x = np.zeros((3, 64, 64, 3)); assert np.array_equal(m.predict(x, verbose=0), n.predict(x, verbose=0))"
    compare = "assert all(np.array_equal(a, b) for a, b in zip(m.get_weights(), n.get_weights()))"
    programs = {
        "python": ["-c", ""],
        "ramet show": ["-m", "ramet", "show", str(model)],
        "ramet scan": ["-m", "ramet", "scan", str(model)],
        "ramet diff": ["-m", "ramet", "diff", str(model), str(model)],
        "ramet clone": ["-m", "ramet", "clone", "--trust", str(model), str(out)],
        "ramet edit": ["-m", "ramet", "edit", "--trust", "--recipe", str(recipe), str(model), str(out)],
        "ramet verify": ["-m", "ramet", "verify", "--trust", str(model), str(model)],
        "load, summary": ["-c", f"{load}; m.summary()"],
        "load twice, compare weights": ["-c", f"{load}; {again}; {compare}"],
        "load, clone_model, save": ["-c", f"{load}; {copy}; {write}"],
        "load twice, predict twice": ["-c", f"{load}; {again}; {batch}"],
    }
    ways = {name: _running(arguments) for name, arguments in programs.items()}
    seconds, _, failed = interleave(ways, turns=TURNS_OF_COMMANDS)
    bare = seconds.pop("python")
    return {name: taken - bare for name, taken in seconds.items()}, failed


def _running(arguments: list[str]) -> Callable[[], Any]:
    def work() -> None:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()}")

    return work


def measure_growth() -> dict[str, dict[str, float]]:
    """Return the seconds per layer of each verb, by the number of layers."""
    ways: dict[str, Callable[[], Any]] = {}
    for depth in GROWTH:
        model = chain(depth)
        model.compile(optimizer="sgd", loss="mse")
        ways.update({f"{verb}/{depth}": work for verb, work in _verbs(model, ramet.clone(model)).items()})
    _, first, _ = interleave(ways, turns=TURNS)
    talk(" ")
    found: dict[str, dict[str, float]] = {}
    for name, taken in first.items():
        verb, _, depth = name.partition("/")
        found.setdefault(verb, {})[depth] = taken / int(depth)
    return found
