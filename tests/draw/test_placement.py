"""Placement: enough room between boxes, the order kept, paths of edges."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet._draw import draw_graph
from ramet._draw.placement import BOX_GAP, edge_path, place_boxes, push_apart
from tests.draw.sample import chain, unet

pytestmark = pytest.mark.no_backend

items = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-6, 6), st.floats(1, 900)),
    min_size=1,
    max_size=20,
    unique_by=lambda one: one[:2],
)


@given(items)
def test_items_of_a_row_do_not_overlap_and_columns_stay_aligned(placed: list[tuple[int, int, float]]) -> None:
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


def size(rankdir: Any, columns: int) -> tuple[float, float]:
    picture = draw_graph(chain(*(f"d{number}" for number in range(38))), rankdir=rankdir, columns=columns)
    for box in picture._drawing.boxes:
        box.is_open = True
    root = place_boxes(picture._drawing, lambda box: box.is_open).spots[0]
    return root.width, root.height


def test_folding_makes_a_long_chain_compact() -> None:
    strip, folded = size("TB", 1), size("TB", 6)

    assert strip[1] > 10 * strip[0]
    assert 1 / 3 < folded[1] / folded[0] < 3
    assert folded[1] < strip[1] / 4


def test_picture_from_left_to_right_is_wide() -> None:
    (width, height), (wide, high) = size("TB", 1), size("LR", 1)

    assert height > width
    assert wide > 10 * high


@pytest.mark.parametrize("rankdir", ["TB", "LR"])
@pytest.mark.parametrize("columns", [1, 2, 3, 7, 50])
def test_every_edge_connects_its_source_and_target(rankdir: Any, columns: int) -> None:
    """An edge begins and ends at its boxes, and goes backwards only to the next column."""
    drawing = draw_graph(unet(), rankdir=rankdir, columns=columns)._drawing
    placed = place_boxes(drawing, lambda box: True)
    for edge in drawing.boxes[0].edges:
        steps = edge_path(edge, placed, 0)
        (_, x, y), (_, end_x, end_y) = steps[0], steps[-1]
        source, target = placed.spots[edge.source], placed.spots[edge.target]
        if rankdir == "TB":
            assert (x, y) == (source.x + source.width / 2, source.y + source.height)
            assert (end_x, end_y) == (target.x + target.width / 2, target.y)
        else:
            assert (x, y) == (source.x + source.width, source.y + source.height / 2)
            assert (end_x, end_y) == (target.x, target.y + target.height / 2)
        along = [step[2] if rankdir == "TB" else step[1] for step in steps]
        backwards = sum(later < earlier for earlier, later in itertools.pairwise(along))
        assert backwards == target.fold - source.fold


@pytest.mark.parametrize("rankdir", ["TB", "LR"])
def test_lanes_between_columns_do_not_overlap(rankdir: Any) -> None:
    drawing = draw_graph(unet(), rankdir=rankdir, columns=3)._drawing
    placed = place_boxes(drawing, lambda box: True)
    turns = [spot.turn for spot in [*placed.spots.values(), *placed.bends[0]] if spot.turn is not None]

    assert len(turns) == 6
    assert len({(turn.out, turn.back) for turn in turns}) == len({turn.beside for turn in turns}) == 6


def test_box_that_opens_alone_in_its_row_moves_nothing_sideways() -> None:
    assert push_apart([0, 1, 2], [0.0, 0.0, 0.0], [100.0, 900.0, 100.0]) == [0.0, 0.0, 0.0]


def test_box_that_opens_grows_to_both_sides() -> None:
    assert push_apart([0, 0, 1], [0.0, 100.0, 50.0], [300.0, 40.0, 40.0]) == [-50.0, 150.0, 50.0]
