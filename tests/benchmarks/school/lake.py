"""Define labelled lakes: tables of several databases, and the joins between them."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

FK, CLOSURE = "fk", "closure"
"""Kinds of joins: declared, and implied by a common key."""


@dataclass(frozen=True, order=True)
class Truth:
    """A query column and a column that joins with it."""

    query: ColumnName
    candidate: ColumnName
    kind: str


@dataclass(frozen=True, order=True)
class Directed:
    """A declared reference, and the direction that its rows suggest."""

    origin: ColumnName
    target: ColumnName
    direction: str


@dataclass(frozen=True)
class SchoolLake:
    """The tables of a lake, and the joins between their columns."""

    tables: Mapping[str, pd.DataFrame]
    truth: tuple[Truth, ...]
    references: tuple[Directed, ...]
    origins: Mapping[str, str]
    """The source of each table."""

    declared: tuple[tuple[ColumnName, ColumnName], ...] = ()
    """Everything that a database declares, also what is not asked for: references of few values, of
    a table to itself, and parts of wider keys."""

    neutral: tuple[tuple[ColumnName, ...], ...] = ()
    """Groups of columns that lead to one key or may mean the same. An undeclared reference between
    two columns of a group is neither right nor wrong."""

    @property
    def queries(self) -> list[ColumnName]:
        """All query columns, sorted."""
        return sorted({one.query for one in self.truth})

    def rename(
        self, tables: Mapping[str, str], columns: Callable[[ColumnName], str]
    ) -> "SchoolLake":
        """Rename all tables and columns, and use the new names in the joins and references, too.

        Args:
            tables: The new name of each table, after its folder if it has one.
            columns: The new name of a column; a number is added where a table has it twice.
        """
        tables = {table: re.sub(r"[^\w./-]+", "_", name) for table, name in tables.items()}
        headers = {
            table: distinct(columns(ColumnName(table, str(column))) for column in frame)
            for table, frame in self.tables.items()
        }
        names = {
            ColumnName(table, str(old)): ColumnName(tables[table], new)
            for table, frame in self.tables.items()
            for old, new in zip(frame.columns, headers[table], strict=True)
        }
        return SchoolLake(
            {
                tables[table]: frame.set_axis(headers[table], axis=1)
                for table, frame in self.tables.items()
            },
            tuple(
                sorted(
                    replace(one, query=names[one.query], candidate=names[one.candidate])
                    for one in self.truth
                )
            ),
            tuple(
                sorted(
                    replace(one, origin=names[one.origin], target=names[one.target])
                    for one in self.references
                )
            ),
            {tables[table]: origin for table, origin in self.origins.items()},
            tuple(sorted((names[one], names[other]) for one, other in self.declared)),
            tuple(sorted(tuple(sorted(map(names.__getitem__, one))) for one in self.neutral)),
        )


def distinct(names: Iterable[str]) -> list[str]:
    """Make names distinct, ignoring case, by adding numbers.

    >>> distinct(["id", "ID", "name"])
    ['id', 'ID2', 'name']
    """
    taken: set[str] = set()
    result = []
    for name in names:
        free, number = name, 1
        while free.lower() in taken:
            number += 1
            free = f"{name}{number}"
        taken.add(free.lower())
        result.append(free)
    return result


def distinct_names(names: Mapping[str, str]) -> dict[str, str]:
    """Make the values of a mapping distinct, ignoring case, by adding numbers."""
    return dict(zip(names, distinct(names.values()), strict=True))
