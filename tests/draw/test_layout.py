"""The layered layout: its invariants, and its quality compared with fast-sugiyama, an engine that shares no code with it."""

import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ramet
from ramet._draw.layout import Layered, lay_out
from ramet._draw.ranking import Pair
from tests.draw.drawings import drawn
from tests.draw.sample import unet
from tests.graph import big
from tests.support.applications import each_architecture, smallest_network

no_backend = pytest.mark.no_backend

# Architectures of different shapes: chains with skips, cells of branches, dense connections, and gates.
QUICK = ("MobileNetV2", "ResNet50", "InceptionV3", "DenseNet121", "EfficientNetB0")


class Quality(NamedTuple):
    crossings: int  # of edges between two rows
    length: int  # rows that all edges span
    shift: float  # columns that all edges span
    bent: int  # edges between two rows that are not straight
    width: float


def numbered(pairs: list[tuple[int, int]]) -> list[Pair]:
    """Return the edges, each once, with vertices numbered from 0 in the order in which they occur."""
    numbers: dict[int, int] = {}
    for end in itertools.chain.from_iterable(pairs):
        numbers.setdefault(end, len(numbers))
    return list(dict.fromkeys((numbers[source], numbers[target]) for source, target in pairs))


def size_of(pairs: list[Pair]) -> int:
    return max(map(max, pairs)) + 1


def random_graph(seed: int, count: int, edges: int, reach: int) -> list[Pair]:
    """Return a graph whose edges span at most `reach` places of a topological order."""
    rng = random.Random(seed)
    starts = [rng.randrange(count - 1) for _ in range(edges)]
    return numbered([(start, min(count - 1, start + rng.randint(1, reach))) for start in starts])


def cells(count: int) -> list[Pair]:
    """Return cells of five pairs of branches, each from one of the two cells before, as in NASNet."""
    rng = random.Random(0)
    pairs = [(0, 1)]
    before, last, new = 0, 1, 2
    for _ in range(count):
        sums = []
        for _ in range(5):
            ends = []
            for start in (last, rng.choice((before, last))):
                chain = [start, *range(new, new + rng.randint(1, 6))]
                new = max(new, chain[-1] + 1)
                pairs += itertools.pairwise(chain)
                ends.append(chain[-1])
            pairs += [(end, new) for end in ends]
            sums.append(new)
            new += 1
        pairs += [(one, new) for one in sums]
        before, last, new = last, new, new + 1
    return numbered(pairs)


def encoder_and_decoder(blocks: int) -> list[Pair]:
    """Return a transformer: two chains with skips, the second of which also receives the end of the first in each block."""
    pairs: list[Pair] = []
    new = itertools.count()

    def residual(start: int, length: int, *others: int) -> int:
        inside = [start, *itertools.islice(new, length)]
        end, norm = next(new), next(new)
        pairs.extend([*itertools.pairwise(inside), (inside[-1], end), (start, end), (end, norm)])
        pairs.extend((other, inside[1]) for other in others)
        return norm

    encoded, decoded = next(new), next(new)
    for _ in range(blocks):
        encoded = residual(residual(encoded, 1), 2)
    for _ in range(blocks):
        decoded = residual(residual(residual(decoded, 1), 1, encoded), 2)
    return numbered(pairs)


def assert_sound(pairs: list[Pair], layered: Layered) -> None:
    """Edges go down with a bend in every row between, the items of a row are apart, and each part begins at the top."""
    count = size_of(pairs)
    bends = list(itertools.chain.from_iterable(layered.bends.values()))
    assert sorted(bends) == list(range(count, len(layered.ranks)))
    for (source, target), path in layered.bends.items():
        rows = [layered.ranks[vertex] for vertex in (source, *path, target)]
        assert rows == list(range(rows[0], rows[0] + len(path) + 2))
    placed = sorted(zip(layered.ranks, layered.columns, strict=True))
    for (row, column), (next_row, next_column) in itertools.pairwise(placed):
        assert row != next_row or next_column - column >= 1
    assert all((2 * column).is_integer() for column in layered.columns)
    assert min(layered.ranks) == 0
    assert min(layered.columns) == 0


