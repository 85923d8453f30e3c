"""Arguments: frozen, compared by value, thawed again, printed."""

import copy
import math
from collections import namedtuple

import pytest
from hypothesis import given

from ramet._graph import Argument, Constant, FrozenDict, FrozenList, Ref, Slice, freeze, freeze_dict, refs, render, thaw
from ramet._graph.argument import leaves
from tests.graph.change import map_refs
from tests.graph.strategies import arguments, few

pytestmark = pytest.mark.no_backend

NESTED = {"a": [1, (2.5, None)], "b": slice(None, 3), 4: {"c": ...}, "d": b"x"}


def test_freeze_turns_every_container_into_its_frozen_form() -> None:
    assert freeze(NESTED) == FrozenDict(
        (
            ("a", FrozenList((1, (2.5, None)))),
            ("b", Slice(None, 3)),
            (4, FrozenDict((("c", ...),))),
            ("d", b"x"),
        )
    )


def test_thaw_reverses_freeze() -> None:
    assert thaw(freeze(NESTED)) == NESTED


def test_freeze_keeps_frozen_data() -> None:
    frozen = freeze(NESTED)

    assert freeze(frozen) == frozen


def test_freeze_calls_the_leaf_function_for_other_objects() -> None:
    class Tensor:
        name = "x"

    Pair = namedtuple("Pair", "left right")

    def leaf(value: object) -> object:
        return Ref(value.name) if isinstance(value, Tensor) else list(value)  # type: ignore[call-overload]

    assert freeze([Tensor(), Pair(1, Tensor())], leaf) == FrozenList((Ref("x"), FrozenList((1, Ref("x")))))


def test_unknown_object_becomes_a_constant_with_its_class() -> None:
    assert freeze([math.pi, {object(): 1}, object()]) == FrozenList(
        (math.pi, Constant("object", "builtins.dict"), Constant("object", "builtins.object"))
    )


def test_leaf_function_must_return_frozen_data() -> None:
    with pytest.raises(TypeError, match="did not turn a object into frozen data"):
        freeze(object(), lambda value: value)


def test_thaw_replaces_refs_and_constants() -> None:
    frozen = freeze({"x": [Ref("a", 1)], "y": Constant("object", "Thing")})

    assert thaw(frozen, lambda leaf: leaf.output if isinstance(leaf, Ref) else "thing") == {"x": [1], "y": "thing"}


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), (1, 1.0), (0, False), (0.0, -0.0), ((1,), [1]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ("1", 1)],
)
def test_values_that_python_compares_equal_are_distinguished(left: object, right: object) -> None:
    assert freeze([left]) != freeze([right])


@pytest.mark.parametrize("same", [math.nan, float("-nan"), complex(math.nan, 1), -0.0, 10**30, "ä\ud800", {"$ref": 1}])
def test_equal_data_has_equal_hashes(same: object) -> None:
    left, right = freeze([same]), freeze([copy.deepcopy(same)])

    assert left == right
    assert hash(left) == hash(right)


def test_nan_equals_nan() -> None:
    assert freeze([float("nan")]) == freeze([math.inf - math.inf])


def test_frozen_data_differs_from_other_objects() -> None:
    assert freeze([1]) != [1]
    assert freeze({"a": 1}) != {"a": 1}


def test_frozen_dict_reads_like_a_dict() -> None:
    frozen = freeze({"a": 1, "b": 2})

    assert isinstance(frozen, FrozenDict)
    assert list(frozen) == ["a", "b"]
    assert (frozen["a"], frozen.get("c"), frozen.get("c", 3), "b" in frozen, len(frozen)) == (1, None, 3, True, 2)


def test_frozen_dict_refuses_a_repeated_key() -> None:
    with pytest.raises(ValueError, match="a key twice"):
        FrozenDict((("a", 1), ("a", 2)))


