"""Where keys and values stand in a TOML text, compared with what tomllib makes of it."""

import tomllib

import pytest
from hypothesis import HealthCheck, assume, example, given, settings

from ramet._edit.toml_place import find_places
from tests.edit.recipe_strategies import documents

pytestmark = pytest.mark.no_backend


def flat(data):
    """Every value of nested data, by the keys that lead to it."""
    found = {}
    waiting = [((), data)]
    while waiting:
        path, item = waiting.pop()
        if path:
            found[path] = item
        parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        waiting += [((*path, key), part) for key, part in parts]
    return found


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(documents())
@example("[[edit]]\na = 1\n[edit.layer]\nb = [1, { c = '#' }]\n[[edit]]\n[[edit.list]]\n[[edit.list]]\nx.y = 2\n")
def test_every_value_is_found_where_it_stands(text):
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    values = flat(data)

    places = find_places(text)

    # What a place says is the value itself, no more and no less.
    for path, (start, end) in places.values.items():
        assert repr(tomllib.loads(f"x = {text[start:end]}")["x"]) == repr(values[path])
    # Tables and lists of tables with headers, and those that dots make, have no value of their own; all else has.
    for path, value in values.items():
        assert path in places.values or isinstance(value, dict | list)
        assert any(known[: len(path)] == path for known in places.keys)
    assert set(places.keys) <= set(values)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(documents())
def test_every_character_of_a_string_is_found(text):
    try:
        values = flat(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        assume(False)
    places = find_places(text)

    for path, value in values.items():
        if isinstance(value, str):
            for index, character in enumerate(value):
                written = text[places.inside(path, index) :]
                assert written.startswith((character, "\\"))


def test_the_key_of_a_table_is_its_header():
    text = "# first\n[[edit]]\nremove = 'a'\n\n  [[edit]]\nremove = 'b'\n[edit.layer]\nclass_name = 'X'\n"

    places = find_places(text)

    where = {path: places.position(place) for path, place in places.keys.items()}
    assert where == {
        ("edit", 0): (2, 1),
        ("edit", 0, "remove"): (3, 1),
        ("edit", 1): (5, 3),
        ("edit", 1, "remove"): (6, 1),
        ("edit", 1, "layer"): (7, 1),
        ("edit", 1, "layer", "class_name"): (8, 1),
    }


@pytest.mark.parametrize(
    ("value", "index", "column"),
    [
        ('"abc"', 1, 7),
        (r'"\u00e9\n\tx"', 3, 16),
        ("'a\\nb'", 3, 9),
        ('"""abc"""', 2, 10),
        ('""', 0, 6),
    ],
)
def test_a_character_of_a_string_is_found_behind_escapes(value, index, column):
    text = f"x = {value}"
    places = find_places(text)

    assert places.position(places.inside(("x",), index)) == (1, column)


def test_a_character_is_found_in_the_line_where_it_stands():
    text = 'x = """\nab\ncd\\\n   e"""\n'
    places = find_places(text)

    found = [places.position(places.inside(("x",), index)) for index in range(6)]

    assert found == [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 4)]


def test_deep_nesting_does_not_recurse():
    # Deeper than tomllib itself reads.
    text = f"x = {'[' * 5000}{']' * 5000}\n"

    assert len(find_places(text).values) == 5000
