"""Test that joins of other sources' semantic models are read as declared joins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from avrogen.dict_wrapper import DictWrapper
from datahub.metadata import schema_classes
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    FineGrainedLineageClass,
    StatusClass,
    SubTypesClass,
    UpstreamClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.catalog.catalog import declared_keys
from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.read import read_catalog
from datahub_hyperjoin.catalog.scope import DatasetFilter, PlatformInstance, Scope
from datahub_hyperjoin.catalog.semantic_models import (
    ModelledJoin,
    read_modelled_joins,
    with_modelled_keys,
)
from datahub_hyperjoin.catalog.written_state import History
from datahub_hyperjoin.catalog_facts import ForeignKey
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.metadata.urns import NAMESPACE, column_urn, dataset_urn, semantic_model_urn
from datahub_hyperjoin.tables import ColumnId, Table, TableId, in_order, pair_of
from gms import Gms
from lakes.lake import describe

# Clients before release 1.7 have no class for the aspects.
Info: Any = getattr(schema_classes, "SemanticModelInfoClass", None)
pytestmark = pytest.mark.skipif(Info is None, reason="the client has no semantic models")

MODEL = "urn:li:semanticModel:(urn:li:dataPlatform:snowflake,shop.public,sales)"
ORDERS, CUSTOMERS = (
    TableId("snowflake", f"shop.public.{name}") for name in ("orders", "customers")
)
CUSTOMER, ID = ColumnId(ORDERS, "customer_id"), ColumnId(CUSTOMERS, "id")
REGION, CODE = ColumnId(ORDERS, "region"), ColumnId(CUSTOMERS, "region")


def known(table: TableId, *columns: str, keys: Sequence[ForeignKey] = ()) -> Dataset:
    paths = tuple((column, column) for column in columns)
    return Dataset(table=table, title=table.name, columns=paths, foreign_keys=tuple(keys))


DATASETS = {
    ORDERS: known(ORDERS, "customer_id", "region"),
    CUSTOMERS: known(CUSTOMERS, "id", "region"),
}


def logical(alias: str) -> TableId:
    return TableId("snowflake", f"shop.public.sales.{alias}")


Told = list[tuple[str, ...]]
Relationship: Any = getattr(schema_classes, "SemanticModelRelationshipClass", None)


def relates(
    columns: Sequence[str], keys: Sequence[str], cardinality: str | None = "N_ONE"
) -> DictWrapper:
    """Make a relationship of the model, from the alias `o` to the alias `c`."""
    relationship: DictWrapper = Relationship(
        name="placed_by",
        from_="o",
        fromColumns=[*columns],
        to="c",
        toColumns=[*keys],
        cardinality=cardinality,
    )
    return relationship


def put_member(
    gms: Gms,
    alias: str,
    table: TableId,
    columns: dict[str, str] | None = None,
    model: str = MODEL,
) -> None:
    """Put a logical dataset of the model, as DataHub's Snowflake source writes it."""
    urn = dataset_urn(logical(alias))
    member: Any = schema_classes.SemanticModelPropertiesClass
    edges = [
        FineGrainedLineageClass(
            upstreamType="FIELD_SET",
            downstreamType="FIELD",
            upstreams=[column_urn(ColumnId(table, path))],
            downstreams=[column_urn(ColumnId(logical(alias), name))],
        )
        for name, path in (columns or {}).items()
    ]
    lineage = UpstreamLineageClass(
        upstreams=[UpstreamClass(dataset=dataset_urn(table), type="VIEW")],
        fineGrainedLineages=edges or None,
    )
    gms.put(urn, member(alias=alias, semanticModel=model), pipeline="snowflake")
    gms.put(urn, lineage, pipeline="snowflake")
    gms.put(urn, SubTypesClass(["Semantic Model Dataset"]), pipeline="snowflake")


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as double:
        put_member(double, "o", ORDERS, {"buyer": "customer_id", "area": "region"})
        put_member(double, "c", CUSTOMERS)
        yield double


