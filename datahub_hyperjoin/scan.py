"""List the tables of a recipe, and test a recipe without running it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from datahub.ingestion.api.source import CapabilityReport, TestConnectionReport
from typing_extensions import assert_never

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.catalog.folders import scan_folder, scan_stored_folder
from datahub_hyperjoin.decision_file import read_decision_file
from datahub_hyperjoin.errors import CatalogError, HyperJoinError
from datahub_hyperjoin.locations import Database, ObjectStore, RemoteFolder, SparkCatalog
from datahub_hyperjoin.progress import Count, Warn, count_nothing, warn_nobody
from datahub_hyperjoin.recipe import HyperJoinConfig, RefusedRecipeError, read_recipe
from datahub_hyperjoin.spark.session import Session, find_java, lazy_session
from datahub_hyperjoin.tables import Table, TableId

Listing = tuple[list[Table], HyperJoinError | None]
"""The tables of the folder or of a connection, and the error that prevented the listing, if any."""

FOLDER_KEY = "catalog.folder"
"""The recipe key under which the tables of the folder are listed."""


def scan(
    config: HyperJoinConfig, warn: Warn, session: Session, *, count: Count = count_nothing
) -> list[Table]:
    """List the tables in a recipe's folder and connections."""
    tables = _scan_folder(config, warn, count)
    return _combine(tables, _list_connections(config, session, warn, count), warn)


def list_by_key(
    config: HyperJoinConfig,
    warn: Warn,
    session: Session,
    *,
    count: Count = count_nothing,
    without: Collection[str] = (),
) -> dict[str, Listing]:
    """List the tables of the folder and of each connection separately."""
    steps: dict[str, Callable[[], list[Table]]] = {
        key: partial(_list_connection, key, connection, session, warn, count)
        for key, connection in config.connections_by_key.items()
    }
    if config.catalog.folder:
        steps = {FOLDER_KEY: partial(_scan_folder, config, warn, count), **steps}
    return {key: _try_listing(step) for key, step in steps.items() if key not in without}


def check(config_dict: dict[str, Any]) -> TestConnectionReport:
    """Check that a recipe is valid, its tables can be listed and Java is available."""
    try:
        config = read_recipe(config_dict)
    except RefusedRecipeError as error:
        failed = CapabilityReport(capable=False, failure_reason=str(error))
        return TestConnectionReport(basic_connectivity=failed)
    folder = config.catalog.folder
    # The run itself creates the demonstration lake, so its folder may not exist yet.
    is_pending = config.catalog.demo and folder and not folder.exists()
    capable = CapabilityReport(capable=True)
    files = {"decisions": config.decisions} if config.decisions else {}
    with lazy_session(config.spark) as session:
        listings = _list_connections(config, session, warn_nobody, count_nothing)
    return TestConnectionReport(
        basic_connectivity=capable
        if is_pending
        else _attempt(lambda: _combine(_list_folder(config), listings, warn_nobody)),
        capability_report={
            "Spark": capable if config.spark.is_connect else _attempt(find_java),
            **{key: _capability(error) for key, (_, error) in listings.items()},
            **{key: _attempt(partial(read_decision_file, path)) for key, path in files.items()},
        },
    )


def _combine(tables: Sequence[Table], listings: Mapping[str, Listing], warn: Warn) -> list[Table]:
    """Combine the tables of the folder and of all connections, without duplicates."""
    tables = [*tables, *(table for listed, _ in listings.values() for table in listed)]
    for _, error in listings.values():
        if error is None:
            continue
        # Without any table, a run has nothing to do, and the first error says why.
        if not tables or not isinstance(error, CatalogError):
            raise error
        warn("Connection skipped", "Its tables get no suggestions. All other tables do", str(error))
    return _without_duplicates(tables, warn)


def _list_connections(
    config: HyperJoinConfig, session: Session, warn: Warn, count: Count
) -> dict[str, Listing]:
    return list_by_key(config, warn, session, count=count, without=(FOLDER_KEY,))


def _try_listing(step: Callable[[], list[Table]]) -> Listing:
    try:
        return step(), None
    except HyperJoinError as error:
        return [], error


def _list_connection(
    key: str, connection: ConnectionConfig, session: Session, warn: Warn, count: Count
) -> list[Table]:
    # PySpark takes a quarter of a second to import; local files do not need it.
    from datahub_hyperjoin.catalog.spark_tables import scan_remote_folder, scan_spark_catalog  # noqa: PLC0415

    source, selection = connection.source, replace(connection.selection, key=key)
    match source:
        case Database():
            return scan_database(key, source, selection)
        case SparkCatalog():
            return scan_spark_catalog(session(), key, source, selection)
        case RemoteFolder(uri=uri, store=ObjectStore() as store):
            return scan_stored_folder(key, uri, store, selection, warn=warn, count=count)
        case RemoteFolder():
            return scan_remote_folder(session(), key, source, selection, warn=warn, count=count)
        case _:
            assert_never(source)


def _scan_folder(config: HyperJoinConfig, warn: Warn, count: Count) -> list[Table]:
    folder = config.catalog.folder
    if not folder:
        return []
    return scan_folder(
        folder,
        config.folder_selection,
        warn=warn,
        count=count,
        follow_links=config.catalog.follow_links,
    )


def _list_folder(config: HyperJoinConfig) -> list[Table]:
    return _scan_folder(config, warn_nobody, count_nothing)


def _without_duplicates(tables: Sequence[Table], warn: Warn) -> list[Table]:
    first: dict[TableId, Table] = {}
    for table in tables:
        if first.setdefault(table.id, table) is not table:
            warn(
                "Duplicate table name",
                "Only the first table is read. Set a `platform_instance` or other `names` for one "
                "of the connections",
                str(table.id),
            )
    return [*first.values()]


def _attempt(step: Callable[[], object]) -> CapabilityReport:
    try:
        step()
    except HyperJoinError as error:
        return _capability(error)
    return _capability(None)


def _capability(error: HyperJoinError | None) -> CapabilityReport:
    return CapabilityReport(capable=not error, failure_reason=str(error) if error else None)
