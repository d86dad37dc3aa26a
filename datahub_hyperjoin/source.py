"""The life cycle of a run, as DataHub drives it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
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
    MetadataWorkUnitProcessor,
    TestableSource,
    TestConnectionReport,
)
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.source.state.stateful_ingestion_base import StatefulIngestionSourceBase
from typing_extensions import Self

from datahub_hyperjoin.catalog import Catalog, read_catalog
from datahub_hyperjoin.catalog.errors import MissingServerError
from datahub_hyperjoin.config import HyperJoinConfig
from datahub_hyperjoin.demo import write_lake
from datahub_hyperjoin.emit import WrittenStateHandler, keep_changes, stale_removal
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.page import write_page
from datahub_hyperjoin.publish import PublishContext, prepare, publish, recall
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.scan import check, scan
from datahub_hyperjoin.spark.session import Session, lazily
from datahub_hyperjoin.suggest import Findings, suggest

# DataHub renamed its levels in 1.7.0.8 and kept no aliases.
_STATUS: SupportStatus = getattr(SupportStatus, "ALPHA", None) or SupportStatus.TESTING  # type: ignore[attr-defined]


@platform_name("HyperJoin", id="hyperjoin")
@config_class(HyperJoinConfig)
@support_status(_STATUS)
@capability(SourceCapability.PLATFORM_INSTANCE, "By `platform_instance`")
@capability(SourceCapability.DELETION_DETECTION, "By stateful ingestion")
@capability(SourceCapability.TEST_CONNECTION, "Checks the folder, each connection and Java")
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
        self._memory = WrittenStateHandler(self.state_provider, ctx)

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

    def get_workunit_processors(self) -> list[MetadataWorkUnitProcessor | None]:
        """DataHub's own processors, and behind them the one that writes only what is new.

        Returns:
            In the order in which they are applied.
        """
        processors = [
            *super().get_workunit_processors(),
            *stale_removal(self, self.config, self.ctx),
        ]
        if self.ctx.graph:
            tell = {"count": self.report.count, "warn": self.report.warn}
            processors.append(partial(keep_changes, graph=self.ctx.graph, **tell))
        return processors

    def get_workunits_internal(self) -> Iterable[MetadataWorkUnit]:
        """Runs everything.

        Yields:
            What is to be written into the catalog.
        """
        try:
            with lazily(self.config.spark) as session:
                catalog = self._read(session)
                findings = self._find(catalog, session)
            yield from self._write(catalog, findings)
        except HyperJoinError as error:
            self.report.failure(
                title="Run stopped",
                message="Something that it needs is missing or refused",
                context=str(error),
                log=False,
            )

    def _read(self, session: Session) -> Catalog:
        wanted, graph = self.config.catalog, self.ctx.graph
        with self.report.stage("Reading the catalog"):
            if wanted.demo and wanted.folder and not wanted.folder.exists():
                write_lake(wanted.folder)
            if wanted.among and not graph:
                raise MissingServerError.to_choose_datasets()
            found = scan(self.config, self.report.warn, session)
            tables = found.tables
            catalog = Catalog(tables=tables)
            if graph:
                catalog = read_catalog(
                    graph,
                    tables,
                    scope=self.config.scope,
                    history=recall(self._memory),
                    warn=self.report.warn,
                )
        catalog = replace(catalog, silent=found.silent)
        self.report.tables_found = len(tables)
        self.report.show_knowledge(
            catalog.datasets,
            catalog.knowledge,
            catalog.deleted,
            read=[table.id for table in tables],
        )
        return catalog

    def _find(self, catalog: Catalog, session: Session) -> Findings:
        return suggest(
            catalog.tables,
            session=session,
            profile=self.config.profile,
            model=self.config.model,
            progress=self.report,
            knowledge=catalog.knowledge,
        )

    def _write(self, catalog: Catalog, findings: Findings) -> Iterator[MetadataWorkUnit]:
        self.report.show_joins(findings.joins)
        desk = PublishContext(
            config=self.config.emit,
            graph=self.ctx.graph,
            dry=self.ctx.dry_run_mode,
            memory=self._memory,
            run_id=self.ctx.run_id,
            report=self.report,
        )
        with self.report.stage("Writing suggestions"):
            publication = prepare(findings, catalog)
            yield from publish(publication, catalog, desk)
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
        """Checks that the recipe is valid, there are tables and Spark can start.

        Args:
            config_dict: The recipe's `source.config`.

        Returns:
            What works, and why the rest does not.
        """
        return check(config_dict)
