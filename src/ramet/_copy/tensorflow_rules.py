"""Copy rules for TensorFlow: variables, lookup tables, `tf.function`, wrappers of lists and dicts, and SavedModels.

Chosen by class: Keras' lookup layers hold these objects on JAX and torch as well.
"""

from __future__ import annotations

import contextlib
import functools
import uuid
import weakref
from collections.abc import Iterable
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops
from tensorflow.python.trackable import data_structures
from tensorflow.python.util import tf_decorator

from ramet._copy.atoms import ATOMS
from ramet._copy.attributes import AttributesRule, replace_values
from ramet._copy.copier import Copier
from ramet._copy.functions import WrapperRule
from ramet._copy.objects import RefuseRule
from ramet._copy.rule import AssemblyRule, CopyRule, ShellRule
from ramet._keras import names, structure


class TensorFlowVariableRule(CopyRule):
    """A resource variable: a bare new object with its own handle.

    `tf.Variable(...)` would do ten times the work, and return a different class for some variables. Buffers are copied on
    write, so the new variable needs no memory until either changes.
    """

    def copy(self, old: Any, copier: Copier) -> Any:
        if not tf.executing_eagerly() or old._in_graph_mode:
            copier.refuse(old, "a variable inside a TensorFlow graph cannot be copied", "clone outside of tf.function")
        new = object.__new__(type(old))
        copier.memo[id(old)] = new
        name = old._handle_name.partition(":")[0]
        with contextlib.nullcontext() if _has_one_device() else tf.device(old.device):
            handle = _copy_resource(old, name)
        unique_id = f"{name}_{ops.uid()}"
        new.__dict__.update(old.__dict__)
        replace_values(new.__dict__, new.__dict__.__setitem__, copier)
        handle._parent_trackable = weakref.ref(new)
        handle._name = old._handle_name
        handle._unique_id = unique_id
        new.__dict__.update(_handle=handle, _unique_id=unique_id, _cached_value=None)
        return new


def _copy_resource(old: Any, name: str) -> Any:
    """Return a new handle with the value of the old one, by three low-level operations."""
    handle = gen_resource_variable_ops.var_handle_op(
        shape=old._shape, dtype=old._dtype, shared_name=context.anonymous_name(), debug_name=name, name=name
    )
    handle._handle_data = old._handle._handle_data  # shape and dtype, which are set only when a handle is created
    try:
        value = gen_resource_variable_ops.read_variable_op(old._handle, old._dtype)
    except tf.errors.FailedPreconditionError:  # never initialized, so neither is its twin
        return handle
    gen_resource_variable_ops.assign_variable_op(handle, value)
    return handle


@functools.cache
def _has_one_device() -> bool:
    """Return whether there is only one device. The devices are fixed once they have been listed."""
    return len(tf.config.list_logical_devices()) == 1


class LookupTableRule(CopyRule):
    """A lookup table: a new resource with the same keys and values."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = object.__new__(type(old))
        copier.memo[id(old)] = new
        for name, value in old.__dict__.copy().items():
            if name != "_resource_handle_value":
                new.__dict__[name] = value if type(value) in ATOMS else copier.copy(value)
        # Tables are found by name: under the original's name, TensorFlow would return the original's table.
        if not old.__dict__.get("_is_anonymous", False):
            new._shared_name = f"table_{uuid.uuid4().hex}"
        copier.late.append((self, old, new))
        return new

    def fill_late(self, old: Any, new: Any, copier: Copier) -> None:
        """Create the resource and its entries, once the table's initializer is complete."""
        with tf.init_scope(), tf.device(getattr(old, "_resource_device", None) or "CPU:0"):
            new._resource_handle_value = new._create_resource()
            if int(old.size()) == 0:
                return
            # Through NumPy: a dense table exports its own memory, and an import keeps the tensors it is given.
            keys, values = (tf.constant(part.numpy(), part.dtype) for part in old.export())
            if hasattr(old, "insert"):
                tf.raw_ops.LookupTableImportV2(table_handle=new.resource_handle, keys=keys, values=values)
            else:
                tf.raw_ops.InitializeTableV2(table_handle=new.resource_handle, keys=keys, values=values)


class TensorFlowFunctionRule(WrapperRule):
    """A `tf.function`: shared, or created again around the copied Python function, without its traces."""

    def wrapped(self, old: Any) -> Any:
        return old.python_function

    def wrap(self, old: Any, function: Any, copier: Copier) -> Any:
        new = tf_decorator.make_decorator(function, decorator_name="tf.function", decorator_func=old._clone(function))
        for name, value in old.__dict__.items():  # set by tracking when it became an attribute
            if name.startswith("_self_"):
                new.__dict__[name] = copier.copy(value)
        return new


