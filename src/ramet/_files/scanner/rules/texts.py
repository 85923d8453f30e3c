"""Strings in a config that name functions, files or network addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ramet._files.scanner.finding import Finding
from ramet._files.scanner.names import is_known_name, is_no_class_of_keras, is_python_builtin
from ramet._files.scanner.rule import ConfigValue, Rule
from ramet._report import abbreviate

_VOCABULARIES = frozenset({"StringLookup", "IntegerLookup", "IndexLookup", "TextVectorization"})
# Lists of strings that are always data: a vocabulary may contain anything. Objects in them are judged as elsewhere.
_WORDS = frozenset({"vocabulary", "value"})
# Settings of text layers that are placeholder tokens.
_TOKENS = frozenset({"mask_token", "mask_value", "oov_token"})
# Keys under which configs name layers of the graph and their arguments. Strings there open nothing; objects there are
# judged as elsewhere.
_GRAPH = frozenset({"inbound_nodes", "input_layers", "keras_history", "output_layers"})
_GRAPH_DEPTH = 10
# A path that begins with two slashes of either kind is on another machine, on Windows.
_ADDRESS = re.compile(r"(?i:\s*(?:[a-z][a-z0-9+.-]{1,20}://|[\\/]{2}[\w.?$-]+[\\/]))")
_FILE = re.compile(r"\s*(?:/[\w.+~-]+/[^\s]|~[\w-]*/|[A-Za-z]:[\\/]|\.\.[\\/])|[^\n]{0,500}[\\/]\.\.[\\/]")
# Settings that name a function or an object of Keras.
_NAMES = re.compile(
    r"(?:\w+_)?(?:activation|initializer|regularizer|constraint)|optimizer|loss|metrics|weighted_metrics"
)
# Settings of `compile` that have one name, or names by output, in lists or not.
_COMPILE = frozenset({"loss", "metrics", "weighted_metrics"})
_COMPILE_DEPTH = 4
_LONGEST_NAME = 100


def plain_strings(value: ConfigValue, rules: Iterable[Rule]) -> Callable[[str], bool]:
    """Return a test for strings in this list that none of the rules for texts looks at."""
    if value.key in _WORDS:
        return bool
    if _naming_setting(value):
        return is_known_name
    patterns = [rule.in_lists for rule in rules if rule.in_lists is not _NOTHING]
    return lambda text: not any(pattern is None or pattern.search(text) for pattern in patterns)


def _naming_setting(value: ConfigValue) -> str:
    """Return the setting, if its strings are names of functions or objects of Keras; otherwise an empty string.

    Settings of `compile` may have names by output: `{"loss": {"out": "mse"}, "metrics": {"out": ["mae"]}}`.
    """
    if len(value.key) < _LONGEST_NAME and _NAMES.fullmatch(value.key):
        return value.key
    return value.key_above(_COMPILE, _COMPILE_DEPTH)


def _is_reference(value: ConfigValue) -> bool:
    """Return whether a string is at a position where a config names layers of the graph or their arguments."""
    return value.key in _GRAPH or bool(value.key_above(_GRAPH, _GRAPH_DEPTH))


def _is_vocabulary(value: ConfigValue) -> bool:
    return value.key == "vocabulary" and (value.owner in _VOCABULARIES or value.parent is None)


def _function_name(value: ConfigValue) -> Iterator[Finding]:
    """Find names of functions that Keras does not have: they must be registered."""
    text, setting = value.value, _naming_setting(value)
    if not setting or is_known_name(text) or _is_reference(value) or value.owner == "Variable":
        return
    unsafe = is_python_builtin(text) or is_no_class_of_keras(text) or "." in text
    yield value.finding(
        "unsafe" if unsafe else "trust",
        "function",
        f"The model needs '{abbreviate(text)}' as its {setting}, which is not part of Keras.",
        "Loading looks it up by name, and the model calls it. The file does not contain its code.",
        name=text,
    )


def _vocabulary_file(value: ConfigValue) -> Iterator[Finding]:
    if _is_vocabulary(value):
        yield value.finding(
            "unsafe",
            "file",
            f"The vocabulary is read from '{abbreviate(value.value)}', not from the model file.",
            "Loading opens that file or address; its content becomes part of the model, and can be read from it.",
            "Refused since Keras 3.12; not checked before.",
            ("CVE-2025-12058",),
        )


def _address(value: ConfigValue) -> Iterator[Finding]:
    text = value.value
    if _ADDRESS.match(text):
        kind, what = "address", f"The config contains the address '{abbreviate(text)}'."
    elif _FILE.match(text):
        kind, what = "file", f"The config contains the path of a file, '{abbreviate(text)}'."
    else:
        return
    if _is_vocabulary(value) or value.key in _TOKENS or _is_reference(value):
        return
    yield value.finding(
        "trust", kind, what, f"Whether it is opened depends on {value.owner or 'the object that takes it'}."
    )


# Names of functions are found in lists under their settings; a vocabulary in a list is data.
_NOTHING = re.compile("(?!)")

FUNCTION_NAME = Rule(
    "name of a function",
    "text",
    _function_name,
    example={"class_name": "Dense", "config": {"activation": "soften"}},
    harmless={"class_name": "Dense", "config": {"activation": "relu"}},
    in_lists=_NOTHING,
)
VOCABULARY_FILE = Rule(
    "vocabulary in another file",
    "text",
    _vocabulary_file,
    example={"class_name": "StringLookup", "config": {"vocabulary": "words.txt"}},
    harmless={"class_name": "StringLookup", "config": {"vocabulary": ["a", "b"]}},
    in_lists=_NOTHING,
)
ADDRESS = Rule(
    "path or address",
    "text",
    _address,
    example={"class_name": "Dense", "config": {"note": "https://example.org/data"}},
    harmless={"class_name": "Dense", "config": {"note": "an ordinary text"}},
    in_lists=re.compile(rf"\A(?:{_ADDRESS.pattern}|{_FILE.pattern})"),
)
