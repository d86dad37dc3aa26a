import json
from collections.abc import Callable

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    DataPlatformInstanceClass,
    DatasetPropertiesClass,
    ForeignKeyConstraintClass,
    SchemaMetadataClass,
    StatusClass,
)

from datahub_hyperjoin.catalog.datasets import Dataset, dataset_of, read_datasets
from datahub_hyperjoin.catalog.entities import Aspects, NoteSkipped, log_skipped
from datahub_hyperjoin.catalog.scope import PlatformInstance
from datahub_hyperjoin.catalog_facts import ForeignKey
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, DataType, TableId
from gms import Gms
from gms.clients import NEEDS_SCROLLING

ORDERS, LINES = TableId("postgres", "shop.public.orders"), TableId("postgres", "shop.public.lines")
Describe = Callable[..., SchemaMetadataClass]
STRUCT = "[version=2.0].[type=struct]"


def read(
    graph: DataHubGraph, *, instance: str | None = None, warn: NoteSkipped = log_skipped
) -> list[Dataset]:
    postgres = PlatformInstance(platform="postgres", env="PROD", instance=instance)
    return read_datasets(graph, [postgres], warn=warn)


def put(gms: Gms, table: TableId, schema: SchemaMetadataClass) -> None:
    gms.put(dataset_urn(table), schema)


def foreign_key(
    name: str, sources: list[ColumnId], targets: list[ColumnId]
) -> ForeignKeyConstraintClass:
    return ForeignKeyConstraintClass(
        name=name,
        sourceFields=[column_urn(column) for column in sources],
        foreignFields=[column_urn(column) for column in targets],
        foreignDataset=dataset_urn(ORDERS),
    )