def test_frozen_dict_refuses_keys_that_are_not_plain_data() -> None:
    with pytest.raises(TypeError, match="plain data"):
        FrozenDict(((1j, 1),))  # type: ignore[arg-type]


def test_freeze_dict_returns_a_dict_or_raises() -> None:
    assert freeze_dict({"a": [1]}) == FrozenDict((("a", FrozenList((1,))),))

    with pytest.raises(TypeError, match="plain data"):
        freeze_dict({object(): 1})


def test_frozen_list_reads_like_a_list() -> None:
    frozen = freeze([1, 2])

    assert isinstance(frozen, FrozenList)
    assert (list(frozen), len(frozen), frozen[1]) == ([1, 2], 2, 2)


def test_refs_are_in_order_with_repetitions() -> None:
    value = freeze({"a": (Ref("x"), [Ref("y", 1)]), "b": slice(Ref("x"), None)})

    assert list(refs(value)) == [Ref("x"), Ref("y", 1), Ref("x")]
    assert list(leaves(value)) == [Ref("x"), Ref("y", 1), Ref("x"), None, None]


def test_map_leaves_keeps_the_nesting() -> None:
    value = freeze({"a": (Ref("x"), [1, Ref("y", 1)])})

    changed = map_refs(value, lambda ref: Ref(ref.call + "2", ref.output))

    assert changed == freeze({"a": (Ref("x2"), [1, Ref("y2", 1)])})


def test_copy_of_frozen_data_is_the_same_object() -> None:
    value = freeze([1, [2]])

    assert copy.copy(value) is value
    assert copy.deepcopy(value) is value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Ref("a"), "a"),
        (Ref("a", 1), "a[1]"),
        ((Ref("a"),), "(a,)"),
        ((), "()"),
        ([Ref("a"), 1.5, "t"], "[a, 1.5, 't']"),
        ({"k": (1, 2), 3: None}, "{'k': (1, 2), 3: None}"),
        ((slice(None), slice(1, None, 2), slice(0, Ref("n")), ...), "(:, 1::2, 0:n, ...)"),
        (Constant.array("ndarray", (2, 3), "float32", b""), "<array (2, 3) float32>"),
        (Constant("object", "Thing"), "<Thing>"),
        (Constant("object", "Thing", summary="a \x1b thing"), "<a \\x1b thing>"),
        ("\x1b[31m", "'\\x1b[31m'"),
        (list(range(100)), "[" + ", ".join(map(str, range(100)))[:116] + "..."),
    ],
)
def test_arguments_print_like_python_code(value: object, expected: str) -> None:
    assert render(freeze(value)) == expected


def test_huge_number_prints_in_hexadecimal() -> None:
    assert render(1 << 20_000) == f"{1 << 20_000:#x}"[:117] + "..."


def test_repr_of_frozen_data_is_short() -> None:
    assert repr(freeze([Ref("a"), {"k": slice(1, 2)}])) == "FrozenList([Ref(call='a', output=0), {'k': 1:2}])"
    assert len(repr(freeze(list(range(10_000))))) < 500


def exact(value: Argument) -> object:
    """Return the value in a form that Python compares by value and class, by plain recursion."""
    match value:
        case tuple() | FrozenList():
            return type(value), [exact(item) for item in value]
        case FrozenDict():
            return "dict", [(exact(key), exact(item)) for key, item in value.pairs]
        case Slice():
            return "slice", exact((value.start, value.stop, value.step))
        case float() | complex():
            return type(value), repr(value)
        case _:
            return type(value), value


@few
@given(arguments(), arguments())
def test_equality_compares_values_and_classes(left: Argument, right: Argument) -> None:
    assert (freeze([left]) == freeze([right])) == (exact(left) == exact(right))
    assert exact(freeze([left])) == exact(freeze([left]))


@few
@given(arguments())
def test_freeze_reverses_thaw(value: Argument) -> None:
    assert freeze([thaw(value)]) == freeze([value])
