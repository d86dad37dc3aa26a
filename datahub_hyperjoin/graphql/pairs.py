"""Read pairs of columns that have no relationship, from properties of these columns.

Columns list all members of a value domain, and runs write a relationship for a few of them only.
People also decide there about columns that no run suggests. The address of such a pair, in the
place of a relationship's URN, are the URNs of both columns: `URN = URN`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from datahub.metadata.schema_classes import StatusClass
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.errors import DeniedError, UnansweredError
from datahub_hyperjoin.graphql.operations import (
    GraphQLObject,
    execute,
    parsing,
    requesting,
    search,
)
from datahub_hyperjoin.joins import (
    UNVERIFIED,
    Cardinality,
    CatalogEvidence,
    Join,
    Published,
    Role,
    Verdict,
    band,
)
from datahub_hyperjoin.metadata.partners import RELATIONS, Partner, read_partners
from datahub_hyperjoin.metadata.urns import (
    DECIDING_PROPERTIES,
    DECIDING_TAGS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    NAMESPACE,
    column_id,
    column_urn,
    property_urn,
    table_id,
)
from datahub_hyperjoin.tables import ColumnId, Pair, pair_of

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

COLUMN_URN = "urn:li:schemaField:"

_READ = (*DECIDING_PROPERTIES, JOINABLE_WITH, JOIN_SUGGESTIONS)

_CARDINALITIES = {
    "many to one": Cardinality.MANY_ONE,
    "one to many": Cardinality.ONE_MANY,
    "one to one": Cardinality.ONE_ONE,
}
"""The cardinalities of relations between columns; both sides of all others may repeat."""

_Listed = dict[Pair, tuple[ColumnId, Partner]]
"""What a column lists of each pair, with this column."""


def read_decided_pairs(
    graph: "DataHubGraph", datasets: Collection[str] | None = None, *, namespace: str = NAMESPACE
) -> list[Join]:
    """Read the pairs about which people decided in properties of columns.

    Args:
        graph: DataHub's server.
        datasets: URNs of datasets, of which one has a column of the pair; all datasets by default.
        namespace: Namespace of the structured properties.
    """
    starts = [COLUMN_URN] if datasets is None else [f"{COLUMN_URN}({urn}," for urn in datasets]
    urns = [property_urn(namespace, name) for name in DECIDING_PROPERTIES]
    confirmed, rejected = (f"structuredProperties.{urn.rpartition(':')[2]}" for urn in urns)
    try:
        stated = {"confirmed": confirmed, "rejected": rejected}
        found = [*search(graph, "decided_columns", columns=starts, **stated)]
    except (DeniedError, UnansweredError):
        # The server refuses to search by a property whose definition is removed.
        if any(_is_removed(graph, urn) for urn in urns):
            return []
        raise
    with parsing("decided_columns"):
        listed, decided = _read(found, namespace)
        pairs = [pair_as_join(pair, listed.get(pair), decided[pair]) for pair in sorted(decided)]
    tables = {*map(table_id, datasets or ())}
    return [pair for pair in pairs if datasets is None or tables.intersection(pair.tables)]


def read_listed_pairs(
    graph: "DataHubGraph", dataset: str, *, namespace: str = NAMESPACE
) -> list[Join]:
    """Read the pairs that columns of a dataset list, also those that have a relationship."""
    data = execute(graph, "columns_of_dataset", dataset=dataset)
    with parsing("columns_of_dataset"):
        schema = (data["entity"] or {}).get("schemaMetadata")
        fields = [each["schemaFieldEntity"] for each in schema["fields"]] if schema else []
        listed, decided = _read(filter(None, fields), namespace)
        return [pair_as_join(pair, listed[pair], decided[pair]) for pair in sorted(listed)]


def pair_as_join(
    pair: Pair, listed: tuple[ColumnId, Partner] | None = None, verdicts: Collection[Verdict] = ()
) -> Join:
    """Return a pair without a relationship as a join of the catalog.

    Args:
        pair: The two columns.
        listed: One of them, and what it lists of the other.
        verdicts: What people decided.
    """
    left, right = pair
    own, partner = listed or (left, None)
    role, referenced, stated = _relation(own, partner)
    decided = [verdict for verdict in DECIDING_TAGS.values() if verdict in verdicts]
    return Join(
        left=left,
        right=right,
        joinability=partner.score if partner else 1.0,
        evidence=None,
        catalog=CatalogEvidence(verdict=decided[0] if decided else None),
        role=role or Role.SAME_DOMAIN,
        referenced=referenced,
        stated=stated and (stated if own == left else stated.reversed),
        published=Published(
            urn=f"{column_urn(left)} = {column_urn(right)}",
            name=f"{left} = {right}",
            band=_band(partner) if partner else "",
            has_score=partner is not None,
            has_role=role is not None,
            verdicts=tuple(decided),
        ),
    )


def _band(partner: Partner) -> str:
    return band(partner.score) if partner.is_verified else UNVERIFIED


def is_pair(urn: str) -> bool:
    """Return whether a text is the address of a pair without a relationship, and no URN of one."""
    return urn.startswith(COLUMN_URN)


def parse_column(urn: str) -> ColumnId | None:
    """Convert a URN to a column; None if it is no URN of a column, as people can set one."""
    try:
        return column_id(urn)
    except InvalidUrnError:
        return None


def property_values(entity: GraphQLObject | None, urn: str) -> list[GraphQLObject]:
    """Return an entity's values of the structured property with the URN `urn`."""
    assignments = ((entity or {}).get("structuredProperties") or {}).get("properties") or ()
    return [
        value
        for assignment in assignments
        if assignment["structuredProperty"]["urn"] == urn
        for value in assignment["values"]
    ]


