"""Attribute names that a library keeps for itself."""

from __future__ import annotations

import functools
import types

# What differs between any two models by nature, or says how one was run: addresses, caches, locks, calls.
IDENTITY = frozenset(
    {
        *("_nodes", "stored_ids", "_loss_ids", "_trainable_variables_indices", "_unique_id", "_handle", "_shared_name"),
        *("_resource_handle_value", "_self_update_uid", "_nnx_op_mapping", "_inbound_nodes", "_outbound_nodes"),
        *("_keras_history", "_self_unconditional_checkpoint_dependencies", "_self_unconditional_dependency_names"),
        *("_self_last_wrapped_dict_snapshot", "train_function", "test_function", "predict_function", "_jax_state"),
        *(
            "_jax_state_synced",
            "_eval_epoch_iterator",
            "_called",
            "_lock",
            "_tracker",
            "_auto_config",
            "_call_context_args",
        ),
        *(
            "_compiled_trainable_state",
            "_losses",
            "_build_shapes_dict",
            "__wrapped__",
            "_initial_epoch",
            "_epoch_iterator",
        ),
        *("_object_identifier", "history", "_is_hf_initialized", "_obj_reference_counts_dict"),
        *("stop_predicting", "stop_evaluating"),
    }
)
# How the arguments of `build()` end that are named after those of `call()`.
SHAPE_OF = "_shape"
_LIBRARIES = ("keras", "torch", "tensorflow", "jax")


def is_library_name(cls: type, name: str) -> bool:
    """Whether the code of a library, in a class or one of its bases, speaks of an attribute of that name."""
    return name in _spoken_of(cls)


@functools.cache
def _spoken_of(cls: type) -> frozenset[str]:
    found: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in _LIBRARIES:
            for member in base.__dict__.values():
                for function in (
                    member,
                    *(getattr(member, name, None) for name in ("fget", "fset", "__func__", "__wrapped__")),
                ):
                    if isinstance(function, types.FunctionType):
                        found.update(function.__code__.co_names)
    return frozenset(found)
