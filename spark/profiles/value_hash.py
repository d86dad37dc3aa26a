"""Choose the hash function of a run, and the tables that are profiled by their database.

Sketches can be compared only if all values of a run have the same hash. SipHash is the fastest, but
no database computes it; all compute MD5, which takes several times as long here. So a run uses MD5
only if databases can then profile so many bytes that reading them would need Spark.
"""

from collections import defaultdict
from collections.abc import Sequence

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases, database_error_text
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.tables import Table, ValueHash
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_BYTES_PER_HASH = 64
"""A table of at least this many bytes for each hash of a sketch is larger than its profile. With
the default number of hashes, these are 256 KiB, or some 2,500 rows of 100 bytes."""
_DECISIVE_BYTES = 1 << 28
"""A run uses MD5 if databases can count tables of at least this total size, in bytes. Smaller
tables are read without Spark, in less time than databases need to count them. Any table of unknown
size may be as large."""


def with_value_hash(config: ProfileConfig, tables: Sequence[Table]) -> ProfileConfig:
    """Choose the hash function of a run, and return the settings with this choice."""
    # `tables` are all of the run: the choice must not depend on what has changed.
    chosen = Md5ProfileConfig.of(config)
    large: dict[Database, list[Relation]] = defaultdict(list)
    sizes: dict[Database, int] = defaultdict(int)
    for table in tables:
        if isinstance(table.location, Relation) and counts_itself(table, chosen):
            large[table.location.database].append(table.location)
            sizes[table.location.database] += table.size or _DECISIVE_BYTES
    if sum(sizes.values()) < _DECISIVE_BYTES:
        return config
    able = [database for database, members in large.items() if _can_count(members[0])]
    if sum(sizes[database] for database in able) < _DECISIVE_BYTES:
        return config
    count = sum(len(large[database]) for database in able)
    logger.info("Databases profile %s large tables, so sketches hold MD5 hashes", count)
    return chosen


def counts_itself(table: Table, config: ProfileConfig) -> bool:
    """Return whether the database of a table counts the table's values, so that no row is read."""
    # If the database fails, or counts few rows where it lists no size, the table is read anyway.
    location = table.location
    return (
        config.value_hash is ValueHash.MD5
        and isinstance(location, Relation)
        and (not table.size or table.size >= config.sketch_size * _BYTES_PER_HASH)
        and _is_computing(location.database, has_size=table.size > 0)
    )


def _is_computing(database: Database, *, has_size: bool) -> bool:
    """Return whether a database computes by the recipe, for tables with or without a known size."""
    # Lakes of files need no database.
    from datahub_hyperjoin.spark.databases.system import (  # noqa: PLC0415
        is_asked_to_compute,
        system_of_database,
    )

    system = system_of_database(database)
    return (
        system is not None
        and system.syntax is not None
        and (has_size or not system.lists_sizes)
        and is_asked_to_compute(database)
    )


def _can_count(relation: Relation) -> bool:
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 (as above)

    from datahub_hyperjoin.spark.databases.system import (  # noqa: PLC0415
        computing_system,
    )

    try:
        with Databases() as databases, databases.engine(relation).connect() as connection:
            return computing_system(connection) is not None
    except (SQLAlchemyError, UnreachableDatabaseError) as error:
        reason = database_error_text(error)
        logger.info("Reading tables of a database that could not count them: %s", reason)
        return False
