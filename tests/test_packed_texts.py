"""Test sequences of texts in little memory."""

import pickle
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import PackedTexts

TEXTS = st.lists(st.text()).map(tuple)


@given(TEXTS, st.slices(8))
@example((), slice(None))
@example(("", "", "a"), slice(1, None))
@example(("\0", "Zürich", "\U0001f30d"), slice(None, None, -1))
def test_packed_texts_behave_as_a_tuple(texts: tuple[str, ...], some: slice) -> None:
    packed = PackedTexts.of(texts)
    assert (*packed,) == texts
    assert len(packed) == len(texts)
    assert packed[some] == texts[some]
    assert [packed[at] for at in range(len(texts))] == [*texts]
    assert repr(packed) == repr(texts)
    assert (packed == texts, hash(packed)) == (True, hash(texts))
    assert pickle.loads(pickle.dumps(packed)) == packed  # noqa: S301


@given(TEXTS, TEXTS)
@example(("ab", "c"), ("a", "bc"))
@example(("",), ())
def test_texts_are_equal_if_all_are(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    packed = PackedTexts.of(left), PackedTexts.of(right)
    assert (packed[0] == packed[1]) == (packed[0] == right) == (left == right)


@pytest.mark.parametrize("other", ["ab", ["a", "b"], None])
def test_other_sequences_are_not_equal(other: Sequence[str] | None) -> None:
    assert PackedTexts.of("ab") != other


def test_packed_texts_are_not_packed_again() -> None:
    packed = PackedTexts.of(["a"])
    assert PackedTexts.of(packed) is packed


def test_no_text_has_an_index_past_the_end() -> None:
    with pytest.raises(IndexError):
        PackedTexts.of(["a"])[1]
