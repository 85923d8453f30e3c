"""Every error, by its whole text: a first line that stands alone, what was expected or found, and a way out."""

import functools
import io
import pickle
import socket
import threading
import weakref
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import errors
from ramet.errors import ArgumentError, CannotCopyError, NotAModelError, RametError
from tests.support.twins import twin_of

EXPECTED = "expected: a keras model, layer, optimizer or metric, or a list, tuple or dict of them"


def text(*lines):
    """An error's text: the first line, the others indented by two."""
    return "\n  ".join(lines)


def refused(target, **options):
    """The error that cloning gives."""
    with pytest.raises(RametError) as caught:
        ramet.clone(target, **options)
    return caught.value


# --- not a model


@pytest.mark.parametrize(
    ("value", "shown", "kind"),
    [(42, "42", "int"), (None, "None", "NoneType"), ("model.keras", "'model.keras'", "str"), (1.5, "1.5", "float")],
)
def test_a_plain_value_is_no_model(value, shown, kind):
    error = refused(value)

    assert type(error) is NotAModelError
    assert str(error) == text(
        f"Cannot clone {shown}: it is not a model.",
        EXPECTED,
        f"found:    {shown} (class {kind})",
        "fix: pass a keras model, or a list of them.",
    )


def test_a_class_is_no_model():
    assert str(refused(keras.Model)) == text(
        "Cannot clone the class Model: it is not a model.",
        EXPECTED,
        "found:    the class Model",
        "fix: pass an instance, Model(...).",
    )


def make_model():
    return keras.Sequential()


@pytest.mark.parametrize(
    ("function", "name"), [(make_model, "make_model"), (len, "len"), (lambda: None, "<lambda>"), (keras.ops.add, "add")]
)
def test_a_function_is_no_model(function, name):
    assert str(refused(function)) == text(
        f"Cannot clone the function {name}: it is not a model.",
        EXPECTED,
        f"found:    the function {name}",
        "fix: pass the model that it makes.",
    )


def test_a_method_of_a_model_is_no_model():
    assert isinstance(refused(keras.Sequential().fit), NotAModelError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ones(3),
        object,
        lambda: "m" * 100,
        lambda: keras.Input((3,)),
        lambda: keras.Variable(1.0),
        lambda: {1, 2},
        lambda: functools.partial(make_model),
        lambda: keras,
    ],
    ids=["array", "object", "long text", "tensor", "variable", "set", "partial", "module"],
)
def test_any_other_object_is_no_model(make):
    value = make()
    kind = type(value).__name__

    assert str(refused(value)) == text(
        f"Cannot clone an object of class {kind}: it is not a model.",
        EXPECTED,
        f"found:    an object of class {kind}",
        "fix: pass a keras model, or a list of them.",
    )


@pytest.mark.parametrize(
    ("collection", "place", "found", "fix"),
    [
        (lambda m: [m, 3], "item 1", "3 (class int)", "pass a keras model, or a list of them."),
        (lambda m: {"a": m, "b": None}, "item 'b'", "None (class NoneType)", "pass a keras model, or a list of them."),
        (lambda m: (m, keras.Model), "item 1", "the class Model", "pass an instance, Model(...)."),
    ],
)
def test_an_item_that_is_no_model_is_named(collection, place, found, fix):
    assert str(refused(collection(keras.Sequential()))) == text(
        f"Cannot clone {place} of the collection: it is not a model.", EXPECTED, f"found:    {found}", f"fix: {fix}"
    )


def test_what_is_no_model_is_refused_by_a_type_error_that_is_a_value_error():
    assert issubclass(NotAModelError, TypeError)
    assert issubclass(NotAModelError, ValueError)
    assert issubclass(NotAModelError, RametError)


# --- something inside cannot be copied


def net(name="net"):
    inputs = keras.Input((3,))
    return keras.Model(inputs, layers.Dense(2, name="head")(layers.Dense(3, name="body")(inputs)), name=name)


def net_with(value):
    model = net()
    # Past Keras' own wrappers, so that the very object stands there.
    object.__setattr__(model.get_layer("body"), "thing", value)
    return model


def generator():
    return (i for i in range(3))


