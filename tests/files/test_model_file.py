"""Models saved by Keras and read as data: graph and weights agree with the model that Keras loads."""

import inspect
import warnings

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._files import list_file, open_model_file, scan
from ramet._files.values import UNKNOWN_DTYPE
from ramet._graph import FrozenDict, FrozenList, refs
from ramet._keras import locations_below, structure, unique_ids
from tests.support import cases_models, graph_models
from tests.support.applications import each_architecture, smallest_network
from tests.support.graph_models import MODELS

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*was passed an input with a mask attached to it:UserWarning",
    # These tests are about reading files, not about what Keras loses when it writes them.
    "ignore:.*lambda.*:UserWarning",
    "ignore:You are saving your model as an HDF5 file:UserWarning",
)

CUSTOM = {
    name: cls
    for module in (graph_models, cases_models)
    for name, cls in vars(module).items()
    if inspect.isclass(cls) and issubclass(cls, keras.Layer)
}
# Keras saves this layer once, under the nested model, and cannot load the model again.
NOT_LOADABLE = {"shared_across_levels"}
# Whether the layers in between pass a mask on was set by hand, which no file contains.
MASKS_NOT_SAVED = {"supports_masking_by_hand"}


def _saved(model, tmp_path):
    path = tmp_path / "m.keras"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(path)
    return path


def _loaded(path):
    return keras.saving.load_model(path, custom_objects=CUSTOM, safe_mode=False)


def _live(model):
    """Return every saved weight of a live model by its path; a shared one by its first path."""
    found, seen = {}, set()
    for location in locations_below(model):
        if location.same_as is not None:
            continue
        owned = [variable for variable, is_weight in structure.variables_of(location.op) if is_weight]
        ids = unique_ids([variable.name.replace("/", "_") for variable in owned])
        for variable, own_id in zip(owned, ids, strict=True):
            if id(variable) not in seen:
                found[f"{location.path}/{own_id}".lstrip("/")] = variable
            seen.add(id(variable))
    return found


def _bits(array):
    return np.ascontiguousarray(array).view(np.uint8).tolist()


def _known_paths(file, live):
    """Map the paths of the file to live paths: in the file, a variable of an unknown class is called by its number."""
    owners = {}
    for path in live:
        owners.setdefault(path.rpartition("/")[0], []).append(path)
    renamed = {}
    tied = {path for path, spec in file.graph.variables() if spec.tied}
    for path in file.weights.paths():
        if path in tied:
            continue
        owner, _, name = path.rpartition("/")
        renamed[path] = owners[owner][int(name)] if name.isdigit() else path
    return renamed


def _plain(value):
    """Return frozen data as JSON would have it, with lists for tuples."""
    if isinstance(value, tuple | FrozenList):
        return [_plain(item) for item in value]
    if isinstance(value, FrozenDict):
        return {str(key): _plain(item) for key, item in value.pairs if key != "shared_object_id"}
    return value


def _assert_weights(file, model):
    live = _live(model)
    renamed = _known_paths(file, live)

    assert sorted(renamed.values()) == sorted(live)
    specs = dict(file.graph.variables())
    for path, own in renamed.items():
        variable = live[own]
        assert (specs[path].shape, specs[path].dtype) == (tuple(variable.shape), variable.dtype), path
        assert _bits(file.weights.read(path)) == _bits(keras.ops.convert_to_numpy(variable)), path


def _assert_graph(read, live, *, masks=True):
    ops = dict(live.walk())
    for path, op in read.walk():
        # Layers that a layer creates without a name get another number in each process.
        if path in ops:
            other = ops[path]
            assert (op.kind, op.name, op.same_as) == (other.kind, other.name, other.same_as), path
            assert op.class_name in (other.class_name, "?"), path
            # The bytes of a compiled lambda differ from one compilation to the next.
            comparable = op.class_name != "Lambda" and op.config is not None and other.config is not None
            if comparable and op.kind == "layer":
                assert _plain(op.config) == _plain(other.config), path
                assert (op.trainable, op.dtype_policy) == (other.trainable, other.dtype_policy), path
    named = {path for path, op in read.walk() if op.config is not None}
    assert named <= set(ops)
    pairs = [(read, live)]
    pairs += [(op.graph, ops[path].graph) for path, op in read.walk() if op.graph is not None and path in ops]
    for mine, other in pairs:
        if mine.kind != "subclassed":
            _assert_calls(mine, other, masks=masks)


