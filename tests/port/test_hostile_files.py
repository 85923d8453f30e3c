"""Hostile and broken files: each is ported to a file that is safe to load, or refused with one of ramet's errors."""

import functools
import itertools
import json
import shutil
import time

import numpy as np
import pytest

import ramet
from ramet._files import scan
from ramet.errors import ModelFileError, OutOfBudgetError, PortError, RametError, UnsafeFileError
from tests.files import attack, hostile
from tests.files.build import archive, called, dense, functional, given, layer, legacy, one_layer, tensor, weights
from tests.files.places import places
from tests.port import rescued_files as old
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend

VERSIONS = (None, "3.3", "tf_keras")


def check(path, folder, **options):
    """Port a file to several versions, and check that nothing unsafe is written; return the errors and reports."""
    found = []
    for to in VERSIONS:
        target = folder / ("out.h5" if to == "tf_keras" else "out.keras")
        try:
            report = ramet.port(path, target, to=to, force=True, isolated=False, **options)
            found.append(report)
        except RametError as error:
            found.append(error)
            assert not target.exists()
            continue
        for text in (str(report), report.to_markdown()):
            assert all(line.isprintable() for line in text.split("\n")), ascii(text)
        verdict = scan(target, isolated=False).verdict
        assert verdict == "safe" or (report.is_current and verdict == "needs trust"), (to, verdict)
        target.unlink()
    assert not (folder / hostile.MARKER).exists()
    return found


# The collections of hostile files that the scan is tested with.


@pytest.mark.parametrize("name", hostile.CONFIGS)
def test_hostile_config_is_refused(tmp_path, name):
    path = archive(tmp_path / "m.keras", hostile.CONFIGS[name](tmp_path))

    # Code in the settings of training is left out, and tf_keras gets no `build_config`.
    for answer in check(path, tmp_path)[:2]:
        assert isinstance(answer, RametError) or any("compiled" in note.text for note in answer.notes), name


@pytest.mark.parametrize("name", hostile.TRUSTED)
def test_config_that_needs_trust_is_refused_or_current(tmp_path, name):
    path = archive(tmp_path / "m.keras", hostile.TRUSTED[name](tmp_path))

    newest, *older = check(path, tmp_path)

    assert isinstance(newest, RametError) or newest.is_current
    assert all(isinstance(answer, RametError) for answer in older)


@pytest.mark.parametrize("name", hostile.ARCHIVES)
def test_hostile_archive_is_refused(tmp_path, name):
    answers = check(hostile.ARCHIVES[name](tmp_path / "m.keras"), tmp_path)

    assert all(isinstance(answer, RametError) for answer in answers)


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_is_refused(tmp_path, name):
    (tmp_path / "m.json").write_text(hostile.TEXTS[name])
    path = archive(tmp_path / "m.keras", hostile.TEXTS[name])

    answers = [*check(path, tmp_path), *check(tmp_path / "m.json", tmp_path, weights=old.old_file(tmp_path / "w.h5"))]

    assert all(isinstance(answer, ModelFileError) for answer in answers)


@pytest.mark.parametrize("name", hostile.WEIGHTS)
def test_hostile_weights_are_refused(tmp_path, name):
    edit, _ = hostile.WEIGHTS[name]
    path = archive(tmp_path / "m.keras", arrays=weights({"layers/dense/vars/0": np.ones((4, 2))}, edit=edit))

    assert all(isinstance(answer, RametError) for answer in check(path, tmp_path))


def test_lambda_of_keras_2_is_refused(tmp_path):
    answers = check(hostile.legacy_lambda(tmp_path / "m.h5"), tmp_path)

    assert all(isinstance(answer, RametError) for answer in answers)


@functools.cache
def _positions(container):
    # Not the whole config, which an `.h5` file has in two parts.
    return [place for place in places(attack.CONTAINERS[container][0]()) if place]


