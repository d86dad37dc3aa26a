"""The life cycle of a run, as DataHub drives it."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.decorators import (
    SourceCapability,
    SupportStatus,
    capability,
    config_class,
    platform_name,
    support_status,
)
from datahub.ingestion.api.source import (
    CapabilityReport,
    TestableSource,
    TestConnectionReport,
)
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.source.state.stateful_ingestion_base import StatefulIngestionSourceBase
from typing_extensions import Self

from datahub_hyperjoin.catalog import scan_folder
from datahub_hyperjoin.config import HyperJoinConfig
from datahub_hyperjoin.demo import write_lake
from datahub_hyperjoin.emit import emit_findings
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.page import write_page
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.session import borrow_session, find_java
from datahub_hyperjoin.suggest import Findings, suggest
from datahub_hyperjoin.tables import Table

# DataHub renamed its levels in 1.7.0.8 and kept no aliases.
_STATUS: SupportStatus = getattr(SupportStatus, "ALPHA", None) or SupportStatus.TESTING  # type: ignore[attr-defined]


@platform_name("HyperJoin", id="hyperjoin")
@config_class(HyperJoinConfig)
@support_status(_STATUS)
@capability(SourceCapability.PLATFORM_INSTANCE, "By `platform_instance`")
@capability(SourceCapability.DELETION_DETECTION, "By stateful ingestion")
@capability(SourceCapability.TEST_CONNECTION, "Checks the folder and Java")
class HyperJoinSource(StatefulIngestionSourceBase, TestableSource):
    """Finds which columns join with which, and writes what it finds into the catalog.

    Args:
        config: The recipe's `source.config`.
        ctx: The run's context.
    """

    platform = "hyperjoin"
    config: HyperJoinConfig
    report: HyperJoinReport

    def __init__(self, config: HyperJoinConfig, ctx: PipelineContext) -> None:
        super().__init__(config, ctx)
        self.config = config
        self.report = HyperJoinReport()

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Self:
        """Makes the source from a recipe.

        Args:
            config_dict: The recipe's `source.config`.
            ctx: The run's context.

        Returns:
            A source that has not read anything yet.
        """
        return cls(HyperJoinConfig.model_validate(config_dict), ctx)

    def get_report(self) -> HyperJoinReport:
        """What the run has to tell.

        Returns:
            The same report from beginning to end.
        """
        return self.report

    def get_workunits_internal(self) -> Iterable[MetadataWorkUnit]:
        """Runs everything.

        Yields:
            What is to be written into the catalog.
        """
        try:
            tables = self._tables()
            findings = self._find(tables)
            yield from self._publish(tables, findings)
        except HyperJoinError as error:
            self.report.failure(
                title="Run stopped",
                message="Something that it needs is missing or refused",
                context=str(error),
                log=False,
            )

    def _tables(self) -> list[Table]:
        catalog = self.config.catalog
        with self.report.stage("Reading the catalog"):
            if catalog.demo and not catalog.folder.exists():
                write_lake(catalog.folder)
            tables = _scan(self.config)
        self.report.tables_found = len(tables)
        return tables

    def _find(self, tables: list[Table]) -> Findings:
        with borrow_session(self.config.spark) as session:
            return suggest(
                tables,
                session=session,
                profile=self.config.profile,
                model=self.config.model,
                progress=self.report,
            )

    def _publish(self, tables: list[Table], findings: Findings) -> Iterator[MetadataWorkUnit]:
        self.report.show_joins(findings.joins)
        with self.report.stage("Writing suggestions"):
            yield from emit_findings(
                suggestions=findings.suggestions,
                joins=findings.joins,
                titles={table.id: table.title for table in tables},
                model_version=findings.model_version,
                config=self.config.emit,
                graph=None if self.ctx.dry_run_mode else self.ctx.graph,
            )
            if self.config.page and not self.ctx.dry_run_mode:
                self._show(self.config.page, findings)

    def _show(self, page: Path, findings: Findings) -> None:
        try:
            write_page(
                page,
                title="Suggested joins",
                profiles=findings.profiles,
                keys=findings.keys,
                suggestions=findings.suggestions,
                joins=findings.joins,
            )
        except OSError as error:
            self.report.warn(
                "Page not written", "The catalog has what it would show", f"{page}: {error}"
            )
        else:
            self.report.page = str(page.resolve())

    @staticmethod
    def test_connection(config_dict: dict[str, Any]) -> TestConnectionReport:
        """Checks that the recipe is valid, the folder has tables and Spark can start.

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
            basic_connectivity=capable if pending else _attempt(lambda: _scan(config)),
            capability_report={"Spark": capable if remote else _attempt(find_java)},
        )


def _attempt(step: Callable[[], object]) -> CapabilityReport:
    try:
        step()
    except HyperJoinError as error:
        return CapabilityReport(capable=False, failure_reason=str(error))
    return CapabilityReport(capable=True)


def _scan(config: HyperJoinConfig) -> list[Table]:
    return scan_folder(
        config.catalog.folder,
        platform=config.catalog.platform,
        env=config.env,
        instance=config.platform_instance,
        allowed=config.catalog.tables,
    )
