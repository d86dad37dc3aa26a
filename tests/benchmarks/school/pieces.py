"""Make lakes of pieces: overlapping parts of public tables, with changed names and cells.

Two columns join if they are pieces of one column, or of two columns that share half of their
values, and still share some before their cells are disturbed.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from benchmarks.school.columns import Content, content
from benchmarks.school.database import Database, Random
from benchmarks.school.guises import abbreviation, style
from benchmarks.school.lake import SchoolLake, Truth, distinct
from benchmarks.school.writing import rewrite
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

SPLIT, CROSS = "split", "cross"
"""Kinds of joins: both columns are cut from one public column, or from two that share values."""

_FEWEST_ROWS, _FEWEST_COLUMNS = 40, 3
_KEYS = 5
_VALUES = 240
_ROWS = 100
_SAME, _DOUBT, _SHARED = 0.5, 0.1, 10
_PIECE_SHARE, _PIECE_VALUES = 0.1, 3
_QUERIES, _QUERIES_OF_COLUMN = 120, 4


@dataclass(frozen=True)
class _Base:
    """A public table, with the key columns on which its pieces join."""

    database: str
    name: str
    rows: pd.DataFrame
    keys: dict[str, int]
    """The group of each key column: columns of one group hold the same things."""


@dataclass(frozen=True)
class _Piece:
    """A key column of a piece, with its values before they were changed."""

    column: ColumnName
    base: tuple[str, str]
    group: int
    cells: frozenset[str]


def make_pieces(
    pool: Sequence[Database], tables: int, random: Random
) -> tuple[SchoolLake, list[str]]:
    """Make a lake from pieces of public tables.

    Args:
        pool: Databases whose tables are cut.
        tables: About the number of pieces.
        random: Source of all draws.

    Returns:
        The lake, and the names of the databases.
    """
    frames: dict[str, pd.DataFrame] = {}
    origins: dict[str, str] = {}
    found: list[_Piece] = []
    for base in _grouped(_draw_bases(pool, tables, random)):
        for _ in range(int(random.integers(4, 17))):
            named = _cut(base, random)
            if named is None:
                continue
            stem, rows, keys = named
            name = _free(stem, frames)
            frames[name], pieces = _disturb(name, rows, keys, base, random)
            origins[name] = base.database
            found += pieces
    truth = _draw_queries(sorted(_joins(found)), found, random)
    lake = SchoolLake(frames, tuple(truth), (), origins)
    return lake, sorted(set(origins.values()))


def _draw_bases(
    pool: Sequence[Database], tables: int, random: Random
) -> Iterator[tuple[str, str, pd.DataFrame, list[str]]]:
    """Draw public tables that have key columns.

    A lake uses one table for about ten pieces.
    """
    candidates = [
        (database.name, name, frame)
        for database in pool
        for name, frame in database.tables.items()
        if len(frame) >= _FEWEST_ROWS and frame.shape[1] >= _FEWEST_COLUMNS
    ]
    left = max(3, tables // 10)
    for at in random.permutation(len(candidates)):
        database, name, frame = candidates[int(at)]
        keys = [str(column) for column in frame if content(frame[column]) != Content.OTHER][:_KEYS]
        if keys:
            yield database, name, frame, keys
            left -= 1
        if left <= 0:
            return


def _grouped(drawn: Iterator[tuple[str, str, pd.DataFrame, list[str]]]) -> list[_Base]:
    """Group the key columns that share most of their values.

    If two columns share only some values, the later one is dropped.
    """
    bases = list(drawn)
    keys = [(at, key) for at, (_, _, _, names) in enumerate(bases) for key in names]
    values = {(at, key): frozenset(bases[at][2][key]) - {""} for at, key in keys}
    group = {key: number for number, key in enumerate(keys)}
    doubtful = set()
    for one, other in combinations(keys, 2):
        shared = len(values[one] & values[other])
        share = shared / min(len(values[one]), len(values[other]))
        if shared >= _SHARED and share >= _SAME:
            merged, kept = group[other], group[one]
            group = {key: kept if number == merged else number for key, number in group.items()}
        elif shared and share >= _DOUBT:
            doubtful.add(max(one, other))
    return [
        _Base(
            database,
            name,
            frame,
            {key: group[at, key] for key in names if (at, key) not in doubtful},
        )
        for at, (database, name, frame, names) in enumerate(bases)
    ]


def _cut(base: _Base, random: Random) -> tuple[str, pd.DataFrame, list[str]] | None:
    """Cut a piece from a table; return the table's name and the piece's rows and key columns.

    Returns None if no piece can be cut.
    """
    if not base.keys:
        return None
    main = str(random.choice([*base.keys]))
    values = base.rows[main][base.rows[main] != ""].unique()[:_VALUES]
    count = int(np.clip(len(values) * random.uniform(0.12, 0.5), 12, 80))
    chosen = random.choice(values, min(count, len(values)), replace=False)
    rows = base.rows[base.rows[main].isin(chosen)]
    rows = rows.iloc[np.sort(random.permutation(len(rows))[:_ROWS])]
    keys = [key for key in base.keys if random.random() < (0.92 if key == main else 0.6)] or [main]
    others = [str(column) for column in rows if column not in base.keys]
    more = random.permutation(others)[: int(random.integers(1, 6))].tolist() if others else []
    columns = [str(column) for column in rows if column in {*keys, *more}]
    if random.random() < 0.5:
        columns = random.permutation(columns).tolist()
    return base.name, rows[columns].reset_index(drop=True), keys


def _free(stem: str, taken: dict[str, pd.DataFrame]) -> str:
    number = len(taken)
    return f"{stem}_{number}" if number % 2 else f"t{10_007 * (number + 3) % 99_991}"


def _disturb(
    name: str, rows: pd.DataFrame, keys: list[str], base: _Base, random: Random
) -> tuple[pd.DataFrame, list[_Piece]]:
    """Rename the columns of a piece, and write its keys in another form."""
    style_of_piece = int(random.integers(6))
    naming = (str, str, style(random), abbreviation(random), style(random), None)[style_of_piece]
    old = [str(column) for column in rows]
    new = distinct(naming(one) if naming else f"col_{at}" for at, one in enumerate(old))
    frame = rows.copy()
    pieces = []
    for key in keys:
        at = old.index(key)
        values = frozenset(rows[key]) - {""}
        pieces.append(
            _Piece(
                ColumnName(name, new[at]), (base.database + base.name, key), base.keys[key], values
            )
        )
        if random.random() < 0.6:
            codes = content(base.rows[key]) == Content.CODE
            frame[key] = rows[key].map(rewrite(rows[key].unique().tolist(), random, codes=codes))
    return frame.set_axis(new, axis=1), pieces


def _joins(found: Sequence[_Piece]) -> Iterator[Truth]:
    groups: dict[int, list[_Piece]] = defaultdict(list)
    for piece in found:
        groups[piece.group].append(piece)
    for pieces in groups.values():
        for one, other in permutations(pieces, 2):
            shared = len(one.cells & other.cells)
            enough = max(_PIECE_VALUES, _PIECE_SHARE * min(len(one.cells), len(other.cells)))
            if one.column.table != other.column.table and shared >= enough:
                kind = SPLIT if one.base == other.base else CROSS
                yield Truth(one.column, other.column, kind)


def _draw_queries(truth: list[Truth], found: Sequence[_Piece], random: Random) -> list[Truth]:
    joined = {one.query for one in truth}
    drawn: dict[tuple[str, str], list[ColumnName]] = defaultdict(list)
    for at in random.permutation(len(found)):
        piece = found[int(at)]
        if piece.column in joined and len(drawn[piece.base]) < _QUERIES_OF_COLUMN:
            drawn[piece.base].append(piece.column)
    columns = [column for group in drawn.values() for column in group]
    kept = {columns[int(at)] for at in random.permutation(len(columns))[:_QUERIES]}
    return [one for one in truth if one.query in kept]
