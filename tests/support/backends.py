"""Which tests run on which backend.

Tests that never run a model run once, on JAX. All others run on every backend. The cases of parametrised tests, and the
tests marked slow, can be spread over the backends, so that each runs once in `make test`; `make test-others`
runs the rest.
"""

import zlib
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parent.parent
BACKENDS = ("jax", "torch", "tensorflow")
WITHOUT_MODELS = ("diff", "draw", "files", "fuzz", "graph", "recipe", "select")


def needs_no_backend(path: Path) -> bool:
    """Whether the tests in a file or folder never run a model."""
    parts = path.relative_to(TESTS).parts
    if parts[:1] == ("cli",):
        return path.match("test_[!l]*.py")  # test_live.py and test_loading_files.py load models
    return parts[:1] != () and parts[0] in WITHOUT_MODELS


def spread(items: list, backend: str) -> tuple[list, list]:
    """The tests that a backend runs when every case runs once, and those that are left to the other backends."""
    families = defaultdict(list)
    for item in items:
        is_spread = hasattr(item, "callspec") or item.get_closest_marker("slow") is not None
        if is_spread and not needs_no_backend(item.path):
            families[f"{item.path.relative_to(TESTS).as_posix()}::{item.originalname}"].append(item)
    others = set()
    for name, cases in families.items():
        start = zlib.crc32(name.encode())  # so that the first cases are not all those of one backend
        others.update(case for place, case in enumerate(cases) if BACKENDS[(start + place) % 3] != backend)
    return [item for item in items if item not in others], [item for item in items if item in others]
