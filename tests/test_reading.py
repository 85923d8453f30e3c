"""Every reading verb takes a live model, a file or a graph. What it finds is checked against plain Keras and by mutation."""

import json

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet.errors import ArgumentError, ModelFileError, NotAModelError


def trained():
    """Return a compiled model with nesting, sharing, state and a custom optimizer step behind it."""
    inside = keras.Sequential([keras.Input((4,), name="i"), layers.Dense(3, name="hidden")], name="inside")
    one, two = keras.Input((4,), name="one"), keras.Input((4,), name="two")
    x = layers.Concatenate(name="join")([inside(one), inside(two)])
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.Dropout(0.25, seed=3, name="drop")(x)
    model = keras.Model([one, two], layers.Dense(2, name="head")(x), name="net")
    model.compile("adam", "mse")
    data = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    model.fit([data, data], np.ones((8, 2), "float32"), verbose=0)
    return model


@pytest.fixture(params=[".keras", ".h5"])
def saved(request, tmp_path):
    """A trained model and the path of its file."""
    model = trained()
    path = tmp_path / f"net{request.param}"
    model.save(path)
    return model, path


def test_capture_reads_models_files_and_graphs(saved):
    model, path = saved

    graph = ramet.capture(path)

    assert isinstance(graph, ramet.Graph)
    assert [op.name for op in graph.ops] == [layer.name for layer in model.layers]
    assert graph.parameters == ramet.capture(model).parameters == model.count_params()
    assert ramet.capture(graph) is graph
    assert ramet.capture(str(path)) == graph


def test_graph_survives_json(saved):
    model, path = saved

    for source in (model, path):
        graph = ramet.capture(source)
        text = graph.to_json()
        record = json.loads(text)
        assert record["ramet"] == "graph"
        assert record["version"] == 1
        assert ramet.Graph.from_json(text) == graph


def test_select_finds_the_same_layers_in_models_files_and_graphs(saved):
    model, path = saved
    expected = ("inside/hidden", "head")

    for source in (model, path, ramet.capture(model), ramet.capture(path)):
        assert ramet.select(source, ramet.of_class("Dense")).paths == expected
    assert ramet.select(model, ramet.of_class("Dense")).layers == (
        model.get_layer("inside").get_layer("hidden"),
        model.get_layer("head"),
    )


def test_model_equals_its_own_file(saved):
    model, path = saved

    for pair in [(model, path), (path, model), (path, path), (model, model)]:
        found = ramet.diff(*pair)
        assert isinstance(found, ramet.Diff)
        assert found.changes == ()
        assert found.consequences == ()


def move_weight(model):
    weight = model.get_layer("head").kernel
    weight.assign(weight + 1)


def move_nested_weight(model):
    weight = model.get_layer("inside").get_layer("hidden").bias
    weight.assign(weight + 1)


def move_statistic(model):
    mean = model.get_layer("norm").moving_mean
    mean.assign(mean + 1)


def freeze_layer(model):
    model.get_layer("head").trainable = False


def change_rate(model):
    model.get_layer("drop").rate = 0.5


def change_learning_rate(model):
    model.optimizer.learning_rate = 0.5


@pytest.mark.parametrize(
    "mutate", [move_weight, move_nested_weight, move_statistic, freeze_layer, change_rate, change_learning_rate]
)
def test_one_change_of_a_model_is_reported_against_its_file(saved, mutate):
    model, path = saved
    mutate(model)

    forth, back = ramet.diff(path, model), ramet.diff(model, path)

    assert forth.changes
    assert back.changes == forth.mirrored().changes


def test_verify_recognizes_the_model_in_its_own_file(tmp_path):
    model = trained()
    model.save(tmp_path / "net.keras")
    before = [np.array(keras.ops.convert_to_numpy(variable)) for variable in model.variables]

    for pair in [(model, tmp_path / "net.keras"), (tmp_path / "net.keras", model)]:
        report = ramet.verify(*pair, progress=False)
        assert report.ok, report
    for variable, array in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(variable), array)


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (move_nested_weight, "state"),
        (move_statistic, "state"),
        (change_learning_rate, "state"),
        (change_rate, "settings"),
    ],
)
def test_verify_reports_one_change_of_a_model_against_its_file(tmp_path, mutate, check):
    model = trained()
    model.save(tmp_path / "net.keras")
    mutate(model)

    report = ramet.verify(tmp_path / "net.keras", model, only=["structure", "settings", "state"], progress=False)

    assert check in [one.name for one in report.failed]


@keras.saving.register_keras_serializable("reading")
class Stubborn(layers.Layer):
    """A layer that cannot be created from its config."""

    def call(self, x):
        return x

    @classmethod
    def from_config(cls, config):
        raise RuntimeError("not again")


def test_verify_says_that_a_live_model_cannot_be_loaded_again(tmp_path):
    trained().save(tmp_path / "net.keras")
    model = keras.Sequential([keras.Input((4,)), Stubborn()], name="stubborn")

    with pytest.raises(ArgumentError, match="Cannot verify 'stubborn' against a file") as caught:
        ramet.verify(model, tmp_path / "net.keras")
    assert "not again" in str(caught.value)


@pytest.mark.parametrize("mutate", [freeze_layer, change_rate])
def test_one_change_of_a_setting_is_reported_between_graphs(mutate):
    model = trained()
    before = ramet.capture(model)
    mutate(model)

    assert ramet.diff(before, ramet.capture(model)).changes
    assert ramet.diff(before, model).changes
    assert ramet.diff(before, before).changes == ()