def test_a_generator_is_refused():
    error = refused(net_with(generator()))

    assert type(error) is CannotCopyError
    assert isinstance(error, TypeError)
    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a generator; a running generator cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep what it yields, or make it when it is needed.",
    )


def test_the_parts_of_an_error_are_data():
    error = refused(net_with(generator()))

    assert error.summary == (
        "Cannot clone 'net': net.layers[1].thing is a generator; a running generator cannot be copied."
    )
    assert error.path == "net.layers[1].thing"
    assert error.found == "attribute 'thing' of layer 'body' (class Dense)"
    assert error.fix == "keep what it yields, or make it when it is needed."
    assert error.expected is None
    assert error.closest == ()


def test_an_open_file_is_refused():
    with Path(__file__).open() as file:
        error = refused(net_with(file))

    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a TextIOWrapper; an open file cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep its path and open it when it is needed, or use share=[...].",
    )


@pytest.mark.parametrize("value", [io.StringIO("abc"), io.BytesIO(b"abc")], ids=["text", "bytes"])
def test_a_file_in_memory_is_no_open_file_and_is_copied(value):
    value.read(1)

    twin = twin_of(net_with(value))

    assert twin.get_layer("body").thing.read() in ("bc", b"bc")
    assert value.read() in ("bc", b"bc")


def test_a_thread_is_refused():
    assert str(refused(net_with(threading.Thread()))) == text(
        "Cannot clone 'net': net.layers[1].thing is a Thread; a thread cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: use share=[...], or start it when it is needed.",
    )


def test_an_open_connection_is_refused():
    with socket.socket() as connection:
        error = refused(net_with(connection))

    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a socket; an open connection cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: use share=[...], or open it when it is needed.",
    )


def test_an_object_written_in_c_that_offers_no_way_to_copy_it_is_refused():
    assert str(refused(net_with(memoryview(b"data")))) == text(
        "Cannot clone 'net': net.layers[1].thing is a memoryview; ramet does not know how to copy it "
        "(TypeError: cannot pickle memoryview objects).",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a plan, ramet.register_copy(memoryview, how), or keep it as it is with share=[...].",
    )


class Handle:
    """Says itself that it cannot be copied."""

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot pickle 'Handle' object")


class NoDeepCopy:
    def __deepcopy__(self, memo):
        raise RuntimeError("there is one of me")


def test_an_object_that_refuses_to_be_pickled_is_refused_with_its_words():
    assert str(refused(net_with(Handle()))) == text(
        "Cannot clone 'net': net.layers[1].thing is a Handle; ramet does not know how to copy it "
        "(TypeError: cannot pickle 'Handle' object).",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a plan, ramet.register_copy(Handle, how), or keep it as it is with share=[...].",
    )


def test_an_object_whose_deepcopy_fails_is_refused_with_its_words():
    assert str(refused(net_with(NoDeepCopy()))) == text(
        "Cannot clone 'net': net.layers[1].thing is a NoDeepCopy; its own __deepcopy__ failed: "
        "RuntimeError: there is one of me.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a plan, ramet.register_copy(NoDeepCopy, how), or keep it as it is with share=[...].",
    )


class Failing:
    def __ramet_copy__(self, copy):
        raise KeyError("lost")


class Circular:
    def __ramet_copy__(self, copy):
        return copy(self)


def test_a_copy_method_that_fails_is_refused_with_its_words_and_its_cause():
    error = refused(net_with(Failing()))

    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a Failing; its copy function failed: KeyError: 'lost'.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a plan, ramet.register_copy(Failing, how), or keep it as it is with share=[...].",
    )
    assert type(error.__cause__) is KeyError


def test_a_copy_method_that_asks_for_itself_is_refused():
    assert refused(net_with(Circular())).summary == (
        "Cannot clone 'net': net.layers[1].thing is a Circular; "
        "its copy function asked for the very object it was making."
    )


def test_a_weak_reference_to_something_outside_is_refused():
    class Outside:
        pass

    outside = Outside()

    assert str(refused(net_with(weakref.ref(outside)))) == text(
        "Cannot clone 'net': net.layers[1].thing is a ReferenceType; "
        "it refers weakly to an object of class Outside that is not part of what is cloned.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: clone both together, ramet.clone([a, b]), or keep the target out with share=[target].",
    )


# --- where it stands


