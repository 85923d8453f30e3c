"""The derivative of a number computed by a model, for each of its trainable variables, on every backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras


def gradients(model: Any, call: Callable[[Callable[..., Any]], Any]) -> list[Any]:
    """The derivatives, in the order of `model.trainable_variables`; None where the number does not depend on one.

    Args:
        model: A built model.
        call: Given what to call in the model's place, answers with the number.
    """
    return {"jax": _with_jax, "torch": _with_torch, "tensorflow": _with_tensorflow}[keras.backend.backend()](
        model, call
    )


def _with_jax(model: Any, call: Callable[[Callable[..., Any]], Any]) -> list[Any]:
    import jax

    variables = model.trainable_variables

    def number(values: list[Any]) -> Any:
        # Not stateless_call(), which goes past __call__ and with it past masks and the training argument.
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return call(model)

    return list(jax.grad(number)([variable.value for variable in variables]))


def _with_torch(model: Any, call: Callable[[Callable[..., Any]], Any]) -> list[Any]:
    import torch

    values = [variable.value for variable in model.trainable_variables]
    with torch.enable_grad():
        number = call(model)
    if not number.requires_grad:
        return [None] * len(values)
    wanted = [value for value in values if value.requires_grad]
    # Not backward(): that would leave its result on the user's parameters.
    found = iter(torch.autograd.grad(number, wanted, allow_unused=True))
    return [next(found) if value.requires_grad else None for value in values]


def _with_tensorflow(model: Any, call: Callable[[Callable[..., Any]], Any]) -> list[Any]:
    import tensorflow as tf

    values = [variable.value for variable in model.trainable_variables]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        for value in values:
            tape.watch(value)
        number = call(model)
    return [None if found is None else tf.convert_to_tensor(found) for found in tape.gradient(number, values)]
