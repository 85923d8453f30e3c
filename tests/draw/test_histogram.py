"""Histograms of weights: whatever they hold, something true is said."""

import numpy as np
import pytest

from ramet._draw import draw_graph
from ramet._draw.histogram import histogram
from tests.draw.sample import chain
from tests.draw.test_page import data_of

pytestmark = pytest.mark.no_backend


def test_bars_tell_where_the_numbers_are() -> None:
    found = histogram(np.array([0.0] * 10 + [1.0] * 5))

    assert found == {
        "bars": "z" + "0" * 30 + "V",
        "odd": 0,
        "low": "0",
        "high": "1",
        "mean": "0.3333",
        "deviation": "0.4714",
    }


@pytest.mark.parametrize(
    ("values", "low", "high", "odd"),
    [
        (np.zeros(4), "0", "0", 0),
        (np.array([1.0, np.nan, np.inf, 3.0]), "1", "3", 2),
        (np.array([-1e308, 1e308]), "-1e+308", "1e+308", 0),
        (np.array([True, False]), "0", "1", 0),
        (np.array(7, dtype="int8"), "7", "7", 0),
        (np.full(3, 1e-40, dtype="float32"), "1e-40", "1e-40", 0),
    ],
)
def test_odd_numbers_are_told(values: np.ndarray, low: str, high: str, odd: int) -> None:
    found = histogram(values)

    assert found is not None
    assert (found["low"], found["high"], found["odd"]) == (low, high, odd)
    assert len(found["bars"]) == 32


def test_what_is_no_number_has_no_histogram() -> None:
    assert histogram(np.array(["a", "b"])) is None
    assert histogram(np.array([np.nan])) == {"bars": "", "odd": 1}
    assert histogram(np.zeros((0, 3))) == {"bars": "", "odd": 0}


class Reader:
    def paths(self) -> list[str]:
        return ["a/kernel"]

    def read(self, path: str) -> np.ndarray:
        return np.full((8, 8), 0.5)


def test_the_page_says_which_weights_are_stored() -> None:
    data = data_of(draw_graph(chain("a"), weights=Reader()).to_html())

    kernel, bias = data["ops"][1]["variables"]  # type: ignore[index]
    assert (kernel["histogram"]["low"], bias.get("histogram"), bias["missing"]) == ("0.5", None, True)


class Filed(Reader):
    def place(self, path: str) -> str:
        return f"layers/{path}s/vars/0"


def test_the_page_says_where_in_its_file_a_weight_stands() -> None:
    data = data_of(draw_graph(chain("a"), weights=Filed()).to_html())

    kernel, bias = data["ops"][1]["variables"]  # type: ignore[index]
    assert (kernel["place"], bias.get("place")) == ("layers/a/kernels/vars/0", None)
