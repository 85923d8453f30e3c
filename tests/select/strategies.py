"""Random selectors, small and the same in every run."""

from hypothesis import strategies as st

from ramet._select import Selector, anything, feeds, named, nth, of_class, reads, with_config

globs = st.sampled_from(["*", "a*", "?", "*/x", "*b*", "x/*", "[ab]", "a/b"])
plain: st.SearchStrategy[Selector] = st.one_of(
    st.just(anything()),
    st.lists(globs, min_size=1, max_size=2).map(lambda several: named(*several)),
    st.sampled_from(["Dense", "Add", "InputLayer"]).map(of_class),
    st.integers(0, 2).map(lambda number: with_config(units=number)),
)


def _combined(inner: st.SearchStrategy[Selector]) -> st.SearchStrategy[Selector]:
    return st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        inner.map(lambda a: ~a),
        inner.map(reads),
        inner.map(feeds),
    )


# Without `nth`, which depends on the selector to its left: without it, selectors obey the laws of sets.
sets = st.recursive(plain, _combined, max_leaves=6)
selectors = st.recursive(plain | st.integers(-2, 2).map(nth), _combined, max_leaves=6)
