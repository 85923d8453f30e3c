"""Selectors read from text. The text is parsed, never evaluated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet import anything, feeds, named, nth, of_class, reads, with_config
from ramet._edit.selector_text import SelectorTextError, read_selector

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
def test_text_is_read_as_a_selector(text, selector):
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
def test_code_of_a_selector_is_read_as_the_selector(selector):
    assert read_selector(repr(selector)) == selector


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("of_class('A') & of_clas('B')", 16, "unknown selector 'of_clas'"),
        ("where('x')", 0, "'where' takes a function, but recipes do not run code"),
        ("of_class(keras.layers.Dense)", 9, "'keras.layers.Dense' is not in quotes"),
        ("named('a'", 5, "'(' was never closed"),
        ("'a' 'b'", 0, "expected one string in plain quotes"),
        ("named(r'a')", 6, "expected one string in plain quotes"),
        ("named(b'a')", 6, "expected a value, found 'b'a''"),
        ("named(f'{a}')", 6, "expected a value, found 'f'{a}''"),
        ("a & 'b'", 0, "'a' is not a selector"),
        ("  'é' & keras.x", 8, "'keras.x' is not a selector"),
        ("named(3)", 0, "it is not a string"),
        ("'a' & nth()", 6, "it needs at least one argument"),
        ("named('x') ; 'y'", 11, "invalid syntax"),
        (" named('x') # 'y'", 12, "unexpected character '#'"),
        ("('é') # | 'y'", 6, "unexpected character '#'"),
        ("named('x", 6, "unterminated string literal"),
        ("named('x\ny')", 0, "a string cannot span several lines"),
        ("'a' & ", 5, "invalid syntax"),
        ("of_class('A') of_class('B')", 14, "invalid syntax"),
        ("'a') & ('b'", 3, "unmatched ')'"),
        ("  ", 0, "the selector is empty"),
        ("reads(" * 60 + "'a'" + ")" * 60, 306, "the selector is nested more than 50 levels deep"),
        ("~" * 99 + "'a'", 51, "the selector is nested more than 50 levels deep"),
        ("'a' | " * 1000 + "'b'", 0, "the selector is too long"),
        ("with_config({1: 2})", 12, "the names of settings must be in quotes"),
        ("with_config({**{}})", 0, "expected a value"),
        ("with_config(**{'a': 1})", 0, "expected a value, found '**'"),
        ("named(*['a'])", 6, "expected a value, found '*['a']'"),
        ("'a' - 'b' | 'c'", 0, "expected a selector, found ''a' - 'b''"),
        ("named('a').parts | 'b'", 0, "'named('a').parts' is not a selector"),
        ("named('a')('b')", 0, "unknown selector 'named('a')'"),
        ("with_config(x=1 + 1)", 14, "expected a value, found '1 + 1'"),
        ("with_config(x=1j)", 14, "expected a value, found '1j'"),
        ("with_config(x=[y for y in z])", 14, "expected a value, found '[y for y in z]'"),
        ("reads('a', 'b')", 0, "invalid arguments (reads() takes 1 positional argument but 2 were given)"),
    ],
)
def test_text_that_is_not_a_selector_is_refused_with_the_position(text, position, reason):
    with pytest.raises(SelectorTextError) as caught:
        read_selector(text)

    assert (caught.value.position, str(caught.value)) == (position, reason)


@pytest.mark.parametrize(
    "text", ["(" * 999, "~" * 4900 + "'a'", "named(" + "[" * 99 + "]" * 99 + ")", "'\ud800' & 'a'", "'\0' & 'a'"]
)
def test_hostile_text_is_refused(text):
    with pytest.raises(SelectorTextError):
        read_selector(text)


def test_long_chain_is_read():
    text = " | ".join(["'a'"] * 800)

    assert len(read_selector(text).parts) == 800


def test_selector_may_span_lines():
    assert read_selector("\n  'a'\n  | of_class(\n'B')\n") == named("a") | of_class("B")


@given(st.text("named('x)&|~,=[]{}1.:\" \\"))
def test_any_text_is_read_or_refused(text):
    position = 0
    try:
        read_selector(text)
    except SelectorTextError as error:
        position = error.position

    assert 0 <= position <= len(text)
