"""No match where one is needed: an error that helps."""

import pickle

import pytest

from ramet._select import named, nth, of_class, reads, require, select_in, where
from ramet.errors import ArgumentError, NoMatchError, RametError
from tests.graph import sample
from tests.select.sample import chain

pytestmark = pytest.mark.no_backend


class Live:
    name = "query"

    def __call__(self):
        return None


@pytest.mark.parametrize(
    ("selector", "closest", "fix"),
    [
        (named("Query"), ("decoder/attention/query",), "write upper and lower case as the model does."),
        (
            named("tten"),
            ("decoder/attention",),
            "write named('*tten*') for a part of a name, or one of these paths.",
        ),
        (named("decoder/query"), ("decoder/attention/query",), "write the whole path, or only its last part."),
        (
            named("attention/query"),
            ("decoder/attention/query",),
            "write named('*attention/query*') for a part of a name, or one of these paths.",
        ),
        (
            named("qeury"),
            ("decoder/attention/query",),
            "write one of these paths, or list all with print(ramet.capture(model)).",
        ),
        (
            of_class("dense"),
            ("encoder/d", "decoder/attention/query", "decoder/attention/key"),
            "the classes closest to it are 'Dense'; write one of these.",
        ),
        (
            of_class("keras.layers.Tied2"),
            ("decoder/out",),
            "the classes closest to it are 'Tied'; write one of these.",
        ),
        (reads(named("Query")), ("decoder/attention/query",), "write upper and lower case as the model does."),
        (Live(), (), "pass a layer of this very model (not of its twin), or its path as a string."),
        (named("zzzzzz"), (), "list the ops there are with print(ramet.capture(model))."),
        (where(lambda op: False), (), "list the ops there are with print(ramet.capture(model))."),
    ],
)
def test_no_match_is_an_error_that_names_what_is_closest(selector, closest, fix):
    with pytest.raises(NoMatchError) as caught:
        require(selector, sample.nested())

    assert caught.value.summary.startswith("Cannot find ")
    assert caught.value.summary.endswith(" in 'nested': no op matches.")
    assert (caught.value.closest, caught.value.fix) == (closest, fix)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (of_class("Dense") & named("encoder"), "3 ops match of_class('Dense'), none of them named('encoder')"),
        (
            of_class("Dense") & named("key") & nth(1),
            "1 op matches of_class('Dense') & named('key'), none of them nth(1)",
        ),
        (named("nowhere") & of_class("Dense"), "no op that is named('nowhere')"),
        (named("nowhere"), None),
    ],
)
def test_of_several_conditions_the_one_that_left_nothing_is_named(selector, found):
    with pytest.raises(NoMatchError) as caught:
        require(select_in(sample.nested(), selector))

    assert caught.value.found == found


def test_the_error_is_a_lookup_error_and_survives_pickling():
    with pytest.raises(LookupError) as caught:
        require("Query", sample.nested())
    again = pickle.loads(pickle.dumps(caught.value))

    assert isinstance(again, NoMatchError)
    assert isinstance(again, RametError)
    assert str(again) == (
        "Cannot find named('Query') in 'nested': no op matches.\n"
        "  closest:  'decoder/attention/query'\n"
        "  fix: write upper and lower case as the model does."
    )


def test_a_selection_with_a_match_is_handed_back():
    selection = select_in(chain(2), "d0")

    assert require(selection) is selection
    assert require("d0", chain(2)) == selection


def test_without_a_model_nothing_can_be_required():
    with pytest.raises(ArgumentError, match="there is no model to ask"):
        require(named("a"))
