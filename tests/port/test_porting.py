"""`ramet.port` and `ramet.load` as functions: reports, targets, models that were rescued, and compile settings."""

import json
import re

import h5py
import keras
import numpy as np
import pytest

import ramet
from ramet._port import porting
from ramet.errors import ArgumentError, ModelFileError, PortError, RametWarning, UnsafeFileError
from tests.files.build import DENSE_WEIGHTS, archive, called, layer, legacy, one_layer, tensor, weights
from tests.files.build import dense as current_dense
from tests.files.hostile import MARKER, lambda_object
from tests.port.rescued_files import (
    EXPECTED,
    KERNEL,
    TRAINING,
    WEIGHTS,
    X,
    dense,
    lambda_layer,
    old_file,
    old_graph,
    old_layer,
    old_model,
    written_by_tf_keras,
)

__all__ = ["written_by_tf_keras"]


def outputs(model, x=X):
    return keras.ops.convert_to_numpy(model(x))


def triple(x):
    return 3 * x


# Reports.


@pytest.fixture
def report(tmp_path):
    """The report of a port with a note and a dropped setting."""
    return ramet.port(old_file(tmp_path / "old.h5", old_layer("LeakyReLU", "leaky", alpha=0.1)), tmp_path / "new.keras")


@pytest.mark.no_backend
def test_report_prints_as_a_table(report):
    assert repr(report) == "<PortReport 'old.h5' to Keras 3.15: written to 'new.keras'>"
    assert str(report).startswith("old.h5 (Keras 2.15.0) to Keras 3.15: written to 'new.keras'\n")
    assert "Rewritten: the same setting in another form\n" in str(report)


@pytest.mark.no_backend
def test_report_is_written_as_markdown_html_and_json(report):
    assert "`leaky`" in report.to_markdown()
    assert "negative_slope=0.1" in report.to_html()
    record = json.loads(report.to_json())
    assert record["notes"][0]["path"] == "leaky"
    assert record["arrays"]["model_weights/d/d/kernel:0"] == {"fate": "used", "detail": "d/kernel"}


@pytest.mark.no_backend
def test_layers_that_crop_everything_are_refused(tmp_path):
    cropping = old_layer("Cropping1D", "crop", cropping=[2, 2])
    repeat = old_layer("RepeatVector", "repeat", n=4)
    stacked = legacy(tmp_path / "stack.h5", old_model(repeat, cropping))
    graph = legacy(
        tmp_path / "graph.h5", old_graph((repeat, [[["x", 0, 0, {}]]]), (cropping, [[["repeat", 0, 0, {}]]]))
    )

    # Keras 2 loads them, up to version 2.11; Keras 3 does not.
    for path in (stacked, graph):
        refusal = ramet.port(path).refusals[0]
        assert refusal.path == "crop"
        assert "crops its whole input" in refusal.reason


@pytest.mark.parametrize("settings", [{"bin_boundaries": [0.0, 1.0]}, {"bins": [0.0, 1.0, float("inf")]}])
def test_numbers_are_put_into_bins_before_they_are_rounded(settings, tmp_path):
    path = legacy(tmp_path / "old.h5", old_model(old_layer("Discretization", "bins", **settings)))
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        config["config"]["layers"][1]["config"]["dtype"] = "int64"
        file.attrs["model_config"] = json.dumps(config)
    x = np.array([[-0.5, 0.5, 1.5, -2.5]], "float32")

    # Keras on TensorFlow casts the inputs to the dtype of the layer in predict() only.
    found = ramet.load(path).predict(x, verbose=0)
    assert found.tolist() == np.digitize(x, [0.0, 1.0]).tolist()


def test_old_name_of_the_number_of_categories_is_translated(tmp_path):
    encoding = old_layer("CategoryEncoding", "code", max_tokens=4, output_mode="count", sparse=False)
    model = ramet.load(legacy(tmp_path / "old.h5", old_model(encoding)))
    assert model.layers[-1].num_tokens == 4


def test_hashing_of_tensorflow_2_4_loads(tmp_path):
    hashing = old_layer("Hashing", "hash", num_bins=5, salt=None)
    model = ramet.load(legacy(tmp_path / "old.h5", old_model(hashing)))
    assert model.layers[-1].compute_dtype == "int64"


