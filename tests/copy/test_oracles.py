"""One independent oracle for every verb and every edit: expected results are computed with numpy or plain Keras.

Only public names of ramet are used here, and no expected value comes from ramet. A new verb or edit needs a function
below, marked `@oracle("edit", "name")`: `test_every_public_verb_and_edit_has_an_oracle` fails until it has one.
"""

import io
import xml.etree.ElementTree as ET
import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet.__main__ import main

RNG = np.random.default_rng(7)
X = RNG.normal(size=(6, 4)).astype("float32")
Y = RNG.normal(size=(6, 3)).astype("float32")
IMAGES = RNG.normal(size=(2, 5, 5, 2)).astype("float32")

ORACLES = {}


def oracle(kind, name):
    """Register the function that tests a verb, an edit or a command."""

    def register(function):
        assert (kind, name) not in ORACLES
        ORACLES[kind, name] = function
        return function

    return register


# Computations in numpy.


def relu(x):
    return np.maximum(x, 0)


def dense(x, kernel, bias):
    return x @ kernel + bias


def normalized(x, gamma, beta, mean, variance, epsilon=1e-3):
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


def convolved(x, kernel, bias):
    """Compute a convolution without padding, one output pixel at a time."""
    high, wide = kernel.shape[:2]
    rows, columns = x.shape[1] - high + 1, x.shape[2] - wide + 1
    out = np.zeros((len(x), rows, columns, kernel.shape[3]))
    for row in range(rows):
        for column in range(columns):
            window = x[:, row : row + high, column : column + wide]
            out[:, row, column] = np.tensordot(window, kernel, axes=([1, 2, 3], [0, 1, 2]))
    return out + bias


def mean_square_step(x, y, kernel, bias, rate):
    """Compute one step of gradient descent on the mean square error of one dense layer."""
    slope = 2 * (dense(x, kernel, bias) - y) / y.size
    return kernel - rate * x.T @ slope, bias - rate * slope.sum(axis=0)


# Models made from numpy arrays as weights.


class Weights:
    """The arrays of `perceptron`, created before the model."""

    def __init__(self, seed=3):
        rng = np.random.default_rng(seed)
        self.a = [rng.normal(size=shape).astype("float32") for shape in ((4, 5), (5,))]
        self.n = [rng.uniform(0.5, 2, 5).astype("float32") for _ in range(4)]  # gamma, beta, mean, variance
        self.b = [rng.normal(size=shape).astype("float32") for shape in ((5, 3), (3,))]

    def hidden(self, x=X):
        return dense(x, *self.a)

    def outputs(self, x=X):
        return dense(relu(normalized(self.hidden(x), *self.n)), *self.b)


def perceptron(w, nested=False):
    """Dense a, normalization n, activation act, dropout drop, dense b; with `nested`, the first three are a model."""
    x = keras.Input((4,), name="x")
    h = layers.ReLU(name="act")(layers.BatchNormalization(name="n")(layers.Dense(5, name="a")(x)))
    if nested:
        body = keras.Model(x, h, name="body")
        x = keras.Input((4,), name="outer")
        h = body(x)
    model = keras.Model(x, layers.Dense(3, name="b")(layers.Dropout(0.5, seed=1, name="drop")(h)), name="net")
    model.set_weights([*w.a, *w.n, *w.b])
    return model


def linear(w, *names):
    """Return dense layers in sequence, with the arrays of `perceptron`."""
    model = keras.Sequential(
        [keras.Input((4,), name="x"), *(layers.Dense(5 if n == "a" else 3, name=n) for n in names)]
    )
    model.set_weights([array for name in names for array in getattr(w, name)])
    return model


def image_model(kernel, bias, *after):
    x = keras.Input((5, 5, kernel.shape[2]), name="x")
    h = layers.Conv2D(kernel.shape[3], kernel.shape[:2], name="c")(x)
    for layer in after:
        h = layer(h)
    model = keras.Model(x, h)
    model.get_layer("c").set_weights([kernel, bias])
    return model


def kernels(*shapes, seed=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def numpy_of(value):
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(value, "float32")))


def run(model, *inputs, training=False):
    return numpy_of(model(*inputs, training=training))


