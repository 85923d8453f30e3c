"""Everything ramet knows about Keras internals, and the capture of live models as graphs.

Live models, layers and optimizers go in. Two things come out: facts that Keras' public interface does not offer (the calls of a
model, the mask of a tensor, the slots of an optimizer, ...) together with the few writes that edits need, and `capture_model`,
which reads a model into a frozen `Graph` without calling anything. Private names of Keras are used in this room only, so that
support for a new Keras release is added in one place.

    names          private names of Keras, what they hold, and the supported versions
    structure      calls, layers, inputs, outputs and variables of a model; kinds of objects
    calls          calls (Keras' nodes) and the tensors between them
    capture        every op below a model, with its path; a live model as a graph
    masks          implicit and explicit masks; frozen: arguments and settings as data
    rewire         a new call graph in an existing model; names of ops
    exchange       parts of a layer exchanged in place; layers: settings and variables of one layer
    training       compile settings, optimizers, values while Keras' loops run
    configs        objects recreated from their configs; configs that lose an edit
    tensors        tensors and variables as NumPy arrays
    execution      runs, derivatives, observed calls
    policies       dtype policies; quantization, lora: layers with quantized or low-rank weights
    global_state   name counters, random generators, garbage collector
    guard          loading of untrusted files
"""

from ramet._keras import (
    calls,
    exchange,
    layers,
    lora,
    names,
    policies,
    quantization,
    rewire,
    structure,
    tensors,
    training,
)
from ramet._keras.calls import sort_calls
from ramet._keras.capture import OpLocation, capture_model, live_calls, locations_below, unique_ids
from ramet._keras.configs import (
    file_config,
    is_marked_lossy,
    mark_lossy,
    marked_losses,
    overridden_methods,
    reload_from_config,
    safe_mode,
    suppress_config_warnings,
    unmark_lossy,
)
from ramet._keras.execution import run_and_differentiate, watch_calls
from ramet._keras.frozen import freeze_argument, frozen_compile_settings, op_settings
from ramet._keras.global_state import (
    draw_from_seed,
    global_generator,
    keep_name_counters,
    keep_random_state,
    pause_collector,
    seed_generators,
)
from ramet._keras.guard import guard_loading, load_copy, safe_copy
from ramet._keras.masks import computed_alike, mask_kinds, mask_owner, recorded_mask, taken_masks
from ramet._keras.names import IDENTITY_ATTRIBUTES, SHAPE_ARGUMENT_SUFFIX, check_version, is_library_attribute
from ramet._keras.policies import effective_policy, keep_policies
from ramet._keras.structure import expand_shared, kind_of, ops_inside
from ramet._keras.tensors import LiveVariables, LiveWeights, arrays_of, is_concrete, is_live, mask_of, views_of
from ramet._keras.training import compile_settings

__all__ = [
    "IDENTITY_ATTRIBUTES",
    "SHAPE_ARGUMENT_SUFFIX",
    "LiveVariables",
    "LiveWeights",
    "OpLocation",
    "arrays_of",
    "calls",
    "capture_model",
    "check_version",
    "compile_settings",
    "computed_alike",
    "draw_from_seed",
    "effective_policy",
    "exchange",
    "expand_shared",
    "file_config",
    "freeze_argument",
    "frozen_compile_settings",
    "global_generator",
    "guard_loading",
    "is_concrete",
    "is_library_attribute",
    "is_live",
    "is_marked_lossy",
    "keep_name_counters",
    "keep_policies",
    "keep_random_state",
    "kind_of",
    "layers",
    "live_calls",
    "load_copy",
    "locations_below",
    "lora",
    "mark_lossy",
    "marked_losses",
    "mask_kinds",
    "mask_of",
    "mask_owner",
    "names",
    "op_settings",
    "ops_inside",
    "overridden_methods",
    "pause_collector",
    "policies",
    "quantization",
    "recorded_mask",
    "reload_from_config",
    "rewire",
    "run_and_differentiate",
    "safe_copy",
    "safe_mode",
    "seed_generators",
    "sort_calls",
    "structure",
    "suppress_config_warnings",
    "taken_masks",
    "tensors",
    "training",
    "unique_ids",
    "unmark_lossy",
    "views_of",
    "watch_calls",
]
