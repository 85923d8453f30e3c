"""The diff of files: every single change of anything in a file must be found."""

import functools
import io
import json
import re
import shutil
import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._files import open_model_file
from ramet._files.comparison import diff_files
from ramet.errors import RametError
from tests.diff.test_mutations import flipped
from tests.files.build import archive, dense, one_layer
from tests.support.versions import KERAS

pytestmark = pytest.mark.no_backend

# Changes that every diff lists as not compared.
NOISE = {"date_saved"}


class Subclassed(keras.Model):
    """A model without a call graph."""

    def __init__(self, width=4, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.blocks = [layers.Dense(width, name="block_0"), layers.Dense(2, name="block_1")]

    def call(self, x):
        return self.blocks[1](self.blocks[0](x))

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def _fitted(model, shape, targets, **options):
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"], **options)
    model.fit(np.ones(shape, "float32"), np.ones(targets, "float32"), epochs=1, verbose=0)
    return model


def functional():
    """Nested, shared, with random layers, compiled and trained."""
    x = keras.Input((4,), name="x")
    inner_x = keras.Input((4,), name="inner_x")
    inner = keras.Model(inner_x, layers.Dense(4, activation="relu", name="deep")(inner_x), name="inner")
    shared = layers.Dense(4, kernel_regularizer=keras.regularizers.L2(0.01), name="shared")
    h = layers.Add(name="sum")([shared(inner(x)), shared(x)])
    h = layers.BatchNormalization(name="norm")(layers.Dropout(0.5, seed=1, name="drop")(h))
    return _fitted(keras.Model(x, layers.Dense(2, name="head")(h), name="functional"), (4, 4), (4, 2))


def sequential():
    """A Sequential model with a stateful RNN and a wrapper, not compiled."""
    return keras.Sequential(
        [
            keras.Input((3, 4), batch_size=2),
            layers.GRU(4, stateful=True, return_sequences=True, name="gru"),
            layers.Bidirectional(layers.LSTM(2), name="both"),
        ],
        name="row",
    )


def subclassed():
    """A model without a call graph, compiled and trained."""
    model = Subclassed(name="subclassed")
    model(np.ones((1, 4), "float32"))
    return _fitted(model, (4, 4), (4, 2))


def words():
    """A lookup table, which is saved as an asset."""
    x = keras.Input((3,), dtype="int64", name="ids")
    found = layers.IntegerLookup(vocabulary=[3, 5, 7], name="lookup")(x)
    return keras.Model(x, layers.Embedding(5, 2, mask_zero=True, name="emb")(found), name="words")


def tuned():
    """Mixed precision, a schedule, and an optimizer inside another."""
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, dtype="mixed_float16", name="half")(x), name="tuned")
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(schedule, momentum=0.9))
    model.compile(optimizer, "mse", run_eagerly=True)
    model.fit(np.ones((4, 4), "float32"), np.ones((4, 2), "float32"), verbose=0)
    return model


def quantized():
    """Integers and their scales."""
    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, name="d")], name="small")
    model.quantize("int8")
    return model


def half():
    """Weights in bfloat16."""
    return keras.Sequential([keras.Input((4,)), layers.Dense(2, dtype="bfloat16", name="d")], name="half")


FILES = (functional, sequential, subclassed, words, tuned, quantized, half)
every_file = pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)


