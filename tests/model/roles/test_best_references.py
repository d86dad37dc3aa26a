"""Test which of a column's probable references is chosen as the best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.roles.references import References


@st.composite
def any_references(draw: st.DrawFn) -> References:
    ends = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])
    likely = draw(st.dictionaries(ends, st.sampled_from([0.1, 0.25, 0.5, 0.75]), max_size=20))
    pairs = sorted(likely)
    return References(
        referring=np.array([one for one, _ in pairs], dtype=np.int64),
        referenced=np.array([other for _, other in pairs], dtype=np.int64),
        probability=np.array([likely[pair] for pair in pairs], dtype=np.float64),
    )


@given(any_references())
def test_no_two_columns_refer_to_each_other(references: References) -> None:
    ends = zip(references.referring.tolist(), references.referenced.tolist(), strict=True)
    likely = dict(zip(ends, references.probability.tolist(), strict=True))
    chosen = {column: key for column, (key, _) in references.best.items()}
    assert all(chosen.get(key) != column for column, key in chosen.items())

    def is_better(column: int, key: int | None, than: float) -> bool:
        return key is not None and likely[column, key] >= than

    for (column, key), p in likely.items():
        # A reference is left out for a better one of the column, or for the opposite one.
        opposite = column if chosen.get(key) == column else None
        assert is_better(column, chosen.get(column), p) or is_better(key, opposite, p)


@given(any_references())
def test_a_column_refers_to_any_key_of_the_same_things(references: References) -> None:
    ends = zip(references.referring.tolist(), references.referenced.tolist(), strict=True)
    likely = dict(zip(ends, references.probability.tolist(), strict=True))
    keys = {key for _, key in likely}
    chosen = {column: key for column, (key, _) in references.best.items()}
    sure = {
        (column, key)
        for column, key in chosen.items()
        if column in keys and likely[column, key] >= 0.5
    }
    for column, (key, p) in references.best.items():
        alike = {key} | {one for one in keys for pair in ((one, key), (key, one)) if pair in sure}
        total = sum(likely.get((column, other), 0.0) for other in alike - {column})
        assert p == pytest.approx(min(total, 1.0))


def test_no_reference_has_no_best() -> None:
    assert References.empty().best == {}
