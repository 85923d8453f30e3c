"""SavedModels of Keras 2, compared with what tf_keras itself says about the models that it saved."""

import json
import random
import shutil
import struct
import warnings
from pathlib import Path

import keras
import ml_dtypes
import numpy as np
import pytest

import ramet
from ramet._files.limits import Limits
from ramet._port.checkpoint import Checkpoint, _table
from ramet._port.crc32c import crc32c, masked
from ramet._port.saved_model import is_saved_model, read_saved_model
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError

pytestmark = [
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tf_keras needs TensorFlow in this process"),
    pytest.mark.filterwarnings("ignore"),
]

LIMITS = Limits()


@pytest.fixture(scope="module")
def keras_2():
    return pytest.importorskip("tf_keras", reason="tf_keras writes the SavedModels: `pip install tf_keras`")


@pytest.fixture(scope="module")
def save(keras_2, tmp_path_factory):
    """Return a function that saves a model with random weights, and returns the folder."""

    def save_model(model, *, traces=False):
        generator = np.random.default_rng(0)
        for weight in model.weights:
            # The vocabulary of a lookup layer is among its weights, but it is not a variable.
            if hasattr(weight, "dtype") and weight.dtype.is_floating and weight.shape.is_fully_defined():
                weight.assign(generator.random(weight.shape.as_list()).astype(weight.dtype.as_numpy_dtype))
        folder = tmp_path_factory.mktemp("saved") / "model"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Tracing the call of each layer takes most of the time, and Keras does not need it to load the model.
            model.save(folder, save_format="tf", save_traces=traces)
        return folder

    return save_model


@pytest.fixture(scope="module")
def small(keras_2, save):
    """Return the folder of a small model with a vocabulary and an optimizer."""
    layers = keras_2.layers
    words = keras_2.Input((1,), dtype="string", name="words")
    lookup = layers.StringLookup(vocabulary=["a", "b", "c"], name="lookup")
    embedded = layers.Flatten(name="flat")(layers.Embedding(4, 3, name="embedding")(lookup(words)))
    model = keras_2.Model(words, layers.Dense(2, name="dense")(embedded), name="small")
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return save(model)


def layers_by_path(model):
    """Return all layers of a model of tf_keras by path, with the model itself at ''."""
    from tf_keras import models

    found, waiting = {}, [("", model)]
    while waiting:
        path, layer = waiting.pop(0)
        assert path not in found
        found[path] = layer
        inside = list(layer._flatten_layers(recursive=False, include_self=False))
        if isinstance(layer, models.Sequential):  # its input layer is saved in its config only
            inside = [inner for inner in inside if type(inner).__name__ != "InputLayer"]
        waiting.extend((f"{path}/{inner.name}" if path else inner.name, inner) for inner in inside)
    return found


def own_weights(layer):
    weights = [*layer._trainable_weights, *layer._non_trainable_weights]
    return {weight.name.rpartition("/")[2].partition(":")[0]: weight.numpy() for weight in weights}


def assert_same(found, model):
    """Compare config, paths and every weight with the model that was saved."""
    layers = layers_by_path(model)
    assert set(found.layers) | {""} == set(layers)
    assert {path: layer.class_name for path, layer in found.layers.items()} == {
        path: type(layer).__name__ for path, layer in layers.items() if path
    }
    assert without_extras(found.config) == without_extras(h5_config(model))
    for path, layer in layers.items():
        expected, variables = own_weights(layer), found.variables.get(path, {})
        assert list(variables) == list(expected), path
        for name, array in variables.items():
            values = array.read()
            assert (array.shape, array.dtype) == (values.shape, str(values.dtype))
            assert values.dtype == expected[name].dtype
            np.testing.assert_array_equal(values, expected[name])
    total = sum(len(variables) for variables in found.variables.values())
    assert total == len({id(weight) for weight in model.weights})
    assert not found.missing


def h5_config(model):
    """Return the config as Keras 2 writes it to HDF5 files."""
    from tf_keras.src.saving.legacy.saved_model import json_utils
    from tf_keras.src.saving.legacy.serialization import serialize_keras_object

    return json.loads(json.dumps(serialize_keras_object(model), default=json_utils.get_json_type))


def without_extras(config):
    """Return a config without fields that only one of the formats has; they do not change the model."""
    extras = {"shared_object_id", "module", "registered_name", "build_config"}
    if isinstance(config, dict):
        return {key: without_extras(value) for key, value in config.items() if key not in extras}
    return [without_extras(item) for item in config] if isinstance(config, list) else config


