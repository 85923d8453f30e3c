"""Verbs that make twins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from ramet.errors import ArgumentError, shown

T = TypeVar("T")


def clone(
    model: T,
    *,
    weights: Literal["copy", "fresh", "share"] = "copy",
    inputs: Any = None,
    name: str | None = None,
    seed: int | None = None,
    compile: bool = True,
    share: Iterable[Any] = (),
) -> T:
    """An exact, independent twin of a model.

    Kept: class, graph, names, config, every flag, every bit of state (weights, statistics, random generators, RNN
    states, tables, metrics, optimizer), what is shared inside, attributes set by hand, device and sharding. Not kept:
    compiled functions, which the twin makes for itself, and gradients left on torch parameters. The original is not
    changed, and nothing that can change is common to both.

    Args:
        model: A model of any kind, a layer (it comes without its calls), an optimizer (alone, it goes on optimising the
            same variables; together with its model, the twin's), a metric or a loss, or a list, tuple or dict of them:
            what they share is shared among their twins.
        weights: `"copy"`, or `"fresh"` for newly initialised weights and batch statistics (vocabularies, adapted
            statistics and the learning rate stay; `seed=` makes it repeatable), or `"share"` for new layers on the
            very same variables.
        inputs: Other inputs to build the twin on, with its weights: a `keras.Input` of another shape or dtype, a tensor
            inside another model, or an array that stands for its shape and dtype; in the model's structure, in a
            list, or in a dict by name.
        name: Another name. Every variable path of the twin then begins with it, so that original and twin can live
            inside one model.
        seed: Reseed every random generator and initialiser, each by its path: distinct, and repeatable.
        compile: `False` for a twin without optimizer, loss and metrics.
        share: Objects that stay the very same in the twin, with the layers and variables inside them: what else of the
            model uses one of these uses it in the twin, too. An op of a functional model that is shared has the calls of
            both models from then on.

    Raises:
        NotAModelError: `model` is nothing that can be cloned.
        CannotCopyError: something inside cannot be copied; the error says where it stands.
        RebuildError: a layer refused the new inputs.
        StateElsewhereError: another thread runs the model, and its values are not all in place.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> twin = ramet.clone(model)
    >>> bool((twin.layers[0].kernel.numpy() == model.layers[0].kernel.numpy()).all())
    True
    """
    from ramet._build import clone as make_twin

    return make_twin(  # type: ignore[no-any-return]
        model, weights=weights, inputs=inputs, name=name, seed=seed, keep_compiled=compile, share=share
    )


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,  # noqa: FBT001, FBT002  # as in keras.models.clone_model
    *,
    weights: Literal["copy", "fresh", "share"] = "fresh",
    seed: int | None = None,
) -> Any:
    """A clone by the arguments of `keras.models.clone_model`, for which it can stand in.

    What works there works here. Class, flags, names and masks are kept; `docs/clone_model.md` lists every difference.

    Args:
        model: A model of any kind.
        input_tensors: As `inputs` of `ramet.clone`; input layers may stand for their tensors.
        clone_function: Called once with each layer that is no input; what it returns, a layer or a plain function, stands for
            the layer. If it returns the layer itself, the clone has a new layer on the same variables (on copies of them
            with `weights="copy"`), and the original's is not called.
        call_function: Called with each layer of the clone and the arguments of each of its calls; what it returns
            stands for the outputs.
        recursive: Enter nested models, wrappers and composite layers, whose classes are kept.
        weights: As in `ramet.clone`; fresh ones by default, as in Keras. With a `clone_function`, `"copy"` carries the
            original's weights over to layers of the same shapes.
        seed: As in `ramet.clone`.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="relu")])
    >>> def gelu_for_relu(layer):
    ...     config = layer.get_config()
    ...     return type(layer).from_config({**config, "activation": "gelu"})
    >>> ramet.clone_model(model, clone_function=gelu_for_relu).layers[0].activation.__name__
    'gelu'
    """
    from ramet._build import clone_model as make_clone

    return make_clone(model, input_tensors, clone_function, call_function, recursive, weights=weights, seed=seed)


def register_copy(cls: type, how: str | Callable[[Any, Callable[[Any], Any]], Any]) -> None:
    """Say how objects of a class, and of its subclasses, are copied.

    Args:
        cls: The class. For one of your own, a method `__ramet_copy__(self, copy)` does the same.
        how: `"share"`: the twin uses the very same objects. `"refuse"`: cloning fails and says where one stands. Or a
            function `how(obj, copy)` that returns the new object; `copy(part)` returns the twin of a part,
            complete except for values of variables and for objects that refer to `obj`: these are filled in later.

    >>> import ramet
    >>> class Connection:
    ...     pass
    >>> ramet.register_copy(Connection, "share")
    """
    if not isinstance(cls, type):
        raise ArgumentError(
            f"Cannot register {cls!r}: it is not a class.", fix="pass the class, not an instance of it."
        )
    word: Any = how  # an array has no truth when it is compared
    if not callable(word) and not (isinstance(word, str) and word in ("share", "refuse")):
        raise ArgumentError(
            f"Cannot register {cls.__name__} with {shown(how)}: there is no such plan.",
            expected="'share', 'refuse', or a function how(obj, copy)",
            fix="pass one of these.",
        )
    from ramet._copy import register

    register(cls, how)
