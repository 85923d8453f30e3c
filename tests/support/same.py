"""Comparison of two object graphs without the copier: same classes, same values bit for bit, same sharing."""

import functools
import types
import weakref

import keras
import numpy as np

# Attributes that a twin must not take from its original, and sets, whose order is undefined.
_RUNNING = {
    "train_function",
    "test_function",
    "predict_function",
    "_jax_state",
    "_jax_state_synced",
    "_eval_epoch_iterator",
}
# Names or ids that always differ; behavior is tested instead (save, fit, untrack).
_BY_IDENTITY = {
    "_nodes",
    "stored_ids",
    "_loss_ids",
    "_trainable_variables_indices",
    "_unique_id",
    "_handle",
    "_shared_name",
    "_resource_handle_value",
    "_self_update_uid",
    "_nnx_op_mapping",
}
# Calls from other models are not copied, nor is the TensorFlow bookkeeping for them.
_CALLS = {"_inbound_nodes", "_outbound_nodes", "_keras_history"}
_TF_NAMES = {
    "_self_unconditional_checkpoint_dependencies",
    "_self_unconditional_dependency_names",
    "_self_last_wrapped_dict_snapshot",
}
_SKIPPED = _RUNNING | _BY_IDENTITY | _CALLS | _TF_NAMES


def bits(value):
    """Return an array of any library as (shape, dtype, bytes), or None."""
    if isinstance(value, keras.KerasTensor):
        return None
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return None
        return value.shape, str(value.dtype), value.tobytes()
    if module == "torch" and hasattr(value, "detach"):
        if value.is_meta:
            return tuple(value.shape), str(value.dtype), b""
        import torch

        data = value.detach().cpu().contiguous()
        return (
            tuple(value.shape),
            str(value.dtype),
            data.view(torch.uint8).numpy().tobytes()
            if data.ndim
            else data.reshape(1).view(torch.uint8).numpy().tobytes(),
        )
    if module in ("jaxlib", "jax") and hasattr(value, "is_deleted"):
        import jax

        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            value = jax.random.key_data(value)
        array = np.asarray(value)
        return array.shape, str(array.dtype), array.tobytes()
    if module == "tensorflow" and type(value).__name__ == "EagerTensor":
        if value.dtype.name in ("resource", "variant"):
            return ()
        array = value.numpy()
        array = np.asarray(array)
        return array.shape, str(array.dtype), str(array.tolist()) if array.dtype.hasobject else array.tobytes()
    return None


def differences(original, twin, limit=5, skip=()):
    """Return the first differences between two object graphs, each with its path."""
    skipped = _SKIPPED | set(skip)
    found = []
    pair_of, back = {}, {}
    stack = [(original, twin, type(original).__name__)]
    keep = []
    while stack and len(found) < limit:
        a, b, path = stack.pop()
        if a is b:
            continue
        if len(path) > 400:  # the paths of 20,000 nested levels would fill gigabytes
            path = f"...{path[-200:]}"
        if type(a).__name__ == "ArrayImpl" and type(b) is type(a):
            # Immutable. Two variables must not share a buffer, so each has its own in the twin.
            if bits(a) != bits(b):
                found.append(f"{path}: array differs, {bits(a)[:2]} and {bits(b)[:2]}")
            continue
        known = pair_of.get(id(a))
        if known is not None:
            if known is not b:
                found.append(f"{path}: one object in the original, two in the twin ({type(a).__name__})")
            continue
        if type(a) is not type(b):
            found.append(f"{path}: {type(a).__name__} became {type(b).__name__}: {a!r:.80} -> {b!r:.80}")
            continue
        if isinstance(a, bool | int | float | complex | str | bytes | type):
            if a != b and repr(a) != repr(b):  # NaN does not equal itself
                found.append(f"{path}: {a!r:.80} became {b!r:.80}")
            continue
        if id(b) in back and not isinstance(a, tuple | frozenset | types.MethodType):
            found.append(f"{path}: two objects in the original, one in the twin ({type(a).__name__})")
            continue
        pair_of[id(a)] = b
        back[id(b)] = a
        keep.append((a, b))
        array = bits(a)
        if array is not None:
            if array != bits(b):
                found.append(f"{path}: array differs, {array[:2]} and {bits(b)[:2]}")
            continue
        stack.extend(_parts(a, b, path, found, skipped))
    return found


def _parts(a, b, path, found, skipped):
    if isinstance(a, types.FunctionType):
        if a.__code__ is not b.__code__:
            found.append(f"{path}: different function")
        ours = [_content(cell) for cell in a.__closure__ or ()]
        theirs = [_content(cell) for cell in b.__closure__ or ()]
        yield (ours, theirs, path + ".closure")
        yield (a.__defaults__, b.__defaults__, path + ".defaults")
        yield (a.__kwdefaults__, b.__kwdefaults__, path + ".kwdefaults")
        yield (a.__dict__, b.__dict__, path + ".dict")
        return
    if isinstance(a, types.MethodType):
        yield (a.__self__, b.__self__, path + ".self")
        yield (a.__func__, b.__func__, path + ".func")
        return
    if isinstance(a, functools.partial):
        yield ((a.func, a.args, a.keywords), (b.func, b.args, b.keywords), path + ".partial")
    if isinstance(a, weakref.ReferenceType):
        yield (a(), b(), path + "()")
        return
    if isinstance(a, weakref.WeakSet):
        return
    if isinstance(a, dict):
        if len(a) != len(b):
            found.append(f"{path}: {len(a)} entries became {len(b)}: {set(map(str, a)) ^ set(map(str, b))}")
            return
        for (k1, v1), (k2, v2) in zip(list(a.items()), list(b.items()), strict=True):
            if isinstance(k1, str) and k1 in skipped:
                continue
            # An int this large is an id; behavior is tested instead.
            if not (type(k1) is int and k1 > 1 << 32):
                yield (k1, k2, f"{path}.keys()")
            yield (v1, v2, f"{path}[{k1!r:.40}]")
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            found.append(f"{path}: {len(a)} items became {len(b)}")
            return
        yield from ((x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(list(a), list(b), strict=True)))
    elif isinstance(a, set | frozenset):
        if len(a) != len(b):
            found.append(f"{path}: {len(a)} members became {len(b)}")
        elif all(isinstance(x, str | int | float) for x in a) and set(a) != set(b):
            found.append(f"{path}: members differ: {sorted(map(str, a ^ b))[:4]}")
        return
    elif isinstance(a, np.ndarray):
        yield from ((x, y, f"{path}.flat") for x, y in zip(a.flat, b.flat, strict=True))
        return
    ours, theirs = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
    if isinstance(ours, dict):
        for name in ours:
            if name in skipped:
                continue
            if name not in theirs:
                found.append(f"{path}.{name}: lost")
            else:
                yield (ours[name], theirs[name], f"{path}.{name}")
        for name in theirs:
            if name not in ours and name not in skipped:
                found.append(f"{path}.{name}: new")
    for cls in type(a).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(a, name) and name not in ("__dict__", "__weakref__"):
                yield (getattr(a, name), getattr(b, name, None), f"{path}.{name}")


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return "<empty cell>"


def assert_same(original, twin, skip=()):
    """Fail with the first differences."""
    found = differences(original, twin, skip=skip)
    assert not found, "the twin differs:\n  " + "\n  ".join(found)