def test_datasets_are_sorted_and_have_columns(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    put(gms, ORDERS, describe("id", "customer"))
    put(gms, LINES, describe("order"))
    gms.put(dataset_urn(ORDERS), DatasetPropertiesClass(name="Orders"))
    assert read(graph) == [
        Dataset(table=LINES, title="lines", columns=(("order", "order"),), types=(DataType.TEXT,)),
        Dataset(
            table=ORDERS,
            title="Orders",
            columns=(("id", "id"), ("customer", "customer")),
            types=(DataType.TEXT, DataType.TEXT),
        ),
    ]


def test_columns_have_plain_paths_and_field_paths(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    paths = [
        f"{STRUCT}.[type=struct].address",
        f"{STRUCT}.[type=struct].address.[type=string].city",
        f"{STRUCT}.[type=union].[type=string].code",
        f"{STRUCT}.[type=union].[type=int].code",
        STRUCT,
    ]
    put(gms, ORDERS, describe(*paths))
    (orders,) = read(graph)
    assert orders.columns == (("address", paths[0]), ("address.city", paths[1]), ("code", paths[2]))


def test_a_primary_key_is_named_or_marked(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    id_path = f"{STRUCT}.[type=int].id"
    put(gms, LINES, describe(id_path, "order", primaryKeys=[id_path, "order"]))
    marked = describe("id", "customer", "[version=2.0].[key=True].[type=string].key")
    for field in (marked.fields[0], marked.fields[2]):
        field.isPartOfKey = True
    put(gms, ORDERS, marked)
    lines, orders = read(graph)
    assert lines.primary_key == ("id", "order")
    assert orders.primary_key == ("id",)


def test_foreign_keys_name_their_pairs(gms: Gms, graph: DataHubGraph, describe: Describe) -> None:
    number = ColumnId(LINES, f"{STRUCT}.[type=int].order")
    keys = [foreign_key("fk_order", [number], [ColumnId(ORDERS, "id (new)")])]
    put(gms, LINES, describe("order", foreignKeys=keys))
    (lines,) = read(graph)
    pair = ColumnId(LINES, "order"), ColumnId(ORDERS, "id (new)")
    assert lines.foreign_keys == (ForeignKey(name="fk_order", pairs=(pair,)),)


def test_an_invalid_foreign_key_is_reported_and_skipped(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    order, target = ColumnId(LINES, "order"), ColumnId(ORDERS, "id")
    nowhere = foreign_key("nowhere", [order], [target])
    nowhere.foreignFields = ["urn:li:tag:id"]
    keys = [foreign_key("uneven", [order], [target, target]), nowhere]
    whole = foreign_key("whole", [order], [target])
    put(gms, LINES, describe("order", foreignKeys=[*keys, whole]))
    told: list[tuple[str, str]] = []

    def warn(urn: str, reason: str) -> None:
        told.append((urn, reason))

    (lines,) = read(graph, warn=warn)
    assert [key.name for key in lines.foreign_keys] == ["whole"]
    assert [urn for urn, _ in told] == [dataset_urn(LINES)] * 2
    assert told[0][1] == "its foreign key 'uneven' cannot be read: 1 columns refer to 2"
    assert told[1][1].startswith("its foreign key 'nowhere' cannot be read: Passed an urn of type")


def test_an_invalid_urn_is_reported(describe: Describe) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:s3,shop/(new).csv,PROD)"
    told: list[tuple[str, str]] = []

    def warn(urn: str, reason: str) -> None:
        told.append((urn, reason))

    aspects: Aspects = {"schemaMetadata": (describe("id"), None)}
    assert dataset_of(urn, aspects, warn=warn) is None
    reason = "its URN cannot be read: DatasetUrn name contains reserved characters"
    assert told == [(urn, reason)]


@NEEDS_SCROLLING
def test_a_malformed_dataset_is_reported_and_skipped(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    schema = describe("id").to_obj()
    schema["fields"][0]["fieldPath"] = {"path": "id"}
    entity = {"urn": dataset_urn(ORDERS), "schemaMetadata": {"value": schema}}
    gms.reply("entity/scroll", json.dumps({"entities": [entity]}))
    told: list[tuple[str, str]] = []
    assert read(graph, warn=lambda *words: told.append(words)) == []
    ((urn, reason),) = told
    assert urn == dataset_urn(ORDERS)
    assert reason.startswith("it cannot be parsed: AttributeError: 'dict' object has no attribute")


def test_skipped_entities_are_logged_by_default(
    gms: Gms, graph: DataHubGraph, describe: Describe, caplog: pytest.LogCaptureFixture
) -> None:
    keys = [foreign_key("uneven", [ColumnId(LINES, "order")], [])]
    put(gms, LINES, describe("order", foreignKeys=keys))
    read(graph)
    assert f"{dataset_urn(LINES)} is skipped: its foreign key 'uneven'" in caplog.text


def test_removed_datasets_and_those_without_schema_are_ignored(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    put(gms, ORDERS, describe("id"))
    gms.put(dataset_urn(ORDERS), StatusClass(removed=True))
    gms.put(dataset_urn(LINES), DatasetPropertiesClass(name="Lines"))
    assert read(graph) == []


def test_only_datasets_of_the_platform_and_environment_are_read(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    put(gms, ORDERS, describe("id"))
    put(gms, TableId("mysql", "orders"), describe("id"))
    put(gms, TableId("postgres", "orders", "DEV"), describe("id"))
    assert [dataset.table for dataset in read(graph)] == [ORDERS]


def test_an_instance_is_recognised_by_aspect_or_else_by_name(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    platform = "urn:li:dataPlatform:postgres"
    instances = {"stated": "eu", "eu.other": "us", "eu.empty": None}
    names = [*instances, "eu.named", "europe.orders"]
    for name in names:
        put(gms, TableId("postgres", name), describe("id"))
    for name, instance in instances.items():
        urn = f"urn:li:dataPlatformInstance:({platform},{instance})" if instance else None
        stated = DataPlatformInstanceClass(platform=platform, instance=urn)
        gms.put(dataset_urn(TableId("postgres", name)), stated)
    found = [dataset.table.name for dataset in read(graph, instance="eu")]
    assert found == ["eu.empty", "eu.named", "stated"]
    assert len(read(graph)) == len(names)


def test_several_platform_instances_take_one_search(
    gms: Gms, graph: DataHubGraph, describe: Describe
) -> None:
    tables = [
        TableId("hive", "orders"),
        TableId("mysql", "orders"),
        TableId("postgres", "eu.orders"),
        TableId("postgres", "eu.orders", "DEV"),
        TableId("postgres", "us.orders"),
        TableId("postgres", "orders"),
    ]
    for table in tables:
        put(gms, table, describe("id"))
    wanted = [
        PlatformInstance(platform="hive", env="PROD"),
        PlatformInstance(platform="postgres", env="PROD", instance="us"),
        PlatformInstance(platform="postgres", env="PROD", instance="eu"),
    ]
    before = len(gms.requests)
    read_datasets(graph, wanted[:1])
    of_one = len(gms.requests) - before
    found = [dataset.table for dataset in read_datasets(graph, wanted)]
    assert found == [tables[0], tables[2], tables[4]]
    assert len(gms.requests) - before == 2 * of_one
