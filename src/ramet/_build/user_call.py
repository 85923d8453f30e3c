"""The user's `call_function`: what it is called with, what it must return, and what becomes of its errors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras

from ramet._build.replacement import PlainFunction
from ramet.errors import ArgumentError, RametError, RebuildError


class UserCall:
    """Makes a call by the user's function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._raised: Exception | None = None

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            outputs = self._function(op.function if isinstance(op, PlainFunction) else op, *args, **kwargs)
        except RametError:
            raise
        except Exception as error:
            error.add_note(f"ramet: in call_function, for '{op.name}'.")
            self._raised = error
            raise
        for index, output in enumerate(keras.tree.flatten(outputs)):
            if not isinstance(output, keras.KerasTensor):
                raise ArgumentError(
                    f"Cannot clone '{op.name}': call_function returned no tensor as its output {index}.",
                    expected="the outputs of the call, symbolic tensors",
                    found="None" if output is None else f"an object of class {type(output).__name__}",
                    fix="return what layer(*args, **kwargs) returns, or what shall stand for it.",
                    path=op.name,
                )
        return outputs

    @staticmethod
    @contextlib.contextmanager
    def unwrapped(call: UserCall | None) -> Iterator[None]:
        """What the user's function raised comes out as it was raised."""
        try:
            yield
        except RebuildError as error:
            if call is not None and call._raised is not None and error.__cause__ is call._raised:
                raise call._raised from call._raised.__cause__
            raise
