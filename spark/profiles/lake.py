"""Profiles all tables of a lake, each the way that its place and its size ask for."""

from collections import defaultdict
from collections.abc import Sequence

from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.brought import profile_brought
from datahub_hyperjoin.spark.profiles.packed import profile_packed
from datahub_hyperjoin.spark.profiles.split import profile_split
from datahub_hyperjoin.spark.profiles.ways import Way, way_of
from datahub_hyperjoin.tables import Table, TableProfile


def profile_lake(
    session: SparkSession, tables: Sequence[Table], config: ProfileConfig
) -> list[TableProfile]:
    """Reads every table once and says what its columns hold.

    Args:
        session: Where to run.
        tables: What to read.
        config: How much to read, and to keep.

    Returns:
        A profile for each table, in their order. A table that cannot be used has a fault in its
        profile and does not affect the others.
    """
    ways: dict[Way, list[Table]] = defaultdict(list)
    for table in tables:
        ways[way_of(table, config)].append(table)
    found = [
        *profile_packed(session, ways[Way.PACKED], config),
        *profile_split(session, ways[Way.SPLIT], config),
        *profile_brought(session, ways[Way.BROUGHT], config),
    ]
    profiles = {profile.table.id: profile for profile in found}
    return [profiles[table.id] for table in tables]
