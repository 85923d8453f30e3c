"""Classes: by themselves, by name, by the name they are registered by."""

import pytest

from ramet._graph import Graph, Op
from ramet._select import find, of_class

pytestmark = pytest.mark.no_backend


class Base:
    pass


class Dense(Base):
    pass


class MyDense(Dense):
    pass


PUBLIC = type("Dense", (), {"__module__": "keras.src.layers.core.dense"})

OPS = {
    "captured": Op("captured", "layer", "Dense", "keras.src.layers.core.dense", "Dense"),
    "from_file": Op("from_file", "layer", "Dense", "keras.layers", None),
    "bare": Op("bare", "layer", "Dense"),
    "registered": Op("registered", "layer", "Dense", None, "mine>Dense"),
    "here": Op("here", "layer", "Dense", __name__, "mine>Dense"),
    "other": Op("other", "layer", "Conv2D", "keras.layers"),
}
GRAPH = Graph("g", "Mine", "subclassed", ops=tuple(OPS.values()))


def found(*classes, live=None):
    return [candidate.path for candidate in find(GRAPH, of_class(*classes), live)]


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (("Dense",), ["captured", "from_file", "bare", "registered", "here"]),
        (("dense",), []),
        (("mine>Dense",), ["registered", "here"]),
        (("keras.layers.Dense",), ["captured", "from_file"]),
        (("keras.src.layers.core.dense.Dense",), ["captured", "from_file"]),
        ((f"{__name__}.Dense",), ["here"]),
        (("keras.layer.Dense",), []),
        (("Base",), []),
        (("Conv2D", "mine>Dense"), ["registered", "here", "other"]),
        ((PUBLIC,), ["captured", "from_file", "bare"]),
        ((Dense,), ["bare", "registered", "here"]),
        ((Base,), []),
    ],
)
def test_of_data_only_names_are_known(classes, expected):
    assert found(*classes) == expected


@pytest.mark.parametrize("wanted", [Base, Dense, MyDense, "Base", "Dense", "MyDense", f"{__name__}.Base"])
def test_of_a_live_op_base_classes_count_by_themselves_and_by_name(wanted):
    live = {"other": MyDense()}

    assert "other" in found(wanted, live=live)


@pytest.mark.parametrize("wanted", [int, "int", "Conv2D", f"{__name__}.Nothing"])
def test_of_a_live_op_the_class_decides_and_not_the_data(wanted):
    live = {"other": MyDense()}

    assert "other" not in found(wanted, live=live)
