"""Rebuilding a model on other inputs: its layers are called again, and everything else is kept."""

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from keras import layers

import ramet
from ramet._graph import lint
from tests.support.graph_models import GRAPHS, MODELS, Backbone, data_for, inputs_of, same_inputs
from tests.support.reach import assert_independent
from tests.support.strategies import functional_models
from tests.support.twins import assert_equal_outputs, assert_equal_values, fit_once, outputs, same_random_state

pytestmark = pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")

every_graph = pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS.keys())
several = settings(
    derandomize=True,
    database=None,
    max_examples=15,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
# A nested model that was called on its own input keeps it, and the outer model gets another one.
COMMON = ("nested_on_its_own_input", "nested_and_beside_itself")
every_graph_with_inputs_of_its_own = pytest.mark.parametrize(
    "make", [GRAPHS[name] for name in GRAPHS if name not in COMMON]
)


def _counters():
    from keras.src.backend.common import global_state

    return dict(global_state.get_global_attribute("object_name_uids") or {})


def _calls(model):
    return [
        (op.name, len(op._inbound_nodes), len(op._outbound_nodes)) for op in getattr(model, "operations", model.layers)
    ]


@every_graph_with_inputs_of_its_own
def test_a_model_rebuilt_on_equal_inputs_has_the_same_graph(make):
    model = make()

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert ramet.capture(rebuilt) == ramet.capture(model)
    assert type(rebuilt) is type(model)
    assert_equal_values(model, rebuilt)
    same_random_state()
    ours = outputs(model, data_for(model))
    same_random_state()
    for a, b in zip(ours, outputs(rebuilt, data_for(model)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", COMMON)
def test_nested_model_keeps_the_input_it_shared_with_the_outer_graph(name):
    model = GRAPHS[name]()

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert rebuilt.get_layer("inner").inputs[0] is not rebuilt.inputs[0]
    assert ramet.capture(rebuilt.get_layer("inner")) == ramet.capture(model.get_layer("inner"))
    assert_equal_values(model, rebuilt)
    for a, b in zip(outputs(model, data_for(model)), outputs(rebuilt, data_for(model)), strict=True):
        np.testing.assert_array_equal(a, b)


@every_graph
def test_rebuilding_does_not_change_the_original(make):
    model = make()
    inputs = same_inputs(model)
    before, calls, counters = ramet.capture(model), _calls(model), _counters()

    rebuilt = ramet.clone(model, inputs=inputs)

    assert ramet.capture(model) == before
    assert _calls(model) == calls
    assert _counters() == counters
    assert_independent(model, rebuilt)


@every_graph_with_inputs_of_its_own
def test_rebuilt_model_has_only_the_calls_of_its_graph(make):
    model = make()

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    ours = [(op.name, len(op._inbound_nodes)) for op in getattr(ramet.clone(model), "operations", ())]
    assert [(op.name, len(op._inbound_nodes)) for op in getattr(rebuilt, "operations", ())] == ours


@pytest.mark.slow
@several
@given(functional_models())
def test_random_models_are_rebuilt_to_the_same_graph(sketch):
    sample = sketch.build()
    model, x = sample.model, sample.make_inputs(0)

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert ramet.capture(rebuilt) == ramet.capture(model)
    same_random_state()
    ours = outputs(model, x)
    same_random_state()
    for a, b in zip(ours, outputs(rebuilt, x), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["shared_layer", "nested_models", "embedded_lstm", "image", "sequential", "wrappers"])
def test_rebuilt_model_can_be_saved_and_loaded(name, tmp_path):
    model = MODELS[name]()
    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    rebuilt.save(tmp_path / "m.keras")

    assert_equal_outputs(model, keras.models.load_model(tmp_path / "m.keras"), data_for(model))


@pytest.mark.parametrize("name", ["shared_layer", "nested_models", "embedded_lstm", "image", "sequential"])
def test_rebuilt_model_can_be_cloned_again(name):
    model = MODELS[name]()

    again = ramet.clone(ramet.clone(model, inputs=same_inputs(model)))

    assert ramet.capture(again) == ramet.capture(model)
    assert lint(ramet.capture(again)) == []
    assert_equal_outputs(model, again, data_for(model))


# Kept state


def test_the_class_of_a_functional_subclass_and_its_attributes_are_kept():
    model = Backbone(units=5, name="b")

    rebuilt = ramet.clone(model, inputs=keras.Input((4,), batch_size=2, name="features"))

    assert type(rebuilt) is Backbone
    assert rebuilt.units == 5
    assert rebuilt.output_shape == (2, 2)
    assert rebuilt.pyramid["hidden"].shape == (2, 5)
    assert rebuilt.pyramid["hidden"] is rebuilt.get_layer("first").output


def test_compile_settings_and_optimizer_state_are_kept():
    model = MODELS["image"]()
    model.compile(keras.optimizers.Adam(0.05), "mae", metrics=["mse"])
    x, y = data_for(model), np.ones((4, 4), "float32")
    fit_once(model, x, y)

    rebuilt = ramet.clone(model, inputs=keras.Input((8, 8, 3), name="image"))

    assert rebuilt.compiled
    assert rebuilt.get_compile_config() == model.get_compile_config()
    assert_equal_values(model, rebuilt)
    np.testing.assert_allclose(fit_once(rebuilt, x, y)["loss"], fit_once(model, x, y)["loss"], rtol=1e-6)


def test_frozen_layers_stay_frozen():
    model = MODELS["frozen_parts"]()
    model.get_layer("head").trainable = False

    rebuilt = ramet.clone(model, inputs=keras.Input((4,), batch_size=2, name="x"))

    assert [v.path for v in rebuilt.trainable_variables] == [v.path for v in model.trainable_variables]
    assert not rebuilt.get_layer("block").first.trainable
    assert not rebuilt.get_layer("head").trainable


def test_a_frozen_model_stays_frozen():
    model = MODELS["one_dense"]()
    model.trainable = False

    rebuilt = ramet.clone(model, inputs=keras.Input((4,), name="x"))

    assert not rebuilt.trainable
    assert rebuilt.trainable_variables == []


def test_inputs_can_be_combined_with_other_options():
    model = MODELS["image"]()
    model.compile("sgd", "mse")

    rebuilt = ramet.clone(model, inputs=keras.Input((6, 6, 3)), name="small", compile=False, seed=3, weights="fresh")

    assert (rebuilt.name, rebuilt.compiled, rebuilt.input_shape) == ("small", False, (None, 6, 6, 3))
    assert not np.array_equal(rebuilt.get_layer("conv").kernel, model.get_layer("conv").kernel)


def test_shared_weights_on_other_inputs_train_both():
    model = MODELS["image"]()

    rebuilt = ramet.clone(model, inputs=keras.Input((6, 6, 3)), weights="share")
    model.get_layer("conv").kernel.assign_add(np.ones((3, 3, 3, 4), "float32"))

    assert rebuilt.get_layer("conv").kernel is model.get_layer("conv").kernel


# Other shapes


def _image_block(name="block"):
    i = keras.Input((8, 8, 3), name="i")
    return keras.Model(i, layers.Conv2D(3, 3, padding="same", name="conv")(i), name=name)


def test_a_nested_model_is_rebuilt_on_another_shape():
    x = keras.Input((8, 8, 3), name="x")
    model = keras.Model(x, layers.Conv2D(2, 1, name="head")(_image_block()(x)), name="m")

    rebuilt = ramet.clone(model, inputs=keras.Input((6, 4, 3), name="x"))

    assert rebuilt.output_shape == (None, 6, 4, 2)
    assert rebuilt.get_layer("block").input_shape == (None, 6, 4, 3)
    assert rebuilt.get_layer("block").output_shape == (None, 6, 4, 3)
    assert_equal_values(model, rebuilt)
    assert outputs(rebuilt, np.ones((2, 6, 4, 3), "float32"))[0].shape == (2, 6, 4, 2)


def test_a_model_nested_in_a_nested_one_is_rebuilt_on_another_shape():
    i = keras.Input((8, 8, 3), name="middle_in")
    middle = keras.Model(i, _image_block()(i), name="middle")
    x = keras.Input((8, 8, 3), name="x")
    model = keras.Model(x, middle(x), name="m")

    rebuilt = ramet.clone(model, inputs=keras.Input((6, 4, 3), name="x"))

    assert rebuilt.get_layer("middle").get_layer("block").output_shape == (None, 6, 4, 3)
    assert model.get_layer("middle").get_layer("block").output_shape == (None, 8, 8, 3)
    assert lint(ramet.capture(rebuilt)) == []


def test_a_nested_sequential_is_rebuilt_on_another_shape():
    x = keras.Input((8, 8, 3), name="x")
    inner = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(2, 3, name="conv")], name="inner")
    model = keras.Model(x, inner(x), name="m")

    rebuilt = ramet.clone(model, inputs=keras.Input((6, 4, 3), name="x"))

    assert type(rebuilt.get_layer("inner")) is keras.Sequential
    assert rebuilt.output_shape == (None, 4, 2, 2)


def test_a_nested_model_called_twice_is_rebuilt_on_another_shape():
    a, b = keras.Input((8, 8, 3), name="a"), keras.Input((8, 8, 3), name="b")
    block = _image_block()
    model = keras.Model([a, b], layers.Add(name="add")([block(a), block(b)]), name="m")

    rebuilt = ramet.clone(model, inputs=[keras.Input((6, 4, 3), name=name) for name in "ab"])

    assert rebuilt.output_shape == (None, 6, 4, 3)
    assert [call.id for call in ramet.capture(rebuilt).calls_of("block")] == ["block", "block#2"]
    data = [np.ones((2, 6, 4, 3), "float32")] * 2
    assert outputs(rebuilt, data)[0].shape == (2, 6, 4, 3)


def test_a_nested_model_called_twice_on_two_shapes_takes_both():
    a, b = keras.Input((8, 8, 3), name="a"), keras.Input((8, 8, 3), name="b")
    block = _image_block()
    model = keras.Model([a, b], [block(a), block(b)], name="m")

    rebuilt = ramet.clone(model, inputs=[keras.Input((6, 4, 3), name="a"), keras.Input((5, 5, 3), name="b")])

    assert rebuilt.output_shape == [(None, 6, 4, 3), (None, 5, 5, 3)]
    data = [np.ones((2, 6, 4, 3), "float32"), np.ones((2, 5, 5, 3), "float32")]
    assert [y.shape for y in outputs(rebuilt, data)] == [(2, 6, 4, 3), (2, 5, 5, 3)]
    assert lint(ramet.capture(rebuilt)) == []


def test_unknown_size_reaches_every_level():
    i = keras.Input((8, 8, 3), name="middle_in")
    middle = keras.Model(i, _image_block()(i), name="middle")
    x = keras.Input((8, 8, 3), name="x")
    model = keras.Model(x, middle(x), name="m")

    rebuilt = ramet.clone(model, inputs=keras.Input((None, None, 3), name="x"))

    assert rebuilt.get_layer("middle").get_layer("block").input_shape == (None, None, None, 3)
    assert [outputs(rebuilt, np.ones((1, n, n, 3), "float32"))[0].shape for n in (4, 9)] == [(1, 4, 4, 3), (1, 9, 9, 3)]


def test_nested_model_that_always_got_another_shape_is_not_rebuilt():
    x = keras.Input((None, None, 3), name="x")
    model = keras.Model(x, _image_block()(x), name="m")

    rebuilt = ramet.clone(model, inputs=same_inputs(model))

    assert ramet.capture(rebuilt) == ramet.capture(model)


def test_only_calls_that_depend_on_a_changed_input_are_made_again():
    a, b = keras.Input((8, 8, 3), name="a"), keras.Input((4,), name="b")
    conv, dense = layers.Conv2D(2, 3, name="conv"), layers.Dense(2, name="dense")
    model = keras.Model([a, b], [conv(a), dense(b)], name="m")

    rebuilt = ramet.clone(model, inputs=[keras.Input((6, 6, 3), name="a"), keras.Input((4,), name="b")])

    assert rebuilt.output_shape == [(None, 4, 4, 2), (None, 2)]
    assert_equal_values(model, rebuilt)


def test_sequential_stays_sequential_and_can_be_popped():
    model = MODELS["sequential"]()

    rebuilt = ramet.clone(model, inputs=keras.Input((4,), batch_size=3, name="x"))
    rebuilt.pop()

    assert type(rebuilt) is keras.Sequential
    assert [layer.name for layer in rebuilt.layers] == ["a"]
    assert rebuilt.output_shape == (3, 3)
    assert [layer.name for layer in model.layers] == ["a", "b"]


def test_a_deep_model_is_rebuilt_at_the_default_recursion_limit():
    x = keras.Input((2,), name="x")
    y = x
    for _ in range(400):
        y = layers.ReLU()(y)
    model = keras.Model(x, y)

    rebuilt = ramet.clone(model, inputs=keras.Input((3,), name="x"))

    assert rebuilt.output_shape == (None, 3)
    assert len(rebuilt.layers) == 401


def test_rebuilt_model_owns_its_inputs():
    model = MODELS["shared_layer"]()

    rebuilt = ramet.clone(model, inputs=inputs_of(model))

    assert not {id(tensor) for tensor in rebuilt.inputs} & {id(tensor) for tensor in model.inputs}
    assert_independent(model, rebuilt)
    assert ramet.capture(rebuilt) == ramet.capture(model)