def read_everything(folder):
    found = read_saved_model(folder, LIMITS)
    for variables in [*found.variables.values(), found.optimizer]:
        for array in variables.values():
            array.read()
    return found


def test_layers_of_nested_models_have_paths(keras_2, save):
    layers = keras_2.layers
    shared = layers.Dense(4, name="shared")
    image = keras_2.Input((8, 8, 3), name="image")
    encoder = keras_2.Sequential(
        [layers.Conv2D(4, 3, name="conv"), layers.BatchNormalization(name="norm"), layers.Flatten(name="flat")],
        name="encoder",
    )
    inner_input = keras_2.Input((4,), name="inner_input")
    inner = keras_2.Model(
        inner_input, layers.PReLU(name="slope")(layers.Dense(4, name="dense")(inner_input)), name="inner"
    )
    wrapped = keras_2.Sequential([keras_2.Input((4,)), inner, layers.Dense(4, name="last")], name="wrapped")
    hidden = shared(layers.Dense(4, name="first")(encoder(image)))
    model = keras_2.Model(image, [wrapped(shared(hidden)), inner(hidden)], name="net")
    found = read_saved_model(save(model), LIMITS)
    layers_found = {path: layer for path, layer in layers_by_path(model).items() if path}
    assert set(found.layers) == set(layers_found)
    assert without_extras(found.config) == without_extras(h5_config(model))
    for path, layer in layers_found.items():
        assert {name: array.read().tolist() for name, array in found.variables.get(path, {}).items()} == {
            name: values.tolist() for name, values in own_weights(layer).items()
        }
    # The same object in two models has two paths.
    assert found.layers["inner/dense"].node == found.layers["wrapped/inner/dense"].node
    assert found.layers["encoder/norm"].class_name == "BatchNormalization"
    assert list(found.variables["encoder/norm"]) == ["gamma", "beta", "moving_mean", "moving_variance"]
    assert found.keras_version == keras_2.__version__
    assert found.training_config is None
    assert found.optimizer == {}


def test_recurrent_layers_and_wrappers_have_their_cells(keras_2, save):
    layers = keras_2.layers
    steps = keras_2.Input((3, 4), name="steps")
    hidden = layers.Bidirectional(layers.LSTM(2, return_sequences=True, name="lstm"), name="both")(steps)
    hidden = layers.TimeDistributed(layers.Dense(3, name="dense"), name="each")(hidden)
    hidden = layers.MultiHeadAttention(2, 3, name="attention")(hidden, hidden)
    cells = [layers.LSTMCell(2, name="one"), layers.GRUCell(3, name="two"), layers.SimpleRNNCell(2, name="three")]
    hidden = layers.RNN(layers.StackedRNNCells(cells, name="stack"), return_sequences=True, name="rnn")(hidden)
    hidden = layers.GRU(3, stateful=False, name="gru")(hidden)
    video = keras_2.Input((2, 5, 5, 1), name="video")
    maps = layers.GlobalAveragePooling2D(name="pool")(layers.ConvLSTM2D(2, 3, name="conv_lstm")(video))
    model = keras_2.Model([steps, video], layers.Concatenate(name="join")([hidden, maps]), name="recurrent")
    found = read_saved_model(save(model), LIMITS)
    assert_same(found, model)
    assert found.layers["both/forward_lstm"].attribute == "forward_layer"
    assert found.layers["rnn/stack/two"].attribute == "cells.1"
    assert list(found.variables["both/backward_lstm/lstm_cell"]) == ["kernel", "recurrent_kernel", "bias"]


def test_cells_of_the_same_name_are_told_apart(keras_2, save):
    layers = keras_2.layers
    cells = [layers.LSTMCell(2, name="cell"), layers.LSTMCell(3, name="cell")]
    model = keras_2.Sequential([keras_2.Input((3, 4)), layers.RNN(cells, name="rnn")])
    found = read_saved_model(save(model), LIMITS)
    stack = model.layers[0].cell
    first, second = (found.variables[f"rnn/{stack.name}/cell{suffix}"] for suffix in ("", "#2"))
    assert [array.shape for array in first.values()] == [(4, 8), (2, 8), (8,)]
    assert [array.shape for array in second.values()] == [(2, 12), (3, 12), (12,)]