class DictWrapperRule(ShellRule):
    """The proxy that TensorFlow puts around a dict assigned to an attribute of a model."""

    def start(self, old: Any, copier: Copier) -> Any:
        return type(old)({})

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        items = new.__wrapped__
        for key, value in dict(old.__wrapped__).items():
            items[copier.copy(key)] = copier.copy(value)
        # The bookkeeping of the proxy, visible in its `__dict__` only.
        attributes = new.__dict__
        for name, value in old.__dict__.copy().items():
            attributes[name] = copier.copy(value)


class TupleWrapperRule(AssemblyRule):
    """The proxy that TensorFlow puts around a tuple."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__wrapped__,)

    def make(self, old: Any, copier: Copier) -> Any:
        return type(old)(copier.copy(old.__wrapped__))


def tensorflow_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of TensorFlow, or None."""
    if issubclass(cls, resource_variable_ops.BaseResourceVariable):
        return TensorFlowVariableRule()
    if issubclass(cls, tf.Variable):
        return RefuseRule(
            "a variable spread over replicas cannot be copied",
            "create or load the model outside of the strategy's scope",
        )
    if issubclass(cls, data_structures._DictWrapper):
        return DictWrapperRule()
    if issubclass(cls, data_structures._TupleWrapper):
        return TupleWrapperRule()
    if issubclass(
        cls, tf.lookup.experimental.MutableHashTable | tf.lookup.StaticHashTable | tf.lookup.experimental.DenseHashTable
    ):
        return LookupTableRule()
    if issubclass(cls, tf.types.experimental.ConcreteFunction):
        return RefuseRule(
            "a traced TensorFlow function belongs to the variables it was traced with",
            "keep the tf.function and trace it when it is needed",
        )
    if issubclass(cls, tf.types.experimental.PolymorphicFunction):
        return TensorFlowFunctionRule()
    if issubclass(cls, tf.data.Iterator):
        return RefuseRule(
            "a running iterator cannot be copied", "keep the dataset and create the iterator when it is needed"
        )
    if issubclass(cls, tf.random.Generator):
        return AttributesRule(cls, topic="generators")  # `seed=` must find it
    return None


def reload_saved_models(root: Any, copier: Copier) -> None:
    """Load the SavedModels of layers below `root` again and pair their objects with the original's.

    Traced functions over variables cannot be copied, but they can be loaded again. This happens before the walk, which
    may reach a variable of the file before the layer.
    """
    for layer in structure.layer_tree(root):
        if isinstance(layer, keras.layers.TFSMLayer) and id(layer) not in copier.memo:
            _pair(layer, copier)


def _pair(layer: Any, copier: Copier) -> None:
    old = layer.__dict__[names.RELOADED]
    try:
        new = tf.saved_model.load(layer.filepath)
    except (OSError, ValueError) as error:
        copier.refuse(
            old,
            f"it was loaded from '{layer.filepath}', which cannot be loaded again ({type(error).__name__})",
            "restore the SavedModel, or share the layer with share=[layer]",
        )
    waiting = [(old, new)]
    while waiting:
        ours, theirs = waiting.pop()
        if id(ours) in copier.memo or not isinstance(ours, _PAIRED):
            continue
        if isinstance(ours, tf.Variable):
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                _changed(layer, old, copier)
            theirs.assign(ours)
        elif isinstance(ours, tf.types.experimental.ConcreteFunction):
            if _operations(ours) != _operations(theirs):
                _changed(layer, old, copier)
            waiting.extend(zip(ours.variables, theirs.variables, strict=True))
        else:
            waiting.extend(_pairs_inside(ours, theirs))
        copier.memo[id(ours)] = theirs
        copier.kept_alive.append(ours)


_PAIRED = (
    tf.Variable,
    tf.types.experimental.ConcreteFunction,
    tf.types.experimental.PolymorphicFunction,
    tf.__internal__.tracking.Trackable,
    dict,
    list,
    tuple,
)


def _pairs_inside(ours: Any, theirs: Any) -> list[tuple[Any, Any]]:
    if isinstance(ours, tf.types.experimental.PolymorphicFunction):
        return list(zip(ours.concrete_functions, theirs.concrete_functions, strict=True))
    if hasattr(ours, "keys"):
        return [(ours[key], theirs[key]) for key in ours]
    if isinstance(ours, list | tuple):
        return list(zip(ours, theirs, strict=True))
    return [(part, theirs.__dict__[name]) for name, part in ours.__dict__.items() if name in theirs.__dict__]


def _operations(function: Any) -> list[str]:
    return [operation.type for operation in function.graph.get_operations()]


def _changed(layer: Any, old: Any, copier: Copier) -> None:
    copier.refuse(
        old,
        f"it was loaded from '{layer.filepath}', which now holds another model",
        "restore the SavedModel, or share the layer with share=[layer]",
    )
