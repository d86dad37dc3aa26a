"""Write watched joins as DataHub's assertions, with a result for each run.

DataHub shows them in the Quality tab of the referring dataset, and marks the dataset while one of
them fails.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from datahub.configuration.common import OperationalError
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AssertionInfoClass,
    AssertionResultClass,
    AssertionResultErrorClass,
    AssertionResultErrorTypeClass,
    AssertionResultTypeClass,
    AssertionRunEventClass,
    AssertionRunStatusClass,
    AssertionSourceClass,
    AssertionSourceTypeClass,
    AssertionTypeClass,
    AuditStampClass,
    CustomAssertionInfoClass,
    DataPlatformInstanceClass,
    IncidentInfoClass,
    IncidentSourceClass,
    IncidentSourceTypeClass,
    IncidentStateClass,
    IncidentStatusClass,
    IncidentTypeClass,
    SystemMetadataClass,
    _Aspect,
)
from datahub.metadata.urns import DataPlatformUrn
from typing_extensions import override

from datahub_hyperjoin.catalog.entities import is_outside_runs
from datahub_hyperjoin.client_errors import explain
from datahub_hyperjoin.emit.errors import RefusedError
from datahub_hyperjoin.emit.layer import Info, OwnEntities, Writing, unit_of
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.watched_joins import (
    ASSERTION,
    FAILING_SINCE,
    Watched,
    in_percent,
    in_time,
    share_of,
    watched_in,
)
from datahub_hyperjoin.joins import rounded_share
from datahub_hyperjoin.metadata.relationships import MODEL_VERSION
from datahub_hyperjoin.metadata.urns import (
    AUTHOR,
    column_urn,
    dataset_urn,
    incident_urn,
    plain_path,
)
from datahub_hyperjoin.tables import TableId, labels
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import join_with_and

_KIND = "Watched join"


def assertion_info(
    watched: Watched, names: Mapping[TableId, str], model_version: str
) -> AssertionInfoClass:
    """Return the aspect that defines the assertion of a watched join."""
    join = watched.join
    paths = (f"{plain_path(one.path)} → {plain_path(other.path)}" for one, other in join.pairs)
    least, (own, other) = in_percent(watched.threshold), join.tables
    return AssertionInfoClass(
        type=AssertionTypeClass.CUSTOM,
        customProperties={**watched.properties, MODEL_VERSION: model_version},
        customAssertion=CustomAssertionInfoClass(
            type=_KIND, entity=dataset_urn(own), field=column_urn(join.left)
        ),
        source=AssertionSourceClass(type=AssertionSourceTypeClass.EXTERNAL),
        description=visible(
            f"At least {least} of the rows of {names[own]} find their row in {names[other]} "
            f"({join_with_and([*paths])})"
        ),
    )


def emit_result(watched: Watched, run_id: str, *, incidents: bool) -> Iterator[MetadataWorkUnit]:
    """Write the result of a check and, if wanted, the incident that follows from it."""
    if watched.wanted and watched.result:
        yield unit_of(watched.urn, _run_event(watched, watched.result, run_id))
    if incidents and (incident := _incident(watched)):
        yield unit_of(incident_urn(watched.urn), incident)


def send_results(
    checked: Iterable[Watched], graph: DataHubGraph, run_id: str, *, incidents: bool
) -> None:
    """Write the results of a check at once, outside of a run."""
    try:
        for watched in checked:
            for unit in emit_result(watched, run_id, incidents=incidents):
                graph.emit(unit.metadata)
    except OperationalError as error:
        raise RefusedError.result(reason=explain(error, graph.config.token)) from error


def _run_event(watched: Watched, result: str, run_id: str) -> AssertionRunEventClass:
    counts, share, measures = watched.counts, share_of(watched.counts), dict[str, str]()
    if counts and share is not None:
        measures = {
            "share of rows with a partner": in_percent(share),
            "rows with a partner": f"{counts.matched:,}",
            "rows without a partner": f"{counts.unmatched:,}",
            "rows without a value, or with a placeholder": f"{counts.without_value:,}",
        }
    if since := watched.broken_since:
        measures[FAILING_SINCE] = in_time(since)
    error = watched.fault and AssertionResultErrorClass(
        type=AssertionResultErrorTypeClass.INSUFFICIENT_DATA, properties={"message": watched.fault}
    )
    return AssertionRunEventClass(
        timestampMillis=watched.at,
        runId=run_id,
        asserteeUrn=dataset_urn(watched.join.left.table),
        status=AssertionRunStatusClass.COMPLETE,
        assertionUrn=watched.urn,
        result=AssertionResultClass(
            type=result,
            rowCount=counts.total if counts else None,
            missingCount=counts.without_value if counts else None,
            unexpectedCount=counts.unmatched if counts else None,
            actualAggValue=None if share is None else rounded_share(share),
            nativeResults={"least share": in_percent(watched.threshold), **measures},
            error=error or None,
        ),
    )


def _incident(watched: Watched) -> IncidentInfoClass | None:
    """Return the incident to write; None if it is already as it should be."""
    # People resolve incidents by hand and describe them, so an incident is changed only by a join
    # that breaks or holds again.
    stamp, known = AuditStampClass(time=watched.at, actor=AUTHOR), watched.incident
    is_active = known is not None and known.status.state == IncidentStateClass.ACTIVE
    fails = watched.wanted and watched.result == AssertionResultTypeClass.FAILURE
    if fails and not is_active and not (known and watched.failing_since):
        return IncidentInfoClass(
            type=IncidentTypeClass.CUSTOM,
            customType=_KIND,
            title=f"Join broken: {watched.join.arrows}",
            description=watched.news,
            entities=[dataset_urn(watched.join.left.table)],
            status=IncidentStatusClass(state=IncidentStateClass.ACTIVE, lastUpdated=stamp),
            source=IncidentSourceClass(
                type=IncidentSourceTypeClass.ASSERTION_FAILURE, sourceUrn=watched.urn
            ),
            priority=known.priority if known else None,
            assignees=known.assignees if known else None,
            created=stamp,
        )
    healed = not watched.wanted or watched.result == AssertionResultTypeClass.SUCCESS
    if known and is_active and healed:
        why = "The join holds again" if watched.wanted else "The join is no longer watched"
        known.status = IncidentStatusClass(
            state=IncidentStateClass.RESOLVED, lastUpdated=stamp, message=why
        )
        return known
    return None


class Assertions(OwnEntities):
    """Each watched join as an assertion of the referring dataset."""

    key = "watch"
    entity = ASSERTION
    info = AssertionInfoClass
    needs: ClassVar = {ASSERTION: ("assertionInfo", "assertionRunEvent", "status")}
    outlives_edits = True

    @override
    def is_edited(self, info: Info, stamp: SystemMetadataClass | None) -> bool:
        return stamp is not None and is_outside_runs(stamp)

    @override
    def urns(self, publication: Publication) -> Iterable[str]:
        return (watched.urn for watched in publication.watched)

    @override
    def shown_by(self, aspects: Mapping[type[_Aspect], _Aspect]) -> Iterable[str]:
        info = aspects.get(AssertionInfoClass)
        join = watched_in(info).join if isinstance(info, AssertionInfoClass) else None
        return map(dataset_urn, join.tables) if join else ()

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        publication, names = run.publication, labels(run.publication.titles)
        for watched in publication.watched:
            if watched.urn in run.existing.closed:
                continue
            if watched.wanted:
                edited = watched.urn in run.existing.edited_terms
                defined = () if edited else self._define(watched, names, publication.model_version)
                yield from self.put(run, watched.urn, defined)
            yield from emit_result(watched, run.run_id, incidents=run.config.watch_incidents)

    def _define(
        self, watched: Watched, names: Mapping[TableId, str], model_version: str
    ) -> Iterator[MetadataWorkUnit]:
        yield unit_of(watched.urn, assertion_info(watched, names, model_version))
        # DataHub names it as the provider of the results.
        yield unit_of(watched.urn, DataPlatformInstanceClass(DataPlatformUrn("hyperjoin").urn()))
