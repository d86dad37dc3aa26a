"""Prevent pipelines from overwriting each other's metadata about joins.

A pipeline does not write the joins that an older pipeline shows.

Pipelines with different models find mostly the same joins, with other scores. Of those that show a
join, the one that ran first writes it, and the others take over its score and its role.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.emit import ExistingState, Publication, WrittenState
from datahub_hyperjoin.emit.patches import aspect_name
from datahub_hyperjoin.joins import Join, sort_joins
from datahub_hyperjoin.metadata.relationship_aspect import join_urn
from datahub_hyperjoin.metadata.urns import column_urn, plain_path
from datahub_hyperjoin.publishing.pipelines import OtherPipeline


def find_older_pipelines(
    others: Iterable[OtherPipeline], own: WrittenState | None, name: str | None
) -> tuple[OtherPipeline, ...]:
    """Return the active pipelines that are older than this pipeline.

    The age of a pipeline is counted from its first run.

    Args:
        own: What the last run of this pipeline wrote; None if this is its first run.
    """
    return tuple(
        one
        for one in others
        if one.recent and (own is None or (one.state.since, one.name) < (own.since, name or ""))
    )


@dataclass(frozen=True, kw_only=True)
class ForeignMetadata:
    """The metadata that this run does not write, because other pipelines write it."""

    relationships: Mapping[str, Relationship] = field(default_factory=dict)
    """Relationships of this run's joins that other pipelines write, by URN."""

    queries: frozenset[str] = frozenset()
    """URNs of the queries that other pipelines write."""

    described: frozenset[str] = frozenset()
    """URNs of columns and datasets whose lists of joins other pipelines write."""

    def adopt(self, publication: Publication) -> Publication:
        """Use other pipelines' scores and roles for the joins that they also write.

        The role tells how the columns are related, for example as a reference. Joins that no other
        pipeline writes keep their own scores and roles.
        """
        if not self.relationships:
            return publication
        shown = {
            join_urn(join): _adopt(join, relationship.join)
            for join in publication.joins
            if (relationship := self.relationships.get(join_urn(join))) and relationship.join
        }
        joins = [shown.get(join_urn(join), join) for join in publication.joins]
        return replace(
            publication,
            joins=sort_joins(joins),
        )

    def protect(self, existing: ExistingState) -> ExistingState:
        """Return a copy of `existing` that protects relationships and queries of other pipelines.

        This run then leaves them unchanged.

        Args:
            existing: The metadata that limits what the run may write.
        """
        aspects = {urn: one.aspect for urn, one in self.relationships.items()}
        return replace(
            existing,
            foreign=existing.foreign.union(aspects),
            edited={**existing.edited, **aspects},
            closed_queries=existing.closed_queries | self.queries,
        )

    def changed_entities(self, publication: Publication, last: WrittenState) -> frozenset[str]:
        """Return the columns and datasets whose joins changed since this pipeline's last run.

        A join that this pipeline no longer shows is a change, too.
        """
        joins = {join_urn(join): join for join in publication.linking}
        changed = {urn: ends for urn, ends in last.relationships.items() if urn not in joins}
        known = last.relationships.keys() | self.relationships.keys()
        new = [join for urn, join in joins.items() if urn not in known]
        changed |= {join_urn(join): (column_urn(join.left), column_urn(join.right)) for join in new}
        columns = [column for ends in changed.values() for column in ends]
        columns += [column_urn(end) for join in new for pair in join.further for end in pair]
        return WrittenState(relationships=changed).all_datasets.union(columns)

    def without_foreign_properties(
        self, units: Iterable[MetadataWorkUnit], changed: Container[str]
    ) -> Iterator[MetadataWorkUnit]:
        """Drop structured properties that older pipelines write, except on entities in `changed`.

        The entities are columns and datasets. Where the joins of one did not change, the older
        pipelines already list this pipeline's joins, too.

        Args:
            changed: URNs of the columns and datasets whose joins changed, see `changed_entities`.
        """
        name = StructuredPropertiesClass.ASPECT_NAME
        for unit in units:
            urn = unit.get_urn()
            if urn in changed or urn not in self.described or aspect_name(unit) != name:
                yield unit


def read_foreign_metadata(
    publication: Publication,
    catalog: Catalog,
    older: Sequence[OtherPipeline],
    others: Sequence[OtherPipeline],
) -> ForeignMetadata:
    """Find the metadata that this run must not write, because other pipelines write it.

    If only one of two pipelines has verified a join, that pipeline writes it.
    """
    by_older = {urn for one in older for urn in one.state.relationships}
    of_others = {urn for one in others if one.recent for urn in one.state.relationships}
    foreign = {}
    for join in publication.linking:
        urn = join_urn(join)
        shown = catalog.relationships.get(urn)
        if shown and shown.join and not shown.removed:
            is_verified = (shown.join.evidence is not None, join.evidence is not None)
            leads = {(True, False): of_others, (False, True): frozenset[str]()}
            if urn in leads.get(is_verified, by_older):
                foreign[urn] = shown
    return ForeignMetadata(
        relationships=foreign,
        # Every pipeline adds terms to its columns; they exist once for all.
        queries=frozenset(
            urn for one in older for urn in one.state.queries if urn not in one.state.terms
        ),
        described=frozenset(
            urn for one in older for urn in (*one.state.columns, *one.state.datasets)
        ),
    )


def _adopt(join: Join, shown: Join) -> Join:
    """Return this run's join with the score and role that another pipeline wrote."""
    ends = {(end.table, plain_path(end.path)): end for end in (join.left, join.right)}
    key = shown.referenced
    referenced = ends.get((key.table, plain_path(key.path))) if key else None
    return replace(join, joinability=shown.joinability, role=shown.role, referenced=referenced)
