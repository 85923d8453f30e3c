"""Selectors as text: `of_class('Dense') & ~named('logits')`. The text is parsed with `ast` and never evaluated."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ramet._select import Selector, anything, as_selector, feeds, named, nth, of_class, reads, with_config
from ramet.errors import ArgumentError

_CONSTRUCTORS: dict[str, Callable[..., Selector]] = {
    "anything": anything,
    "feeds": feeds,
    "named": named,
    "nth": nth,
    "of_class": of_class,
    "reads": reads,
    "with_config": with_config,
}
_WORDS = {"true": True, "false": False}
# A word with an opening bracket, an operator, or a quote at the start: globs do not look like that.
_EXPRESSION = re.compile(r"\w\(|[&|]|^\s*[~('\"]")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
# Limits on the length of a selector, on its nesting, and on character classes in globs, whose matching takes time that grows
# with the square of their number.
_LONGEST = 5_000
_DEEPEST = 50
_MOST_BRACKETS = 100
_QUOTE = "write names and globs in quotes, e.g. of_class('Dense') & ~'head*'."


class SelectorTextError(Exception):
    """A text is not a selector. `position` is the number of the wrong character, from 0."""

    def __init__(self, reason: str, position: int, *, closest: Sequence[str] = (), fix: str | None = None) -> None:
        super().__init__(reason)
        self.position, self.closest, self.fix = position, tuple(closest), fix


def is_expression(text: str) -> bool:
    """Return whether a text is read as an expression, not as a glob."""
    return _EXPRESSION.search(text) is not None or not text.strip()


def read_selector(text: str) -> Selector:
    """Return the selector that a text describes: an expression, or else a glob over paths.

    Raises:
        SelectorTextError: The text is neither.
    """
    if len(text) > _LONGEST or text.count("[") > _MOST_BRACKETS:
        raise SelectorTextError("the selector is too long", 0, fix="split it into several edits.")
    if not text.strip():
        raise SelectorTextError(
            "the selector is empty", 0, fix="write a glob over paths, or 'anything()' for every op."
        )
    return _Reader(text).read() if is_expression(text) else as_selector(text)


class _Reader:
    """Converts the syntax tree of one expression to a selector. Only the forms below are allowed."""

    def __init__(self, text: str) -> None:
        # On one line, so that an expression may span several lines of a recipe.
        line = re.sub(r"\s", " ", text)
        self._code = line.strip()
        self._start = len(line) - len(line.lstrip())
        if any("\n" in found[0] for found in _STRING.finditer(text)):
            raise SelectorTextError("a string cannot span several lines", self._start, fix=_QUOTE)

    def read(self) -> Selector:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about odd escapes in strings
                tree = ast.parse(self._code, mode="eval").body
        except SyntaxError as error:
            # Python gives no position for the end of the text.
            position = error.offset - 1 if error.offset else len(self._code)
            reason = str(error.msg).partition(" (detected")[0].partition(". Perhaps")[0]
            raise SelectorTextError(reason, self._start + position, fix=_QUOTE) from None
        except (RecursionError, MemoryError):
            raise SelectorTextError("the selector is nested too deeply", self._start) from None
        except ValueError:  # a null byte or a lone surrogate in a string
            raise SelectorTextError("invalid character in a string", self._start) from None
        comment = self._code.encode()[tree.end_col_offset or 0 :].strip(b" )")
        if comment:
            position = len(self._code) - len(comment.decode())
            raise SelectorTextError("unexpected character '#'", self._start + position, fix=_QUOTE)
        return self._selector(tree, 0)

    def _selector(self, node: ast.expr, depth: int) -> Selector:
        if depth > _DEEPEST:
            raise self._error(f"the selector is nested more than {_DEEPEST} levels deep", node)
        match node:
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as operator):
                # A chain is as deep as it is long, so it is read in a loop.
                operands: list[ast.expr] = []
                while isinstance(node, ast.BinOp) and type(node.op) is type(operator):
                    operands.append(node.right)
                    node = node.left
                found = self._selector(node, depth + 1)
                for operand in reversed(operands):
                    part = self._selector(operand, depth + 1)
                    found = found & part if isinstance(operator, ast.BitAnd) else found | part
                return found
            case ast.UnaryOp(op=ast.Invert()):
                return ~self._selector(node.operand, depth + 1)
            case ast.Constant(value=str()):
                return self._made(as_selector, node, self._value(node, depth))
            case ast.Call():
                return self._call(node, depth)
            case ast.Name() | ast.Attribute():
                name = ast.unparse(node)
                raise self._error(
                    f"'{name}' is not a selector",
                    node,
                    closest=difflib.get_close_matches(name, _CONSTRUCTORS, n=1),
                    fix=f"write named('{name}') for a name, of_class('{name}') for a class.",
                )
        raise self._error(f"expected a selector, found '{ast.unparse(node)[:40]}'", node, fix=_QUOTE)

    def _call(self, node: ast.Call, depth: int) -> Selector:
        name = ast.unparse(node.func)
        if name == "where":
            raise self._error(
                "'where' takes a function, but recipes do not run code",
                node,
                fix="select with named, of_class or with_config, or make the edit in Python.",
            )
        if name not in _CONSTRUCTORS:
            raise self._error(
                f"unknown selector '{name}'",
                node,
                closest=difflib.get_close_matches(name, _CONSTRUCTORS, n=1) or sorted(_CONSTRUCTORS),
                fix="use a known selector; write a path that contains brackets as named('...').",
            )
        read = self._selector if name in ("reads", "feeds") else self._value
        given = [read(item, depth + 1) for item in node.args]
        by_name = {item.arg or "**": self._value(item.value, depth + 1) for item in node.keywords}
        if "**" in by_name:
            raise self._error("expected a value, found '**'", node)
        return self._made(_CONSTRUCTORS[name], node, *given, **by_name)

    def _value(self, node: ast.expr | None, depth: int) -> Any:
        """Return a literal: a string, number, truth value, None, list, tuple or dict."""
        if node is None or depth > _DEEPEST:
            raise SelectorTextError("expected a value", self._start)
        match node:
            case ast.Constant(value=str()):
                # Python joins two strings that follow each other; here, an operator is missing between them.
                if not _STRING.fullmatch(ast.get_source_segment(self._code, node) or ""):
                    raise self._error("expected one string in plain quotes", node, fix=_QUOTE)
                return node.value
            case ast.Constant(value=int() | float() | None):
                return node.value
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float() as number)):
                return -number if isinstance(node.op, ast.USub) else number
            case ast.List():
                return [self._value(item, depth + 1) for item in node.elts]
            case ast.Tuple():
                return tuple(self._value(item, depth + 1) for item in node.elts)
            case ast.Dict():
                keys = [self._value(key, depth + 1) for key in node.keys]
                if not all(isinstance(key, str) for key in keys):
                    raise self._error("the names of settings must be in quotes", node)
                return dict(zip(keys, (self._value(item, depth + 1) for item in node.values), strict=True))
            case ast.Name() if node.id in _WORDS:
                return _WORDS[node.id]
            case ast.Name() | ast.Attribute():
                name = ast.unparse(node)
                raise self._error(
                    f"'{name}' is not in quotes", node, fix=f"write '{name.rpartition('.')[2]}' in quotes."
                )
        raise self._error(f"expected a value, found '{ast.unparse(node)[:40]}'", node, fix=_QUOTE)

    def _made(self, make: Callable[..., Selector], node: ast.expr, *given: Any, **by_name: Any) -> Selector:
        """Return the selector, with errors of its constructor located in the text."""
        try:
            return make(*given, **by_name)
        except ArgumentError as error:
            raise self._error(error.summary.rpartition(": ")[2].rstrip("."), node, fix=error.fix) from None
        except TypeError as error:
            reason = str(error).removeprefix("with_config() ").rstrip(".")
            raise self._error(f"invalid arguments ({reason})", node) from None

    def _error(
        self, reason: str, node: ast.expr, *, closest: Sequence[str] = (), fix: str | None = None
    ) -> SelectorTextError:
        # `ast` counts bytes, a reader counts characters.
        before = self._code.encode()[: node.col_offset].decode()
        return SelectorTextError(reason, self._start + len(before), closest=closest, fix=fix)
