"""torch: parameters, tensors, modules, generators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from ramet._copy.attributes import AttributesPlan
from ramet._copy.classes import has_bare_new
from ramet._copy.copier import Copier
from ramet._copy.objects import DeepCopyPlan, ReducePlan
from ramet._copy.plan import Plan, Shell
from ramet._copy.values_by_name import copy_attributes


class TensorPlan(Plan):
    """A tensor, parameter or buffer: same bits, device, strides, `requires_grad`, attributes and hooks, no gradient.

    Tensors that are views of one memory are views of one memory in the twin, too. What a tensor was computed from
    belongs to the original: the twin of a computed tensor is a leaf.
    """

    def copy(self, old: Any, copier: Copier) -> Any:
        new = self._copy_data(old, copier)
        if type(old) is Parameter:
            new.__class__ = Parameter  # as torch does when a lazy parameter gets its data
        elif type(new) is not type(old):
            new = Tensor._make_subclass(type(old), new, old.requires_grad)
        if old.requires_grad and old.is_leaf and not new.requires_grad:
            new.requires_grad_()
        copier.memo[id(old)] = new
        copier.kept.append(old)
        if old.__dict__:
            copy_attributes(old, new, copier)
        if old._backward_hooks or old._post_accumulate_grad_hooks:
            _copy_hooks(old, new, copier)
        return new

    def _copy_data(self, old: Any, copier: Copier) -> Any:
        data = old if type(old) in _PLAIN else old.detach()
        if type(data) not in _PLAIN or old.layout is not _STRIDED or old.is_meta or old.is_quantized:
            return _clone(data)
        memory = old.untyped_storage()
        storages = copier.tables["storages"]
        key = memory._cdata
        holder = storages.get(key)  # a tensor over all of the twin's memory, or the memory itself
        if holder is None:
            copier.kept.append(memory)
            if memory.nbytes() == data.nbytes:
                new = _clone(data)
                if data.is_contiguous() or new.stride() == data.stride():
                    storages[key] = new
                    return new
            holder = storages[key] = memory.clone()
        twin_memory = holder.untyped_storage() if isinstance(holder, Tensor) else holder
        empty = torch.empty(0, dtype=old.dtype, device=old.device)
        return empty.set_(twin_memory, old.storage_offset(), old.size(), old.stride())


_PLAIN = (Tensor, Parameter)
_STRIDED = torch.strided


def _clone(tensor: Any) -> Any:
    """What `tensor.detach().clone()` gives, without the tensor in between."""
    if not tensor.requires_grad or not _is_grad_enabled():
        return tensor.clone()
    # Not `torch.no_grad()`: it takes longer than small tensors do.
    _set_grad_enabled(_OFF)
    try:
        return tensor.clone()
    finally:
        _set_grad_enabled(_ON)


_is_grad_enabled, _set_grad_enabled = torch._C.is_grad_enabled, torch._C._set_grad_enabled
_ON, _OFF = True, False


def _copy_hooks(old: Any, new: Any, copier: Copier) -> None:
    """Hooks the user registered on a tensor. They may reach the model, so they are copied like functions."""
    if not new.requires_grad:
        return
    for hook in (old._backward_hooks or {}).values():
        new.register_hook(copier.copy(hook))
    for hook in (old._post_accumulate_grad_hooks or {}).values():
        new.register_post_accumulate_grad_hook(copier.copy(hook))


class GeneratorPlan(Plan):
    """A torch generator: same device, same state."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = torch.Generator(device=old.device)
        new.set_state(old.get_state())
        copier.memo[id(old)] = new
        copier.record("generators").append((old, new))
        return new


class StoragePlan(Plan):
    """Raw memory outside a tensor."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = old.clone()
        return new


_OWN = ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


def module_plan(cls: type) -> Plan:
    """A module outside Keras: its attributes, unless its class has a copy protocol of its own."""
    own = {
        name for base in cls.__mro__ if base not in (object, torch.nn.Module) for name in _OWN if name in base.__dict__
    }
    if getattr(cls.__dict__.get("__deepcopy__"), "__module__", "") == "torch.nn.utils.parametrize":
        return AttributesPlan(cls, is_state=True)  # its own shares hooks, which may reach the model
    if "__deepcopy__" in own:
        return DeepCopyPlan()
    # `__setstate__` alone repairs old pickles; what it would set is there already.
    if own - {"__setstate__"} or not has_bare_new(cls):
        return ReducePlan()
    return AttributesPlan(cls, is_state=True)


class UninitializedPlan(Plan):
    """A parameter or buffer of a lazy module: it has no data yet."""

    def copy(self, old: Any, copier: Copier) -> Any:
        options = {"requires_grad": old.requires_grad} if isinstance(old, Parameter) else {}
        new = copier.memo[id(old)] = type(old)(device=old.device, dtype=old.dtype, **options)
        copy_attributes(old, new, copier)
        return new


class GraphModulePlan(AttributesPlan):
    """A `torch.fx.GraphModule`. Each has a class of its own, with the code made from its graph."""

    def start(self, old: Any, copier: Copier) -> Any:
        cls: Any = type(old)
        new = cls.__new__(cls)
        type(new).__name__ = cls.__name__
        copier.finishers.append(lambda _: setattr(new, "graph", new._graph))
        return new


class OptimizedModulePlan(Shell):
    """A module behind `torch.compile`: compiled anew around the copied module."""

    def start(self, old: Any, copier: Copier) -> Any:
        return object.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        module = copier.copy(old._orig_mod)
        copier.finishers.append(lambda _: type(old).__init__(new, module, old.dynamo_ctx))


def torch_plan(cls: type) -> Plan | None:
    """The plan for a class of torch's, or None."""
    if issubclass(cls, torch.nn.parameter.UninitializedTensorMixin):
        return UninitializedPlan()
    if issubclass(cls, torch.fx.GraphModule):
        return GraphModulePlan(cls, is_state=True)
    if cls.__name__ == "OptimizedModule" and cls.__module__.startswith("torch._dynamo"):
        return OptimizedModulePlan()
    if issubclass(cls, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler):
        return AttributesPlan(cls, is_state=True)
    if cls.__name__ == "_WrappedHook" and cls.__module__ == "torch.nn.modules.module":
        return AttributesPlan(cls)
    if issubclass(cls, Tensor):
        return TensorPlan()
    if issubclass(cls, torch.nn.Module):
        return module_plan(cls)
    if issubclass(cls, torch.Generator):
        return GeneratorPlan()
    if issubclass(cls, torch.UntypedStorage | torch.TypedStorage):
        return StoragePlan()
    return None
