"""Errors and warnings of ramet, in one tree each.

    RametError
    ├── NotAModelError        also TypeError, ValueError   the argument is not a model, layer, optimizer, metric or loss
    ├── ArgumentError         also ValueError              an argument has an invalid value
    ├── CannotCopyError       also TypeError               something inside the model cannot be copied
    ├── StateElsewhereError   also RuntimeError            another thread or loop holds the model's values
    ├── RebuildError          also ValueError              a layer rejected its new inputs
    ├── WeightsDoNotFitError  also ValueError              the weights of two models differ in path, shape or dtype
    ├── EditError             also ValueError              an edit cannot be applied
    │   ├── EditConflictError                              two edits would change the same thing
    │   ├── NeedsCallGraphError                            a layer is called by the code of a class, not by a graph
    │   ├── LostOnSaveError                                a saved file would not keep the edit
    │   └── DoesNotFitError   also RebuildError            a new layer does not fit the layers around it
    ├── RecipeError           also ValueError              a recipe cannot be read, written or applied
    ├── GraphError            also ValueError              a graph is not consistent
    ├── FormatError           also ValueError              a text is not the JSON of a graph or diff
    ├── ModelFileError        also ValueError              a file is missing, broken, or not a model
    │   ├── HostileFileError                               a file that Keras cannot have written
    │   ├── OutOfBudgetError                               reading it would take more memory or time than allowed
    │   └── UnsafeFileError                                loading it could run code or open other files
    ├── PortError             also ValueError              a file cannot be ported to another version of Keras
    ├── UnknownPathError      also LookupError             there is no op, call or variable at this path
    ├── NoMatchError          also LookupError             a selector matches no op, but a match is required
    ├── VerifyError           also AssertionError          two models differ
    └── UnsupportedKerasError also ImportError             this Keras is too old

    RametWarning (a UserWarning)
    ├── LostOnSaveWarning     the saved file will not contain an edit
    ├── NoEffectWarning       a changed setting does not change what the layer around it computes
    ├── SharedGlobalWarning   a function reads a global; original and twin both use it
    └── UntestedKerasWarning  this Keras is newer than any tested version

Every message has the same form: a summary that can be read on its own, then `expected:`, `found:` or `closest:`, then
`fix:`. Each part is also an attribute of the exception.

>>> import ramet
>>> ramet.clone(3)
Traceback (most recent call last):
ramet.errors.NotAModelError: Cannot clone 3: it is not a model.
  expected: a Keras model, layer, optimizer or metric, or a list, tuple or dict of them
  found:    3 (class int)
  fix: pass a Keras model, or a list of models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

__all__ = [
    "ArgumentError",
    "CannotCopyError",
    "DoesNotFitError",
    "EditConflictError",
    "EditError",
    "FormatError",
    "GraphError",
    "HostileFileError",
    "LostOnSaveError",
    "LostOnSaveWarning",
    "ModelFileError",
    "NeedsCallGraphError",
    "NoEffectWarning",
    "NoMatchError",
    "NotAModelError",
    "OutOfBudgetError",
    "PortError",
    "RametError",
    "RametWarning",
    "RebuildError",
    "RecipeError",
    "SharedGlobalWarning",
    "StateElsewhereError",
    "UnknownPathError",
    "UnsafeFileError",
    "UnsupportedKerasError",
    "UntestedKerasWarning",
    "VerifyError",
    "WeightsDoNotFitError",
]


class RametError(Exception):
    """The base class of all errors, with the parts of the message as data.

    Catch it to handle every error of ramet. If a class in the model raises an error, that error is the `__cause__` of
    one of these; an error of a function that you pass to an edit reaches you unchanged.

    Attributes:
        summary: The first line of the message: `Cannot <verb> <what>: <reason>.`
        expected: What would have been accepted; `None` if the summary says it all.
        found: What was found instead, or `None`.
        closest: The names or paths that are closest to an unknown one.
        fix: A way out, or `None`.
        path: The path in the model or file at which the problem is, or `None`.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> try:
    ...     ramet.cut(model, outputs="haed")
    ... except ramet.errors.RametError as error:
    ...     print(error.summary, error.closest)
    Cannot cut 'net' at 'haed': the model has no layer with this path. ('head',)
    """

    _parts: tuple[str, ...] = ("expected", "found", "closest", "fix", "path")

    def __init__(
        self,
        summary: str,
        *,
        expected: str | None = None,
        found: str | None = None,
        closest: Sequence[str] = (),
        fix: str | None = None,
        path: str | None = None,
    ) -> None:
        self.summary = summary
        self.expected = expected
        self.found = found
        self.closest = tuple(closest)
        self.fix = fix
        self.path = path
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [self.summary]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.found:
            lines.append(f"  found:    {self.found}")
        if self.closest:
            lines.append(f"  closest:  {listed(self.closest)}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def replace_text(self, old: str, new: str) -> None:
        """Replace a text, such as the name of a temporary folder, in all parts of the message."""
        for name, value in vars(self).items():
            if isinstance(value, str):
                setattr(self, name, value.replace(old, new))
        self.args = (self._text(),)

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process boundaries by pickle, which would call the class with the text alone.
        return _revive, (type(self), self.summary, {name: getattr(self, name) for name in self._parts})


def _revive(cls: type[RametError], summary: str, parts: dict[str, object]) -> RametError:
    return cls(summary, **parts)  # type: ignore[arg-type]  # the parts of an error of the same class


class NotAModelError(RametError, TypeError, ValueError):
    """The argument is not a model, layer, optimizer, metric or loss, nor a collection of these.

    Raised by every function that takes a model; some accept only models with a call graph, or files. Pass the object
    that the message expects.

    >>> import keras, ramet
    >>> ramet.cut(keras.layers.Dense(2, name="head"), outputs="head")
    Traceback (most recent call last):
    ramet.errors.NotAModelError: Cannot cut 'head': it has no call graph.
      expected: a functional or a built Sequential model
      fix: cut a subclassed model in its own code.
    """


class ArgumentError(RametError, ValueError):
    """An argument has an invalid value.

    Raised before any work is done, so nothing was changed or written. Pass one of the values that the message expects.

    >>> import keras, ramet
    >>> ramet.clone(keras.layers.Dense(2), weights="copied")
    Traceback (most recent call last):
    ramet.errors.ArgumentError: Cannot clone with weights='copied': unknown value.
      expected: 'copy', 'fresh' or 'share'
      fix: pass 'copy', 'fresh' or 'share'.
    """


class CannotCopyError(RametError, TypeError):
    """Something inside the model cannot be copied; `path` locates it.

    Raised by `ramet.clone` and everything that makes a twin, for objects such as open files, running generators and
    threads. Create the object when it is needed, share it with `ramet.clone(model, share=[...])`, or set how its class
    is copied with `ramet.register_copy`.

    >>> import keras, ramet
    >>> layer = keras.layers.Dense(2, name="head")
    >>> layer.rows = (row for row in [1, 2])
    >>> ramet.clone(layer)
    Traceback (most recent call last):
    ramet.errors.CannotCopyError: Cannot clone 'head': head.rows is a generator; a running generator cannot be copied.
      found:    attribute 'rows' of layer 'head' (class Dense)
      fix: keep what it yields, or create it when it is needed.
    """


class StateElsewhereError(RametError, RuntimeError):
    """The model does not hold its values at the moment, because another thread or a compiled step holds them.

    Raised by `ramet.clone`, `ramet.sync` and `ramet.transfer` while another thread trains or runs the model, and inside
    a step that is being compiled. Call them in a callback, between two steps, or once more after a while.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> try:
    ...     twin = ramet.clone(model)
    ... except ramet.errors.StateElsewhereError:
    ...     twin = None  # another thread is in the middle of a step: try again later
    >>> twin.name
    'net'
    """


class RebuildError(RametError, ValueError):
    """A model cannot be rebuilt: a layer rejected its inputs, or an output that is used was not computed.

    Raised by `ramet.clone` with `inputs=`, `ramet.clone_model` and `ramet.cut`; `path` names the layer. Choose inputs
    that the layer accepts, or change the shape together with the weights, with `ramet.edits.resize_input`.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> ramet.clone(model, inputs=keras.Input((5,)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.RebuildError: Cannot rebuild 'net' on the input 'x' of ...: the layer 'head' refused its arguments.
      found:    (None, 5) at 'head'; ValueError: ...
      fix: choose inputs that this layer accepts, or replace the layer.
    """


class EditError(RametError, ValueError):
    """An edit cannot be applied; `path` locates the op.

    Raised by `ramet.edit` and `ramet.plan`. The model passed in is not changed, so correct the edit, as the `fix` in
    the message says, and try again. Edits that conflict, need a call graph, do not fit or would be lost on saving have
    subclasses of their own.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> ramet.edit(model, e.update("head", unit=3))
    Traceback (most recent call last):
    ramet.errors.EditError: Cannot update 'head': a Dense has no setting 'unit'.
      closest:  'units'
      fix: use a name from its get_config(), or select other layers.
    """


class EditConflictError(EditError):
    """Two edits would change the same aspect of one op.

    Raised by `ramet.edit` and `ramet.plan`, because all edits are resolved against the model as it was passed in.
    Select the op in only one of the edits, or apply them one after the other: `edit(edit(model, first), second)`.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> ramet.edit(model, e.rename("head", "logits"), e.rename("head", "output"))
    Traceback (most recent call last):
    ramet.errors.EditConflictError: Cannot edit 'head': two edits would change it.
      found:    rename(named('head'), name='logits') and rename(named('head'), name='output')
      fix: select it in only one of them, or edit twice: edit(edit(model, first), second).
    """


class NeedsCallGraphError(EditError):
    """An edit needs to change calls that are made by the code of a class, not by a graph.

    Raised by edits that insert, remove or splice layers, if the layer belongs to a subclassed model, a wrapper or a
    composite layer, or to a Sequential model that is not built. Replace or wrap the layer instead, or build the model.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> layer = keras.layers.TimeDistributed(keras.layers.Dense(2, name="dense"), name="each")
    >>> ramet.edit(keras.Sequential([keras.Input((5, 4)), layer]), e.remove("each/dense"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.NeedsCallGraphError: Cannot remove 'each/dense': it is called by the code of 'each', ...
      found:    a TimeDistributed, which has no call graph
      fix: replace or wrap the layer instead, with unsaved=True if its class creates it; or change the class.
    """


class LostOnSaveError(EditError):
    """An edit would be lost when the model is saved, because a class creates its own layers from its config.

    Raised by `ramet.edit`; `ramet.plan` has a note instead. Change the class itself, or pass `unsaved=True` for a model
    that is used but not saved: saving it then gives a `ramet.errors.LostOnSaveWarning`.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> x = keras.Input((5, 4))
    >>> model = keras.Model(x, keras.layers.MultiHeadAttention(1, 2, name="attention")(x, x))
    >>> ramet.edit(model, e.update("attention/query", activation="relu"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.LostOnSaveError: Cannot edit 'attention/query': a saved file would lose the edit, because ...
      found:    recreated from its config, its 'query' has other settings
      fix: pass unsaved=True for a model that is used but not saved, or change the class itself.
    """


class DoesNotFitError(EditError, RebuildError):
    """A layer that an edit adds does not fit the layers around it.

    Raised by `ramet.edit` if the new layer rejects its inputs, or if a layer after it rejects its output. Use a layer
    with the right shapes, or replace the layers after it, too.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> layers = [keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")]
    >>> model = keras.Sequential([keras.Input((4,)), *layers], name="net")
    >>> ramet.edit(model, e.replace("a", lambda old: keras.layers.Dense(5, name="a")))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.DoesNotFitError: Cannot edit 'net': 'b' does not accept the output of 'a'.
      expected: (None, 3) from 'a', as before
      found:    (None, 5) from 'a'; ValueError: ...
      fix: insert a layer whose output 'b' accepts, or replace 'b', too.
    """


class WeightsDoNotFitError(RametError, ValueError):
    """The weights of two models differ in path, shape or dtype. Nothing was written.

    Raised by `ramet.sync`, `ramet.transfer`, and edits that change the shape of weights. Choose a policy for weights of
    other shapes: `policy=` in `ramet.transfer`, `weights=` in edits.

    >>> import keras, ramet
    >>> old, new = (keras.Sequential([keras.Input((4,)), keras.layers.Dense(n, name="d")], name="net") for n in (2, 3))
    >>> ramet.transfer(old, new)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.WeightsDoNotFitError: Cannot transfer from 'net' to 'net': 2 weights have other shapes.
      found:    'd/kernel' is (4, 3), but got (4, 2); 'd/bias' is (3,), but got (2,)
      fix: choose a policy: 'slice', 'pad', 'mean' or 'repeat' to adapt them, ...
    """


class RecipeError(RametError, ValueError):
    r"""A recipe cannot be read, written or applied; `path` locates the problem.

    Raised by `ramet.read_recipe` for an unknown edit, key or value and for invalid TOML, and by `ramet.Recipe.to_toml`
    for an edit that cannot be written as text, such as one with a function. Correct the line that the message names.

    >>> import ramet
    >>> ramet.read_recipe("[[edit]]\nfreze = 'encoder'")
    Traceback (most recent call last):
    ramet.errors.RecipeError: Cannot read edit 1, key 'freze' in the recipe: there is no edit with this name.
      closest:  'freeze'
      fix: begin with the name of an edit from ramet.edits, for example freeze = "encoder/*".
    """

    @property
    def line(self) -> int | None:
        """Line number of a syntax error, from 1; None for any other problem."""
        return self._number(-2)

    @property
    def column(self) -> int | None:
        """Column number of a syntax error, from 1; None for any other problem."""
        return self._number(-1)

    def _number(self, place: int) -> int | None:
        parts = (self.path or "").rsplit(":", 2)
        numbers = len(parts) == 3 and all(part.isdecimal() for part in parts[1:])
        return int(parts[place]) if numbers else None


class GraphError(RametError, ValueError):
    """A graph is not consistent.

    Raised when a file describes a model that cannot exist, for example a call of a layer that the model does not have,
    and by methods of `ramet.Graph` on a graph that was changed by hand. Save the file again with Keras, or correct the
    graph.

    Attributes:
        problems: Every violation that was found, each with a `rule`, a `path` and a `message`; empty if there is only
            the one that the summary names.

    >>> import dataclasses
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> graph = ramet.capture(model)
    >>> graph.value(dataclasses.replace(graph.outputs, output=1))
    Traceback (most recent call last):
    ramet.errors.GraphError: Cannot read output 1 of the call 'head': it has 1.
    """

    _parts = (*RametError._parts, "problems")

    def __init__(self, summary: str, *, problems: Sequence[object] = (), **parts: object) -> None:
        self.problems = tuple(problems)
        super().__init__(summary, **parts)  # type: ignore[arg-type]  # the parts of any error


class FormatError(RametError, ValueError):
    """A text is not the JSON of a graph or diff; `path` locates the problem in it.

    Raised by `ramet.Graph.from_json` and `ramet.Diff.from_json`, which trust nothing in the text. Write the text again
    with `to_json`.

    >>> import ramet
    >>> ramet.Graph.from_json('{"ramet": "grph"}')
    Traceback (most recent call last):
    ramet.errors.FormatError: Cannot read the graph: invalid JSON at ramet.
      expected: one of 'graph'
      found:    'grph'
    """


class ModelFileError(RametError, ValueError):
    """A file is missing, broken, or not a model; `path` locates the problem in it.

    Raised by everything that reads a model file: `ramet.show`, `ramet.scan`, `ramet.diff`, `ramet.draw`,
    `ramet.transfer` and so on. Check the path, or save the model again.

    >>> import ramet
    >>> ramet.show("missing.keras")
    Traceback (most recent call last):
    ramet.errors.ModelFileError: Cannot read 'missing.keras': no such file or directory.
      fix: check the path.
    """


class HostileFileError(ModelFileError):
    """A file exceeds a limit, or has a form that Keras never writes.

    Raised by everything that reads a model file; `ramet.scan` reports a finding instead. Do not load such a file with
    Keras, unless you know where it comes from.

    >>> import os, tempfile, zipfile
    >>> import ramet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.keras")
    ...     with zipfile.ZipFile(path, "w") as file:
    ...         file.writestr("../outside.txt", "text")
    ...     ramet.show(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.HostileFileError: Cannot read '../outside.txt' in 'model.keras': its name leads out of ...
      fix: save the model again with Keras; `ramet scan` lists all problems of the file.
    """


class OutOfBudgetError(ModelFileError):
    """Reading a file would take more memory, time or disk space than its size justifies.

    Raised by everything that reads a model file. Files written by Keras stay far below the limits, so treat the file as
    broken, or as an attack.

    >>> import os, tempfile, zipfile
    >>> import ramet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.keras")
    ...     with zipfile.ZipFile(path, "w") as file:
    ...         file.writestr("config.json", "[" + "[]," * 500_000 + "[]]")
    ...     ramet.show(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.OutOfBudgetError: Cannot read 'config.json': it has more than ... objects and lists.
    """


class UnsafeFileError(ModelFileError):
    """Loading a file could run code or open other files, and the file is not marked as trusted.

    Raised by functions and commands that load a file with Keras, such as `ramet.verify`. Read the findings of
    `ramet.scan`; if you trust the file, load it yourself and pass the model.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x * 2, name="double")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.keras")
    ...     model.save(path)
    ...     ramet.verify(path, path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.UnsafeFileError: Cannot load 'model.keras': it is unsafe.
      found:    The file contains compiled Python code, a lambda.
      fix: look at ramet.scan(path); if you trust the file, ...
    """


class PortError(RametError, ValueError):
    """A file cannot be ported to another version of Keras without a difference.

    `path` is the path of the first layer that has no counterpart. `ramet.port(source)` without a target returns a report
    with all of them.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4, 8)), keras.layers.RMSNormalization(name="norm")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "rms.keras")
    ...     model.save(file)
    ...     ramet.port(file, os.path.join(folder, "old.keras"), to="3.3")
    Traceback (most recent call last):
    ramet.errors.PortError: Cannot port 'rms.keras' to Keras 3.3 at 'norm': RMSNormalization does not exist in Keras 3.3.
      fix: replace it, or port for Keras 3.9 or newer.
    """


class UnknownPathError(RametError, LookupError):
    """There is no op, call or variable at this path.

    Raised by `ramet.cut`, by `calls=` of edits, and by methods of `ramet.Graph`. The message lists the closest paths;
    `print(ramet.capture(model))` lists all of them.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> ramet.cut(model, outputs="haed")
    Traceback (most recent call last):
    ramet.errors.UnknownPathError: Cannot cut 'net' at 'haed': the model has no layer with this path.
      closest:  'head'
      fix: use one of these paths, or list all paths with print(ramet.capture(model)).
    """


class NoMatchError(RametError, LookupError):
    """A selector matches no op of the model, but at least one match is required.

    Raised by `ramet.edit` and `ramet.plan`, so that a misspelled name does not go unnoticed. Correct the selector, or
    pass `required=False` to the edit. `ramet.select` returns an empty selection instead.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> ramet.edit(model, e.freeze("haed"))
    Traceback (most recent call last):
    ramet.errors.NoMatchError: Cannot find named('haed') in 'net': no op matches.
      closest:  'head'
      fix: write one of these paths, or list all with print(ramet.capture(model)).
    """


class VerifyError(RametError, AssertionError):
    """Two models differ. The message lists the failed checks, each with its first differences.

    Raised by `ramet.Report.raise_if_failed` and `ramet.testing.assert_twin`, also if no check could be run. It is an
    `AssertionError`, so test suites show it as a failure. Allow differences with `tolerance=` or `skip=`.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> twin = ramet.clone(model)
    >>> twin.set_weights([weight + 1 for weight in twin.get_weights()])
    >>> ramet.verify(model, twin, only="state").raise_if_failed()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.VerifyError: Cannot accept 'net' as a twin of 'net': 1 of 1 check failed.
      found:    state: 2 of 2 variables differ
                  head/kernel: 8 of 8 numbers differ; ...
      fix: create it with ramet.clone, or allow the differences with tolerance= or skip=.
    """


class UnsupportedKerasError(RametError, ImportError):
    """The installed Keras is older than the oldest supported one.

    Raised when a function of ramet is first used. Install a newer Keras; `fix` has the command. It is an `ImportError`,
    so code that treats ramet as optional can handle it like a missing package.

    >>> import keras, ramet
    >>> try:
    ...     twin = ramet.clone(keras.layers.Dense(2, name="head"))
    ... except ramet.errors.UnsupportedKerasError as error:
    ...     print(error.fix)  # the command that installs a newer Keras
    >>> twin.name
    'head'
    """


class RametWarning(UserWarning):
    """The base class of all warnings.

    Use it to turn every warning of ramet into an error, or to silence them.

    >>> import warnings
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ramet.errors.RametWarning)
    ...     twin = ramet.clone(model)
    """


class LostOnSaveWarning(RametWarning):
    """A model is saved whose config does not describe an edit, so the file will not contain it.

    Given by `model.save`, checkpoints, pickle and `to_json`, after an edit inside a class that creates its own layers:
    one that `unsaved=True` allowed, or one of trainable flags or LoRA. `save_weights` and `export` write no config, so
    they do not warn. Change the class itself, or apply the edit again after loading. Merge LoRA before saving: Keras
    writes merged weights into every file, and the low-rank matrices of a model that loads them are zero.

    >>> import warnings
    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> x = keras.Input((5, 4))
    >>> model = keras.Model(x, keras.layers.MultiHeadAttention(1, 2, name="attention")(x, x))
    >>> new = ramet.edit(model, e.freeze("attention/query"))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ramet.errors.LostOnSaveWarning)
    ...     new.to_json()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.LostOnSaveWarning: The config of 'attention' does not describe an edit, so a file will not keep it: ...
      lost: recreated from the config, its 'query' is trainable
      fix: change the class itself, or save only the weights with save_weights(), for a model edited in the same way.
    """


class NoEffectWarning(RametWarning):
    """A setting of a layer was changed, but the layer around it still computes the same outputs.

    Given by `ramet.edit` if a class has taken something out of the layer before, such as its activation, and does not
    look at it again. Find out what the class uses instead of the layer, and change that.

    >>> import warnings
    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> class Block(keras.layers.Layer):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.part = keras.layers.Activation("relu", name="part")
    ...         self.function = self.part.activation
    ...
    ...     def build(self, shape):
    ...         self.part.build(shape)
    ...
    ...     def call(self, x):
    ...         return self.function(x)
    >>> model = keras.Sequential([keras.Input((4,)), Block(name="block")])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ramet.errors.NoEffectWarning)
    ...     ramet.edit(model, e.update("block/part", activation="tanh"), unsaved=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.NoEffectWarning: The changed setting of 'block/part' has no effect: Block computes the same ...
      fix: find out what Block uses instead of the layer, and change that.
    """


class SharedGlobalWarning(RametWarning):
    """A function of the model reads mutable state through a global, which original and twin then share.

    Given by `ramet.clone` and everything that makes a twin, for variables, and for layers and metrics with variables.
    Make the object an attribute of a layer, or a default argument of the function, to give the twin its own.

    >>> import warnings
    >>> import keras, ramet
    >>> scale = keras.Variable(2.0, name="scale")
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x * scale)])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ramet.errors.SharedGlobalWarning)
    ...     ramet.clone(model)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ramet.errors.SharedGlobalWarning: The function '<lambda>' reads the global 'scale', a Variable that holds ...
    """


class UntestedKerasWarning(RametWarning):
    """The installed Keras is newer than the newest tested version.

    Given once, when a function of ramet is first used. Cloning works as usual, but check a twin with `ramet.verify`
    before you rely on it. Silence the warning once you have.

    >>> import warnings
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")], name="net")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ramet.errors.UntestedKerasWarning)
    ...     ramet.verify(model, ramet.clone(model), only="structure").ok
    True
    """


@contextlib.contextmanager
def foreign_errors(verb: str, what: str, kind: type[RametError], path: str | None = None) -> Iterator[None]:
    """Turn whatever a user's class raises into an error of ramet, with the original as its cause.

    Args:
        verb: The operation, such as `cut`.
        what: Its object, such as `'model'`.
        kind: The class of the error to raise.
        path: The path at which the error occurred, if known.
    """
    try:
        yield
    except (RametError, MemoryError, RecursionError, Warning):
        raise
    except Exception as error:
        raise kind(
            f"Cannot {verb} {what}: a class in the model raised an error.",
            found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix="see the cause of this error: a method or property of a class in the model raised it.",
            path=path,
        ) from error


def listed(names: Sequence[str], limit: int = 3) -> str:
    """Return the names in single quotes, at most `limit` of them, and the number of the others."""
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    rest = len(names) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown


def shown(value: object, limit: int = 60) -> str:
    """Return the repr of a value on one line, shortened to `limit` characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  # an object of the user's may raise anything
        text = f"an object of class {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
