"""Hypothesis strategies for models. They draw sketches, which are plain data; `build()` makes the model and its inputs.

A model grows from a pool of tensors. Every step takes tensors from the pool, calls something on them and puts the
results back, so any tensor may be used once, often or never. Sizes are few and small; only the graph varies.

    @given(functional_models())
    def test_something(sketch):
        sample = sketch.build()
        sample.model(sample.make_inputs(seed=0))

A failing example prints its sketch, which can be pasted into an `@example`. To add a step, write a function that takes
a pool, and list it in `STEPS`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from hypothesis import strategies as st
from keras import layers, ops

from tests.support.versions import KERAS

BATCH = 4
TIME = 3
WIDTH = 2
VOCABULARY = 5


@dataclasses.dataclass(frozen=True)
class Sample:
    """A model with its data."""

    model: Any
    make_inputs: Callable[[int], Any]  # seed -> arrays in the structure of the model's inputs
    make_targets: Callable[[int], Any]  # seed -> arrays in the structure of the model's outputs
    is_savable: bool  # whether Keras itself can load the saved model


@keras.saving.register_keras_serializable("ramet_tests")
class Swap(layers.Layer):
    """A layer that returns its two inputs in reverse order."""

    def call(self, pair):
        return pair[1], pair[0]


@keras.saving.register_keras_serializable("ramet_tests")
class Fork(layers.Layer):
    """A layer with weights that returns a nested structure for one input."""

    def build(self, shape):
        self.bend = self.add_weight(shape=(shape[-1],), initializer="random_normal", name="bend")

    def call(self, x):
        return {"sum": x + self.bend, "more": (x * self.bend, [x - 1.0])}


@keras.saving.register_keras_serializable("ramet_tests")
class Gather(layers.Layer):
    """A layer that takes a nested structure and returns one tensor."""

    def call(self, parts):
        return parts["left"] * 0.5 + parts["right"][0]


@keras.saving.register_keras_serializable("ramet_tests")
class Scale(layers.Layer):
    """A layer that takes a second tensor as a keyword argument."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(WIDTH, activation="tanh")

    def build(self, x_shape, by_shape=None):
        self.dense.build(x_shape)

    def call(self, x, by=None, training=False):
        scaled = self.dense(x)
        return scaled if by is None else scaled * by

    def compute_output_shape(self, x_shape, by_shape=None):
        return x_shape


@keras.saving.register_keras_serializable("ramet_tests")
class Count(layers.Layer):
    """A layer with non-trainable state that changes with every call in training."""

    def build(self, shape):
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, name="seen")

    def call(self, x, training=False):
        if training:
            self.seen.assign_add(1.0)
        return x + ops.cast(self.seen, x.dtype) * 0.0


@keras.saving.register_keras_serializable("ramet_tests")
class TwoMasks(layers.Layer):
    """A layer with two outputs, of which only the first has the mask."""

    supports_masking = True

    def call(self, x):
        return x, x * 2.0

    def compute_mask(self, x, mask=None):
        return [mask, None]


@keras.saving.register_keras_serializable("ramet_tests")
def soften(x):
    return x / (1.0 + ops.abs(x))


class Pool:
    """The tensors and layers of a growing model, and the choices of the current step."""

    def __init__(self):
        self.tensors = {"vector": [], "sequence": [], "ids": []}
        self.dense = []
        self.is_savable = True
        self.choices = iter(())

    def choose(self, options):
        """Return one of the options; the first if the sketch has no choices left."""
        return options[next(self.choices, 0) % len(options)]

    def take(self, kind):
        """Return a tensor of a kind, the newest by default, converted from another kind if there is none yet."""
        if not self.tensors[kind]:
            self.put(kind, _converted(self.tensors, kind))
        return self.choose(self.tensors[kind][::-1])

    def put(self, kind, *tensors):
        self.tensors[kind].extend(tensors)


