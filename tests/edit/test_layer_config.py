"""Recipes applied to models, and layers created from their descriptions."""

import keras
import numpy as np
import pytest

import ramet
from ramet import edits as e
from ramet._edit.layer_config import create_layer
from ramet.errors import RametError

layers = keras.layers
SLIM = """
[[edit]]
replace = "of_class('ReLU')"
layer = { class_name = "Activation", config = { activation = "gelu" } }

[[edit]]
insert_after = "of_class('Dense') & ~named('logits')"
layer = { class_name = "Dropout", config = { rate = 0.1 } }

[[edit]]
remove = "block/old_*"
required = false

[[edit]]
swap_head = { classes = 10 }

[[edit]]
update = "keep*"
rate = 0.3
"""


def network():
    block_in = keras.Input((8,), name="block_in")
    x = layers.ReLU(name="relu")(layers.Dense(8, name="inner")(block_in))
    block = keras.Model(block_in, layers.Dropout(0.5, name="old_drop")(x), name="block")
    x = keras.Input((8,), name="x")
    y = layers.Dropout(0.5, name="keep")(block(layers.ReLU(name="first")(x)))
    return keras.Model(x, layers.Dense(3, name="logits")(y), name="net")


def one(text):
    return ramet.read_recipe(f"[[edit]]\n{text}\n")


def test_recipe_has_the_same_effect_as_the_edits_in_python():
    model = network()

    by_recipe = ramet.edit(model, ramet.read_recipe(SLIM), seed=1)
    keras.utils.clear_session(free_memory=False)  # factories use the next free names
    by_hand = ramet.edit(
        model,
        e.replace(ramet.of_class("ReLU"), lambda old: layers.Activation("gelu")),
        e.insert_after(ramet.of_class("Dense") & ~ramet.named("logits"), lambda old: layers.Dropout(0.1)),
        e.remove("block/old_*", required=False),
        e.swap_head(classes=10),
        e.update("keep*", rate=0.3),
        seed=1,
    )

    classes = [(path.count("/"), op) for path, op in _classes(by_recipe)]
    assert classes == [(path.count("/"), op) for path, op in _classes(by_hand)]
    x = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
    np.testing.assert_array_equal(by_recipe.predict_on_batch(x), by_hand.predict_on_batch(x))
    assert by_recipe.get_layer("keep").rate == 0.3


def _classes(model):
    return [(match.path, match.op.class_name) for match in ramet.select(model, ramet.anything())]


def test_recipe_gives_the_same_names_each_time_and_keeps_name_counters():
    model, recipe = network(), ramet.read_recipe(SLIM)
    before = layers.Dropout(0.1).name

    first, second = (ramet.select(ramet.edit(model, recipe), "*drop*").paths for _ in range(2))

    assert first == second
    assert (before, layers.Dropout(0.1).name) == ("dropout", "dropout_1")


def test_recipe_file_can_be_planned(tmp_path):
    file = tmp_path / "slim.toml"
    file.write_text(SLIM)

    plan = ramet.plan(network(), ramet.read_recipe(file))

    assert [len(step.touched) for step in plan.steps] == [2, 1, 1, 1, 1]


def test_setting_is_taken_from_the_old_layer():
    config = '{ units = { from_old = "units" }, activation = "tanh", name = { from_old = "name" } }'
    model = network()

    new = ramet.edit(model, one(f'replace = "block/inner"\nlayer = {{ class_name = "Dense", config = {config} }}'))

    inner, old = (model.get_layer("block").get_layer("inner") for model in (new, model))
    assert (inner.name, inner.units, inner.activation.__name__) == ("inner", 8, "tanh")
    np.testing.assert_array_equal(inner.kernel.numpy(), old.kernel.numpy())


def test_wrapper_holds_the_old_layer():
    model = network()

    recipe = one('wrap = "logits"\nlayer = { class_name = "SpectralNormalization", config = { power_iterations = 2 } }')
    new = ramet.edit(model, recipe)

    wrapper = new.layers[-1]
    assert (type(wrapper), wrapper.power_iterations) == (layers.SpectralNormalization, 2)
    np.testing.assert_array_equal(wrapper.layer.bias.numpy(), model.get_layer("logits").bias.numpy())


