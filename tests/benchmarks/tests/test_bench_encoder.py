"""Test how the gain by a sentence encoder is measured."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.bench_encoder import EncodedPairs, compare, describe_columns
from benchmarks.trees.examples import Examples
from lakes.handmade import lake_of

JOINS = np.array([False, False, True])
"""Whether each candidate joins: only the last one does, and only the encoder found it."""


def pairs(cosines: Mapping[str, Sequence[float]]) -> EncodedPairs:
    """Return three pairs of one query column; only the last pair joins, but it scores lowest."""
    scores = np.array([0.9, 0.8, 0.7])
    examples = Examples(
        rows=np.zeros((3, 0), np.float32),
        noisy_or=scores,
        known=np.zeros(3),
        query=np.zeros(3, dtype=np.int64),
        joins=JOINS,
        answers=np.array([1]),
    )
    texts = {name: np.array(cosine) for name, cosine in cosines.items()}
    return EncodedPairs(examples, scores, texts, is_own=np.array([True, True, False]))


def test_only_candidates_that_count_can_gain() -> None:
    rows = [row[1:3] + row[4:] for row in compare(pairs({"names": [0.0, 0.0, 1.0]}))]
    assert rows == [
        ["1", "ours", "+0.0 (+0.0 to +0.0)"],
        ["1", "ours and the encoder's", "+50.0 (+50.0 to +50.0) *"],
        ["3", "ours", "+0.0 (+0.0 to +0.0)"],
        ["3", "ours and the encoder's", "+100.0 (+100.0 to +100.0) *"],
    ]


def test_a_candidate_of_the_encoder_ranks_by_its_score_if_the_texts_differ() -> None:
    rows = list(compare(pairs({"values": [1.0, 1.0, 0.0]})))
    assert {row[0] for row in rows} == {"values"}
    assert [row[4] for row in rows if row[1] == "3"] == [
        "+0.0 (+0.0 to +0.0)",
        "+33.3 (+33.3 to +33.3) *",
    ]


def test_a_column_is_described_by_its_table_its_name_and_its_values() -> None:
    lake = lake_of({"shop_orders": {"customerID": ["b", "a", "b"]}})
    texts = describe_columns(lake)
    assert texts["names"] == ["shop orders: customer id"]
    assert sorted(texts["values"][0].split(", ")) == ["a", "b"]
