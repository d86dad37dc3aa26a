"""The metadata that DataHub already has for the entities of a run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    EmbedClass,
    ERModelRelationshipPropertiesClass,
    StatusClass,
    StructuredPropertiesClass,
    UpstreamLineageClass,
    _Aspect,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.entities import Aspects, by_type, fetch, fetch_each, parse_entity
from datahub_hyperjoin.catalog.relationships import (
    Relationship,
    expect_absent,
    find_deleted,
    hidden_by,
    is_withdrawal,
    report_skipped,
)
from datahub_hyperjoin.catalog.written_state import History, WrittenState
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.contexts import find_foreign_contexts, read_contexts
from datahub_hyperjoin.emit.embeds import find_foreign_embeds
from datahub_hyperjoin.emit.layers import OWN_ENTITIES
from datahub_hyperjoin.emit.lineage import without_ours
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.terms import Glossary, read_glossary
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.metadata.partners import Partner, name_through, read_partners
from datahub_hyperjoin.metadata.relationships import catalog_evidence
from datahub_hyperjoin.metadata.urns import column_id, column_urn, dataset_urn
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, TableId, labels, pair_of


@dataclass(frozen=True, kw_only=True)
class ExistingState:
    """The metadata in DataHub that limits what a run may write."""

    closed: frozenset[str] = frozenset()
    """URNs of relationships, queries, documents and terms that somebody else wrote or changed, of
    datasets with a foreign Preview tab, and of columns with foreign instructions. No run writes
    them again."""

    edited: Mapping[str, ERModelRelationshipPropertiesClass] = field(default_factory=dict)
    """Current aspects, by URN, of relationships that this source wrote and a person edited later.
    """

    hidden: frozenset[str] = frozenset()
    """URNs of entities that earlier runs hid, as their join was gone, or whose join people accepted
    after others hid it; a run may show them."""

    decided: Mapping[str, tuple[Relationship, CatalogEvidence]] = field(default_factory=dict)
    """The relationships of this source, by URN, and what people decided about their joins."""

    deleted_queries: frozenset[str] = frozenset()
    """URNs of the queries and documents in `closed` that no longer exist."""

    present: frozenset[str] = frozenset()
    query_subjects: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """URNs of the datasets and columns that published queries show, by the query's URN."""

    listed: Mapping[ColumnId, Sequence[Partner]] = field(default_factory=dict)
    """For each column, the partners that earlier runs listed and this run cannot judge."""

    embedded: frozenset[str] = frozenset()
    """URNs of the datasets that have the aspect `embed`, even if it is empty."""

    edited_terms: frozenset[str] = frozenset()  # runs still add them to columns, but hide none
    glossary: Glossary | None = None
    upstreams: Mapping[str, UpstreamLineageClass] = field(default_factory=dict)
    """Lineage of datasets by URN, without the edges that this source wrote."""

    @property
    def left_alone(self) -> WrittenState:
        """What this source no longer manages, since somebody else changed it."""
        texts = dict.fromkeys(self.closed, "")
        return WrittenState(
            queries=[*self.closed, *self.edited_terms], embeds=texts, contexts=texts
        )


def read_published_entities(
    graph: DataHubGraph,
    urns: Collection[str],
    *,
    written: Collection[str],
    unseen: Collection[str],
    hiders: Collection[str],
    warn: Warn,
) -> ExistingState:
    """Find out which queries, documents and terms were hidden, edited or deleted, by whom."""
    skip = report_skipped(warn)
    entities: dict[str, Aspects] = {}
    for entity, members in by_type([*urns, *written]).items():
        layer = OWN_ENTITIES[entity]
        kinds: list[type[_Aspect]] = [layer.info, *layer.read, StatusClass]
        try:
            names = [kind.ASPECT_NAME for kind in kinds]
            entities |= fetch(graph, entity, members, names, warn=skip)
        except UnknownEntityTypeError:  # what the server does not support, nobody deleted
            written = [urn for urn in written if urn not in members]
    hidden_by_us, changed_by_people, edited_terms = _judge(entities, hiders)
    mains = {layer.info.ASPECT_NAME for layer in OWN_ENTITIES.values()}
    # No other entity shows whether these have arrived, so if all are missing, none is taken
    # for deleted.
    arrived = [urn for urn in entities if urn not in unseen or mains.intersection(entities[urn])]
    deleted = find_deleted(written, arrived, unseen=unseen, writes_arrived=False, warn=warn)
    expect_absent(graph, deleted)
    return ExistingState(
        hidden=hidden_by_us,
        closed=changed_by_people | deleted,
        deleted_queries=deleted,
        edited_terms=edited_terms,
        present=frozenset(entities),
        query_subjects={
            urn: parse_entity(urn, partial(_subjects, urn, aspects), skip) or frozenset()
            for urn, aspects in entities.items()
        },
    )


