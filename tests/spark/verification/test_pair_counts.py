"""Test the evidence of pairs against a nested loop."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.normal_form import Hashes
from datahub_hyperjoin.spark.counting.sketch import Counts, ValueCounts, distinct_values
from datahub_hyperjoin.spark.verification.counting import CountedPair, count_pair

COLUMNS = st.lists(st.sampled_from(["rome", "oslo", "bern", "kyiv", "lima"]), max_size=12)
PlainEvidence = Callable[[Sequence[str | None], Sequence[str | None]], Evidence]


def counted(values: Sequence[str]) -> tuple[Hashes, Counts]:
    array = pa.array(values, pa.string())
    [found] = distinct_values(
        ValueCounts(array, np.ones(len(values), np.int64), array, bounds_of([len(values)]))
    )
    return found.hashes, found.counts


def evidence(left: Sequence[str], right: Sequence[str]) -> Evidence:
    ours, theirs = counted(left), counted(right)
    ends = (ours, ours), (theirs, theirs), (ours, theirs)
    return CountedPair(*(count_pair(*pair) for pair in ends)).evidence


@given(COLUMNS, COLUMNS)
def test_evidence_equals_that_of_a_nested_loop(
    plain_evidence: PlainEvidence, left: list[str], right: list[str]
) -> None:
    assert evidence(left, right) == plain_evidence(left, right)


def test_a_key_and_its_references() -> None:
    found = evidence(["bern", "oslo", "rome"], ["oslo", "oslo", "kyiv", "rome"])
    assert found == Evidence(
        shared=2,
        left_containment=2 / 3,
        right_containment=2 / 3,
        cardinality=Cardinality.ONE_MANY,
        left_fan_out=1.0,
        right_fan_out=0.75,
        rows=3,
    )
