"""Run the source with given joins, which is faster than finding them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Evidence, Join, Role
from datahub_hyperjoin.metadata.relationships import catalog_evidence, join_urn
from datahub_hyperjoin.recipe import HyperJoinConfig
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.source import HyperJoinSource
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Pair, TableProfile, pair_of
from gms import Gms
from lakes.lake import column

CARRIER = pair_of(column("flights.csv.carrier"), column("airlines.csv.carrier"))
ORIGIN = pair_of(column("flights.csv.origin"), column("airports.csv.faa"))
PLANE = pair_of(column("flights.csv.tailnum"), column("planes.csv.tailnum"))
ALL = (CARRIER, ORIGIN, PLANE)

EVIDENCE = Evidence(
    shared=80,
    left_containment=1.0,
    right_containment=1.0,
    cardinality=Cardinality.MANY_ONE,
    left_fan_out=1.0,
    right_fan_out=3.75,
    rows=300,
)


def join_of(pair: Pair, joinability: float = 0.9) -> Join:
    """Make a join whose left column refers to its right column."""
    left, right = pair_of(*pair)
    return Join(
        left=left,
        right=right,
        joinability=joinability,
        evidence=EVIDENCE,
        role=Role.REFERENCE,
        referenced=right,
    )


def urn_of(pair: Pair) -> str:
    """Return the URN of the relationship of a pair."""
    return join_urn(join_of(pair))


def shown(gms: Gms) -> set[Pair]:
    """Return the pairs that a person sees as joins."""
    return {pair_of(join.left, join.right) for join in all_joins(gms.graph())}


class GivenJoins(HyperJoinSource):
    """A source that returns given joins instead of finding them.

    Like the real source, it respects people's decisions.
    """

    joins: Sequence[Join] = ()
    model_version = "1"

    @staticmethod
    def _evidence(join: Join, catalog: Catalog) -> CatalogEvidence:
        known = catalog_evidence(join.pairs, catalog.facts)
        return known if known != CatalogEvidence() else join.catalog

    def _find(self, catalog: Catalog, session: Session) -> Findings:
        tables = {table.id for table in catalog.tables}
        return Findings(
            profiles=tuple(TableProfile(table=table) for table in catalog.tables),
            keys=(),
            suggestions=(),
            joins=tuple(
                replace(join, catalog=self._evidence(join, catalog))
                for join in self.joins
                if {join.left.table, join.right.table} <= tables
                and (join.left, join.right) not in catalog.facts.rejected
            ),
            model_version=self.model_version,
        )


@dataclass
class Runs:
    """A series of runs over one folder, which write to one server."""

    gms: Gms
    folder: Path
    number: int = 0
    model_version: str = "1"
    reports: list[HyperJoinReport] = field(default_factory=list)
    loses: Callable[[MetadataWorkUnit], bool] = lambda _: False
    """Whether a write gets lost on its way to the server."""

    def __call__(
        self,
        pairs: Iterable[Pair | Join],
        *,
        pipeline: str = "joins",
        **config: Any,  # noqa: ANN401 - as in a recipe
    ) -> HyperJoinReport:
        """Run the source to the end, and return its report."""
        self.number += 1
        recipe = {"catalog": {"folder": str(self.folder)}, **config}
        recipe.setdefault("stateful_ingestion", {"enabled": True, "fail_safe_threshold": 100})
        ctx = PipelineContext(
            run_id=f"run {self.number}", graph=self.gms.graph(), pipeline_name=pipeline
        )
        source = GivenJoins(HyperJoinConfig.model_validate(recipe), ctx)
        source.model_version = self.model_version
        source.joins = [one if isinstance(one, Join) else join_of(one) for one in pairs]
        graph = self.gms.graph()
        for unit in source.get_workunits():
            if not self.loses(unit):
                self._emit(unit, graph, pipeline)
        source.close()
        assert not source.report.failures, source.report.failures
        for _, committable in ctx.get_committables():
            committable.commit()
        self.reports.append(source.report)
        return source.report

    def _emit(self, unit: MetadataWorkUnit, graph: Any, pipeline: str) -> None:  # noqa: ANN401 - the client
        proposal = unit.metadata
        proposal.systemMetadata.pipelineName = pipeline  # type: ignore[union-attr]
        proposal.systemMetadata.runId = f"run {self.number}"  # type: ignore[union-attr]
        graph.emit(proposal)
