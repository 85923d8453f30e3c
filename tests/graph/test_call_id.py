"""The ids of calls: readable, stable, never the same for two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet._graph import call_id, split_call_id
from tests.graph.strategies import few

pytestmark = pytest.mark.no_backend


@pytest.mark.parametrize(
    ("op", "number", "expected"),
    [("conv_1", 1, "conv_1"), ("conv_1", 2, "conv_1#2"), ("a#2", 1, "a##2"), ("a#", 2, "a###2"), ("a##2", 1, "a####2")],
)
def test_a_call_is_named_after_its_op_and_numbered_from_the_second(op: str, number: int, expected: str) -> None:
    assert call_id(op, number) == expected
    assert split_call_id(expected) == (op, number)


@pytest.mark.parametrize("text", ["a#", "a#0", "a#1", "a#02", "a#b", "a#" + "9" * 5000], ids=lambda text: text[:8])
def test_what_is_no_id_of_a_call_is_said_to_be_none(text: str) -> None:
    assert split_call_id(text) is None


@few
@given(st.text("a#12", min_size=1, max_size=5), st.integers(1, 30))
def test_every_id_leads_back_to_its_op_and_number(op: str, number: int) -> None:
    assert split_call_id(call_id(op, number)) == (op, number)