def close(found, expected, tolerance=1e-4):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def same(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


# Verbs.


@oracle("verb", "clone")
def clone_gives_the_same_values_and_trains_independently(_path):
    w = Weights()
    close(run(ramet.clone(perceptron(w)), X), w.outputs())
    model = linear(w, "a")
    twin = ramet.clone(model)
    twin.compile(keras.optimizers.SGD(0.1), "mse")
    y = X @ w.a[0] * 2
    twin.train_on_batch(X, y)
    for found, expected in zip(twin.get_weights(), mean_square_step(X, y, *w.a, 0.1), strict=True):
        close(found, expected)
    same(model.get_weights(), w.a)


@oracle("verb", "clone_model")
def clone_model_equals_that_of_keras(_path):
    w = Weights()

    def with_tanh(layer):
        return (
            layers.Activation("tanh", name="act")
            if layer.name == "act"
            else type(layer).from_config(layer.get_config())
        )

    ours = ramet.clone_model(perceptron(w), clone_function=with_tanh)
    theirs = keras.models.clone_model(perceptron(w), clone_function=with_tanh)
    assert ours.get_config() == theirs.get_config()
    ours.set_weights([*w.a, *w.n, *w.b])
    close(run(ours, X), dense(np.tanh(normalized(w.hidden(), *w.n)), *w.b))


@oracle("verb", "cut")
def cut_gives_the_value_in_the_middle(_path):
    w = Weights()
    for nested in (False, True):
        model = perceptron(w, nested)
        inside = "body/" if nested else ""
        close(run(ramet.cut(model, f"{inside}a"), X), w.hidden())
        both = ramet.cut(model, {"act": f"{inside}act", "b": "b"})(X)
        close(numpy_of(both["act"]), relu(normalized(w.hidden(), *w.n)))
        close(numpy_of(both["b"]), w.outputs())
    tail = ramet.cut(perceptron(w), "b", inputs="act")
    given = np.abs(w.hidden())
    close(run(tail, given), dense(given, *w.b))


@oracle("verb", "capture")
def capture_lists_what_keras_lists(_path):
    model = perceptron(Weights())
    graph = ramet.capture(model)
    assert [(op.name, op.class_name) for op in graph.ops] == [(la.name, type(la).__name__) for la in model.layers]
    assert [call.op for call in graph.calls] == ["x", "a", "n", "act", "drop", "b"]
    assert f"{4 * 5 + 5 + 4 * 5 + 5 * 3 + 3} parameters" in str(graph)


@oracle("verb", "select")
def select_finds_what_a_loop_finds(_path):
    model = perceptron(Weights())
    found = ramet.select(model, ramet.of_class("Dense") | ramet.named("d*"))
    assert list(found.paths) == [la.name for la in model.layers if isinstance(la, layers.Dense) or la.name[0] == "d"]


@oracle("verb", "plan")
def plan_lists_what_the_edit_changes(_path):
    model = perceptron(Weights())
    steps = ramet.plan(model, e.freeze("n"), e.remove("drop")).steps
    edited = ramet.edit(model, e.freeze("n"), e.remove("drop"))
    assert [[touch.path for touch in step.touched] for step in steps] == [["n"], ["drop"]]
    left = [layer.name for layer in edited.layers]
    assert left == [layer.name for layer in model.layers if layer.name != "drop"]
    assert [layer.name for layer in edited.layers if not layer.trainable] == ["n"]
    assert all(layer.trainable for layer in model.layers)


@oracle("verb", "edit")
def edits_of_one_call_act_together_and_keep_the_original(_path):
    w = Weights()
    model = perceptron(w)
    edited = ramet.edit(model, e.remove("act"), e.insert_after("b", lambda _: layers.Rescaling(3.0, name="s")))
    close(run(edited, X), 3 * dense(normalized(w.hidden(), *w.n), *w.b))
    close(run(model, X), w.outputs())


@oracle("verb", "scan")
def scan_finds_code_and_nothing_else(path):
    perceptron(Weights()).save(path / "layers.keras")
    keras.Sequential([keras.Input((2,)), keras.layers.Lambda(lambda x: x)]).save(path / "code.keras")

    assert [ramet.scan(path / name).verdict for name in ("layers.keras", "code.keras")] == ["safe", "unsafe"]


@oracle("verb", "show")
def show_counts_the_weights(path):
    model = perceptron(Weights())
    model.save(path / "net.keras")

    assert ramet.show(path / "net.keras").parameters == sum(array.size for array in model.get_weights())


@oracle("verb", "port")
def port_writes_the_same_numbers_under_the_same_names(path):
    w = Weights()
    perceptron(w).save(path / "net.keras")
    ramet.port(path / "net.keras", path / "old.h5", to="tf_keras")

    with h5py.File(path / "old.h5") as file:
        saved_arrays = [file["model_weights"][name][name] for name in ("a", "n", "b")]
        kernel, gamma, bias = (
            saved_arrays[0]["kernel:0"][()],
            saved_arrays[1]["gamma:0"][()],
            saved_arrays[2]["bias:0"][()],
        )
    assert np.array_equal(kernel, w.a[0])
    assert np.array_equal(gamma, w.n[0])
    assert np.array_equal(bias, w.b[1])


@oracle("verb", "load")
def load_returns_a_model_that_computes_the_same(path):
    w = Weights()
    perceptron(w, nested=True).save(path / "net.keras")
    ramet.port(path / "net.keras", path / "old.h5", to="tf_keras")

    close(run(ramet.load(path / "old.h5"), X), w.outputs())


@oracle("verb", "diff")
def diff_names_each_array_that_differs(_path):
    w = Weights()
    assert not ramet.diff(perceptron(w), perceptron(w))
    for number, name in enumerate(["a/kernel", "a/bias", "n/gamma", "n/beta", "n/moving_mean", "n/moving_variance"]):
        other = perceptron(w)
        arrays = other.get_weights()
        arrays[number].flat[-1] = np.nextafter(arrays[number].flat[-1], np.float32(9))
        other.set_weights(arrays)
        text = str(ramet.diff(perceptron(w), other))
        layer, _, variable = name.partition("/")
        lines = [line.split() for line in text.splitlines()]
        assert any(layer in line and any(variable in word for word in line) for line in lines), text


@oracle("verb", "draw")
def drawing_has_a_label_for_every_layer(path):
    model = perceptron(Weights())
    ramet.draw(model, path / "model.svg")
    root = ET.parse(path / "model.svg").getroot()
    words = {(node.text or "").strip() for node in root.iter()}
    assert {"x", "a", "n", "act", "drop", "b"} <= words


@oracle("verb", "verify")
def verify_passes_an_exact_copy_and_finds_one_changed_bit(_path):
    w = Weights()
    model, by_hand = perceptron(w), perceptron(w)
    # The seeds of initializers are settings: two models created one after the other have different ones.
    assert ramet.verify(model, by_hand, skip="settings", progress=False).ok
    kernel = w.b[0].copy()
    kernel[4, 2] = np.nextafter(kernel[4, 2], np.float32(9))
    by_hand.get_layer("b").set_weights([kernel, w.b[1]])
    report = ramet.verify(model, by_hand, progress=False)
    assert not report.ok
    assert "b/kernel" in str(report["state"])


@oracle("verb", "sync")
def sync_is_a_weighted_mean(_path):
    one, two = Weights(1), Weights(2)
    source, target = perceptron(one), perceptron(two)
    ramet.sync(source, target, tau=0.25)
    for found, ours, theirs in zip(
        target.get_weights(), [*one.a, *one.n, *one.b], [*two.a, *two.n, *two.b], strict=True
    ):
        close(found, 0.25 * ours + 0.75 * theirs, 1e-6)
    ramet.sync(source, target)
    same(target.get_weights(), [*one.a, *one.n, *one.b])


@oracle("verb", "transfer")
def transfer_follows_its_policies(_path):
    (kernel,) = kernels((4, 3))
    bias = np.array([1.0, 2.0, 3.0], "float32")
    padded = np.zeros((4, 5), "float32")
    padded[:, :3] = kernel
    average = np.concatenate([kernel, np.repeat(kernel.mean(axis=1, keepdims=True), 2, axis=1)], axis=1)
    expected = {
        ("refuse", 3): (kernel, bias),
        ("slice", 2): (kernel[:, :2], bias[:2]),
        ("pad", 5): (padded, np.array([1, 2, 3, 0, 0])),
        ("mean", 5): (average, np.array([1, 2, 3, 2, 2])),
        ("repeat", 5): (kernel[:, [0, 1, 2, 0, 1]], np.array([1, 2, 3, 1, 2])),
    }
    for (policy, units), arrays in expected.items():
        target = keras.Sequential([keras.Input((4,)), layers.Dense(units, name="d")])
        ramet.transfer({"d/kernel": kernel, "d/bias": bias}, target, policy=policy)
        for found, wanted in zip(target.get_weights(), arrays, strict=True):
            close(found, wanted, 1e-6)


@oracle("verb", "read_recipe")
def recipe_equals_its_edits(_path):
    w = Weights()
    recipe = ramet.read_recipe("[[edit]]\nremove = 'act'\n[[edit]]\nrename = 'b'\nname = 'head'\n")
    edited = ramet.edit(perceptron(w), recipe)
    close(run(edited, X), dense(normalized(w.hidden(), *w.n), *w.b))
    assert [layer.name for layer in edited.layers] == ["x", "a", "n", "drop", "head"]


class Attached:
    """A user-defined object."""

    def __init__(self, numbers):
        self.numbers = numbers


@oracle("verb", "register_copy")
def registered_function_makes_the_copy(_path):
    ramet.register_copy(Attached, lambda old, copy: Attached([*copy(old.numbers), "copied"]))
    model = linear(Weights(), "a")
    model.attached = Attached([1])
    assert ramet.clone(model).attached.numbers == [1, "copied"]
    assert model.attached.numbers == [1]


# Edits.


@oracle("edit", "replace")
def replaced_layer_computes_new_values(_path):
    w = Weights()
    softplus = ramet.edit(perceptron(w), e.replace("act", lambda _: layers.Activation("softplus")))
    close(run(softplus, X), dense(np.log1p(np.exp(normalized(w.hidden(), *w.n))), *w.b))
    doubled = ramet.edit(perceptron(w), e.replace("b", lambda _: layers.Dense(3, activation="tanh")))
    close(run(doubled, X), np.tanh(w.outputs()))
    fresh = ramet.edit(
        perceptron(w), e.replace("b", lambda _: layers.Dense(3, kernel_initializer="ones"), weights=False)
    )
    hidden = relu(normalized(w.hidden(), *w.n))
    close(run(fresh, X), np.repeat(hidden.sum(axis=1, keepdims=True), 3, axis=1))


@oracle("edit", "wrap")
def wrapped_layer_keeps_its_weights(_path):
    kernel, bias, steps = kernels((4, 3), (3,), (2, 6, 4))
    model = keras.Sequential([keras.Input((6, 4)), layers.Dense(3, name="d")])
    model.set_weights([kernel, bias])
    edited = ramet.edit(model, e.wrap("d", lambda old: layers.TimeDistributed(old, name="t")))
    assert [type(layer).__name__ for layer in edited.layers] == ["TimeDistributed"]
    close(run(edited, steps), dense(steps, kernel, bias))


def shared_twice(kernel, bias):
    """Return a model that calls the same dense layer twice: 4 to 4 to 4."""
    layer = layers.Dense(4, name="d")
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layer(layer(x)))
    layer.set_weights([kernel, bias])
    return model


