"""Shell completion: scripts made from the parser, which do not start Python on each key press."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Literal, TypeAlias

SHELLS = ("bash", "zsh", "fish")
_Values: TypeAlias = Literal["none", "any", "file"] | tuple[str, ...]
_Options: TypeAlias = list[argparse.Action]
# For each command, its description and its options.
_Commands: TypeAlias = dict[str, tuple[str, _Options]]


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell: "bash", "zsh" or "fish"."""
    commands: _Commands = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                commands[choice.dest] = choice.help or "", _options(action.choices[choice.dest])
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join(write(_options(parser), commands))


def _options(parser: argparse.ArgumentParser) -> _Options:
    return [action for action in parser._actions if action.option_strings]


def _values(action: argparse.Action) -> _Values:
    if action.nargs == 0:
        return "none"
    if action.choices is not None:
        return tuple(map(str, action.choices))
    return "file" if getattr(action.type, "__name__", "") == "file_name" else "any"


def _bash(options: _Options, commands: _Commands) -> Iterator[str]:
    yield '# eval "$(ramet --completion bash)"'
    yield "_ramet() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield '    case "$before" in'
    everywhere = [*(option for _, inner in commands.values() for option in inner), *options]
    chosen = {name: _values(option) for option in everywhere for name in option.option_strings}
    for name, values in chosen.items():
        if isinstance(values, tuple):
            yield f'        {name}) words="{" ".join(values)}" ;;'
    # Without words, bash completes file names.
    yield f"        {'|'.join(name for name, values in chosen.items() if values in ('any', 'file'))}) return ;;"
    yield "    esac"
    yield '    if [ -z "$words" ]; then'
    yield '        if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'            words="{" ".join([*commands, *_names(options)])}"'
    yield '        elif [[ "$word" == -* ]]; then'
    yield '            case "${COMP_WORDS[1]}" in'
    for command, (_, inner) in commands.items():
        yield f'                {command}) words="{" ".join(_names(inner))}" ;;'
    yield "            esac"
    yield "        fi"
    yield "    fi"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _ramet ramet"


def _zsh(options: _Options, commands: _Commands) -> Iterator[str]:
    yield "#compdef ramet"
    yield '# eval "$(ramet --completion zsh)", after compinit; or as a file _ramet in $fpath'
    yield "_ramet() {"
    yield "    local -a commands=("
    yield from (f"        {_quoted(f'{command}:{about}')}" for command, (about, _) in commands.items())
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe command commands"
    yield f"        _arguments {' '.join(map(_zsh_option, options))}"
    yield "        return"
    yield "    fi"
    yield '    local command="$words[2]"'
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield '    case "$command" in'
    for command, (_, inner) in commands.items():
        yield f"        {command}) _arguments {' '.join(map(_zsh_option, inner))} '*:file:_files' ;;"
    yield "    esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = "_ramet" ]; then _ramet "$@"; else compdef _ramet ramet; fi'


def _zsh_option(option: argparse.Action) -> str:
    about = (option.help or "").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    values = _values(option)
    words = {"none": "", "any": ":value: ", "file": ":file:_files"}
    suffix = f":value:({' '.join(values)})" if isinstance(values, tuple) else words[values]
    return " ".join(_quoted(f"{name}[{about}]{suffix}") for name in option.option_strings)


def _fish(options: _Options, commands: _Commands) -> Iterator[str]:
    yield "# ramet --completion fish | source"
    for one in options:
        yield _fish_option(one, "__fish_use_subcommand")
    for command, (about, inner) in commands.items():
        yield f"complete -c ramet -f -n __fish_use_subcommand -a {command} -d {_quoted(about)}"
        for one in inner:
            yield _fish_option(one, f"__fish_seen_subcommand_from {command}")


def _fish_option(option: argparse.Action, when: str) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.option_strings]
    values = _values(option)
    words = {"none": "", "any": " -x", "file": " -r -F"}
    suffix = f" -x -a {_quoted(' '.join(values))}" if isinstance(values, tuple) else words[values]
    return f"complete -c ramet -n {_quoted(when)} {' '.join(names)}{suffix} -d {_quoted(option.help or '')}"


def _names(options: _Options) -> list[str]:
    return [name for option in options for name in option.option_strings]


def _quoted(text: str) -> str:
    """Quote a text as one word for any of these shells; none of the texts ends in a backslash."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
