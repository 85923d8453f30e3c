"""TensorFlow: variables, lookup tables, compiled functions, and the wrappers it puts around lists and dicts.

Chosen by class: Keras' lookup layers hold these objects on JAX and torch, too.
"""

from __future__ import annotations

import contextlib
import functools
import uuid
import weakref
from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops
from tensorflow.python.trackable import data_structures
from tensorflow.python.util import tf_decorator

from ramet._copy.atoms import ATOMS
from ramet._copy.copier import Copier
from ramet._copy.functions import is_importable
from ramet._copy.objects import RefusePlan
from ramet._copy.plan import Assembly, Plan, Shell
from ramet._copy.values_by_name import replace_values


class VariablePlan(Plan):
    """A resource variable: a bare new one with a handle of its own.

    `tf.Variable(...)` would do ten times the work and give another class for some. Buffers are copied on write, so
    the new variable costs no memory until either changes.
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
    """A new handle with the value of the old one, by three bare operations."""
    handle = gen_resource_variable_ops.var_handle_op(
        shape=old._shape, dtype=old._dtype, shared_name=context.anonymous_name(), debug_name=name, name=name
    )
    handle._handle_data = old._handle._handle_data  # shape and dtype once more; written once, when a handle is made
    try:
        value = gen_resource_variable_ops.read_variable_op(old._handle, old._dtype)
    except tf.errors.FailedPreconditionError:  # it was never initialised, nor is its twin
        return handle
    gen_resource_variable_ops.assign_variable_op(handle, value)
    return handle


@functools.cache
def _has_one_device() -> bool:
    """Whether there is only one place where a variable can be. Which devices there are is settled once it is asked."""
    return len(tf.config.list_logical_devices()) == 1


class TablePlan(Plan):
    """A lookup table: a new resource with the same keys and values."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = object.__new__(type(old))
        copier.memo[id(old)] = new
        for name, value in old.__dict__.copy().items():
            if name != "_resource_handle_value":
                new.__dict__[name] = value if type(value) in ATOMS else copier.copy(value)
        # Tables are found by name: with the original's name, TensorFlow would hand out the original's table.
        if not old.__dict__.get("_is_anonymous", False):
            new._shared_name = f"table_{uuid.uuid4().hex}"
        copier.late.append((self, old, new))
        return new

    def fill_late(self, old: Any, new: Any, copier: Copier) -> None:
        """The resource and its entries, once the table's initialiser is complete."""
        with tf.init_scope(), tf.device(getattr(old, "_resource_device", None) or "CPU:0"):
            new._resource_handle_value = new._create_resource()
            if int(old.size()) == 0:
                return
            # By way of NumPy: what a dense table exports is its own memory, and an import keeps what it is given.
            keys, values = (tf.constant(part.numpy(), part.dtype) for part in old.export())
            if hasattr(old, "insert"):
                tf.raw_ops.LookupTableImportV2(table_handle=new.resource_handle, keys=keys, values=values)
            else:
                tf.raw_ops.InitializeTableV2(table_handle=new.resource_handle, keys=keys, values=values)


class FunctionPlan(Assembly):
    """A `tf.function`: shared, or made anew around the copied Python function, without its traces."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else copier.assemble(old)

    def wrapped(self, old: Any) -> Any:
        """The Python function behind it."""
        return old.python_function

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.python_function,)

    def make(self, old: Any, copier: Copier) -> Any:
        function = copier.copy(old.python_function)
        if function is old.python_function:
            return old
        new = tf_decorator.make_decorator(function, decorator_name="tf.function", decorator_func=old._clone(function))
        for name, value in old.__dict__.items():  # what tracking put there when it became an attribute
            if name.startswith("_self_"):
                new.__dict__[name] = copier.copy(value)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return is_importable(old) or copier.shares(old.python_function)


class DictWrapperPlan(Shell):
    """The proxy TensorFlow puts around a dict that is assigned to a model's attribute."""

    def start(self, old: Any, copier: Copier) -> Any:
        return type(old)({})

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        items = new.__wrapped__
        for key, value in dict(old.__wrapped__).items():
            items[copier.copy(key)] = copier.copy(value)
        # The proxy's own bookkeeping, which its `__dict__` shows and its attributes hide.
        attributes = new.__dict__
        for name, value in old.__dict__.copy().items():
            attributes[name] = copier.copy(value)


class TupleWrapperPlan(Assembly):
    """The proxy TensorFlow puts around a tuple."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__wrapped__,)

    def make(self, old: Any, copier: Copier) -> Any:
        return type(old)(copier.copy(old.__wrapped__))


class RandomGeneratorPlan(Shell):
    """A `tf.random.Generator`. `seed=` must find it."""

    def start(self, old: Any, copier: Copier) -> Any:
        new = object.__new__(type(old))
        copier.record("generators").append((old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        for name, value in old.__dict__.copy().items():
            new.__dict__[name] = copier.copy(value)


def tensorflow_plan(cls: type) -> Plan | None:
    """The plan for a class of TensorFlow's, or None."""
    if issubclass(cls, resource_variable_ops.BaseResourceVariable):
        return VariablePlan()
    if issubclass(cls, tf.Variable):
        return RefusePlan(
            "a variable spread over replicas cannot be copied", "make or load the model outside of the strategy's scope"
        )
    if issubclass(cls, data_structures._DictWrapper):
        return DictWrapperPlan()
    if issubclass(cls, data_structures._TupleWrapper):
        return TupleWrapperPlan()
    if issubclass(
        cls, tf.lookup.experimental.MutableHashTable | tf.lookup.StaticHashTable | tf.lookup.experimental.DenseHashTable
    ):
        return TablePlan()
    if issubclass(cls, tf.types.experimental.ConcreteFunction):
        return RefusePlan(
            "a traced TensorFlow function belongs to the variables it was traced with",
            "keep the tf.function and trace it when it is needed",
        )
    if issubclass(cls, tf.types.experimental.PolymorphicFunction):
        return FunctionPlan()
    if issubclass(cls, tf.data.Iterator):
        return RefusePlan("a running iterator cannot be copied", "keep the dataset, and iterate when it is needed")
    if issubclass(cls, tf.random.Generator):
        return RandomGeneratorPlan()
    return None
