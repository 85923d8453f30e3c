"""Edits that preserve the function keep outputs to 1e-9 in double precision."""

import keras
import pytest
from keras import layers

from ramet import edits as e
from tests.edit.expect import assert_close, edited, scrambled
from tests.support.graph_models import data_for
from tests.support.twins import outputs

BACKEND = keras.backend.backend()
# Models that do not compute in double precision in spite of their dtype cannot be compared to 1e-9. LoRA in Keras never
# does: the factors are float32.
multiplies_matrices = pytest.mark.skipif(
    BACKEND == "torch",
    reason="Keras multiplies float64 matrices in single precision on torch; a Keras that does not lifts this",
)
normalizes = pytest.mark.skipif(
    BACKEND != "tensorflow",
    reason="Keras normalizes float64 batches in single precision on JAX and torch; a Keras that does not lifts this",
)


pytestmark = pytest.mark.usefixtures("double")


def conv(**options):
    return layers.Conv2D(4, 3, padding="same", dtype="float64", **options)


def norm():
    return layers.BatchNormalization(dtype="float64")


def dense(activation="relu"):
    return layers.Dense(3, dtype="float64", activation=activation)


def dropout():
    return layers.Dropout(0.5, dtype="float64")


def model_of(shape, *made):
    x = keras.Input(shape, dtype="float64")
    y = x
    for layer in made:
        y = layer(y)
    return scrambled(keras.Model(x, y))


def row(edit, make, *marks, id):
    return pytest.param(edit, make, marks=marks, id=id)


@pytest.mark.parametrize(
    ("edit", "make"),
    [
        row(e.drop_dropout, lambda: model_of((6, 6, 4), conv(), dropout()), id="drop_dropout"),
        row(e.split_activation, lambda: model_of((6, 6, 4), conv(activation="gelu")), id="split_activation"),
        row(
            e.split_activation,
            lambda: model_of((4,), dense()),
            multiplies_matrices,
            id="split_activation of a dense layer",
        ),
        row(e.flatten, lambda: model_of((6, 6, 4), model_of((6, 6, 4), conv()), conv()), id="flatten"),
        row(lambda: e.rename("conv2d*", "first"), lambda: model_of((6, 6, 4), conv()), id="rename"),
        row(e.fold_batchnorm, lambda: model_of((6, 6, 4), conv(use_bias=False), norm()), normalizes, id="fold after"),
        row(e.fold_batchnorm, lambda: model_of((6, 6, 4), norm(), conv(strides=2)), normalizes, id="fold before"),
        row(
            e.fold_batchnorm,
            lambda: model_of((4,), dense(activation=None), norm()),
            normalizes,
            id="fold into a dense layer",
        ),
    ],
)
def test_preserving_edit_keeps_outputs_in_double_precision(edit, make):
    model = make()

    new = edited(model, edit())

    x = data_for(model)
    ours, theirs = outputs(new, x), outputs(model, x)
    assert {str(array.dtype) for array in keras.tree.flatten(ours)} == {"float64"}
    assert_close(ours, theirs, 1e-9)
