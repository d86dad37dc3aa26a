"""List the tables that Spark reaches: of a remote folder, or of a Spark catalog."""

from hashlib import sha256

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.errors import NoRemoteTablesError, NoTablesError
from datahub_hyperjoin.catalog.files import state_of, tables_of, warn_of_unread_files
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import CatalogTable, RemoteFolder, SparkCatalog
from datahub_hyperjoin.progress import Count, Warn, count_nothing
from datahub_hyperjoin.spark.databases.listing import ListedRelation
from datahub_hyperjoin.spark.errors import UnreachableSourceError
from datahub_hyperjoin.spark.native.catalogs import LocatedTable, list_catalog, locate_files
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
    """List the tables in a remote folder and its subfolders."""
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


def scan_spark_catalog(
    session: SparkSession, connection: str, catalog: SparkCatalog, selection: TableSelection
) -> list[Table]:
    """List the tables and views of a Spark catalog."""
    relations = list_catalog(
        session, catalog.name, connection, wanted=selection.schemas.allowed, views=selection.views
    )
    chosen = [each for each in relations if selection.tables.allowed(each.path)]
    if not chosen:
        raise NoTablesError.in_database(connection, seen=len(relations))
    located = locate_files(session, catalog.name, chosen)
    return [_table(each, located.get(each), catalog.name, selection) for each in chosen]


def _table(
    listed_as: ListedRelation, located: LocatedTable | None, catalog: str, selection: TableSelection
) -> Table:
    files = located.files if located else None
    listed = located.listed if located else ()
    schema, name = listed_as.schema, listed_as.name
    return selection.table(
        database=catalog,
        schema=schema,
        table=name,
        title=name,
        location=CatalogTable(catalog=catalog, schema=schema, name=name, files=files),
        size=sum(file.size for file in listed),
        # A column may be added in the catalog alone.
        state=f"{state_of(listed)} {sha256(files.schema).hexdigest()}" if files else "",
    )
