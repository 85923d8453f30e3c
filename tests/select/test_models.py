"""Selectors on live models of every kind."""

import keras
import pytest
from keras import layers

import ramet
from ramet import select
from ramet._keras import locations_below
from ramet._select import (
    anything,
    feeds,
    named,
    nth,
    of_class,
    reads,
    require,
    select_in,
    where,
    with_config,
)
from ramet.errors import ArgumentError, NoMatchError, NotAModelError
from tests.support import graph_models
from tests.support.graph_models import MODELS, Block

# Some models have a layer that destroys a mask, as users' models do.
pytestmark = pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")


class Zoo(keras.Model):
    """Layers in lists, dicts and tuples, one of them shared."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.towers = [layers.Dense(2, name=f"tower_{number}") for number in range(3)]
        self.heads = {"a": layers.Dense(3, name="head_a"), "b": Block(name="head_b")}
        self.pair = (layers.ReLU(name="act"), [layers.LayerNormalization(name="norm")])
        self.again = self.towers[0]

    def call(self, x):
        return x


class Special(layers.Conv2D):
    pass


@keras.saving.register_keras_serializable("tests")
def soft_clip(x):
    return keras.ops.tanh(x)


def settings_model():
    x = keras.Input((8, 8, 3), name="image")
    y = Special(4, 3, activation="relu", kernel_regularizer=keras.regularizers.L2(0.1), name="conv1")(x)
    y = layers.Conv2D(4, 3, activation=soft_clip, dtype="mixed_bfloat16", name="conv2")(y)
    y = layers.Flatten(name="flat")(y)
    return keras.Model(x, layers.Dense(2, kernel_initializer="he_normal", name="head")(y), name="settings")


# Properties that hold for every model.


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_every_op_is_found_once_with_its_live_op(make):
    model = make()
    selection = select(model, anything())

    distinct = {id(location.op) for location in locations_below(model)[1:]}
    assert {id(match.live) for match in selection} == distinct
    assert len(selection) == len(distinct)
    assert [type(match.live).__name__ for match in selection] == [match.op.class_name for match in selection]
    assert [match.live.name for match in selection] == [match.op.name for match in selection]


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_every_path_finds_its_op_and_its_parameters(make):
    model = make()
    graph = ramet.capture(model)

    for match in select(model, anything()):
        assert [graph.find(path) for path in match.paths] == [match.op] * len(match.paths)
        assert match.path in select_in(graph, match.path).paths
        if isinstance(match.live, keras.Layer) and match.live.built:
            assert match.parameters == match.live.count_params()


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_live_op_selects_only_itself(make):
    model = make()

    for match in select(model, anything()):
        assert select(model, match.live).paths == (match.path,)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_graph_gives_the_same_classes_as_the_live_model(make):
    model = make()
    graph = ramet.capture(model)

    for match in select(model, anything()):
        kind = type(match.live)
        exact = tuple(other.path for other in select_in(graph, anything()) if other.op.class_name == kind.__name__)
        assert select_in(graph, of_class(kind.__name__)).paths == exact
        assert match.path in select_in(graph, kind).paths
        assert match.path in select(model, kind).paths


# Paths reach everything.


@pytest.mark.parametrize(
    ("make", "selector", "expected"),
    [
        ("nested_models", named("d"), ("middle/inner/d", "middle/d", "d")),
        ("nested_models", named("middle/*/d"), ("middle/inner/d",)),
        ("nested_models", of_class(keras.Model), ("middle", "middle/inner")),
        ("wrappers", named("steps/*"), ("steps/inner", "steps/inner/step", "steps/inner/d")),
        ("wrappers", of_class("GRUCell"), ("both_ways/forward_gru/gru_cell", "both_ways/backward_gru/gru_cell")),
        ("composite", named("attention/query"), ("attention/query",)),
        ("composite", of_class(layers.Dense) & ~named("*first"), ("block/second",)),
        ("shared_across_levels", named("both"), ("inner/both",)),
        ("shared_nested_model", of_class("Sequential"), ("inner",)),
        ("backbone", of_class(layers.Dense) & nth(-1), ("second",)),
        ("raw_ops", where(lambda op: not isinstance(op, keras.Layer)) & nth(0, -1), ("get_item", "where")),
        ("raw_ops", of_class("Matmul", "Subtract"), ("matmul", "subtract")),
    ],
)
def test_selector_finds_the_expected_layers(make, selector, expected):
    assert select(getattr(graph_models, make)(), selector).paths == expected


def test_lists_dicts_and_tuples_of_a_subclassed_model_are_searched():
    model = Zoo(name="zoo")

    assert select(model, anything()).paths == (
        "tower_0",
        "tower_1",
        "tower_2",
        "head_a",
        "head_b",
        "head_b/first",
        "head_b/second",
        "act",
        "norm",
    )
    assert select(model, of_class("Dense") & with_config(units=2)).paths == ("tower_0", "tower_1", "tower_2")
    assert select(model, model.heads["b"].first).paths == ("head_b/first",)


def test_layer_shared_across_levels_is_found_by_each_path():
    model = graph_models.shared_across_levels()
    [match] = select(model, layers.Dense)

    assert match.paths == ("inner/both", "both")
    assert [(one.path, one.calls) for one in match.candidate.occurrences] == [
        ("inner/both", ("both",)),
        ("both", ("both",)),
    ]
    assert match.calls == 2
    assert select(model, "inner/*").paths == ("inner/i", "inner/both")


# Classes and settings.


def test_class_finds_its_subclasses_in_a_live_model():
    model = settings_model()

    assert select(model, layers.Conv2D).paths == ("conv1", "conv2")
    assert select(model, "conv*" & of_class("Conv2D")).paths == ("conv1", "conv2")
    assert select(model, of_class("keras.layers.Conv2D")).paths == ("conv1", "conv2")
    assert select(model, Special).paths == ("conv1",)
    assert select(model, of_class("Layer")).paths == ("image", "conv1", "conv2", "flat", "head")
    assert select_in(ramet.capture(model), layers.Conv2D).paths == ("conv2",)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"activation": "relu"}, ("conv1",)),
        ({"activation": keras.activations.relu}, ("conv1",)),
        ({"activation": soft_clip}, ("conv2",)),
        ({"activation": "soft_clip"}, ("conv2",)),
        ({"kernel_size": 3}, ()),
        ({"kernel_size": (3, 3)}, ("conv1", "conv2")),
        ({"kernel_regularizer": keras.regularizers.L2(0.1)}, ("conv1",)),
        ({"kernel_regularizer": keras.regularizers.L2(0.2)}, ()),
        ({"kernel_regularizer": "l2"}, ("conv1",)),
        ({"kernel_initializer": "he_normal"}, ("head",)),
        ({"kernel_initializer": keras.initializers.HeNormal}, ("head",)),
        ({"dtype": "mixed_bfloat16"}, ("conv2",)),
        ({"dtype": keras.DTypePolicy("mixed_bfloat16")}, ("conv2",)),
        ({"units": 2.0}, ("head",)),
    ],
)
def test_settings_are_found_as_users_write_them(settings, expected):
    assert select(settings_model(), with_config(settings)).paths == expected


def test_setting_inside_a_wrapper_is_reached_with_dots():
    model = graph_models.wrappers()

    assert select(model, with_config({"layer.units": 2})).paths == ("both_ways",)


def test_predicate_gets_the_live_layer():
    model = graph_models.frozen_parts()

    assert select(model, where(lambda op: not op.trainable) & layers.Dense).paths == ("block/first",)


# Neighbors.


@pytest.mark.parametrize(
    ("make", "selector", "expected"),
    [
        (
            "nested_models",
            reads("x"),
            ("middle", "middle/middle_in", "middle/inner", "middle/inner/inner_in", "middle/inner/d"),
        ),
        ("nested_models", feeds(named("d") & nth(-1)), ("middle", "middle/d")),
        ("nested_models", feeds("middle/d"), ("middle/inner", "middle/inner/d")),
        ("nested_with_dicts", reads("relu"), ("inner", "inner/j", "inner/add")),
        ("nested_with_dicts", feeds("inner/d"), ("x", "inner/i")),
        ("shared_layer", feeds("shared"), ("a", "b")),
        ("shared_across_levels", feeds("both"), ("x", "inner", "inner/i", "inner/both")),
        ("embedded_lstm", feeds(layers.LSTM), ("emb",)),
        ("explicit_mask", feeds(layers.LSTM), ("x", "m")),
        ("mask_into_a_nested_model", feeds(layers.LSTM), ("emb", "inner/i")),
    ],
)
def test_selector_finds_the_expected_neighbors(make, selector, expected):
    assert select(getattr(graph_models, make)(), selector).paths == expected


# Public functions.


def test_selection_of_a_live_model_prints_as_a_table():
    assert str(select(graph_models.image(), of_class(layers.Conv2D) | layers.BatchNormalization)) == (
        "2 of 5 ops match of_class(Conv2D) | of_class(BatchNormalization), 128 parameters\n"
        "  conv  Conv2D              (None, 8, 8, 4)  112\n"
        "  norm  BatchNormalization  (None, 8, 8, 4)   16"
    )


def test_graph_is_searched_like_a_model():
    model = graph_models.composite()

    assert select(ramet.capture(model), "attention/*") == select(model, "attention/*")


def test_object_that_is_not_a_model_is_refused():
    with pytest.raises(NotAModelError, match="it is not a model"):
        select(keras.optimizers.SGD(), "d")


def test_layer_of_the_twin_is_not_found_in_the_model():
    model = graph_models.one_dense()
    twin = ramet.clone(model)

    with pytest.raises(NoMatchError, match="pass a layer of this model"):
        require(twin.get_layer("d"), ramet.capture(model))


def test_selecting_changes_neither_the_model_nor_the_name_counters():
    model = graph_models.nested_models()
    before = ramet.capture(model)

    select(model, reads(of_class("Dense")) | where(lambda op: op.name))

    assert ramet.capture(model) == before
    assert layers.Dense(1).name == "dense"


def test_layers_are_the_live_objects_in_model_order():
    model = settings_model()

    assert select(model, "conv*").layers == (model.get_layer("conv1"), model.get_layer("conv2"))
    assert select(model, anything()).layers == tuple(model.layers)
    zoo = Zoo()
    assert select(zoo, of_class("Dense")).layers[0] is zoo.towers[0]
    assert select(zoo, "head_b").layers == (zoo.heads["b"],)


def test_layers_exclude_raw_operations():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.ops.tanh(layers.Dense(2, name="d")(x)), name="m")

    assert select(model, ~of_class("InputLayer")).layers == (model.get_layer("d"),)


def test_graph_has_no_live_layers():
    with pytest.raises(ArgumentError, match="the selection was made in a graph"):
        _ = select(ramet.capture(settings_model()), "conv*").layers
    assert select(ramet.capture(settings_model()), "nothing*").layers == ()
