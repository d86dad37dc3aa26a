"""Whether a recipe could run: what `datahub ingest --test-source-connection` asks."""

from collections.abc import Callable
from typing import Any

from datahub.ingestion.api.source import CapabilityReport, TestConnectionReport

from datahub_hyperjoin.catalog import scan_folder
from datahub_hyperjoin.config import HyperJoinConfig
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.spark.session import find_java
from datahub_hyperjoin.tables import Table


def scan(config: HyperJoinConfig) -> list[Table]:
    """The tables of the recipe's folder.

    Args:
        config: The recipe.

    Returns:
        Tables by name.

    Raises:
        CatalogError: There is no folder, or no table in it.
    """
    return scan_folder(
        config.catalog.folder,
        platform=config.catalog.platform,
        env=config.env,
        instance=config.platform_instance,
        allowed=config.catalog.tables,
    )


def check(config_dict: dict[str, Any]) -> TestConnectionReport:
    """Checks that a recipe is valid, its folder has tables and Spark can start.

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
    pending = config.catalog.demo and not config.catalog.folder.exists()
    remote = config.spark.master.startswith("sc://")
    capable = CapabilityReport(capable=True)
    return TestConnectionReport(
        basic_connectivity=capable if pending else _attempt(lambda: scan(config)),
        capability_report={"Spark": capable if remote else _attempt(find_java)},
    )


def _attempt(step: Callable[[], object]) -> CapabilityReport:
    try:
        step()
    except HyperJoinError as error:
        return CapabilityReport(capable=False, failure_reason=str(error))
    return CapabilityReport(capable=True)