def test_inside_a_closure():
    stuck = generator()

    def activate(x):
        return x if stuck else -x

    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation=activate, name="d")], name="net")

    assert str(refused(model)) == text(
        "Cannot clone 'net': net.layers[0].activation.<closure of activate>.stuck is a generator; "
        "a running generator cannot be copied.",
        "found:    attribute 'activation' of layer 'd' (class Dense)",
        "fix: keep what it yields, or make it when it is needed.",
    )


def test_inside_a_list_in_a_dict():
    assert str(refused(net_with({"a": [1, {"b": generator()}]}))) == text(
        "Cannot clone 'net': net.layers[1].thing['a'][1]['b'] is a generator; a running generator cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep what it yields, or make it when it is needed.",
    )


def test_inside_a_list_in_a_dict_that_keras_tracks():
    model = net()
    model.get_layer("body").things = {"a": [1, generator()]}

    error = refused(model)

    assert error.path == "net.layers[1].things['a'][1]"
    assert error.found == "attribute 'things' of layer 'body' (class Dense)"


def test_in_a_layer_of_a_nested_model():
    inner = net("inner")
    inner.get_layer("body").thing = generator()
    inputs = keras.Input((3,))
    model = keras.Model(inputs, inner(inputs), name="outer")

    assert str(refused(model)) == text(
        "Cannot clone 'outer': outer.layers[1].layers[1].thing is a generator; a running generator cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep what it yields, or make it when it is needed.",
    )


def test_in_a_layer_inside_a_wrapper():
    inner = layers.Dense(2, name="d")
    inner.thing = generator()
    inputs = keras.Input((4, 3))
    model = keras.Model(inputs, layers.TimeDistributed(inner, name="td")(inputs), name="net")

    error = refused(model)

    assert error.path == "net.layers[1].layer.thing"
    assert error.found == "attribute 'thing' of layer 'd' (class Dense)"


def test_on_the_model_itself():
    model = net()
    model.source = generator()

    error = refused(model)

    assert error.path == "net.source"
    assert error.found == "attribute 'source' of model 'net' (class Functional)"


def test_on_the_optimizer():
    model = net()
    model.compile("sgd", "mse")
    model.optimizer.source = generator()

    error = refused(model)

    assert error.path == "net.optimizer.source"
    assert error.found == f"attribute 'source' of optimizer '{model.optimizer.name}' (class SGD)"


def test_on_a_variable():
    model = net()
    model.get_layer("body").kernel.note = generator()

    error = refused(model)

    assert error.path.endswith(".note")
    assert "layers[1]" in error.path
    assert "layer 'body' (class Dense)" in error.found


class Box:
    def __init__(self, **parts):
        self.__dict__.update(parts)


@pytest.mark.parametrize(
    ("wrap", "step"),
    [
        (lambda g: Box(inner=Box(source=g)), ".inner.source"),
        (lambda g: (1, (2, g)), "[1][1]"),
        (lambda g: functools.partial(print, g), ".args[0]"),
        (lambda g: functools.partial(print, end=g), ".keywords['end']"),
        (lambda g: {g}, "{...}"),
        (lambda g: {(1, 2): g}, "[...]"),
    ],
    ids=["objects", "tuples", "partial", "partial by keyword", "set", "odd key"],
)
def test_inside_things_of_every_kind(wrap, step):
    error = refused(net_with(wrap(generator())))

    assert error.path == f"net.layers[1].thing{step}"
    assert error.found == "attribute 'thing' of layer 'body' (class Dense)"


def test_inside_the_default_of_a_function():
    def function(x, source=generator()):  # noqa: B008  # that is the case
        return source

    assert refused(net_with(function)).path == "net.layers[1].thing.__defaults__[0]"


def test_in_the_second_model_of_a_list():
    error = refused([net("first"), net_with(generator())])

    assert error.path == "net.layers[1].thing"
    assert error.summary.startswith("Cannot clone 'net': ")


def test_in_a_layer_on_its_own():
    layer = layers.Dense(2, name="d")
    layer.source = generator()

    error = refused(layer)

    assert error.path == "d.source"
    assert error.found == "attribute 'source' of layer 'd' (class Dense)"


