"""Profiles all tables of a lake, each the way that its place and its size ask for."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profile import profile_tables
from datahub_hyperjoin.spark.split import profile_split
from datahub_hyperjoin.spark.ways import is_split
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
    split = [table for table in tables if is_split(table, config)]
    whole = [table for table in tables if not is_split(table, config)]
    found = [*profile_tables(session, whole, config), *profile_split(session, split, config)]
    profiles = {profile.table.id: profile for profile in found}
    return [profiles[table.id] for table in tables]