@oracle("edit", "insert_before")
def layer_is_inserted_before_the_named_calls(_path):
    kernel, bias = kernels((4, 4), (4,))
    inserted = {None: (3, 3), 1: (3, 1), 2: (1, 3)}
    for calls, (first, second) in inserted.items():
        edit = e.insert_before("d", lambda _: layers.Rescaling(3.0), calls=calls)
        found = run(ramet.edit(shared_twice(kernel, bias), edit), X)
        close(found, dense(second * dense(first * X, kernel, bias), kernel, bias))


@oracle("edit", "insert_after")
def layer_is_inserted_after_the_named_calls(_path):
    kernel, bias = kernels((4, 4), (4,))
    inserted = {None: (3, 3), 1: (3, 1), 2: (1, 3)}
    for calls, (first, second) in inserted.items():
        edit = e.insert_after("d", lambda _: layers.Rescaling(3.0), calls=calls)
        found = run(ramet.edit(shared_twice(kernel, bias), edit), X)
        close(found, second * dense(first * dense(X, kernel, bias), kernel, bias))


@oracle("edit", "remove")
def consumers_take_the_input_of_a_removed_layer(_path):
    w = Weights()
    close(run(ramet.edit(perceptron(w), e.remove(["act", "n"])), X), dense(w.hidden(), *w.b))
    kernel, bias = kernels((4, 4), (4,))
    close(run(ramet.edit(shared_twice(kernel, bias), e.remove("d", calls=2)), X), dense(X, kernel, bias))


