"""One accelerator, 8 billion bfloat16 parameters in 120 layers: `ramet.clone` over a bare device copy.

Needs no installed project: a Python with torch or JAX for the accelerator, and on its path this repository's `src` and
Keras with what it imports (namex, rich, absl-py, ml-dtypes, optree, h5py; unpacked wheels will do):

    PYTHONPATH=src:wheels KERAS_BACKEND=torch python bench/h200.py
    PYTHONPATH=src:wheels KERAS_BACKEND=jax   python bench/h200.py

The compiled walk is used where it was built for that Python, beside its sources (`pip install -e .` does it).
`--width 1024 --depth 4` tries it on a small machine; `--keras` also measures clone_model + set_weights (a minute or more).
What was carried along, where it was found and in which version, is printed first; the last line is JSON.
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

CARRIED = ("ramet", "keras", "numpy", "torch", "jax", "ml_dtypes", "optree", "h5py")


def main() -> int:
    """The exit status: 1 where the twin is not exact, and no ratio is printed then."""
    options = _options()
    import keras

    import ramet

    carried = _carried()
    for line in carried:
        say(line)
    model = build(options.depth, options.width)
    count = model.count_params()
    say(f"{keras.backend.backend()} on {_device()}: {count:,} parameters in {options.depth} layers")
    found = differences(model, ramet.clone(model))
    if found:
        say(f"no ratio, the twin is not exact: {'; '.join(found[:3])}")
        return 1
    ways: dict[str, Callable[[], Any]] = {
        "ramet.clone": lambda: ramet.clone(model),
        "bare copy": lambda: copy_arrays(model),
    }
    if options.keras:
        ways["clone_model + set_weights"] = lambda: clone_with_keras(model)
    seconds = interleave(ways, options.rounds)
    for name, taken in seconds.items():
        say(f"{name}: {taken * 1000:.2f} ms")
    ratio = seconds["ramet.clone"] / seconds["bare copy"]
    say(f"over a bare copy: {ratio:.2f} (to reach: under 2)")
    result = {
        "backend": keras.backend.backend(),
        "device": _device(),
        "parameters": count,
        "seconds": seconds,
        "ratio": ratio,
        "carried": carried,
    }
    say(json.dumps(result))
    return 0


def build(depth: int, width: int) -> Any:
    """Dense layers one after the other, in bfloat16, with random weights."""
    import keras

    x = inputs = keras.Input((width,), dtype="bfloat16")
    for _ in range(depth):
        layer = keras.layers.Dense(width, dtype="bfloat16", kernel_initializer="random_uniform")
        x = layer(x)
    return keras.Model(inputs, x)


def copy_arrays(model: Any) -> list[Any]:
    """The arrays of all variables, and nothing else."""
    import keras

    arrays = [variable.value for variable in model.variables]
    if keras.backend.backend() == "jax":
        import jax

        return list(jax.device_put(arrays, may_alias=False))
    return [array.detach().clone() for array in arrays]


def clone_with_keras(model: Any) -> Any:
    """As most people do it."""
    import keras

    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    return clone


def interleave(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The best seconds of each, taken in turns after a warm-up, until the device is done."""
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
    """Return when the copies are really there."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        jax.block_until_ready(copied if isinstance(copied, list) else [v.value for v in copied.variables])
        return
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def differences(model: Any, twin: Any) -> list[str]:
    """What differs, the bits compared on the device; empty for an exact twin."""
    import keras

    found = []
    if type(twin) is not type(model) or twin.get_config() != model.get_config():
        found.append("class or config differs")
    for old, new in zip(model.variables, twin.variables, strict=True):
        if old is new or old.path != new.path or old.dtype != new.dtype:
            found.append(f"{old.path} is not its own, or has another path or dtype")
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


def _carried() -> list[str]:
    from ramet._copy._compiled import is_at_work

    lines = [f"Python {sys.version.split()[0]}", f"the walk is {'compiled' if is_at_work() else 'in Python'}"]
    for name in CARRIED:
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
    parser = argparse.ArgumentParser(description="ramet.clone over a bare device copy, on one accelerator.")
    parser.add_argument("--depth", type=int, default=120)
    parser.add_argument("--width", type=int, default=8192, help="8192: 8.05 billion parameters in 120 layers")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--keras", action="store_true", help="measure clone_model + set_weights as well")
    return parser.parse_args()


def say(line: str) -> None:
    """Nothing; the line is on standard output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
