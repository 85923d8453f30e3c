"""The options of commands that write a picture: `--draw`, `--rankdir`, `--columns`, `--scale`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ramet._cli.option import file_name
from ramet._cli.terminal import one_line, tell
from ramet._cli.writing import check_target
from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._draw import Picture

__all__ = ["add_drawing", "check_drawing", "direction", "save_picture"]

_SUFFIXES = (".html", ".svg", ".png", ".pdf")


def add_drawing(parser: argparse.ArgumentParser, way: argparse._ActionsContainer, purpose: str) -> None:
    """Add the options of a picture.

    Args:
        parser: Of the command.
        way: Where `--draw` goes: the group of options that exclude each other, or the parser.
        purpose: The help of `--draw`.
    """
    way.add_argument(
        "--draw",
        "--html",
        dest="picture",
        type=file_name,
        metavar="OUT",
        help=f"{purpose}: a page to explore (.html), or a drawing (.svg, .png, .pdf)",
    )
    group = parser.add_argument_group("drawing")
    group.add_argument("--rankdir", choices=("TB", "LR"), help="from top to bottom, or from left to right")
    group.add_argument("--columns", type=int, metavar="N", help="fold a long picture into this many columns")
    group.add_argument("--scale", type=float, metavar="S", help="pixels for each unit of a .png; else 2")


def check_drawing(options: argparse.Namespace) -> None:
    """Refuse, before any work is done, a picture that could not be written in the end."""
    if options.picture is None:
        for name in ("rankdir", "columns", "scale"):
            if getattr(options, name) is not None:
                raise ArgumentError(
                    f"Cannot use --{name}: no picture is drawn.", fix=f"add --draw model.svg, or leave --{name} out."
                )
        return
    check_target(options.picture, *_SUFFIXES)
    from ramet._draw import check_direction
    from ramet._draw import check_target as check_picture

    check_picture(options.picture, options.scale)
    check_direction(**direction(options))


def direction(options: argparse.Namespace) -> dict[str, Any]:
    """`rankdir` and `columns`, as `draw_graph` takes them."""
    return {"rankdir": options.rankdir or "TB", "columns": 1 if options.columns is None else options.columns}


def save_picture(picture: Picture, options: argparse.Namespace) -> None:
    """Write the picture, and say so."""
    picture.save(options.picture, scale=options.scale)
    tell(f"wrote {one_line(str(options.picture))}")