@oracle("edit", "splice")
def layers_between_two_layers_are_replaced(_path):
    w = Weights()
    edited = ramet.edit(perceptron(w), e.splice("a", "b", layers.Activation("tanh", name="t")))
    close(run(edited, X, training=True), dense(np.tanh(w.hidden()), *w.b))
    assert [layer.name for layer in edited.layers] == ["x", "a", "t", "b"]


@oracle("edit", "rename")
def renamed_layer_is_found_by_its_new_name(path):
    w = Weights()
    edited = ramet.edit(perceptron(w), e.rename("a", "first"), e.rename("b", str.upper))
    assert [layer.name for layer in edited.layers] == ["x", "first", "n", "act", "drop", "B"]
    same(edited.get_layer("first").get_weights(), w.a)
    edited.save(path / "m.keras")
    close(run(keras.models.load_model(path / "m.keras"), X), w.outputs())


@oracle("edit", "prefix")
def prefix_is_added_to_every_name_but_inputs(path):
    w = Weights()
    edited = ramet.edit(perceptron(w), e.prefix("t_"))
    assert [layer.name for layer in edited.layers] == ["x", "t_a", "t_n", "t_act", "t_drop", "t_b"]
    edited.save(path / "m.keras")
    close(run(keras.models.load_model(path / "m.keras"), X), w.outputs())


