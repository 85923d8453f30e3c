"""Selectors read from text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet import anything, feeds, named, nth, of_class, reads, with_config
from ramet._edit.selector_text import read_selector
from ramet._edit.selector_token import SelectorTextError

pytestmark = pytest.mark.no_backend


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("drop*", named("drop*")),
        ("encoder/block_[12]/query", named("encoder/block_[12]/query")),
        ("anything()", anything()),
        ("of_class('Dense')", of_class("Dense")),
        ('of_class("Dense", "Conv2D",)', of_class("Dense", "Conv2D")),
        ("'a*' | 'b*'", named("a*") | named("b*")),
        ("~'head'", ~named("head")),
        ("of_class('Dense') & ~named('logits')", of_class("Dense") & ~named("logits")),
        ("'a' | 'b' & 'c'", named("a") | (named("b") & named("c"))),
        ("('a' | 'b') & 'c'", (named("a") | named("b")) & named("c")),
        ("~'a' & 'b'", ~named("a") & named("b")),
        (
            "with_config(units=64, activation='relu', use_bias=False)",
            with_config(units=64, activation="relu", use_bias=False),
        ),
        (
            "with_config({'layer.units': -1.5e3, 'x': [1, (2, None)]})",
            with_config({"layer.units": -1500.0, "x": [1, (2, None)]}),
        ),
        ("of_class('Dense') & nth(0, -1)", of_class("Dense") & nth(0, -1)),
        ("reads(of_class('A') | 'b*') & feeds('c')", reads(of_class("A") | named("b*")) & feeds("c")),
        (r"named('it\'s')", named("it's")),
    ],
)
def test_a_text_is_the_selector_it_says(text, selector):
    assert read_selector(text) == selector


SELECTORS = st.recursive(
    st.one_of(
        st.text(min_size=1).map(named),
        st.lists(st.text("ABc", min_size=1), min_size=1, max_size=2).map(lambda names: of_class(*names)),
        st.integers(-9, 9).map(nth),
        st.dictionaries(
            st.text(min_size=1), st.one_of(st.booleans(), st.integers(), st.text(), st.none()), min_size=1
        ).map(with_config),
        st.just(anything()),
    ),
    lambda part: st.one_of(
        st.tuples(part, part).map(lambda two: two[0] & two[1]),
        st.tuples(part, part).map(lambda two: two[0] | two[1]),
        part.map(lambda one: ~one),
        part.map(reads),
        part.map(feeds),
    ),
    max_leaves=8,
)


@given(SELECTORS)
def test_what_a_selector_prints_reads_as_itself(selector):
    assert read_selector(repr(selector)) == selector


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("of_class('A') & of_clas('B')", 16, "there is no selector 'of_clas'"),
        ("where('x')", 0, "'where' takes a function, and a recipe runs no code"),
        ("of_class(keras.layers.Dense)", 9, "'keras.layers.Dense' has no quotes"),
        ("named('a'", 9, "it ends where ')' should be"),
        ("'a' 'b'", 4, "''b'' stands where the end, '&' or '|' should be"),
        ("a & 'b'", 0, "'a' is no selector on its own"),
        ("named(3)", 0, "it is not a string"),
        ("'a' & nth()", 6, "it says nothing about the ops that are meant"),
        ("named('x') ; 'y'", 11, "';' means nothing in a selector"),
        ("'a' & ", 6, "it ends where a selector should be"),
        ("  ", 0, "it is empty"),
        ("(" * 99, 50, "it is nested more than 50 levels deep"),
        ("with_config({1: 2})", 13, "a setting has a name in quotes"),
    ],
)
def test_a_text_that_is_no_selector_is_refused_at_the_character_that_is_wrong(text, place, reason):
    with pytest.raises(SelectorTextError) as told:
        read_selector(text)

    assert (told.value.place, str(told.value)) == (place, reason)


@given(st.text("named('x)&|~,=[]{}1.:\" \\"))
def test_any_text_is_read_or_refused(text):
    place = 0
    try:
        read_selector(text)
    except SelectorTextError as error:
        place = error.place

    assert 0 <= place <= len(text)
