"""Every rule of the scan is registered, and finds its own example but not its harmless one."""

import ast
import importlib
from pathlib import Path

import pytest

from ramet._files import scan
from ramet._files.scanner import rules as package
from ramet._files.scanner.rule import ConfigValue, Member, Rule
from ramet._files.scanner.rules import RULES
from ramet._files.scanner.rules.texts import VOCABULARY_FILE
from ramet._files.scanner.walk import apply_rules
from tests.files.build import archive, dense, one_layer

pytestmark = pytest.mark.no_backend

FOLDER = Path(package.__file__).parent
TOPICS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
SUBJECTS = ("object", "text", "member", "archive problem", "weights problem")


def found_by(rule, example):
    """Return what a rule finds in an example."""
    if rule.looks_at in ("object", "text"):
        return [finding for _, finding in apply_rules(ConfigValue(example, "config"), [rule])]
    if rule.looks_at == "member":
        name, start = example
        return list(rule.find(Member(name, start)))
    return list(rule.find(example))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_rule_is_registered(topic):
    module = importlib.import_module(f"{package.__name__}.{topic}")
    rules = {name: value for name, value in vars(module).items() if isinstance(value, Rule)}

    assert rules, f"{FOLDER / topic}.py defines no Rule. Write one: NAME = Rule('a name', 'object', find, example=...)."
    missing = [name for name, rule in rules.items() if rule not in RULES]
    assert not missing, f"Add {topic}.{missing[0]} to RULES in {FOLDER / '__init__.py'}, or the scan never applies it."


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_on_the_page_about_the_scan(rule):
    page = Path(__file__).parents[2] / "docs" / "understand" / "scan.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text(encoding="utf-8").splitlines()]
    found = [row[1:] for row in rows if row[0] == rule.name and len(row) == 4]

    assert len(found) == 1, f"Add a row to the table in {page}: | {rule.name} | unsafe | an example | an effect |"
    severities = {finding.severity for finding in found_by(rule, rule.example)}
    expected = {"unsafe": ("unsafe",), "trust": ("needs trust", "unsafe")}
    assert found[0][0] in expected[min(severities, key=("unsafe", "trust", "note").index)]


def test_the_page_about_the_scan_lists_only_rules():
    text = (Path(__file__).parents[2] / "docs" / "understand" / "scan.md").read_text(encoding="utf-8")
    table = text.partition("| rule | verdict |")[2].partition("\n\n")[0].splitlines()[2:]

    assert [row.strip("| ").split(" | ")[0] for row in table] == [rule.name for rule in RULES]


def test_names_of_rules_are_unique():
    names = [rule.name for rule in RULES]

    repeated = sorted({name for name in names if names.count(name) > 1})
    assert not repeated, f"Two rules in {FOLDER} have the name {repeated}: rename one."


@pytest.mark.parametrize("topic", TOPICS)
def test_every_file_of_rules_has_a_docstring(topic):
    text = ast.get_docstring(ast.parse((FOLDER / f"{topic}.py").read_text(encoding="utf-8")))

    assert text, f"{FOLDER / topic}.py has no docstring: say in a line what its rules look for."


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_its_example(rule):
    assert rule.looks_at in SUBJECTS, f"The rule '{rule.name}' looks at '{rule.looks_at}', which is none of {SUBJECTS}."

    found = found_by(rule, rule.example)

    assert found, f"The rule '{rule.name}' finds nothing in its example, {rule.example!r}."
    for finding in found:
        assert finding.severity in ("unsafe", "trust", "note")
        for field in ("what", "effect"):
            sentence = getattr(finding, field)
            assert sentence.endswith("."), f"The rule '{rule.name}' has no sentence as its {field}: {sentence!r}."
        assert finding.kind
        assert finding.place


@pytest.mark.parametrize(
    "rule",
    [rule for rule in RULES if rule.looks_at == "text" and rule is not VOCABULARY_FILE],
    ids=lambda rule: rule.name,
)
def test_a_rule_for_texts_also_looks_into_lists(rule):
    settings = {key: ["relu", text] for key, text in rule.example["config"].items()}

    found = found_by(rule, {**rule.example, "config": settings})

    assert found, f"The rule '{rule.name}' finds nothing if its example is in a list: does `in_lists` match it?"


def test_a_rule_for_texts_without_a_pattern_sees_every_string_in_a_list():
    seen = []
    rule = Rule("all", "text", lambda value: seen.append(value.value) or iter(()), example=None)

    list(apply_rules(ConfigValue({"notes": ["a", "b", ["c"]], "vocabulary": ["d"]}, "config"), [rule]))

    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.harmless is not None], ids=lambda rule: rule.name)
def test_a_rule_finds_nothing_in_its_harmless_example(rule):
    assert found_by(rule, rule.harmless) == [], f"The rule '{rule.name}' finds something in its harmless example."


@pytest.mark.parametrize("rule", [rule for rule in RULES if "problem" not in rule.looks_at], ids=lambda rule: rule.name)
def test_a_scan_of_a_file_applies_the_rule(tmp_path, rule):
    if rule.looks_at == "member":
        name, start = rule.example
        path = archive(tmp_path / "m.keras", files={name: start})
    else:
        path = archive(tmp_path / "m.keras", one_layer(dense(extra=rule.example)))
    expected = {(finding.severity, finding.what) for finding in found_by(rule, rule.example)}

    report = scan(path, isolated=False)

    assert expected <= {(finding.severity, finding.what) for finding in report.findings}
