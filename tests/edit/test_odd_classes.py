"""Classes that raise arbitrary errors: every edit works or is refused with the cause, never with a bare error."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import errors, of_class
from tests.support.other_classes import Attention, Captured, Nameless, NoConfig, Sizes, around


class Moody(keras.Layer):
    """A layer with a part that raises an error in one of its methods, once it is in the model.

    Args:
        where: The method that raises.
        error: What it raises.
    """

    def __init__(self, where="", error=KeyError, **kwargs):
        super().__init__(**kwargs)
        self.where, self.error = where, error
        self.mix = layers.Dense(4, activation="relu", name="mix")
        self.is_angry = False

    def angry_in(self, method):
        if self.is_angry and self.where == method:
            raise self.error("moody")

    def build(self, shape):
        self.mix.build(shape)

    def call(self, x):
        self.angry_in("call")
        return self.mix(x)

    def get_config(self):
        self.angry_in("get_config")
        return {**super().get_config(), "where": self.where}

    def get_build_config(self):
        self.angry_in("get_build_config")
        return super().get_build_config()

    @property
    def rate(self):
        self.angry_in("attribute")
        return 0.5

    @classmethod
    def from_config(cls, config):
        if config["where"] == "from_config":
            raise TypeError("moody")
        return super().from_config(config)


def moody(where, error):
    layer = Moody(where, error, name="moody")
    model = around(
        layers.Dense(4, activation="relu", name="a"), layer, layers.Dropout(0.5, name="drop"), layers.Dense(2)
    )
    layer.is_angry = True
    return model


MODELS = {
    **{
        f"{where}_{error.__name__}": lambda where=where, error=error: moody(where, error)
        for where, error in (
            ("get_config", NotImplementedError),
            ("get_build_config", KeyError),
            ("call", IndexError),
            ("attribute", KeyError),
        )
    },
    "from_config": lambda: moody("from_config", TypeError),
    "nameless": lambda: around(layers.Dense(4, activation="relu", name="a"), Nameless(), layers.Dense(2)),
    "nameless_output": lambda: around(layers.Dense(4, activation="relu", name="a"), Nameless()),
    "no_config": lambda: around(NoConfig(layers.Dense(4, activation="relu", name="mix"), name="odd"), layers.Dense(2)),
    "composite": lambda: around(Sizes(name="sizes"), Attention(name="mha"), Captured(name="captured"), layers.Dense(2)),
}
EDITS = [
    e.replace(of_class("Dense"), lambda old: layers.Dense(old.units)),
    e.replace(["moody", "nameless", "odd", "mha"], lambda old: layers.Dense(4), required=False),
    e.wrap(of_class("Dense"), lambda old: layers.SpectralNormalization(old, name=f"{old.name}_wrapped")),
    e.insert_before(["moody", "nameless", "odd"], lambda old: layers.ReLU(), required=False),
    e.insert_after(["moody", "nameless", "odd"], lambda old: layers.ReLU(), required=False),
    e.remove(["moody", "nameless", "odd"], required=False),
    e.rename(["moody", "nameless", "odd", "mix"], lambda old: f"{old}_2", required=False),
    e.prefix("my_"),
    e.update(of_class("Dense"), activation="tanh"),
    e.update(["moody", "odd"], name="other", required=False),
    e.freeze(),
    e.freeze("mix", required=False),
    e.cast("mixed_bfloat16"),
    e.resize_input((4,)),
    e.swap_head(5),
    e.flatten(),
    e.fold_batchnorm(),
    e.drop_dropout(),
    e.split_activation(),
    e.merge_lora(),
]


@pytest.mark.filterwarnings("ignore::ramet.errors.NoEffectWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_edit_works_or_is_refused_with_a_path(kind):
    model = MODELS[kind]()
    refusals, works = [], 0
    for edit in EDITS:
        for make in (ramet.edit, lambda *args: ramet.edit(*args, unsaved=True), ramet.plan):
            try:
                make(model, edit)
                works += 1
            except errors.RametError as error:
                refusals.append(error)
    assert works > 10
    assert [one.summary for one in refusals if not one.summary.startswith("Cannot ") or not one.fix] == []


def test_cause_of_an_error_is_kept():
    with pytest.raises(errors.EditError) as caught:
        ramet.edit(moody("call", IndexError), e.update("a", activation="tanh"))

    causes, error = [], caught.value
    while error is not None:
        causes.append(type(error))
        error = error.__cause__ or error.__context__
    assert IndexError in causes
    assert "moody" in str(caught.value)


@pytest.mark.parametrize("kind", ["nameless", "nameless_output"])
def test_verbs_accept_an_operation_without_a_name(kind):
    model = MODELS[kind]()
    x = np.ones((2, 4), "float32")

    assert "nameless" in ramet.select(model, "*").paths
    assert ramet.select(model, "nameless").paths == ("nameless",)
    ramet.verify(model, ramet.clone(model)).raise_if_failed()
    assert ramet.diff(model, ramet.clone(model)).empty
    ramet.transfer(model, ramet.clone(model))
    new = ramet.edit(model, e.insert_after("a", lambda old: layers.ReLU(name="again")))
    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(one(x)) for one in (new, model)))


class Odd(keras.Layer):
    """A layer that raises a KeyError in one of its methods, once it is in the model."""

    def __init__(self, where="", **kwargs):
        super().__init__(**kwargs)
        self.where, self.is_angry = where, False
        self.mix = layers.Dense(4, name="mix")

    def angry_in(self, method):
        if self.__dict__.get("is_angry") and self.where == method:
            raise KeyError("odd")

    def build(self, shape):
        self.mix.build(shape)
        self.scale = self.add_weight(shape=(4,), initializer="ones", name="scale")

    def call(self, x):
        self.angry_in("call")
        return self.mix(x) * self.scale

    def compute_output_spec(self, x):
        self.angry_in("compute_output_spec")
        return keras.KerasTensor(x.shape, x.dtype)

    def compute_mask(self, inputs, mask=None):
        self.angry_in("compute_mask")
        return mask

    def get_config(self):
        self.angry_in("get_config")
        return {**super().get_config(), "where": self.where}

    def count_params(self):
        self.angry_in("count_params")
        return super().count_params()

    def __repr__(self):
        self.angry_in("__repr__")
        return "odd"

    @property
    def variables(self):
        self.angry_in("variables")
        return super().variables


class OddOptimizer(keras.optimizers.SGD):
    """An optimizer without a config."""

    def get_config(self):
        raise KeyError("odd")


def odd(where):
    layer = Odd(where, name="odd")
    model = around(layers.Dense(4, name="a"), layer, layers.Dense(2, name="z"))
    if where == "optimizer":
        model.compile(OddOptimizer(), "mse")
        model.optimizer.build(model.trainable_variables)
    layer.is_angry = True
    return model


VERBS = {
    "capture": lambda model: str(ramet.capture(model)),
    "select": lambda model: repr(ramet.select(model, of_class("Dense"))),
    "diff": lambda model: str(ramet.diff(model, ramet.clone(model))),
    "cut": lambda model: ramet.cut(model, "z"),
    "cut from the middle": lambda model: ramet.cut(model, "z", inputs="a"),
    "transfer": lambda model: ramet.transfer(model, ramet.clone(model)),
    "verify": lambda model: str(ramet.verify(model, ramet.clone(model), only=["structure", "state", "outputs"])),
    "draw": ramet.draw,
    "clone on inputs": lambda model: ramet.clone(model, inputs=keras.Input((4,), name="new")),
    "fresh": lambda model: ramet.clone(model, weights="fresh", seed=1),
    "clone_model": ramet.clone_model,
}
TORCH = keras.backend.backend() == "torch"
# The verbs that are refused. All others work.
REFUSED = {
    "call": (),
    "compute_output_spec": ("cut from the middle", "clone on inputs"),
    "compute_mask": ("cut from the middle", "clone on inputs"),
    "get_config": ("fresh", "clone_model"),
    "count_params": (),
    "__repr__": (),
    # On torch a model asks its layers for their variables when it is made.
    "variables": ("verify", *(("cut", "cut from the middle", "clone on inputs") if TORCH else ())),
    "optimizer": ("fresh", "clone_model"),
}


@pytest.mark.parametrize("where", REFUSED)
def test_verb_works_or_is_refused_with_the_cause(where):
    model = odd(where)
    refused = {}
    for verb, run in VERBS.items():
        try:
            run(model)
        except errors.RametError as error:
            refused[verb] = error
    assert {verb: type(error.__cause__) for verb, error in refused.items()} == dict.fromkeys(REFUSED[where], KeyError)
    assert all(error.summary.startswith("Cannot ") and error.fix for error in refused.values())
    if where.startswith("compute"):
        assert {error.path for error in refused.values()} == {"odd"}