def test_stateful_layer_has_no_state_among_its_variables(keras_2, save):
    model = keras_2.Sequential(
        [keras_2.Input((3, 4), batch_size=2), keras_2.layers.LSTM(2, stateful=True, name="lstm")]
    )
    model(np.ones((2, 3, 4), "float32"))
    assert_same(read_saved_model(save(model), LIMITS), model)


def test_variables_keep_their_dtype(keras_2, save):
    layers = keras_2.layers

    class Mixed(layers.Layer):
        def build(self, shape):
            self.half = self.add_weight("half", (3,), "float16")
            self.brain = self.add_weight("brain", (3,), "bfloat16")
            self.double = self.add_weight("double", (), "float64")
            self.count = self.add_weight("count", (2,), "int64", initializer="ones", trainable=False)
            self.flag = self.add_weight("flag", (2,), "bool", initializer="zeros", trainable=False)
            self.empty = self.add_weight("empty", (0, 3))
            self.several = [self.add_weight("same", (n,)) for n in (1, 2)]
            self.add_weight("unnamed", (4,))

        def call(self, inputs):
            return inputs

    model = keras_2.Sequential([keras_2.Input((3,)), Mixed(name="mixed")])
    found = read_saved_model(save(model), LIMITS).variables["mixed"]
    dtypes = {name: array.dtype for name, array in found.items()}
    assert dtypes == {
        "half": "float16",
        "brain": "bfloat16",
        "double": "float64",
        "count": "int64",
        "flag": "bool",
        "empty": "float32",
        "same": "float32",
        "several.0": "float32",
        "unnamed": "float32",
    }
    layer = model.layers[0]
    np.testing.assert_array_equal(found["brain"].read(), layer.brain.numpy())
    assert found["brain"].read().dtype == ml_dtypes.bfloat16
    # Keras itself loses the name of the first of two variables of the same name, but not the list.
    np.testing.assert_array_equal(found["several.0"].read(), layer.several[0].numpy())
    np.testing.assert_array_equal(found["same"].read(), layer.several[1].numpy())
    assert found["count"].read().tolist() == [1, 1]


def test_adapted_preprocessing_layers_keep_their_state(keras_2, save, tmp_path):
    layers = keras_2.layers
    text, numbers = keras_2.Input((1,), dtype="string", name="text"), keras_2.Input((3,), name="numbers")
    ids = keras_2.Input((1,), dtype="int64", name="ids")
    norm = layers.Normalization(name="norm")
    norm.adapt(np.arange(12.0).reshape(4, 3))
    strings = layers.StringLookup(num_oov_indices=2, mask_token="", name="strings")
    strings.adapt(["über", "b", "b"])
    vectors = layers.TextVectorization(output_sequence_length=3, name="vectors")
    vectors.adapt(["hello world", "world"])
    weighted = layers.TextVectorization(output_mode="tf_idf", name="weighted")
    weighted.adapt(["hello world", "world"])
    integers = layers.IntegerLookup(vocabulary=[3, -4, 5], name="integers")
    inverse = layers.IntegerLookup(vocabulary=[30, 40], invert=True, name="inverse")
    file = tmp_path / "words.txt"
    file.write_text("q\nr s\n", encoding="utf-8")
    from_file = layers.StringLookup(vocabulary=str(file), name="from_file")
    buckets = layers.Discretization(num_bins=2, name="buckets")
    buckets.adapt(np.arange(4.0))
    outputs = [layer(text) for layer in (strings, vectors, weighted, from_file)]
    outputs += [norm(numbers), buckets(numbers), integers(ids), inverse(ids)]
    found = read_saved_model(save(keras_2.Model([text, numbers, ids], outputs), traces=True), LIMITS)
    assert not found.missing
    for layer in (strings, vectors, weighted, integers, inverse, from_file):
        vocabulary = found.vocabularies[layer.name]
        expected = layer.get_vocabulary()
        assert list(vocabulary.tokens) == expected[-len(vocabulary.tokens) :]
        assert vocabulary.start in (None, len(expected) - len(vocabulary.tokens))
    assert found.vocabularies["strings"].tokens == ("b", "über")
    assert found.vocabularies["strings"].start == 3
    np.testing.assert_array_equal(found.variables["norm"]["mean"].read(), norm.adapt_mean.numpy())
    np.testing.assert_array_equal(found.variables["norm"]["variance"].read(), norm.adapt_variance.numpy())
    (lookup,) = (path for path in found.layers if path.startswith("weighted/"))
    idf = weighted._lookup_layer.idf_weights.numpy()
    np.testing.assert_array_equal(found.variables[lookup]["idf_weights"].read(), idf)
    np.testing.assert_array_equal(found.variables["buckets"]["summary"].read(), buckets.summary.numpy())


