"""What a command is made of."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Command"]


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the program.

    Attributes:
        name: What is typed.
        summary: One line for the list of commands.
        about: What it does, and what its exit code says.
        examples: Lines that can be typed, each with what it is for.
        add_arguments: Adds its own arguments to its parser.
        run: Carries it out; answers with the exit code.
    """

    name: str
    summary: str
    about: str
    examples: tuple[tuple[str, str], ...]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

    @property
    def epilogue(self) -> str:
        """The examples, as the end of the help."""
        lines = ["examples:"]
        for line, purpose in self.examples:
            lines += [f"  {line}", f"      {purpose}"]
        return "\n".join(lines)
