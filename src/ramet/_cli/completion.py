"""Shell completion: scripts made from the parser, which do not start Python on each key press."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

SHELLS = ("bash", "zsh", "fish")
Values: TypeAlias = Literal["none", "any", "file"] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Option:
    """One option and its possible values."""

    names: tuple[str, ...]
    about: str
    values: Values


@dataclass(frozen=True, slots=True)
class _Word:
    """One command with its options."""

    name: str
    about: str
    options: tuple[_Option, ...]


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell: "bash", "zsh" or "fish"."""
    write: dict[str, Callable[[tuple[_Option, ...], list[_Word]], Iterator[str]]] = {
        "bash": _bash,
        "zsh": _zsh,
        "fish": _fish,
    }
    return "\n".join(write[shell](_options(parser), list(_words(parser))))


def _words(parser: argparse.ArgumentParser) -> Iterator[_Word]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            abouts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, inner in action.choices.items():
                yield _Word(name, abouts[name], _options(inner))


def _options(parser: argparse.ArgumentParser) -> tuple[_Option, ...]:
    actions = (action for action in parser._actions if action.option_strings)
    return tuple(_Option(tuple(one.option_strings), one.help or "", _values(one)) for one in actions)


def _values(action: argparse.Action) -> Values:
    if action.nargs == 0:
        return "none"
    if action.choices is not None:
        return tuple(map(str, action.choices))
    return "file" if getattr(action.type, "__name__", "") == "file_name" else "any"


def _bash(options: tuple[_Option, ...], commands: list[_Word]) -> Iterator[str]:
    yield '# eval "$(ramet --completion bash)"'
    yield "_ramet() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield '    case "$before" in'
    chosen = {name: one.values for word in commands for one in word.options for name in one.names}
    chosen |= {name: one.values for one in options for name in one.names}
    for name, values in chosen.items():
        if isinstance(values, tuple):
            yield f'        {name}) words="{" ".join(values)}" ;;'
    # Without words, bash completes file names.
    yield f"        {'|'.join(name for name, values in chosen.items() if values in ('any', 'file'))}) return ;;"
    yield "    esac"
    yield '    if [ -z "$words" ]; then'
    yield '        if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'            words="{" ".join([*(one.name for one in commands), *_names(options)])}"'
    yield '        elif [[ "$word" == -* ]]; then'
    yield '            case "${COMP_WORDS[1]}" in'
    for command in commands:
        yield f'                {command.name}) words="{" ".join(_names(command.options))}" ;;'
    yield "            esac"
    yield "        fi"
    yield "    fi"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _ramet ramet"


def _zsh(options: tuple[_Option, ...], commands: list[_Word]) -> Iterator[str]:
    yield "#compdef ramet"
    yield '# eval "$(ramet --completion zsh)", after compinit; or as a file _ramet in $fpath'
    yield "_ramet() {"
    yield "    local -a commands=("
    yield from (f"        {_quoted(command.name + ':' + command.about)}" for command in commands)
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe command commands"
    yield f"        _arguments {' '.join(_zsh_option(one) for one in options)}"
    yield "        return"
    yield "    fi"
    yield '    local command="$words[2]"'
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield '    case "$command" in'
    for command in commands:
        yield f"        {command.name}) _arguments {' '.join(map(_zsh_option, command.options))} '*:file:_files' ;;"
    yield "    esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = "_ramet" ]; then _ramet "$@"; else compdef _ramet ramet; fi'


def _zsh_option(option: _Option) -> str:
    about = option.about.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    values = {"none": "", "any": ":value: ", "file": ":file:_files"}
    suffix = f":value:({' '.join(option.values)})" if isinstance(option.values, tuple) else values[option.values]
    return " ".join(_quoted(f"{name}[{about}]{suffix}") for name in option.names)


def _fish(options: tuple[_Option, ...], commands: list[_Word]) -> Iterator[str]:
    yield "# ramet --completion fish | source"
    for one in options:
        yield _fish_option(one, "__fish_use_subcommand")
    for command in commands:
        about = _quoted(command.about)
        yield f"complete -c ramet -f -n __fish_use_subcommand -a {command.name} -d {about}"
        for one in command.options:
            yield _fish_option(one, f"__fish_seen_subcommand_from {command.name}")


def _fish_option(option: _Option, when: str) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    values = {"none": "", "any": " -x", "file": " -r -F"}
    chosen = f" -x -a {_quoted(' '.join(option.values))}" if isinstance(option.values, tuple) else ""
    suffix = chosen or values[str(option.values)]
    return f"complete -c ramet -n {_quoted(when)} {' '.join(names)}{suffix} -d {_quoted(option.about)}"


def _names(options: tuple[_Option, ...]) -> list[str]:
    return [name for one in options for name in one.names]


def _quoted(text: str) -> str:
    """Quote a text as one word for any of these shells; none of the texts ends in a backslash."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
