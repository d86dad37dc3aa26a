"""Errors that explain why a join has no SQL."""

from typing import ClassVar

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.joins import Statement

_PAIR = 2


class NoStatementError(HyperJoinError):
    """A join has no SQL, for the reason that the message says."""

    is_final: ClassVar[bool] = True
    """Whether the join can never have SQL; False if the SQL merely could not be run this time."""

    @property
    def as_statement(self) -> Statement:
        """A `Statement` that contains this error's message instead of SQL."""
        return Statement(reason=str(self), untested=not self.is_final)

    @classmethod
    def of_entities(cls, kind: str) -> Self:
        return cls(
            f"one column holds codes and the other names of {kind}, which SQL cannot compare "
            "without a table that holds both"
        )

    @classmethod
    def across_systems(cls, tables: int = 2) -> Self:
        number = "both" if tables == _PAIR else f"all {tables}"
        return cls(f"no single database has {number} tables")

    @classmethod
    def of_remote_files(cls) -> Self:
        return cls("its files are remote; HyperJoin runs SQL on files of this machine only")

    @classmethod
    def of_format(cls, name: str) -> Self:
        return cls(f"DuckDB runs SQL on CSV, JSON and Parquet files, but not on {name}")

    @classmethod
    def unexpectedly(cls, error: Exception) -> Self:
        # Its message may contain data.
        return cls(f"its SQL ended with an error of the kind {type(error).__name__}")

    @classmethod
    def without_time_limit(cls, system: str) -> Self:
        return cls(
            f"HyperJoin runs SQL with a time limit only, and knows none for {system}; it does for "
            "PostgreSQL, MariaDB, MySQL and SQLite"
        )

    @classmethod
    def for_differing_rows(cls, expected: int, counted: int) -> Self:
        return cls(
            f"no SQL condition returns the {expected:,} rows that were measured; the closest "
            f"returns {counted:,}"
        )


class TableUnavailableError(NoStatementError):
    """SQL cannot read a table."""

    is_final = False

    @classmethod
    def in_system(cls, table: str, system: str, obstacle: str = "") -> Self:
        why = f": {obstacle}" if obstacle else ""
        return cls(f"{system} does not read {table} as HyperJoin does{why}")


class StatementRefusedError(NoStatementError):
    """A database refused a statement."""

    is_final = False

    @classmethod
    def by(cls, system: str, kind: str) -> Self:
        # The database's own message may contain values.
        return cls(f"{system} refuses the statement ({kind})")


class TimeLimitError(NoStatementError):
    """A statement took too long."""

    is_final = False

    @classmethod
    def after(cls, seconds: float, *, own: bool = True) -> Self:
        limit = "; raise `emit.sql_timeout`" if own else ", the time limit of its database"
        return cls(f"its SQL ran for more than {seconds:g} s{limit}")
