"""The reference: a page of Markdown for each kind of public name, from docstrings and from the parser of the commands."""

from __future__ import annotations

import argparse
import inspect
import re
import types
from collections.abc import Iterable, Iterator

import griffe

import ramet
import ramet.testing
from ramet import edits, errors
from ramet._cli import ExitCode, build_parser

SELECTORS = ("anything", "feeds", "named", "nth", "of_class", "reads", "where", "with_config")
_FUNCTIONS = tuple(
    name for name in ramet.__all__ if isinstance(getattr(ramet, name), types.FunctionType) and name not in SELECTORS
)
_CLASSES = tuple(name for name in ramet.__all__ if isinstance(getattr(ramet, name), type))
_DOCTEST = re.compile(r"(?:^|\n)((?:>>>[^\n]*(?:\n(?!\s*\n|>>>)[^\n]*)*\n?)+)")


def public_names() -> list[str]:
    """Return every name of the reference, in full."""
    return [
        *(f"ramet.{name}" for name in ramet.__all__ if name not in ("edits", "errors")),
        *(f"ramet.edits.{name}" for name in edits.__all__),
        *(f"ramet.errors.{name}" for name in errors.__all__),
        *(f"ramet.testing.{name}" for name in ramet.testing.__all__),
    ]


def pages() -> dict[str, str]:
    """Return the generated pages by name."""
    return {
        "reference/functions": _page("Functions", _lead(ramet), _FUNCTIONS, "ramet"),
        "reference/selectors": _page(
            "Selectors",
            "A selector describes layers. Combine selectors with `&`, `|` and `~`. Wherever a selector is expected, a string is a "
            "glob over paths, a class stands for `of_class`, and a list for any of its items. [Selectors and "
            "edits](../edits.md) explains them with a model.",
            SELECTORS,
            "ramet",
        ),
        "reference/edits": _page("Edits", _lead(edits), edits.__all__, "ramet.edits"),
        "reference/results": _page(
            "Results and other classes",
            "Functions return these objects. Printing one shows a table; a notebook shows it as HTML; `to_json`, "
            "`to_markdown` and `to_html` write it.",
            _CLASSES,
            "ramet",
        ),
        "reference/errors": _page("Errors and warnings", _lead(errors), errors.__all__, "ramet.errors"),
        "reference/testing": _page("Testing", _lead(ramet.testing), ramet.testing.__all__, "ramet.testing"),
        "reference/commands": _commands(),
    }


def _lead(module: types.ModuleType) -> str:
    """Return the docstring of a module as Markdown, without what only readers of the source need."""
    text = inspect.getdoc(module) or ""
    if module is ramet:
        return "Import `ramet` and use these functions. `import ramet` loads neither Keras nor a backend; the first call does."
    return _markdown(_tree_as_block(text))


def _tree_as_block(text: str) -> str:
    """Return a text with the indented trees in it as blocks."""
    return re.sub(
        r"(?:^    [^\n]*\n(?:[ \t]*\n(?=    ))?)+",
        lambda tree: f"```text\n{inspect.cleandoc(tree[0])}\n```\n",
        text,
        flags=re.MULTILINE,
    )


def _page(title: str, lead: str, names: Iterable[str], module: str) -> str:
    parts = [f"# {title}", lead]
    for name in names:
        thing = _get(f"{module}.{name}")
        parts += [
            f"## {name}",
            _class(f"{module}.{name}", thing) if isinstance(thing, type) else _function(f"{module}.{name}", thing),
        ]
    return "\n\n".join(parts) + "\n"


