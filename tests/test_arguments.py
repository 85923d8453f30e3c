"""Arguments of wrong types: every verb and every edit raises an error of ramet with a fix, and does not warn."""

import inspect
import warnings

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e

# Arrays are the hardest case: comparing one with a string returns an array.
WRONG = {
    "none": None,
    "numbers": np.array([1, 2]),
    "words": np.array(["a", "b"]),
    "negative": -1,
    "float": 1.5,
    "bytes": b"x",
    "object": object(),
    "list": [None],
    "dict": {"a": 1},
    "tensor": keras.KerasTensor((None, 3), name="foreign"),
    "nan": float("nan"),
    "empty": "",
    "unknown": "nope",
}
FITTING = {
    "selector": "conv",
    "layer": lambda old: layers.ReLU(),
    "after": "conv",
    "before": "head",
    "name": "other",
    "text": "my_",
    "policy": "float32",
    "shape": (4, 4, 3),
    "classes": 3,
    "mode": "int8",
    "rank": 2,
}


@pytest.fixture(scope="module")
def model():
    x = keras.Input((4, 4, 3), name="x")
    y = layers.Conv2D(4, 3, name="conv", padding="same")(x)
    y = layers.GlobalAveragePooling2D(name="pool")(layers.Dropout(0.1, name="drop")(y))
    return keras.Model(x, layers.Dense(2, name="head")(y), name="m")


def assert_works_or_is_refused(call):
    """Run a call: it works, or it raises an error of ramet that has a fix, without a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refusal = None
        try:
            call()
        except ramet.errors.RametError as error:
            refusal = error
    if refusal is not None:
        assert refusal.fix
        assert not [str(one.message) for one in caught if "__array__" not in str(one.message)]


EDITS = [
    (name, parameter.name)
    for name in e.__all__
    for parameter in inspect.signature(getattr(e, name)).parameters.values()
    if parameter.kind is not parameter.VAR_KEYWORD
]


@pytest.mark.parametrize(("name", "parameter"), EDITS)
def test_edit_refuses_arguments_of_wrong_types(model, name, parameter):
    function = getattr(e, name)
    needed = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    for value in WRONG.values():
        arguments = {one: FITTING[one] for one in needed} | {parameter: value}
        if name == "update":
            arguments = {"filters": 8, "weights": "pad"} | arguments
        assert_works_or_is_refused(lambda arguments=arguments: ramet.plan(model, function(**arguments)))


@pytest.mark.parametrize("policy", WRONG)
@pytest.mark.parametrize("make", [e.update, e.resize_input, e.swap_head])
def test_unknown_policy_is_refused(model, make, policy):
    arguments = {e.update: ("conv",), e.resize_input: ((4, 4, 4),), e.swap_head: (3,)}[make]
    settings = {"filters": 8} if make is e.update else {}

    with pytest.raises(ramet.errors.ArgumentError, match="unknown policy") as caught:
        ramet.edit(model, make(*arguments, weights=WRONG[policy], **settings))

    assert "'slice'" in caught.value.expected


VERBS = {
    "clone": lambda model: (ramet.clone, {"model": model}),
    "edit": lambda model: (ramet.edit, {"model": model}),
    "transfer": lambda model: (ramet.transfer, {"source": model, "target": ramet.clone(model)}),
    "sync": lambda model: (ramet.sync, {"source": model, "target": ramet.clone(model)}),
    "cut": lambda model: (ramet.cut, {"model": model, "outputs": "conv"}),
    "capture": lambda model: (ramet.capture, {"model": model}),
    "select": lambda model: (ramet.select, {"model": model, "selector": "conv"}),
    "read_recipe": lambda model: (ramet.read_recipe, {"source": "[[edit]]\nremove = 'drop'"}),
    "clone_model": lambda model: (ramet.clone_model, {"model": model}),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verb_refuses_arguments_of_wrong_types(model, verb):
    function, arguments = VERBS[verb](model)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_POSITIONAL:
            for value in WRONG.values():
                assert_works_or_is_refused(
                    lambda name=parameter.name, value=value: function(**{**arguments, name: value})
                )
