"""Run models: differentiate a run on every backend, and observe every call."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras


def run_and_differentiate(
    model: Any,
    run: Callable[[], Any],
    rerun: Callable[[], Any],
    number_of: Callable[[Any], Any],
) -> tuple[Any, list[Any] | Exception]:
    """Run a model and differentiate a number made from its outputs.

    On torch and TensorFlow the outputs and the derivatives come from one run. On JAX the model runs twice, because
    the values inside a differentiated run are tracers: masks and outputs could not be read.

    Args:
        model: A built model.
        run: Calls the model and returns its outputs.
        rerun: Restores the model, then does the same.
        number_of: Computes one number from the outputs.

    Returns:
        The outputs, and the derivatives in the order of `model.trainable_variables`: None where the number does not
        depend on a variable. If the run succeeded but cannot be differentiated, the error replaces the derivatives.
    """
    if keras.backend.backend() == "jax":
        outputs = run()
        return outputs, _with_jax(model, lambda: number_of(rerun()))
    with_backend = _with_torch if keras.backend.backend() == "torch" else _with_tensorflow
    return with_backend(model, run, number_of)


def _with_jax(model: Any, number: Callable[[], Any]) -> list[Any] | Exception:
    import jax

    variables = model.trainable_variables

    def number_for(values: list[Any]) -> Any:
        # Not stateless_call(), which bypasses __call__, and with it masks and the training argument.
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return number()

    try:
        return list(jax.grad(number_for)([variable.value for variable in variables]))
    except Exception as error:  # noqa: BLE001  # a model need not have derivatives
        return error


def _with_torch(
    model: Any, run: Callable[[], Any], number_of: Callable[[Any], Any]
) -> tuple[Any, list[Any] | Exception]:
    import torch

    values = [variable.value for variable in model.trainable_variables]
    with torch.enable_grad():
        outputs = run()
        try:
            number = number_of(outputs)
            if not number.requires_grad:
                return outputs, [None] * len(values)
            wanted = [value for value in values if value.requires_grad]
            # Not backward(): that would leave its result on the user's parameters.
            found = iter(torch.autograd.grad(number, wanted, allow_unused=True))
        except Exception as error:  # noqa: BLE001  # a model need not have derivatives
            return outputs, error
    return outputs, [next(found) if value.requires_grad else None for value in values]


def _with_tensorflow(
    model: Any, run: Callable[[], Any], number_of: Callable[[Any], Any]
) -> tuple[Any, list[Any] | Exception]:
    import tensorflow as tf

    values = [variable.value for variable in model.trainable_variables]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        for value in values:
            tape.watch(value)
        outputs = run()
        try:
            found = tape.gradient(number_of(outputs), values)
            return outputs, [None if value is None else tf.convert_to_tensor(value) for value in found]
        except Exception as error:  # noqa: BLE001  # a model need not have derivatives
            return outputs, error


Observe = Callable[[Any, Any], None]


@contextlib.contextmanager
def watch_calls(observe: Observe) -> Iterator[None]:
    """Call `observe(op, outputs)` after every call that this thread makes, at all depths, in the order of execution.

    The classes are patched, not the layers: nothing is written to a user's object, and layers inside wrappers and
    subclassed models are observed as well.
    """
    before = {cls: cls.__dict__["__call__"] for cls in (keras.Operation, keras.Layer)}
    try:
        for cls, call in before.items():
            cls.__call__ = _observed(call, observe, threading.get_ident(), cls)
        yield
    finally:
        for cls, call in before.items():
            cls.__call__ = call


def _observed(call: Callable[..., Any], observe: Observe, thread: int, cls: type) -> Callable[..., Any]:
    @functools.wraps(call)
    def observing(op: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = call(op, *args, **kwargs)
        # A call of a layer passes through both classes, and has its mask only after the second.
        inner = cls is keras.Operation and isinstance(op, keras.Layer)
        if not inner and threading.get_ident() == thread:
            observe(op, outputs)
        return outputs

    return observing
