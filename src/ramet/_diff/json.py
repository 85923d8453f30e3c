"""Diffs as JSON and back: equal diffs give equal text, with one line per change.

    {"ramet": "diff", "version": 1,
     "before": "name", "after": "name",   the names of the models
     "compared": 12,                      the number of variables compared by value; left out if none were
     "not_compared": ["..."],             sentences about parts that were not compared; left out if there are none
     "changes": [...], "consequences": [...],
     "deep": [...]}                       parts of arguments nested too deep for a JSON reader, as in the JSON of graphs

A change is `{"kind", "before", "after", "what", "old", "new", "measure"}`. `before` or `after` is left out if the thing did
not exist on that side, `old` or `new` if there was no value, `what` and `measure` if they are empty. Values are written as in
the JSON of graphs. The header of diffs that ramet 0.1 wrote, `{"ramet_diff": 1, ...}`, can still be read.
"""

from __future__ import annotations

import json

from ramet._diff.change import ABSENT, KINDS, Change, Diff
from ramet._graph import (
    ArgumentReader,
    ArgumentWriter,
    FrozenDict,
    Json,
    JsonFields,
    JsonPath,
    describe_json,
    format_error,
    open_document,
)
from ramet._report import json_lines
from ramet.errors import FormatError


def to_json(diff: Diff) -> str:
    """Return the diff as text, from which `from_json` makes an equal diff."""
    writer = ArgumentWriter()
    fields: dict[str, Json] = {"before": diff.before, "after": diff.after}
    if diff.compared is not None:
        fields["compared"] = diff.compared
    if diff.not_compared:
        fields["not_compared"] = list(diff.not_compared)
    changes, consequences = ([_write(change, writer) for change in part] for part in (diff.changes, diff.consequences))
    # The writer collects the deep parts while it writes the changes.
    deep = {"deep": writer.deep} if writer.deep else {}
    return json_lines("diff", fields, changes=changes, consequences=consequences, **deep)


def change_text(change: Change) -> str:
    """Return a change as text that no other change has."""
    writer = ArgumentWriter()
    return json.dumps([_write(change, writer), writer.deep], allow_nan=False)


def _write(change: Change, writer: ArgumentWriter) -> Json:
    record: dict[str, Json] = {"kind": change.kind}
    if change.before is not None:
        record["before"] = change.before
    if change.after is not None:
        record["after"] = change.after
    if change.what:
        record["what"] = change.what
    for key, value in (("old", change.old), ("new", change.new)):
        if value != ABSENT:
            record[key] = writer.write(value)
    if len(change.measure):
        record["measure"] = writer.write(change.measure)
    return record


def from_json(text: str) -> Diff:
    """Return the diff from which `to_json` made the text."""
    try:
        return _read(open_document(text, "diff"))
    except FormatError as error:
        summary = error.summary.replace("the graph", "the diff", 1)
        raise FormatError(summary, expected=error.expected, found=error.found, path=error.path) from None


def _read(record: JsonFields) -> Diff:
    arguments = ArgumentReader(record)
    diff = Diff(
        record.text("before"),
        record.text("after"),
        tuple(_read_change(item, path, arguments) for item, path in record.items("changes")),
        tuple(_read_change(item, path, arguments) for item, path in record.items("consequences")),
        record.number("compared"),
        tuple(_text(item, path) for item, path in record.items("not_compared")),
    )
    record.end()
    arguments.end()
    return diff


def _text(item: object, path: JsonPath) -> str:
    if not isinstance(item, str):
        raise format_error("text", describe_json(item), path)
    return item


def _read_change(raw: object, path: JsonPath, arguments: ArgumentReader) -> Change:
    record = JsonFields(raw, path)
    measure = arguments.read(record.raw("measure", {}), path.at("measure"))
    if not isinstance(measure, FrozenDict):
        raise format_error("an object", describe_json(measure), path.at("measure"))
    old, new = (arguments.read(record.raw(key), path.at(key)) if key in record else ABSENT for key in ("old", "new"))
    change = Change(
        record.choice("kind", KINDS),
        record.optional_text("before"),
        record.optional_text("after"),
        record.optional_text("what") or "",
        old,
        new,
        measure,
    )
    record.end()
    return change