def measure(segments: list[Pair], ranks: dict[int, int], columns: dict[int, float]) -> Quality:
    """Return the quality of a layout, with the crossings counted by comparing all pairs of edges."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for source, target in segments:
        rows.setdefault(ranks[source], []).append((columns[source], columns[target]))
    return Quality(
        crossings=sum(
            (start - other_start) * (end - other_end) < 0
            for row in rows.values()
            for (start, end), (other_start, other_end) in itertools.combinations(row, 2)
        ),
        length=len(segments),
        shift=sum(abs(columns[source] - columns[target]) for source, target in segments),
        bent=sum(columns[source] != columns[target] for source, target in segments),
        width=max(columns.values()) - min(columns.values()),
    )


def own_quality(pairs: list[Pair]) -> Quality:
    layered = lay_out(pairs, size_of(pairs))
    assert_sound(pairs, layered)
    segments = [
        segment
        for (source, target), path in layered.bends.items()
        for segment in itertools.pairwise((source, *path, target))
    ]
    return measure(segments, dict(enumerate(layered.ranks)), dict(enumerate(layered.columns)))


def oracle_quality(pairs: list[Pair]) -> Quality | None:
    """Return the quality of fast-sugiyama's layout, or None if it has an edge that does not go down, which is rare."""
    engine = pytest.importorskip(
        "fast_sugiyama", reason="fast-sugiyama is not installed: it has no wheel for every platform"
    )
    ranks: dict[int, int] = {}
    columns: dict[int, float] = {}
    segments: list[Pair] = []
    offset = 0.0
    for positions, width, height, edges in engine.from_edges(pairs, vertex_spacing=1, dummy_vertices=True):
        left = min(x for _, (x, _) in positions)
        for vertex, (x, y) in positions:
            ranks[vertex], columns[vertex] = round(height - y), round(x - left + offset, 6)
        segments += edges
        offset += width + 1.5
    if any(ranks[target] != ranks[source] + 1 for source, target in segments):
        return None
    return measure(segments, ranks, columns)


def assert_as_good_as_the_oracle(graphs: list[list[Pair]]) -> None:
    """Compare each graph alone, generously, because heuristics differ; and all of them together, strictly."""
    compared = [(own_quality(pairs), oracle) for pairs in graphs if (oracle := oracle_quality(pairs)) is not None]
    assert len(compared) >= 0.9 * len(graphs)
    for own, oracle in compared:
        assert own.length == oracle.length
        assert own.crossings <= 1.5 * oracle.crossings + 5
        assert own.width <= 1.5 * oracle.width + 3
    own, oracle = (Quality(*map(sum, zip(*side, strict=True))) for side in zip(*compared, strict=True))
    assert own.crossings <= 1.1 * oracle.crossings + 2
    assert own.width <= 1.1 * oracle.width
    # Long edges bend more often where this makes the layout narrower, and are longer beside a straight main path.
    assert own.bent <= 1.3 * oracle.bent
    assert own.shift <= 1.5 * oracle.shift


def levels_of(graph: ramet.Graph) -> list[list[Pair]]:
    """Return the edges of each container of a picture."""
    levels = [[(edge.source, edge.target) for edge in box.edges] for box in drawn(graph).boxes]
    return [numbered(pairs) for pairs in levels if pairs]


@pytest.mark.parametrize("name", QUICK)
def test_architecture_is_laid_out_as_well_as_by_the_oracle(name: str) -> None:
    assert_as_good_as_the_oracle(levels_of(ramet.capture(smallest_network(name))))


@pytest.mark.zoo
@each_architecture
def test_every_architecture_is_laid_out_as_well_as_by_the_oracle(name: str) -> None:
    assert_as_good_as_the_oracle(levels_of(ramet.capture(smallest_network(name))))


@no_backend
@pytest.mark.parametrize("graph", [unet(), big.grow(60)], ids=["unet", "residual"])
def test_sample_is_laid_out_as_well_as_by_the_oracle(graph: ramet.Graph) -> None:
    assert_as_good_as_the_oracle(levels_of(graph))


@no_backend
@pytest.mark.parametrize("make", [cells, encoder_and_decoder])
def test_cells_and_transformers_are_laid_out_as_well_as_by_the_oracle(make: Callable[[int], list[Pair]]) -> None:
    assert_as_good_as_the_oracle([make(count) for count in (2, 4, 8, 12)])


@no_backend
def test_random_graphs_are_laid_out_as_well_as_by_the_oracle() -> None:
    sizes = [(seed, 5 + seed, 5 + seed * 3 // 2, (4, 10, 60)[seed % 3]) for seed in range(60)]
    assert_as_good_as_the_oracle([random_graph(*size) for size in sizes])


ends = st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda pair: pair[0] != pair[1])
any_graph = st.lists(ends, min_size=1, max_size=30).map(numbered)
acyclic = st.lists(ends.map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=30).map(numbered)


@no_backend
@settings(deadline=None)
@given(acyclic)
def test_layout_of_any_graph_is_sound(pairs: list[Pair]) -> None:
    layered = lay_out(pairs, size_of(pairs))

    assert_sound(pairs, layered)
    assert list(layered.bends) == pairs


@no_backend
@settings(deadline=None)
@given(any_graph)
def test_edges_that_close_a_cycle_go_up_without_bends(pairs: list[Pair]) -> None:
    layered = lay_out(pairs, size_of(pairs))

    assert_sound(pairs, layered)
    for source, target in set(pairs) - set(layered.bends):
        assert layered.ranks[target] < layered.ranks[source]


small = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1])