@oracle("edit", "update")
def updated_settings_take_effect(_path):
    w = Weights()
    tanh = ramet.edit(perceptron(w), e.update("b", activation="tanh"))
    close(run(tanh, X), np.tanh(w.outputs()))
    other = ramet.edit(perceptron(w), e.update("n", epsilon=0.5))
    close(run(other, X), dense(relu(normalized(w.hidden(), *w.n, epsilon=0.5)), *w.b))
    padded = run(ramet.edit(perceptron(w), e.update("b", units=5, weights="pad")), X)
    close(padded[:, :3], w.outputs())
    close(padded[:, 3:], 0)
    quiet = ramet.edit(noisy(w, layers.Dropout(0.9, name="drop")), e.update("drop", rate=0.0))
    close(run(quiet, X, training=True), dense(w.hidden(), *w.b))


def noisy(w, *between):
    """Return a model of two dense layers with layers between them that act in training only."""
    model = keras.Sequential([keras.Input((4,)), layers.Dense(5, name="a"), *between, layers.Dense(3, name="b")])
    for name in "ab":
        model.get_layer(name).set_weights(getattr(w, name))
    return model


@oracle("edit", "drop_dropout")
def training_is_deterministic_without_random_layers(_path):
    w = Weights()
    model = noisy(w, layers.Dropout(0.9), layers.GaussianNoise(1.0), layers.AlphaDropout(0.9))
    edited = ramet.edit(model, e.drop_dropout())
    close(run(edited, X, training=True), dense(w.hidden(), *w.b))


def step_by_numpy(w, x, y, rate, *, first, second):
    """Compute one step on the mean square error of two dense layers, for those that are trained."""
    hidden = dense(x, *w.a)
    slope = 2 * (dense(hidden, *w.b) - y) / y.size
    back = slope @ w.b[0].T
    a = [w.a[0] - rate * x.T @ back, w.a[1] - rate * back.sum(axis=0)] if first else w.a
    b = [w.b[0] - rate * hidden.T @ slope, w.b[1] - rate * slope.sum(axis=0)] if second else w.b
    return [*a, *b]


def assert_trains(model, expected):
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.train_on_batch(X, Y)
    for found, wanted in zip(model.get_weights(), expected, strict=True):
        close(found, wanted)


