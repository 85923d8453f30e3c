"""The public verbs, each a few lines. The live side is imported when a verb is called, not before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._diff import Diff
    from ramet._draw import Picture
    from ramet._edit import Plan, Recipe
    from ramet._graph import Graph
    from ramet._select import Selection
    from ramet._verify.report import Report
    from ramet._weights.report import TransferReport

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
        share: Objects that stay the very same in the twin. An op of a functional model that is shared has the calls of
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
    from ramet._build.door import clone as make_twin

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
    from ramet._build.clone_model import clone_model as make_clone

    return make_clone(model, input_tensors, clone_function, call_function, recursive, weights=weights, seed=seed)


def capture(model: Any) -> Graph:
    """The graph of a model: ops, calls and values as frozen data to print, walk, compare and write as JSON.

    Nothing is called, and nothing of the model changes. A subclassed model has no call graph; it is captured as a tree of
    layers, and its `kind` says so.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="d")], name="tiny")
    >>> print(ramet.capture(model))
    tiny (Sequential)  10 parameters
      x  Input  (None, 4) float32
      d  Dense  (None, 2)          <- x  -> output
    """
    from ramet._capture.capture import capture as take

    return take(model)


def cut(model: Any, outputs: Any) -> Any:
    """The part of a model that leads to one of its layers, as a functional model of its own, with its weights.

    The layers are twins: the original is not changed, and nothing is shared with it.

    Args:
        model: A functional or a built Sequential model.
        outputs: The path of a layer, `"block4/conv2"`, through nested models too; `"shared#2"` for its second call. Or a
            list, tuple or dict of paths.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2)])
    >>> ramet.cut(model, outputs="a").output_shape
    (None, 3)
    """
    from ramet._build.cut import cut as take_part

    return take_part(model, outputs)


def select(model: Any, selector: Any) -> Selection:
    """The layers of a model that a selector means; print it for paths, shapes and counts.

    Args:
        model: A model of any kind, or a graph.
        selector: A selector, a glob over paths, a class, a layer of the model, or a list of these.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")])
    >>> ramet.select(model, ramet.of_class("Dense")).paths
    ('a',)
    """
    from ramet._graph import Graph
    from ramet._select import select_in

    if isinstance(model, Graph):
        return select_in(model, selector)
    from ramet._capture.tree import places_below

    return select_in(capture(model), selector, {place.path: place.op for place in places_below(model)})


def edit(model: T, *edits: Any, seed: int | None = None, unsaved: bool = False, check: bool = False) -> T:
    """An edited twin of a model; the model itself is not changed.

    What no edit touches comes along with its weights, flags, random state and optimizer slots. All selectors are asked about
    the model as it is passed in; two edits that would change the same thing are refused, `edit(edit(model, a), b)` makes
    them one after the other. Slots of the optimizer follow their variables, new variables get fresh ones, frozen ones lose
    theirs. A model whose class makes its own config would not save new calls: it becomes a plain functional model.

    Args:
        model: A model of any kind. What needs a call graph is refused where there is none.
        *edits: Edits, as `ramet.edits` makes them, recipes, or lists of these.
        seed: Makes the weights of new layers repeatable.
        unsaved: Allow edits inside a class that makes its own parts, and would make the old ones when it is loaded.
        check: Run both models on inputs made from the specs, and raise an error unless the outputs are the same: for edits
            that keep the function (`fold_batchnorm`, `flatten`, `drop_dropout`, `split_activation`, `merge_lora`, `rename`,
            `prefix`), others are refused.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(2, name="logits")])
    >>> ramet.edit(model, e.swap_head(classes=10)).output_shape
    (None, 10)
    """
    from ramet._edit import as_edits
    from ramet._surgery.door import edit as carry_out

    if check:
        changing = next((one for one in as_edits(edits) if not one.preserving), None)
        if changing is not None:
            raise ArgumentError(
                f"Cannot check {changing!r}: it changes what the model computes.",
                fix="leave check= out, or make this edit in a second step.",
            )
    edited: T = carry_out(model, *edits, seed=seed, unsaved=unsaved)
    if check:
        from ramet._verify.same_function import check_same_function

        check_same_function(model, edited)
    return edited


def plan(model: Any, *edits: Any) -> Plan:
    """What `edit` would do: what each edit touches, what it skips and why. Nothing is done.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU(name="b")], name="m"
    ... )
    >>> print(ramet.plan(model, e.freeze("a")))
    Plan for 'm': 1 edit, 1 op touched
    <BLANKLINE>
    1. freeze(named('a')): 1 op
       a  Dense, frozen
    """
    from ramet._surgery.door import plan as say

    return say(model, *edits)


def read_recipe(source: str | os.PathLike[str]) -> Recipe:
    r"""The recipe in a TOML file: edits for `edit` and `plan`. It never runs code from the file.

    Args:
        source: The path of a file, or the text itself (a string with a line break or `[[` in it).

    Raises:
        RecipeError: Something in it is not known or does not fit; the error says line and column, and what is closest.

    >>> import ramet
    >>> print(ramet.read_recipe("[[edit]]\nremove = 'drop*'"))
    Recipe 'recipe': 1 edit
    1. remove(named('drop*'))
    """
    from ramet import edits
    from ramet._edit import read_recipe as read
    from ramet._surgery.from_config import check_layers

    recipe = read(source, {name: getattr(edits, name) for name in edits.__all__})
    check_layers(recipe.edits)
    return recipe


def diff(before: Any, after: Any) -> Diff:
    """What is different between two models, or two model files: `print` it, or read `changes`; `to_json()` and `to_markdown()` write it.

    Layers added, removed, moved, renamed and replaced; settings, calls, masks, inputs and outputs; sharing made or lost;
    compile settings; how far weights moved. Equal models give an empty diff, and neither model is changed. Files (`.keras`,
    `.h5`) are read as data: nothing in them is run, and no Keras is needed.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")], name="tiny")
    >>> twin = ramet.clone(model)
    >>> twin.layers[0].trainable = False
    >>> print(ramet.diff(model, twin))
    tiny: 1 setting changed
    <BLANKLINE>
    Settings
      d  trainable: True -> False
    <BLANKLINE>
    In consequence
      variable trainable  d/kernel True -> False, and 1 more
    """
    files = [isinstance(side, str | os.PathLike) for side in (before, after)]
    if all(files):
        from ramet._diff import diff_graphs
        from ramet._files import read_archive
        from ramet._graph import freeze_dict

        with read_archive(before) as ours, read_archive(after) as theirs:
            # Keras 2 wrote these settings in another form: they would all seem changed.
            known = ours.kind == theirs.kind == "model"
            settings = [
                None if file.compile_config is None else freeze_dict(file.compile_config) for file in (ours, theirs)
            ]
            compiled = (settings[0], settings[1]) if known else None
            return diff_graphs(ours.graph, theirs.graph, (ours.weights, theirs.weights), compiled)
    if any(files):
        raise ArgumentError(
            "Cannot compare a model with a file: a file does not tell everything that a model is.",
            fix="compare two files, model.save('now.keras') first; or two models, keras.saving.load_model(path).",
        )
    from ramet._capture.weights import diff_models

    return diff_models(before, after)


def draw(model: Any, path: str | os.PathLike[str] | None = None) -> Picture:
    """A picture of a model: shown in a notebook, or written as a page (`.html`) or for papers (`.svg`).

    Boxes by kind, shapes on the edges; sharing, masks and what is inside nested models and layers are visible. A page is one
    file that opens from disk and works offline.

    Args:
        model: A model of any kind, the path of a model file (`.keras`, `.h5`), which is read as data, or a graph.
        path: Where to write the picture, by its suffix; nothing is written when it is left out.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> ramet.draw(model).to_svg()[:4]
    '<svg'
    """
    from ramet._draw import draw_graph
    from ramet._graph import Graph

    if isinstance(model, Graph):
        picture = draw_graph(model)
    elif isinstance(model, str | os.PathLike):
        from ramet._files import read_archive

        file = read_archive(model)
        picture = draw_graph(file.graph, weights=file.weights)
    else:
        from ramet._capture.weights import LiveWeights

        picture = draw_graph(capture(model), weights=LiveWeights(model))
    if path is not None:
        picture.save(path)
    return picture


def transfer(
    source: Any,
    target: Any,
    *,
    policy: Literal["refuse", "slice", "pad", "mean", "repeat", "fresh"] = "refuse",
    select: Any = None,
    rename: Mapping[str, str] | Callable[[str], str] | None = None,
    dry_run: bool = False,
) -> TransferReport:
    """A report of what became of each weight of `target`, which is changed in place.

    Weights and batch statistics are matched by path, whatever the models are called; then, where they are wholly alike, by the
    order of names that Keras gave (`dense_3` and `dense_17`), or by the end of the path, if one of the models stands
    deeper. All of them are written, or none. Random states, metrics and the optimizer stay as they are.

    Args:
        source: A model, a layer, or a mapping from paths to arrays. It is not changed.
        target: A model or a layer; changed in place.
        policy: For weights of other shapes. `"refuse"`: nothing is written. `"slice"`: the first ones, to shrink.
            `"pad"`: zeros behind, to grow. `"mean"`: the mean of the old ones behind. `"repeat"`: the old ones over and over.
            `"fresh"`: the target keeps its own.
        select: Which weights of the target are meant: a glob over paths, or a selector of layers.
        rename: New paths, or beginnings of paths, by old ones (`{"encoder": "backbone", "block_*": "stage_*"}`), or a
            function from the path in the source to the path in the target.
        dry_run: `True` to write nothing, and be told what would be.

    Raises:
        WeightsDoNotFitError: shapes differ, and the policy does not allow it or cannot adapt them.

    >>> import keras, ramet
    >>> old, new = (keras.Sequential([keras.Input((4,)), keras.layers.Dense(n, name="d")], name="net") for n in (2, 3))
    >>> print(ramet.transfer(old, new, policy="pad"))
    net -> net: 2 adapted
    <BLANKLINE>
    adapted by 'pad'
      d/kernel  (4, 2) -> (4, 3)
      d/bias    (2,) -> (3,)
    """
    from ramet._weights.transfer import transfer as carry_over

    return carry_over(source, target, policy=policy, select=select, rename=rename, dry_run=dry_run)


def sync(source: Any, target: Any, tau: Any = 1.0) -> None:
    """Nothing; the weights of `target` are changed in place: `tau * source + (1 - tau) * target`.

    For a target network, or an average of weights. Batch statistics are averaged as weights are; integers and booleans
    are copied; random and RNN states, metrics and the optimizer stay. With `tau=1`, every bit is copied. Floats narrower than
    single precision are averaged in single precision. On the device, in one compiled call, which is made once for two
    models; it keeps neither of them alive.

    In a callback it works on every backend, also when one of the models is being fit. In a `train_step` of one's own it
    works on TensorFlow and torch; on JAX it is refused there, unless under a `keras.StatelessScope`, which then keeps the
    new values.

    Args:
        source: A model or layer. It is not changed.
        target: One with the same weights by path, `ramet.clone(source)` say; changed in place.
        tau: How far the target moves: from 0, not at all, to 1, a copy. Another tau compiles nothing anew. A tensor is
            read first, except inside a TensorFlow function or a `keras.StatelessScope`, where its value is not checked.

    Raises:
        WeightsDoNotFitError: the weights are not the same by path, shape and kind of dtype. Nothing was written.
        ArgumentError: `tau` is no share, or the models are quantised, and such weights have no average.
        StateElsewhereError: the values are not in the models right now.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    >>> target = ramet.clone(model)
    >>> model.get_layer("d").bias.assign([1.0, 2.0]) is None
    False
    >>> ramet.sync(model, target, tau=0.5)
    >>> [float(x) for x in target.get_layer("d").bias.numpy()]
    [0.5, 1.0]
    """
    from ramet._weights.sync import sync as bring_up_to_date

    bring_up_to_date(source, target, tau)


def register_copy(cls: type, how: str | Callable[[Any, Callable[[Any], Any]], Any]) -> None:
    """Say how objects of a class, and of its subclasses, are copied.

    Args:
        cls: The class. For one of your own, a method `__ramet_copy__(self, copy)` does the same.
        how: `"share"`: the twin uses the very same objects. `"refuse"`: cloning fails and says where one stands. Or a
            function `how(obj, copy)` that returns the new object; `copy(part)` gives the twin of a part, which may still
            be empty at that time.

    >>> import ramet
    >>> class Connection:
    ...     pass
    >>> ramet.register_copy(Connection, "share")
    """
    if not isinstance(cls, type):
        raise ArgumentError(
            f"Cannot register {cls!r}: it is not a class.", fix="pass the class, not an instance of it."
        )
    if not callable(how) and how not in ("share", "refuse"):
        raise ArgumentError(
            f"Cannot register {cls.__name__} with {how!r}: there is no such plan.",
            expected="'share', 'refuse', or a function how(obj, copy)",
            fix="pass one of these.",
        )
    from ramet._twin.plans import register

    register(cls, how)


def verify(
    model: Any,
    twin: Any = None,
    *,
    tolerance: float | Mapping[str, float] | None = None,
    only: Iterable[str] | str | None = None,
    skip: Iterable[str] | str | None = None,
    inputs: Any = None,
    targets: Any = None,
    seed: int = 0,
    share: Iterable[Any] = (),
    backends: Iterable[str] | None = None,
    progress: Callable[[str, int, int], None] | Literal[False] | None = None,
) -> Report:
    """The report on whether a model is an exact and independent twin of another: ten checks, each passed, failed or not run.

    Structure, settings, state, identity, outputs, masks, gradients, training, independence, file. Afterwards both models are
    as they were: values, random generators, optimizers that were not built, compiled functions. Nothing that makes twins is
    used to compare them.

    Args:
        model: The original: a model, or the path of a `.keras` file.
        twin: The other, likewise.
        tolerance: None for bit-equality; or how far floating-point numbers may be apart, as a part of the largest number of
            the original's array: one number, or one for each dtype.
        only: The names of the checks to run.
        skip: The names of checks to leave out.
        inputs: Example inputs, for a model that does not tell what it takes. Otherwise they are made from its specs, and what
            the original itself refuses is left out and counted.
        targets: Example targets for the training step.
        seed: Of inputs and random layers.
        share: What is meant to be one object in both, as in `ramet.clone(model, share=[...])`.
        backends: Run one file on each of these backends, in a process of its own, on the same inputs, and compare the
            outputs; within `tolerance`, or by default a part in ten thousand for float32.
        progress: None for a bar in a terminal when it takes long, False for none, or a function that is told the name of
            each check, its number, and of how many.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> report = ramet.verify(model, ramet.clone(model))
    >>> report.ok
    True
    >>> report["state"].summary
    '2 variables with 10 numbers are bit-equal'
    """
    from ramet._verify.door import verify as compare

    return compare(
        model,
        twin,
        tolerance=tolerance,
        only=only,
        skip=skip,
        inputs=inputs,
        targets=targets,
        seed=seed,
        share=share,
        backends=backends,
        progress=progress,
    )