def test_many_variables_are_all_found(keras_2, save):
    generator = random.Random(0)
    # Keys share no prefix, which would be written only once.
    names = [generator.randbytes(100).hex() for _ in range(1_500)]

    class Many(keras_2.layers.Layer):
        def build(self, shape):
            for name in names:
                self.add_weight(f"w{name}", (2,))

        def call(self, inputs):
            return inputs

    model = keras_2.Sequential([keras_2.Input((2,)), Many(name="many")], name="model")
    folder = save(model)
    assert (folder / "variables" / "variables.index").stat().st_size > 300_000  # a block has 256 KiB
    assert_same(read_saved_model(folder, LIMITS), model)


def test_optimizer_variables_have_full_names(keras_2, small):
    found = read_saved_model(small, LIMITS)
    assert found.training_config["loss"] == "mse"
    assert found.optimizer["iteration"].read() == 0
    assert found.optimizer["m/dense/kernel"].shape == (3, 2)


def test_slots_of_legacy_optimizer_are_found(keras_2, save):
    model = keras_2.Sequential([keras_2.Input((2,)), keras_2.layers.Dense(1, name="dense")])
    model.compile(keras_2.optimizers.legacy.Adam(), "mse")
    model.fit(np.ones((2, 2)), np.ones((2, 1)), verbose=0)
    found = read_saved_model(save(model), LIMITS)
    assert found.optimizer["Adam/iter"].read() == 1
    assert {"Adam/dense/kernel/m", "Adam/dense/bias/v"} <= set(found.optimizer)


def test_metadata_inside_the_graph_is_read(small, tmp_path):
    """TensorFlow 2.0 to 2.4 has no separate file for it."""
    from tensorflow.core.protobuf import saved_model_pb2
    from tf_keras.protobuf import saved_metadata_pb2

    old = tmp_path / "old"
    shutil.copytree(small, old)
    metadata = saved_metadata_pb2.SavedMetadata.FromString((old / "keras_metadata.pb").read_bytes())
    graph = saved_model_pb2.SavedModel.FromString((old / "saved_model.pb").read_bytes())
    for item in metadata.nodes:
        graph.meta_graphs[0].object_graph_def.nodes[item.node_id].user_object.metadata = item.metadata
    (old / "saved_model.pb").write_bytes(graph.SerializeToString())
    (old / "keras_metadata.pb").unlink()
    expected, found = read_saved_model(small, LIMITS), read_saved_model(old, LIMITS)
    assert (found.config, found.layers, found.vocabularies) == (expected.config, expected.layers, expected.vocabularies)
    assert found.variables == expected.variables


