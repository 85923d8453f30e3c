"""Copy rules for torch: parameters, tensors, modules, generators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from ramet._copy.attributes import AttributesRule, copy_attributes, has_bare_new
from ramet._copy.copier import Copier
from ramet._copy.objects import DeepCopyRule, ReduceRule
from ramet._copy.rule import CopyRule, ShellRule


class TorchTensorRule(CopyRule):
    """A tensor, parameter or buffer: everything but its gradient.

    Tensors that share memory share memory in the twin as well. The computation of a tensor belongs to the original: the
    twin of a computed tensor is a leaf.
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
        copier.kept_alive.append(old)
        if old.__dict__:
            copy_attributes(old, new, copier)
        if old._backward_hooks or old._post_accumulate_grad_hooks:
            _copy_hooks(old, new, copier)
        return new

    def _copy_data(self, old: Any, copier: Copier) -> Any:
        data = old if type(old) in _PLAIN else old.detach()
        if type(data) not in _PLAIN or old.layout is not _STRIDED or old.is_meta or old.is_quantized:
            return _clone_detached(data)
        memory = old.untyped_storage()
        storages = copier.tables["storages"]
        key = memory._cdata
        holder = storages.get(key)  # a tensor that covers the twin's memory, or the memory itself
        if holder is None:
            copier.kept_alive.append(memory)
            if memory.nbytes() == data.nbytes:
                new = _clone_detached(data)
                if data.is_contiguous() or new.stride() == data.stride():
                    storages[key] = new
                    return new
            holder = storages[key] = memory.clone()
        twin_memory = holder.untyped_storage() if isinstance(holder, Tensor) else holder
        empty = torch.empty(0, dtype=old.dtype, device=old.device)
        return empty.set_(twin_memory, old.storage_offset(), old.size(), old.stride())


_PLAIN = (Tensor, Parameter)
_STRIDED = torch.strided


def _clone_detached(tensor: Any) -> Any:
    """Return what `tensor.detach().clone()` returns, without the intermediate tensor."""
    if not tensor.requires_grad or not _is_grad_enabled():
        return tensor.clone()
    # Not `torch.no_grad()`, which takes longer than copying a small tensor.
    _set_grad_enabled(_OFF)
    try:
        return tensor.clone()
    finally:
        _set_grad_enabled(_ON)


_is_grad_enabled, _set_grad_enabled = torch._C.is_grad_enabled, torch._C._set_grad_enabled
_ON, _OFF = True, False


def _copy_hooks(old: Any, new: Any, copier: Copier) -> None:
    """Copy the hooks that the user registered on a tensor. They may reach the model, so they are copied like functions."""
    if not new.requires_grad:
        return
    for hook in (old._backward_hooks or {}).values():
        new.register_hook(copier.copy(hook))
    for hook in (old._post_accumulate_grad_hooks or {}).values():
        new.register_post_accumulate_grad_hook(copier.copy(hook))


class TorchGeneratorRule(CopyRule):
    """A torch generator: same device, same state."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = torch.Generator(device=old.device)
        new.set_state(old.get_state())
        copier.memo[id(old)] = new
        copier.records["generators"].append((old, new))
        return new


class TorchStorageRule(CopyRule):
    """Raw memory outside of a tensor."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = old.clone()
        return new


_OWN = ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


def _module_rule(cls: type) -> CopyRule:
    """Return the rule for a module outside of Keras: its attributes, unless its class has its own copy protocol."""
    own = {
        name for base in cls.__mro__ if base not in (object, torch.nn.Module) for name in _OWN if name in base.__dict__
    }
    if getattr(cls.__dict__.get("__deepcopy__"), "__module__", "") == "torch.nn.utils.parametrize":
        return AttributesRule(cls, is_state=True)  # its own method would share hooks, which may reach the model
    if "__deepcopy__" in own:
        return DeepCopyRule()
    # `__setstate__` alone only repairs old pickles: the attributes it would set exist already.
    if own - {"__setstate__"} or not has_bare_new(cls):
        return ReduceRule()
    return AttributesRule(cls, is_state=True)


class LazyParameterRule(CopyRule):
    """A parameter or buffer of a lazy module: it has no data yet."""

    def copy(self, old: Any, copier: Copier) -> Any:
        options = {"requires_grad": old.requires_grad} if isinstance(old, Parameter) else {}
        new = copier.memo[id(old)] = type(old)(device=old.device, dtype=old.dtype, **options)
        copy_attributes(old, new, copier)
        return new


class GraphModuleRule(AttributesRule):
    """A `torch.fx.GraphModule`. Each has its own class, with the code generated from its graph."""

    def start(self, old: Any, copier: Copier) -> Any:
        cls: Any = type(old)
        new = cls.__new__(cls)
        type(new).__name__ = cls.__name__
        copier.finishers.append(lambda _: setattr(new, "graph", new._graph))
        return new


class OptimizedModuleRule(ShellRule):
    """A module compiled by `torch.compile`: compiled again around the copied module."""

    def start(self, old: Any, copier: Copier) -> Any:
        return object.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        module = copier.copy(old._orig_mod)
        copier.finishers.append(lambda _: type(old).__init__(new, module, old.dynamo_ctx))


def torch_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of torch, or None."""
    if issubclass(cls, torch.nn.parameter.UninitializedTensorMixin):
        return LazyParameterRule()
    if issubclass(cls, torch.fx.GraphModule):
        return GraphModuleRule(cls, is_state=True)
    if cls.__name__ == "OptimizedModule" and cls.__module__.startswith("torch._dynamo"):
        return OptimizedModuleRule()
    if issubclass(cls, torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler):
        return AttributesRule(cls, is_state=True)
    if cls.__name__ == "_WrappedHook" and cls.__module__ == "torch.nn.modules.module":
        return AttributesRule(cls)
    if issubclass(cls, Tensor):
        return TorchTensorRule()
    if issubclass(cls, torch.nn.Module):
        return _module_rule(cls)
    if issubclass(cls, torch.Generator):
        return TorchGeneratorRule()
    if issubclass(cls, torch.UntypedStorage | torch.TypedStorage):
        return TorchStorageRule()
    return None
