"""Profiles all tables of a lake, each the way that its place and its size ask for."""

from collections import defaultdict
from collections.abc import Sequence

from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.distributed import profile_distributed
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.spark.profiles.routes import Route, route_of
from datahub_hyperjoin.spark.profiles.shipped_files import profile_shipped_files
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
    ways: dict[Route, list[Table]] = defaultdict(list)
    for table in tables:
        ways[route_of(table, config)].append(table)
    found = [
        *profile_local_batch(session, ways[Route.LOCAL_BATCH], config),
        *profile_distributed(session, ways[Route.DISTRIBUTED], config),
        *profile_shipped_files(session, ways[Route.SHIPPED], config),
    ]
    profiles = {profile.table.id: profile for profile in found}
    return [profiles[table.id] for table in tables]