@pytest.mark.no_backend
def test_plan_lists_all_reasons_and_port_raises_the_first(tmp_path):
    path = legacy(tmp_path / "old.h5", old_model(old_layer("Mine", "a"), old_layer("Yours", "b")))

    plan = ramet.port(path)

    assert [one.path for one in plan.refusals] == ["a", "b"]
    assert not plan.is_written
    with pytest.raises(PortError, match=r"Cannot port 'old.h5' to Keras 3.15 at 'a': .*, and 1 more") as caught:
        ramet.port(path, tmp_path / "new.keras")
    assert caught.value.path == "a"
    assert not (tmp_path / "new.keras").exists()


@pytest.mark.no_backend
def test_every_array_is_accounted_for(tmp_path):
    path = old_file(tmp_path / "old.h5", training=TRAINING)
    with h5py.File(path, "a") as file:
        file["optimizer_weights/Adam/iterations:0"] = np.asarray(7)

    report = ramet.port(path)

    assert {array: fate for array, (fate, _) in report.arrays.items()} == {
        "model_weights/d/d/kernel:0": "used",
        "model_weights/d/d/bias:0": "used",
        "optimizer_weights/Adam/iterations:0": "left out",
    }


@pytest.mark.no_backend
def test_report_of_a_huge_refusal_is_short(tmp_path):
    layers = [old_layer("Mine", f"m{number}", value="v" * 5_000) for number in range(200)]

    text = str(ramet.port(legacy(tmp_path / "old.h5", old_model(*layers[:10]))))

    assert len(text) < 5_000


# Arguments.


@pytest.mark.no_backend
def test_unknown_version_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(ArgumentError, match=r"2\.4") as caught:
        ramet.port(old_file(tmp_path / "old.h5"), to="2.4")

    assert "3.15" in str(caught.value)


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": 3.10}, "the release must be a string"),
        ({"functions": {"scale": print}}, "the name of a function is expected"),
    ],
)
def test_argument_of_a_wrong_type_is_refused(tmp_path, options, message):
    with pytest.raises(ArgumentError, match=message):
        ramet.port(old_file(tmp_path / "old.h5"), **options)


@pytest.mark.no_backend
def test_errors_name_the_file_of_the_user(tmp_path):
    path = tmp_path / "broken.h5"
    path.write_bytes(bytes(100))

    with pytest.raises(ModelFileError, match=r"Cannot read 'broken\.h5'") as caught:
        ramet.port(path)

    assert caught.value.path == str(path)


@pytest.mark.no_backend
def test_model_that_was_saved_before_it_had_weights_is_refused_with_the_reason(tmp_path):
    report = ramet.port(old_file(tmp_path / "old.h5", arrays={}))

    assert "saved before it had any" in report.refusals[0].reason
    assert len(report.refusals) == 1


@pytest.mark.no_backend
def test_json_of_something_else_is_not_taken_for_a_model(tmp_path):
    (tmp_path / "words.json").write_text(json.dumps({"class_name": "Tokenizer", "config": {"num_words": 10}}))

    with pytest.raises(ModelFileError, match="it describes a 'Tokenizer', not a functional or Sequential model"):
        ramet.port(tmp_path / "words.json")


@pytest.mark.no_backend
def test_target_is_checked_before_the_source_is_read(tmp_path):
    with pytest.raises(ArgumentError, match="unsupported file extension"):
        ramet.port(tmp_path / "missing.h5", tmp_path / "new.pb")


@pytest.mark.no_backend
def test_source_can_be_replaced(tmp_path):
    path = archive(tmp_path / "m.keras")

    ramet.port(path, path, to="3.8", force=True)

    assert ramet.scan(path).keras_version.startswith("3.8")


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("error", "seen"),
    [(KeyboardInterrupt, KeyboardInterrupt), (OSError, ModelFileError), (RuntimeError, ModelFileError)],
)
def test_error_while_writing_keeps_the_old_file(tmp_path, monkeypatch, error, seen):
    path, target = old_file(tmp_path / "old.h5"), tmp_path / "new.keras"
    target.write_text("precious")
    monkeypatch.setattr(porting, "write_h5_weights", lambda *_: (_ for _ in ()).throw(error))

    with pytest.raises(seen):
        ramet.port(path, target, force=True)

    assert target.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.keras", "old.h5"]