def _get(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(
        {"ramet": ramet, "ramet.edits": edits, "ramet.errors": errors, "ramet.testing": ramet.testing}[module], name
    )


def _function(path: str, function: object) -> str:
    return f"::::{{py:function}} {path}{_signature(function)}\n{_docstring(function)}\n::::"


def _class(path: str, cls: type) -> str:
    is_error = issubclass(cls, BaseException)
    # Results and errors are made by ramet, so their arguments are nobody's concern.
    is_called = issubclass(cls, ramet.Edit) and cls is not ramet.Edit
    kind = "exception" if is_error else "class"
    parts = [f":::::{{py:{kind}}} {path}{_signature(cls) if is_called else ''}", _docstring(cls)]
    if is_error:
        bases = [base.__name__ for base in cls.__bases__]
        parts.insert(1, f"Also caught as: {', '.join(f'`{base}`' for base in bases)}.\n")
    if not is_called:
        parts += [_member(path, name, member) for name, member in _members(cls)]
    return "\n\n".join([*parts, ":::::"])


def _members(cls: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties that a class or one of its private bases defines."""
    described = _attributes(cls)
    for name in sorted({name for base in cls.__mro__ if base.__module__.startswith("ramet") for name in vars(base)}):
        member = inspect.getattr_static(cls, name)
        is_member = isinstance(member, property | types.FunctionType | classmethod | staticmethod) or hasattr(
            member, "func"
        )
        if not name.startswith("_") and is_member and name not in described:
            yield name, member


def _attributes(cls: type) -> set[str]:
    found = re.search(r"^Attributes:\n((?:[ ]+.*\n?|\n)+)", inspect.getdoc(cls) or "", re.MULTILINE)
    return set(re.findall(r"^    (\w+)", found[1], re.MULTILINE)) if found else set()


def _member(path: str, name: str, member: object) -> str:
    if isinstance(member, classmethod | staticmethod):
        return f"::::{{py:method}} {path}.{name}{_signature(member.__func__, is_method=True)}\n:classmethod:\n\n{_docstring(member.__func__)}\n::::"
    if isinstance(member, types.FunctionType):
        return f"::::{{py:method}} {path}.{name}{_signature(member, is_method=True)}\n{_docstring(member)}\n::::"
    return f"::::{{py:property}} {path}.{name}\n{_docstring(getattr(member, 'fget', None) or getattr(member, 'func', member))}\n::::"


def _signature(function: object, *, is_method: bool = False) -> str:
    """Return the arguments with their types and defaults, as one would write them."""
    signature = inspect.signature(function)  # type: ignore[arg-type]  # only callables arrive here
    listed, kind = [], None
    parameters = list(signature.parameters.values())
    for parameter in parameters[1:] if is_method else parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and kind not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            listed.append("*")
        kind = parameter.kind
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(kind, "")
        # Annotations are strings, because every module postpones their evaluation.
        type_of = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        listed.append(f"{stars}{parameter.name}{type_of}{default}")
    returns = signature.return_annotation if isinstance(function, types.FunctionType) else "None"
    arrow = "" if returns in (signature.empty, "None") else f" -> {returns}"
    return f"({', '.join(listed)}){arrow}"


def _docstring(thing: object) -> str:
    """Return a docstring as Markdown: text, then a list of arguments or attributes, then the example."""
    text = inspect.getdoc(thing) or ""
    parts = []
    for section in griffe.parse_google(griffe.Docstring(text), warnings=False, warn_unknown_params=False):
        if section.kind.value == "text":
            parts.append(_markdown(section.value))
        elif section.kind.value == "examples":
            parts.append(_markdown("\n".join(value for _, value in section.value)))
        else:
            title = {"parameters": "Arguments", "attributes": "Attributes", "raises": "Raises"}.get(
                section.kind.value, section.kind.value.capitalize()
            )
            parts.append(
                f"**{title}**\n\n" + "\n".join(_item(item, section.kind.value) for item in _items(section.value))
            )
    return "\n\n".join(parts)


def _items(value: object) -> list[griffe.DocstringElement]:
    return list(value) if isinstance(value, list) else [value]  # type: ignore[list-item]  # what griffe returns


def _item(item: griffe.DocstringElement, kind: str) -> str:
    name = str(item.annotation) if kind == "raises" else getattr(item, "name", "")
    description = " ".join(item.description.split())
    return f"- `{name}`: {description}" if name else description


def _markdown(text: str) -> str:
    """Return a text with its doctests in blocks of their own."""
    return _DOCTEST.sub(lambda found: f"\n\n```pycon\n{found[1].strip()}\n```\n", text).strip()


def error_table() -> str:
    """Return a table of all errors and warnings: what each means, when it is raised, and the way out."""
    rows = []
    for name in errors.__all__:
        means, *others = (inspect.getdoc(getattr(errors, name)) or "").split("\n\n")
        when = next((text for text in others if not text.startswith((">>>", "Attributes:"))), "")
        rows.append((f"`{name}`", " ".join(means.split()), " ".join(when.split())))
    return _table(("name", "meaning", "when, and the way out"), rows)


# Commands.


def _commands() -> str:
    parser = build_parser()
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    summaries = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    parts = [
        "# Commands",
        "`ramet` and `python -m ramet` are the same program. [The command line](../cli.md) shows every command with its output.",
        "## Exit codes",
        _table(
            ("code", "meaning", "for example"), [(f"`{int(code)}`", code.meaning, code.example) for code in ExitCode]
        ),
        "## ramet",
        _usage(parser),
        _table(("option", "effect"), list(_options(parser))),
    ]
    for name, command in commands.choices.items():
        examples = re.findall(r"^  (ramet .*)\n      (.*)$", command.epilog or "", re.MULTILINE)
        parts += [
            f"## ramet {name}",
            f"*{summaries[name]}*",
            _usage(command),
            command.description or "",
            _table(("argument", "effect"), list(_options(command))),
            "```sh\n" + "\n".join(f"{line}  # {purpose}" for line, purpose in examples) + "\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _usage(parser: argparse.ArgumentParser) -> str:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return f"```text\n{usage}\n```"


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        value = action.metavar or (
            f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
        )
        takes = not action.option_strings or action.nargs != 0
        names = ", ".join(action.option_strings)
        yield (
            f"`{' '.join(filter(None, [names, str(value) if takes else '']))}`",
            (action.help or "").replace("%(default)s", str(action.default)),
        )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)
