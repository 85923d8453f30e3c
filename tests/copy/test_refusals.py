"""The complete texts of all errors: a self-contained first line, what was expected or found, and a fix."""

import collections
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

EXPECTED = "expected: a Keras model, layer, optimizer or metric, or a list, tuple or dict of them"


def text(*lines):
    """Return the text of an error: the first line, the others indented by two."""
    return "\n  ".join(lines)


def refused(target, **options):
    """Return the error that cloning raises."""
    with pytest.raises(RametError) as caught:
        ramet.clone(target, **options)
    return caught.value


# --- not a model


@pytest.mark.parametrize(
    ("value", "text_of_value", "kind"),
    [(42, "42", "int"), (None, "None", "NoneType"), ("model", "'model'", "str"), (1.5, "1.5", "float")],
)
def test_plain_value_is_refused(value, text_of_value, kind):
    error = refused(value)

    assert type(error) is NotAModelError
    assert str(error) == text(
        f"Cannot clone {text_of_value}: it is not a model.",
        EXPECTED,
        f"found:    {text_of_value} (class {kind})",
        "fix: pass a Keras model, or a list of models.",
    )


@pytest.mark.parametrize("path", ["model.keras", Path("model.keras")])
def test_path_of_a_file_is_refused_with_the_way_to_load_it(path):
    assert refused(path).fix == "load the file and pass the model, or use the command `ramet clone`."


def test_model_class_is_refused():
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
def test_model_function_is_refused(function, name):
    assert str(refused(function)) == text(
        f"Cannot clone the function {name}: it is not a model.",
        EXPECTED,
        f"found:    the function {name}",
        "fix: call the function and pass the model it returns.",
    )


def test_method_of_a_model_is_refused():
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
def test_any_other_object_is_refused(make):
    value = make()
    kind = type(value).__name__

    assert str(refused(value)) == text(
        f"Cannot clone an object of class {kind}: it is not a model.",
        EXPECTED,
        f"found:    an object of class {kind}",
        "fix: pass a Keras model, or a list of models.",
    )


@pytest.mark.parametrize(
    ("collection", "item", "found", "fix"),
    [
        (lambda m: [m, 3], "item 1", "3 (class int)", "pass a Keras model, or a list of models."),
        (
            lambda m: {"a": m, "b": None},
            "item 'b'",
            "None (class NoneType)",
            "pass a Keras model, or a list of models.",
        ),
        (lambda m: (m, keras.Model), "item 1", "the class Model", "pass an instance, Model(...)."),
    ],
)
def test_item_that_is_not_a_model_is_named(collection, item, found, fix):
    assert str(refused(collection(keras.Sequential()))) == text(
        f"Cannot clone {item} of the collection: it is not a model.", EXPECTED, f"found:    {found}", f"fix: {fix}"
    )


def test_error_for_a_non_model_is_a_type_error_and_a_value_error():
    assert issubclass(NotAModelError, TypeError)
    assert issubclass(NotAModelError, ValueError)
    assert issubclass(NotAModelError, RametError)


# --- objects that cannot be copied


def net(name="net"):
    inputs = keras.Input((3,))
    return keras.Model(inputs, layers.Dense(2, name="head")(layers.Dense(3, name="body")(inputs)), name=name)


def net_with(value):
    model = net()
    # Without Keras' wrappers, so that the attribute is the object itself.
    object.__setattr__(model.get_layer("body"), "thing", value)
    return model


def generator():
    return (i for i in range(3))


def test_generator_is_refused():
    error = refused(net_with(generator()))

    assert type(error) is CannotCopyError
    assert isinstance(error, TypeError)
    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a generator; a running generator cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep what it yields, or create it when it is needed.",
    )


def test_parts_of_an_error_are_data():
    error = refused(net_with(generator()))

    assert error.summary == (
        "Cannot clone 'net': net.layers[1].thing is a generator; a running generator cannot be copied."
    )
    assert error.path == "net.layers[1].thing"
    assert error.found == "attribute 'thing' of layer 'body' (class Dense)"
    assert error.fix == "keep what it yields, or create it when it is needed."
    assert error.expected is None
    assert error.closest == ()


def test_open_file_is_refused():
    with Path(__file__).open(encoding="utf-8") as file:
        error = refused(net_with(file))

    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a TextIOWrapper; an open file cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep its path and open it when it is needed, or use share=[...].",
    )


