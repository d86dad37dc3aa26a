"""Let databases count the values of large tables, so that a run need not read the rows.

The profiles equal those of reading, with MD5 as the hash of values, but for three things. If
several texts have one normal form, the sample shows the smallest, not that of the first row. Of the
values that are not in the sample, only hashes and lengths are known here. And of a table with too
many rows, the database chooses which rows of a range it counts.

A column is read nevertheless if its type is one whose normal forms SQL cannot compute, if too many
of its texts have characters beyond ASCII, or if its sample suggests a notation, such as a decimal
comma: then a second sketch is needed, of values that SQL cannot convert. So are keys of which few
are repeated, since these may be placeholders, or which differ in case only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.normal_form import hash_values, normal_forms
from datahub_hyperjoin.spark.columns import Column, readable_paths
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    LONGEST_TEXT,
    ColumnAggregate,
    aggregate_columns,
    merge_aggregates,
)
from datahub_hyperjoin.spark.counting.notations import may_have_notation
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.counting.texts import TextCounts
from datahub_hyperjoin.spark.databases.engines import Databases, database_error_text
from datahub_hyperjoin.spark.databases.relations import (
    SMALLEST_ROW,
    choose_relation_columns,
    count_rows,
    find_integer_key,
    inspect_database,
    reflect_columns,
    sample_rows,
)
from datahub_hyperjoin.spark.databases.sql_profiles import (
    CountableColumn,
    SqlCounts,
    SqlSketch,
    count_values,
)
from datahub_hyperjoin.spark.databases.system import (
    DatabaseSystem,
    computing_system,
)
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable:
    """A table with the columns whose values its database has counted."""

    columns: tuple[Column, ...]
    aggregates: Mapping[str, ColumnAggregate]
    """By path, the aggregates of the columns that need not be read."""

    rows: int
    notes: tuple[str, ...]

    @property
    def unread(self) -> list[str]:
        """The columns that must still be read."""
        return [path for path in readable_paths(self.columns) if path not in self.aggregates]


def count_in_database(
    table: Table, databases: Databases, config: ProfileConfig
) -> CountedTable | None:
    """Let a table's database count the values of all columns that its SQL can normalise.

    Of a table with more than `max_rows` rows, it counts the rows that would be read.
    """
    relation = table.location
    if not isinstance(relation, Relation):
        return None
    try:
        counted = _count(table, relation, databases.engine(relation), config)
    except (SQLAlchemyError, TableError) as error:
        logger.info(
            "Reading a table that the database could not count: %s", database_error_text(error)
        )
        return None
    return counted if counted and counted.rows and counted.aggregates else None


def _count(
    table: Table, relation: Relation, engine: Engine, config: ProfileConfig
) -> CountedTable | None:
    are_few = 0 < table.size <= min(config.max_rows * SMALLEST_ROW, config.max_bytes)
    rows = 0 if are_few else count_rows(relation, engine)
    # Of a table of unknown size with so few rows, the hashes of all values would leave.
    if not table.size and rows <= config.sketch_size:
        return None
    inspector = inspect_database(engine)
    columns, notes = choose_relation_columns(relation, inspector)
    share = min(1.0, config.max_bytes / max(table.size, 1))
    most = max(1, min(config.max_rows, round(rows * share)))
    key, sample = "", None
    if rows > most:
        key = find_integer_key(relation, inspector)
        sample = sample_rows(relation, engine, key, rows=rows, most=most)
    # Known to the inspector, which takes a connection of its own even so; the pool has only one.
    types = {each.name: each.type for each in reflect_columns(relation, inspector)}
    counts: Mapping[str, SqlCounts] = {}
    with engine.connect() as connection:
        system = computing_system(connection)
        # The isolation level must be set before the first statement, and there was one already.
        connection.rollback()
        if system and system.syntax:
            countable = _countable(readable_paths(columns), types, system)
            # One value more than the sketch keeps tells a full sketch from an overflowing one.
            sketch = SqlSketch(system.syntax, config.sketch_size + 1, config.sample_size)
            counts = count_values(connection, relation, countable, sketch, sample, key)
    aggregates = {path: _aggregate(each, config) for path, each in counts.items()}
    return CountedTable(
        columns=columns,
        aggregates={path: each for path, each in aggregates.items() if each is not None},
        rows=max((each.rows for each in counts.values()), default=0),
        notes=(*notes, *([sample.note] if sample else [])),
    )


def _countable(
    paths: Sequence[str], types: Mapping[str, TypeEngine[object]], system: DatabaseSystem
) -> list[CountableColumn]:
    """List the columns whose normal forms the database can compute."""
    forms = {path: system.form_of_column(path, types[path]) for path in paths if path in types}
    return [CountableColumn(path, form) for path, form in forms.items() if form]


def _aggregate(counts: SqlCounts, config: ProfileConfig) -> ColumnAggregate | None:
    """Build a column's aggregate from a database's counts; None if the column must be read."""
    if counts.others is None or counts.may_hide_keys or not _is_confirmed(counts, config):
        return None
    size = config.sketch_size + 1
    texts = pa.array(counts.others, pa.string())
    numbers = np.array([*counts.others.values()], np.int64)
    others = TextCounts(int(numbers.sum()), texts, numbers)
    [apart] = aggregate_columns([others], size, in_forms=False, value_hash=config.value_hash)
    normalised = ColumnAggregate(
        rows=counts.rows - others.rows,
        nulls=counts.nulls,
        types=counts.types,
        values=_values(counts),
        null_words=EMPTY_AGGREGATE.null_words,
        lengths=counts.lengths or EMPTY_AGGREGATE.lengths,
        is_exact=counts.is_exact,
    )
    aggregate = merge_aggregates([normalised, apart], size=size)
    if len(counts.hashes) > len(counts.sample):
        final = aggregate.resolve_null_words()
        sample = final.values.smallest(config.sample_size)
        return None if may_have_notation(sample, aggregate.types) else aggregate
    known = {**counts.sample, **counts.others}
    everything = TextCounts(0, pa.array(known, pa.string()), np.ones(len(known), np.int64))
    [whole] = aggregate_columns([everything], size, value_hash=config.value_hash)
    return replace(aggregate, forms=whole.forms)


def _is_confirmed(counts: SqlCounts, config: ProfileConfig) -> bool:
    """Return whether a database hashed the sample's texts exactly as this package would."""
    known = [*counts.sample]
    hashes = hash_values(normal_forms(pa.array(known, pa.string())), config.value_hash)
    # Long texts were cut, as readers cut them.
    is_whole = np.array(counts.text_lengths[: len(known)], np.int64) < LONGEST_TEXT
    is_equal = hashes == counts.hashes[: len(known)]
    if len(known) == min(len(counts.hashes), config.sample_size) and (is_equal | ~is_whole).all():
        return True
    logger.info("Reading a column for which the database computed other normal forms")
    return False


def _values(counts: SqlCounts) -> DistinctValues:
    """Return the values with the smallest hashes.

    Beyond the sample, spaces stand for the texts, of which only the lengths count.
    """
    hidden = [" " * length for length in counts.text_lengths[len(counts.sample) :]]
    rows = [*counts.sample.values(), *[0] * len(hidden)]
    texts = pa.array([*counts.sample, *hidden], pa.string())
    return DistinctValues(counts.hashes, np.array(rows, np.int64), texts)
