"""From a graph and a model to a model: other inputs, a part of it, fresh weights, layers changed on the way."""

from ramet._build.weight_axes import Answer
from ramet._build.positions import Axis
from ramet._build.follow import CombinesPaddingError
from ramet._build.orders import Make
from ramet._build.orders import Orders
from ramet._build.origin import Origin
from ramet._build.positions import SAME
from ramet._build.positions import Tracked
from ramet._build.weight_axes import Use
from ramet._build.trampoline import Work
from ramet._build.weight_axes import answer_for
from ramet._build.rebuild import arguments_of
from ramet._build.weight_axes import arguments_of_layer
from ramet._build.build_like import build_like
from ramet._build.door import clone
from ramet._build.clone_model import clone_model
from ramet._build.cut import cut
from ramet._build.draw import drawn_from
from ramet._build.positions import fitted
from ramet._build.follow import followed
from ramet._build.weightless import known_outputs
from ramet._build.positions import lost
from ramet._build.build_like import place_below
from ramet._build.rebuild import rebuild
from ramet._build.positions import resized_input
from ramet._build.trampoline import run
from ramet._build.follow import runner
from ramet._build.positions import sizes_of
from ramet._build.positions import untouched

__all__ = [
    "Answer",
    "Axis",
    "CombinesPaddingError",
    "Make",
    "Orders",
    "Origin",
    "SAME",
    "Tracked",
    "Use",
    "Work",
    "answer_for",
    "arguments_of",
    "arguments_of_layer",
    "build_like",
    "clone",
    "clone_model",
    "cut",
    "drawn_from",
    "fitted",
    "followed",
    "known_outputs",
    "lost",
    "place_below",
    "rebuild",
    "resized_input",
    "run",
    "runner",
    "sizes_of",
    "untouched",
]