@pytest.mark.parametrize("value", [io.StringIO("abc"), io.BytesIO(b"abc")], ids=["text", "bytes"])
def test_file_in_memory_is_copied(value):
    value.read(1)

    twin = twin_of(net_with(value))

    assert twin.get_layer("body").thing.read() in ("bc", b"bc")
    assert value.read() in ("bc", b"bc")


def test_thread_is_refused():
    assert str(refused(net_with(threading.Thread()))) == text(
        "Cannot clone 'net': net.layers[1].thing is a Thread; a thread cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: use share=[...], or start it when it is needed.",
    )


def test_open_connection_is_refused():
    with socket.socket() as connection:
        error = refused(net_with(connection))

    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a socket; an open connection cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: use share=[...], or open it when it is needed.",
    )


def test_object_written_in_c_without_a_copy_protocol_is_refused():
    assert str(refused(net_with(memoryview(b"data")))) == text(
        "Cannot clone 'net': net.layers[1].thing is a memoryview; ramet does not know how to copy it "
        "(TypeError: cannot pickle memoryview objects).",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a copy rule, ramet.register_copy(memoryview, how), or share it with share=[...].",
    )


class Handle:
    """An object that refuses to be copied."""

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot pickle 'Handle' object")


class NoDeepCopy:
    def __deepcopy__(self, memo):
        raise RuntimeError("there is one of me")


def test_object_that_refuses_to_be_pickled_is_refused_with_its_message():
    assert str(refused(net_with(Handle()))) == text(
        "Cannot clone 'net': net.layers[1].thing is a Handle; ramet does not know how to copy it "
        "(TypeError: cannot pickle 'Handle' object).",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a copy rule, ramet.register_copy(Handle, how), or share it with share=[...].",
    )


def test_object_whose_deepcopy_fails_is_refused_with_its_message():
    assert str(refused(net_with(NoDeepCopy()))) == text(
        "Cannot clone 'net': net.layers[1].thing is a NoDeepCopy; its own __deepcopy__ failed: "
        "RuntimeError: there is one of me.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a copy rule, ramet.register_copy(NoDeepCopy, how), or share it with share=[...].",
    )


class Failing:
    def __ramet_copy__(self, copy):
        raise KeyError("lost")


class Circular:
    def __ramet_copy__(self, copy):
        return copy(self)


def test_failing_copy_method_is_refused_with_its_message_and_cause():
    error = refused(net_with(Failing()))

    assert str(error) == text(
        "Cannot clone 'net': net.layers[1].thing is a Failing; its copy function failed: KeyError: 'lost'.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: register a copy rule, ramet.register_copy(Failing, how), or share it with share=[...].",
    )
    assert type(error.__cause__) is KeyError


def test_copy_method_that_copies_itself_is_refused():
    assert refused(net_with(Circular())).summary == (
        "Cannot clone 'net': net.layers[1].thing is a Circular; "
        "its copy function requested the object that it was making."
    )


def test_weak_reference_to_something_outside_is_refused():
    class Outside:
        pass

    outside = Outside()

    assert str(refused(net_with(weakref.ref(outside)))) == text(
        "Cannot clone 'net': net.layers[1].thing is a ReferenceType; "
        "its target, an object of class Outside, is not part of what is cloned.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: clone both together, ramet.clone([a, b]), or share the target with share=[target].",
    )


# --- the path of the object


def test_path_inside_a_closure_is_given():
    stuck = generator()

    def activate(x):
        return x if stuck else -x

    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, activation=activate, name="d")], name="net")

    assert str(refused(model)) == text(
        "Cannot clone 'net': net.layers[0].activation.<closure of activate>.stuck is a generator; "
        "a running generator cannot be copied.",
        "found:    attribute 'activation' of layer 'd' (class Dense)",
        "fix: keep what it yields, or create it when it is needed.",
    )


def test_path_inside_a_list_in_a_dict_is_given():
    assert str(refused(net_with({"a": [1, {"b": generator()}]}))) == text(
        "Cannot clone 'net': net.layers[1].thing['a'][1]['b'] is a generator; a running generator cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep what it yields, or create it when it is needed.",
    )


def test_path_inside_a_list_in_a_tracked_dict_is_given():
    model = net()
    model.get_layer("body").things = {"a": [1, generator()]}

    error = refused(model)

    assert error.path == "net.layers[1].things['a'][1]"
    assert error.found == "attribute 'things' of layer 'body' (class Dense)"