@oracle("edit", "freeze")
def frozen_weights_do_not_change_in_a_step(_path):
    w = Weights()
    assert_trains(ramet.edit(linear(w, "a", "b"), e.freeze("a")), step_by_numpy(w, X, Y, 0.1, first=False, second=True))


@oracle("edit", "unfreeze")
def unfrozen_weights_change_in_a_step(_path):
    w = Weights()
    model = linear(w, "a", "b")
    model.trainable = False
    edited = ramet.edit(model, e.unfreeze("a"))
    assert_trains(edited, step_by_numpy(w, X, Y, 0.1, first=True, second=False))
    assert_trains(
        ramet.edit(linear(w, "a", "b"), e.freeze(), e.unfreeze("b")),
        step_by_numpy(w, X, Y, 0.1, first=False, second=True),
    )


@oracle("edit", "cast")
def cast_weights_are_rounded_and_values_have_the_dtype(_path):
    w = Weights()
    half = ramet.edit(perceptron(w), e.cast("float16"))
    for found, array in zip(half.weights, [*w.a, *w.n, *w.b], strict=True):
        np.testing.assert_array_equal(numpy_of(found), array.astype("float16").astype("float32"))
    mixed = ramet.edit(perceptron(w), e.cast("mixed_float16"))
    same(mixed.get_weights(), [*w.a, *w.n, *w.b])
    for model in (half, mixed):
        outputs = model(X)
        assert keras.backend.standardize_dtype(outputs.dtype) == "float16"
        close(numpy_of(outputs), w.outputs(), 0.03)


@oracle("edit", "resize_input")
def resized_input_gives_the_values_of_its_convolution(_path):
    kernel, bias, larger = kernels((3, 3, 2, 4), (4,), (2, 7, 6, 2))
    model = image_model(kernel, bias, layers.GlobalAveragePooling2D())
    wide = ramet.edit(model, e.resize_input((7, 6, 2)))
    assert wide.input_shape == (None, 7, 6, 2)
    close(run(wide, larger), convolved(larger, kernel, bias).mean(axis=(1, 2)))
    # One more channel, with zero weights: its values do not matter.
    more = ramet.edit(model, e.resize_input((5, 5, 3), weights="pad"))
    images = np.concatenate([IMAGES, RNG.normal(size=(2, 5, 5, 1)).astype("float32")], axis=-1)
    close(run(more, images), convolved(IMAGES, kernel, bias).mean(axis=(1, 2)))


@pytest.mark.parametrize("between", [layers.Flatten, lambda: layers.Reshape((-1,))], ids=["Flatten", "Reshape"])
@pytest.mark.parametrize(("policy", "channels"), [("slice", 1), ("pad", 4), ("mean", 4), ("repeat", 5)])
def test_each_position_behind_a_flatten_is_adapted_separately(between, policy, channels):
    kernel, bias, images = kernels((5 * 5 * 2, 3), (3,), (2, 5, 5, channels))
    model = keras.Sequential([keras.Input((5, 5, 2)), between(), layers.Dense(3, name="d")])
    model.set_weights([kernel, bias])
    old = kernel.reshape(25, 2, 3)
    added = {
        "slice": np.zeros((25, 0, 3)),
        "pad": np.zeros((25, 2, 3)),
        "mean": np.repeat(old.mean(axis=1, keepdims=True), 2, axis=1),
        "repeat": old[:, [0, 1, 0]],
    }[policy]
    adapted = np.concatenate([old[:, :channels], added], axis=1).reshape(-1, 3)
    try:
        edited = ramet.edit(model, e.resize_input((5, 5, channels), weights=policy))
    except ramet.errors.RametError:
        return  # a refusal is correct as well; wrong numbers are not

    close(run(edited, images), dense(images.reshape(2, -1), adapted, bias))


@oracle("edit", "swap_head")
def new_head_has_the_classes_and_the_body_is_kept(_path):
    w = Weights()
    fresh = ramet.edit(perceptron(w), e.swap_head(classes=7), seed=1)
    assert run(fresh, X).shape == (6, 7)
    kernel, bias = fresh.layers[-1].get_weights()
    close(run(fresh, X), dense(relu(normalized(w.hidden(), *w.n)), kernel, bias))
    fewer = ramet.edit(perceptron(w), e.swap_head(classes=2, weights="slice", activation="softmax"))
    raised = np.exp(w.outputs()[:, :2])
    close(run(fewer, X), raised / raised.sum(axis=1, keepdims=True))