def test_diff_of_graphs_lists_what_it_cannot_compare():
    graph = ramet.capture(trained())

    assert any("values" in text for text in ramet.diff(graph, graph).not_compared)


def test_graph_of_a_file_equals_the_file_and_the_model(saved):
    model, path = saved
    graph = ramet.capture(path)

    for other in (path, model, graph):
        assert ramet.diff(graph, other).changes == ()
        assert ramet.diff(other, graph).changes == ()


def test_graph_of_a_live_model_is_not_compared_with_a_file(saved):
    model, path = saved

    for other in (path, ramet.capture(path)):
        with pytest.raises(ArgumentError, match="Cannot compare the graph of a live model with a file"):
            ramet.diff(ramet.capture(model), other)


def test_model_with_unsaved_edits_is_not_compared_with_its_file(tmp_path):
    @keras.saving.register_keras_serializable("reading")
    class Block(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.drop = layers.Dropout(0.3, name="drop")

        def call(self, x):
            return self.drop(x)

    model = keras.Sequential([keras.Input((4,)), Block(name="block")], name="net")
    edited = ramet.edit(model, ramet.edits.update("block/drop", rate=0.1), unsaved=True)
    model.save(tmp_path / "net.keras")

    with pytest.raises(ArgumentError, match="saving the model would lose edits"):
        ramet.diff(edited, tmp_path / "net.keras")
    with pytest.raises(ArgumentError, match="saving the model would lose edits"):
        ramet.verify(ramet.capture(tmp_path / "net.keras"), edited)


def test_verify_does_not_call_models_with_equal_graphs_twins():
    model = trained()

    report = ramet.verify(ramet.capture(model), model)

    assert report.ok
    assert "has the same graph as" in str(report)


def test_verify_names_a_file_that_keras_cannot_load(tmp_path):
    model = trained()
    model.save_weights(tmp_path / "net.weights.h5")

    with pytest.raises(ramet.errors.RametError, match=r"net\.weights\.h5"):
        ramet.verify(model, tmp_path / "net.weights.h5")


def test_comparing_with_a_file_leaves_the_model_and_its_names_alone(saved):
    model, path = saved
    before = [np.array(weight) for weight in model.get_weights()]
    expected = layers.Dense(1).name

    ramet.diff(model, path)

    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    number = int(expected.rpartition("_")[2]) if "_" in expected else 0
    assert layers.Dense(1).name == f"dense_{number + 1}"


def test_comparing_with_a_file_logs_nothing(saved, caplog):
    model, path = saved
    caplog.clear()

    ramet.diff(model, path)

    assert caplog.records == []


def test_draw_takes_models_files_and_graphs(saved):
    model, path = saved
    sources = [model, path, ramet.capture(model), ramet.capture(path)]

    for source in sources:
        assert "head" in ramet.draw(source).to_svg()
    for before in sources:
        assert "head" in ramet.draw(model, before=before).to_svg()
    for before in (model, path, ramet.capture(path)):
        assert "head" in ramet.draw(path, before=before).to_html()


def test_show_lists_the_contents_of_a_file(saved):
    model, path = saved

    listing = ramet.show(path, weights=True)

    assert isinstance(listing, ramet.FileListing)
    assert listing.file == path.name
    assert listing.parameters == model.count_params()
    assert listing.trainable_parameters == sum(np.prod(weight.shape) for weight in model.trainable_weights)
    assert listing.compiled
    kernel = model.get_layer("head").kernel.numpy()
    assert np.isclose(listing.variables["head/kernel"]["mean"], kernel.mean(), atol=1e-6)
    assert json.loads(listing.to_json())["ramet"] == "show"
    assert "head" in str(listing)
    assert ramet.show(str(path)).variables is None


def test_show_refuses_a_live_model(saved):
    model, _ = saved

    with pytest.raises(ArgumentError, match="it is not the path of a model file"):
        ramet.show(model)


@pytest.mark.parametrize("verb", [ramet.capture, ramet.draw, lambda source: ramet.select(source, "*")])
@pytest.mark.parametrize("value", [3, None, object(), len])
def test_other_objects_are_refused(verb, value):
    with pytest.raises(NotAModelError, match="it is not a model"):
        verb(value)


@pytest.mark.parametrize("verb", [ramet.scan, ramet.show, ramet.Graph.from_json])
def test_objects_that_are_neither_paths_nor_text_are_refused(verb):
    with pytest.raises(ramet.errors.RametError):
        verb(3)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError):
        ramet.capture(tmp_path / "none.keras")


def test_single_layer_cannot_be_compared_with_a_file(saved):
    _, path = saved

    with pytest.raises(ArgumentError, match="Cannot compare the layer 'alone' with a file"):
        ramet.diff(layers.Dense(2, name="alone"), path)


def test_model_that_cannot_be_saved_is_refused_with_the_cause(tmp_path):
    class Odd(layers.Layer):
        def get_config(self):
            raise RuntimeError("no config today")

    model = keras.Sequential([keras.Input((4,)), Odd()], name="odd")
    trained().save(tmp_path / "net.keras")

    with pytest.raises(ArgumentError, match="Keras cannot save the model") as caught:
        ramet.diff(model, tmp_path / "net.keras")
    assert "no config today" in str(caught.value)