def _is_removed(graph: "DataHubGraph", urn: str) -> bool:
    with requesting(graph, "structuredProperty"):
        status = graph.get_aspect(urn, StatusClass)
        return bool(status and status.removed)


def _read(
    entities: Iterable[GraphQLObject], namespace: str
) -> tuple[_Listed, Mapping[Pair, Collection[Verdict]]]:
    """Read what columns list, and what people decided there."""
    listed: _Listed = {}
    decided: dict[Pair, set[Verdict]] = defaultdict(set)
    for entity in entities:
        if (own := parse_column(entity["urn"])) is None:
            continue
        values = {
            urn: [value["stringValue"] for value in property_values(entity, urn) if value]
            for urn in (property_urn(namespace, name) for name in _READ)
        }
        for name, verdict in DECIDING_PROPERTIES.items():
            for other in map(parse_column, values[property_urn(namespace, name)]):
                if other and other != own:
                    decided[pair_of(own, other)].add(verdict)
        for partner in _partners(values, namespace):
            listed[pair_of(own, partner.column)] = own, partner
    return listed, decided


def _partners(values: Mapping[str, Sequence[str]], namespace: str) -> list[Partner]:
    """Return the partners that a column joins with by itself and directly."""
    try:
        partners = read_partners(values, namespace)
    except InvalidUrnError:  # a person edited them
        return []
    return [each for each in partners if each.is_direct]


def _relation(
    own: ColumnId, partner: Partner | None
) -> tuple[Role | None, ColumnId | None, Cardinality | None]:
    """Return the role, the referenced column and the cardinality from a column to its partner."""
    name = partner.kind if partner else ""
    role = next((role for role, kinds in RELATIONS.items() if name in kinds), None)
    if partner is None or role is None:
        return None, None, None
    ends = dict(zip(RELATIONS[role], (partner.column, own), strict=True))
    cardinality = _CARDINALITIES.get(name, Cardinality.MANY_MANY)
    return role, ends[name] if role is Role.REFERENCE else None, cardinality
