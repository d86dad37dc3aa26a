import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    DatasetFieldProfileClass,
    DatasetProfileClass,
    ForeignKeyConstraintClass,
    PartitionSpecClass,
    PartitionTypeClass,
    SchemaMetadataClass,
)
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog.catalog import declared_keys
from datahub_hyperjoin.catalog.datasets import read_datasets
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.catalog.statistics import read_statistics, statistics_of
from datahub_hyperjoin.catalog_facts import ColumnStatistics
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from gms import Gms

Describe = Callable[..., SchemaMetadataClass]
ORDERS, LINES = TableId("postgres", "shop.orders"), TableId("postgres", "shop.lines")
ID = ColumnId(ORDERS, "id")
HALF = PartitionSpecClass(partition="2026-11-01", type=PartitionTypeClass.PARTITION)
SAMPLE = PartitionSpecClass(partition="SAMPLE (10 rows)", type=PartitionTypeClass.QUERY)

VALUES = st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=40)
NUMBERS = st.none() | st.integers(-5, 50)
SHARES = st.none() | st.floats(-1, 2)


def counted(values: list[int | None]) -> tuple[int, int, int]:
    """Count the rows, the non-null rows and the distinct values of a column."""
    filled = [value for value in values if value is not None]
    return len(values), len(filled), len(set(filled))


@given(values=VALUES)
def test_statistics_agree_with_counting_the_values(values: list[int | None]) -> None:
    rows, filled, distinct = counted(values)
    said = statistics_of(rows, {"uniqueCount": distinct, "nullCount": rows - filled})
    assert said is not None
    assert said.completeness == pytest.approx(filled / rows)
    assert said.uniqueness == pytest.approx(distinct / filled if filled else 0.0)


@given(values=VALUES.filter(any))
def test_proportions_replace_missing_counts(values: list[int | None]) -> None:
    rows, filled, distinct = counted(values)
    shares = {"uniqueProportion": distinct / filled, "nullProportion": 1 - filled / rows}
    counts = {"uniqueCount": distinct, "nullCount": rows - filled}
    by_shares, by_counts = statistics_of(None, shares), statistics_of(rows, counts)
    assert by_shares is not None
    assert by_counts is not None
    assert math.isclose(by_shares.uniqueness, by_counts.uniqueness)
    assert math.isclose(by_shares.completeness, by_counts.completeness, abs_tol=1e-12)


@given(
    rows=NUMBERS,
    field=st.fixed_dictionaries(
        {
            "uniqueCount": NUMBERS,
            "nullCount": NUMBERS,
            "uniqueProportion": SHARES,
            "nullProportion": SHARES,
        }
    ),
)
def test_statistics_are_always_between_0_and_1(rows: int | None, field: dict[str, Any]) -> None:
    said = statistics_of(rows, field)
    if said is not None:
        assert 0 <= said.uniqueness <= 1
        assert 0 <= said.completeness <= 1


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        (None, {"uniqueCount": 5, "nullCount": 0}),
        (10, {"uniqueCount": 5}),
        (10, {"nullCount": 5}),
        (10, {"uniqueProportion": 0.5}),
        (0, {"uniqueCount": 0, "nullCount": 0, "uniqueProportion": 0.0, "nullProportion": 0.0}),
        (10, {}),
    ],
)
def test_an_incomplete_profile_has_no_statistics(rows: int | None, field: dict[str, Any]) -> None:
    assert statistics_of(rows, field) is None


def test_counts_precede_proportions() -> None:
    field = {"uniqueCount": 8, "nullCount": 2, "uniqueProportion": 0.1, "nullProportion": 0.1}
    said = statistics_of(10, field)
    assert said is not None
    assert (said.uniqueness, said.completeness) == (1.0, 0.8)


def profile(
    *, time_: int = 1, distinct: int = 10, part: PartitionSpecClass | None = None
) -> DatasetProfileClass:
    """Return the profile of a table with ten rows and one column, `id`."""
    fields = [DatasetFieldProfileClass(fieldPath="id", uniqueCount=distinct, nullCount=0)]
    return DatasetProfileClass(
        timestampMillis=time_, rowCount=10, fieldProfiles=fields, partitionSpec=part
    )


def test_the_newest_profile_of_the_whole_table_counts(gms: Gms, graph: DataHubGraph) -> None:
    urn = dataset_urn(ORDERS)
    for time_, distinct in ((1, 1), (3, 5), (2, 2)):
        gms.put(urn, profile(time_=time_, distinct=distinct))
    assert read_statistics(graph, [ORDERS]) == {
        ID: ColumnStatistics(uniqueness=0.5, completeness=1.0)
    }


