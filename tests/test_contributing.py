"""Run the examples of CONTRIBUTING: a newcomer's edit, check and scan rule must work as they are written there."""

import doctest
import re
import textwrap
import types
from pathlib import Path

import keras
import numpy as np
import pytest

import ramet
from ramet import edits
from ramet._files.scanner.rule import ConfigValue
from ramet._files.scanner.walk import apply_rules
from ramet._verify import checks

PAGE = Path(__file__).parent.parent / "CONTRIBUTING.md"


def example(first_line, monkeypatch):
    """Run the example whose code begins with a line, as a module, and return it."""
    blocks = re.findall(r"^ +```python\n(.*?)^ +```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    source = next(code for block in blocks if (code := textwrap.dedent(block)).startswith(first_line))
    module = types.ModuleType("example")
    monkeypatch.setitem(__import__("sys").modules, "example", module)  # dataclasses look their module up
    exec(compile(source, str(PAGE), "exec"), vars(module))
    return module


def dense_model():
    layers = [
        keras.Input((3,)),
        keras.layers.Dense(2, name="dense", bias_initializer="ones"),
        keras.layers.ReLU(name="act"),
    ]
    return keras.Sequential(layers, name="net")


def test_edit_of_the_guide_plans_applies_and_travels_in_a_recipe(monkeypatch):
    module = example('"""`zero_bias`', monkeypatch)
    monkeypatch.setattr(edits, "zero_bias", module.zero_bias, raising=False)
    monkeypatch.setattr(edits, "__all__", [*edits.__all__, "zero_bias"])
    model = dense_model()

    plan = ramet.plan(model, edits.zero_bias())
    twin = ramet.edit(model, edits.zero_bias("dense"))
    recipe = ramet.read_recipe(ramet.Recipe("zero", (edits.zero_bias("dense"),)).to_toml())

    assert "dense  Dense, bias set to zero" in str(plan)
    assert "skipped act: it has no bias" in str(plan)
    assert np.array_equal(twin.get_layer("dense").bias.numpy(), [0, 0])
    assert np.array_equal(model.get_layer("dense").bias.numpy(), [1, 1])
    assert recipe.edits == (edits.zero_bias("dense"),)
    assert doctest.testmod(module) == (0, 5)


def test_check_of_the_guide_passes_and_fails(monkeypatch):
    module = example('"""Variables:', monkeypatch)
    monkeypatch.setitem(checks.CHECKS, "variables", module.check)
    model = dense_model()
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, use_bias=False)], name="net")

    assert ramet.verify(model, ramet.clone(model), only="variables").ok
    assert not ramet.verify(model, other, only="variables").ok


def test_scan_rule_of_the_guide_finds_its_example(monkeypatch):
    module = example('"""Environment variables', monkeypatch)
    rule = module.ENVIRONMENT

    found = [finding for _, finding in apply_rules(ConfigValue(rule.example, "config"), [rule])]

    assert [(one.severity, one.kind) for one in found] == [("trust", "environment")]
    assert not list(apply_rules(ConfigValue(rule.harmless, "config"), [rule]))


@pytest.mark.parametrize(
    "name", re.findall(r"`((?:src|tests|docs|tools|bench)/[\w./-]+\.(?:py|md|json))`", PAGE.read_text())
)
def test_files_named_in_the_guide_exist(name):
    examples = {"zero_bias.py", "test_zero_bias.py", "variables.py", "environment.py"}

    assert Path(name).name in examples or (PAGE.parent / name).exists()
