"""From `ramet.verify` to the page in a browser."""

from collections.abc import Callable

import keras
import pytest

import ramet
from ramet._verify.picture import picture_of
from tests.draw.visit import Visit

pytestmark = pytest.mark.no_backend

Open = Callable[..., Visit]


def test_a_failed_verify_opens_at_the_first_value_that_differs(visit: Open) -> None:
    names = ("first", "second", "third")
    stack = [keras.layers.Dense(4, name=name) for name in names]
    model = keras.Sequential([keras.Input((4,), name="x"), *stack], name="net")
    twin = ramet.clone(model)
    twin.get_layer("second").bias.assign([0.0, 1.0, 0.0, 0.0])
    page = visit(picture_of(ramet.verify(model, twin, only=["state", "outputs"])))

    assert page.focused().startswith("Dense, second")
    assert "outputs: the first value that differs" in page.panel()
    assert "second/bias: state: 1 of 4 numbers differ" in page.panel()
    marked = page.page.eval_on_selector_all(".box.differs", "all => all.map(one => one.getAttribute('aria-label'))")
    assert [label.split(",")[0] for label in marked] == ["Dense", "Output"]
