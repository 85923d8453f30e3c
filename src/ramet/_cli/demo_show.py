"""The demo: its two models, cloned by ramet and by Keras, and the table on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import ramet
from ramet._verify import Check

_FOUNDING_SOURCE = """\
inputs = keras.Input((4,))
a, b   = Lambda(lambda x: [x + 1, x])(inputs)   # two outputs, no mask support
c, d   = Swap()([a, b])
model  = keras.Model(inputs, Add()([c, d]))"""


class Swap(keras.layers.Layer):  # type: ignore[misc]  # Keras ships no types
    """A layer that returns its two inputs in reverse order."""

    def call(self, inputs: Any) -> Any:
        """Return the second input, then the first."""
        first, second = inputs
        return [second, first]


def founding_model() -> Any:
    """Return the model of keras#12202, with a layer of two outputs that does not support masks."""
    inputs = keras.Input((4,), name="inputs")
    a, b = keras.layers.Lambda(lambda x: [x + 1, x], name="two_outputs")(inputs)
    c, d = Swap(name="swap")([a, b])
    model = keras.Model(inputs, keras.layers.Add(name="sum")([c, d]), name="founding")
    model.compile(loss="mse")
    return model


def real_model() -> Any:
    """Return MobileNetV2 with random weights, its first half frozen, trained for two steps."""
    model = keras.applications.MobileNetV2(input_shape=(32, 32, 3), weights=None, classes=10)
    for layer in model.layers[:80]:
        layer.trainable = False
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    random = np.random.default_rng(1)
    images, labels = random.normal(size=(8, 32, 32, 3)).astype("float32"), random.integers(0, 10, 8)
    model.fit(images, labels, batch_size=4, verbose=0)
    return model


def run(*, no_color: bool) -> int:
    """Show the demo and return its exit code: 0 if every twin is exact."""
    console = Console(no_color=True if no_color else None)
    console.print()
    console.print(
        Panel.fit(
            f"[bold]ramet[/] {ramet.__version__}: exact, independent twins of Keras models\n"
            f"[dim]Keras {keras.__version__} on {keras.backend.backend()}; random weights[/]",
            border_style="green",
        )
    )
    console.print("\n[bold]1. The model that started it all[/] [dim](keras#12202, reported in 2019)[/]\n")
    console.print(Syntax(_FOUNDING_SOURCE, "python", background_color="default"))
    exact = _show(console, founding_model)
    console.print("\n[bold]2. A real network[/] [dim](MobileNetV2, half of it frozen, trained for two steps)[/]")
    exact = _show(console, real_model) and exact
    console.print()
    verdict = (
        "[bold green]Every twin passes every check.[/]" if exact else "[bold red]A twin differs. This is a bug.[/]"
    )
    console.print(verdict, "Try it on your own model:  [bold]twin = ramet.clone(model)[/]\n")
    return 0 if exact else 1


def _show(console: Console, make: Callable[[], Any]) -> bool:
    with console.status("building the model ..."):
        original = make()
    with console.status("cloning and comparing ..."):
        ours, ours_ms = _cloned(ramet.clone, original)
        theirs, theirs_ms = _cloned(_clone_by_keras, original)
    with console.status("verifying ...") as status:

        def update(name: str, number: int, total: int) -> None:
            status.update(f"verifying {name} ({number + 1} of {total}) ...")

        report = ramet.verify(original, ours, progress=update)
        failed = isinstance(theirs, Exception)
        other = None if failed else ramet.verify(original, theirs, progress=update)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold", pad_edge=False)
    for header in ("", "  ramet.clone", "" if failed else "  clone_model + set_weights"):
        table.add_column(header, overflow="fold")
    for check in report:
        table.add_row(check.name, _cell(check), _cell(None if other is None else other[check.name]))
    table.add_row("time", f"  {ours_ms:.1f} ms", "" if failed else f"  {theirs_ms:.1f} ms")
    console.print()
    console.print(table)
    if failed:
        words = f"raises {type(theirs).__name__}: {str(theirs).partition('.')[0]}."
        console.print(f"\n[bold]keras.models.clone_model[/] [red]✗ {escape(words)}[/]")
    return report.ok


def _cloned(function: Callable[[Any], Any], original: Any) -> tuple[Any, float]:
    """Return a clone, or the error, and the milliseconds of the second call: the first one imports and compiles things."""
    try:
        function(original)
    except Exception as error:  # noqa: BLE001  # the demo shows whatever Keras raises
        return error, 0.0
    start = time.perf_counter()
    clone = function(original)
    return clone, (time.perf_counter() - start) * 1000


def _clone_by_keras(original: Any) -> Any:
    clone = keras.models.clone_model(original)
    clone.set_weights(original.get_weights())
    return clone


def _cell(check: Check | None) -> Text:
    if check is None:
        return Text("")
    if check.outcome == "not run":
        return Text(f"- {check.reason}", style="dim")
    if check.outcome == "passed":
        return Text(f"✓ {check.summary}", style="green")
    return Text(f"✗ {check.summary}; first: {check.differences[0]}", style="red")