@functools.cache
def _saved(make, folder):
    path = folder / f"{make.__name__}.keras"
    keras.utils.clear_session(free_memory=False)
    make().save(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@functools.lru_cache(maxsize=1)
def opened(path):
    return open_model_file(path, isolated=False)


def is_detected(before, after):
    """Return whether two files are distinguished: by a diff, or because the second can no longer be read."""
    try:
        with open_model_file(after, isolated=False) as theirs:
            return not diff_files(opened(before), theirs).empty
    except RametError:
        return True


def leaves(value):
    """Yield the position of every plain value in a config."""
    waiting = [((), value)]
    while waiting:
        position, item = waiting.pop()
        if isinstance(item, dict) and item:
            waiting += [((*position, key), part) for key, part in item.items()]
        elif isinstance(item, list) and item:
            waiting += [((*position, number), part) for number, part in enumerate(item)]
        else:
            yield position


KNOWN = set()


def kinds_of_leaves(config):
    """Yield one position of each kind that has not been changed in another file before."""
    for position in leaves(config):
        owner = next((at(config, position[:n]).get("class_name") for n in range(len(position) - 1, 0, -1)
                      if isinstance(at(config, position[:n]), dict) and "class_name" in at(config, position[:n])), None)  # fmt: skip
        kind = (str(owner), *(step for step in position[-4:] if isinstance(step, str)))
        if kind not in KNOWN:
            KNOWN.add(kind)
            yield position


def at(config, position):
    for step in position:
        config = config[step]
    return config


def others(value):
    """Return other values, some of which compare equal to this one."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int):
        return [value + 1, float(value)]
    if isinstance(value, float):
        return [float(np.nextafter(value, np.inf)), -0.0 if value == 0 else -value, str(value)]
    if isinstance(value, str):
        return [f"{value}x"]
    return [0] if value is None else [[1] if isinstance(value, dict) else {"a": 1}]


def test_file_that_is_loaded_and_saved_again_has_no_changes(tmp_path):
    # Keras records which settings are one object, and creates one for each layer when it loads the file.
    x = keras.Input((4,), name="x")
    settings = {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=3),
        "kernel_regularizer": keras.regularizers.L2(0.1),
        "kernel_constraint": keras.constraints.MaxNorm(1.0),
        "dtype": keras.DTypePolicy("mixed_bfloat16"),
    }
    y = layers.Dense(2, **settings, name="last")(layers.Dense(4, **settings, name="first")(x))
    _fitted(keras.Model(x, y, name="alike"), (4, 4), (4, 2)).save(tmp_path / "before.keras")
    keras.saving.load_model(tmp_path / "before.keras").save(tmp_path / "after.keras")

    diff = ramet.diff(tmp_path / "before.keras", tmp_path / "after.keras")

    assert not diff.changes, str(diff)
    assert "shared_object_id" in json.dumps(json.loads(members_of(tmp_path / "before.keras")["config.json"]))
    assert any("share an initializer" in text for text in diff.not_compared)


@every_file
def test_change_of_every_config_value_is_detected(make, folder, tmp_path):
    # Without weights, which stay the same.
    members = {name: data for name, data in members_of(_saved(make, folder)).items() if name != "model.weights.h5"}
    path = write(tmp_path / "before.keras", members)
    config = json.loads(members["config.json"])
    for position in kinds_of_leaves(config):
        holder = at(config, position[:-1])
        value = holder[position[-1]]
        for other in others(value):
            holder[position[-1]] = other
            after = write(tmp_path / "after.keras", {**members, "config.json": json.dumps(config)})
            lone = position[-1] == "shared_object_id"
            assert lone or is_detected(path, after), (position, value, other)
        holder[position[-1]] = value
    assert not is_detected(path, write(tmp_path / "after.keras", members))


@every_file
def test_every_added_config_key_is_detected(make, folder, tmp_path):
    members = {name: data for name, data in members_of(_saved(make, folder)).items() if name != "model.weights.h5"}
    path = write(tmp_path / "before.keras", members)
    config = json.loads(members["config.json"])
    holders = {
        tuple(step for step in position[-4:-1] if isinstance(step, str)): position[:-1] for position in leaves(config)
    }
    for position in holders.values():
        holder = at(config, position)
        if isinstance(holder, dict):
            holder["unknown"] = 1
            after = write(tmp_path / "after.keras", {**members, "config.json": json.dumps(config)})
            assert is_detected(path, after), position
            del holder["unknown"]
        else:
            holder.append(None)
            after = write(tmp_path / "after.keras", {**members, "config.json": json.dumps(config)})
            assert is_detected(path, after), position
            holder.pop()


@every_file
def test_change_of_every_member_and_of_metadata_is_detected(make, folder, tmp_path):
    path = _saved(make, folder)
    members = members_of(path)
    metadata = json.loads(members["metadata.json"])
    for key in metadata:
        other = json.dumps({**metadata, key: "2.0"})
        assert is_detected(path, write(tmp_path / "a.keras", {**members, "metadata.json": other})) == (key not in NOISE)
    extra = json.dumps({**metadata, "author": "me"})
    assert is_detected(path, write(tmp_path / "a.keras", {**members, "metadata.json": extra}))
    assert is_detected(path, write(tmp_path / "a.keras", {**members, "notes.txt": b"hello"}))
    assert is_detected(path, write(tmp_path / "a.keras", {**members, "assets/layers/x/y.bin": b""}))
    for name in members:
        rest = {other: data for other, data in members.items() if other != name}
        assert is_detected(path, write(tmp_path / "a.keras", rest)), name
        if name.startswith("assets/") and not name.endswith("/"):
            assert is_detected(path, write(tmp_path / "a.keras", {**members, name: members[name] + b"\n"}))
            assert is_detected(path, write(tmp_path / "a.keras", {**members, name: b"9" + members[name][1:]}))


def h5_mutations(data):
    """Yield every single change of an HDF5 file: its description, and the bytes of the changed file.

    Of groups and arrays whose paths differ only in numbers, one is changed.
    """
    found = {}
    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(
            lambda name, item: found.setdefault(
                re.sub(r"\d+", "#", name), (name, isinstance(item, h5py.Dataset), list(item.attrs))
            )
        )
    names = list(found.values())

    def changed(what, change):
        buffer = io.BytesIO(data)
        with h5py.File(buffer, "r+") as file:
            change(file)
        return what, buffer.getvalue()

    def flip(file, name):
        dataset = file[name]
        raw = np.frombuffer(np.ascontiguousarray(dataset[()]).tobytes(), "u1").copy()
        raw[-1] ^= 1
        dataset[()] = np.frombuffer(raw.tobytes(), dataset.dtype).reshape(dataset.shape)

    def retype(file, name):
        array = file[name][()]
        del file[name]
        file[name] = array.astype("float64" if array.dtype != np.float64 else "float32")

    def reshape(file, name):
        array = file[name][()]
        del file[name]
        file[name] = array.reshape(*array.shape, 1)

    for name, is_array, attributes in [*names, ("", False, [])]:
        if is_array and data:
            with h5py.File(io.BytesIO(data), "r") as file:
                if file[name].size:
                    yield changed(f"bit of {name}", lambda file, name=name: flip(file, name))
                numeric = file[name].dtype.kind in "iuf"
            if numeric:
                yield changed(f"dtype of {name}", lambda file, name=name: retype(file, name))
            yield changed(f"shape of {name}", lambda file, name=name: reshape(file, name))
            yield changed(f"{name} removed", lambda file, name=name: file.__delitem__(name))
        for key in attributes:
            if key not in ("model_config", "training_config"):
                yield changed(
                    f"attribute {key} of {name}",
                    lambda file, name=name, key=key: file[name or "/"].attrs.__setitem__(key, "other"),
                )
                yield changed(
                    f"attribute {key} of {name} removed",
                    lambda file, name=name, key=key: file[name or "/"].attrs.__delitem__(key),
                )
        yield changed(f"new attribute of {name}", lambda file, name=name: file[name or "/"].attrs.__setitem__("a", 1.5))
        if not is_array:
            yield changed(f"new array in {name}", lambda file, name=name: file.__setitem__(f"{name}/new", np.ones(2)))
            yield changed(f"new group in {name}", lambda file, name=name: file.create_group(f"{name}/newer"))


@every_file
def test_every_change_of_the_weights_of_a_model_is_detected(make, folder, tmp_path):
    path = _saved(make, folder)
    members = members_of(path)
    for what, data in h5_mutations(members["model.weights.h5"]):
        after = write(tmp_path / "after.keras", {**members, "model.weights.h5": data})
        assert is_detected(path, after), what


@pytest.mark.parametrize("make", [functional, subclassed], ids=lambda make: make.__name__)
def test_every_change_of_a_weights_file_is_detected(make, tmp_path):
    make().save_weights(tmp_path / "a.weights.h5")
    for what, data in h5_mutations((tmp_path / "a.weights.h5").read_bytes()):
        (tmp_path / "b.weights.h5").write_bytes(data)
        assert is_detected(tmp_path / "a.weights.h5", tmp_path / "b.weights.h5"), what


@pytest.mark.filterwarnings("ignore:.*HDF5 file.*:UserWarning")
def test_every_change_of_a_keras_2_file_is_detected(tmp_path):
    functional().save(tmp_path / "a.h5")
    data = (tmp_path / "a.h5").read_bytes()
    for what, other in h5_mutations(data):
        (tmp_path / "b.h5").write_bytes(other)
        assert is_detected(tmp_path / "a.h5", tmp_path / "b.h5"), what
    with h5py.File(io.BytesIO(data), "r") as file:
        texts = {key: file.attrs[key] for key in ("model_config", "training_config")}
    for key, text in texts.items():
        config = json.loads(text)
        for position in kinds_of_leaves(config):
            holder = at(config, position[:-1])
            value = holder[position[-1]]
            holder[position[-1]] = others(value)[0]
            buffer = io.BytesIO(data)
            with h5py.File(buffer, "r+") as file:
                file.attrs[key] = json.dumps(config)
            (tmp_path / "b.h5").write_bytes(buffer.getvalue())
            assert position[-1] == "shared_object_id" or is_detected(tmp_path / "a.h5", tmp_path / "b.h5"), (
                key,
                position,
            )
            holder[position[-1]] = value


def test_change_of_every_file_in_a_folder_is_detected(folder, tmp_path):
    path = _saved(words, folder)
    for name in ("a", "b"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / name)
    assert not is_detected(tmp_path / "a", tmp_path / "b")
    for file in sorted((tmp_path / "b").rglob("*")):
        if file.is_file() and file.name != "metadata.json":
            content = file.read_bytes()
            file.write_bytes(content.replace(b"3", b"4") if file.suffix != ".h5" else content[:-8] + bytes(8))
            if file.suffix == ".h5":
                shutil.copyfile(tmp_path / "a" / file.relative_to(tmp_path / "b"), file)
                with h5py.File(file, "r+") as weights:
                    weights["layers/embedding/vars/0"][0] = 5
            assert is_detected(tmp_path / "a", tmp_path / "b"), file
            file.write_bytes(content)
    (tmp_path / "b" / "new.txt").write_text("")
    assert is_detected(tmp_path / "a", tmp_path / "b")


@pytest.mark.skipif(KERAS < (3, 13), reason="Keras before 3.13 cannot save shards")
def test_change_of_every_shard_is_detected(tmp_path):
    model = functional()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        model.save_weights(tmp_path / name / "m.weights.json", max_shard_size=0.0000004)
    before, after = (tmp_path / name / "m.weights.json" for name in ("a", "b"))
    assert not is_detected(before, after)
    shards = sorted((tmp_path / "b").glob("*.h5"))
    assert len(shards) > 1
    for shard in shards:
        content = shard.read_bytes()
        for what, data in h5_mutations(content):
            if what.startswith("bit"):
                shard.write_bytes(data)
                assert is_detected(before, after), (shard, what)
        shard.write_bytes(content)


@pytest.mark.parametrize(
    ("old", "new"),
    [(0.0, -0.0), (float("nan"), 1.0), (float("inf"), float("-inf")), (1.0, float(np.nextafter(np.float32(1), 2)))],
)
def test_similar_values_are_distinguished_and_nan_equals_itself(old, new, tmp_path):
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1, name="d")], name="m")
    paths = []
    for name, number in (("a", old), ("b", old), ("c", new)):
        model.get_layer("d").kernel.assign(np.full((2, 1), number, "float32"))
        paths.append(tmp_path / f"{name}.keras")
        model.save(paths[-1])

    assert not is_detected(paths[0], paths[1])
    assert is_detected(paths[0], paths[2])


def test_two_saves_are_equal_and_a_changed_optimizer_slot_is_detected(tmp_path):
    model = functional()
    model.save(tmp_path / "a.keras")
    model.save(tmp_path / "b.keras")
    assert not is_detected(tmp_path / "a.keras", tmp_path / "b.keras")

    slots = [variable for variable in model.optimizer.variables if variable.shape][:1]
    slots[0].assign(flipped(np.array(keras.ops.convert_to_numpy(slots[0]))))
    model.save(tmp_path / "c.keras")
    diff = ramet.diff(tmp_path / "a.keras", tmp_path / "c.keras")

    assert [change.kind for change in diff.changes] == ["optimizer"]


@pytest.mark.parametrize("module", [{"a": 1}, ["a"], 3, None])
def test_odd_modules_in_a_config_do_not_end_the_comparison(tmp_path, module):
    odd = {"class_name": "X", "module": module, "config": {}, "shared_object_id": 3}
    paths = [
        archive(tmp_path / f"{units}.keras", one_layer(dense(kernel_initializer=odd, units=units)), None)
        for units in (2, 3)
    ]

    assert "units" in [change.what for change in ramet.diff(*paths).changes]
