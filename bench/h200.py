"""`ramet.clone` compared with a bare device copy: 8 billion bfloat16 parameters in 120 layers on one accelerator.

The project need not be installed: any Python with torch or JAX for the accelerator will do, with this repository's `src` and
Keras with its dependencies (namex, rich, absl-py, ml-dtypes, optree, h5py; unpacked wheels will do) on its path:

    PYTHONPATH=src:wheels KERAS_BACKEND=torch python bench/h200.py
    PYTHONPATH=src:wheels KERAS_BACKEND=jax   python bench/h200.py

The compiled walk is used if it was built for that Python, beside its sources (`pip install -e .` does that).
`--width 1024 --depth 4` suits a small machine; `--keras` also measures clone_model + set_weights (a minute or more).
The versions and locations of all packages are printed first; the last line is JSON.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

PACKAGES = ("ramet", "keras", "numpy", "torch", "jax", "ml_dtypes", "optree", "h5py")


def main() -> int:
    """Print the measurements, and return 0; or 1, without a ratio, if the twin is not exact."""
    options = _options()
    import keras

    import ramet

    packages = _packages()
    for line in packages:
        write(line)
    model = build(options.depth, options.width)
    count = model.count_params()
    write(f"{keras.backend.backend()} on {_device()}: {count:,} parameters in {options.depth} layers")
    found = differences(model, ramet.clone(model))
    if found:
        write(f"no ratio, the twin is not exact: {'; '.join(found[:3])}")
        return 1
    ways: dict[str, Callable[[], Any]] = {
        "ramet.clone": lambda: ramet.clone(model),
        "bare copy": lambda: copy_arrays(model),
    }
    if options.keras:
        ways["clone_model + set_weights"] = lambda: clone_with_keras(model)
    seconds = interleave(ways, options.rounds)
    for name, taken in seconds.items():
        write(f"{name}: {taken * 1000:.2f} ms")
    ratio = seconds["ramet.clone"] / seconds["bare copy"]
    write(f"ratio to a bare copy: {ratio:.2f} (target: under 2)")
    result = {
        "backend": keras.backend.backend(),
        "device": _device(),
        "parameters": count,
        "seconds": seconds,
        "ratio": ratio,
        "packages": packages,
    }
    write(json.dumps(result))
    return 0


def build(depth: int, width: int) -> Any:
    """Return a chain of Dense layers in bfloat16, with random weights."""
    import keras

    x = inputs = keras.Input((width,), dtype="bfloat16")
    for _ in range(depth):
        layer = keras.layers.Dense(width, dtype="bfloat16", kernel_initializer="random_uniform")
        x = layer(x)
    return keras.Model(inputs, x)


def copy_arrays(model: Any) -> list[Any]:
    """Copy the arrays of all variables, and nothing else."""
    import keras

    arrays = [variable.value for variable in model.variables]
    if keras.backend.backend() == "jax":
        import jax

        return list(jax.device_put(arrays, may_alias=False))
    return [array.detach().clone() for array in arrays]


def clone_with_keras(model: Any) -> Any:
    """Copy a model the usual way."""
    import keras

    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    return clone


def interleave(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the best seconds of each way, measured in turn after a warm-up, until the device is done."""
    best: dict[str, float] = {}
    for turn in range(rounds + 1):
        for name, work in ways.items():
            if turn > 1 and best.get(name, 0) > 5:
                continue
            gc.collect()
            wait_for_device([])
            start = time.perf_counter()
            copied = work()
            wait_for_device(copied)
            taken = time.perf_counter() - start
            del copied
            if turn:
                best[name] = min(taken, best.get(name, taken))
        sys.stderr.write(".")
        sys.stderr.flush()
    sys.stderr.write("\n")
    return best


def wait_for_device(copied: Any) -> None:
    """Wait until the copies have been computed."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        jax.block_until_ready(copied if isinstance(copied, list) else [v.value for v in copied.variables])
        return
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def differences(model: Any, twin: Any) -> list[str]:
    """Return the differences, with bits compared on the device; empty for an exact twin."""
    import keras

    found = []
    if type(twin) is not type(model) or twin.get_config() != model.get_config():
        found.append("class or config differs")
    for old, new in zip(model.variables, twin.variables, strict=True):
        if old is new or old.path != new.path or old.dtype != new.dtype:
            found.append(f"{old.path} is shared, or has another path or dtype")
        elif not _same_bits(old.value, new.value, keras.backend.backend()):
            found.append(f"the value of {old.path} differs")
    return found


def _same_bits(old: Any, new: Any, backend: str) -> bool:
    if backend == "jax":
        import jax
        import jax.numpy as jnp

        ours, theirs = (jax.lax.bitcast_convert_type(array, jnp.uint16) for array in (old, new))
        return bool((ours == theirs).all()) and old.unsafe_buffer_pointer() != new.unsafe_buffer_pointer()
    import torch

    same = torch.equal(old.detach().view(torch.int16), new.detach().view(torch.int16))
    return same and old.data_ptr() != new.data_ptr()


def _device() -> str:
    import keras

    if keras.backend.backend() == "jax":
        import jax

        return str(jax.devices()[0].device_kind)
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"


def _packages() -> list[str]:
    from ramet._copy import uses_compiled_walk

    lines = [f"Python {sys.version.split()[0]}", f"the walk is {'compiled' if uses_compiled_walk() else 'in Python'}"]
    for name in PACKAGES:
        module = sys.modules.get(name)
        if module is None:
            try:
                module = importlib.import_module(name) if name in ("ml_dtypes", "optree", "h5py") else None
            except ImportError:
                continue
        if module is not None:
            lines.append(f"{name} {getattr(module, '__version__', '')} from {getattr(module, '__file__', '?')}")
    return lines


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare ramet.clone with a bare device copy, on one accelerator.")
    parser.add_argument("--depth", type=int, default=120)
    parser.add_argument("--width", type=int, default=8192, help="8192: 8.05 billion parameters in 120 layers")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--keras", action="store_true", help="measure clone_model + set_weights as well")
    return parser.parse_args()


def write(line: str) -> None:
    """Print a line to stdout at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
