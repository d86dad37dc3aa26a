"""Read joins, their SQL, joinable columns and datasets from DataHub."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.graphql.operations import GraphQLObject, execute, parsing, search
from datahub_hyperjoin.graphql.pairs import (
    parse_column,
    property_values,
    read_decided_pairs,
    read_listed_pairs,
)
from datahub_hyperjoin.joins import (
    BAND_NAMES,
    Cardinality,
    CatalogEvidence,
    Join,
    Published,
    Role,
    Statement,
    best_first,
)
from datahub_hyperjoin.joins.join import ROLE_OF
from datahub_hyperjoin.joins.path_search import ReadJoins
from datahub_hyperjoin.metadata.relationships import (
    SQL_DIALECT,
    WITHDRAWN_BY,
    columns_urn,
    read_tag_context,
)
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    DECIDING_TAGS,
    JOINABLE_WITH,
    band_urn,
    dataset_urn,
    plain_path,
    property_urn,
    query_urn,
    role_urn,
    table_id,
)
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of

if TYPE_CHECKING:
    from datahub.ingestion.graph.client import DataHubGraph

_PAGE = 200
_DATASETS = 100
"""Number of datasets whose joins are read by one request."""

_BANDS = {band_urn(band): band for band in BAND_NAMES}
_ROLES = {role_urn(role): role for role in Role}


def read_joins(entities: Iterable[GraphQLObject]) -> Iterator[Join]:
    """Parse the joins of a search result, except those that the user may not see."""
    return filter(None, map(read_join, entities))


def read_join(entity: GraphQLObject | None) -> Join | None:
    """Parse one join from the fragment `join`."""
    with parsing("join"):
        return _join(entity)


def _join(entity: GraphQLObject | None) -> Join | None:
    properties = (entity or {}).get("properties")
    if not entity or not properties:
        return None
    try:
        pairs = _pairs(properties)
    except InvalidUrnError:
        return None
    if not pairs:
        return None
    (left, right), *further = pairs
    tags, cardinality = _tags(entity), Cardinality(properties["cardinality"])
    band, score = _score(tags)
    role, context = next(((_ROLES[tag], tags[tag]) for tag in tags if tag in _ROLES), (None, ""))
    evidence, declared, via = read_tag_context(context, cardinality)
    verdicts = tuple(verdict for tag, verdict in DECIDING_TAGS.items() if tag in tags)
    edited = entity.get("editableProperties") or {}
    return Join(
        left=left,
        right=right,
        joinability=1.0 if score is None else score,
        evidence=evidence,
        catalog=CatalogEvidence(stated=declared, verdict=verdicts[0] if verdicts else None),
        role=role or ROLE_OF[cardinality],
        # The source of a directed join is the referring table.
        referenced=right if role and role.is_directed else None,
        further=tuple(further),
        via=via,
        stated=cardinality,
        published=Published(
            urn=entity["urn"],
            name=properties["name"],
            band=band,
            has_score=score is not None,
            has_role=role is not None,
            verdicts=verdicts,
            removed=bool((entity.get("status") or {}).get("removed")),
            description=edited.get("description") or "",
            title=edited.get("name") or "",
            owners=_owners(entity),
        ),
    )


def _pairs(properties: GraphQLObject) -> tuple[tuple[ColumnId, ColumnId], ...]:
    source = table_id(properties["source"]["urn"])
    destination = table_id(properties["destination"]["urn"])
    return tuple(
        (
            ColumnId(source, plain_path(mapping["sourceField"])),
            ColumnId(destination, plain_path(mapping["destinationField"])),
        )
        for mapping in properties["relationshipFieldMappings"] or ()
    )


def _tags(entity: GraphQLObject) -> dict[str, str]:
    """Map the URN of each tag to the text that the entity stores with the tag."""
    assignments = (entity.get("tags") or {}).get("tags") or ()
    return {entry["tag"]["urn"]: entry.get("context") or "" for entry in assignments}


def _score(tags: Mapping[str, str]) -> tuple[str, float | None]:
    """Read the confidence band, and the joinability that its tag stores."""
    for tag, context in tags.items():
        if tag in _BANDS:
            try:
                return _BANDS[tag], float(context)
            except ValueError:  # a person added the tag, without a score
                return _BANDS[tag], None
    return "", None


def _owners(entity: GraphQLObject) -> tuple[str, ...]:
    entries = (entity.get("ownership") or {}).get("owners") or ()
    return tuple(entry["owner"]["urn"] for entry in entries)


def joins_of_dataset(
    graph: "DataHubGraph",
    dataset: str,
    *,
    min_score: float = 0.0,
    hidden: bool = False,
    members: bool = False,
) -> list[Join]:
    """List the joins of a dataset, best first; hidden joins are left out unless `hidden` is set.

    Args:
        graph: DataHub's server.
        dataset: URN of the dataset.
        min_score: Lowest joinability of suggestions; joins that people accepted or wrote are always
            listed.
        hidden: Whether to also list joins that are hidden (soft-deleted) in DataHub, or rejected
            without a relationship.
        members: Whether to also list what only the columns list: joins with further members of
            their value domains, which have no relationship.

    Returns:
        Joins, best first, with the dataset on the left.
    """
    joins = [*read_joins(_scroll(graph, "joins_of_datasets", datasets=[dataset], hidden=hidden))]
    table = table_id(dataset)
    pairs = {it.urn: it for it in read_decided_pairs(graph, [dataset])}
    for pair in read_listed_pairs(graph, dataset) if members else ():
        decided = pairs.get(pair.urn)
        pairs[pair.urn] = pair.decided(decided.verdict) if decided else pair
    joins += _without_relationship(graph, pairs.values(), joins, hidden=hidden)
    return best_first(join.seen_from(table) for join in joins if join.strength >= min_score)


def _without_relationship(
    graph: "DataHubGraph", pairs: Iterable[Join], joins: Iterable[Join], *, hidden: bool
) -> list[Join]:
    """Return those of some pairs that none of the given joins nor a hidden one joins."""
    joined = {pair_of(join.left, join.right) for join in joins if not join.further}
    left = [it for it in pairs if (it.left, it.right) not in joined and (hidden or it.open)]
    # The decision about a hidden relationship may be later than that of the columns.
    urns = {columns_urn([(it.left, it.right)]): it for it in left}
    found = () if hidden else _read_entities(graph, "existing_joins", "joins", urns)
    there = {join.urn for join in read_joins(found)}
    return [it for urn, it in urns.items() if urn not in there]


def joins_of_column(
    graph: "DataHubGraph",
    dataset: str,
    column: str,
    *,
    min_score: float = 0.0,
    hidden: bool = False,
) -> list[Join]:
    """List the joins of a column, including composite joins.

    Args:
        graph: DataHub's server.
        dataset: URN of the column's dataset.
        column: Plain path or DataHub field path of the column.
        min_score: Lowest joinability of suggestions; joins that people accepted or wrote are always
            listed.
        hidden: Whether hidden joins are listed.

    Returns:
        Joins, best first, with the dataset on the left.
    """
    path = plain_path(column)
    joins = joins_of_dataset(graph, dataset, min_score=min_score, hidden=hidden)
    return [join for join in joins if path in join.paths_in(join.left.table)]


def all_joins(graph: "DataHubGraph", *, hidden: bool = False) -> list[Join]:
    """List the joins in the catalog, best first; hidden joins are left out unless `hidden` is set.

    Args:
        graph: DataHub's server.
        hidden: Whether hidden joins are listed.

    Returns:
        Joins, best first.
    """
    joins = [*read_joins(_scroll(graph, "all_joins", hidden=hidden))]
    pairs = _without_relationship(graph, read_decided_pairs(graph), joins, hidden=hidden)
    return best_first([*joins, *pairs])


def catalog_reader(graph: "DataHubGraph") -> ReadJoins:
    """Return a function that reads the joins of some tables from the catalog."""

    def read_page(datasets: Collection[str]) -> list[Join]:
        found = [*read_joins(_scroll(graph, "joins_of_datasets", datasets=datasets))]
        pairs = read_decided_pairs(graph, datasets)
        return [*found, *_without_relationship(graph, pairs, found, hidden=False)]

    def read(tables: Collection[TableId]) -> Iterable[Join]:
        urns = [dataset_urn(table) for table in tables]
        pages = (urns[at : at + _DATASETS] for at in range(0, len(urns), _DATASETS))
        # A join of two tables may be found with each of them.
        return {join.urn: join for page in pages for join in read_page(page)}.values()

    return read


def _scroll(graph: "DataHubGraph", name: str, **variables: Any) -> Iterator[GraphQLObject]:  # noqa: ANN401 - JSON
    cursor = None
    while True:
        data = execute(graph, name, cursor=cursor, **variables)
        with parsing(name):
            page = data["scrollAcrossEntities"]
            entities = [result["entity"] for result in page["searchResults"]]
            cursor = page["nextScrollId"]
        yield from entities
        if not cursor or not entities:
            return


def joins_in_band(graph: "DataHubGraph", band: str) -> list[Join]:
    """List the suggested joins in a confidence band, such as `high`.

    Args:
        graph: DataHub's server.
        band: `high`, `medium`, `low` or `unverified`.

    Returns:
        Joins that are not hidden, best first.
    """
    return best_first(read_joins(search(graph, "joins_in_band", tags=[band_urn(band)])))


def joinable_columns(graph: "DataHubGraph", column: str, *, namespace: str) -> list[ColumnId]:
    """List the columns that join with a given column, best first, as its structured property does.

    Args:
        graph: DataHub's server.
        column: URN of the column, with its DataHub field path.
        namespace: Namespace of the structured properties.

    Returns:
        Columns, best first; empty if the property is not set.
    """
    data = execute(graph, "joinable_columns", column=column)
    with parsing("joinable_columns"):
        values = property_values(data["entity"], property_urn(namespace, JOINABLE_WITH))
        return [*filter(None, (parse_column(value["stringValue"]) for value in values))]


def columns_above(
    graph: "DataHubGraph", score: float, *, namespace: str
) -> list[tuple[ColumnId, float]]:
    """List the columns whose best join has at least a given joinability.

    Args:
        graph: DataHub's server.
        score: Lowest joinability.
        namespace: Namespace of the structured properties.

    Returns:
        Columns and the joinability of their best joins, best first.
    """
    urn = property_urn(namespace, BEST_JOIN_SCORE)
    field = f"structuredProperties.{namespace}.{BEST_JOIN_SCORE}"
    entities = search(graph, "columns_above", field=field, score=str(score))
    with parsing("columns_above"):
        return [
            (column, value["numberValue"])
            for entity in entities
            for value in property_values(entity, urn)
            if (column := parse_column(entity["urn"]))
        ]


def statements_of_joins(graph: "DataHubGraph", joins: Iterable[Join]) -> dict[str, Statement]:
    """Read the SQL of joins from the catalog, with its dialect."""
    # A run wrote each statement after it had returned the rows that the evidence promises, unless a
    # person has edited it since.
    urns = {query_urn(join.urn): join.urn for join in joins}
    found = _read_entities(graph, "sql_of_joins", "queries", urns)
    with parsing("sql_of_joins"):
        statements = {urns[each["urn"]]: _statement(each) for each in found}
    return {urn: statement for urn, statement in statements.items() if statement.sql}


def _read_entities(
    graph: "DataHubGraph", name: str, variable: str, urns: Iterable[str]
) -> list[GraphQLObject]:
    """Read the entities that the user may see, in several requests if necessary."""
    rest, entities = iter(urns), list[GraphQLObject]()
    while page := list(islice(rest, _PAGE)):
        data = execute(graph, name, **{variable: page})
        with parsing(name):
            entities += filter(None, data["entities"])
    return entities


def _statement(entity: GraphQLObject) -> Statement:
    """Return the SQL of a `query` entity; none if a run withdrew the entity."""
    properties = entity.get("properties") or {}
    marks = {entry["key"]: entry["value"] for entry in properties.get("customProperties") or ()}
    if not properties or WITHDRAWN_BY in marks:
        return Statement()
    return Statement(
        sql=str(properties["statement"]["value"]), dialect=str(marks.get(SQL_DIALECT) or "")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSummary:
    """The title of a dataset, and the number of its columns."""

    title: str = ""
    columns: int | None = None


def read_dataset_summaries(graph: "DataHubGraph", urns: Iterable[str]) -> dict[str, DatasetSummary]:
    """Read the title and the number of columns of each dataset that the user may see, by URN."""
    found = _read_entities(graph, "describe_datasets", "datasets", urns)
    with parsing("describe_datasets"):
        return {each["urn"]: _summarize(each) for each in found}


def _summarize(entity: GraphQLObject) -> DatasetSummary:
    schema = entity.get("schemaMetadata")
    return DatasetSummary(
        title=(entity.get("properties") or {}).get("name") or "",
        columns=len(schema["fields"]) if schema else None,
    )


def read_columns(graph: "DataHubGraph", urn: str) -> list[str]:
    """Read the plain paths of a dataset's columns; none if DataHub does not know them."""
    data = execute(graph, "describe_datasets", datasets=[urn])
    with parsing("describe_datasets"):
        schemas = [entity.get("schemaMetadata") for entity in data["entities"] if entity]
        fields = [field for schema in schemas if schema for field in schema["fields"]]
        return [plain_path(field["fieldPath"]) for field in fields]


def signed_in_user(graph: "DataHubGraph") -> str:
    """Return the URN of the user to whom the client's token belongs."""
    data = execute(graph, "signed_in")
    with parsing("signed_in"):
        return str(data["me"]["corpUser"]["urn"])
