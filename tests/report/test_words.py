"""Numbers, lists and names in words."""

import pytest

from ramet._report import abbreviate, count, escape, escape_lines, joined, joined_values, more, split_off, with_article
from ramet._report.words import width_of

pytestmark = pytest.mark.no_backend


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dense_1", "dense_1"),
        ("größe 層", "größe 層"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("\u202eturned", "\\u202eturned"),
        ("\x9b2J", "\\x9b2J"),
        ("\u200bhidden", "\\u200bhidden"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("", ""),
    ],
)
def test_control_characters_are_escaped(text: str, expected: str) -> None:
    assert escape(text) == expected
    assert escape(escape(text)) == expected


def test_line_breaks_are_kept_by_escape_lines_only() -> None:
    assert escape_lines("a\x1b\nb\r\n") == "a\\x1b\nb\\r\n"


@pytest.mark.parametrize(
    ("number", "word", "words", "expected"),
    [
        (0, "op", None, "0 ops"),
        (1, "op", None, "1 op"),
        (2, "op", None, "2 ops"),
        (1234567, "parameter", None, "1,234,567 parameters"),
        (2, "box", "boxes", "2 boxes"),
        (1, "box", "boxes", "1 box"),
    ],
)
def test_numbers_agree_with_their_nouns(number: int, word: str, words: str | None, expected: str) -> None:
    assert count(number, word, words) == expected


@pytest.mark.parametrize(
    ("article", "nouns"),
    [
        (
            "an",
            "Activation EinsumDense InputLayer Add Embedding UpSampling2D ELU LSTM LSTMCell RNN STFTSpectrogram MLPBlock",
        ),
        ("an", "int object _Inner ndarray"),
        ("a", "Dense GRU ReLU PReLU MultiHeadAttention UnitNormalization UNet NASNet MyLayer OneHot Euclidean list"),
    ],
)
def test_article_follows_the_sound_of_the_noun(article: str, nouns: str) -> None:
    assert [with_article(noun) for noun in nouns.split()] == [f"{article} {noun}" for noun in nouns.split()]


def test_omitted_items_are_counted() -> None:
    assert more(1) == "and 1 more"
    assert more(12345) == "and 12,345 more"


def test_lists_are_cut_at_a_limit() -> None:
    assert split_off([1, 2, 3], 3) == ([1, 2, 3], 0)
    assert split_off([1, 2, 3], 2) == ([1, 2], 1)
    assert split_off((1, 2, 3), None) == ((1, 2, 3), 0)
    assert split_off([1, 2], 0) == ([], 2)
    assert split_off([1, 2], -5) == ([], 2)


def test_items_are_joined_for_a_sentence() -> None:
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a, b, c"
    assert joined([f"n{number}" for number in range(2000)]) == "n0, n1, n2 and 1,997 more"
    assert joined(["a", "b"], 1, "; ") == "a; and 1 more"
    assert joined([]) == ""


def test_equal_values_are_counted() -> None:
    assert joined_values(["(None, 8)"]) == "(None, 8)"
    assert joined_values(["(None, 8)"] * 4) == "4 x (None, 8)"
    assert joined_values(["a", "b", "a", "a"]) == "a, b, a and 1 more"


def test_long_text_is_abbreviated_in_the_middle() -> None:
    assert abbreviate("abc", 3) == "abc"
    assert abbreviate("abcdefghij", 9) == "abc...hij"
    assert len(abbreviate("x" * 1000)) == 80


def test_width_counts_terminal_columns() -> None:
    assert width_of("dense") == 5
    assert width_of("層") == 2
    assert width_of("\uff57") == 2
    assert width_of("é") == 1
    assert width_of("e\u0301") == 1
