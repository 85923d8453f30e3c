"""The derivatives of a number computed by a model, for each of its trainable variables, on every backend."""

from __future__ import annotations

from collections.abc import Callable
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
        rerun: Puts the model back, then does the same.
        number_of: Makes one number from the outputs.

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
        # Not stateless_call(), which goes past __call__ and with it past masks and the training argument.
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
            number = number_of(outputs)
        except Exception as error:  # noqa: BLE001  # a model need not have derivatives
            return outputs, error
    try:
        found = tape.gradient(number, values)
        return outputs, [None if value is None else tf.convert_to_tensor(value) for value in found]
    except Exception as error:  # noqa: BLE001  # a model need not have derivatives
        return outputs, error
