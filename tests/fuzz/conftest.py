"""The data side knows no backend: its tests run once, with JAX, and are left out on the others."""

import os

if os.environ.get("KERAS_BACKEND", "jax") != "jax":
    collect_ignore_glob = ["test_*.py"]