@oracle("edit", "flatten")
def flattened_model_contains_no_model(path):
    w = Weights()
    edited = ramet.edit(perceptron(w, nested=True), e.flatten())
    assert [layer.name for layer in edited.layers] == ["outer", "a", "n", "act", "drop", "b"]
    close(run(edited, X), w.outputs())
    edited.save(path / "m.keras")
    close(run(keras.models.load_model(path / "m.keras"), X), w.outputs())


@oracle("edit", "fold_batchnorm")
def folded_kernel_is_scaled_and_its_bias_shifted(_path):
    w = Weights()
    edited = ramet.edit(perceptron(w), e.fold_batchnorm())
    gamma, beta, mean, variance = w.n
    factor = gamma / np.sqrt(variance + 1e-3)
    kernel, bias = edited.get_layer("a").get_weights()
    close(kernel, w.a[0] * factor)
    close(bias, (w.a[1] - mean) * factor + beta)
    close(run(edited, X), w.outputs())
    assert "BatchNormalization" not in [type(layer).__name__ for layer in edited.layers]


@oracle("edit", "split_activation")
def activation_becomes_a_layer(_path):
    w = Weights()
    model = keras.Sequential([keras.Input((4,)), layers.Dense(5, "tanh", name="a"), layers.Dense(3, name="b")])
    model.set_weights([*w.a, *w.b])
    edited = ramet.edit(model, e.split_activation())
    close(run(ramet.cut(edited, "a"), X), w.hidden())
    close(run(edited, X), dense(np.tanh(w.hidden()), *w.b))


@oracle("edit", "merge_lora")
def merged_update_is_added_to_the_kernel(_path):
    w = Weights()
    down, up = kernels((4, 2), (2, 5))
    model = linear(w, "a", "b")
    layer = model.get_layer("a")
    layer.enable_lora(2, lora_alpha=6)
    layer.lora_kernel_a.assign(down)
    layer.lora_kernel_b.assign(up)
    edited = ramet.edit(model, e.merge_lora())
    close(edited.get_weights()[0], w.a[0] + 6 / 2 * down @ up)
    close(run(edited, X), dense(dense(X, w.a[0] + 3 * down @ up, w.a[1]), *w.b))
    assert len(edited.weights) == 4


@oracle("edit", "lora")
def low_rank_update_starts_at_zero_and_is_added_to_the_kernel(_path):
    w = Weights()
    down, up = kernels((4, 2), (2, 5))
    edited = ramet.edit(linear(w, "a", "b"), e.lora("a", rank=2, alpha=6))
    close(run(edited, X), dense(dense(X, *w.a), *w.b))
    assert [v.name for v in edited.trainable_variables] == ["lora_kernel_a", "lora_kernel_b"]
    edited.get_layer("a").lora_kernel_a.assign(down)
    edited.get_layer("a").lora_kernel_b.assign(up)
    close(run(edited, X), dense(dense(X, w.a[0] + 6 / 2 * down @ up, w.a[1]), *w.b))


@oracle("edit", "quantize")
def quantized_kernels_are_integers_with_a_scale_per_unit(_path):
    w = Weights()
    edited = ramet.edit(linear(w, "a", "b"), e.quantize("a"))
    scale = 127 / np.abs(w.a[0]).max(axis=0)
    close(numpy_of(edited.get_layer("a").kernel_scale), scale, 1e-3)
    whole = keras.ops.convert_to_numpy(edited.get_layer("a").kernel)
    assert whole.dtype == "int8"
    assert np.abs(whole - np.round(w.a[0] * scale)).max() <= 1
    close(run(edited, X), dense(dense(X, *w.a), *w.b), 0.1)
    back = ramet.edit(edited, e.cast("float32"))
    close(numpy_of(back.get_layer("a").kernel), whole / scale, 1e-3)
    assert len(back.trainable_variables) == 4


# Commands.


def saved(model, path):
    model.save(path)
    return str(path)


