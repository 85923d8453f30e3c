"""The only place that touches Keras' private names; everything else asks here."""

from ramet._keras import (
    calls,
    compiled,
    exchange,
    kinds,
    layers,
    lora,
    names,
    optimizers,
    policies,
    quantization,
    randomness,
    rename,
    rewire,
    structure,
    tensors,
    training,
)
from ramet._keras.arguments import freeze_argument
from ramet._keras.capture import capture, live_calls
from ramet._keras.compiled import compile_settings
from ramet._keras.counters import names_untouched
from ramet._keras.differentiate import run_and_differentiate
from ramet._keras.hidden import IDENTITY, SHAPE_OF, is_library_name
from ramet._keras.kinds import kind_of
from ramet._keras.masks import made_alike, mask_kinds, mask_owner
from ramet._keras.pause import collector_paused
from ramet._keras.policies import effective, policies_kept
from ramet._keras.randomness import global_generator, randomness_untouched, start_alike
from ramet._keras.reload import file_config, made_from_file, overridden, safe_mode
from ramet._keras.safe_load import load_copy, safe_copy, under_guard
from ramet._keras.sequence import ordered
from ramet._keras.settings import op_settings
from ramet._keras.share_option import list_of_shared
from ramet._keras.structure import inside
from ramet._keras.tensors import arrays_of, is_concrete, is_live, mask_of, views_of
from ramet._keras.tree import Place, places_below, unique_ids
from ramet._keras.unsaved import is_marked, mark, reading_configs, unmark
from ramet._keras.version import check_version
from ramet._keras.watch import watched
from ramet._keras.weights import LiveVariables, LiveWeights, frozen_compile_settings

__all__ = [
    "IDENTITY",
    "SHAPE_OF",
    "LiveVariables",
    "LiveWeights",
    "Place",
    "arrays_of",
    "calls",
    "capture",
    "check_version",
    "collector_paused",
    "compile_settings",
    "compiled",
    "effective",
    "exchange",
    "file_config",
    "freeze_argument",
    "frozen_compile_settings",
    "global_generator",
    "inside",
    "is_concrete",
    "is_library_name",
    "is_live",
    "is_marked",
    "kind_of",
    "kinds",
    "layers",
    "list_of_shared",
    "live_calls",
    "load_copy",
    "lora",
    "made_alike",
    "made_from_file",
    "mark",
    "mask_kinds",
    "mask_of",
    "mask_owner",
    "names",
    "names_untouched",
    "op_settings",
    "optimizers",
    "ordered",
    "overridden",
    "places_below",
    "policies",
    "policies_kept",
    "quantization",
    "randomness",
    "randomness_untouched",
    "reading_configs",
    "rename",
    "rewire",
    "run_and_differentiate",
    "safe_copy",
    "safe_mode",
    "start_alike",
    "structure",
    "tensors",
    "training",
    "under_guard",
    "unique_ids",
    "unmark",
    "views_of",
    "watched",
]