@pytest.mark.parametrize("part", [HALF, SAMPLE], ids=["a partition", "a sample"])
def test_the_profile_of_a_part_is_ignored(
    gms: Gms, graph: DataHubGraph, part: PartitionSpecClass
) -> None:
    gms.put(dataset_urn(LINES), profile(part=part))
    assert read_statistics(graph, [LINES]) == {}
    gms.put(dataset_urn(ORDERS), profile(time_=1, distinct=5))
    gms.put(dataset_urn(ORDERS), profile(time_=2, distinct=1, part=part))
    assert read_statistics(graph, [ORDERS]) == {
        ID: ColumnStatistics(uniqueness=0.5, completeness=1.0)
    }


def test_statistics_have_plain_paths_and_skip_incomplete_profiles(
    gms: Gms, graph: DataHubGraph
) -> None:
    path = "[version=2.0].[type=struct].[type=struct].address.[type=string].city"
    made = profile()
    made.fieldProfiles = [
        DatasetFieldProfileClass(fieldPath=path, uniqueCount=8, nullCount=2),
        DatasetFieldProfileClass(fieldPath="address.city", uniqueCount=1, nullCount=2),
        DatasetFieldProfileClass(fieldPath="id", nullCount=0),
    ]
    gms.put(dataset_urn(ORDERS), made)
    assert read_statistics(graph, [ORDERS]) == {
        ColumnId(ORDERS, "address.city"): ColumnStatistics(uniqueness=1.0, completeness=0.8)
    }


def test_tables_without_a_profile_have_no_statistics(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    gms.put(dataset_urn(ORDERS), describe("id"))
    assert read_statistics(graph, [ORDERS, LINES]) == {}
    empty = profile()
    empty.fieldProfiles = None
    gms.put(dataset_urn(ORDERS), empty)
    assert read_statistics(graph, [ORDERS, LINES]) == {}


def test_a_refusal_names_the_profiles(gms: Gms, graph: DataHubGraph) -> None:
    gms.fail("/api/graphql", status=403, message="not for you")
    message = r"^Profiles of datasets cannot be read from DataHub: 403.*not for you\. Check the"
    with pytest.raises(UnreadableCatalogError, match=message):
        read_statistics(graph, [ORDERS])


@pytest.mark.parametrize(
    "body",
    [
        "null",
        '{"data": {"profiles": []}}',
        '{"data": {"entities": [{"urn": "orders", "datasetProfiles": [{"fieldProfiles": [{}]}]}]}}',
        '{"data": {"entities": [{"datasetProfiles": [{"rowCount": 1}]}]}}',
    ],
)
def test_malformed_profiles_are_an_error_that_names_them(
    gms: Gms, graph: DataHubGraph, body: str
) -> None:
    gms.reply("/api/graphql", body)
    message = (
        "^Profiles of datasets cannot be read from DataHub: the response is not from DataHub's "
        "metadata service. Check the URL"
    )
    with pytest.raises(UnreadableCatalogError, match=message):
        read_statistics(graph, [ORDERS])


def _put_many(gms: Gms, describe: Describe, count: int) -> list[TableId]:
    """Store tables that each have seven columns, a primary key, a foreign key and a profile."""
    tables = [TableId("postgres", f"shop.table_{number:05}") for number in range(count)]
    names = ["id", "parent", *(f"column_{number}" for number in range(5))]
    for before, table in zip([tables[-1], *tables], tables, strict=False):
        key = ForeignKeyConstraintClass(
            name="fk_parent",
            sourceFields=[column_urn(ColumnId(table, "parent"))],
            foreignFields=[column_urn(ColumnId(before, "id"))],
            foreignDataset=dataset_urn(before),
        )
        made = profile()
        made.fieldProfiles = [
            DatasetFieldProfileClass(fieldPath=name, uniqueCount=10, nullCount=0) for name in names
        ]
        schema = describe(*names, primaryKeys=["id"], foreignKeys=[key])
        gms.put(dataset_urn(table), schema)
        gms.put(dataset_urn(table), made)
    return tables


@pytest.mark.slow
@pytest.mark.no_cover
def test_thousands_of_tables_are_read_in_seconds(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    count = 2_000
    tables = _put_many(gms, describe, count)
    before = len(gms.requests)
    start = time.process_time()
    datasets = read_datasets(graph, [PlatformInstance(platform="postgres", env="PROD")])
    keys = declared_keys(datasets)
    statistics = read_statistics(graph, tables)
    seconds, requests = time.process_time() - start, len(gms.requests) - before
    print(f"{count} tables: {seconds:.1f} s, {requests} requests")  # noqa: T201 - seen with -s
    assert (len(datasets), len(keys.unique), len(keys.foreign)) == (count, count, count)
    assert len(statistics) == 7 * count
    assert seconds < 12
    assert requests < 40