# Code in files.


@pytest.mark.no_backend
def test_lambda_of_keras_3_is_refused(tmp_path):
    config = one_layer(layer("Lambda", "scale", called(tensor("x")), function=lambda_object(tmp_path), arguments={}))
    path = archive(tmp_path / "m.keras", config)

    for to in (None, "3.8", "tf_keras"):
        report = ramet.port(path, to=to)

        assert report.refusals, to
    assert not (tmp_path / MARKER).exists()


def test_code_in_compile_settings_is_left_out(tmp_path):
    config = {**one_layer(current_dense()), "compile_config": {"optimizer": "sgd", "loss": lambda_object(tmp_path)}}
    path = archive(tmp_path / "m.keras", config)

    report = ramet.port(path, tmp_path / "new.keras", to="3.15")
    with pytest.warns(RametWarning, match="the file contains compiled Python code"):
        model = ramet.load(path)

    assert (report.is_written, report.is_current) == (True, False)
    assert "how the model was compiled: the file contains compiled Python code" in str(report)
    assert ramet.scan(tmp_path / "new.keras").verdict == "safe"
    assert not model.compiled
    assert not (tmp_path / MARKER).exists()


@pytest.mark.no_backend
def test_code_in_the_arguments_of_a_rescued_lambda_is_refused(tmp_path):
    record = lambda_layer(tmp_path)
    record["config"]["arguments"] = {"how": lambda_object(tmp_path)}
    path = old_file(tmp_path / "old.h5", record)

    with pytest.raises(UnsafeFileError):
        ramet.port(path, functions={"scale": "triple"})


@pytest.mark.no_backend
def test_custom_class_of_keras_3_needs_its_name(tmp_path):
    config = one_layer(layer("Mine", "mine", called(tensor("x")), module="own", registered_name="own>Mine"))
    path = archive(tmp_path / "m.keras", config)

    refused = ramet.port(path, to="3.8")
    allowed = ramet.port(path, tmp_path / "out.keras", to="3.8", custom=["Mine"])

    assert "--import" in refused.refusals[0].fix
    assert allowed.is_written


# Models that are loaded.


def test_file_of_keras_2_is_loaded(tmp_path):
    model = ramet.load(old_file(tmp_path / "old.h5"))

    np.testing.assert_allclose(outputs(model), EXPECTED, rtol=1e-5, atol=1e-6)
    assert [one.name for one in model.layers] == ["d"]


def test_file_of_keras_3_is_loaded(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="head")])
    model.compile("sgd", "mse")
    model.save(tmp_path / "m.keras")

    found = ramet.load(tmp_path / "m.keras")

    np.testing.assert_allclose(outputs(found), outputs(model), rtol=1e-6)
    assert found.compiled


