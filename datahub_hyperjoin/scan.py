"""Whether a recipe could run: what `datahub ingest --test-source-connection` asks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from datahub.ingestion.api.source import CapabilityReport, TestConnectionReport

from datahub_hyperjoin.catalog import (
    ConnectionConfig,
    PlatformInstance,
    scan_database,
    scan_folder,
    scan_remote_folder,
    scan_spark_catalog,
)
from datahub_hyperjoin.config import HyperJoinConfig
from datahub_hyperjoin.errors import CatalogError, HyperJoinError
from datahub_hyperjoin.locations import Database, SparkCatalog
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.session import Session, find_java, lazily
from datahub_hyperjoin.tables import Table, TableId

_Listed = tuple[list[Table], HyperJoinError | None]
"""The tables of a connection, or why there are none."""


@dataclass(frozen=True)
class Scan:
    """What the recipe's folder and databases have."""

    tables: list[Table]
    """Those of the folder first; two of one name are the first one's."""

    silent: tuple[PlatformInstance, ...]
    """Where the tables of connections stand that gave no answer."""


def scan(config: HyperJoinConfig, warn: Warn, session: Session) -> Scan:
    """The tables of the recipe's folder and connections.

    Args:
        config: The recipe.
        session: Lists what only Spark can list; not asked for if there is nothing such.
        warn: Told what cannot be read, if there is something else.

    Returns:
        The tables, and which databases gave none.

    Raises:
        CatalogError: There is no folder, or no table in it, or no connection gives tables.
        SparkError: Spark is needed and cannot run.
    """
    tables = _scan_folder(config)
    return _put_together(config, tables, _list_sources(config, session), warn)


def _put_together(
    config: HyperJoinConfig, tables: Sequence[Table], found: Mapping[str, _Listed], warn: Warn
) -> Scan:
    """Adds what connections have to the tables of the folder."""
    faults = [fault for _, fault in found.values() if fault]
    tables = [*tables, *(table for listed, _ in found.values() for table in listed)]
    for fault in faults:
        if not tables or not isinstance(fault, CatalogError):
            raise fault
        warn("Connection left out", "Its tables get no suggestions; the others do", str(fault))
    silent = tuple(config.keyed[key].home for key, (_, fault) in found.items() if fault)
    return Scan(_told_apart(tables, warn), silent)


def _list_sources(config: HyperJoinConfig, session: Session) -> dict[str, _Listed]:
    return {key: _try_source(key, one, session) for key, one in config.keyed.items()}


def _try_source(key: str, one: ConnectionConfig, session: Session) -> _Listed:
    try:
        return _scan_source(key, one, session), None
    except HyperJoinError as fault:
        return [], fault


def _scan_source(key: str, one: ConnectionConfig, session: Session) -> list[Table]:
    source, chosen = one.source, replace(one.selection, key=key)
    if isinstance(source, Database):
        return scan_database(key, source, chosen)
    if isinstance(source, SparkCatalog):
        return scan_spark_catalog(session(), key, source, chosen)
    return scan_remote_folder(session(), key, source, chosen)


def _scan_folder(config: HyperJoinConfig) -> list[Table]:
    folder = config.catalog.folder
    if not folder:
        return []
    return scan_folder(
        folder,
        platform=config.catalog.platform,
        env=config.env,
        instance=config.platform_instance,
        allowed=config.catalog.tables,
        dialect=config.catalog.dialect,
    )


def _told_apart(tables: list[Table], warn: Warn) -> list[Table]:
    first: dict[TableId, Table] = {}
    for table in tables:
        if first.setdefault(table.id, table) is not table:
            warn(
                "Two tables of one name",
                "The first is read; give one connection a `platform_instance`, or other `names`",
                str(table.id),
            )
    return [*first.values()]


def check(config_dict: dict[str, Any]) -> TestConnectionReport:
    """Checks that a recipe is valid, there are tables and Spark can start.

    Args:
        config_dict: The recipe's `source.config`.

    Returns:
        What works, and why the rest does not.
    """
    try:
        config = HyperJoinConfig.model_validate(config_dict)
    except ValueError as error:
        failed = CapabilityReport(capable=False, failure_reason=str(error))
        return TestConnectionReport(basic_connectivity=failed)
    folder = config.catalog.folder
    pending = config.catalog.demo and folder and not folder.exists()
    remote = config.spark.master.startswith("sc://")
    capable = CapabilityReport(capable=True)
    with lazily(config.spark) as session:
        found = _list_sources(config, session)
    return TestConnectionReport(
        basic_connectivity=capable
        if pending
        else _attempt(lambda: _put_together(config, _scan_folder(config), found, _no_news)),
        capability_report={
            "Spark": capable if remote else _attempt(find_java),
            **{key: _capability(fault) for key, (_, fault) in found.items()},
        },
    )


def _no_news(title: str, message: str, context: str) -> None:
    """Each database has a report of its own."""


def _attempt(step: Callable[[], object]) -> CapabilityReport:
    try:
        step()
    except HyperJoinError as error:
        return _capability(error)
    return _capability(None)


def _capability(fault: HyperJoinError | None) -> CapabilityReport:
    return CapabilityReport(capable=not fault, failure_reason=str(fault) if fault else None)
