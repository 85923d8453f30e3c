"""A diff as JSON, and back: the same text for the same diff, one line a change.

    {"ramet_diff": 1,
     "before": "name", "after": "name",   the names of the models
     "compared": 12,                      how many variables were compared by value; left out when none were looked at
     "not_compared": ["..."],             what was left out, in words; left out when nothing was
     "changes": [...], "consequences": [...],
     "deep": [...]}                       parts of arguments nested too deep for a JSON reader, as in the JSON of graphs

A change is `{"kind", "before", "after", "what", "old", "new", "measure"}`. `before` or `after` is left out where the thing was
not there, `old` or `new` where there was nothing, `what` and `measure` where they say nothing. Values are written as in the
JSON of graphs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from ramet._diff.change import ABSENT, KINDS, Change, Diff
from ramet._graph import ArgumentReader, ArgumentWriter, FormatError, FrozenDict, Json, Place, Record, describe, misfit

__all__ = ["VERSION", "change_text", "from_json", "to_json"]

VERSION = 1


def to_json(diff: Diff) -> str:
    """The diff as text. `from_json` makes an equal diff of it."""
    writer = ArgumentWriter()
    head: dict[str, Json] = {"ramet_diff": VERSION, "before": diff.before, "after": diff.after}
    if diff.compared is not None:
        head["compared"] = diff.compared
    if diff.not_compared:
        head["not_compared"] = list(diff.not_compared)
    parts = [json.dumps(head)[:-1]]
    for key, changes in (("changes", diff.changes), ("consequences", diff.consequences)):
        parts.append(f'"{key}": [{_lines(_write(change, writer) for change in changes)}]')
    if writer.deep:
        parts.append(f'"deep": [{_lines(writer.deep)}]')
    return ",\n ".join(parts) + "}\n"


def change_text(change: Change) -> str:
    """A change as text that no other change has."""
    writer = ArgumentWriter()
    return json.dumps([_write(change, writer), writer.deep], allow_nan=False)


def _lines(records: Iterable[Json]) -> str:
    return ",".join(f"\n  {json.dumps(record, allow_nan=False)}" for record in records)


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
    """The diff that `to_json` made this text of; see `Diff.from_json`."""
    try:
        return _read(_parse(text))
    except FormatError as error:
        summary = error.summary.replace("the graph", "the diff", 1)
        raise FormatError(summary, expected=error.expected, found=error.found, path=error.path) from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        found = "lists and objects nested too deep to read"
    except ValueError as error:
        found = str(error)
    raise FormatError("Cannot read the diff: the text is not JSON.", found=found, path="the whole text")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"the word {word}")


def _read(raw: object) -> Diff:
    record = Record(raw, Place())
    version = record.raw("ramet_diff")
    if type(version) is not int or version != VERSION:
        raise misfit(str(VERSION), describe(version), record.place.at("ramet_diff"))
    arguments = ArgumentReader([part for part, _ in record.items("deep")], record.place.at("deep"))
    diff = Diff(
        record.text("before"),
        record.text("after"),
        tuple(_read_change(item, place, arguments) for item, place in record.items("changes")),
        tuple(_read_change(item, place, arguments) for item, place in record.items("consequences")),
        record.number("compared"),
        tuple(_text(item, place) for item, place in record.items("not_compared")),
    )
    record.end()
    arguments.end()
    return diff


def _text(item: object, place: Place) -> str:
    if not isinstance(item, str):
        raise misfit("text", describe(item), place)
    return item


def _read_change(raw: object, place: Place, arguments: ArgumentReader) -> Change:
    record = Record(raw, place)
    measure = arguments.read(record.raw("measure", {}), place.at("measure"))
    if not isinstance(measure, FrozenDict):
        raise misfit("an object", describe(measure), place.at("measure"))
    old, new = (arguments.read(record.raw(key), place.at(key)) if key in record else ABSENT for key in ("old", "new"))
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
