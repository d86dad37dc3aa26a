"""Errors that occur while an explanation is prepared."""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.graphql.find import find_near
from datahub_hyperjoin.wording import name_some


class UnknownColumnError(HyperJoinError, LookupError):
    """A name matches no column of the run, or several columns."""

    @classmethod
    def named(cls, name: str, *, near: Sequence[str]) -> Self:
        fix = f"Did you mean {near[0]}?" if near else "Write it as table.column"
        return cls(f"no table that was read has the column {name!r}. {fix}")

    @classmethod
    def of_table(cls, column: str, table: str, *, known: Sequence[str]) -> Self:
        near = find_near(column, known) or known
        return cls(
            f"the table {table!r} has no column {column!r}. Did you mean "
            f"{name_some([*map(repr, near)])}?"
        )

    @classmethod
    def ambiguous(cls, name: str, *, columns: Sequence[str]) -> Self:
        return cls(
            f"{name!r} fits {name_some(columns)}. Write more of the table's name, so that it fits "
            "one column"
        )

    @classmethod
    def of_unread_table(cls, name: str, *, fault: str) -> Self:
        return cls(f"the table of {name!r} was not read: {fault}. Mend the table and run again")


class SameColumnError(HyperJoinError, ValueError):
    """Both names of a pair refer to the same column."""

    @classmethod
    def named(cls, column: str) -> Self:
        return cls(f"both names fit {column}. Name two columns")
