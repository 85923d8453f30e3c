"""A container that one object holds, and a second path to it that appears late: an id, foreign code, a weak reference.

The compiled walk does not look up containers with a single holder. On these paths, such a container is needed nevertheless.
"""

import collections
import copy
import gc
import itertools
import weakref

import pytest
from keras import layers

import ramet
from ramet._copy.copier import Copier
from ramet._copy.rules import rule_for
from tests.support.reach import assert_independent


class Holder:
    """An object that holds a container that nothing else holds."""

    def __init__(self, held):
        self.held = held


class Reducing:
    """An object that reaches the container of another object only deep inside its reduced state."""

    def __init__(self, holder):
        self.holder = holder

    def __reduce_ex__(self, protocol):
        return Reducing, (None,), {"holder": self.holder, "found": {"inside": [self.holder.held]}}

    def second_path(self):
        return self.found["inside"][0]


class Lending:
    """An object that copies the container of another object by `copy.deepcopy`, with the memo it gets."""

    def __init__(self, holder):
        self.holder = holder

    def __deepcopy__(self, memo):
        twin = Lending(copy.deepcopy(self.holder, memo))
        twin.found = copy.deepcopy(self.holder.held, memo)
        return twin

    def second_path(self):
        return self.found


class Meddling:
    """An object whose copy protocol puts the container of another object into a third one, bypassing the copier."""

    def __init__(self, holder=None):
        self.holder, self.third = holder, Holder(None)

    def meddle(self):
        self.third.held = self.holder.held


class MeddlingReduced(Meddling):
    def __reduce_ex__(self, protocol):
        self.meddle()
        return type(self), ()


class MeddlingByHand(Meddling):
    def __ramet_copy__(self, copy):
        self.meddle()
        return type(self)()


KINDS = {
    "list": lambda: [[1]],
    "dict": lambda: {"a": [1]},
    "ordered dict": collections.OrderedDict,
    "set": lambda: {"a"},
}


def clone_with(**held):
    layer = layers.Dense(1)
    layer.__dict__.update(held)
    gc.collect()
    twin = ramet.clone(layer)
    assert_independent(layer, twin)
    return twin


ORDERS = list(itertools.permutations(("first", "second", "third")))


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
@pytest.mark.parametrize("foreign", [Reducing, Lending])
@pytest.mark.parametrize("kind", KINDS)
def test_foreign_code_that_reaches_the_container_finds_the_same_twin(kind, foreign, order):
    holder = Holder(KINDS[kind]())
    parts = {"first": holder, "second": [foreign(holder)], "third": Holder(holder)}

    twin = clone_with(**{name: parts[name] for name in order})

    asking = twin.second[0]
    assert twin.first is asking.holder is twin.third.held
    assert twin.first.held is asking.second_path()


@pytest.mark.parametrize("foreign", Meddling.__subclasses__())
def test_foreign_code_that_adds_a_second_path_finds_the_same_twin(foreign):
    found = []
    for order, kind in itertools.product(ORDERS, KINDS):
        holder = Holder(KINDS[kind]())
        meddling = foreign(holder)
        parts = {"first": holder, "second": [meddling], "third": meddling.third}

        twin = clone_with(**{name: parts[name] for name in order})

        assert twin.third.held is None or twin.third.held is twin.first.held  # as it was when it was copied
        found.append(twin.third.held is not None)
    assert any(found)


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")], ids=" ".join)
@pytest.mark.parametrize("kind", KINDS)
def test_id_of_the_container_becomes_the_id_of_its_twin(kind, order):
    holder = Holder(KINDS[kind]())
    parts = {"first": holder, "second": {"known": id(holder.held)}}

    twin = clone_with(**{name: parts[name] for name in order})

    assert twin.second["known"] == id(twin.first.held)


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")], ids=" ".join)
@pytest.mark.parametrize("kind", ["ordered dict", "set"])
def test_weak_reference_to_the_container_refers_to_its_twin(kind, order):
    holder = Holder(KINDS[kind]())
    parts = {"first": holder, "second": weakref.ref(holder.held)}

    twin = clone_with(**{name: parts[name] for name in order})

    assert twin.second() is twin.first.held


class OwnList(list):
    pass


def own_list(item):
    made = OwnList([item])
    made.note = [1]
    return made


SHORT_LIVED = {
    "a dict": lambda item: {"a": item},
    "a dict with a key that has a twin": lambda item: {Holder(1): item},
    "a list": lambda item: [item],
    "a list with attributes": own_list,
    "an object": Holder,
}


@pytest.mark.parametrize("short_lived", SHORT_LIVED)
def test_container_reached_from_a_temporary_object_is_found_again(short_lived):
    copier, holder = Copier(rule_for), Holder([1])
    found = copier.copy(SHORT_LIVED[short_lived](holder.held))
    copier.run()
    gc.collect()

    twin = copier.copy(holder)
    copier.run()

    held = found.held if isinstance(found, Holder) else next(iter(found.values() if isinstance(found, dict) else found))
    assert twin.held is held


def test_container_that_was_set_aside_is_found():
    copier, holder = Copier(rule_for), Holder([1])
    twin = copier.copy(holder)
    copier.run()

    assert len(copier.memo) == 2
    assert copier.known([holder, holder.held, []]) == [twin, twin.held]
    assert copier.find(holder.held) is copier.copy(holder.held) is copier.memo[id(holder.held)] is twin.held
    assert dict(copier.memo.items()) == {id(holder): twin, id(holder.held): twin.held}
    assert copier.lend_memo()[id(holder.held)] is twin.held


def test_container_may_contain_its_holder():
    holder = Holder({"a": {"b": []}})
    holder.held["a"]["b"].append(holder)

    twin = clone_with(first=holder)

    assert twin.first.held["a"]["b"][0] is twin.first