@pytest.mark.parametrize("container", [".keras", ".h5"])
@pytest.mark.parametrize("name", attack.PAYLOADS)
def test_payload_anywhere_in_a_config_does_not_reach_the_result(tmp_path, name, container):
    config, _, write = attack.CONTAINERS[container]
    positions = _positions(container)

    # A dozen positions, others for each payload.
    start = sorted(attack.PAYLOADS).index(name)
    for place in positions[start :: max(len(positions) // 12, 1)]:
        path = write(tmp_path / f"m{container}", attack.put(config(), place, attack.PAYLOADS[name](tmp_path)))
        check(path, tmp_path)


# Settings that Keras would open or run.


@pytest.mark.parametrize(
    "record",
    [
        old.old_layer("StringLookup", "a", vocabulary="/etc/passwd"),
        old.old_layer("TextVectorization", "a", vocabulary="words.txt"),
        old.old_layer("TFSMLayer", "a", filepath="/tmp/saved_model"),
        old.old_layer("Activation", "a", activation="os.system"),
        old.old_layer("Activation", "a", activation={"class_name": "function", "config": "eval", "module": "builtins"}),
        old.old_layer("Activation", "a", activation={"class_name": "TFSMLayer", "config": {"filepath": "/tmp/x"}}),
        old.old_layer("Activation", "a", activation={"class_name": "Lambda", "config": {"function": "x"}}),
        old.dense("a", kernel_initializer={"class_name": "os.system", "config": {}, "module": "os"}),
        old.dense("a", kernel_initializer={"class_name": "Zeros", "config": {}, "registered_name": "evil>Zeros"}),
        old.dense("a", kernel_regularizer={"class_name": "__lambda__", "config": {"value": "AAAA"}}),
        old.dense("a", kernel_constraint="evil"),
        old.dense("a", kernel_initializer="evil>made"),
        old.dense("a", dtype={"class_name": "Evil", "config": {"name": "float32"}, "module": "evil"}),
        old.dense("a", dtype="../../x"),
        {**old.dense("a"), "registered_name": "evil>Dense"},
        {**old.dense("a"), "module": "os"},
        old.old_layer("Wrapper", "a", layer=old.old_layer("TFSMLayer", "b", filepath="/x")),
        old.old_layer("TorchModuleWrapper", "a", module="AAAA"),
        old.old_layer("JaxLayer", "a", call_fn="os.system"),
        old.old_layer("FlaxLayer", "a", module={"class_name": "Evil", "config": {}}),
        old.old_layer("Lambda", "a", function="get_file", function_type="function", arguments={"origin": "http://a/b"}),
        old.old_layer("Lambda", "a", function="eval", function_type="function"),
        old.old_layer("TFOpLambda", "a", function="io.read_file"),
        old.old_layer(
            "RNN", "a", cell=old.old_layer("Lambda", "b", function=["x", None, None], function_type="lambda")
        ),
    ],
    ids=lambda record: record["class_name"],
)
def test_layer_that_would_reach_out_is_refused(tmp_path, record):
    answers = check(legacy(tmp_path / "m.h5", old.old_model(old.dense(), record), old.WEIGHTS), tmp_path)

    assert all(isinstance(answer, RametError) for answer in answers[:2])


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a\\..\\b", ".", "..", "a/b", "C:evil", "x" * 9_000])
def test_names_of_layers_do_not_leave_the_folder(tmp_path, name):
    folder = tmp_path / "in" / "out"
    folder.mkdir(parents=True)
    arrays = {name: {f"{name}/kernel:0": old.KERNEL, f"{name}/bias:0": old.BIAS}} if name.isalpha() else {}
    path = legacy(tmp_path / "m.h5", old.old_model(old.dense(name)), arrays)

    check(path, folder)
    check(archive(tmp_path / "m.keras", one_layer(dense(name))), folder)

    assert {one.name for one in tmp_path.rglob("*")} == {"in", "out", "m.h5", "m.keras"}


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "top_level_model_weights"])
def test_names_that_hdf5_cannot_have_are_refused(tmp_path, name):
    inner = functional("inner", [given("i"), dense(name, called(tensor("i")))], [["i", 0, 0]], [[name, 0, 0]])
    nested = {**inner, "name": "inner", "inbound_nodes": [called(tensor("x"))]}

    for config in (one_layer(dense(name)), one_layer(nested)):
        with pytest.raises(PortError, match="cannot be that of a group of weights"):
            ramet.port(archive(tmp_path / "m.keras", config), tmp_path / "out.h5", to="tf_keras", isolated=False)


