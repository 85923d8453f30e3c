"""What is known of the outputs of a call: the file says the shape of a tensor where it is used, not where it is made."""

from __future__ import annotations

from ramet._files.frozen import shape_of
from ramet._files.history import Tensors
from ramet._files.problem import ModelFileError
from ramet._files.shape import infer_dtype, infer_shape
from ramet._files.text import Json
from ramet._graph import Argument, Call, Graph, Op, Ref, Value, escape, freeze, refs, thaw

__all__ = ["UNKNOWN_DTYPE", "values_of"]

UNKNOWN_DTYPE = "unknown"
_BATCH_KEYS = ("batch_shape", "batch_input_shape")


def values_of(
    op: Op, call: str, arguments: tuple[Argument, ...], tensors: Tensors, made: dict[str, Call]
) -> tuple[tuple[Value, ...], Argument]:
    """The outputs of a call, and how they are nested.

    Args:
        op: what is called.
        call: the id of the call.
        arguments: what it takes.
        tensors: what the file says of tensors.
        made: the calls before it.
    """
    if op.kind == "input":
        return (_input_value(op),), 0
    inner = op.graph if op.graph is not None and op.graph.calls else None
    count = max(tensors.count(call), 1) if inner is None else sum(1 for _ in refs(inner.outputs))
    if tensors.count(call) > count:
        raise ModelFileError(
            f"Cannot read the model: output {tensors.count(call) - 1} of '{escape(op.id)}' is used, and it has {count}.",
            path=op.id,
        )
    taken = [_value_at(ref, made) for ref in refs(arguments)]
    found = tuple(_value(op, Ref(call, number), count, taken, tensors) for number in range(count))
    if inner is None:
        return found, 0 if count == 1 else freeze(list(range(count)))
    return _with_inner(found, inner), _structure(inner)


def _value(op: Op, ref: Ref, count: int, taken: list[Value], tensors: Tensors) -> Value:
    shape, dtype = tensors.known.get(ref, (None, None))
    if count == 1:
        shape = infer_shape(op, [value.shape for value in taken]) if shape is None else shape
        dtype = infer_dtype(op, [value.dtype for value in taken]) if dtype is None else dtype
    # An unknown shape is None: the file may say nothing of an output that no call takes.
    return Value(shape, dtype or UNKNOWN_DTYPE)


def _with_inner(values: tuple[Value, ...], inner: Graph) -> tuple[Value, ...]:
    """The outputs of a nested model, with what is known of them inside where nothing is known outside."""
    result = []
    for value, ref in zip(values, refs(inner.outputs), strict=True):
        own = inner.value(ref)
        shape = own.shape if value.shape is None else value.shape
        dtype = own.dtype if value.dtype == UNKNOWN_DTYPE else value.dtype
        result.append(value.with_changes(shape=shape, dtype=dtype))
    return tuple(result)


def _structure(inner: Graph) -> Argument:
    numbers = iter(range(sum(1 for _ in refs(inner.outputs))))
    return freeze(thaw(inner.outputs, lambda _: next(numbers)))


def _value_at(ref: Ref, made: dict[str, Call]) -> Value:
    outputs = made[ref.call].outputs
    return outputs[ref.output] if ref.output < len(outputs) else Value(None, UNKNOWN_DTYPE)


def _input_value(op: Op) -> Value:
    config: Json = {} if op.config is None else {str(key): thaw(item) for key, item in op.config.pairs}
    shape = next((shape_of(config[key]) for key in _BATCH_KEYS if key in config), None)
    dtype = config.get("dtype")
    return Value(
        shape,
        dtype if isinstance(dtype, str) else UNKNOWN_DTYPE,
        sparse=config.get("sparse") is True,
        ragged=config.get("ragged") is True,
        optional=config.get("optional") is True,
        name=op.name,
    )
