"""The SQL statement of a join, or the reason why there is none."""

from dataclasses import dataclass
from enum import Enum

from datahub_hyperjoin.tables import Pair

FILE_DIALECT = "duckdb"
"""The SQL dialect of statements that read files on this machine."""

JoinedColumns = tuple[Pair, ...]
"""The columns of a join (`Join.pairs`), which identify its statement within a run."""


class RunSql(str, Enum):
    """The joins whose SQL is run to test it. The SQL of the other joins is written only."""

    SHOWN = "shown"
    """Joins of files on this machine and, where each statement is work for a server, joins that
    the output shows first."""

    ALL = "all"
    """All joins."""

    NONE = "none"
    """No join."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The SQL statement of a join, or the reason why there is none."""

    sql: str = ""
    """The SQL text, with a row limit; empty if the join has no statement."""

    dialect: str = ""
    """The SQL dialect, as sqlglot names it: `duckdb`, `postgres`, `mysql`, `sqlite` or `spark`."""

    rows: int = 0
    """Number of rows that the statement returned without its limit; 0 if it was not run."""

    compared: str = ""
    """The form in which the statement compares values, in words; empty for a plain `=`."""

    reason: str = ""
    """Why the join has no statement; empty if it has one."""

    was_run: bool = True
    """Whether the statement was run, and returned the rows of the evidence. If not, it was written
    from the profiles of the columns."""

    untested: bool = False
    """Whether SQL could not be run to its end, so that an earlier statement may still be right."""
