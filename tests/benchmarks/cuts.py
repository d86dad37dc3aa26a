"""Reduce lakes to a given number of tables, drawn at random.

Tables with a query column or a column that joins with one are *labelled*; all others are noise. A
cut keeps the lake's shares of both, rounded. For the labelled tables, query columns are drawn at
random, and each brings its own table and a random table that it joins with, while both fit; the
remaining places go to random labelled tables. So joins become fewer with the tables, as in a
smaller lake of the same kind, and yet at least one query column keeps one. Tables in which many
query columns lie are drawn more often than others. Query columns whose table or whose joins are
removed are not ranked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.errors import CutError
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake

_PAIR = 2
"""Number of tables in a join."""


def check_sizes(lakes: Sequence[LabelledLake], sizes: Iterable[int]) -> None:
    """Raise an error for sizes to which a lake cannot be reduced.

    Args:
        lakes: The lakes.
        sizes: Numbers of tables.

    Raises:
        CutError: A size is too small for a join, or greater than a lake.
    """
    for size in sizes:
        if size < _PAIR:
            raise CutError.without_query(size)
        for lake in lakes:
            if size > len(lake.headers):
                raise CutError.beyond(size, name=lake.name, tables=len(lake.headers))


def cut(lake: ProfiledLake, tables: int, *, seed: int) -> ProfiledLake:
    """Reduce a lake to a number of tables, and reuse the profiles of these tables.

    Args:
        lake: The whole lake.
        tables: Number of tables to keep: at least two, and at most all.
        seed: Seed of the draw.

    Returns:
        The part, named after its size.
    """
    labelled = cut_labelled(lake.labelled, tables, seed=seed)
    kept = [
        profile for profile in lake.profiles if Path(profile.table.id.name).stem in labelled.headers
    ]
    return replace(lake, labelled=labelled, profiles=tuple(kept))


def cut_labelled(lake: LabelledLake, tables: int, *, seed: int) -> LabelledLake:
    """Draw tables, and keep the query columns that join with another drawn table.

    Args:
        lake: The whole lake.
        tables: Number of tables to keep.
        seed: Seed of the draw.

    Returns:
        The part; it has at least one query column.
    """
    random = np.random.default_rng(seed)
    labelled = {column.table for query, gold in lake.truth.items() for column in (query, *gold)}
    noise = sorted(lake.headers.keys() - labelled)
    room = max(_PAIR, round(tables * len(labelled) / len(lake.headers)))
    drawn = _draw_joins(lake.truth, room, random)
    drawn |= _draw_tables(sorted(labelled - drawn), room - len(drawn), random)
    drawn |= _draw_tables(noise, tables - len(drawn), random)
    return replace(
        lake,
        headers={table: lake.headers[table] for table in lake.headers if table in drawn},
        truth=_keep(lake.truth, drawn),
        part=f"{tables} tables",
    )


def _draw_joins(
    truth: Mapping[ColumnName, frozenset[ColumnName]], room: int, random: np.random.Generator
) -> set[str]:
    """Draw pairs of tables that join through a query column, at most `room` tables in all."""
    drawn: set[str] = set()
    queries = list(truth)
    for index in random.permutation(len(queries)):
        query = queries[index]
        # Sorted, since the order of a set differs between processes.
        joining = sorted({column.table for column in truth[query]})
        pair = {query.table, joining[random.integers(len(joining))]}
        if len(drawn | pair) <= room:
            drawn |= pair
    return drawn


def _draw_tables(tables: Sequence[str], count: int, random: np.random.Generator) -> set[str]:
    return {tables[int(index)] for index in random.permutation(len(tables))[:count]}


def _keep(
    truth: Mapping[ColumnName, frozenset[ColumnName]], tables: set[str]
) -> dict[ColumnName, frozenset[ColumnName]]:
    kept = {
        query: frozenset(column for column in gold if column.table in tables)
        for query, gold in truth.items()
        if query.table in tables
    }
    return {query: gold for query, gold in kept.items() if gold}
