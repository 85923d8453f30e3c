"""Files with anything in them: a graph or one of our own errors, and nothing else."""

import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet._files import Limits, read_archive
from ramet._files.assemble import assemble
from ramet._files.listing import ArraySpec, Group, Listing
from ramet._files.record import record_of
from ramet._files.scan.config import scan_config
from ramet.errors import RametError
from tests.files.build import archive, called, dense, functional, layer, one_layer, operation, sequential, tensor
from tests.files.build import given as input_layer

briefly = settings(
    derandomize=True, database=None, max_examples=300, deadline=None, suppress_health_check=list(HealthCheck)
)

_INSIDE = [input_layer("i"), {**dense("d", called(tensor("i"))), "shared_object_id": 5}]
_INNER = functional("inner", _INSIDE, ["i", 0, 0], {"a": ["d", 0, 0]}, called(tensor("x")), called(tensor("mask")))
_WRAPPED = layer("Bidirectional", "both", called(tensor("inner", 1)), layer={**dense("cell"), "shared_object_id": 5})
_ARRAY = {"class_name": "__numpy__", "config": {"value": [[1.0]], "dtype": "float32"}}
_RICH = functional(
    "rich",
    [
        input_layer("x"),
        layer("Embedding", "e", called(tensor("x")), mask_zero=True, output_dim=3),
        operation("NotEqual", "mask", called(tensor("x"), 0)),
        _INNER,
        layer("LSTM", "l", called(tensor("e"), mask=tensor("mask")), units=2, return_state=True, return_sequences=True),
        _WRAPPED,
        operation("Add", "sum", called([tensor("l"), tensor("l", 0, 2)], {"k": _ARRAY})),
    ],
    [["x", 0, 0]],
    {"a": ["sum", 0, 0], "b": [["inner", 2, 0], ["both", 0, 0]]},
)
_OLD = {
    "class_name": "Model",
    "config": {
        "name": "old",
        "layers": [
            {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 4], "name": "x"}, "name": "x"},
            {"class_name": "Dense", "config": {"name": "d"}, "name": "d", "inbound_nodes": [[["x", 0, 0, {"y": ["x", 0, 0]}]]]},
        ],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["d", 0, 0]],
    },
}  # fmt: skip
CONFIGS = [
    _RICH,
    _OLD,
    one_layer(dense()),
    sequential("row", input_layer("x"), dense("a", build=(None, 4)), dense("b")),
]

LISTING = Listing(
    {
        "": Group(groups=("layers",)),
        "layers": Group(groups=("dense", "lstm", "functional")),
        "layers/dense": Group(groups=("vars",)),
        "layers/dense/vars": Group(arrays=("0", "1"), name="d"),
        "layers/lstm/cell/vars": Group(arrays=("0",), name="cell"),
        "layers/functional/layers/dense/vars": Group(arrays=("0",)),
    },
    {
        "layers/dense/vars/0": ArraySpec((4, 2), "float32"),
        "layers/dense/vars/1": ArraySpec((2,), "float32"),
        "layers/lstm/cell/vars/0": ArraySpec((4, 2), "float32"),
        "layers/functional/layers/dense/vars/0": ArraySpec((4, 2), "float32"),
    },
)

_texts = st.sampled_from(["", "x", "d", "/", "a/b", "../x", "\x1b[31m", "\ud800", "Dense", "Functional", "InputLayer"])
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**31, 2**70]),
    st.floats(),
    _texts,
    st.sampled_from([tensor("x"), _ARRAY, {"class_name": "__slice__", "config": {}}, dense("d"), ["x", 0, 0]]),
)
junk = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3), max_leaves=6
)


def _places(config):
    """Every place in a config: what holds it, and under which key."""
    found, waiting = [], [config]
    while waiting:
        owner = waiting.pop()
        keys = list(owner) if isinstance(owner, dict) else range(len(owner))
        for key in keys:
            found.append((owner, key))
            if isinstance(owner[key], dict | list):
                waiting.append(owner[key])
    return found


@st.composite
def mutated(draw):
    """A config with a few places exchanged, dropped or repeated."""
    config = copy.deepcopy(draw(st.sampled_from(CONFIGS)))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(config)
        if not places:
            break
        owner, key = places[draw(st.integers(0, len(places) - 1))]
        change = draw(st.sampled_from(["exchange", "exchange", "move", "drop", "repeat"]))
        if change == "drop":
            del owner[key]
        elif change == "repeat" and isinstance(owner, list):
            owner.insert(key, copy.deepcopy(owner[key]))
        elif change == "move":
            other, place = places[draw(st.integers(0, len(places) - 1))]
            owner[key] = copy.deepcopy(other[place])
        else:
            owner[key] = copy.deepcopy(draw(junk))
    return config


@briefly
@given(mutated(), st.booleans())
def test_a_config_with_anything_in_it_is_a_graph_or_refused(config, legacy):
    try:
        text = str(assemble(record_of(config, "config"), LISTING, Limits(), legacy=legacy).graph)
    except RametError as error:
        text = str(error)

    assert all(line.isprintable() for line in text.splitlines())


@briefly
@given(mutated())
def test_a_config_with_anything_in_it_is_scanned(config):
    for finding in scan_config(config, "config.json", "config"):
        assert all(line.isprintable() for line in str(finding).splitlines())


@briefly
@given(st.data())
def test_an_archive_with_any_bytes_changed_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "fuzz.keras"
    if not (folder / "whole.keras").exists():
        archive(folder / "whole.keras")
    content = bytearray((folder / "whole.keras").read_bytes())
    # The headers of the archive and its config; HDF5 is read by a C library, in a process of its own.
    start, end = content.index(b"\x89HDF"), content.rindex(b"PK\x03\x04")
    free = [*range(start), *range(end + 4, len(content))]
    for place in data.draw(st.lists(st.sampled_from(free), min_size=1, max_size=6)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)

    try:
        with read_archive(path, isolated=False) as file:
            json.dumps(file.config)
            text = str(file.graph)
    except RametError as error:
        text = str(error)

    assert all(line.isprintable() for line in text.splitlines())
