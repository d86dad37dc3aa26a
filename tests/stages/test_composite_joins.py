"""Test that whole runs find composite joins, in files and from keys that databases declare."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.databases import read_database_keys
from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys, ForeignKey
from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Evidence, Join, Role, Verdict
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.metadata.relationships import columns_urn
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.stages.composite_joins import (
    find_composite_joins,
    with_composite_joins,
)
from datahub_hyperjoin.stages.pair_evidence import DataReader
from datahub_hyperjoin.tables import ColumnId, Table, TableId, pair_of
from engines.servers import Server, serving

NO_FACTS = CatalogFacts()
RANKING = RankingConfig()
Plain = tuple[str, str, list[tuple[str, str]]]


def column(path: str) -> ColumnId:
    table, _, name = path.rpartition(".")
    return ColumnId(TableId("file", table), name)


def write(folder: Path, name: str, columns: Mapping[str, Sequence[object]]) -> Table:
    rows = zip(*columns.values(), strict=True)
    file = folder / f"{name}.csv"
    file.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return Table(
        id=TableId("file", name),
        title=name,
        location=File(uri=str(file), format="csv"),
        size=file.stat().st_size,
        state=str(file.stat().st_mtime_ns),
    )


@pytest.fixture
def shop(tmp_path: Path) -> list[Table]:
    """Write order lines, and shipments that refer to some of them."""
    lines = [(order, line) for order in range(100, 160) for line in range(1, 2 + order % 4)]
    shipped = lines[::3] + lines[1::5]
    return [
        write(
            tmp_path,
            "lines",
            {
                "order_no": [order for order, _ in lines],
                "line_no": [line for _, line in lines],
                "quantity": [7 * order % 11 for order, _ in lines],
            },
        ),
        write(
            tmp_path,
            "shipments",
            {
                "shipment": range(9000, 9000 + len(shipped)),
                "order_no": [order for order, _ in shipped],
                "line_no": [line for _, line in shipped],
            },
        ),
        write(tmp_path, "orders", {"order_no": range(100, 160), "city": ["Oslo", "Bern"] * 30}),
    ]


def find(
    spark: SparkSession,
    tables: list[Table],
    facts: CatalogFacts = NO_FACTS,
    *,
    config: ProfileConfig | None = None,
    ranking: RankingConfig = RANKING,
    session: Session | None = None,
) -> tuple[Join, ...]:
    config = config or ProfileConfig()
    lake = Lake.from_tables(profile_lake(spark, tables, config))
    index = build_lake_index(lake, ModelConfig(), facts)
    reader = DataReader(index, tables, session or (lambda: spark), Store(config))
    return find_composite_joins(index, facts, reader=reader, ranking=ranking)


def plain(join: Join) -> Plain:
    return (
        str(join.left.table),
        str(join.right.table),
        [(left.path, right.path) for left, right in join.pairs],
    )


def test_a_reference_of_two_columns_is_found(spark: SparkSession, shop: list[Table]) -> None:
    [join] = find(spark, shop)
    assert plain(join) == (
        "lines",
        "shipments",
        [("order_no", "order_no"), ("line_no", "line_no")],
    )
    assert (join.role, join.referenced) == (Role.REFERENCE, column("lines.order_no"))
    assert join.measured.cardinality is Cardinality.ONE_MANY
    assert join.measured.right_containment == join.measured.right_fan_out == 1
    assert join.joinability > 0.8


def test_without_a_width_only_declared_keys_are_used(
    spark: SparkSession, shop: list[Table]
) -> None:
    single = RankingConfig(max_key_columns=1)
    assert find(spark, shop, ranking=single) == ()
    key = ForeignKey(
        name="fk_line",
        pairs=tuple(
            (column(f"shipments.{path}"), column(f"lines.{path}"))
            for path in ("line_no", "order_no")
        ),
    )
    facts = CatalogFacts(keys=DeclaredKeys(foreign=(key,)))
    [join] = find(spark, shop, facts, ranking=single)
    assert plain(join)[2] == [("order_no", "order_no"), ("line_no", "line_no")]
    assert join.catalog.declared == "fk_line"
    assert join.joinability > 0.98


def test_what_people_decided_about_the_whole_join_counts(
    spark: SparkSession, shop: list[Table]
) -> None:
    pairs = [
        pair_of(column(f"shipments.{path}"), column(f"lines.{path}"))
        for path in ("order_no", "line_no")
    ]
    urn = columns_urn(pairs)
    rejected = CatalogEvidence(verdict=Verdict.REJECTED)
    accepted = CatalogEvidence(verdict=Verdict.ACCEPTED, by="urn:li:corpuser:ada")
    assert find(spark, shop, CatalogFacts(composites={urn: rejected})) == ()
    [join] = find(spark, shop, CatalogFacts(composites={urn: accepted}))
    assert join.catalog == accepted
    for said in (rejected, accepted):
        [join] = find(spark, shop, CatalogFacts(pairs=dict.fromkeys(pairs, said)))
        assert join.catalog == CatalogEvidence()
    wider = columns_urn([*pairs, pair_of(column("shipments.shipment"), column("lines.quantity"))])
    [join] = find(spark, shop, CatalogFacts(composites={wider: rejected}))
    assert join.catalog == CatalogEvidence()


def test_unchanged_tables_are_not_read_again(
    spark_for_all: SparkSession, shop: list[Table], tmp_path: Path
) -> None:
    spark = spark_for_all
    config = ProfileConfig(store=tmp_path / "store")

    def refuse() -> NoReturn:
        raise AssertionError

    first = find(spark, shop, config=config)
    assert find(spark, shop, config=config, session=refuse) == first
    changed = [replace(table, state="new") for table in shop[:1]]
    with pytest.raises(AssertionError):
        find(spark, [*changed, *shop[1:]], config=config, session=refuse)
    assert find(spark, shop, config=replace(config, force=True)) == first


_PRINT_SEARCHES = """
import sys
from pathlib import Path
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.composite import find_partners
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.tables import Table, TableId