@pytest.mark.parametrize("kind", ["module", "subclass", "export"])
def test_saved_model_without_config_is_refused(keras_2, tmp_path, kind):
    import tensorflow as tf

    folder = tmp_path / "model"
    if kind == "module":
        module = tf.Module()
        module.weight = tf.Variable([1.0])
        tf.saved_model.save(module, folder)
    elif kind == "export":
        model = keras_2.Sequential([keras_2.Input((2,)), keras_2.layers.Dense(1)])
        model.export(folder)
    else:

        class Reader(keras_2.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras_2.layers.Dense(2)

            def call(self, inputs):
                return self.dense(inputs)

        model = Reader()
        model(np.ones((1, 2)))
        model.save(folder, save_format="tf", save_traces=False)
    assert is_saved_model(folder)
    reason = "its class 'Reader' is your own" if kind == "subclass" else "contains no Keras model"
    with pytest.raises(ModelFileError, match=rf"{reason}.*TFSMLayer") as caught:
        read_saved_model(folder, LIMITS)
    # Not the path of the private copy, which is gone when the message is read.
    assert f'TFSMLayer("{folder.name}", call_endpoint="serving_default")' in str(caught.value)


@pytest.fixture(scope="module")
def activated(keras_2, save):
    """Return the folder of a model with two activations."""
    layers = keras_2.layers
    hidden = layers.Dense(3, activation="tanh", name="hidden")
    model = keras_2.Sequential([keras_2.Input((2,)), hidden, layers.Dense(2, activation="softmax", name="head")])
    return save(model, traces=True)


def with_metadata(folder, copy, change):
    shutil.copytree(folder, copy)
    metadata = copy / "keras_metadata.pb"
    metadata.write_bytes(change(metadata.read_bytes()))
    return copy


def test_activation_that_the_graph_lacks_is_noted(activated, tmp_path):
    # As if metadata of another version of the model were in the folder.
    changed = with_metadata(activated, tmp_path / "new", lambda data: data.replace(b'"tanh"', b'"selu"'))

    assert not read_saved_model(activated, LIMITS).doubts
    cautions = [note for note in ramet.port(changed).notes if note.kind == "caution"]
    assert [note.path for note in cautions] == ["hidden"]
    assert "activation='selu'" in cautions[0].text


def test_metadata_of_another_model_is_refused(activated, small, tmp_path):
    other = (small / "keras_metadata.pb").read_bytes()

    with pytest.raises(ModelFileError, match=r"'keras_metadata.pb': it does not belong to 'saved_model.pb'"):
        read_saved_model(with_metadata(activated, tmp_path / "new", lambda _: other), LIMITS)


def test_other_paths_are_not_saved_models(small, tmp_path):
    assert is_saved_model(small)
    assert is_saved_model(str(small))
    assert not is_saved_model(tmp_path)
    assert not is_saved_model(small / "saved_model.pb")
    assert not is_saved_model("\0")


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
)
def test_missing_file_is_reported(small, tmp_path, name):
    copy = tmp_path / "copy"
    shutil.copytree(small, copy)
    (copy / name).unlink()
    with pytest.raises(ModelFileError, match=f"Cannot read '{Path(name).name}': the file is missing"):
        read_saved_model(copy, LIMITS)


def test_asset_outside_of_the_folder_is_refused(keras_2, save, tmp_path):
    from tensorflow.core.protobuf import saved_model_pb2

    words = tmp_path / "words.txt"
    words.write_text("a\nb\n", encoding="utf-8")
    lookup = keras_2.layers.StringLookup(vocabulary=str(words), name="lookup")
    folder = save(keras_2.Sequential([keras_2.Input((1,), dtype="string"), lookup]))
    assert read_saved_model(folder, LIMITS).vocabularies["lookup"].tokens == ("a", "b")
    graph = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    for name in ("../saved_model.pb", "/etc/passwd", "..\\x", "C:x"):
        graph.meta_graphs[0].asset_file_def[0].filename = name
        (folder / "saved_model.pb").write_bytes(graph.SerializeToString())
        with pytest.raises(HostileFileError, match="outside of the SavedModel"):
            read_saved_model(folder, LIMITS)
    (folder / "assets" / "link.txt").symlink_to(words)
    graph.meta_graphs[0].asset_file_def[0].filename = "link.txt"
    (folder / "saved_model.pb").write_bytes(graph.SerializeToString())
    with pytest.raises(HostileFileError, match="outside of the SavedModel"):
        read_saved_model(folder, LIMITS)