@no_backend
@settings(deadline=None, max_examples=50)
@given(st.lists(small, min_size=1, max_size=10).map(numbered))
# Here the rows are not right yet when every vertex is next to another one.
@example([(0, 1), (0, 2), (0, 3), (4, 2), (4, 5), (1, 5), (2, 3), (5, 3)])
def test_edges_are_as_short_as_possible(pairs: list[Pair]) -> None:
    """Compare with the best of all ways to distribute the vertices over the rows."""
    ranks = lay_out(pairs, size_of(pairs)).ranks

    lengths = (
        sum(rows[target] - rows[source] for source, target in pairs)
        for rows in itertools.product(range(size_of(pairs)), repeat=size_of(pairs))
        if all(rows[source] < rows[target] for source, target in pairs)
    )
    assert sum(ranks[target] - ranks[source] for source, target in pairs) == min(lengths)


@no_backend
def test_layout_is_the_same_in_every_process() -> None:
    pairs = random_graph(1, 80, 160, 30)
    script = "import json, sys; from ramet._draw.layout import lay_out; pairs = [tuple(pair) for pair in json.load(sys.stdin)]; "
    script += f"layered = lay_out(pairs, {size_of(pairs)}); print(json.dumps([layered.ranks, layered.columns]))"
    layered = lay_out(pairs, size_of(pairs))
    for seed in ("0", "1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(pairs),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(run.stdout) == [layered.ranks, layered.columns]


@no_backend
def test_main_path_is_straight_beside_its_skips() -> None:
    """A chain with a skip over each three of its boxes, and a U-Net."""
    chain = [(number, number + 1) for number in range(30)]
    layered = lay_out([*chain, *((number, number + 3) for number in range(0, 27, 3))], 31)
    picture = drawn(unet())

    assert len(set(layered.columns[:31])) == 1
    assert len({picture.boxes[number].x for number in picture.boxes[0].children}) == 1


@no_backend
def test_branches_are_in_the_order_of_the_input_and_symmetric() -> None:
    branches = (3, 1, 4, 2, 5)
    pairs = [*((0, branch) for branch in branches), *((branch, 6) for branch in branches)]
    columns = lay_out(pairs, 7).columns

    assert [columns[branch] for branch in branches] == [0, 1, 2, 3, 4]
    assert columns[0] == columns[6] == 2


@no_backend
def test_inputs_are_just_above_their_first_consumer() -> None:
    # 5 and 6 are joined by 7, which is used at the end of the chain from 0 to 4.
    layered = lay_out([(0, 1), (1, 2), (2, 3), (3, 4), (5, 7), (6, 7), (7, 4)], 8)

    assert layered.ranks == [0, 1, 2, 3, 4, 2, 2, 3]


@no_backend
def test_connected_parts_lie_side_by_side() -> None:
    layered = lay_out([(0, 1), (2, 3), (2, 4), (2, 5), (6, 7)], 8)

    assert layered.ranks == [0, 1, 0, 1, 1, 1, 0, 1]
    assert layered.columns == [0, 0, 3.5, 2.5, 3.5, 4.5, 6, 6]


@no_backend
def test_stairs_of_long_edges_do_not_widen_the_layout() -> None:
    pairs = cells(16)
    layered = lay_out(pairs, size_of(pairs))

    assert max(layered.columns) <= 1.5 * max(Counter(layered.ranks).values())


HARD = {
    "chain": [(number, number + 1) for number in range(20_000)],
    "cycle": [(number, (number + 1) % 5_000) for number in range(5_000)],
    "dense": list(itertools.combinations(range(500), 2)),
    "two layers": list(itertools.product(range(300), range(300, 600))),
    "pairs": [(2 * number, 2 * number + 1) for number in range(3_000)],
    "many inputs": [
        *((number, number + 1) for number in range(1_000)),
        *((2_000 - number, number) for number in range(900)),
    ],
    "random": random_graph(0, 3_000, 20_000, 100),
    "parts": [
        (200 * part + source, 200 * part + target)
        for part in range(20)
        for source, target in random_graph(part, 200, 600, 200)
    ],
}


@no_backend
@pytest.mark.parametrize("name", HARD)
def test_hard_graph_takes_seconds(name: str) -> None:
    """Layouts take at most about 3 seconds on one core; without their limits, most of these would take minutes."""
    pairs = HARD[name]
    start = time.process_time()
    layered = lay_out(pairs, size_of(pairs))

    assert time.process_time() - start < 12
    assert sum(map(len, layered.bends.values())) <= 4_000
    assert_sound(pairs, layered)