def test_path_in_a_layer_of_a_nested_model_is_given():
    inner = net("inner")
    inner.get_layer("body").thing = generator()
    inputs = keras.Input((3,))
    model = keras.Model(inputs, inner(inputs), name="outer")

    assert str(refused(model)) == text(
        "Cannot clone 'outer': outer.layers[1].layers[1].thing is a generator; a running generator cannot be copied.",
        "found:    attribute 'thing' of layer 'body' (class Dense)",
        "fix: keep what it yields, or create it when it is needed.",
    )


def test_path_in_a_layer_inside_a_wrapper_is_given():
    inner = layers.Dense(2, name="d")
    inner.thing = generator()
    inputs = keras.Input((4, 3))
    model = keras.Model(inputs, layers.TimeDistributed(inner, name="td")(inputs), name="net")

    error = refused(model)

    assert error.path == "net.layers[1].layer.thing"
    assert error.found == "attribute 'thing' of layer 'd' (class Dense)"


def test_path_on_the_model_itself_is_given():
    model = net()
    model.source = generator()

    error = refused(model)

    assert error.path == "net.source"
    assert error.found == "attribute 'source' of model 'net' (class Functional)"


def test_path_on_the_optimizer_is_given():
    model = net()
    model.compile("sgd", "mse")
    model.optimizer.source = generator()

    error = refused(model)

    assert error.path == "net.optimizer.source"
    assert error.found == f"attribute 'source' of optimizer '{model.optimizer.name}' (class SGD)"


def test_path_on_a_variable_is_given():
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
    ids=["objects", "tuples", "partial", "partial by keyword", "set", "unusual key"],
)
def test_path_inside_containers_of_every_kind_is_given(wrap, step):
    error = refused(net_with(wrap(generator())))

    assert error.path == f"net.layers[1].thing{step}"
    assert error.found == "attribute 'thing' of layer 'body' (class Dense)"


def test_path_inside_the_default_of_a_function_is_given():
    def function(x, source=generator()):  # noqa: B008  # this is what is tested
        return source

    assert refused(net_with(function)).path == "net.layers[1].thing.__defaults__[0]"


def test_path_in_the_second_model_of_a_list_is_given():
    error = refused([net("first"), net_with(generator())])

    assert error.path == "net.layers[1].thing"
    assert error.summary.startswith("Cannot clone 'net': ")


def test_path_in_a_layer_cloned_alone_is_given():
    layer = layers.Dense(2, name="d")
    layer.source = generator()

    error = refused(layer)

    assert error.path == "d.source"
    assert error.found == "attribute 'source' of layer 'd' (class Dense)"


def test_path_of_the_first_failure_in_a_hundred_layers_is_given():
    model = keras.Sequential([keras.Input((2,)), *(layers.Identity(name=f"i{n}") for n in range(100))], name="deep")
    object.__setattr__(model.layers[70], "source", generator())

    assert refused(model).path == "deep.layers[70].source"


def test_suggested_fix_share_works():
    stuck = generator()
    model = net_with(stuck)

    twin = twin_of(model, share=[stuck])

    assert twin.get_layer("body").thing is stuck


# --- arguments


@pytest.mark.parametrize("name", ["", "a/b", 3, b"x"])
def test_invalid_name_is_refused(name):
    error = refused(net(), name=name)

    assert type(error) is ArgumentError
    assert isinstance(error, ValueError)
    assert str(error) == text(
        f"Cannot clone 'net' with name={name!r}: a name is a non-empty string without '/'.", "fix: choose another name."
    )


def test_name_of_the_original_is_refused():
    assert str(refused(net(), name="net")) == text(
        "Cannot clone 'net' with name='net': the original has the same name.",
        "fix: choose a different name, or omit name= for an exact twin.",
    )


def test_one_name_for_several_objects_is_refused():
    assert str(refused([net("a"), net("b")], name="c")) == text(
        "Cannot clone a collection with name=: one name cannot be given to several objects.",
        "found:    name='c' with a list of 2",
        "fix: clone without name=, or clone each object separately.",
    )


@pytest.mark.parametrize(("seed", "kind"), [("7", "str"), (1.5, "float"), (True, "bool")])
def test_seed_that_is_not_an_int_is_refused(seed, kind):
    assert str(refused(net(), seed=seed)) == text(
        f"Cannot clone with seed={seed!r}: a seed is an int.",
        f"found:    a {kind}",
        "fix: pass an int, or omit seed= to keep the random state.",
    )


