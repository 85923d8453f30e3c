"""The demo in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import keras
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import ramet
from ramet._cli.demo_models import FOUNDING_SOURCE, founding_model, real_model
from ramet._verify import Check


def run(console: Console | None = None) -> int:
    """Show the demo; 0 if every twin was exact."""
    console = console or Console()
    console.print()
    console.print(
        Panel.fit(
            f"[bold]ramet[/] {ramet.__version__}: exact, independent twins of Keras models\n"
            f"[dim]Keras {keras.__version__} on {keras.backend.backend()}; random weights[/]",
            border_style="green",
        )
    )
    console.print("\n[bold]1. The model that started it all[/] [dim](keras#12202, reported in 2019)[/]\n")
    console.print(Syntax(FOUNDING_SOURCE, "python", background_color="default"))
    exact = _show(console, founding_model)
    console.print("\n[bold]2. A real network[/] [dim](MobileNetV2, half of it frozen, trained for two steps)[/]")
    exact = _show(console, real_model) and exact
    console.print()
    verdict = (
        "[bold green]Every twin passes every check.[/]" if exact else "[bold red]A twin differs. This is a bug.[/]"
    )
    console.print(verdict, "Yours next:  [bold]twin = ramet.clone(model)[/]\n")
    return 0 if exact else 1


def _show(console: Console, make: Callable[[], Any]) -> bool:
    with console.status("building the model ..."):
        original = make()
    with console.status("cloning and comparing ..."):
        ours, ours_ms = _cloned(ramet.clone, original)
        theirs, theirs_ms = _cloned(_clone_by_keras, original)
    with console.status("verifying ...") as status:

        def tell(name: str, number: int, of: int) -> None:
            status.update(f"verifying {name} ({number + 1} of {of}) ...")

        report = ramet.verify(original, ours, progress=tell)
        other = None if isinstance(theirs, Exception) else ramet.verify(original, theirs, progress=tell)
    failed = isinstance(theirs, Exception)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold", pad_edge=False)
    for header in ("", "  ramet.clone", "" if failed else "  clone_model + set_weights"):
        table.add_column(header, overflow="fold")
    for check in report:
        table.add_row(check.name, _cell(check), _cell(None if other is None else other[check.name]))
    table.add_row("time", f"  {ours_ms:.1f} ms", "" if failed else f"  {theirs_ms:.1f} ms")
    console.print()
    console.print(table)
    if failed:
        console.print(f"\n[bold]keras.models.clone_model[/] [red]✗ {escape(_first_words(theirs))}[/]")
    return report.ok


def _cloned(how: Callable[[Any], Any], original: Any) -> tuple[Any, float]:
    """A clone, or the error, and the milliseconds of the second try: the first loads and compiles what both need."""
    try:
        how(original)
    except Exception as error:  # noqa: BLE001  # what Keras raises is what the demo shows
        return error, 0.0
    start = time.perf_counter()
    clone = how(original)
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
    return Text(f"✗ {check.summary}; first, {check.differences[0]}", style="red")


def _first_words(error: Exception) -> str:
    words = str(error).partition(".")[0]
    return f"raises {type(error).__name__}: {words}."
