"""Building models: `clone`, `clone_model` and `cut`, and the rebuilding of call graphs that edits use.

A live model goes in, and a new model comes out. Each verb first makes an exact twin (`ramet._copy`) and then changes only the
twin: `rebuild` makes those of its calls again that depend on other inputs or on pending changes, `fresh` initializes its
weights again, and `positions`, `propagation` and `weight_axes` work out which slices of which weights belong to which
positions of a resized input.
"""

# No file is named after a public function: mypy would take `ramet.clone` for the module, because of import cycles.
from ramet._build.cloning import clone
from ramet._build.cutting import cut
from ramet._build.fresh import build_like, inherit_parent_path
from ramet._build.keras_clone import clone_model
from ramet._build.origin import InputOrigins
from ramet._build.pending import MakeCall, PendingChanges
from ramet._build.positions import (
    SAME,
    Axis,
    TrackedTensor,
    concrete_shape,
    lost_axis,
    resized_input,
    take_positions,
    unchanged_positions,
)
from ramet._build.propagation import CombinesPaddingError, array_runner, known_output_axes, propagate
from ramet._build.rebuild import Steps, arguments_of, rebuild, run_steps
from ramet._build.weight_axes import LayerEffect, WeightAxis, effect_of_layer, tensor_arguments

__all__ = [
    "SAME",
    "Axis",
    "CombinesPaddingError",
    "InputOrigins",
    "LayerEffect",
    "MakeCall",
    "PendingChanges",
    "Steps",
    "TrackedTensor",
    "WeightAxis",
    "arguments_of",
    "array_runner",
    "build_like",
    "clone",
    "clone_model",
    "concrete_shape",
    "cut",
    "effect_of_layer",
    "inherit_parent_path",
    "known_output_axes",
    "lost_axis",
    "propagate",
    "rebuild",
    "resized_input",
    "run_steps",
    "take_positions",
    "tensor_arguments",
    "unchanged_positions",
]
