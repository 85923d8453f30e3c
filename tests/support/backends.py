"""The choice of the tests that run on each backend.

Tests marked `no_backend` never run a model: they run once, on JAX. All others run on every backend. The cases of
parametrized tests, and the tests marked `slow`, can be spread over the backends, so that each runs once in `make test`;
`make test-others` runs the rest. Tests that do not run on a backend are deselected, and pytest reports their number.
"""

import zlib
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parent.parent
BACKENDS = ("jax", "torch", "tensorflow")
# The order in which cases are dealt out. JAX and TensorFlow take several times as long for a case as torch, which gets half.
TURNS = ("torch", "jax", "torch", "tensorflow")


def on_backend(items: list, backend: str, cases: str) -> tuple[list, list]:
    """Split the collected tests into those that run on a backend and those that are deselected there.

    Args:
        items: The tests, as pytest collected them.
        backend: The backend Keras runs on.
        cases: "all", "once" for each case on one backend only, or "others" for the cases left out by "once".
    """
    here = [item for item in items if backend == "jax" or item.get_closest_marker("no_backend") is None]
    if cases != "all":
        once, others = spread(here, backend)
        here = once if cases == "once" else others
    selected = set(here)
    return here, [item for item in items if item not in selected]


def spread(items: list, backend: str) -> tuple[list, list]:
    """Split tests into those that a backend runs when every case runs once, and those left to the other backends."""
    families = defaultdict(list)
    for item in items:
        is_spread = hasattr(item, "callspec") or item.get_closest_marker("slow") is not None
        if is_spread and item.get_closest_marker("no_backend") is None:
            families[f"{item.path.relative_to(TESTS).as_posix()}::{item.originalname}"].append(item)
    others = set()
    for name, cases in families.items():
        start = zlib.crc32(name.encode())  # so that not all first cases go to the same backend
        others.update(case for number, case in enumerate(cases) if TURNS[(start + number) % len(TURNS)] != backend)
    return [item for item in items if item not in others], [item for item in items if item in others]
