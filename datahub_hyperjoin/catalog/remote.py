"""The tables that a folder holds in a file system that Spark reaches."""

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.errors import NoRemoteTablesError
from datahub_hyperjoin.catalog.files import tables_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import RemoteFolder
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.native.frames import SPARK_FAULTS, spark_error_text
from datahub_hyperjoin.spark.native.remote import list_files, list_logs
from datahub_hyperjoin.tables import Table


def scan_remote_folder(
    session: SparkSession, connection: str, folder: RemoteFolder, chosen: TableSelection
) -> list[Table]:
    """Lists the tables of a folder.

    Args:
        session: Where to run.
        connection: The folder's key in the recipe.
        folder: Which one.
        chosen: Which tables are wanted, and what they are called.

    Returns:
        Tables by path.

    Raises:
        UnreachableSourceError: There is no such folder, or Spark cannot reach it.
        NoRemoteTablesError: It has no table that is wanted.
    """
    try:
        listed = list_files(session, folder.location)
        depth = max((file.path.count("/") for file in listed), default=0)
        logs = list_logs(session, folder.location, depth=depth)
    except SPARK_FAULTS as error:
        raise UnreachableSourceError.of_folder(connection, spark_error_text(error)) from error
    name = folder.location.partition("://")[2].strip("/")
    tables = tables_of([*listed, *logs], chosen, folder=name)
    if not tables:
        raise NoRemoteTablesError.in_folder_of(connection, seen=len(listed))
    return tables
