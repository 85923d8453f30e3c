"""The parts of a graph as frozen data: ops, their variables, their calls, and the values that calls produce."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ramet._graph.argument import EMPTY, Argument, Changeable, Frozen, FrozenDict, Ref, Shape, refs

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

HUGE = 2**63
UNRECORDED: Literal["unrecorded"] = "unrecorded"
Mask: TypeAlias = Ref | Literal["unrecorded"] | None
MaskKind: TypeAlias = Literal["implicit", "explicit"]
MASK_KINDS: frozenset[str] = frozenset(get_args(MaskKind))
OpKind: TypeAlias = Literal["input", "layer", "model", "operation"]
OP_KINDS: frozenset[str] = frozenset(get_args(OpKind))

_NUMBERED = re.compile(r"(?s)(.*?)(#+)([1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class Value(Changeable):
    """One output of a call.

    Attributes:
        shape: The shape, with None for a free dimension; None if unknown, as for an output that no call of a graph read
            from a file uses.
        dtype: The dtype; "unknown" if unknown.
        sparse: Whether it is a sparse tensor.
        ragged: Whether it is a ragged tensor.
        optional: Whether None may be passed instead (inputs only).
        name: The name of the tensor, if it has one worth keeping.
        mask: The mask that the value carries: the output of a call of this graph, "unrecorded" for a mask that exists when
            the model runs but that no call of the graph produces, or None.
    """

    shape: Shape | None
    dtype: str
    sparse: bool = False
    ragged: bool = False
    optional: bool = False
    name: str | None = None
    mask: Mask = None


@dataclass(frozen=True, slots=True)
class VariableSpec(Changeable):
    """One variable of an op. Its path is the path of the op plus its id.

    Attributes:
        id: Unique in its op: its name, unless another variable of the op has the same name.
        shape: The shape; None if not known yet.
        dtype: The dtype.
        trainable: The variable's own flag.
        weight: False for state that does not count as a parameter: random seeds, metrics.
        tied: The path, from the root, of the first variable that is the same object; None for that first one.
        name: The name that Keras gives it; the id by default.
    """

    id: str
    shape: Shape | None
    dtype: str
    trainable: bool = True
    weight: bool = True
    tied: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id)

    @property
    def size(self) -> int:
        """Number of elements; 0 if not known yet, and `HUGE` if no machine could hold them."""
        if self.shape is None or not all(self.shape):
            return 0
        total = 1
        for length in self.shape:
            total *= length or 0
            if total >= HUGE:
                # A shape read from a file may contain anything, and unbounded numbers take unbounded time.
                return HUGE
        return total


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Op(Frozen):
    """Something that can be called: an input, a layer, a nested model or a raw operation, as frozen data.

    An op occurs once in a graph, however often it is called. A shared op that occurs again elsewhere, in a nested model
    or a layer, is a stub there: its `same_as` names the first occurrence, which has the contents.

    Attributes:
        id: Unique among its siblings: its name, unless a sibling has the same name.
        kind: `"input"`, `"layer"`, `"model"` or `"operation"`.
        class_name: The name of its class.
        module: The module of its class.
        registered_name: The name of its class in Keras' registry.
        config: Its settings; `None` if there are none, with the reason in `no_config`.
        no_config: The reason why there is no config.
        trainable: The op's own flag.
        dtype_policy: The name of its dtype policy.
        built: Whether it has been built.
        flags: Further settings that are not in the config, sorted by name.
        variables: Its own variables, without those of the ops inside it.
        graph: The contents of a model.
        children: The ops inside a wrapper, a composite layer or any other layer that holds layers.
        same_as: The path, from the root, of the first occurrence of this object; `None` for the first occurrence
            itself.
        name: The name that Keras gives it; the id by default.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a")])
    >>> op = ramet.capture(model).op("a")
    >>> op
    <Op 'a': Dense>
    >>> op.kind, op.trainable, op.config.get("units")
    ('layer', True, 3)
    >>> [(variable.id, variable.shape) for variable in op.variables]
    [('kernel', (4, 3)), ('bias', (3,))]
    """

    id: str
    kind: OpKind
    class_name: str
    module: str | None = None
    registered_name: str | None = None
    config: FrozenDict | None = None
    no_config: str | None = None
    trainable: bool = True
    dtype_policy: str | None = None
    built: bool = True
    flags: FrozenDict = EMPTY
    variables: tuple[VariableSpec, ...] = ()
    graph: Graph | None = None
    children: tuple[Op, ...] = ()
    same_as: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id)
        # Their order has no meaning: sorted, so that equal flags have equal JSON.
        if len(self.flags) > 1:
            pairs = sorted(self.flags.pairs, key=lambda pair: str(pair[0]))
            object.__setattr__(self, "flags", FrozenDict(tuple(pairs)))

    def __repr__(self) -> str:
        return f"<Op {self.id!r}: {self.class_name}>"

    @property
    def inside(self) -> tuple[Op, ...]:
        """The ops directly inside it, whether it is a model or a layer that holds layers."""
        return self.children if self.graph is None else self.graph.held


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Frozen):
    """One use of an op, as frozen data. The refs in its arguments are the edges of the graph.

    Attributes:
        id: `conv_1` for the first call of the op `conv_1`, `conv_1#2` for the second.
        op: The id of the op.
        args: Arguments passed by position.
        kwargs: Arguments passed by name.
        outputs: The values it produces, in order.
        structure: How the outputs are nested, with the position of a value at each leaf: `0` for a single output, `(0,
            1)` for a pair, a dict of positions for a dict.
        mask_kinds: For each argument that is a mask, by position or name: `"implicit"` if Keras found it, `"explicit"`
            if the user passed it.

    >>> import keras, ramet
    >>> x, shared = keras.Input((4,), name="x"), keras.layers.Dense(4, name="shared")
    >>> graph = ramet.capture(keras.Model(x, shared(shared(x))))
    >>> graph.calls_of("shared")
    (<Call 'shared' of 'shared'>, <Call 'shared#2' of 'shared'>)
    >>> second = graph.call("shared#2")
    >>> list(second.refs()), second.outputs[0].shape
    ([Ref(call='shared', output=0)], (None, 4))
    """

    id: str
    op: str
    args: tuple[Argument, ...] = ()
    kwargs: FrozenDict = EMPTY
    outputs: tuple[Value, ...] = ()
    structure: Argument = 0
    mask_kinds: tuple[tuple[int | str, MaskKind], ...] = ()

    def __post_init__(self) -> None:
        # Their order has no meaning: sorted, so that equal calls have equal JSON.
        kinds = tuple(sorted(self.mask_kinds, key=lambda pair: (isinstance(pair[0], str), pair[0])))
        object.__setattr__(self, "mask_kinds", kinds)

    def __repr__(self) -> str:
        return f"<Call {self.id!r} of {self.op!r}>"

    def refs(self) -> Iterator[Ref]:
        """Yield the refs among its arguments, in order, with repetitions."""
        return refs((self.args, self.kwargs))

    def argument(self, key: int | str) -> Argument:
        """Return the argument at a position or with a name; None if there is none."""
        if isinstance(key, str):
            return self.kwargs.get(key)
        return self.args[key] if 0 <= key < len(self.args) else None

    def mask_kind(self, key: int | str) -> MaskKind | None:
        """Return "implicit" or "explicit" for an argument that is a mask; None for any other."""
        return dict(self.mask_kinds).get(key)


def call_id(op: str, number: int = 1) -> str:
    """Return the id of the n-th call of an op: `conv_1`, then `conv_1#2`.

    A '#' in the op's own id is doubled, so that two ids never collide.
    """
    escaped = op.replace("#", "##")
    return escaped if number == 1 else f"{escaped}#{number}"


def split_call_id(text: str) -> tuple[str, int] | None:
    """Return the id of the op and the number of the call, or None if the text is not the id of a call."""
    op, number = text, 1
    found = _NUMBERED.fullmatch(text)
    if found and len(found[2]) % 2:
        op, number = found[1] + found[2][:-1], int(found[3])
    op = op.replace("##", "#")
    return (op, number) if call_id(op, number) == text else None


def without_first(text: str) -> str:
    """Return `conv_1` for `conv_1#1`: users may number the first call, whose id has no number."""
    found = _NUMBERED.fullmatch(text)
    return found[1] + found[2][:-1] if found and len(found[2]) % 2 and found[3] == "1" else text
