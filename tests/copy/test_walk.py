"""The walk, in Python and compiled: how often it runs, reference counts, and unusual objects.

The whole suite runs with either walk (`make test-python-walk`), which shows that both give the same results.
"""

import collections
import copy
import gc
import runpy
import subprocess
import sys
import sysconfig
import types
import weakref
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers

import ramet
import ramet._copy.model as copy_module
from ramet._copy import uses_compiled_walk
from ramet._copy.copier import Copier
from ramet._copy.rules import rule_for
from ramet._copy.walk import Walk
from ramet.errors import CannotCopyError
from tests.support.reach import assert_independent
from tests.support.twins import twin_of


@pytest.fixture
def walks(monkeypatch):
    """Return the list of walks that were started."""
    begun = []

    class Counted(copy_module.Copier):
        def __init__(self, rule_for):
            begun.append(self)
            super().__init__(rule_for)

    monkeypatch.setattr(copy_module, "Copier", Counted)
    return begun


def trained_model():
    tokens = keras.Input((5,), dtype="int32")
    x = layers.LSTM(4, return_sequences=True)(layers.Embedding(10, 4, mask_zero=True)(tokens))
    x = layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x)
    model = keras.Model(tokens, layers.Dense(2, activation="relu")(x))
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((2, 5)), np.ones((2, 5, 2)), verbose=0)
    return model


def test_ordinary_model_is_walked_once(walks):
    ramet.clone(trained_model())

    assert len(walks) == 1


def test_model_with_a_weak_reference_before_its_target_is_walked_twice(walks):
    class Child(layers.Layer):
        pass

    class Parent(layers.Layer):
        def __init__(self):
            super().__init__()
            self.first = {"back": None}
            self.child = Child()
            self.first["back"] = weakref.ref(self.child)

    parent = Parent()
    twin = twin_of(parent)

    assert twin.first["back"]() is twin.child
    assert len(walks) <= 2


def test_functions_that_share_a_cell_share_a_cell_in_the_twin(walks):
    def counter():
        count = 0

        def read(x):
            return x * count

        def step(x):
            nonlocal count
            count += 1
            return x

        return read, step

    read, step = counter()
    model = keras.Sequential([keras.Input((1,)), layers.Lambda(read), layers.Lambda(step)])
    twin = ramet.clone(model)
    new_read, new_step = (layer.function for layer in twin.layers)
    before = read(1)
    new_step(0)

    assert read(1) == before
    assert new_read(1) == before + 1


def test_compiled_walk_is_used_if_built_and_not_switched_off():
    assert issubclass(Copier, Walk) is not uses_compiled_walk()
    if not uses_compiled_walk():
        pytest.skip("the compiled walk is switched off, or was not built because there was no C compiler")


UNSUPPORTED = {
    "free-threaded": ("import sysconfig; sysconfig.get_config_var = {'Py_GIL_DISABLED': 1}.get", "needs the GIL"),
    "newer": (
        "import ramet._copy._compiled as walk; walk.NEWEST_TESTED = (3, 10)",
        "not tested on Python newer than 3.10",
    ),
    "other": ("import sys; sys.implementation.name = 'other'", "written for CPython"),
    "switched off": ("import os; os.environ['RAMET_PURE_PYTHON'] = '1'", "RAMET_PURE_PYTHON is set"),
}