@oracle("command", "show")
def show_counts_the_parameters(path, read_output):
    assert main(["show", saved(perceptron(Weights()), path / "m.keras")]) == 0
    out = read_output()
    assert f"{4 * 5 + 5 + 4 * 5 + 5 * 3 + 3} parameters" in out
    rows = [line.split()[:2] for line in out.splitlines() if "(None," in line]
    kinds = ["Input", "Dense", "BatchNormalization", "ReLU", "Dropout", "Dense"]
    assert rows == [[name, kind] for name, kind in zip(("x", "a", "n", "act", "drop", "b"), kinds, strict=True)]


@oracle("command", "scan")
def scan_distinguishes_a_plain_model_from_one_with_code(path, read_output):
    assert main(["scan", saved(perceptron(Weights()), path / "m.keras")]) == 0
    assert "unsafe" not in read_output()
    code = keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x * 2)])
    assert main(["scan", saved(code, path / "code.keras")]) == 1
    assert "unsafe" in read_output()


@oracle("command", "port")
def port_lists_every_array_and_writes_the_same_numbers(path, read_output):
    w = Weights()
    assert main(["port", saved(perceptron(w), path / "m.keras"), str(path / "old.keras"), "--to", "3.3"]) == 0
    assert "used  8 arrays" in read_output()
    weights = zipfile.ZipFile(path / "old.keras").read("model.weights.h5")
    with h5py.File(io.BytesIO(weights)) as file:
        assert np.array_equal(file["layers/dense_1/vars/0"][()], w.b[0])


@oracle("command", "diff")
def diff_of_files_sees_one_bit(path, read_output):
    w = Weights()
    model = perceptron(w)
    first = saved(model, path / "a.keras")
    assert main(["diff", first, saved(model, path / "same.keras")]) == 0
    read_output()
    w.b[1][2] = np.nextafter(w.b[1][2], np.float32(9))
    model.get_layer("b").set_weights(w.b)
    assert main(["diff", first, saved(model, path / "b.keras")]) == 1
    assert "bias" in read_output()


@oracle("command", "clone")
def cloned_file_loads_with_the_numbers(path, read_output):
    w = Weights()
    assert main(["clone", saved(perceptron(w), path / "m.keras"), str(path / "twin.keras")]) == 0
    read_output()
    close(run(keras.models.load_model(path / "twin.keras"), X), w.outputs())


@oracle("command", "edit")
def edited_file_loads_with_the_numbers(path, read_output):
    w = Weights()
    (path / "r.toml").write_text("[[edit]]\nremove = 'act'\n")
    model = saved(perceptron(w), path / "m.keras")
    assert main(["edit", model, str(path / "new.keras"), "--recipe", str(path / "r.toml")]) == 0
    read_output()
    close(run(keras.models.load_model(path / "new.keras"), X), dense(normalized(w.hidden(), *w.n), *w.b))


@oracle("command", "verify")
def verify_of_files_finds_another_model(path, read_output):
    model = perceptron(Weights())
    first = saved(model, path / "a.keras")
    assert main(["verify", first, saved(model, path / "same.keras")]) == 0
    read_output()
    assert main(["verify", first, saved(perceptron(Weights(9)), path / "b.keras")]) == 1


# The table.


@pytest.mark.parametrize(("kind", "name"), sorted(ORACLES), ids=str)
def test_result_equals_the_oracle(kind, name, tmp_path, capsys):
    function = ORACLES[kind, name]
    if kind == "command":
        function(tmp_path, lambda: capsys.readouterr().out)
    else:
        function(tmp_path)


NOT_VERBS = {"edits", "errors"}
SELECTORS = {"anything", "feeds", "named", "nth", "of_class", "reads", "where", "with_config"}


def test_every_public_verb_and_edit_has_an_oracle():
    verbs = {("verb", name) for name in set(ramet.__all__) - NOT_VERBS - SELECTORS if name.islower()}
    missing = sorted((verbs | {("edit", name) for name in e.__all__}) - set(ORACLES))

    assert not missing, (
        f"no oracle for {', '.join(' '.join(one) for one in missing)}: add a function to tests/copy/test_oracles.py, marked"
        " @oracle(kind, name), that computes the expected result with numpy or plain Keras."
    )