def test_json_with_weights_is_loaded(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(json.dumps(old_model(dense()))))

    model = ramet.load(tmp_path / "m.json", weights=old_file(tmp_path / "w.h5"))

    np.testing.assert_allclose(outputs(model), EXPECTED, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("class_name", "config"),
    [
        ("Activation", {"dtype": {"class_name": "Policy", "config": {"name": "float32"}}}),
        ("Activation", {"dtype": {"class_name": "PolicyV1", "config": {"name": "float32", "loss_scale": None}}}),
        ("Activation", {"dtype": {"class_name": "PolicyV1", "config": {"name": "mixed_float16", "loss_scale": 128.0}}}),
        ("Activation", {"dtype": None}),
        ("Dropout", {"rate": 0.5, "noise_shape": None, "seed": None, "rng_type": None, "force_generator": True}),
        ("GaussianNoise", {"stddev": 0.3, "rng_type": "stateful"}),
        ("ReLU", {"max_value": None, "negative_slope": {"type": "ndarray", "value": 1.0}, "threshold": 0.0}),
        ("ELU", {"alpha": 1.0, "activity_regularizer": {"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.0}}}),
    ],
)
def test_settings_of_old_files_are_understood(tmp_path, class_name, config):
    row = {"Activation": {"activation": "linear"}}.get(class_name, {})

    model = ramet.load(old_file(tmp_path / "old.h5", old_layer(class_name, "last", **row, **config)))

    expected = np.where(EXPECTED > 0, EXPECTED, np.expm1(EXPECTED)) if class_name == "ELU" else EXPECTED
    tolerance = 2e-3 if model.layers[-1].compute_dtype == "float16" else 1e-5
    np.testing.assert_allclose(outputs(model), expected, rtol=tolerance, atol=tolerance / 10)
    assert model.layers[-1].dtype_policy.name == ("mixed_float16" if tolerance == 2e-3 else "float32")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.h5", "model.keras", "saved", "model.json"])
def test_every_format_of_tf_keras_is_loaded(written_by_tf_keras, name):
    with np.load(written_by_tf_keras / "expected.npz") as stored:
        expected = stored["y"]
    extra = {"weights": written_by_tf_keras / "only.weights.h5"} if name == "model.json" else {}

    model = ramet.load(written_by_tf_keras / name, **extra)

    np.testing.assert_allclose(outputs(model), expected, rtol=1e-5, atol=1e-6)
    assert [one.name for one in model.layers] == ["hidden", "leaky", "head"]
    assert model.compiled == (name != "model.json")


def test_model_is_compiled_as_it_was(tmp_path):
    path = old_file(tmp_path / "old.h5", training=TRAINING)

    model = ramet.load(path)

    assert isinstance(model.optimizer, keras.optimizers.Adam)
    assert float(keras.ops.convert_to_numpy(model.optimizer.learning_rate)) == pytest.approx(0.01)
    assert not ramet.load(path, compile=False).compiled


@pytest.mark.parametrize(
    "training",
    [
        {"loss": "own_loss", "optimizer_config": {"class_name": "Adam", "config": {}}},
        {"loss": "mse", "optimizer_config": {"class_name": "Yogi", "config": {}}},
        {"loss": {"class_name": "Own", "config": {}}, "optimizer_config": {"class_name": "Adam", "config": {}}},
        {"loss": 3, "metrics": 4, "optimizer_config": {"class_name": "Adam", "config": 5}},
        {"loss": "mse", "metrics": {"class_name": "Own"}, "optimizer_config": {"class_name": ["Adam"]}},
        {"loss": "mse", "optimizer_config": {"class_name": "Adam", "config": {"learning_rate": {"class_name": {}}}}},
        {
            "loss": "mse",
            "metrics": [{"class_name": "MeanMetricWrapper", "config": {"fn": []}}],
            "optimizer_config": "sgd",
        },
    ],
)
def test_compile_settings_never_block_a_model(tmp_path, training):
    path = old_file(tmp_path / "old.h5", training=training)

    report = ramet.port(path, tmp_path / "new.keras")
    with pytest.warns(RametWarning, match="without some of its training settings"):
        model = ramet.load(path)

    assert report.is_written
    assert any(note.kind == "left out" for note in report.notes), str(report)
    np.testing.assert_allclose(outputs(model), EXPECTED, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "training",
    [
        {"loss": "mse", "optimizer_config": {"class_name": "Adam", "config": {"learning_rate": "fast"}}},
        {
            "loss": {"no": "mse"},
            "loss_weights": [1, 2],
            "optimizer_config": {"class_name": "SGD", "config": {"momentum": []}},
        },
    ],
)
def test_compile_settings_that_keras_refuses_give_a_warning(tmp_path, training):
    path = old_file(tmp_path / "old.h5", training=training)

    with pytest.warns(RametWarning, match="without its optimizer, loss and metrics"):
        model = ramet.load(path)

    np.testing.assert_allclose(outputs(model), EXPECTED, rtol=1e-5, atol=1e-6)


def own_loss(truth, predicted):
    return keras.ops.mean(keras.ops.abs(truth - predicted))


def test_loss_of_the_user_is_kept_if_it_is_passed(tmp_path):
    path = old_file(tmp_path / "old.h5", training={**TRAINING, "loss": "own_loss"})

    with pytest.warns(RametWarning, match="without some of its training settings.*'own_loss'"):
        without = ramet.load(path)
    model = ramet.load(path, custom_objects={"own_loss": own_loss})

    assert not without.compiled
    assert model.loss is own_loss


class OwnLoss(keras.losses.Loss):
    def __init__(self, scale, **settings):
        super().__init__(**settings)
        self.scale = scale

    def call(self, truth, predicted):
        return self.scale * keras.ops.mean(keras.ops.abs(truth - predicted), axis=-1)

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}


class OwnMetric(keras.metrics.Mean):
    def update_state(self, truth, predicted, sample_weight=None):
        super().update_state(2 * keras.ops.abs(truth - predicted))


@pytest.mark.parametrize("prefix", ["", "Custom>"])
def test_loss_and_metric_classes_of_the_user_are_kept_if_they_are_passed(tmp_path, prefix):
    # As Keras 2 writes them.
    loss = {"class_name": f"{prefix}OwnLoss", "config": {"reduction": "auto", "name": "own", "scale": 3.0}}
    metric = {"class_name": f"{prefix}OwnMetric", "config": {"name": "mine", "dtype": "float32"}}
    path = old_file(tmp_path / "old.h5", training={**TRAINING, "loss": loss, "metrics": [metric]})

    model = ramet.load(path, custom_objects={"OwnLoss": OwnLoss, "OwnMetric": OwnMetric})
    found = model.evaluate(X, EXPECTED + 1, verbose=0)

    assert (type(model.loss), model.loss.scale) == (OwnLoss, 3.0)
    np.testing.assert_allclose(found, [3.0, 2.0], rtol=1e-5)


def test_lambda_is_loaded_with_its_function(tmp_path):
    path = old_file(tmp_path / "old.h5", lambda_layer(tmp_path))

    with pytest.raises(PortError, match="its function is Python code"):
        ramet.load(path)
    model = ramet.load(path, functions={"scale": triple})

    np.testing.assert_allclose(outputs(model), 3 * EXPECTED, rtol=1e-5, atol=1e-6)
    assert not (tmp_path / MARKER).exists()


def test_lambda_of_a_ported_file_is_loaded_with_its_function(tmp_path):
    path, target = old_file(tmp_path / "old.h5", lambda_layer(tmp_path)), tmp_path / "new.keras"
    ramet.port(path, target, functions={"scale": "triple"})

    model = keras.saving.load_model(target, {"triple": triple})

    np.testing.assert_allclose(outputs(model), 3 * EXPECTED, rtol=1e-5, atol=1e-6)


class Scale(keras.layers.Layer):
    """A layer as a user would write it for Keras 3."""

    def __init__(self, factor=1.0, **options):
        super().__init__(**options)
        self.factor = factor

    def build(self, shape):
        self.gain = self.add_weight(shape=(shape[-1],), name="gain")

    def call(self, x):
        return x * self.factor * self.gain


def test_custom_layer_is_loaded_with_its_class(tmp_path):
    arrays = WEIGHTS | {"mine": {"mine/gain:0": np.asarray([2, 3], "float32")}}
    path = old_file(tmp_path / "old.h5", old_layer("Scale", "mine", factor=0.5), arrays=arrays)

    with pytest.raises(PortError, match="its class 'Scale' is not one of Keras 3"):
        ramet.load(path)
    model = ramet.load(path, custom_objects={"Scale": Scale})

    np.testing.assert_allclose(outputs(model), EXPECTED * [1, 1.5], rtol=1e-5, atol=1e-6)


def test_class_that_another_package_registered_is_not_taken_for_it(tmp_path):
    keras.saving.register_keras_serializable("elsewhere", "Scale")(type("Scale", (keras.layers.Layer,), {}))
    path = old_file(tmp_path / "old.h5", old_layer("Scale", "mine"))

    with pytest.raises(PortError, match="its class 'Scale' is not one of Keras 3"):
        ramet.load(path)


def test_shared_layer_is_loaded_once(tmp_path):
    config = old_graph(
        (dense(units=4), [[["x", 0, 0, {}]], [["d", 0, 0, {}]]]),
        (old_layer("Add", "sum"), [[["d", 0, 0, {}], ["d", 1, 0, {}]]]),
    )
    kernel = np.concatenate([KERNEL, KERNEL], 1)
    arrays = {"d": {"d/kernel:0": kernel, "d/bias:0": np.zeros(4, "float32")}}

    model = ramet.load(legacy(tmp_path / "old.h5", config, arrays))

    np.testing.assert_allclose(outputs(model), X @ kernel + X @ kernel @ kernel, rtol=1e-5, atol=1e-6)
    assert len(model.weights) == 2


@pytest.mark.no_backend
def test_unsafe_weights_file_and_missing_file_are_refused(tmp_path):
    (tmp_path / "only.weights.h5").write_bytes(weights(DENSE_WEIGHTS))
    unsafe = old_file(tmp_path / "old.h5", old_layer("StringLookup", "words", vocabulary="/etc/passwd"))

    with pytest.raises(UnsafeFileError):
        ramet.load(unsafe)
    with pytest.raises(ModelFileError, match="contains weights, but no model"):
        ramet.load(tmp_path / "only.weights.h5")
    with pytest.raises(ModelFileError, match="no such file"):
        ramet.load(tmp_path / "missing.h5")


def saved_model(folder):
    (folder / "variables").mkdir(parents=True)
    for name in ("saved_model.pb", "keras_metadata.pb", "variables/variables.index"):
        (folder / name).write_bytes(b"\n\x02ab")


@pytest.mark.no_backend
@pytest.mark.parametrize(
    ("name", "content", "reason", "fix"),
    [
        ("model.yaml", b"backend: tensorflow\nclass_name: Sequential", "it is YAML", "convert it to JSON"),
        ("model.pkl", b"\x80\x04\x95", "it is a pickle", "if you trust its author"),
        ("model", b"\x80\x05\x95", "it is a pickle", "save it as .h5 or .keras"),
        ("model.sav", b"\x78\x9c", "it is a pickle", "save it as .h5 or .keras"),
        ("model.tflite", b"\x1c\0\0\0TFL3", "it is a model of TensorFlow Lite", "port the Keras model"),
        ("model.onnx", b"\x08\x07", "it is a model of ONNX", "port the Keras model"),
        ("frozen.pb", b"\x0a\x04", "a graph of TensorFlow without a Keras model", "port the Keras model"),
        ("cp.ckpt.index", b"\0\0", "it is a part of a checkpoint", "load the weights into the model in tf_keras"),
        (
            "cp.ckpt.data-00000-of-00001",
            b"\0",
            "it is a part of a checkpoint",
            "load the weights into the model in tf_keras",
        ),
        ("model.json", b'{"format": "layers-model", "modelTopology": {}}', "TensorFlow.js", "tensorflowjs_converter"),
        ("model.json", b'{"format": "graph-model", "modelTopology": {}}', "TensorFlow.js", "port the Keras model"),
        ("saved/saved_model.pb", None, "it is a part of a SavedModel", "ramet port .*saved new.keras"),
        ("saved/keras_metadata.pb", None, "it is a part of a SavedModel", "ramet port .*saved new.keras"),
        ("saved/variables", None, "it is a part of a SavedModel", "ramet port .*saved new.keras"),
        ("saved/variables/variables.index", None, "it is a part of a SavedModel", "ramet port .*saved new.keras"),
        ("", None, "it is a folder around a SavedModel", "ramet port .*saved new.keras"),
    ],
)
def test_other_formats_are_refused_with_their_way_out(tmp_path, name, content, reason, fix):
    if content is None:
        saved_model(tmp_path / "saved")
    else:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(ModelFileError, match=reason) as caught:
        ramet.port(tmp_path / name)
    assert re.search(fix, caught.value.fix)


@pytest.mark.no_backend
@pytest.mark.parametrize("name", ["model.sav", "model.pkl", "model.yaml"])
def test_hdf5_with_another_extension_is_ported(tmp_path, name):
    old_file(tmp_path / "old.h5").rename(tmp_path / name)

    assert ramet.port(tmp_path / name).refusals == ()


def test_lambda_of_keras_3_is_loaded_with_its_function(tmp_path):
    path = tmp_path / "new.keras"
    layers = [keras.Input((3,)), keras.layers.Lambda(lambda x: x * 3, name="scale")]
    keras.Sequential(layers).save(path)

    with pytest.raises(PortError, match="its function is Python code"):
        ramet.load(path)
    model = ramet.load(path, functions={"scale": triple})

    assert np.array_equal(model.predict(np.ones((2, 3), "float32"), verbose=0), np.full((2, 3), 3.0))