def _converted(tensors, kind):
    if tensors["sequence"]:
        sequence = tensors["sequence"][0]
    elif tensors["vector"]:
        sequence = layers.RepeatVector(TIME)(tensors["vector"][0])
    else:
        sequence = ops.one_hot(tensors["ids"][0], VOCABULARY)[..., :WIDTH]
    if kind == "vector":
        return layers.Flatten()(sequence)[:, :WIDTH]
    return sequence if kind == "sequence" else ops.argmax(sequence, axis=-1)


def _vector(pool, layer):
    pool.put("vector", layer(pool.take("vector")))


def dense(pool):
    layer = layers.Dense(WIDTH, activation=pool.choose(["linear", "relu", soften]), use_bias=pool.choose([True, False]))
    pool.dense.append(layer)
    _vector(pool, layer)


def shared_dense(pool):
    if not pool.dense:
        dense(pool)
    layer = pool.choose(pool.dense)
    _vector(pool, layer)
    _vector(pool, layer)


def frozen_dense(pool):
    _vector(pool, layers.Dense(WIDTH, trainable=False, kernel_regularizer="l2"))


def half_dense(pool):
    _vector(pool, layers.Dense(WIDTH, dtype=pool.choose(["mixed_bfloat16", "float16", "bfloat16"])))
    pool.tensors["vector"].append(ops.cast(pool.tensors["vector"].pop(), "float32"))


def two_output_lambda(pool):
    bend = float(pool.choose([1, 2]))
    shape = (None, WIDTH)
    function = layers.Lambda(lambda x: [x + bend, x], output_shape=lambda _: [shape, shape])
    pool.put("vector", *function(pool.take("vector")))


def raw_ops(pool):
    a, b = pool.take("vector"), pool.take("vector")
    kind = pool.choose(["arithmetic", "slice", "where", "concatenate", "matmul"])
    if kind == "arithmetic":
        pool.put("vector", ops.sin(a) * 2.0 + 1.0 - b)
    elif kind == "slice":
        pool.put("vector", ops.stack([a[:, 0], b[..., -1]], axis=-1))
    elif kind == "where":
        pool.put("vector", ops.where(a > b, a, -b))
    elif kind == "concatenate":
        pool.put("vector", ops.concatenate([a, b], axis=1)[:, 1:3])
    else:
        pool.put("vector", ops.matmul(a, np.array([[1, 2], [3, 4]], "float32") / 5))


def merge(pool):
    kind = pool.choose([layers.Add, layers.Multiply, layers.Average, layers.Maximum])
    pool.put("vector", kind()([pool.take("vector"), pool.take("vector")]))


def dropout(pool):
    layer = pool.choose(
        [layers.Dropout(0.5, seed=3), layers.GaussianNoise(0.1, seed=4), layers.AlphaDropout(0.2, seed=5)]
    )
    pool.put("vector", layer(pool.take("vector"), training=pool.choose([None, True, False])))


def normalization(pool):
    layer = pool.choose([layers.BatchNormalization(), layers.LayerNormalization(), Count()])
    _vector(pool, layer)


def always_training(pool):
    pool.put("vector", layers.BatchNormalization()(pool.take("vector"), training=pool.choose([True, False])))


def keyword_tensor(pool):
    layer = Scale()
    pool.put("vector", layer(pool.take("vector"), by=pool.take("vector")))
    if pool.choose([True, False]):
        pool.put("vector", layer(pool.take("vector")))


def many_outputs(pool):
    pool.put("vector", *keras.tree.flatten(Fork()(pool.take("vector"))))


def swapped(pool):
    pool.put("vector", *Swap()((pool.take("vector"), pool.take("vector"))))


def structured_argument(pool):
    pool.put("vector", Gather()({"left": pool.take("vector"), "right": [pool.take("vector")]}))


def nested_functional(pool):
    x, y = keras.Input((WIDTH,)), keras.Input((WIDTH,))
    inside = layers.Dense(WIDTH)
    inner = keras.Model([x, y], {"first": inside(x) + y, "second": layers.Dropout(0.5, seed=9)(inside(y))})
    for _ in range(pool.choose([1, 2])):
        pool.put("vector", *inner([pool.take("vector"), pool.take("vector")]).values())


