"""Profile tables, each on the route that suits its location and size."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from datahub_hyperjoin.locations import CatalogTable, File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.spark.profiles.rows import ResultFolder, temporary_results
from datahub_hyperjoin.spark.read import with_absolute_paths
from datahub_hyperjoin.spark.routes import Route, route_of
from datahub_hyperjoin.tables import Table, TableProfile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def profile_lake(
    session: "SparkSession | None",
    tables: Sequence[Table],
    config: ProfileConfig,
    result_folder: ResultFolder = temporary_results,
) -> list[TableProfile]:
    """Profile all tables of a lake.

    Args:
        session: Runs the Spark jobs; None to read the tables in processes of this program, if they
            do not need Spark (`need_spark`).
        result_folder: Provides the folders in which profiles are written as soon as they are
            known.

    Returns:
        One profile per table, in their order. An unreadable table has a profile with a fault, and
        does not affect the others.
    """
    if session is None:
        return profile_local_batch(session, tables, config, result_folder)
    # PySpark takes a tenth of a second to import; small lakes need none.
    from datahub_hyperjoin.spark.profiles.partial import (  # noqa: PLC0415
        divide_to_profile,
        profile_distributed,
        profile_divided,
        profile_folders,
    )

    routes: dict[Route, list[Table]] = defaultdict(list)
    for table in tables:
        routes[route_of(table, config)].append(table)
    local, shipped = routes[Route.LOCAL_BATCH], routes[Route.SHIPPED]
    parts = divide_to_profile(with_absolute_paths(local), config)
    large = [table for table in local if table.id in parts]
    small = [table for table in local if table.id not in parts]
    # A file that a task receives is a whole table; a folder's files go to any tasks.
    files = [table for table in shipped if isinstance(table.location, File)]
    folders = [table for table in shipped if not isinstance(table.location, File)]
    batch = profile_local_batch(session, [*small, *files], config, result_folder)
    distributed = routes[Route.DISTRIBUTED] + [*_left_to_spark(batch)]
    profiles = [
        *batch,
        *profile_divided(session, large, parts, config, result_folder),
        *profile_distributed(session, distributed, config, result_folder),
        *profile_folders(session, folders, config, result_folder),
    ]
    # The last profile of a table wins, which is that by Spark's own readers.
    by_table = {profile.table.id: profile for profile in profiles}
    return [by_table[table.id] for table in tables]


def _left_to_spark(profiles: Iterable[TableProfile]) -> Iterator[Table]:
    """Yield the Spark catalog tables whose files could not be read without Spark.

    They have no state: what they hold depends on more than their files.
    """
    for profile in profiles:
        location = profile.table.location
        if profile.fault and isinstance(location, CatalogTable):
            yield replace(profile.table, location=replace(location, files=None), state="")
