"""One file on one backend, in a process of its own: `python -m ramet._verify.worker FILE INPUTS OUTPUTS SEED`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from ramet._keras import arrays_of, load_copy
from ramet._verify.cases import Case
from ramet._verify.findings import NotRun
from ramet._verify.pair import Pair


def main(path: str, inputs: str, outputs: str, seed: int, load: Callable[[Path], Any] = load_copy) -> None:
    """Load, run every case, write the outputs. The first process to get so far writes the inputs for the others."""
    model = load(Path(path))
    pair = Pair(model, model, seed=seed)
    if Path(inputs).is_file():
        cases = _read(pair, Path(inputs))
    else:
        cases = [case for case in pair.cases if case.name != "extremes"]
        _write(cases, Path(inputs))
    found: dict[str, Any] = {}
    for case in cases:
        result = pair.result(pair.ours, case)
        if result.error is not None:
            raise result.error
        for place, arrays in result.outputs.items():
            for number, array in enumerate(arrays):
                # Files know NumPy's own dtypes only; what the others widen to is exact.
                found[f"{case.name}: {place}@{number}"] = (
                    array if array.dtype.kind in "biufcUS" else array.astype("float32")
                )
    np.savez(outputs, **found)


def _write(cases: list[Case], path: Path) -> None:
    arrays: dict[str, Any] = {}
    for case in cases:
        flat = keras.tree.flatten((case.args, case.kwargs))
        arrays |= {
            f"{case.name}@{number}": arrays_of(value)[0] for number, value in enumerate(flat) if value is not None
        }
    np.savez(path, **arrays)


def _read(pair: Pair, path: Path) -> list[Case]:
    """The cases of the first process, in the structure that the model takes."""
    from ramet._verify.specs import signatures_of

    signature = signatures_of(pair.ours.model, pair.ours.places)[0]
    with np.load(path, allow_pickle=False) as held:
        names = list(dict.fromkeys(key.rpartition("@")[0] for key in held.files))
        cases = []
        for name in names:
            count = len(signature.leaves())
            flat = [held[f"{name}@{number}"] if f"{name}@{number}" in held.files else None for number in range(count)]
            args, kwargs = keras.tree.pack_sequence_as((signature.args, signature.kwargs), flat)
            cases.append(Case(name, tuple(args), dict(kwargs)))
    return cases


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
    except NotRun as reason:
        sys.exit(str(reason))
