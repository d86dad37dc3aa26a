"""Test how the lengths of values show whether one column may refer to another."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.model.roles.named_references import fit_in_lengths, measure_length_chance
from datahub_hyperjoin.tables import DataType, DescribedTable, TableId, describe_columns
from lakes.handmade import lake_of

TEXTS = st.lists(
    st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=4), min_size=1, max_size=6
)


@settings(deadline=None, max_examples=60)
@given(columns=TEXTS, data=st.data())
def test_chance_counts_the_keys_that_are_at_least_as_close(
    columns: list[list[str]], data: st.DataObject
) -> None:
    lake = lake_of({f"t{at}": {"x": values} for at, values in enumerate(columns)})
    count = len(columns)
    is_key = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    pairs = [pair for pair in itertools.product(range(count), repeat=2) if is_key[pair[1]]]
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    found = measure_length_chance(lake, is_key, left, right)
    ends = [np.log1p([min(map(len, v)), max(map(len, v))]) for v in columns]

    def apart(one: int, other: int) -> float:
        return float(np.abs(ends[one] - ends[other]).sum())

    keys = np.flatnonzero(is_key).tolist()
    expected = [
        sum(apart(a, key) <= apart(a, b) + 1e-9 for key in keys) / len(keys) for a, b in pairs
    ]
    assert found == pytest.approx(expected)
    fits = fit_in_lengths(lake, left, right)
    shortest, longest = ([end(map(len, v)) for v in columns] for end in (min, max))
    assert fits.tolist() == [
        shortest[a] >= shortest[b] and longest[a] <= longest[b] for a, b in pairs
    ]


def test_unknown_lengths_and_other_types_say_nothing() -> None:
    table = TableId("file", "described")
    [column] = describe_columns(table, [("y", DataType.TEXT)])
    read = lake_of({"a": {"x": ["abc"]}, "b": {"z": ["abcd"], "n": ["7"]}})
    lake = read.with_described([DescribedTable(id=table, title="described", columns=(column,))])
    number = {str(id_): at for at, id_ in enumerate(lake.ids)}
    text, longer, whole, unread = (number[name] for name in ("a.x", "b.z", "b.n", "described.y"))
    left, right = np.array([text, unread, text]), np.array([whole, longer, unread])
    is_key = np.ones(len(lake), dtype=bool)
    assert measure_length_chance(lake, is_key, left, right) == pytest.approx([np.exp(-1)] * 3)
    fits = fit_in_lengths(lake, np.array([text, unread, text]), np.array([longer, longer, unread]))
    assert fits.tolist() == [False, True, True]
