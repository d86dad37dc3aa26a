"""Make up rows for a schema whose rows are not public, so that its names and references teach."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.school.database import Database, Random, Reference, domains
from benchmarks.school.headers import singulars
from benchmarks.school.values import amount, date, document, flag, letters, person, small, status
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_FEWEST = 4
"""Fewest rows of a table."""

_STARTS, _STEPS = (1, 1, 1, 1, 1, 100, 1_000, 50_000), (1, 1, 1, 1, 10)
"""First numbers of keys, and the differences between them."""

_IN_WORDS, _AS_CODES = 0.05, 0.12
"""Shares of the keys that are words and codes; the others are numbers."""

_SKEW = (0.0, 0.0, 0.7, 1.5)
"""Exponents s, one drawn for each column: rows refer to the k-th key with weight 1 / k ** s."""

_MISSING = (0.0, 0.0, 0.0, 0.1, 0.5)
"""Shares of the rows without a reference."""

_IDENTIFIER = re.compile(r"(?:^|_|(?<=[a-z]))(?:id|ID|Id|fk|uuid|guid|key|no|nr|code)$")
_KINDS: tuple[tuple[str, Callable[[int, Random], list[str]]], ...] = (
    (r"^(?:is|has|can|was|allow)_|(?:enabled|active|deleted|flag|visible|public|default)", flag),
    (r"(?:_at|_on|date|time|day|birth|since|until|created|updated|expires)", date),
    (r"(?:status|state|type|kind|level|category|role|mode|gender|format)", status),
    (r"(?:amount|price|total|cost|rate|score|weight|lat|lon|width|height|size|percent)", amount),
    (r"(?:count|number|num|position|order|sort|rank|version|year|age|quantity|qty|index)", small),
    (r"(?:first_?name|last_?name|user_?name|author|contact|^name|person)", person),
    (r"(?:code|sku|reference|token|hash|slug|serial)", document),
)
"""What columns of which names hold."""
_OTHERS = (flag, small, amount, date, status, person, document, letters)


def invent_rows(database: Database, rows: int, random: Random) -> Database:
    """Fill the tables of a schema; every declared reference holds.

    A column that is named as the key of another table, though no reference is declared, gets keys
    of that table and belongs to `parts`: nobody is asked for it, and it is not wrong.

    Args:
        database: The schema; of its rows, nothing counts but the columns.
        rows: About the most rows of a table.
        random: Source of all draws.
    """
    sizes = {
        table: int(np.exp(random.uniform(np.log(_FEWEST), np.log(max(rows, 2 * _FEWEST)))))
        for table in sorted(database.tables)
    }
    named = [*_named_references(database)]
    cells: dict[ColumnName, list[str]] = {}
    for group in domains((*database.references, *named)):
        there = [one for one in group if database.has(one)]
        targets = {one.target for one in (*database.references, *named)} & {*there}
        keys = _keys(max((sizes[one.table] for one in targets or there), default=1), random)
        for one in there:
            draw = _subset if one in targets or _is_first(database, one) else _refer
            cells[one] = draw(keys, sizes[one.table], random)
    tables = {}
    for table, frame in database.tables.items():
        filled = {}
        for column in map(str, frame.columns):
            known = cells.get(ColumnName(table, column))
            is_first = column == str(frame.columns[0])
            filled[column] = known or _fill(column, sizes[table], random, is_first=is_first)
        tables[table] = pd.DataFrame(filled, dtype=str)
    return replace(database, tables=tables, parts=(*database.parts, *named), invented=False)


def _is_first(database: Database, column: ColumnName) -> bool:
    return str(database.tables[column.table].columns[0]) == column.column


def _named_references(database: Database) -> Iterator[Reference]:
    """Yield undeclared references of columns that are named after another table, as `user_id`."""
    known = {one.origin for one in (*database.references, *database.parts)}
    tables = {word: table for table in database.tables for word in singulars(table.lower())}
    for table, frame in database.tables.items():
        for column in map(str, frame.columns[1:]):
            name = re.sub(r"_?(?:id|fk)$", "", re.sub(r"(?<=[a-z])([A-Z])", r"_\1", column).lower())
            other = tables.get(name)
            if name != column.lower() and other and ColumnName(table, column) not in known:
                key = str(database.tables[other].columns[0])
                yield Reference(ColumnName(table, column), ColumnName(other, key))


def _keys(count: int, random: Random) -> list[str]:
    """Draw distinct keys."""
    kind = random.random()
    if kind < _IN_WORDS:
        return [*dict.fromkeys(letters(2 * count, random))][:count]
    if kind < _IN_WORDS + _AS_CODES:
        return document(count, random)
    start, step = int(random.choice(_STARTS)), int(random.choice(_STEPS))
    return [str(start + step * at) for at in range(count)]


def _subset(keys: Sequence[str], rows: int, random: Random) -> list[str]:
    """Return distinct keys: the first ones, or, of an extension, any; empty where there is none."""
    if rows < len(keys):
        chosen = np.sort(random.permutation(len(keys))[:rows])
        return [keys[at] for at in (chosen if random.random() < 0.5 else range(rows))]
    return [*keys, *[""] * (rows - len(keys))]


def _refer(keys: Sequence[str], rows: int, random: Random) -> list[str]:
    weights = (1 + np.arange(len(keys))) ** -float(random.choice(_SKEW))
    order = random.permutation(len(keys)) if random.random() < 0.5 else np.arange(len(keys))
    drawn = order[random.choice(len(keys), rows, p=weights / weights.sum())]
    is_missing = random.random(rows) < float(random.choice(_MISSING))
    places: list[int] = drawn.tolist()
    cells = zip(places, is_missing.tolist(), strict=True)
    return ["" if missing else keys[at] for at, missing in cells]


def _fill(column: str, rows: int, random: Random, *, is_first: bool) -> list[str]:
    """Make up the cells of a column that refers to nothing in the schema."""
    if is_first and _IDENTIFIER.search(column):
        return _keys(rows, random)
    if _IDENTIFIER.search(column):
        # It refers to what is not here.
        return _refer(_keys(max(3, rows), random), rows, random)
    for pattern, make in _KINDS:
        if re.search(pattern, column, re.IGNORECASE):
            return make(rows, random)
    return _OTHERS[int(random.integers(len(_OTHERS)))](rows, random)
