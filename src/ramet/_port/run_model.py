"""Load a model and run it on random inputs, in a process of its own. This file imports nothing of ramet.

    python run_model.py REQUEST.json

The request names the library ("tf_keras" or "keras"), the user's modules, the model, its weights if they are in another file,
whether code in it may run, and the inputs: a file to read them from, or one to write them to. This may be run by any Python
that has the library.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def _load(request: dict[str, Any]) -> Any:
    """Return the model of a request."""
    # The modules beside this file must not hide those of the user.
    sys.path[:] = [*(folder for folder in sys.path if folder != str(Path(__file__).parent)), str(Path.cwd())]
    keras = importlib.import_module(request["library"])
    own: dict[str, Any] = {}
    for name in request.get("modules", ()):
        found = vars(importlib.import_module(name))
        own.update((key, value) for key, value in found.items() if getattr(value, "__module__", "") == name)
    if request.get("weights"):
        text = json.loads(Path(request["model"]).read_text(encoding="utf-8"))
        model = keras.models.model_from_json(text if isinstance(text, str) else json.dumps(text))
        model.load_weights(request["weights"])
        return model
    # Files in other formats than .keras have no safe mode, so they are checked before.
    unsafe = {"safe_mode": False} if request.get("trusted") and request["model"].endswith(".keras") else {}
    return keras.models.load_model(request["model"], own or None, compile=False, **unsafe)


def _make_inputs(model: Any, largest: dict[str, int], padding: Any) -> list[Any]:
    """Return random inputs of a model.

    Args:
        model: The model.
        largest: For inputs that are looked up in an embedding, by number: how many rows it has.
        padding: What the last steps of a sequence consist of if they are masked; None if the model has no masks.
    """
    import numpy as np

    random = np.random.default_rng(0)
    made = []
    for number, tensor in enumerate(model.inputs):
        rank = len(tensor.shape)
        spatial = 32 if rank in (4, 5) else 12
        shape = [size or spatial for size in list(tensor.shape)]
        shape[0] = tensor.shape[0] or 2
        dtype = tensor.dtype if isinstance(tensor.dtype, str) else tensor.dtype.name
        if dtype == "string":
            made.append(np.array(["one two", "three"] * 8)[: shape[0]].reshape(shape[0], *[1] * (rank - 1)))
            continue
        if str(number) in largest or dtype.startswith(("int", "uint", "bool")):
            kind = dtype if dtype.startswith(("int", "uint", "bool")) else "float32"
            values = random.integers(0, largest.get(str(number), 2), shape).astype(kind)
        else:
            values = random.normal(size=shape).astype(dtype)
        if padding is not None and rank in (2, 3):
            values[-1, -(-shape[1] // 2) :] = padding
        made.append(values)
    return made


def _flat(value: Any) -> list[Any]:
    """Return the arrays in nested lists, tuples and dicts."""
    if isinstance(value, dict):
        return [one for key in sorted(value) for one in _flat(value[key])]
    if isinstance(value, list | tuple):
        return [one for item in value for one in _flat(item)]
    return [value]


def main(request: dict[str, Any]) -> None:
    """Run the model of a request, and write its outputs."""
    import numpy as np

    model = _load(request)
    if Path(request["inputs"]).exists():
        with np.load(request["inputs"], allow_pickle=False) as stored:
            inputs = [stored[f"in_{number}"] for number in range(len(stored.files))]
    else:
        inputs = _make_inputs(model, request.get("largest", {}), request.get("padding"))
        _save(request["inputs"], "in", inputs)
    given = [_tensor(one) for one in inputs]
    outputs = _flat(model.predict(given if len(given) > 1 else given[0], batch_size=len(inputs[0]), verbose=0))
    _save(request["outputs"], "out", outputs)


def _tensor(array: Any) -> Any:
    """Return texts as a tensor of TensorFlow, and anything else as it is."""
    return importlib.import_module("tensorflow").constant(array) if array.dtype.kind == "U" else array


def _save(path: str, kind: str, arrays: list[Any]) -> None:
    import numpy as np

    named: dict[str, Any] = {f"{kind}_{number}": np.asarray(one) for number, one in enumerate(arrays)}
    np.savez(path, **named)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
