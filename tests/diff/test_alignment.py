"""Alignment of sequences, compared with a simple and slow algorithm."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet._diff.alignment import align, gaps, longest_increasing
from tests.graph.strategies import few

pytestmark = pytest.mark.no_backend

items = st.lists(st.integers(0, 3), max_size=10)


def longest_common(before: list[int], after: list[int]) -> int:
    table = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i, one in enumerate(before):
        for j, other in enumerate(after):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@few
@given(items, items)
def test_paired_items_are_equal_and_in_order(before, after):
    pairs = align(before, after)

    assert all(before[i] == after[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))


@few
@given(items, st.data())
def test_all_remaining_items_are_paired_when_items_were_only_removed(before, data):
    after = [item for item in before if data.draw(st.booleans())]

    assert len(align(before, after)) == len(after) == longest_common(before, after)


def test_one_changed_item_leaves_all_others_paired():
    block = [1, 2, 3, 4]
    before = block * 50
    after = [*block * 20, 1, 2, 9, 4, *block * 29]

    assert align(before, after) == [(place, place) for place in range(200) if place != 82]


def test_spans_with_too_many_differences_are_guessed_or_skipped():
    before, after = [0, 1] * 400, [1, 1, 0] * 400

    assert align(before, after, guess=False) == []
    assert len(align(before, after)) > 200


@few
@given(st.lists(st.integers(0, 20), max_size=12, unique=True))
def test_longest_increasing_subsequence_is_found(numbers):
    kept = [numbers[place] for place in longest_increasing(numbers)]

    assert kept == sorted(kept)
    assert len(kept) == longest_common(numbers, sorted(numbers))


def test_gaps_lie_between_ordered_pairs():
    assert list(gaps([(1, 2)], 4, 4)) == [(0, 1, 0, 2), (2, 4, 3, 4)]
    # (3, 4) and (4, 2) cannot both be in order.
    assert list(gaps([(1, 1), (3, 4), (4, 2)], 6, 6)) == [(0, 1, 0, 1), (5, 6, 3, 6)]