def _judge(
    entities: Mapping[str, Aspects], hiders: Collection[str]
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the entities that we hid, that people changed, and that people edited as terms."""
    # A hidden entity was hidden by us only if the run that last wrote its status is a run of this
    # source that hid entities; otherwise a person hid it.
    hidden_by_us, changed_by_people, edited_terms = set[str](), set[str](), set[str]()
    for urn, aspects in entities.items():
        layer = OWN_ENTITIES[guess_entity_type(urn)]
        info, stamp = aspects.get(layer.info.ASPECT_NAME, (None, None))
        is_edited = isinstance(info, layer.info) and layer.is_edited(info, stamp)
        removed, run = hidden_by(aspects)
        if is_edited and layer.outlives_edits:
            edited_terms.add(urn)
        if removed:
            noted = layer.withdrawn_by(info) if isinstance(info, layer.info) else None
            ours = is_withdrawal(run, noted, hiders)
            (hidden_by_us if ours else changed_by_people).add(urn)
        elif is_edited and not layer.outlives_edits:
            changed_by_people.add(urn)
    return frozenset(hidden_by_us), frozenset(changed_by_people), frozenset(edited_terms)


def _subjects(urn: str, aspects: Aspects) -> frozenset[str]:
    found = {type(aspect): aspect for aspect, _ in aspects.values()}
    return frozenset(OWN_ENTITIES[guess_entity_type(urn)].shown_by(found))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a run needs to read the metadata that DataHub has for its entities."""

    graph: DataHubGraph
    config: EmitConfig
    history: History
    warn: Warn


def read_existing(publication: Publication, catalog: Catalog, reading: Reading) -> ExistingState:
    """Read the metadata that DataHub already has for the entities of a run."""
    config, last, graph = reading.config, reading.history.own, reading.graph
    relationships = catalog.relationships.values()
    foreign = [relationship for relationship in relationships if not relationship.ours]
    existing, glossary, listed, upstreams = ExistingState(), None, {}, {}
    if config.lineage:
        tables = {*map(dataset_urn, publication.tables)}
        read = fetch_each(graph, "dataset", tables, UpstreamLineageClass)
        upstreams = {urn: without_ours(found, last.lineage, urn) for urn, found in read.items()}
    if config.glossary_terms:
        glossary = read_glossary(publication, reading.history, graph, config.namespace)
    # Of a layer that is off now, people's edits stay, too.
    on = [layer for layer in OWN_ENTITIES.values() if layer.is_on(config)]
    shown = [urn for layer in on for urn in layer.urns(publication)]
    if wanted := {*shown, *last.queries, *(glossary.terms if glossary else ())}:
        existing = read_published_entities(
            graph,
            wanted,
            written=last.queries,
            unseen=last.unseen,
            hiders=reading.history.hiders,
            warn=reading.warn,
        )
    if config.properties:
        listed = _read_listed(publication, catalog, reading)
    decided = _find_decided(catalog)
    existing = replace(
        existing,
        closed=existing.closed.union(last.deleted_queries, (entry.urn for entry in foreign)),
        edited={
            relationship.urn: relationship.aspect
            for relationship in foreign
            if relationship.recorded and relationship.pairs and not relationship.removed
        },
        hidden=existing.hidden.union(
            (entry.urn for entry in relationships if entry.removed_by_us),
            (
                urn
                for urn, (entry, it) in decided.items()
                if entry.removed and it.verdict is Verdict.ACCEPTED
            ),
        ),
        decided=decided,
        deleted_queries=existing.deleted_queries.union(last.deleted_queries) - existing.present,
        present=existing.present.union(catalog.relationships),
        listed=listed,
        glossary=glossary,
        upstreams=upstreams,
    )
    return _read_foreign_parts(existing, publication, reading)


def _find_decided(catalog: Catalog) -> dict[str, tuple[Relationship, CatalogEvidence]]:
    return {
        entry.urn: (entry, catalog_evidence(entry.pairs, catalog.facts))
        for entry in catalog.relationships.values()
        if entry.ours and entry.pairs
    }


def _read_foreign_parts(
    existing: ExistingState, publication: Publication, reading: Reading
) -> ExistingState:
    """Add to `existing` the Preview pages and agent instructions that others wrote."""
    # A dataset has one page in its Preview tab, and a column one text for agents. A run writes
    # either only if it is free or its own.
    config, last, graph = reading.config, reading.history.own, reading.graph
    embeds, contexts = {}, {}
    if config.embed or last.embeds:
        tables = map(dataset_urn, publication.tables if config.embed else ())
        embeds = fetch_each(graph, "dataset", {*tables, *last.embeds}, EmbedClass)
    if config.ai_context or last.contexts:
        joins = publication.joins if config.ai_context else ()
        columns = {column_urn(end) for join in joins for pair in join.pairs for end in pair}
        contexts = read_contexts(graph, columns.union(last.contexts))
    return replace(
        existing,
        embedded=frozenset(embeds),
        closed=existing.closed.union(
            find_foreign_embeds(embeds, last.embeds, config.embed),
            find_foreign_contexts(contexts, last.contexts),
        ),
    )


def _is_unjudged(partner: Partner, tables: set[TableId], publication: Publication) -> bool:
    """Return whether this run was unable to check a join partner that the catalog lists."""
    judged = frozenset() if partner.is_verified else publication.described
    return bool(tables & (publication.unread - judged))


def _read_listed(
    publication: Publication, catalog: Catalog, reading: Reading
) -> dict[ColumnId, list[Partner]]:
    """Read the join partners that the catalog lists but that this run cannot check."""
    # Not every join has a relationship: those within a value domain and those through a
    # crosswalk are listed with their columns only.
    if not publication.unread:
        return {}
    # A property names the crosswalk of a join only in this text, see `emit.properties`.
    names = labels(publication.titles)
    through = {name_through(names[table]) for table in publication.unread & names.keys()}
    listed: dict[ColumnId, list[Partner]] = {}
    columns = reading.history.own.columns
    found = fetch_each(reading.graph, "schemaField", columns, StructuredPropertiesClass)
    for urn, properties in found.items():
        column = column_id(urn)
        values = {each.propertyUrn: each.values for each in properties.properties}
        kept = [
            replace(it, column=catalog.field_path(it.column))
            for it in read_partners(values, reading.config.namespace)
            if _is_unjudged(it, {column.table, it.column.table}, publication)
            or it.relation in through
            if catalog.facts.of(pair_of(column, it.column)).verdict is not Verdict.REJECTED
        ]
        if kept:
            listed[catalog.field_path(column)] = kept
    return listed