def test_seed_may_be_a_numpy_integer():
    model = keras.Sequential([keras.Input((3,)), layers.Dropout(0.5)])

    ours, theirs = ramet.clone(model, seed=7), ramet.clone(model, seed=np.int64(7))

    states = [keras.ops.convert_to_numpy(twin.layers[0].seed_generator.state) for twin in (ours, theirs)]
    np.testing.assert_array_equal(*states)


def test_share_without_a_list_is_refused():
    model = net()

    assert str(refused(model, share=model.get_layer("body"))) == text(
        "Cannot clone with share=: it must be a list of objects.",
        "found:    an object of class Dense",
        "fix: pass share=[...], even for one object.",
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "body",
            text(
                "Cannot clone with share=['body']: share= takes the objects themselves.",
                "found:    a name of class str",
                "fix: pass the layer, for example model.get_layer('body').",
            ),
        ),
        (
            3,
            text(
                "Cannot clone with share=[3]: share= takes the objects themselves.",
                "found:    a value of class int",
                "fix: pass objects of the model.",
            ),
        ),
    ],
)
def test_sharing_a_name_or_a_value_is_refused(value, message):
    assert str(refused(net(), share=[value])) == message


def test_sharing_a_layer_of_another_model_is_refused_after_both_were_trained():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="body")])
    model.compile("adam", "mse")
    data = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    model.fit(*data, verbose=0)
    twin = ramet.clone(model)
    twin.fit(*data, verbose=0)
    ramet.verify(model, ramet.clone(model))

    assert "the layer 'body' is not part of it" in str(refused(model, share=[twin.get_layer("body")]))
    assert ramet.clone(model, share=[model.get_layer("body")]).get_layer("body") is model.get_layer("body")


def test_sharing_a_layer_of_another_model_is_refused():
    model = net()
    twin = ramet.clone(model)

    assert str(refused(twin, share=[model.get_layer("body")])) == text(
        f"Cannot clone '{twin.name}' with share=: the layer 'body' is not part of it.",
        "found:    a Dense; the model has another layer of that name",
        "fix: pass layers of the model that is cloned, for example model.get_layer(...).",
    )


def _in_an_array(layer):
    array = np.empty(1, object)
    array[0] = layer
    return array


def _in_a_closure(layer):
    return lambda: layer


class _Slots:
    __slots__ = ("layer",)

    def __init__(self, layer):
        self.layer = layer


HOLDERS = {
    "deque": lambda layer: collections.deque([layer]),
    "tuple in a dict": lambda layer: {"parts": (layer,)},
    "closure": _in_a_closure,
    "partial": lambda layer: functools.partial(_in_a_closure, layer),
    "weak reference": weakref.ref,
    "array of objects": _in_an_array,
    "slots": _Slots,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_layer_can_be_shared_however_the_model_holds_it(holder):
    model, layer = net(), layers.Dense(2, name="held")
    model.helper = HOLDERS[holder](layer)

    twin = ramet.clone(model, share=[layer])

    assert twin.get_layer("body") is not model.get_layer("body")


def test_register_copy_refuses_an_instance():
    with pytest.raises(ArgumentError) as caught:
        ramet.register_copy(3, "share")

    assert str(caught.value) == text(
        "Cannot register 3: it is not a class.", "fix: pass the class itself, not its name or an instance of it."
    )


@pytest.mark.parametrize("how", ["shar", None, 3])
def test_register_copy_refuses_an_unknown_rule(how):
    with pytest.raises(ArgumentError) as caught:
        ramet.register_copy(Box, how)

    assert str(caught.value) == text(
        f"Cannot register Box with {how!r}: unknown copy rule.",
        "expected: 'share', 'refuse', or a function how(obj, copy)",
        "fix: pass one of these.",
    )


# --- the exception tree


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


def test_errors_survive_pickling():
    error = refused(net_with(generator()))

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.path, again.fix, again.found) == (error.path, error.fix, error.found)


def test_at_most_three_names_are_listed():
    error = RametError("Cannot.", closest=["a", "b", "c", "d", "e"], expected="x", found="y", fix="z.")

    assert str(error) == text("Cannot.", "expected: x", "found:    y", "closest:  'a', 'b', 'c' and 2 more", "fix: z.")
