"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from pathlib import Path

from ramet._cli.terminal import one_line

__all__ = ["BACKENDS", "add_loading", "add_seed", "comma_list", "file_name", "loading_arguments"]

BACKENDS = ("jax", "torch", "tensorflow")


def file_name(text: str) -> Path:
    """The path of a file. Standard input and output hold no place that could be read twice, or renamed."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "'-' is not supported: model files are not read in one go, and written beside; give the name of a file"
        )
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"'{one_line(text)}' is no name of a file")
    return Path(text)


def comma_list(text: str) -> list[str]:
    """Names with commas between them."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"'{one_line(text)}' has an empty name in it")
    return names


def add_loading(parser: argparse.ArgumentParser) -> None:
    """The options of commands that load a model."""
    group = parser.add_argument_group("loading")
    group.add_argument(
        "--backend", choices=BACKENDS, help="what Keras runs on; else as KERAS_BACKEND or keras.json say"
    )
    group.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module before loading: it defines classes or functions that the model uses. Repeatable; "
        "what it defines is trusted",
    )
    group.add_argument(
        "--no-compile",
        action="store_true",
        help="load layers and weights only, without optimizer, loss and metrics",
    )
    group.add_argument(
        "--trust", action="store_true", help="load the file also when the scan finds code in it, which may then run"
    )


def loading_arguments(options: argparse.Namespace) -> list[str]:
    """What was said about loading, but for the backend, as arguments once more."""
    flags = {"--no-compile": options.no_compile, "--trust": options.trust}
    return [*(f"--import={name}" for name in options.modules), *(flag for flag, is_set in flags.items() if is_set)]


def add_seed(parser: argparse.ArgumentParser, purpose: str) -> None:
    """`--seed`."""
    parser.add_argument("--seed", type=int, metavar="N", help=purpose)
