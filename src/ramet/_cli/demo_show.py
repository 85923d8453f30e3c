"""The demo: its two models, cloned by ramet and by Keras, and the table on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import keras
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import ramet
from ramet._verify import Check, Report

_FOUNDING_SOURCE = """\
inputs = keras.Input((4,))
a, b   = Lambda(lambda x: [x + 1, x])(inputs)   # two outputs, no mask support
c, d   = Swap()([a, b])
model  = keras.Model(inputs, Add()([c, d]))"""

_STYLES = {"✓": "green", "✗": "red", "-": "dim", "": ""}


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
    images, labels = random.normal(size=(8, 32, 32, 3)).astype("float32"), random.integers(0, 10, 8).astype("int32")
    model.fit(images, labels, batch_size=4, verbose=0)
    return model


@dataclass(frozen=True)
class Comparison:
    """A model, its clones by ramet and by Keras, and the report on each. Keras may raise an error instead."""

    original: Any
    report: Report
    milliseconds: float
    other: Report | Exception
    other_milliseconds: float

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the name of each check, with its result for ramet and for Keras."""
        others = {} if isinstance(self.other, Exception) else {check.name: check for check in self.other}
        return [(check.name, _cell(check), _cell(others.get(check.name))) for check in self.report]


def compare(original: Any, *, progress: Callable[[str, int, int], None] | Literal[False] = False) -> Comparison:
    """Clone a model in both ways, and verify the clones."""
    twin, milliseconds = _cloned(ramet.clone, original)
    report = ramet.verify(original, twin, progress=progress)
    try:
        clone, other_milliseconds = _cloned(_clone_by_keras, original)
    except Exception as error:  # noqa: BLE001  # the demo shows whatever Keras raises
        return Comparison(original, report, milliseconds, error, 0.0)
    other = ramet.verify(original, clone, progress=progress)
    return Comparison(original, report, milliseconds, other, other_milliseconds)


def run(*, no_color: bool, picture: Path | None = None) -> int:
    """Show the demo and return its exit code: 0 if every twin is exact.

    Args:
        no_color: Whether to print without colors.
        picture: The file for a picture of the second model, in which the clone by Keras differs.
    """
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
    first = _show(console, founding_model)
    console.print("\n[bold]2. A real network[/] [dim](MobileNetV2, half of it frozen, trained for two steps)[/]")
    second = _show(console, real_model)
    console.print()
    if picture is not None and isinstance(second.other, Report):
        ramet.draw(second.original, picture, report=second.other)
        console.print("[bold]3. A picture[/] [dim](what the clone by Keras has lost; open it in a browser)[/]\n")
        console.print(f"  {escape(str(picture))}\n", soft_wrap=True)
    exact = first.report.ok and second.report.ok
    verdict = (
        "[bold green]Every twin passes every check.[/]" if exact else "[bold red]A twin differs. This is a bug.[/]"
    )
    console.print(verdict, "Try it on your own model:  [bold]twin = ramet.clone(model)[/]\n")
    return 0 if exact else 1


def _show(console: Console, make: Callable[[], Any]) -> Comparison:
    with console.status("building the model ..."):
        original = make()
    with console.status("cloning and verifying ...") as status:

        def update(name: str, number: int, total: int) -> None:
            status.update(f"verifying {name} ({number + 1} of {total}) ...")

        found = compare(original, progress=update)
    failed = isinstance(found.other, Exception)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold", pad_edge=False)
    for header in ("", "  ramet.clone", "" if failed else "  clone_model + set_weights"):
        table.add_column(header, overflow="fold")
    for name, *cells in found.rows():
        table.add_row(name, *(Text(cell, style=_STYLES[cell[:1]]) for cell in cells))
    table.add_row("time", f"  {found.milliseconds:.1f} ms", "" if failed else f"  {found.other_milliseconds:.1f} ms")
    console.print()
    console.print(table)
    if failed:
        words = f"raises {type(found.other).__name__}: {str(found.other).partition('.')[0]}."
        console.print(f"\n[bold]keras.models.clone_model[/] [red]✗ {escape(words)}[/]")
    return found


def _cloned(function: Callable[[Any], Any], original: Any) -> tuple[Any, float]:
    """Return a clone, and the milliseconds of the second call: the first one imports and compiles things."""
    function(original)
    start = time.perf_counter()
    clone = function(original)
    return clone, (time.perf_counter() - start) * 1000


def _clone_by_keras(original: Any) -> Any:
    clone = keras.models.clone_model(original)
    clone.set_weights(original.get_weights())
    return clone


def _cell(check: Check | None) -> str:
    if check is None:
        return ""
    if check.outcome == "not run":
        return f"- {check.reason}"
    if check.outcome == "passed":
        return f"✓ {check.summary}"
    return f"✗ {check.summary}; first: {check.differences[0]}"
