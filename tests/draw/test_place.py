"""Rows and columns pushed apart: room enough, order kept."""

from hypothesis import given
from hypothesis import strategies as st

from ramet._draw.place import BOX_GAP, push_apart

items = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-6, 6), st.floats(1, 900)),
    min_size=1,
    max_size=20,
    unique_by=lambda one: one[:2],
)


@given(items)
def test_no_two_items_of_a_row_overlap_and_columns_stay_columns(placed: list[tuple[int, int, float]]) -> None:
    ranks, columns, widths = zip(*placed, strict=True)
    centres = push_apart(ranks, columns, widths)

    for one in range(len(placed)):
        for other in range(len(placed)):
            if columns[one] == columns[other]:
                assert centres[one] == centres[other]
            elif columns[one] < columns[other]:
                assert centres[one] < centres[other]
                if ranks[one] == ranks[other]:
                    room = (widths[one] + widths[other]) / 2 + BOX_GAP
                    assert centres[other] - centres[one] >= room - 1e-6


def test_what_opens_alone_in_its_row_moves_nothing_sideways() -> None:
    assert push_apart([0, 1, 2], [0.0, 0.0, 0.0], [100.0, 900.0, 100.0]) == [0.0, 0.0, 0.0]


def test_what_opens_grows_to_both_sides_alike() -> None:
    assert push_apart([0, 0, 1], [0.0, 100.0, 50.0], [300.0, 40.0, 40.0]) == [-50.0, 150.0, 50.0]
