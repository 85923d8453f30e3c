"""The memory of a test run: what is freed between tests, and when a run fails."""

import pytest

from tests.support import memory


def test_process_above_the_limit_is_named_and_others_are_not():
    found = memory.problems({"gw0": (3.4, 0.1), "gw1": (2.9, 0.1)})

    assert len(found) == 1
    assert found[0].startswith("gw0: the tests used 3.4 GB, more than 3 GB.")


def test_peak_is_at_least_what_is_resident():
    assert 0.05 < memory.resident() <= memory.peak() * 1.01


def test_programs_compiled_by_jax_are_freed_when_the_process_is_large(backend, monkeypatch):
    if backend != "jax":
        pytest.skip("only JAX keeps compiled programs; the run on JAX covers this")
    import jax

    program = jax.jit(lambda x: x + 1)
    program(1.0)
    kept = program._cache_size()
    monkeypatch.setattr(memory, "ENOUGH", 0.0)
    monkeypatch.setattr(memory, "_left", -1.0)
    memory.free_compiled_programs()

    assert (kept, program._cache_size()) == (1, 0)
    assert program(1.0) == 2.0
