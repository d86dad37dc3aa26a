"""What the profiles that DataHub already has say of columns, so that no data need be read."""

from collections.abc import Iterable, Iterator
from typing import Any

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.catalog.answers import reading
from datahub_hyperjoin.catalog.bulk import batches
from datahub_hyperjoin.catalog_facts import ColumnStatistics
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import dataset_urn, plain_path, table_id

LATEST_PROFILES = """
query hyperjoinLatestProfiles($urns: [String!]!) {
  entities(urns: $urns) {
    urn
    ... on Dataset {
      datasetProfiles(
        limit: 1
        filter: {
          and: [
            {
              field: "partitionSpec.partition"
              values: ["FULL_TABLE_SNAPSHOT"]
              condition: EQUAL
            }
          ]
        }
      ) {
        rowCount
        fieldProfiles {
          fieldPath
          uniqueCount
          uniqueProportion
          nullCount
          nullProportion
        }
      }
    }
  }
}
"""
"""The newest profile of the whole table. What a profile is of can be asked for, and not be told:
DataHub's servers, up to 1.7, leave `partitionSpec` out of their answers."""

_BATCH = 100


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def statistics_of(rows: int | None, field: dict[str, Any]) -> ColumnStatistics | None:
    """What a column's profile says, from its counts, or from its proportions where those lack.

    Args:
        rows: Rows of the table, if the profile says so.
        field: The column's profile, as GraphQL gives it.

    Returns:
        None, if the profile does not say enough, or if the table was empty.

    >>> statistics_of(100, {"uniqueCount": 45, "nullCount": 10})
    ColumnStatistics(uniqueness=0.5, completeness=0.9)
    >>> statistics_of(None, {"uniqueProportion": 0.5, "nullProportion": 0.0})
    ColumnStatistics(uniqueness=0.5, completeness=1.0)
    >>> statistics_of(100, {"uniqueCount": 45}) is None
    True
    """
    if rows == 0:
        return None
    distinct, nulls = field.get("uniqueCount"), field.get("nullCount")
    uniqueness, missing = field.get("uniqueProportion"), field.get("nullProportion")
    if rows is not None and nulls is not None:
        missing = _share(nulls, rows)
        if distinct is not None:
            uniqueness = _share(distinct, rows - nulls)
    if uniqueness is None or missing is None:
        return None
    return ColumnStatistics(uniqueness=_share(uniqueness, 1), completeness=_share(1 - missing, 1))


def _of_table(
    table: TableId, profile: dict[str, Any]
) -> Iterator[tuple[ColumnId, ColumnStatistics]]:
    """Statistics by column; of the variants of a union, the first."""
    seen: set[str] = set()
    for field in profile.get("fieldProfiles") or ():
        path = plain_path(field["fieldPath"])
        statistics = statistics_of(profile.get("rowCount"), field)
        if statistics and path not in seen:
            seen.add(path)
            yield ColumnId(table, path), statistics


def read_statistics(
    graph: DataHubGraph, tables: Iterable[TableId]
) -> dict[ColumnId, ColumnStatistics]:
    """What the newest profile of each whole table says, with one request for a hundred tables.

    Profiles of one partition, of a sample or of a query do not count.

    Args:
        graph: The client.
        tables: Which tables.

    Returns:
        Only the columns of which a profile says enough.

    Raises:
        UnreadableCatalogError: The server gives no answer.
    """
    found: dict[ColumnId, ColumnStatistics] = {}
    for urns in batches(map(dataset_urn, tables), _BATCH):
        with reading(graph, "Profiles of datasets"):
            answer = graph.execute_graphql(LATEST_PROFILES, {"urns": urns})
        for entity in answer["entities"] or ():
            for profile in (entity or {}).get("datasetProfiles") or ():
                found.update(_of_table(table_id(entity["urn"]), profile))
    return found
