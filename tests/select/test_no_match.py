"""Errors for selectors that match nothing."""

import pickle

import pytest

from ramet._select import named, nth, of_class, reads, require, select_in, where
from ramet.errors import NoMatchError, RametError
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
        (named("Query"), ("decoder/attention/query",), "use the same upper and lower case as the model."),
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
        (of_class("dense"), ("Dense",), "write one of these classes."),
        (of_class("keras.layers.Tied2"), ("Tied",), "write one of these classes."),
        (reads(named("Query")), ("decoder/attention/query",), "use the same upper and lower case as the model."),
        (Live(), (), "pass a layer of this model (not of its twin), or its path as a string."),
        (named("zzzzzz"), (), "list the ops of the model with print(ramet.capture(model))."),
        (where(lambda op: False), (), "list the ops of the model with print(ramet.capture(model))."),
    ],
)
def test_error_suggests_the_closest_ops(selector, closest, fix):
    with pytest.raises(NoMatchError) as caught:
        require(selector, sample.nested())

    assert caught.value.summary.startswith("Cannot find ")
    assert caught.value.summary.endswith(" in 'nested': no op matches.")
    assert (caught.value.closest, caught.value.fix) == (closest, fix)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (of_class("Dense") & named("encoder"), "3 ops match of_class('Dense'), but not named('encoder')"),
        (
            of_class("Dense") & named("key") & nth(1),
            "1 op matches of_class('Dense') & named('key'), but not nth(1)",
        ),
        (named("nowhere") & of_class("Dense"), "no op matches named('nowhere')"),
        (named("nowhere"), None),
    ],
)
def test_error_names_the_condition_that_excludes_the_last_op(selector, found):
    with pytest.raises(NoMatchError) as caught:
        require(selector, sample.nested())

    assert caught.value.found == found


def test_error_is_a_lookup_error_and_can_be_pickled():
    with pytest.raises(LookupError) as caught:
        require("Query", sample.nested())
    again = pickle.loads(pickle.dumps(caught.value))

    assert isinstance(again, NoMatchError)
    assert isinstance(again, RametError)
    assert str(again) == (
        "Cannot find named('Query') in 'nested': no op matches.\n"
        "  closest:  'decoder/attention/query'\n"
        "  fix: use the same upper and lower case as the model."
    )


def test_selection_with_a_match_is_returned():
    assert require("d0", chain(2)) == select_in(chain(2), "d0")
