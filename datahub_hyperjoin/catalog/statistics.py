"""Read column statistics from the dataset profiles in DataHub."""

from collections.abc import Iterable, Iterator
from typing import Any

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.catalog.entities import batches, reading
from datahub_hyperjoin.catalog_facts import ColumnStatistics
from datahub_hyperjoin.metadata.urns import dataset_urn, plain_path, table_id
from datahub_hyperjoin.tables import ColumnId, TableId

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
"""GraphQL operation for the newest profile of the whole table. The operation filters by partition
because servers up to 1.7 omit `partitionSpec` from their responses."""

_BATCH = 100


def _share(part: float, whole: float) -> float:
    # Profiles may hold estimates, so that a column has more distinct values than rows.
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def statistics_of(rows: int | None, field: dict[str, Any]) -> ColumnStatistics | None:
    """Compute a column's statistics from its profile in DataHub."""
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
    # Members of a union have the same path; only the first one with statistics is used.
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
    """Read column statistics from the newest full profile of each table."""
    # A full profile covers all rows: profiles of a partition, a sample or a SQL query are
    # ignored. A request covers up to a hundred tables.
    statistics: dict[ColumnId, ColumnStatistics] = {}
    for urns in batches(map(dataset_urn, tables), _BATCH):
        with reading(graph, "Profiles of datasets"):
            response = graph.execute_graphql(LATEST_PROFILES, {"urns": urns})
            for entity in response["entities"] or ():
                for profile in (entity or {}).get("datasetProfiles") or ():
                    statistics.update(_of_table(table_id(entity["urn"]), profile))
    return statistics
