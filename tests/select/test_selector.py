"""Selectors as values: they print as the code that makes them, and are equal if their code is."""

import copy
import functools

import pytest
from hypothesis import given

from ramet import _select
from ramet._select import anything, as_selector, feeds, named, nth, of_class, reads, where, with_config
from ramet.errors import ArgumentError
from tests.graph.strategies import few
from tests.select.strategies import selectors

pytestmark = pytest.mark.no_backend

CONSTRUCTORS = {name: getattr(_select, name) for name in _select.__all__}


def is_wide(op):
    return op.units > 10


class Wide:
    def __call__(self, op):
        return True


class Live:
    """An object like a layer: it has a name and can be called."""

    name = "live"

    def __call__(self):
        return None


@pytest.mark.parametrize(
    ("selector", "code"),
    [
        (anything(), "anything()"),
        (named("a/*", "b"), "named('a/*', 'b')"),
        (of_class("Conv2D") & named("block4*"), "of_class('Conv2D') & named('block4*')"),
        (of_class(Wide, "Dense"), "of_class(Wide, 'Dense')"),
        (where(is_wide), "where(is_wide)"),
        (where(lambda op: op), "where(<lambda>)"),
        (where(functools.partial(is_wide)), "where(is_wide)"),
        (where(Wide()), "where(<Wide>)"),
        (with_config(units=64, activation="relu"), "with_config(units=64, activation='relu')"),
        (with_config({"layer.units": [3]}), "with_config({'layer.units': [3]})"),
        (nth(0, -1), "nth(0, -1)"),
        (reads(named("a") | "b"), "reads(named('a') | named('b'))"),
        (feeds(of_class("Add")), "feeds(of_class('Add'))"),
        (as_selector(Live()), "exactly(<Live 'live'>)"),
        ((named("a") | "b") & "c", "(named('a') | named('b')) & named('c')"),
        (named("a") | (named("b") & "c"), "named('a') | named('b') & named('c')"),
        (~(named("a") & "b"), "~(named('a') & named('b'))"),
        (~named("a") & "b", "~named('a') & named('b')"),
        ("a" | named("b"), "named('a') | named('b')"),
        ("a" & named("b"), "named('a') & named('b')"),
    ],
)
def test_selector_prints_as_its_code(selector, code):
    assert repr(selector) == code


@few
@given(selectors)
def test_code_of_a_selector_makes_an_equal_one(selector):
    again = eval(repr(selector), dict(CONSTRUCTORS))

    assert again == selector
    assert hash(again) == hash(selector)


@few
@given(selectors, selectors)
def test_selectors_are_equal_if_their_code_is(first, second):
    assert (first == second) == (repr(first) == repr(second))


def test_chains_are_flat_for_any_grouping():
    a, b, c = named("a"), named("b"), named("c")

    assert (a & b) & c == a & (b & c)
    assert (a | b) | c == a | (b | c)
    assert len((a | (b | c)).parts) == 3


def test_order_of_parts_matters():
    assert named("a") & named("b") != named("b") & named("a")


def test_double_negation_is_the_selector_itself():
    selector = named("a")

    assert ~~selector is selector


def test_selectors_are_frozen_and_their_copy_is_the_same_object():
    selector = named("a") & nth(0)

    with pytest.raises(AttributeError):
        selector.several = ()
    assert copy.deepcopy(selector) is selector


def test_predicates_are_compared_by_identity_and_methods_by_their_object():
    first, second = Wide(), Wide()

    assert where(is_wide) == where(is_wide)
    assert where(first) == where(first)
    assert where(first) != where(second)
    assert where(first.__call__) == where(first.__call__)
    assert where(lambda op: op) != where(lambda op: op)


def test_strings_classes_layers_and_lists_become_selectors():
    live = Live()

    assert as_selector("a/b") == named("a/b")
    assert as_selector(Wide) == of_class(Wide)
    assert as_selector(nth(0)) == nth(0)
    assert as_selector(["a", Wide, named("b") | "c"]) == named("a") | Wide | "b" | "c"
    assert as_selector(("a",)) == named("a")
    assert as_selector([]) == ~anything()
    assert as_selector(live) == as_selector(live)
    assert as_selector(live) != as_selector(Live())


@pytest.mark.parametrize(
    ("make", "summary"),
    [
        (lambda: as_selector(3), "Cannot select by an object of class int: it is not a selector."),
        (lambda: as_selector(""), "Cannot select by '': the string is empty."),
        (
            lambda: as_selector(is_wide),
            "Cannot select by an object of class function: it is not a selector.",
        ),
        (
            lambda: named("a") & None,
            "Cannot select by an object of class NoneType: it is not a selector.",
        ),
        (lambda: reads(None), "Cannot select by an object of class NoneType: it is not a selector."),
        (named, "Cannot make a selector with named(): it needs at least one argument."),
        (lambda: named(3), "Cannot select by the name 3: it is not a string."),
        (lambda: named(""), "Cannot select by the name '': it is empty."),
        (of_class, "Cannot make a selector with of_class(): it needs at least one argument."),
        (
            lambda: of_class(is_wide),
            "Cannot select by the class is_wide: it is neither a class nor the name of one.",
        ),
        (
            lambda: of_class(Live()),
            "Cannot select by the class an object of class Live: it is neither a class nor the name of one.",
        ),
        (lambda: where("a"), "Cannot select by 'a': it is not a function."),
        (with_config, "Cannot make a selector with with_config(): it needs at least one argument."),
        (
            lambda: with_config({1: 2}),
            "Cannot select by the config an object of class dict: it is not a dict of settings by name.",
        ),
        (nth, "Cannot make a selector with nth(): it needs at least one argument."),
        (lambda: nth(True), "Cannot select by the position True: it is not an integer."),
        (lambda: nth("1"), "Cannot select by the position '1': it is not an integer."),
        (
            lambda: named("a") and named("b"),
            "Cannot use a selector as true or false: it has not been applied to a model.",
        ),
    ],
)
def test_invalid_argument_is_refused_with_a_fix(make, summary):
    with pytest.raises(ArgumentError) as caught:
        make()

    assert caught.value.summary == summary
    assert caught.value.fix
