"""The most that decisions could teach about the relatives of the decided pairs.

If columns a and b join, by a person's decision, so should every column with the values of a and
every column with the values of b. The bound is that of a learner that knows all columns with equal
values, and ranks all answers that follow first. It says nothing of what decisions teach about
unrelated pairs with similar features.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

Named = tuple[ColumnName, ColumnName]
"""Two columns."""

_OTHER_VALUES = {"code", "fuzzy", "code-code", "code-name", "name-name"}
"""The kinds of answers whose values are written differently in the two columns."""


def read_equal(folder: Path) -> Mapping[ColumnName, set[ColumnName]]:
    """For each column of the answers of a labelled lake, read which columns have equal values.

    Args:
        folder: The labelled lake; `ground_truth.csv` has the kind of each answer.

    Returns:
        The columns that join with each column by equal values, and the column itself.
    """
    equal: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
    with (folder / "ground_truth.csv").open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            left = ColumnName(row["query_table"], row["query_column"])
            right = ColumnName(row["candidate_table"], row["candidate_column"])
            both = {left, right}
            for column in both:
                equal[column] |= {column} if row["kind"] in _OTHER_VALUES else both
    return equal


def find_relatives(
    accepted: Iterable[Named], equal: Mapping[ColumnName, set[ColumnName]]
) -> set[Named]:
    """Return the pairs, in both orders, that follow from accepted pairs.

    Args:
        accepted: The accepted pairs.
        equal: The columns with the values of each column.

    >>> a, b, c = (ColumnName(table, "id") for table in "abc")
    >>> sorted(find_relatives([(a, b)], {b: {b, c}}))  # doctest: +NORMALIZE_WHITESPACE
    [(ColumnName(table='a', column='id'), ColumnName(table='b', column='id')),
     (ColumnName(table='a', column='id'), ColumnName(table='c', column='id')),
     (ColumnName(table='b', column='id'), ColumnName(table='a', column='id')),
     (ColumnName(table='c', column='id'), ColumnName(table='a', column='id'))]
    """
    following = {
        pair
        for left, right in accepted
        for pair in product(equal.get(left, {left}), equal.get(right, {right}))
    }
    return following | {(right, left) for left, right in following}


def rank_first(
    ranked: Mapping[ColumnName, list[ColumnName]],
    truth: Mapping[ColumnName, frozenset[ColumnName]],
    relatives: set[Named],
    most: int,
) -> Mapping[ColumnName, list[ColumnName]]:
    """Return rankings with the answers among the relatives first.

    Args:
        ranked: Candidates by query column, best first.
        truth: The answers.
        relatives: Pairs in both orders.
        most: Maximum number of candidates in each ranking.
    """
    bounded = {}
    for query, candidates in ranked.items():
        first = sorted(answer for answer in truth[query] if (query, answer) in relatives)
        rest = [each for each in candidates if each not in first]
        bounded[query] = [*first, *rest][:most]
    return bounded
