"""Define relational databases of text cells, with the references that they declare."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

Random = np.random.Generator

EXTERNAL = "//"
"""Prefix of the made-up table name for a key whose table is not in the database, such as an
external catalogue."""


@dataclass(frozen=True, order=True)
class Reference:
    """A declared foreign key of one column."""

    origin: ColumnName
    """The referring column."""

    target: ColumnName
    """The key to which the column refers; its table may be missing from the database."""


@dataclass(frozen=True)
class Database:
    """A database: the rows of its tables, and the references between columns."""

    name: str
    tables: Mapping[str, pd.DataFrame]
    references: tuple[Reference, ...]
    parts: tuple[Reference, ...] = ()
    """The declared keys of several columns, column by column. Each is right, but not asked for."""

    invented: bool = False
    """Whether its rows are made up, because only its headers are public."""

    standard: bool = False
    """Whether many databases have its schema, because a standard prescribes it."""

    @property
    def author(self) -> str:
        """The owner of the repository that it comes from."""
        return self.name.partition("/")[0].lower()

    def has(self, column: ColumnName) -> bool:
        """Return whether a column exists in the database."""
        return column.table in self.tables and column.column in self.tables[column.table].columns

    def values(self, column: ColumnName) -> frozenset[str]:
        """Return the distinct values of a column, except the empty text."""
        return frozenset(self.tables[column.table][column.column]) - {""}

    def containment(self, reference: Reference) -> float:
        """Return the share of the referring values that occur in the key; 0 if there are none."""
        values = self.values(reference.origin)
        return len(values & self.values(reference.target)) / max(1, len(values))

    def without_dangling_references(self) -> "Database":
        """Return the database without the references whose referring column is missing."""
        references, parts = (
            tuple(one for one in declared if self.has(one.origin))
            for declared in (self.references, self.parts)
        )
        return replace(self, references=references, parts=parts)


def domains(references: Iterable[Reference]) -> list[tuple[ColumnName, ...]]:
    """Group all columns that refer to the same key, directly or through other columns.

    Args:
        references: The references of one or several databases.

    Returns:
        The groups, sorted; each with its keys.
    """
    leader: dict[ColumnName, ColumnName] = {}

    def find(column: ColumnName) -> ColumnName:
        while leader.setdefault(column, column) != column:
            column = leader[column]
        return column

    for reference in references:
        leader[find(reference.origin)] = find(reference.target)
    groups: dict[ColumnName, list[ColumnName]] = defaultdict(list)
    for column in sorted(leader):
        groups[find(column)].append(column)
    return sorted(tuple(columns) for columns in groups.values())