def _assert_calls(read, live, *, masks):
    assert read.kind == live.kind
    assert {call.id for call in read.calls} == {call.id for call in live.calls}
    assert [op.id for op in read.ops] == [op.id for op in live.ops]
    for word in ("inputs", "outputs"):
        assert list(refs(getattr(read, word))) == list(refs(getattr(live, word)))
    for call in read.calls:
        other = live.call(call.id)
        assert list(call.refs()) == list(other.refs())
        if read.kind == "functional":
            assert (_plain(call.args), _plain(call.kwargs)) == (_plain(other.args), _plain(other.kwargs))
        if masks:
            assert call.mask_kinds == other.mask_kinds
        assert len(call.outputs) <= len(other.outputs)
        for value, real in zip(call.outputs, other.outputs, strict=False):
            assert value.shape in (None, real.shape)
            assert value.dtype in (UNKNOWN_DTYPE, real.dtype)
            assert (value.sparse, value.ragged, value.optional) == (real.sparse, real.ragged, real.optional)


@pytest.mark.parametrize("name", sorted(MODELS.keys() - NOT_LOADABLE))
def test_graph_agrees_with_the_model_that_keras_loads(tmp_path, name):
    path = _saved(MODELS[name](), tmp_path)
    model = _loaded(path)

    with open_model_file(path, isolated=False) as file:
        _assert_weights(file, model)
        _assert_graph(file.graph, ramet.capture(model), masks=name not in MASKS_NOT_SAVED)
        assert all(line.isprintable() for line in str(list_file(file)).split("\n"))


@pytest.mark.parametrize("name", MODELS)
def test_scan_of_a_saved_model_finds_only_custom_code(tmp_path, name):
    path = _saved(MODELS[name](), tmp_path)

    report = scan(path, isolated=False)

    brings_code = name in ("two_output_lambda", "mask_blind_pair")
    assert ("unsafe" in {finding.severity for finding in report.findings}) is brings_code
    named = {finding.what.split()[5] for finding in report.findings if finding.severity == "trust"}
    assert all(word.startswith("tests.support.") for word in named)


def _image(*row, shape=(8, 8, 3)):
    return keras.Sequential([keras.Input(shape), *row])


def _series(*row):
    return keras.Sequential([keras.Input((5, 3)), *row])


def _flat(*row):
    return keras.Sequential([keras.Input((4,)), *row])


def _attending(layer):
    x = keras.Input((5, 4))
    return keras.Model(x, layer(x, x))


def _attending_twice(layer):
    x = keras.Input((5, 4))
    return keras.Model(x, layer([x, x]))


