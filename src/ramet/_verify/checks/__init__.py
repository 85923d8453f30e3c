"""One file for each thing that is verified."""

from __future__ import annotations

from collections.abc import Callable

from ramet._verify.checks import (
    file,
    gradients,
    identity,
    independence,
    masks,
    outputs,
    settings,
    state,
    structure,
    training,
)
from ramet._verify.pair import Pair
from ramet._verify.report import Check

# In the order in which a reader wants to know: what something is before what it does.
CHECKS: dict[str, Callable[[Pair], Check]] = {
    "structure": structure.check,
    "settings": settings.check,
    "state": state.check,
    "identity": identity.check,
    "outputs": outputs.check,
    "masks": masks.check,
    "gradients": gradients.check,
    "training": training.check,
    "independence": independence.check,
    "file": file.check,
}