profiles = [
    profile_table(
        Table(
            id=TableId("file", path.stem),
            title=path.stem,
            location=File(uri=str(path), format="csv"),
            size=path.stat().st_size,
        ),
        ProfileConfig(),
        Databases(),
    )
    for path in map(Path, sys.argv[1:])
]
index = build_lake_index(Lake.from_tables(profiles), ModelConfig(), CatalogFacts())
print(find_partners(index).searches())
"""


def test_a_stored_search_has_the_same_name_in_every_process(tmp_path: Path) -> None:
    words = [f"{kind}{at}" for at in range(5) for kind in "abcdefgh"]
    columns = {f"c{step}": [words[at * step % 40] for at in range(80)] for step in (1, 3, 7, 9)}
    for name in ("left", "right"):
        write(tmp_path, name, columns)
    printed = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_SEARCHES, *map(str, sorted(tmp_path.glob("*.csv")))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    [searches] = printed
    assert "texts=('c1', 'c3', 'c7', 'c9')" in searches


def single(
    left: str, right: str, cardinality: Cardinality = Cardinality.MANY_MANY, **catalog: object
) -> Join:
    return Join(
        left=column(left),
        right=column(right),
        joinability=0.9,
        evidence=Evidence(
            shared=9,
            left_containment=1.0,
            right_containment=1.0,
            cardinality=cardinality,
            left_fan_out=3.0,
            right_fan_out=2.0,
        ),
        catalog=CatalogEvidence(**catalog),  # type: ignore[arg-type]
    )


def both(**catalog: object) -> Join:
    return replace(
        single("lines.line", "shipments.line", Cardinality.ONE_MANY, **catalog),
        joinability=0.8,
        role=Role.REFERENCE,
        referenced=column("lines.line"),
        further=((column("lines.order"), column("shipments.order")),),
    )


def test_a_part_that_joins_many_rows_to_many_is_left_out() -> None:
    part, other = single("lines.order", "shipments.order"), single("lines.order", "orders.order")
    assert with_composite_joins([part, other], [both()]) == (both(), other)


def test_a_part_that_is_a_reference_of_its_own_stays_and_another_names_the_join() -> None:
    part = single("lines.line", "shipments.line", Cardinality.MANY_ONE)
    turned = replace(
        both(),
        left=column("lines.order"),
        right=column("shipments.order"),
        referenced=column("lines.order"),
        further=((column("lines.line"), column("shipments.line")),),
    )
    assert with_composite_joins([part], [both()]) == (turned, part)


def test_a_join_whose_parts_all_stay_has_no_name_and_is_left_out() -> None:
    parts = [
        single("lines.line", "shipments.line", Cardinality.MANY_ONE),
        single("lines.order", "shipments.order", verdict=Verdict.ACCEPTED),
    ]
    assert with_composite_joins(parts, [both()]) == tuple(parts)


def test_an_accepted_part_stays_beside_the_accepted_whole() -> None:
    accepted = single("lines.order", "shipments.order", verdict=Verdict.ACCEPTED)
    other = single("lines.line", "shipments.line")
    whole = both(verdict=Verdict.ACCEPTED)
    assert with_composite_joins([accepted, other], [whole]) == (whole, accepted)


@pytest.fixture(params=["postgresql", "mariadb", "sqlite"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def test_a_declared_key_of_three_columns_is_one_join(server: Server, spark: SparkSession) -> None:
    rows = [(org, year, at) for org in (1, 2) for year in (2023, 2024) for at in range(1, 6)]
    values = ", ".join(f"({org}, {year}, {at})" for org, year, at in rows)
    # The data alone would not show it: every combination of the columns exists, and no name agrees.
    server.run(
        "CREATE TABLE documents (org INTEGER, fiscal INTEGER, doc INTEGER, "
        "PRIMARY KEY (org, fiscal, doc))",
        f"INSERT INTO documents VALUES {values}",
        "CREATE TABLE postings (a INTEGER, b INTEGER, c INTEGER, amount INTEGER, "
        "CONSTRAINT fk_doc FOREIGN KEY (a, b, c) REFERENCES documents (org, fiscal, doc))",
        "INSERT INTO postings SELECT org, fiscal, doc, 3 FROM documents WHERE doc < 4",
        "INSERT INTO postings SELECT org, fiscal, doc, 4 FROM documents WHERE doc > 1",
    )
    tables = [server.table("documents"), server.table("postings")]

    def refuse(title: str, message: str, context: str) -> None:
        raise AssertionError(title, message, context)

    assert find(spark, tables) == ()
    facts = NO_FACTS.declaring(read_database_keys(tables, refuse))
    assert facts.pairs == {}
    [join] = find(spark, tables, facts)
    assert sorted((left.path, right.path) for left, right in join.pairs) == [
        ("doc", "c"),
        ("fiscal", "b"),
        ("org", "a"),
    ]
    assert join.catalog.declared == "fk_doc"
    assert join.measured.right_containment == 1
    assert join.measured.rows == 28


def test_a_declared_key_of_a_table_to_itself_keeps_the_shared_column(
    server: Server, spark: SparkSession
) -> None:
    rows = [(tenant, at) for tenant in (1, 2, 3) for at in range(1, 9)]
    values = ", ".join(f"({tenant}, {at}, {1 + at // 3})" for tenant, at in rows)
    server.run(
        "CREATE TABLE staff (tenant INTEGER, id INTEGER, boss INTEGER, PRIMARY KEY (tenant, id))",
        f"INSERT INTO staff VALUES {values}",
    )
    table = server.table("staff")
    tenant, identifier, boss = (ColumnId(table.id, path) for path in ("tenant", "id", "boss"))
    key = ForeignKey(name="fk_boss", pairs=((tenant, tenant), (boss, identifier)))
    [join] = find(spark, [table], CatalogFacts(keys=DeclaredKeys(foreign=(key,))))
    assert (join.left, join.right, join.further) == (boss, identifier, ((tenant, tenant),))
    assert (join.role, join.referenced) == (Role.REFERENCE, identifier)
    assert join.measured.cardinality is Cardinality.MANY_ONE