FILES = ["saved_model.pb", "keras_metadata.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]


@pytest.mark.parametrize("name", FILES)
def test_damaged_file_is_read_or_refused(small, tmp_path, name):
    copy = tmp_path / "copy"
    shutil.copytree(small, copy)
    original = (copy / name).read_bytes()
    expected = values_of(read_everything(small))
    generator = random.Random(0)
    refused = 0
    for _ in range(150):
        (copy / name).write_bytes(damaged(original, generator))
        try:
            found = read_everything(copy)
        except ModelFileError:
            refused += 1
            continue
        if name.startswith("variables/"):
            assert values_of(found) == expected  # every byte that matters has a checksum
    assert refused > 40


def test_damaged_index_with_correct_checksums_is_read_or_refused(small, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(small, copy)
    index = copy / "variables" / "variables.index"
    pairs = [(key, bytes(value)) for key, value in _table(index.read_bytes(), "index", LIMITS)]
    index.write_bytes(table_of(pairs))
    assert values_of(read_everything(copy)) == values_of(read_everything(small))
    generator = random.Random(1)
    refused = 0
    for _ in range(200):
        position = generator.randrange(len(pairs))
        changed = list(pairs)
        changed[position] = pairs[position][0], damaged(pairs[position][1], generator)
        index.write_bytes(table_of(changed))
        try:
            read_everything(copy)
        except ModelFileError:
            refused += 1
    assert refused > 100


def test_damaged_object_graph_with_correct_checksums_is_read_or_refused(small, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(small, copy)
    index, data = (copy / "variables" / f"variables.{end}" for end in ("index", "data-00000-of-00001"))
    pairs = [(key, bytes(value)) for key, value in _table(index.read_bytes(), "index", LIMITS)]
    values = data.read_bytes()
    graph = Checkpoint(index.with_suffix(""), LIMITS).read("_CHECKPOINTABLE_OBJECT_GRAPH").item()
    generator = random.Random(2)
    for _ in range(150):
        entry, stored = text_entry(damaged(graph, generator), len(values))
        data.write_bytes(values + stored)
        index.write_bytes(table_of([pairs[0], (b"_CHECKPOINTABLE_OBJECT_GRAPH", entry), *pairs[2:]]))
        try:
            read_everything(copy)
        except ModelFileError:
            continue


def damaged(data, generator):
    """Return data with a byte changed, removed or repeated, or with the end cut off."""
    position = generator.randrange(len(data)) if data else 0
    kind = generator.randrange(5)
    if kind == 0:
        return data[:position]
    if kind == 1:
        return data[:position] + data[position + 1 :]
    if kind == 2:
        return data[:position] + data[position : position + generator.randrange(1, 40)] + data[position:]
    return data[:position] + bytes([generator.randrange(256)]) + data[position + 1 :]


def values_of(found):
    variables = {**found.variables, "optimizer": found.optimizer}
    values = {
        path: {name: (array.dtype, array.shape, array.read().tobytes()) for name, array in inside.items()}
        for path, inside in variables.items()
    }
    return values, found.vocabularies


def varint(value):
    groups = []
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def block_of(pairs, *, compression=0):
    """Return a block of a table with its trailer; compressed as a single Snappy literal if asked for."""
    content = b"".join(varint(0) + varint(len(key)) + varint(len(value)) + key + value for key, value in pairs)
    content += struct.pack("<II", 0, 1)
    if compression == 1:
        content = varint(len(content)) + b"\xf4" + struct.pack("<H", len(content) - 1) + content
    content += bytes([compression])
    return content + struct.pack("<I", masked(crc32c(content)))


def table_of(pairs, *, blocks=1, compression=0, handles=None):
    """Return the bytes of a table in the format of LevelDB."""
    data, index = b"", []
    size = -(-len(pairs) // blocks) if pairs else 1
    for start in range(0, len(pairs), size):
        block = block_of(pairs[start : start + size], compression=compression)
        index.append((pairs[min(start + size, len(pairs)) - 1][0], varint(len(data)) + varint(len(block) - 5)))
        data += block
    index = handles(index) if handles else index
    footer = varint(0) + varint(0) + varint(len(data))
    data += block_of(index)
    footer += varint(len(block_of(index)) - 5)
    return data + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def text_entry(text, offset):
    """Return the entry for a text of a checkpoint, and the bytes of the text."""
    lengths = masked(crc32c(struct.pack("<I", len(text))))
    stored = varint(len(text)) + struct.pack("<I", lengths) + text
    checksum = crc32c(struct.pack("<I", lengths) + text, crc32c(struct.pack("<I", len(text))))
    entry = b"\x08\x07\x12\x00\x20" + varint(offset) + b"\x28" + varint(len(stored))
    return entry + b"\x35" + struct.pack("<I", masked(checksum)), stored


HEADER = (b"", b"\x08\x01")


def entry_of(values, *, more=b"", shape=None, size=None):
    dims = b"".join(b"\x12" + varint(len(dim)) + dim for dim in (b"\x08" + varint(n) for n in shape or values.shape))
    written = b"\x28" + varint(values.nbytes if size is None else size)
    checksum = b"\x35" + struct.pack("<I", masked(crc32c(values.tobytes())))
    return b"\x08\x01\x12" + varint(len(dims)) + dims + written + checksum + more


def checkpoint_of(folder, index, values=b""):
    (folder / "w.index").write_bytes(index)
    (folder / "w.data-00000-of-00001").write_bytes(values)
    return Checkpoint(folder / "w", LIMITS)


VALUES = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize("compression", [0, 1])
@pytest.mark.parametrize("blocks", [1, 3])
def test_table_with_several_or_compressed_blocks_is_read(tmp_path, compression, blocks):
    pairs = [HEADER, *((name, entry_of(VALUES)) for name in (b"a", b"b", b"c"))]
    found = checkpoint_of(tmp_path, table_of(pairs, blocks=blocks, compression=compression), VALUES.tobytes())
    for name in "abc":
        np.testing.assert_array_equal(found.array(name).read(), VALUES)


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        (b"\x0a\x0cabcd\x09\x04", b"abcdabcdab"),  # a copy of six bytes from four back overlaps its own output
        (b"\x08\x0cabcd\x0e\x04\x00", b"abcdabcd"),
        (b"\x08\x0cabcd\x0f\x04\x00\x00\x00", b"abcdabcd"),
    ],
)
def test_snappy_copies_are_unpacked(packed, expected):
    from ramet._port.checkpoint import _unpack_snappy

    assert _unpack_snappy(memoryview(packed), "block", 100) == expected
    for position in range(1, len(packed)):
        with pytest.raises(ModelFileError):
            _unpack_snappy(memoryview(packed[:position]), "block", 100)
    with pytest.raises(OutOfBudgetError):
        _unpack_snappy(memoryview(varint(10**9) + packed[1:]), "block", 100)


def test_values_that_do_not_match_their_checksum_are_refused(tmp_path):
    changed = VALUES.copy()
    changed[1, 2] += 1
    found = checkpoint_of(tmp_path, table_of([HEADER, (b"a", entry_of(VALUES))]), changed.tobytes())
    with pytest.raises(ModelFileError, match="the values of 'a' do not match their checksum"):
        found.array("a").read()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (entry_of(VALUES, more=b"\x3a\x00"), "split into slices"),
        (entry_of(VALUES, shape=(2, 4)), "do not match its shape"),
        (entry_of(VALUES, shape=(2**40, 2**40)), "is invalid"),
        (entry_of(VALUES, shape=(2, 2**64 - 3)), "is invalid"),
        (entry_of(VALUES, shape=(0, 2**50), size=0), "is invalid"),
        (entry_of(VALUES, shape=(2**20, 2**20), size=2**42), "are more than allowed"),
        (entry_of(VALUES, more=b"\x20\x08"), "and the tensor 'a' ends after 32"),
        (entry_of(VALUES, more=b"\x18\x01"), "is invalid"),
        (entry_of(VALUES, more=b"\x08\x01"), "occurs 2 times"),
        (b"\x0b", "wire type 3"),
        (b"\x08" + b"\xff" * 10, "cut off or too long"),
        (b"\x12\x05", "longer than the message"),
    ],
)
def test_invalid_entry_is_refused(tmp_path, entry, reason):
    with pytest.raises(ModelFileError, match=reason):
        checkpoint_of(tmp_path, table_of([HEADER, (b"a", entry)]), VALUES.tobytes()).array("a")


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (b"", "not the index of a checkpoint"),
        (table_of([]), "it has no header"),
        (table_of([(b"", b"\x08\x01\x10\x01")]), "big-endian"),
        (table_of([(b"", b"\x08\xff\xff\x03")]), "its values are in 65,535 files"),
        (table_of([HEADER, (b"b", b""), (b"a", b"")]), "not sorted"),
        (table_of([HEADER, (b"\xff", b"")]), "not UTF-8"),
        (table_of([HEADER, (b"a" * 20_000, b"")]), "20,000 characters"),
        (table_of([HEADER], handles=lambda index: index * 2), "overlap"),
        (table_of([HEADER], handles=lambda index: [(b"", varint(2**60) + varint(2**60))]), "cut off"),
        (table_of([HEADER], compression=2), "unknown compression 2"),
    ],
)
def test_invalid_table_is_refused(tmp_path, index, reason):
    with pytest.raises(ModelFileError, match=reason):
        checkpoint_of(tmp_path, index)


def test_checksum_is_that_of_castagnoli():
    assert crc32c(b"123456789") == 0xE3069283
    data = np.random.default_rng(0).bytes(5_000_000)
    whole = crc32c(data)
    assert crc32c(data[1_234_567:], crc32c(data[:1_234_567])) == whole
    pieces = 0
    for start in range(0, len(data[:100_000]), 1_000):
        pieces = crc32c(data[start : start + 1_000], pieces)
    assert crc32c(data[:100_000]) == pieces