def read(
    gms: Gms,
    *relationships: DictWrapper,
    model: str = MODEL,
    datasets: Mapping[TableId, Dataset] = DATASETS,
    told: Told | None = None,
) -> list[ModelledJoin]:
    """Put a model with the given relationships, and read it."""
    gms.put(model, Info(name="Sales", relationships=[*relationships]), pipeline="snowflake")

    def warn(*words: str) -> None:
        assert told is not None, words
        told.append(words)

    return [*read_modelled_joins(gms.graph(), datasets, warn).values()]


@pytest.mark.parametrize(
    ("cardinality", "referring", "referenced"),
    [
        ("N_ONE", CUSTOMER, ID),
        ("ONE_ONE", CUSTOMER, ID),
        ("ONE_N", ID, CUSTOMER),
    ],
)
def test_a_relationship_to_a_key_is_a_foreign_key(
    gms: Gms, cardinality: str, referring: ColumnId, referenced: ColumnId
) -> None:
    [join] = read(gms, relates(["buyer"], ["id"], cardinality))
    name = "placed_by of the semantic model Sales"
    assert join.key == ForeignKey(name=name, pairs=((referring, referenced),))


@pytest.mark.parametrize("cardinality", ["N_N", None])
def test_a_relationship_without_a_key_is_stated_by_its_model(
    gms: Gms, cardinality: str | None
) -> None:
    [join] = read(gms, relates(["buyer"], ["id"], cardinality))
    assert (join.key, join.model, join.pairs) == (None, MODEL, ((CUSTOMER, ID),))


def test_a_relationship_of_several_columns_is_one_key(gms: Gms) -> None:
    [join] = read(gms, relates(["buyer", "area"], ["id", "region"]))
    assert join.key
    assert join.key.pairs == ((CUSTOMER, ID), (REGION, CODE))
    [columns] = read_modelled_joins(gms.graph(), DATASETS, print)
    assert columns == in_order(join.pairs)


def test_columns_are_spelled_as_the_run_spells_them(gms: Gms) -> None:
    [join] = read(gms, relates(["buyer"], ["ID"]))
    assert join.pairs == ((CUSTOMER, ID),)


def test_logical_datasets_lead_to_their_tables_although_the_run_knows_them(gms: Gms) -> None:
    datasets = {**DATASETS, logical("o"): known(logical("o"), "buyer", "area")}
    [join] = read(gms, relates(["buyer"], ["id"]), datasets=datasets)
    assert join.pairs == ((CUSTOMER, ID),)


def test_two_datasets_of_one_alias_are_none(gms: Gms) -> None:
    put_member(gms, "c", CUSTOMERS)
    again: Any = schema_classes.SemanticModelPropertiesClass
    gms.put(dataset_urn(CUSTOMERS), again(alias="c", semanticModel=MODEL))
    assert read(gms, relates(["buyer"], ["id"]), told=[]) == []


def test_lineage_may_take_several_steps(gms: Gms) -> None:
    cube = TableId("cube", "orders")
    put_member(gms, "o", cube, {"buyer": "buyerId"})
    edge = FineGrainedLineageClass(
        upstreamType="FIELD_SET",
        downstreamType="FIELD",
        upstreams=[column_urn(CUSTOMER)],
        downstreams=[column_urn(ColumnId(cube, "buyerId"))],
    )
    lineage = UpstreamLineageClass(upstreams=[], fineGrainedLineages=[edge])
    gms.put(dataset_urn(cube), lineage)
    [join] = read(gms, relates(["buyer"], ["id"]))
    assert join.pairs == ((CUSTOMER, ID),)


def test_lineage_in_a_circle_leads_nowhere(gms: Gms) -> None:
    put_member(gms, "o", logical("o"))
    put_member(gms, "c", logical("o"))
    assert read(gms, relates(["buyer"], ["id"])) == []


def test_a_model_may_list_tables_themselves(gms: Gms) -> None:
    model = "urn:li:semanticModel:(urn:li:dataPlatform:dbt,shop,finance)"
    listed = [dataset_urn(ORDERS), dataset_urn(CUSTOMERS)]
    gms.put(dataset_urn(ORDERS), DatasetPropertiesClass(name="o"))
    gms.put(dataset_urn(CUSTOMERS), StatusClass(removed=False))
    relationship: Any = relates(["customer_id"], ["id"])
    relationship.to = CUSTOMERS.name
    gms.put(model, Info(name="Finance", datasets=listed, relationships=[relationship]))
    [join] = read_modelled_joins(gms.graph(), DATASETS, print).values()
    assert (join.model, join.pairs) == (model, ((CUSTOMER, ID),))


