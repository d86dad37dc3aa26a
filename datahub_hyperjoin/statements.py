"""The SQL statement of a join, or the reason why there is none."""

from dataclasses import dataclass

from datahub_hyperjoin.tables import Pair

JoinedColumns = tuple[Pair, ...]
"""The columns of a join (`Join.pairs`), which identify its statement within a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The tested SQL statement of a join, or the reason why there is none."""

    sql: str = ""
    """The SQL text, with a row limit; empty if the join has no tested statement."""

    dialect: str = ""
    """The SQL dialect, as sqlglot names it: `duckdb`, `postgres`, `mysql`, `sqlite` or `spark`."""

    rows: int = 0
    """Number of rows that the statement returns without its limit."""

    compared: str = ""
    """The form in which the statement compares values, in words; empty for a plain `=`."""

    reason: str = ""
    """Why the join has no tested statement; empty if it has one."""

    untested: bool = False
    """Whether SQL could not be run to its end, so that an earlier statement may still be right."""
