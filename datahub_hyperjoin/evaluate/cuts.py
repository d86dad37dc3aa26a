"""Lakes cut to size: as many tables of a benchmark as told, chosen at random.

Tables that hold a query or an answer are *asked about*; all others are noise. A cut keeps the
benchmark's share of both, rounded. For those asked about, queries are drawn at random, and each
brings its own table and that of one of its answers, drawn at random, while both fit; the places
that are left go to others of them at random. So answers grow fewer with the tables, as in a smaller
lake of the same kind, and yet at least one query keeps one. Tables that many queries ask about are
drawn more often than others. Queries whose table or whose answers are all gone are asked no more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from datahub_hyperjoin.evaluate.errors import CutError
from datahub_hyperjoin.evaluate.methods import EvaluatedLake
from datahub_hyperjoin.evaluate.suite import ColumnName, Suite

_PAIR = 2
"""A query and its answer stand in two tables."""


def check_sizes(suites: Sequence[Suite], sizes: Iterable[int]) -> None:
    """Refuses what no benchmark can be cut to.

    Args:
        suites: The benchmarks.
        sizes: How many tables each is cut to.

    Raises:
        CutError: A size leaves no room for a query, or is more than a benchmark has.
    """
    for size in sizes:
        if size < _PAIR:
            raise CutError.without_query(size)
        for suite in suites:
            if size > len(suite.headers):
                raise CutError.beyond(size, name=suite.name, tables=len(suite.headers))


def cut(lake: EvaluatedLake, tables: int, *, seed: int) -> EvaluatedLake:
    """A part of a lake, whose tables are not profiled again.

    Args:
        lake: The whole.
        tables: How many are left: two at least, and no more than there are.
        seed: Decides which; the same seed gives the same part.

    Returns:
        The part, named after its size.
    """
    suite = cut_suite(lake.suite, tables, seed=seed)
    kept = [one for one in lake.profiles if Path(one.table.id.name).stem in suite.headers]
    return replace(lake, suite=suite, profiles=tuple(kept))


def cut_suite(suite: Suite, tables: int, *, seed: int) -> Suite:
    """Chooses tables, and what is still asked of them.

    Args:
        suite: The whole.
        tables: How many are left.
        seed: Decides which.

    Returns:
        The part; at least one query has an answer in it.
    """
    random = np.random.default_rng(seed)
    asked = {column.table for query, gold in suite.truth.items() for column in (query, *gold)}
    noise = sorted(suite.headers.keys() - asked)
    room = max(_PAIR, round(tables * len(asked) / len(suite.headers)))
    chosen = _pairs(suite.truth, room, random)
    chosen |= _some(sorted(asked - chosen), room - len(chosen), random)
    chosen |= _some(noise, tables - len(chosen), random)
    return replace(
        suite,
        headers={table: suite.headers[table] for table in suite.headers if table in chosen},
        truth=_left(suite.truth, chosen),
        part=f"{tables} tables",
    )


def _pairs(
    truth: Mapping[ColumnName, frozenset[ColumnName]], room: int, random: np.random.Generator
) -> set[str]:
    """Tables of queries and of one answer to each."""
    chosen: set[str] = set()
    queries = list(truth)
    for place in random.permutation(len(queries)):
        query = queries[place]
        answers = sorted({answer.table for answer in truth[query]})
        pair = {query.table, answers[random.integers(len(answers))]}
        if len(chosen | pair) <= room:
            chosen |= pair
    return chosen


def _some(tables: Sequence[str], count: int, random: np.random.Generator) -> set[str]:
    return {tables[int(place)] for place in random.permutation(len(tables))[:count]}


def _left(
    truth: Mapping[ColumnName, frozenset[ColumnName]], chosen: set[str]
) -> dict[ColumnName, frozenset[ColumnName]]:
    left = {
        query: frozenset(answer for answer in gold if answer.table in chosen)
        for query, gold in truth.items()
        if query.table in chosen
    }
    return {query: gold for query, gold in left.items() if gold}
