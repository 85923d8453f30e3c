"""Shell completion, tested in the shells themselves."""

import shutil
import subprocess

import pytest

pytestmark = pytest.mark.no_backend


def script(ramet, shell, tmp_path):
    done = ramet("--completion", shell)
    assert (done.code, done.err) == (0, "")
    path = tmp_path / f"complete.{shell}"
    path.write_text(done.out)
    return path


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.split()


def bash(path, *words):
    program = f'source {path}; COMP_WORDS=({" ".join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _ramet; echo "${{COMPREPLY[@]}}"'
    return output_of("bash", "--norc", "-c", program)


def fish(path, line):
    found = output_of("fish", "--no-config", "-c", f"source {path}; complete -C '{line}' | string split -f 1 \\t")
    return [word for word in found if not word.endswith(".fish")]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed; installing it lifts this")
def test_bash_completes_commands_options_and_values(ramet, tmp_path):
    path = script(ramet, "bash", tmp_path)

    assert bash(path, "ramet", "s") == ["show", "scan"]
    assert bash(path, "ramet", "diff", "--m") == ["--markdown"]
    assert bash(path, "ramet", "clone", "--backend", "t") == ["torch", "tensorflow"]
    assert bash(path, "ramet", "--completion", "") == ["bash", "zsh", "fish"]
    # Without words, bash completes file names.
    assert bash(path, "ramet", "show", "mod") == []
    assert bash(path, "ramet", "show", "--html", "mod") == []


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed; installing it lifts this")
def test_fish_completes_commands_options_and_values(ramet, tmp_path):
    path = script(ramet, "fish", tmp_path)

    assert fish(path, "ramet s") == ["scan", "show"]
    assert fish(path, "ramet diff --m") == ["--markdown"]
    assert sorted(fish(path, "ramet clone --backend t")) == ["tensorflow", "torch"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed; installing it lifts this")
def test_zsh_registers_the_script(ramet, tmp_path):
    path = script(ramet, "zsh", tmp_path)

    program = f"autoload -U compinit; compinit -u -d {tmp_path}/dump; source {path}; echo $_comps[ramet]"
    assert output_of("zsh", "-f", "-c", program) == ["_ramet"]
