"""The DataHub source that finds joins and writes them to the catalog."""

from datahub_hyperjoin import kept_output, paused_gc  # noqa: F401 - for the other imports

# isort: split
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.decorators import (
    SourceCapability,
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

from datahub_hyperjoin.catalog.catalog import Catalog, build_catalog_without_server
from datahub_hyperjoin.catalog.databases import read_database_keys
from datahub_hyperjoin.catalog.filed_decisions import read_written_decisions
from datahub_hyperjoin.catalog.versions import SUPPORT, TERMS, stale_removal
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.client_errors import limit_answers
from datahub_hyperjoin.decision_file import read_damaged_lines
from datahub_hyperjoin.emit import ReadBack, WrittenStateHandler, keep_changes, mark_withdrawn
from datahub_hyperjoin.emit.assertions import send_results
from datahub_hyperjoin.emit.pipelines import (
    OtherPipeline,
    find_older_pipelines,
    keep_shown,
    protected,
    read_other_pipelines,
)
from datahub_hyperjoin.emit.publish import PublishContext, build_publication, load_history, publish
from datahub_hyperjoin.emit.watched_joins import Watched
from datahub_hyperjoin.ending import tidy_end
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.find import FindConfig, LakeComparison, SqlConfig, compare, find
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Join, RunSql
from datahub_hyperjoin.model.config.sections import find_unused_keys
from datahub_hyperjoin.recipe import (
    HyperJoinConfig,
    check_requirements,
    in_sentences,
    read_recipe,
    refuse_literal_secrets,
)
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.scan import check, scan
from datahub_hyperjoin.spark.session import Session, lazy_session
from datahub_hyperjoin.storage import locking
from datahub_hyperjoin.watch import Watching

paused_gc.resume()


@platform_name("HyperJoin", id="hyperjoin")
@config_class(HyperJoinConfig)
@support_status(SUPPORT)
@capability(SourceCapability.PLATFORM_INSTANCE, "By `platform_instance`")
@capability(SourceCapability.DELETION_DETECTION, "By stateful ingestion")
@capability(TERMS, "Optional: `emit.glossary_terms`")
@capability(SourceCapability.LINEAGE_COARSE, "Optional: joins, by `emit.lineage: dashed`")
@capability(SourceCapability.LINEAGE_FINE, "Optional: joins, by `emit.lineage`")
@capability(SourceCapability.TEST_CONNECTION, "Checks the folder, each connection and Java")
class HyperJoinSource(StatefulIngestionSourceBase, TestableSource):
    """A DataHub source that finds joinable columns and writes them to the catalog.

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
        self._written_state = WrittenStateHandler(self.state_provider, ctx)
        self._read_back = ReadBack(self._written_state, self.state_provider, ctx, self.platform)
        self._others: tuple[OtherPipeline, ...] = ()
        self._protected: set[str] = set()
        self._end = ExitStack()

    @classmethod
    def create(cls, config_dict: dict[str, Any], ctx: PipelineContext) -> Self:
        """Create the source from a recipe."""
        config = read_recipe(config_dict)
        if ctx.graph:
            limit_answers(ctx.graph)
        with in_sentences():
            if not config.allow_literal_secrets:
                refuse_literal_secrets(ctx)
            check_requirements(config, ctx)
        return cls(config, ctx)

    def __exit__(self, *raised: Any) -> None:  # noqa: ANN401, PYI036 - passed on
        if KeyboardInterrupt in raised:
            self.report.warning("The metadata is incomplete. Run again", title="Run interrupted")
        super().__exit__(*raised)

    def close(self) -> None:
        """Close the source; if SIGTERM has ended the run, this ends the program."""
        super().close()
        self._end.close()

    def get_report(self) -> HyperJoinReport:
        """Return the report of this run.

        Every call returns the same object.
        """
        return self.report

    def get_workunit_processors(self) -> list[MetadataWorkUnitProcessor | None]:
        """Return DataHub's own workunit processors, followed by this source's processors."""
        processors = [
            *super().get_workunit_processors(),
            *stale_removal(self, self.config, self.ctx),
            partial(keep_shown, protected=self._protected),
        ]
        if self.ctx.graph:
            processors.append(partial(mark_withdrawn, graph=self.ctx.graph, run_id=self.ctx.run_id))
            processors.append(self._read_back.watch)
            send_changes = partial(
                keep_changes, graph=self.ctx.graph, count=self.report.count, warn=self.report.warn
            )
            processors.append(send_changes)
        return processors

    def get_workunits_internal(self) -> Iterable[MetadataWorkUnit]:
        """Run all stages, and yield the metadata to write."""
        self._end.enter_context(tidy_end())
        self._warn_of_unused_keys()
        try:
            with locking(self.config.kept_folders), lazy_session(self.config.spark) as session:
                catalog = self._read(session)
                findings = self._find(catalog, session)
                watched = self._watching(catalog, session).check(findings)
            if not self.config.page:
                # Of columns, only the page shows profiles, which take some 8 kB each.
                findings = findings.without_columns()
            yield from self._write(catalog, findings, watched)
        except HyperJoinError as error:
            self.report.failure(
                title="Run stopped",
                message="The run cannot continue. Fix the cause and run again",
                context=str(error),
                log=False,
            )

    def compare(self) -> tuple[LakeComparison, CatalogFacts]:
        """Find joins in the same way as a run, but write nothing to the catalog.

        Returns:
            The findings with what they follow from, and the catalog facts.

        Raises:
            HyperJoinError: The run cannot continue.
        """
        with locking(self.config.kept_folders), lazy_session(self.config.spark) as session:
            return compare(self._read(session), self._find_config, self.report, session)

    @property
    def _find_config(self) -> FindConfig:
        page, emit, sql = self.config.page, self.config.emit, None
        # Only the HTML page, queries and documents show SQL.
        if page or emit.queries or emit.documents:
            in_catalog = emit.run_sql is RunSql.SHOWN and (emit.queries or emit.documents)
            sql = self._sql_config(RunSql.ALL if in_catalog else emit.run_sql)
        return FindConfig(profile=self.config.profile, model=self.config.model, sql=sql)

    def _sql_config(self, run: RunSql) -> SqlConfig:
        emit, folder = self.config.emit, self.config.catalog.folder
        files_at = emit.files_at or ""
        return SqlConfig(run=run, timeout=emit.sql_timeout, folder=folder, files_at=files_at)

    def _warn_of_unused_keys(self) -> None:
        if keys := find_unused_keys(self.config.model):
            self.report.warn(
                "Keys without effect",
                "Only a network reads them, and none is trained by default. Remove them, or set "
                "`model.ranking.scoring: blend`",
                ", ".join(keys),
            )

    def _read(self, session: Session) -> Catalog:
        """List the recipe's tables, and read the catalog if the run has a DataHub server."""
        config, graph = self.config.catalog, self.ctx.graph
        with self.report.stage("Reading the catalog"):
            if config.demo and config.folder and not config.folder.exists():
                from datahub_hyperjoin.demo import write_lake  # noqa: PLC0415 (for first tries)

                write_lake(config.folder)
            decisions = read_written_decisions(self.config.decisions, self.report.warn)
            tables = scan(self.config, self.report.warn, session, count=self.report.count)
            if not graph:
                catalog = build_catalog_without_server(tables, decisions, self.report.warn)
            else:
                from datahub_hyperjoin.catalog.read import read_catalog  # noqa: PLC0415 (slow)

                self._others = read_other_pipelines(graph, self.ctx.pipeline_name, self.report.warn)
                catalog = read_catalog(
                    graph,
                    tables,
                    scope=replace(self.config.scope, decisions=decisions),
                    history=load_history(self._written_state, self._others),
                    warn=self.report.warn,
                )
            keys = read_database_keys(catalog.tables, self.report.warn)
        catalog = replace(catalog, facts=catalog.facts.declaring(keys))
        self.report.tables_found = len(tables)
        self.report.show_catalog_facts(
            catalog.datasets,
            catalog.facts,
            catalog.deleted,
            read=[table.id for table in catalog.tables],
        )
        self.report.show_matches(catalog.matched)
        return catalog

    def _find(self, catalog: Catalog, session: Session) -> Findings:
        findings = find(catalog, self._find_config, self.report, session)
        self.report.show_missing_sql(findings.statements)
        return findings

    def watch(self) -> tuple[Watched, ...]:
        """Check the watched joins without searching for others, and write the results to DataHub.

        Raises:
            HyperJoinError: The joins cannot be checked.
        """
        with locking(self.config.kept_folders), lazy_session(self.config.spark) as session:
            watched = self._watching(self._read(session), session).check(None)
        if graph := self.ctx.graph:
            incidents = self.config.emit.watch_incidents
            send_results(watched, graph, self.ctx.run_id, incidents=incidents)
        return tuple(each for each in watched if each.wanted)

    def measure(self, join: Join) -> Join | None:
        """Count the rows of two columns on the data, and write nothing.

        Only the tables of these columns are read. None is returned if one of them is not among the
        recipe's tables, or cannot be read, or a column is missing or has no values.

        Raises:
            HyperJoinError: The catalog or the tables cannot be read.
        """
        with locking(self.config.kept_folders), lazy_session(self.config.spark) as session:
            measured = self._watching(self._read(session), session).measure([join])
        return next(iter(measured), None)

    def _watching(self, catalog: Catalog, session: Session) -> Watching:
        return Watching(
            catalog=catalog,
            emit=self.config.emit,
            find=replace(self._find_config, spares_spark=True),
            sql=self._sql_config(RunSql.NONE),
            graph=self.ctx.graph,
            written=self._written_state.last() or WrittenState(),
            report=self.report,
            session=session,
        )

    def _write(
        self, catalog: Catalog, findings: Findings, watched: Sequence[Watched]
    ) -> Iterator[MetadataWorkUnit]:
        """Yield the metadata to write, then write the HTML page if the recipe names one."""
        self.report.show_joins(
            findings.joins, findings.crosswalks, findings.named, findings.derived_counts
        )
        self.report.show_watched([(it.news, it.anti_join) for it in watched if it.wanted])
        context = PublishContext(
            config=self.config.emit,
            graph=self.ctx.graph,
            dry=self.ctx.dry_run_mode,
            handler=self._written_state,
            run_id=self.ctx.run_id,
            report=self.report,
            others=self._others,
            older=find_older_pipelines(
                self._others, self._written_state.last(), self.ctx.pipeline_name
            ),
        )
        self._protected.update(protected(catalog, self._others))
        with self.report.stage("Writing suggestions"):
            publication = build_publication(findings, catalog, self._others, watched)
            yield from publish(publication, catalog, context)
            if self.config.page and not self.ctx.dry_run_mode:
                self._write_page(self.config.page, findings, catalog)

    def _write_page(self, page: Path, findings: Findings, catalog: Catalog) -> None:
        """Write the HTML page.

        Warn if the file cannot be written.
        """
        from datahub_hyperjoin.page import write_page  # noqa: PLC0415 (slow)

        file = self.config.decisions or Path("decisions.csv")
        try:
            write_page(
                page,
                findings,
                filed=catalog.filed,
                file=file.name,
                damaged=read_damaged_lines(file),
                values=self.config.page_values,
            )
        except OSError as error:
            self.report.warn(
                "Page not written",
                "The catalog receives the joins nevertheless. Correct `page`",
                f"{page}: {error}",
            )
        else:
            self.report.page = str(page.resolve())

    @staticmethod
    def test_connection(config_dict: dict[str, Any]) -> TestConnectionReport:
        """Check that the recipe is valid, its tables can be listed and Java is available."""
        return check(config_dict)
