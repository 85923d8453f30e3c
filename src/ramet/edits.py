"""The edits. `ramet.edit` applies them to a twin of a model, `ramet.plan` shows what they would do.

Each edit is a class whose arguments are described in its docstring. A selector may be a selector, a glob over paths, a class,
a layer of the model, or a list of these. A layer is passed as a function that takes the old layer (of the twin, never of the
model passed in) and returns the new one.

>>> from ramet import edits as e, of_class
>>> e.replace(of_class("ReLU"), lambda old: ...)
replace(of_class('ReLU'), layer=<lambda>, weights=True)
"""

from __future__ import annotations

from ramet._edit import Edit as _Edit

# One line registers an edit: `x as x` exports it, also for type checkers. Recipes find the edits here.
# ruff: noqa: PLC0414
from ramet._edit.edits.cast import cast as cast
from ramet._edit.edits.drop_dropout import drop_dropout as drop_dropout
from ramet._edit.edits.flatten import flatten as flatten
from ramet._edit.edits.fold_batchnorm import fold_batchnorm as fold_batchnorm
from ramet._edit.edits.freeze import freeze as freeze
from ramet._edit.edits.freeze import unfreeze as unfreeze
from ramet._edit.edits.insert import insert_after as insert_after
from ramet._edit.edits.insert import insert_before as insert_before
from ramet._edit.edits.insert import remove as remove
from ramet._edit.edits.lora import lora as lora
from ramet._edit.edits.lora import merge_lora as merge_lora
from ramet._edit.edits.quantize import quantize as quantize
from ramet._edit.edits.rename import prefix as prefix
from ramet._edit.edits.rename import rename as rename
from ramet._edit.edits.replace import replace as replace
from ramet._edit.edits.replace import wrap as wrap
from ramet._edit.edits.resize_input import resize_input as resize_input
from ramet._edit.edits.splice import splice as splice
from ramet._edit.edits.split_activation import split_activation as split_activation
from ramet._edit.edits.swap_head import swap_head as swap_head
from ramet._edit.edits.update import update as update

__all__ = [
    name
    for name, value in sorted(vars().items())
    if isinstance(value, type) and issubclass(value, _Edit) and value is not _Edit
]
