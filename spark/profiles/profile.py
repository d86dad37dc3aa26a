"""Profile tables, each on the route that suits its location and size."""

from collections import defaultdict
from collections.abc import Sequence

from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.distributed import profile_distributed
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.spark.profiles.result_transfer import ResultFolder, temporary_results
from datahub_hyperjoin.spark.profiles.routes import Route, route_of
from datahub_hyperjoin.spark.profiles.shipped_files import profile_shipped_files
from datahub_hyperjoin.tables import Table, TableProfile


def profile_lake(
    session: SparkSession | None,
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile all tables of a lake.

    Args:
        session: Runs the Spark jobs; None to read the tables in processes of this program, if they
            do not need Spark (`need_spark`).
        tables: The tables.
        config: Limits on what is read and kept.
        result_folder: Provides the folders in which profiles are written as soon as they are
            known.

    Returns:
        One profile per table, in their order. An unreadable table has a profile with a fault, and
        does not affect the others.
    """
    if session is None:
        return profile_local_batch(session, tables, config, result_folder)
    routes: dict[Route, list[Table]] = defaultdict(list)
    for table in tables:
        routes[route_of(table, config)].append(table)
    profiles = [
        *profile_local_batch(session, routes[Route.LOCAL_BATCH], config, result_folder),
        *profile_distributed(session, routes[Route.DISTRIBUTED], config, result_folder),
        *profile_shipped_files(session, routes[Route.SHIPPED], config, result_folder),
    ]
    by_table = {profile.table.id: profile for profile in profiles}
    return [by_table[table.id] for table in tables]
