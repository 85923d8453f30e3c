"""Tests of single ops: classes given as classes or names, and settings as users write them."""

import enum

import numpy as np
import pytest

from ramet._graph import Constant, Graph, Op, freeze_dict
from ramet._select import find, of_class, with_config
from tests.graph.sample import layer
from tests.select.sample import blocks, paths

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
def test_class_of_an_op_as_data_is_compared_by_names(classes, expected):
    assert found(*classes) == expected


@pytest.mark.parametrize("wanted", [Base, Dense, MyDense, "Base", "Dense", "MyDense", f"{__name__}.Base"])
def test_base_classes_of_a_live_op_count(wanted):
    live = {"other": MyDense()}

    assert "other" in found(wanted, live=live)


@pytest.mark.parametrize("wanted", [int, "int", "Conv2D", f"{__name__}.Nothing"])
def test_class_of_a_live_op_counts_not_its_description(wanted):
    live = {"other": MyDense()}

    assert "other" not in found(wanted, live=live)


class L2:
    def __init__(self, l2):
        self.l2 = l2

    def get_config(self):
        return {"l2": self.l2}


class Mode(enum.StrEnum):
    SAME = "same"


def relu(x):
    return x


def serialized(class_name, settings, module="keras", **more):
    return {"module": module, "class_name": class_name, "config": settings, "registered_name": None, **more}


CONFIG = {
    "units": 64,
    "rate": 0.5,
    "whole": 2.0,
    "use_bias": True,
    "nothing": None,
    "kernel_size": (3, 3),
    "strides": [1, 1],
    "padding": "same",
    "activation": "relu",
    "nan": float("nan"),
    "gate": serialized("function", "mine>relu", "builtins"),
    "raw": Constant("object", "function", summary="mine.relu"),
    "kernel_initializer": serialized("GlorotUniform", {"seed": None}),
    "kernel_regularizer": serialized("L2", {"l2": 0.01}),
    "dtype": serialized("DTypePolicy", {"name": "mixed_bfloat16"}),
    "cell": serialized("LSTMCell", {"units": 3, "inner": serialized("Dense", {"units": 7})}, build_config={"a": 1}),
    "table": {"a": [1, 2], "b": {"c": 3}},
    "a.b": 5,
}


def matches(settings):
    graph = Graph("g", "Mine", "subclassed", ops=(layer("op", "Op", config=freeze_dict(CONFIG)),))
    return bool(find(graph, with_config(settings)))


@pytest.mark.parametrize(
    "settings",
    [
        {"units": 64},
        {"units": 64.0},
        {"units": np.int64(64)},
        {"rate": np.float32(0.5)},
        {"whole": 2},
        {"use_bias": True},
        {"nothing": None},
        {"kernel_size": (3, 3)},
        {"kernel_size": [3, 3]},
        {"kernel_size": np.array([3, 3])},
        {"strides": (1, 1.0)},
        {"padding": "same"},
        {"padding": Mode.SAME},
        {"activation": "relu"},
        {"activation": relu},
        {"nan": float("nan")},
        {"gate": "relu"},
        {"gate": "mine>relu"},
        {"gate": relu},
        {"raw": relu},
        {"raw": "relu"},
        {"kernel_initializer": "glorot_uniform"},
        {"kernel_initializer": "GlorotUniform"},
        {"kernel_regularizer": "l2"},
        {"kernel_regularizer": L2(0.01)},
        {"kernel_regularizer": L2},
        {"kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.01}}},
        {"dtype": "mixed_bfloat16"},
        {"cell.units": 3},
        {"cell.config.units": 3},
        {"cell.inner.units": 7},
        {"kernel_size.1": 3},
        {"table": {"b": {"c": 3}, "a": (1, 2)}},
        {"table.b.c": 3},
        {"a.b": 5},
        {"units": 64, "rate": 0.5},
    ],
)
def test_setting_is_found_in_every_spelling(settings):
    assert matches(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"units": 63},
        {"units": "64"},
        {"units": True},
        {"use_bias": 1},
        {"use_bias": False},
        {"nothing": False},
        {"missing": None},
        {"kernel_size": (3,)},
        {"kernel_size": 3},
        {"padding": "SAME"},
        {"activation": "gelu"},
        {"activation": None},
        {"gate": "function"},
        {"kernel_regularizer": L2(0.02)},
        {"kernel_regularizer": "l1"},
        {"dtype": "float32"},
        {"cell.units": 4},
        {"cell.missing": 3},
        {"units.more": 3},
        {"kernel_size.2": 3},
        {"kernel_size.x": 3},
        {"table": {"a": [1, 2]}},
        {"units": 64, "rate": 0.4},
    ],
)
def test_other_settings_are_not_found(settings):
    assert not matches(settings)


def test_op_without_a_config_has_no_settings():
    graph = Graph("g", "Mine", "subclassed", ops=(layer("op", "Op", config=None, no_config="it raised"),))

    assert paths(graph, with_config(units=1)) == []


def test_settings_select_ops_of_a_model():
    assert paths(blocks(), with_config(kernel_size=(3, 3))) == ["stem", "block1/conv"]
    assert paths(blocks(), with_config(kernel_size=(3, 3), activation="gelu")) == ["block1/conv"]
    assert paths(blocks(), with_config(rate=0.5)) == ["block1/drop"]


def test_selectors_by_setting_are_compared_by_value():
    assert with_config(size=[1, 2]) == with_config({"size": [1, 2]})
    assert with_config(size=[1, 2]) != with_config(size=[1, 3])