def test_in_a_model_of_a_hundred_layers_the_first_that_cannot_be_copied_is_found():
    model = keras.Sequential([keras.Input((2,)), *(layers.Identity(name=f"i{n}") for n in range(100))], name="deep")
    object.__setattr__(model.layers[70], "source", generator())

    assert refused(model).path == "deep.layers[70].source"


def test_the_way_out_share_works():
    stuck = generator()
    model = net_with(stuck)

    twin = twin_of(model, share=[stuck])

    assert twin.get_layer("body").thing is stuck


# --- arguments


@pytest.mark.parametrize("name", ["", "a/b", 3, b"x"])
def test_a_name_that_is_none(name):
    error = refused(net(), name=name)

    assert type(error) is ArgumentError
    assert isinstance(error, ValueError)
    assert str(error) == text(
        f"Cannot clone 'net' with name={name!r}: a name is a text without '/'.", "fix: choose another name."
    )


def test_the_name_of_the_original():
    assert str(refused(net(), name="net")) == text(
        "Cannot clone 'net' with name='net': that is the original's name.",
        "fix: choose a name that differs, or leave name= out for an exact twin.",
    )


def test_one_name_for_several():
    assert str(refused([net("a"), net("b")], name="c")) == text(
        "Cannot clone a collection with name=: one name cannot stand for several objects.",
        "found:    name='c' with a list of 2",
        "fix: clone without name=, or clone each on its own.",
    )


@pytest.mark.parametrize(("seed", "kind"), [("7", "str"), (1.5, "float"), (True, "bool")])
def test_a_seed_that_is_no_int(seed, kind):
    assert str(refused(net(), seed=seed)) == text(
        f"Cannot clone with seed={seed!r}: a seed is an int.",
        f"found:    a {kind}",
        "fix: pass an int, or leave seed= out to keep the random state.",
    )


def test_a_seed_may_be_an_int_of_numpy():
    model = keras.Sequential([keras.Input((3,)), layers.Dropout(0.5)])

    ours, theirs = ramet.clone(model, seed=7), ramet.clone(model, seed=np.int64(7))

    states = [keras.ops.convert_to_numpy(twin.layers[0].seed_generator.state) for twin in (ours, theirs)]
    np.testing.assert_array_equal(*states)


def test_share_takes_a_list():
    model = net()

    assert str(refused(model, share=model.get_layer("body"))) == text(
        "Cannot clone with share=: it is a list of objects.",
        "found:    an object of class Dense",
        "fix: pass share=[...], even for one object.",
    )


def test_register_copy_takes_a_class():
    with pytest.raises(ArgumentError) as caught:
        ramet.register_copy(3, "share")

    assert str(caught.value) == text(
        "Cannot register 3: it is not a class.", "fix: pass the class, not an instance of it."
    )


@pytest.mark.parametrize("how", ["shar", None, 3])
def test_register_copy_takes_a_plan(how):
    with pytest.raises(ArgumentError) as caught:
        ramet.register_copy(Box, how)

    assert str(caught.value) == text(
        f"Cannot register Box with {how!r}: there is no such plan.",
        "expected: 'share', 'refuse', or a function how(obj, copy)",
        "fix: pass one of these.",
    )


# --- the tree


def test_every_error_is_a_ramet_error_and_the_builtin_a_user_would_catch():
    bases = {
        errors.NotAModelError: (TypeError, ValueError),
        errors.ArgumentError: (ValueError,),
        errors.CannotCopyError: (TypeError,),
        errors.StateElsewhereError: (RuntimeError,),
        errors.UnsupportedKerasError: (ImportError,),
    }

    assert all(issubclass(error, (errors.RametError, *builtins)) for error, builtins in bases.items())
    assert all(issubclass(error, builtin) for error, builtins in bases.items() for builtin in builtins)
    assert issubclass(errors.SharedGlobalWarning, errors.RametWarning)
    assert issubclass(errors.RametWarning, UserWarning)


def test_an_error_travels_between_processes():
    error = refused(net_with(generator()))

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.path, again.fix, again.found) == (error.path, error.fix, error.found)


def test_at_most_three_names_are_listed():
    error = RametError("Cannot.", closest=["a", "b", "c", "d", "e"], expected="x", found="y", fix="z.")

    assert str(error) == text("Cannot.", "expected: x", "found:    y", "closest:  'a', 'b', 'c' and 2 more", "fix: z.")
