"""List the tables of a remote folder through Spark."""

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.errors import NoRemoteTablesError
from datahub_hyperjoin.catalog.files import tables_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog.unread_files import warn_of_unread_files
from datahub_hyperjoin.locations import RemoteFolder
from datahub_hyperjoin.progress import Count, Warn, count_nothing
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.native.frames import spark_error_text
from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS
from datahub_hyperjoin.spark.native.remote import list_delta_logs, list_files
from datahub_hyperjoin.tables import Table


def scan_remote_folder(
    session: SparkSession,
    connection: str,
    folder: RemoteFolder,
    selection: TableSelection,
    *,
    warn: Warn,
    count: Count = count_nothing,
) -> list[Table]:
    """List the tables in a remote folder and its subfolders.

    Args:
        warn: Receives the kinds of files that are not read.
    """
    try:
        files = list_files(session, folder.uri)
        # A Delta table has files of rows, so no log is deeper than they are.
        depth = max((file.path.count("/") for file in files), default=0)
        logs = list_delta_logs(session, folder.uri, depth=depth)
    except SPARK_ERRORS as error:
        raise UnreachableSourceError.of_folder(connection, spark_error_text(error)) from error
    name = folder.uri.partition("://")[2].strip("/")
    tables = tables_of([*files, *logs], selection, folder=name)
    warn_of_unread_files([*files, *logs], selection, warn=warn, count=count)
    if not tables:
        raise NoRemoteTablesError.in_folder_of(connection, seen=len(files))
    return tables