def nested_twice(pool):
    x = keras.Input((WIDTH,))
    inner = keras.Model(x, layers.Dense(WIDTH)(x))
    y = keras.Input((WIDTH,))
    outer = keras.Model(y, inner(inner(y)))
    _vector(pool, outer)


def shared_across_levels(pool):
    """Use one layer inside and outside a nested model: Keras saves it twice and cannot load it."""
    x = keras.Input((WIDTH,))
    layer = layers.Dense(WIDTH)
    inner = keras.Model(x, layer(x))
    pool.put("vector", layer(inner(pool.take("vector"))))
    pool.is_savable = False


def nested_sequential(pool):
    stack = [layers.Dense(WIDTH), layers.BatchNormalization()]
    _vector(pool, keras.Sequential(([keras.Input((WIDTH,))] if pool.choose([True, False]) else []) + stack))


def spread(pool):
    pool.put("sequence", layers.RepeatVector(TIME)(pool.take("vector")))


def flattened(pool):
    x = pool.take("sequence")
    kind = pool.choose([layers.Flatten, layers.GlobalAveragePooling1D])
    pool.put("vector", kind()(x)[:, :WIDTH])


def recurrent(pool):
    kind = pool.choose([layers.SimpleRNN, layers.GRU, layers.LSTM])
    if pool.choose([True, False]):
        pool.put("sequence", kind(WIDTH, return_sequences=True)(pool.take("sequence")))
    else:
        pool.put("vector", kind(WIDTH)(pool.take("sequence")))


def recurrent_with_state(pool):
    x, state = pool.take("sequence"), pool.take("vector")
    sequence, last = layers.GRU(WIDTH, return_sequences=True, return_state=True)(x, initial_state=state)
    pool.put("sequence", sequence)
    pool.put("vector", last)


def masked(pool):
    pool.put("sequence", layers.Masking(0.0)(pool.take("sequence")))


def two_masks(pool):
    pool.put("sequence", *TwoMasks()(pool.take("sequence")))


def explicit_mask(pool):
    x = pool.take("sequence")
    mask = ops.any(pool.take("sequence") > 0.0, axis=-1)
    pool.put("sequence", layers.SimpleRNN(WIDTH, return_sequences=True)(x, mask=mask))


def attention(pool):
    x, y = pool.take("sequence"), pool.take("sequence")
    layer = layers.MultiHeadAttention(1, WIDTH)
    pool.put("sequence", layer(x, y, use_causal_mask=pool.choose([True, False])))


def per_step(pool):
    inner = pool.choose([layers.Dense(WIDTH), keras.Sequential([layers.Dense(WIDTH)])])
    pool.put("sequence", layers.TimeDistributed(inner)(pool.take("sequence")))


def both_ways(pool):
    pool.put("sequence", layers.Bidirectional(layers.SimpleRNN(1, return_sequences=True))(pool.take("sequence")))


def convolution(pool):
    pool.put("sequence", layers.Conv1D(WIDTH, 2, padding="causal")(pool.take("sequence")))


def embedding(pool):
    layer = layers.Embedding(VOCABULARY, WIDTH, mask_zero=pool.choose([True, False]))
    for _ in range(pool.choose([1, 2])):
        pool.put("sequence", layer(pool.take("ids")))


def integer_ops(pool):
    pool.put("ids", ops.mod(pool.take("ids") + 1, VOCABULARY))


STEPS = {
    step.__name__: step
    for step in (
        dense, shared_dense, frozen_dense, half_dense, two_output_lambda, raw_ops, merge, dropout, normalization,
        always_training, keyword_tensor, many_outputs, swapped, structured_argument, nested_functional, nested_twice,
        shared_across_levels, nested_sequential, spread, flattened, recurrent, recurrent_with_state, masked, two_masks,
        explicit_mask, attention, per_step, both_ways, convolution, embedding, integer_ops,
    )
}  # fmt: skip