# Graphs that no model has.


def _graph(*layers, **options):
    return old.old_graph(*((record, nodes) for record, nodes in layers), **options)


BROKEN = {
    "cycle": _graph((old.dense("a"), [[["b", 0, 0, {}]]]), (old.dense("b"), [[["a", 0, 0, {}]]])),
    "cycle of one": _graph((old.dense("a"), [[["a", 0, 0, {}]]])),
    "missing layer": _graph((old.dense("a"), [[["ghost", 0, 0, {}]]])),
    "missing call": _graph((old.dense("a"), [[["x", 7, 0, {}]]])),
    "missing call of an output": _graph((old.dense("a"), [[["x", 0, 0, {}]]]), outputs=[["a", 3, 0]]),
    "huge call": _graph((old.dense("a"), [[["x", 2**62, 0, {}]]])),
    "negative call": _graph((old.dense("a"), [[["x", -1, 0, {}]]])),
    "negative output": _graph((old.dense("a"), [[["x", 0, -1, {}]]])),
    "layer twice": _graph((old.dense("a"), [[["x", 0, 0, {}]]]), (old.dense("a"), [[["x", 0, 0, {}]]])),
    "text as call": _graph((old.dense("a"), ["x"])),
    "number as calls": _graph((old.dense("a"), 5)),
    "text as output": _graph((old.dense("a"), [[["x", 0, 0, {}]]]), outputs=["a"]),
    "text as settings": {"class_name": "Functional", "config": "text"},
    "layers as text": {"class_name": "Sequential", "config": {"name": "m", "layers": "text"}},
    "layer as text": old.old_model("text"),
    "settings as list": old.old_model({"class_name": "Dense", "config": [1]}),
    "layer twice in a row": old.old_model(old.dense(), old.dense()),
    "no inputs": {"class_name": "Functional", "config": {"name": "m", "layers": [old.dense()], "output_layers": [["d", 0, 0]]}},
    "name is a number": old.old_model(old.dense(3)),
    "nested Bidirectional": old.old_model(
        old.old_layer("Bidirectional", "a", layer=old.old_layer("Bidirectional", "b", layer=old.old_layer("LSTM", "c", units=2)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_impossible_model_is_refused(tmp_path, name):
    answers = check(legacy(tmp_path / "m.h5", BROKEN[name], old.WEIGHTS), tmp_path)

    # A file for tf_keras is only copied.
    assert all(isinstance(answer, RametError) for answer in answers[:2])


WRONG = (
    None,
    True,
    -1,
    2**70,
    10**300,
    float("nan"),
    float("inf"),
    "text",
    "\x1b[31m",
    [],
    [[]],
    {},
    {"a": 1},
    ["x", 0, 0],
)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: ascii(value)[:12])
def test_wrong_types_anywhere_are_refused_or_ported(tmp_path, value):
    config = old.old_graph(
        (old.old_layer("Conv1D", "c", filters=2, kernel_size=[1], strides=[1], padding="same"), [[["x", 0, 0, {}]]]),
        (old.old_layer("TFOpLambda", "t", function="math.add"), [["c", 0, 0, {"y": ["x", 0, 0]}]]),
        (old.old_layer("GRU", "g", units=2, activation="tanh", dtype={"class_name": "Policy", "config": {"name": "x"}}), [[["t", 0, 0, {}]]]),
        (old.old_layer("BatchNormalization", "b", axis=[1]), [[["g", 0, 0, {}]]]),
    )  # fmt: skip
    for place in places(config):
        path = legacy(tmp_path / "m.h5", attack.put(config, place, value))
        try:
            ramet.port(path, isolated=False)
        except RametError:
            continue


# Small files that would take much time or memory.


def _nested(levels, calls, name="m"):
    """Return a model inside a model and so on, each of which calls the next one several times."""
    model = functional("inner", [given("i"), dense("d", called(tensor("i")))], [["i", 0, 0]], [["d", 0, 0]])
    for level in range(levels):
        inner = f"{name}{level}"
        nodes = [called(tensor("i"))] + [called(tensor(inner, number)) for number in range(calls - 1)]
        nested = {**model, "name": inner, "inbound_nodes": nodes}
        nested["config"] = {**model["config"], "name": inner}
        model = functional("outer", [given("i"), nested], [["i", 0, 0]], [[inner, calls, 0]])
    return model


def _old_nested(levels, calls):
    node = [["i", 0, 0, {}]]
    given_ = {
        "class_name": "InputLayer",
        "config": {"batch_input_shape": [None, 4], "name": "i"},
        "name": "i",
        "inbound_nodes": [],
    }
    inner = {**old.dense("d", units=4), "name": "d", "inbound_nodes": [node]}
    config = {"name": "m", "layers": [given_, inner], "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}
    for level in range(levels):
        name = f"m{level}"
        nodes = [node] + [[[name, number, 0, {}]] for number in range(1, calls)]
        nested = {"class_name": "Functional", "config": {**config, "name": name}, "name": name, "inbound_nodes": nodes}
        config = {
            "name": "m",
            "layers": [given_, nested],
            "input_layers": [["i", 0, 0]],
            "output_layers": [[name, calls, 0]],
        }
    return {"class_name": "Functional", "config": config}


def _deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def _bidirectional(levels):
    record = old.old_layer("LSTM", "l", units=2)
    for level in range(levels):
        record = old.old_layer("Bidirectional", f"b{level}", layer=record)
    return old.old_model(record)


def _outer(function, **arguments):
    """Return a model that calls a function of TensorFlow with a column and a row of 20,000 numbers each."""
    operations = [
        ("SlicingOpLambda", "size", "__operators__.getitem", ["shape", 0, 0, {"slice_spec": 1}]),
        ("TFOpLambda", "range", "range", ["size", 0, 0, {"limit": 20_004}]),
        ("TFOpLambda", "column", "reshape", ["range", 0, 0, {"shape": [20_000, 1]}]),
        ("TFOpLambda", "row", "reshape", ["range", 0, 0, {"shape": [1, 20_000]}]),
        ("TFOpLambda", "outer", function, ["column", 0, 0, arguments]),
        ("TFOpLambda", "end", "math.add", ["x", 0, 0, {"y": ["outer", 0, 0]}]),
    ]
    layers = [(old.old_layer("TFOpLambda", "shape", function="shape"), [["x", 0, 0, {}]])]
    layers += [(old.old_layer(kind, name, function=each), [node]) for kind, name, each, node in operations]
    return old.old_graph(*layers)


def _ranges(count):
    """Return a model with many constants of a million numbers."""
    shape = (old.old_layer("TFOpLambda", "shape", function="shape"), [["x", 0, 0, {}]])
    size = (
        old.old_layer("SlicingOpLambda", "size", function="__operators__.getitem"),
        [["shape", 0, 0, {"slice_spec": 1}]],
    )
    many = [
        (old.old_layer("TFOpLambda", f"r{n}", function="range"), [["size", 0, 0, {"limit": 10**6}]])
        for n in range(count)
    ]
    return old.old_graph(shape, size, *many)  # fmt: skip


EXPENSIVE = {
    "models that call models": lambda: _old_nested(20, 8),
    "models in models": lambda: _old_nested(150, 1),
    "deep argument": lambda: old.old_graph((old.old_layer("TFOpLambda", "t", function="reshape"), [["x", 0, 0, {"shape": _deep(800)}]])),
    "deep setting": lambda: old.old_model(old.dense(units=_deep(800))),
    "Bidirectional of Bidirectional": lambda: _bidirectional(60),
    "wrappers of wrappers": lambda: old.old_model(functools.reduce(lambda inner, _: old.old_layer("TimeDistributed", "t", layer=inner), range(300), old.dense())),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPENSIVE)
def test_model_that_would_take_forever_is_refused(tmp_path, name):
    (tmp_path / "m.json").write_text(json.dumps(EXPENSIVE[name]()))
    start = time.process_time()

    answers = check(tmp_path / "m.json", tmp_path, weights=old.old_file(tmp_path / "w.h5"))

    assert all(isinstance(answer, OutOfBudgetError | ModelFileError) for answer in answers[:2]), answers
    assert time.process_time() - start < 5


ROW = ["row", 0, 0]
LARGE = {
    "many": lambda: _ranges(100),
    "maximum": lambda: _outer("math.maximum", y=ROW),
    "greater": lambda: _outer("math.greater", y=ROW),
    "pow": lambda: _outer("math.pow", y=ROW),
    "where": lambda: _outer("where", x=ROW, y=1),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_constants_are_refused(tmp_path, name):
    path = legacy(tmp_path / "m.h5", LARGE[name](), {})
    start = time.process_time()

    report = ramet.port(path, isolated=False)

    assert "constant" in report.refusals[0].reason
    assert time.process_time() - start < 10


@pytest.mark.parametrize(("levels", "calls"), [(20, 8), (200, 1)])
def test_nested_models_of_keras_3_that_would_take_forever_are_refused(tmp_path, levels, calls):
    start = time.process_time()

    for to in ("3.3", "tf_keras"):
        try:
            ramet.port(archive(tmp_path / "m.keras", _nested(levels, calls)), to=to, isolated=False)
        except RametError:
            continue

    assert time.process_time() - start < 10


def test_thousands_of_layers_take_seconds(tmp_path):
    count = 3_000
    chain = [
        (old.old_layer("Activation", f"a{n}", activation="relu"), [[[f"a{n - 1}" if n else "x", 0, 0, {}]]])
        for n in range(count)
    ]
    unknown = [(old.old_layer("TFOpLambda", f"t{n}", function="no.such"), [[f"a{n}", 0, 0, {}]]) for n in range(count)]
    names = itertools.islice(itertools.product("/_", repeat=12), count)
    slashes = [old.old_layer("Activation", "a".join(name), activation="relu") for name in names]
    start = time.process_time()

    for model in (old.old_graph(*chain), old.old_graph(*chain, *unknown), old.old_model(*slashes)):
        (tmp_path / "m.json").write_text(json.dumps(model))
        try:
            ramet.port(
                tmp_path / "m.json", weights=legacy(tmp_path / "w.h5", model if count < 10 else {}, {}), isolated=False
            )
        except RametError:
            continue

    assert time.process_time() - start < 20


def test_long_names_of_nested_models_are_refused(tmp_path):
    model = _old_nested(20, 1)
    text = json.dumps(model)
    for level in range(20):
        text = text.replace(f'"m{level}"', f'"m{level}{"x" * 9_000}"')
    inner = [{**old.dense(f"d{n}"), "name": f"d{n}", "inbound_nodes": [[["i", 0, 0, {}]]]} for n in range(400)]
    text = text.replace('{"class_name": "Dense"', json.dumps(inner)[1:-1] + ', {"class_name": "Dense"', 1)
    (tmp_path / "m.json").write_text(text)

    with pytest.raises(OutOfBudgetError, match="characters"):
        ramet.port(tmp_path / "m.json", weights=old.old_file(tmp_path / "w.h5"), isolated=False)


# Containers.


def test_folder_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "saved_model.pb").write_bytes(b"\xff" * 100)

    with pytest.raises(ModelFileError):
        ramet.port(tmp_path / "m")
    shutil.rmtree(tmp_path / "m")
    with pytest.raises(ModelFileError):
        ramet.port(tmp_path / "m")


@posix
def test_json_that_is_no_file_is_refused(tmp_path):
    import os

    os.mkfifo(tmp_path / "m.json")

    with pytest.raises(ModelFileError, match="neither a file nor a folder"):
        ramet.port(tmp_path / "m.json", weights=old.old_file(tmp_path / "w.h5"))


def test_unsafe_weights_of_a_json_are_refused(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(old.old_model(old.dense())))
    edit, _ = hostile.WEIGHTS["external_link"]
    (tmp_path / "w.weights.h5").write_bytes(weights({}, edit=edit))

    with pytest.raises(UnsafeFileError):
        ramet.port(tmp_path / "m.json", weights=tmp_path / "w.weights.h5")


def test_hostile_layer_in_keras_3_archive_with_custom_names_is_refused(tmp_path):
    record = layer("StringLookup", "v", called(tensor("x")), vocabulary="/etc/passwd")

    with pytest.raises(UnsafeFileError):
        ramet.port(archive(tmp_path / "m.keras", one_layer(record)), custom=["StringLookup"])
