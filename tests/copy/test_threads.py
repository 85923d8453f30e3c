"""Cloning while other threads run: exact, or refused with an error; never empty, inconsistent or stuck."""

import contextlib
import threading

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from tests.support.reach import assert_independent
from tests.support.same import assert_same
from tests.support.twins import assert_equal_outputs, assert_equal_values, values

LIMIT = 60  # seconds after which a thread counts as stuck


class Crew:
    """Threads that cannot outlive the test: daemons that are stopped and joined with a timeout."""

    def __init__(self):
        self.threads, self.errors = [], []
        self.stop = threading.Event()

    def start(self, work):
        thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
        self.threads.append(thread)
        thread.start()
        return thread

    def _guarded(self, work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # handed to the test, which raises it
            self.errors.append(error)

    def wait(self, threads=None):
        for thread in threads or self.threads:
            thread.join(LIMIT)
            assert not thread.is_alive(), "a thread is stuck"
        if self.errors:
            raise self.errors[0]


@contextlib.contextmanager
def _crew():
    crew = Crew()
    try:
        yield crew
    finally:
        crew.stop.set()
        for thread in crew.threads:
            thread.join(LIMIT)


def _model():
    inputs = keras.Input((4,))
    x = layers.Dense(8, activation="relu")(inputs)
    x = layers.Dropout(0.3, seed=1)(x)
    x = layers.BatchNormalization()(x)
    model = keras.Model(inputs, [layers.Dense(2)(x), layers.Lambda(lambda t: t * 2)(x)])
    model.compile("adam", ["mse", "mse"])
    return model


def _subclassed():
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = [layers.Dense(3) for _ in range(4)]
            self.notes = {"seen": []}

        def call(self, x):
            for part in self.parts:
                x = part(x)
            return x

    model = Net()
    model(np.ones((1, 4), "float32"))
    return model


def _recurrent():
    return keras.Sequential([keras.Input((3, 4)), layers.LSTM(2)])


@pytest.mark.parametrize(
    ("make", "shape"),
    [(_model, (2, 4)), (_subclassed, (2, 4)), (_recurrent, (2, 3, 4))],
    ids=["functional", "subclassed", "recurrent"],
)
def test_four_threads_clone_while_a_fifth_calls(make, shape):
    model = make()
    x = np.ones(shape, "float32")
    model(x)
    before = values(model)
    twins = []
    with _crew() as crew:

        def call():
            while not crew.stop.is_set():
                model(x)

        crew.start(call)
        cloning = [crew.start(lambda: twins.extend(ramet.clone(model) for _ in range(8))) for _ in range(4)]
        crew.wait(cloning)

    assert len(twins) == 32
    for old, new in zip(before, values(model), strict=True):
        np.testing.assert_array_equal(old, new)
    for twin in twins:
        assert_equal_values(model, twin)
    for twin in twins[::8]:
        assert_same(model, twin)
        assert_independent(model, twin)
    assert_equal_outputs(model, twins[0], x)
    assert_equal_outputs(model, twins[-1], x)


def test_threads_clone_twins_of_twins_simultaneously():
    model = _model()
    results = {}
    with _crew() as crew:

        def line(start):
            twin = model
            for _ in range(5):
                twin = ramet.clone(twin)
            results[start] = twin

        for start in range(4):
            crew.start(lambda start=start: line(start))
        crew.wait()

    for twin in results.values():
        assert_same(model, twin)
        assert_independent(model, twin)


def test_cloning_while_a_thread_builds_other_models_on_the_layers():
    model = _model()
    dense = model.layers[1]
    twins = []
    with _crew() as crew:

        def build():
            while not crew.stop.is_set():
                inputs = keras.Input((4,))
                keras.Model(inputs, dense(inputs))

        crew.start(build)
        cloning = [crew.start(lambda: twins.extend(ramet.clone(model) for _ in range(10))) for _ in range(2)]
        crew.wait(cloning)

    for twin in twins:
        assert [len(layer._inbound_nodes) for layer in twin.layers] == [1] * len(twin.layers)
        assert_equal_outputs(model, twin, np.ones((1, 4), "float32"))


class Step(layers.Layer):
    """Variables of several sizes that all hold the number of steps taken, so an inconsistent copy is visible."""

    def build(self, shape):
        self.counters = [
            self.add_weight(shape=(2000 * (index % 3) + 1,), initializer="zeros", trainable=False, name=f"c{index}")
            for index in range(12)
        ]

    def call(self, x):
        for counter in self.counters:
            counter.assign(counter + 1.0)
        return x + self.counters[0][0]


def _counting_model(**compile_options):
    inputs = keras.Input((1,))
    step = Step(name="step")
    model = keras.Model(inputs, layers.Dense(1)(step(inputs)))
    model.compile("sgd", "mse", **compile_options)
    return model


def _steps_in(model):
    return [np.unique(keras.ops.convert_to_numpy(counter)).tolist() for counter in model.get_layer("step").counters]


X = np.zeros((40, 1), "float32")
LOOPS = {
    "fit": lambda model: model.fit(X, X, batch_size=1, verbose=0),
    "evaluate": lambda model: model.evaluate(X, X, batch_size=1, verbose=0),
    "predict": lambda model: model.predict(X, batch_size=1, verbose=0),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_clone_during_another_threads_loop_is_exact_or_refused(loop):
    model = _counting_model()
    LOOPS[loop](model)  # compiled once, so that the loop below spends its time in steps and not in the compiler
    twins, refusals = [], []
    with _crew() as crew:

        def run():
            while not crew.stop.is_set():
                LOOPS[loop](model)

        crew.start(run)
        for _ in range(10):
            try:
                twins.append(ramet.clone(model))
            except ramet.errors.StateElsewhereError as error:
                refusals.append(error)
        assert not crew.errors

    assert len(twins) + len(refusals) == 10
    for twin in twins:
        counts = _steps_in(twin)
        assert counts == [counts[0]] * 12, "values of different steps"
        assert len(counts[0]) == 1
        assert all(variable._value is not None for variable in twin.variables)
    for refusal in refusals:
        assert str(refusal).startswith("Cannot clone")
        assert refusal.fix


@pytest.mark.parametrize("loop", LOOPS)
def test_loop_in_another_thread_is_not_disturbed_by_clones(loop):
    model, alone = _counting_model(), _counting_model()
    for _ in range(3):
        LOOPS[loop](alone)
    with _crew() as crew:
        cloned = threading.Event()

        def clone():
            while not crew.stop.is_set():
                with contextlib.suppress(ramet.errors.StateElsewhereError):
                    ramet.clone(model)
                cloned.set()

        crew.start(clone)
        assert cloned.wait(LIMIT)
        for _ in range(3):
            LOOPS[loop](model)
        crew.stop.set()
        crew.wait()

    assert _steps_in(model) == _steps_in(alone)


def test_clone_after_the_loop_of_another_thread_is_exact():
    model = _counting_model()
    with _crew() as crew:
        crew.start(lambda: LOOPS["fit"](model))
        crew.wait()

    twin = ramet.clone(model)

    assert _steps_in(twin) == _steps_in(model)
    assert_equal_values(model, twin)


@pytest.mark.slow
def test_loop_of_another_model_does_not_prevent_cloning():
    model, other = _model(), _counting_model()
    LOOPS["fit"](other)
    with _crew() as crew:

        def run():
            while not crew.stop.is_set():
                LOOPS["fit"](other)

        crew.start(run)
        twins = [ramet.clone(model) for _ in range(5)]

    for twin in twins:
        assert_equal_values(model, twin)


@pytest.mark.slow
def test_clone_within_a_custom_training_loop_of_another_thread_is_exact_or_refused():
    """The other thread calls `train_on_batch` itself."""
    model = _counting_model()
    model.train_on_batch(X[:1], X[:1])
    twins = []
    with _crew() as crew:

        def run():
            while not crew.stop.is_set():
                model.train_on_batch(X[:1], X[:1])

        crew.start(run)
        for _ in range(10):
            with contextlib.suppress(ramet.errors.StateElsewhereError):
                twins.append(ramet.clone(model))

    for twin in twins:
        counts = _steps_in(twin)
        assert counts == [counts[0]] * 12
        assert len(counts[0]) == 1


def test_two_threads_register_rules_while_others_clone():
    model = _model()
    with _crew() as crew:

        def register():
            for index in range(50):
                ramet.register_copy(type(f"Plugin{index}", (), {}), "share")

        for work in (register, register, lambda: [ramet.clone(model) for _ in range(10)]):
            crew.start(work)
        crew.wait()

    assert_same(model, ramet.clone(model))
