"""Selectors written as text: `of_class('Dense') & ~named('logits')`. Read, never run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from ramet._edit.selector_token import QUOTE, SelectorTextError, Token, literal, tokens_of
from ramet._select import Selector, anything, as_selector, feeds, named, nth, of_class, reads, with_config
from ramet.errors import ArgumentError

__all__ = ["is_expression", "read_selector"]

_MAKERS: dict[str, Callable[..., Selector]] = {
    "anything": anything,
    "feeds": feeds,
    "named": named,
    "nth": nth,
    "of_class": of_class,
    "reads": reads,
    "with_config": with_config,
}
_WORDS: dict[str, object] = {"True": True, "False": False, "None": None, "true": True, "false": False}
# A word with an opening bracket, an operator, or quotes in front: no glob begins or goes on like that.
_EXPRESSION = re.compile(r"\w\(|[&|]|^\s*[~('\"]")
# Brackets inside brackets: nobody writes more by hand, and Python's own stack holds it easily.
_DEEPEST = 50
# Characters of one selector, and classes of characters in its globs, which take time by the square of their number.
_LONGEST = 5_000
_MOST_BRACKETS = 100


def read_selector(text: str) -> Selector:
    """The selector that a text stands for: an expression, or else a glob over paths.

    Raises:
        SelectorTextError: It is neither.
    """
    if len(text) > _LONGEST or text.count("[") > _MOST_BRACKETS:
        raise SelectorTextError("it is too long", 0, fix="split it into several edits.")
    if not text.strip():
        raise SelectorTextError("it is empty", 0, fix="write a glob over paths, or 'anything()' for every op.")
    return _Reader(text).read() if is_expression(text) else as_selector(text)


def is_expression(text: str) -> bool:
    """Whether a text is read as an expression, and not as a glob."""
    return _EXPRESSION.search(text) is not None or not text.strip()


class _Reader:
    """Reads one expression from left to right; `~` binds most, then `&`, then `|`, as in Python."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._next = 0
        self._depth = 0

    def read(self) -> Selector:
        selector = self._any_of()
        if self._token.kind != "end":
            raise self._unexpected("the end, '&' or '|'")
        return selector

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _any_of(self) -> Selector:
        selector = self._all_of()
        while self._taken("|"):
            selector = selector | self._all_of()
        return selector

    def _all_of(self) -> Selector:
        selector = self._one()
        while self._taken("&"):
            selector = selector & self._one()
        return selector

    def _one(self) -> Selector:
        self._go_deeper()
        token = self._token
        if self._taken("~"):
            selector = ~self._one()
        elif self._taken("("):
            selector = self._any_of()
            self._expect(")")
        elif token.kind == "string":
            selector = _checked(lambda: as_selector(self._value()), token.place)
        elif token.kind == "word":
            selector = self._call()
        else:
            raise self._unexpected("a selector")
        self._depth -= 1
        return selector

    def _call(self) -> Selector:
        name = self._token
        self._next += 1
        if name.text == "where":
            raise SelectorTextError(
                "'where' takes a function, and a recipe runs no code",
                name.place,
                fix="say it with named, of_class or with_config, or make the edit in Python.",
            )
        if self._token.text != "(" or self._token.kind != "sign":
            raise SelectorTextError(
                f"'{name.text}' is no selector on its own",
                name.place,
                closest=difflib.get_close_matches(name.text, _MAKERS, n=1),
                fix=f"write named('{name.text}') for a name, of_class('{name.text}') for a class.",
            )
        if name.text not in _MAKERS:
            raise SelectorTextError(
                f"there is no selector '{name.text}'",
                name.place,
                closest=difflib.get_close_matches(name.text, _MAKERS, n=1) or sorted(_MAKERS),
                fix="use a known selector; a path with brackets in it is written named('...').",
            )
        self._next += 1
        given, by_name = self._arguments(name.text)
        return _checked(lambda: _MAKERS[name.text](*given, **by_name), name.place)

    def _arguments(self, maker: str) -> tuple[list[Any], dict[str, Any]]:
        given: list[Any] = []
        by_name: dict[str, Any] = {}
        while not self._taken(")"):
            key, follower = self._token, self._tokens[min(self._next + 1, len(self._tokens) - 1)]
            if maker in ("reads", "feeds"):
                given.append(self._any_of())
            elif key.kind == "word" and follower.text == "=":
                self._next += 2
                by_name[key.text] = self._value()
            else:
                given.append(self._value())
            if not self._taken(","):
                self._expect(")")
                break
        return given, by_name

    def _value(self) -> Any:
        """A literal: text, number, truth value, list or dict."""
        self._go_deeper()
        token = self._token
        value: Any
        if token.kind in ("string", "number"):
            self._next += 1
            value = literal(token)
        elif token.kind == "word" and token.text in _WORDS:
            self._next += 1
            value = _WORDS[token.text]
        elif self._taken("[", "("):
            items = self._listed("]" if token.text == "[" else ")", self._value)
            value = items if token.text == "[" else tuple(items)
        elif self._taken("{"):
            value = dict(self._listed("}", self._pair))
        elif token.kind == "word":
            raise SelectorTextError(
                f"'{token.text}' has no quotes", token.place, fix=f"write '{token.text.rpartition('.')[2]}' in quotes."
            )
        else:
            raise self._unexpected("a value")
        self._depth -= 1
        return value

    def _pair(self) -> tuple[Any, Any]:
        key_place = self._token.place
        key = self._value()
        if not isinstance(key, str):
            raise SelectorTextError("a setting has a name in quotes", key_place)
        self._expect(":")
        return key, self._value()

    def _listed(self, closing: str, item: Callable[[], Any]) -> list[Any]:
        items: list[Any] = []
        while not self._taken(closing):
            items.append(item())
            if not self._taken(","):
                self._expect(closing)
                break
        return items

    def _taken(self, *signs: str) -> bool:
        found = self._token.kind == "sign" and self._token.text in signs
        self._next += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._taken(sign):
            raise self._unexpected(f"'{sign}'")

    def _go_deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SelectorTextError(
                f"it is nested more than {_DEEPEST} levels deep", self._token.place, fix="split it into several edits."
            )

    def _unexpected(self, wanted: str) -> SelectorTextError:
        token = self._token
        found = "it ends" if token.kind == "end" else f"'{token.text}' stands"
        return SelectorTextError(f"{found} where {wanted} should be", token.place, fix=QUOTE)


def _checked(make: Callable[[], Selector], place: int) -> Selector:
    """The selector, with what its constructor says about wrong arguments told at its place."""
    try:
        return make()
    except ArgumentError as error:
        reason = error.summary.rpartition(": ")[2].rstrip(".")
        raise SelectorTextError(reason, place, fix=error.fix) from None
    except TypeError as error:
        reason = str(error).removeprefix("with_config() ").rstrip(".")
        raise SelectorTextError(f"its arguments do not fit ({reason})", place) from None