def test_objects_inside_a_config_are_found_by_class_name():
    recipe = one("""
replace = "block/inner"
[edit.layer]
class_name = "Sequential"
[[edit.layer.config.layers]]
class_name = "Dense"
config = { units = 5, kernel_initializer = { class_name = "Constant", config = { value = 2.0 } } }
[[edit.layer.config.layers]]
class_name = "TimeDistributed"
config = { layer = { class_name = "Identity" }, trainable = false }
""")
    inner = recipe.edits[0].layer

    made = create_layer(inner, None)

    assert [type(layer) for layer in made.layers] == [layers.Dense, layers.TimeDistributed]
    assert type(made.layers[0].kernel_initializer) is keras.initializers.Constant
    assert type(made.layers[1].layer) is layers.Identity


def test_only_registered_classes_are_found():
    class Twice(layers.Layer):
        def call(self, x):
            return 2 * x

    text = 'replace = "first"\nlayer = { class_name = "Twice" }'
    with pytest.raises(RametError, match=r"key 'layer.class_name' in the recipe: Keras has no class 'Twice'"):
        one(text)
    with keras.saving.custom_object_scope({"Twice": Twice}):
        new = ramet.edit(network(), one(text))
    assert type(new.layers[1]) is Twice


def test_registered_name_is_suggested_and_found():
    @keras.saving.register_keras_serializable("ramet_test_recipes")
    class Thrice(layers.Layer):
        def call(self, x):
            return 3 * x

    with pytest.raises(RametError) as caught:
        one('replace = "first"\nlayer = { class_name = "Thrice" }')
    assert caught.value.closest == ("ramet_test_recipes>Thrice",)
    recipe = one('replace = "first"\nlayer = { class_name = "Thrice", registered_name = "ramet_test_recipes>Thrice" }')
    assert type(ramet.edit(network(), recipe).layers[1]) is Thrice


@pytest.mark.parametrize(
    ("lines", "key", "reason", "closest"),
    [
        (
            "replace = 'a'\nlayer = { class_name = 'Dropot' }",
            "layer.class_name",
            "Keras has no class 'Dropot'",
            "Dropout",
        ),
        (
            "replace = 'a'\nlayer = { class_name = 'Dropout', config = { rat = 0.1 } }",
            "layer.config.rat",
            "a Dropout has no setting 'rat'",
            "rate",
        ),
        (
            "replace = 'a'\nlayer.class_name = 'GlorotUniform'",
            "layer.class_name",
            "'GlorotUniform' is not a layer",
            None,
        ),
        ("wrap = 'a'\nlayer.class_name = 'Dense'", "layer.class_name", "a Dense does not hold another layer", None),
        (
            """replace = 'a'
layer.class_name = 'Lambda'
layer.config.function = { class_name = 'function', module = 'builtins', config = 'relv' }""",
            "layer.config.function.config",
            "Keras has no function 'relv'",
            "relu",
        ),
    ],
)
def test_invalid_layer_is_refused_when_the_recipe_is_read(lines, key, reason, closest):
    with pytest.raises(RametError) as caught:
        one(lines)

    assert caught.value.summary.startswith(f"Cannot use edit 1, key '{key}' in the recipe: {reason}")
    if closest is not None:
        assert caught.value.closest == (closest,)


@pytest.mark.parametrize(
    ("config", "key", "reason"),
    [
        ("{ rate = 7.0 }", "layer.config", "the constructor of Dropout raised an error"),
        (
            '{ rate = { from_old = "untis" } }',
            "layer.config.rate",
            "the old layer 'inner', a Dense, has no setting 'untis'",
        ),
    ],
)
def test_config_that_its_class_rejects_is_located_in_the_recipe(config, key, reason):
    recipe = one(f"insert_after = 'block/inner'\nlayer = {{ class_name = 'Dropout', config = {config} }}")

    with pytest.raises(RametError) as caught:
        ramet.edit(network(), recipe)

    assert caught.value.summary.startswith(f"Cannot use edit 1, key '{key}' in the recipe: {reason}")


def test_recipe_written_and_read_again_has_the_same_effect():
    model, recipe = network(), ramet.read_recipe(SLIM)

    again = ramet.read_recipe(recipe.to_toml())

    assert again == recipe
    assert ramet.capture(ramet.edit(model, again)) == ramet.capture(ramet.edit(model, recipe))