@pytest.mark.no_backend
@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_python_walk_is_used_where_the_compiled_one_is_not_supported(kind, monkeypatch):
    monkeypatch.delenv("RAMET_PURE_PYTHON", raising=False)
    pretend, reason = UNSUPPORTED[kind]
    # Keras comes first: it must not see the changed interpreter.
    program = f"""
import keras
{pretend}
import ramet
from ramet._copy import why_python_walk
from ramet._copy.copier import Walk
twin = ramet.clone(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]))
print(Walk.__module__, twin.count_params(), why_python_walk())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)

    assert done.stdout.startswith("ramet._copy.walk 8 ")
    assert reason in done.stdout


@pytest.mark.no_backend
def test_walk_is_not_compiled_for_a_free_threaded_python(monkeypatch):
    interface = types.SimpleNamespace(BuildHookInterface=object)  # hatchling is installed while building only
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    monkeypatch.delenv("RAMET_PURE_PYTHON", raising=False)
    root = Path(__file__).parents[2]
    hook = runpy.run_path(str(root / "hatch_build.py"))

    with pytest.raises(RuntimeError, match="free-threaded"):
        hook["compile_walk"](root)


def a_model():
    tokens = keras.Input((5,), dtype="int32")
    x = layers.Embedding(10, 4, mask_zero=True)(tokens)
    x = layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x)
    x = layers.Dense(2, activation="relu")(layers.LayerNormalization()(x))
    model = keras.Model(tokens, x)
    model.compile("adam", "mse", metrics=["mae"])
    return model


def copied_of(model, monkeypatch):
    """Return the objects of a model that are copied for the twin."""
    walks = []

    class Kept(Copier):
        def __init__(self, rule_for):
            super().__init__(rule_for)
            walks.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(copy_module, "Copier", Kept)
        twin = ramet.clone(model)
    copied = {old for old, new in walks[-1].memo.items() if id(new) != old}
    del twin, walks[:]
    return [value for value in gc.get_objects() if id(value) in copied]


def counts_of(objects):
    return [sys.getrefcount(value) for value in objects]


def test_reference_counts_of_the_original_are_unchanged(monkeypatch):
    model = a_model()
    ramet.clone(model)
    objects = copied_of(model, monkeypatch)
    gc.collect()
    before = counts_of(objects)

    for _ in range(5):
        ramet.clone(model)
    gc.collect()

    changed = [type(value) for value, old, new in zip(objects, before, counts_of(objects), strict=True) if old != new]
    assert len(objects) > 200
    assert not changed


def test_walk_is_freed_after_the_call():
    model = a_model()
    ramet.clone(model)
    gc.collect()
    gc.disable()
    try:
        ramet.clone(model)
        assert not [value for value in gc.get_objects() if isinstance(value, Walk) or type(value) is Copier]
    finally:
        gc.enable()


def test_memo_is_a_dict_from_ids_to_twins():
    memo = Copier(rule_for).memo
    kept = [object() for _ in range(5_000)]
    memo.update({id(value): index for index, value in enumerate(kept)})
    memo[id(kept[7])] = "another"

    assert len(memo) == 5_000
    assert [number for number, _ in memo.items()] == list(map(id, kept))
    assert [twin for _, twin in memo.items()] == [*range(7), "another", *range(8, 5_000)]
    assert memo[id(kept[8])] == memo.get(id(kept[8])) == 8
    for unknown in (0, 1, -1, 2**63, 2**200, -(2**200), id(memo)):
        assert unknown not in memo
        assert memo.get(unknown, "nothing") == "nothing"
        with pytest.raises(KeyError):
            memo[unknown]


def test_foreign_code_gets_a_dict_and_its_entries_are_added_to_the_memo():
    copier = Copier(rule_for)
    is_the_memo = copier.lend_memo() is copier.memo  # true for the walk in Python
    kept = [object() for _ in range(4)]
    copier.memo[id(kept[0])] = "first"
    for number, old in enumerate(kept[1:]):
        lent = copier.lend_memo()
        assert type(lent) is dict
        assert lent[id(kept[0])] == ("first" if number < 2 else "changed")
        assert len(lent) == 1 + number + (3 if number else 0)
        lent[id(old)] = number
        lent["note"] = lent[-1] = lent[id(lent)] = kept
        copier.take_memo_back()
        assert copier.memo[id(old)] == number
        if number == 1:
            copier.memo[id(kept[0])] = "changed"
        assert id(lent) not in copier.memo or is_the_memo
    assert len(copier.memo) == (7 if is_the_memo else 4)


class Particular:
    """An object whose `__deepcopy__` accepts only a dict, like some written in C."""

    def __init__(self, part):
        self.part = part

    def __deepcopy__(self, memo):
        assert type(memo) is dict
        return type(self)(copy.deepcopy(self.part, memo))


def test_copy_protocol_that_needs_a_dict_keeps_sharing():
    common = [1]
    layer, twin = on_a_layer([Particular(common), common, Particular(common)])

    assert_independent(layer, twin)
    first, middle, last = twin.held
    assert first.part is middle is last.part


class Slotted:
    __slots__ = ("ident", "never", "part")


class SlottedAndMore(Slotted):
    pass


def on_a_layer(value):
    layer = layers.Dense(1)
    layer.__dict__["held"] = value
    return layer, twin_of(layer)


def test_slots_are_filled_with_twins_and_ids_and_empty_ones_stay_empty():
    held = SlottedAndMore()
    held.part, held.more = [held], {"a": held}
    held.ident = id(held.part)

    layer = layers.Dense(1)
    layer.__dict__["held"] = held
    twin = ramet.clone(layer)  # not `twin_of`, which would compare the ids

    assert_independent(layer, twin)
    assert type(twin.held) is SlottedAndMore
    assert twin.held.part[0] is twin.held.more["a"] is twin.held
    assert twin.held.ident == id(twin.held.part)
    assert not hasattr(twin.held, "never")


def test_ordered_dict_with_attributes_keeps_them_and_its_order():
    held = collections.OrderedDict([("b", [1]), ("a", 2)])
    held.note = held["b"]
    held.move_to_end("b")

    layer, twin = on_a_layer(held)

    assert_independent(layer, twin)
    assert list(twin.held.items()) == [("a", 2), ("b", [1])]
    assert twin.held.note is twin.held["b"]
    twin.held.move_to_end("a")
    assert list(twin.held) == ["b", "a"]


@pytest.mark.parametrize("base", [list, dict, set, collections.OrderedDict, collections.deque])
def test_container_with_slots_keeps_its_slots(base):
    cls = type("Own", (base,), {"__slots__": ("never", "tag")})
    held = cls()
    held.tag = [held]

    layer, twin = on_a_layer(held)

    assert_independent(layer, twin)
    assert twin.held.tag[0] is twin.held
    assert not hasattr(twin.held, "never")


def test_slots_of_immutable_containers_are_not_lost():
    held = type("Own", (frozenset,), {"__slots__": ("tag",)})("ab")
    held.tag = [1]
    with pytest.raises(CannotCopyError, match="keeps attributes in __slots__"):
        on_a_layer(held)


def foreign(*_):
    raise AssertionError("an overridden method was called")


@pytest.mark.parametrize("items", [["a", "b"], [[1], 2]], ids=["constant", "not constant"])
@pytest.mark.parametrize("base", [list, dict, set, collections.OrderedDict, collections.defaultdict])
def test_overridden_container_methods_are_bypassed(base, items):
    names = (
        "__iter__",
        "__len__",
        "__getitem__",
        "__setitem__",
        "keys",
        "items",
        "values",
        "copy",
        "update",
        "append",
        "add",
    )
    cls = type("Own", (base,), {name: foreign for name in names if hasattr(base, name)})
    held = cls()
    if base is list:
        list.extend(held, items)
    elif base is set:
        set.update(held, [item if type(item) is str else Slotted() for item in items])
    else:
        put = collections.OrderedDict.__setitem__ if base is collections.OrderedDict else dict.__setitem__
        for number, item in enumerate(items):
            put(held, f"k{number}", item)
    layer = layers.Dense(1)
    layer.__dict__["held"] = held

    twin = ramet.clone(layer).held

    assert type(twin) is cls
    assert twin is not held
    if base is list:
        assert list.__eq__(twin, held)
    elif base is set:
        assert set.__len__(twin) == 2
    else:
        assert dict.__eq__(dict(dict.items(twin)), dict(dict.items(held)))


@pytest.mark.parametrize("keys", ["part", "id", "tuple"])
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, collections.Counter])
def test_keys_of_a_dict_are_replaced_by_their_twins(kind, keys):
    layer = layers.Dense(1)
    part = layer.__dict__["part"] = layers.Dense(1)
    key = {"part": part, "id": id(part), "tuple": (part, 1)}[keys]
    layer.__dict__["held"] = kind({key: 1})
    twin = twin_of(layer)
    expected = {"part": twin.part, "id": id(twin.part), "tuple": (twin.part, 1)}[keys]
    assert type(twin.held) is kind
    assert list(twin.held.items()) == [(expected, 1)]


def test_default_dict_creates_the_same_defaults():
    layer, twin = on_a_layer(collections.defaultdict(list, {1: [2], 3: [4]}))
    assert_independent(layer, twin)
    assert twin.held == {1: [2], 3: [4]}
    twin.held[5].append(6)
    assert 5 not in layer.held


def with_everything(layer):
    """Return a function with everything that a function can have."""

    def function(x: int, factor: list = [2], *, options: dict = {"a": 1}) -> "list":  # noqa: B006  # this is what is tested
        """Its text."""
        return layer, x, factor, options

    function.note = [layer]
    function.__name__ = "renamed"
    function.__qualname__ = "somewhere.renamed"
    function.__module__ = "elsewhere"
    function.__doc__ = "Another text."
    return function


def test_function_keeps_all_its_parts():
    layer = layers.Dense(1)
    layer.__dict__["held"] = old = with_everything(layer)

    twin = twin_of(layer)
    new = twin.held

    assert_independent(layer, twin)
    owner, x, factor, options = new(3)
    assert (owner, x, factor, options) == (twin, 3, [2], {"a": 1})
    assert factor is not old.__defaults__[0]
    assert options is not old.__kwdefaults__["options"]
    assert new.note == [twin]
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(new, name) == getattr(old, name), name


@pytest.mark.skipif(sys.version_info < (3, 12), reason="functions have type parameters since Python 3.12")
def test_function_keeps_its_type_parameters():
    names = {"layer": layers.Dense(1)}
    exec("def make(layer):\n    def function[T](x: T) -> T:\n        return layer\n    return function", names)
    layer = names["layer"]
    layer.__dict__["held"] = names["make"](layer)
    twin = twin_of(layer)
    assert twin.held.__type_params__ == layer.held.__type_params__
    assert twin.held(1) is twin


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated when they are read since Python 3.14")
def test_annotations_of_a_function_are_not_evaluated():
    names = {"layer": layers.Dense(1)}
    exec("def make(layer):\n    def function(x: Later) -> int:\n        return layer\n    return function", names)
    layer = names["layer"]
    layer.__dict__["held"] = names["make"](layer)
    twin = ramet.clone(layer)
    names["Later"] = str
    assert twin.held.__annotations__ == {"x": str, "return": int}
    assert twin.held(1) is twin


@pytest.mark.slow
def test_deep_nesting_needs_no_recursion():
    nest = bottom = []
    for _ in range(20_000):
        inner = [{"a": ([],)}]
        bottom.append(inner)
        bottom = inner[0]["a"][0]
    _, twin = on_a_layer(nest)
    depth, level = 0, twin.held
    while level:
        level = level[0][0]["a"][0]
        depth += 1
    assert depth == 20_000


@pytest.mark.parametrize("base", [object, list, dict, set])
def test_class_that_defines_dict_as_a_property_is_refused(base):
    cls = type("Hidden", (base,), {"__dict__": property(lambda self: {})})
    with pytest.raises(CannotCopyError, match="its class defines __dict__ as a property"):
        on_a_layer(cls())