SHAPES = {"vector": (WIDTH,), "sequence": (TIME, WIDTH), "ids": (TIME,)}


@dataclasses.dataclass(frozen=True)
class Sketch:
    """The description of a model as data."""

    inputs: tuple[str, ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[int, ...] = (0,)  # positions among the tensors, the newest first
    forms: tuple[int, int] = (0, 0)  # how inputs and outputs are nested
    batch_size: int | None = None

    def build(self):
        """Return the model, not compiled, with functions that make inputs and targets for it."""
        pool = Pool()
        inputs = [
            keras.Input(SHAPES[kind], self.batch_size, dtype="int32" if kind == "ids" else "float32", name=f"k{index}")
            for index, kind in enumerate(self.inputs)
        ]
        for kind, tensor in zip(self.inputs, inputs, strict=True):
            pool.put(kind, tensor)
            if KERAS < (3, 14):
                keras.ops.negative(tensor)  # Keras itself refuses an unused input
        newest = None
        for name, choices in self.steps:
            before = set(map(id, _floats(pool)))
            pool.choices = iter(choices)
            STEPS[name](pool)
            newest = next((tensor for tensor in _floats(pool)[::-1] if id(tensor) not in before), newest)
        if newest is None:
            newest = pool.take("vector")
        others = [tensor for tensor in _floats(pool)[::-1] if tensor is not newest]
        head = layers.Dense(WIDTH, name="head")(newest)  # so that there is always something to train
        picked = [head, *(others[(position - 1) % len(others)] for position in self.outputs if position and others)]
        outputs = list({id(tensor): tensor for tensor in picked}.values())
        takes, gives = _in_form(inputs, self.forms[0]), _in_form(outputs, self.forms[1])
        return Sample(
            model=keras.Model(takes, gives),
            make_inputs=lambda seed: _arrays(takes, seed),
            make_targets=lambda seed: _arrays(gives, seed),
            is_savable=pool.is_savable,
        )


def _floats(pool):
    return pool.tensors["vector"] + pool.tensors["sequence"]


def _in_form(items, form):
    """Return the tensors as one, a list, a tuple, a dict or a nested structure."""
    named = {f"k{index}": item for index, item in enumerate(items)}
    forms = [list(items), tuple(items), named]
    if len(items) == 1:
        forms.insert(0, items[0])
    else:
        forms.append({"a": [items[0]], "b": {name: named[name] for name in list(named)[1:]}})
    return forms[form % len(forms)]


def _arrays(structure, seed):
    """Return random arrays in the structure, shape and dtype of symbolic tensors; some entries are zero, for masks."""
    rng = np.random.default_rng(seed)

    def array(tensor):
        shape = (BATCH, *tensor.shape[1:])
        if "int" in tensor.dtype:
            return rng.integers(0, VOCABULARY, shape).astype(tensor.dtype)
        return (rng.normal(size=shape) * (rng.random(shape) > 0.3)).astype(tensor.dtype)

    return keras.tree.map_structure(array, structure)


def functional_models(max_steps=6, steps=tuple(STEPS)):
    """Draw sketches of functional models that use only these steps."""
    small = st.integers(0, 11)
    return st.builds(
        Sketch,
        inputs=st.lists(st.sampled_from(list(SHAPES)), min_size=1, max_size=3).map(tuple),
        steps=st.lists(
            st.tuples(st.sampled_from(steps), st.lists(small, min_size=1, max_size=6).map(tuple)),
            min_size=1,
            max_size=max_steps,
        ).map(tuple),
        outputs=st.lists(small, min_size=1, max_size=3).map(tuple),
        forms=st.tuples(small, small),
        batch_size=st.sampled_from([None, None, None, BATCH]),
    )


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.05),
    "ema": lambda: keras.optimizers.AdamW(0.05, use_ema=True, ema_overwrite_frequency=1),
    "decay": lambda: keras.optimizers.RMSprop(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5), clipnorm=1.0),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)),
}


def optimizers():
    """Draw names in `OPTIMIZERS`."""
    return st.sampled_from(list(OPTIMIZERS))
