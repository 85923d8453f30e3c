"""Spreading the cases of tests over the backends loses none of them."""

from types import SimpleNamespace

import pytest

from tests.support.backends import BACKENDS, TESTS, TURNS, on_backend, spread


class Item(SimpleNamespace):
    """The attributes of a collected test that spreading uses."""

    __hash__ = object.__hash__

    def get_closest_marker(self, name):
        return name if name in getattr(self, "marks", ()) else None


def items(path, name, cases):
    return [Item(path=TESTS / path, originalname=name, callspec=case) for case in range(cases)]


@pytest.mark.parametrize("cases", [1, 2, 3, 7])
def test_each_case_runs_on_one_backend_and_is_left_to_the_two_others(cases):
    found = items("test_life.py", "test_fit", cases)

    parts = [spread(found, backend) for backend in BACKENDS]

    assert sorted(item.callspec for once, _ in parts for item in once) == list(range(cases))
    for backend, (once, others) in zip(BACKENDS, parts, strict=True):
        assert len(once) + len(others) == cases
        assert abs(len(once) - cases * TURNS.count(backend) / len(TURNS)) <= 1


def test_tests_without_cases_run_everywhere():
    alone = Item(path=TESTS / "test_life.py", originalname="test_alone")

    assert all(spread([alone], backend) == ([alone], []) for backend in BACKENDS)


def test_slow_test_runs_on_one_backend():
    slow = Item(path=TESTS / "test_life.py", originalname="test_alone", marks={"slow"})

    assert sum(spread([slow], backend) == ([slow], []) for backend in BACKENDS) == 1


def test_test_without_a_backend_runs_on_jax_only_with_all_its_cases():
    found = [
        Item(path=TESTS / "graph/test_json.py", originalname="test_back", callspec=n, marks={"no_backend"})
        for n in range(5)
    ]

    assert on_backend(found, "jax", "once") == (found, [])
    assert on_backend(found, "jax", "others") == ([], found)
    assert on_backend(found, "torch", "all") == ([], found)