@pytest.mark.parametrize(
    "relationship",
    [
        lambda: relates(["buyer"], ["number"]),
        lambda: relates(["buyer", "area"], ["id"]),
        lambda: relates(["buyer", "total"], ["id", "region"]),
    ],
)
def test_a_relationship_that_leads_out_of_the_run_is_named_once(
    gms: Gms, relationship: Callable[[], DictWrapper]
) -> None:
    told: Told = []
    assert read(gms, relationship(), relationship(), told=told) == []
    [(title, _, which)] = told
    assert title == "Joins of semantic models not read"
    name = "placed_by of the semantic model Sales"
    assert which == f"1: {name}"


def test_a_side_without_a_dataset_is_named(gms: Gms) -> None:
    told: list[tuple[str, ...]] = []
    assert (
        read(gms, relates(["buyer"], ["id"]), datasets={ORDERS: DATASETS[ORDERS]}, told=told) == []
    )
    assert len(told) == 1


def test_models_that_do_not_concern_the_run_are_not_named(gms: Gms) -> None:
    other = TableId("postgres", "people")
    assert read(gms, relates(["buyer"], ["id"]), datasets={other: known(other, "id")}) == []


@pytest.mark.parametrize("hidden", [False, True])
def test_our_own_and_hidden_models_are_not_read(gms: Gms, *, hidden: bool) -> None:
    model = MODEL if hidden else semantic_model_urn(ORDERS)
    for alias, table in (("o", ORDERS), ("c", CUSTOMERS)):
        put_member(gms, alias, table, model=model)
    gms.put(model, StatusClass(removed=hidden))
    assert read(gms, relates(["customer_id"], ["id"]), model=model) == []


@pytest.mark.parametrize("gone", ["semanticModel", "semanticModelInfo"])
def test_servers_without_semantic_models_have_none(gone: str) -> None:
    with Gms("1.6.0", without=[gone]) as older:
        assert read_modelled_joins(older.graph(), DATASETS, print) == {}
        assert [each.path for each in older.requests] == ["/config"]


def test_the_keys_of_a_model_stand_beside_those_of_the_schema(gms: Gms) -> None:
    own = ForeignKey(name="fk", pairs=((CUSTOMER, ID),))
    datasets = {**DATASETS, ORDERS: known(ORDERS, "customer_id", "region", keys=[own])}
    joins = read(gms, relates(["buyer"], ["id"]), relates(["area"], ["region"]))
    keys = declared_keys(with_modelled_keys(datasets, joins).values()).foreign
    assert keys == (own, ForeignKey(name=joins[1].name, pairs=((REGION, CODE),)))


def test_a_run_takes_the_joins_of_models_for_declared_or_stated(gms: Gms, tmp_path: Path) -> None:
    describe(gms, ORDERS.name, ["customer_id", "region"], platform="snowflake")
    describe(gms, CUSTOMERS.name, ["id", "region"], platform="snowflake")
    read(gms, relates(["buyer"], ["id"]), relates(["area"], ["region"], "N_N"))
    scope = Scope(
        instances=(PlatformInstance(platform="snowflake", env="PROD"),),
        dataset_filter=DatasetFilter(),
        known_only=True,
        max_queries=0,
        namespace=NAMESPACE,
    )
    file = File(uri=str(tmp_path), format="csv")
    tables = [Table(id=id_, title=id_.name, location=file, size=1) for id_ in (ORDERS, CUSTOMERS)]
    catalog = read_catalog(gms.graph(), tables, scope=scope, history=History(), warn=print)
    facts = catalog.facts
    assert facts.of(pair_of(CUSTOMER, ID)).declared == "placed_by of the semantic model Sales"
    assert facts.referenced == {pair_of(CUSTOMER, ID): ID}
    assert facts.of(pair_of(REGION, CODE)).related == MODEL
    assert facts.connected == {pair_of(CUSTOMER, ID), pair_of(REGION, CODE)}