LAYERS = {
    "dense": lambda: _flat(layers.Dense(3), layers.Dense(2, use_bias=False)),
    "einsum": lambda: _flat(layers.EinsumDense("ab,bc->ac", 3, bias_axes="c"), layers.EinsumDense("ab,bc->ac", 3)),
    "embedding": lambda: keras.Sequential([keras.Input((4,), dtype="int32"), layers.Embedding(5, 2)]),
    "conv": lambda: _image(layers.Conv2D(2, 3), layers.Conv2D(2, 3, strides=2, padding="same", use_bias=False)),
    "conv_1d": lambda: _series(layers.Conv1D(2, 2, dilation_rate=2), layers.Conv1DTranspose(2, 2)),
    "conv_3d": lambda: _image(layers.Conv3D(2, 2), shape=(4, 4, 4, 1)),
    "conv_transposed": lambda: _image(layers.Conv2DTranspose(2, 3)),
    "depthwise": lambda: _image(layers.DepthwiseConv2D(3), layers.SeparableConv2D(4, 3)),
    "norms": lambda: _image(
        layers.BatchNormalization(),
        layers.BatchNormalization(scale=False),
        layers.LayerNormalization(center=False),
        layers.GroupNormalization(1),
        layers.RMSNormalization(),
        layers.UnitNormalization(),
    ),
    "spectral": lambda: _image(layers.SpectralNormalization(layers.Conv2D(2, 3))),
    "prelu": lambda: _flat(layers.PReLU(), layers.LeakyReLU()),
    "recurrent": lambda: _series(
        layers.LSTM(3, return_sequences=True), layers.GRU(2, return_sequences=True), layers.SimpleRNN(2)
    ),
    "both_ways": lambda: _series(layers.Bidirectional(layers.LSTM(2))),
    "cells": lambda: _series(layers.RNN([layers.LSTMCell(3), layers.GRUCell(3), layers.LSTMCell(2)])),
    "conv_lstm": lambda: keras.Sequential([keras.Input((3, 6, 6, 1)), layers.ConvLSTM2D(2, 3)]),
    "per_step": lambda: _series(layers.TimeDistributed(layers.Dense(2))),
    "attention": lambda: _attending(layers.MultiHeadAttention(2, 3)),
    "grouped_attention": lambda: _attending(layers.GroupQueryAttention(3, 2, 1)),
    "scaled_attention": lambda: _attending_twice(layers.Attention(use_scale=True, score_mode="concat")),
    "additive_attention": lambda: _attending_twice(layers.AdditiveAttention()),
    "normalization": lambda: _flat(layers.Normalization(mean=[0.0] * 4, variance=[1.0] * 4), layers.Dense(1)),
    "dropout": lambda: _flat(layers.Dropout(0.5, seed=1), layers.GaussianNoise(0.1), layers.Dense(2)),
    "half": lambda: _flat(layers.Dense(3, dtype="mixed_bfloat16"), layers.Dense(2, dtype="bfloat16")),
    "pooled": lambda: _image(layers.Conv2D(2, 3), layers.GlobalMaxPooling2D(), layers.Reshape((1, 2))),
    "frozen": lambda: _flat(layers.Dense(3, trainable=False), layers.Dense(2)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_weights_have_the_paths_of_the_live_model(tmp_path, name):
    path = _saved(LAYERS[name](), tmp_path)
    model = _loaded(path)

    with open_model_file(path, isolated=False) as file:
        _assert_weights(file, model)
        assert set(_known_paths(file, _live(model))) == set(_live(model))
        _assert_graph(file.graph, ramet.capture(model))
    assert scan(path, isolated=False).findings == ()


def test_optimizer_weights_are_separate(tmp_path):
    model = _flat(layers.Dense(3), layers.Dense(1))
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((4, 4)), np.ones((4, 1)), verbose=0)

    with open_model_file(_saved(model, tmp_path)) as file:
        _assert_weights(file, model)
        assert len(file.optimizer_weights) == len(model.optimizer.variables)
        assert file.compile_config["loss"] == "mse"
        assert any("compiled with Adam, loss mse" in line for line in str(list_file(file)).split("\n"))


def test_weights_file_is_read(tmp_path):
    model = _flat(layers.Dense(3, name="a"), layers.Dense(2, name="b"))
    model.save_weights(tmp_path / "m.weights.h5")

    with open_model_file(tmp_path / "m.weights.h5", isolated=False) as file:
        live = _live(model)
        assert {path: _bits(file.weights.read(path)) for path in file.weights.paths()} == {
            path: _bits(keras.ops.convert_to_numpy(variable)) for path, variable in live.items()
        }


def test_h5_model_is_read(tmp_path):
    inner = _flat(layers.Dense(3, name="d"))
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="d")(inner(x)), name="m")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(tmp_path / "m.h5")

    with open_model_file(tmp_path / "m.h5", isolated=False) as file:
        assert file.kind == "legacy model"
        _assert_weights(file, model)
    assert scan(tmp_path / "m.h5", isolated=False).findings == ()


def test_folder_is_read(tmp_path):
    model = _flat(layers.Dense(3, name="a"))
    keras.saving.save_model(model, tmp_path / "folder", zipped=False)

    with open_model_file(tmp_path / "folder", isolated=False) as file:
        _assert_weights(file, model)


def test_layers_of_a_subclassed_model_come_from_its_weights(tmp_path):
    model = MODELS["composite"]()
    path = _saved(model, tmp_path)

    with open_model_file(path, isolated=False) as file:
        assert file.graph.find("block/first").class_name == "?"
        assert file.graph.find("attention/query").class_name == "EinsumDense"


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="text layers run on TensorFlow only; the run on TensorFlow covers them",
)
def test_vocabularies_are_assets(tmp_path):
    lookup = layers.StringLookup(name="lookup")
    lookup.adapt(["a", "b", "/etc/passwd"])
    model = keras.Sequential([keras.Input((1,), dtype="string"), lookup, layers.Embedding(5, 2)])
    path = _saved(model, tmp_path)

    with open_model_file(path) as file:
        assert [asset.name for asset in file.assets] == ["assets/layers/string_lookup/vocabulary.txt"]
    assert scan(path).findings == ()


@pytest.mark.zoo
@each_architecture
def test_every_architecture_is_read_and_safe(tmp_path, name):
    path = _saved(smallest_network(name), tmp_path)
    model = _loaded(path)

    with open_model_file(path, isolated=False) as file:
        _assert_weights(file, model)
        _assert_graph(file.graph, ramet.capture(model))
    assert scan(path, isolated=False).findings == ()
