"""Estimate how many records a run writes, before it has read a table.

How many columns join is not known before the tables are read. The shares below are those of the
quick start's lake and of small databases; other lakes have half or twice as many joins.
"""

from dataclasses import dataclass

from datahub_hyperjoin.emit.config import EmitConfig

_COLUMNS_OF_TABLE = 10
"""Columns of a table that DataHub does not describe."""
_JOINS_OF_COLUMN, _JOINED_SHARE = 0.4, 0.4
"""Joins for each column, and the share of columns that have a join."""
_TAGS = 12
"""Tags of roles and bands, and the state of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSize:
    """The number of tables and columns that a run compares."""

    tables: int
    """Number of tables."""

    columns: int = 0
    """Number of columns of the tables that DataHub describes."""

    described: int = 0
    """Number of tables that DataHub describes."""


def estimate_records(size: LakeSize, config: EmitConfig) -> int:
    """Estimate how many records a first run writes, in two significant digits.

    >>> estimate_records(LakeSize(tables=76, columns=777, described=76), EmitConfig())
    1000
    """
    tables = size.tables
    columns = size.columns + _COLUMNS_OF_TABLE * (tables - size.described)
    joins, joined = _JOINS_OF_COLUMN * columns, _JOINED_SHARE * columns
    layers = (
        (config.relationships, 2 * joins),
        # Eight properties with their settings come first.
        (config.properties, 16 + joined + tables),
        (config.queries, 3 * joins),
        (config.documents, 1 + 2 * tables),
        (config.ai_context, joined),
        (config.lineage, tables / 2),
        (config.glossary_terms, 2 + joined / 2),
        (config.embed, tables),
    )
    records = _TAGS + sum(count for is_written, count in layers if is_written)
    return int(float(f"{records:.1e}"))
