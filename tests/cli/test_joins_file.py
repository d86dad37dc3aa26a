"""Test that files of joins are read as they were written, and that others are refused."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.cli.errors import JoinsFileError
from datahub_hyperjoin.cli.joins_file import find_joins_file, read_joins_file
from datahub_hyperjoin.discovery.records import record_of, record_of_key, records_as_json
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Role,
    RowCounts,
    Statement,
    Verdict,
)
from datahub_hyperjoin.metadata.relationships import catalog_join
from datahub_hyperjoin.metadata.urns import query_urn
from datahub_hyperjoin.tables import ColumnId, DataType, TableId

ORDERS, CUSTOMERS = TableId("postgres", "public.orders"), TableId("postgres", "public.customers")
ORG, YEAR = ColumnId(ORDERS, "org"), ColumnId(ORDERS, 'the "year"')
CUSTOMER_ORG, CUSTOMER_YEAR = ColumnId(CUSTOMERS, "org"), ColumnId(CUSTOMERS, "year")
TYPES = {ORG: DataType.TEXT, YEAR: DataType.INTEGER, CUSTOMER_ORG: DataType.TEXT}

MEASURED = Evidence(
    shared=7,
    left_containment=0.999999,
    right_containment=0.25,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=3.14159,
    right_fan_out=1.0,
    rows=22,
    compared_as="countries",
    rows_as_written=2,
    placeholders="-1",
    left_counts=RowCounts(total=8, filled=7, matched=None),
    right_counts=RowCounts(total=30, filled=22, matched=22),
)
REFERENCE = Join(
    left=CUSTOMER_ORG,
    right=ORG,
    joinability=0.91237,
    evidence=MEASURED,
    catalog=CatalogEvidence(declared="fk_org", verdict=Verdict.ACCEPTED),
    role=Role.REFERENCE,
    referenced=CUSTOMER_ORG,
    further=((CUSTOMER_YEAR, YEAR),),
)
SIBLING = Join(
    left=CUSTOMER_ORG,
    right=ORG,
    joinability=0.5,
    evidence=replace(MEASURED, compared_as="", rows_as_written=0, left_counts=None),
    role=Role.SIBLING,
)


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("join", [REFERENCE, SIBLING])
def test_a_join_of_find_is_read_as_the_catalog_would_have_it(tmp_path: Path, join: Join) -> None:
    statement = Statement(sql="SELECT 1", dialect="postgres", was_run=False)
    file = tmp_path / "joins.json"
    file.write_text(records_as_json([record_of(join, statement, TYPES)]))
    [read], statements, types, titles = read_joins_file(file)
    # Whether a catalog declares the join is known, but not the name of the key.
    stated = replace(join.catalog, declared="", stated=join.catalog.is_declared)
    assert read == catalog_join(replace(join, catalog=stated))
    assert read.evidence
    assert max(read.evidence.left_containment, read.evidence.right_containment) == 0.9999
    assert statements == {read.urn: statement}
    assert types.items() <= TYPES.items()
    assert ORG in types
    assert CUSTOMER_YEAR not in types
    assert titles == {}


def test_a_declared_key_without_values_is_read_without_evidence(tmp_path: Path) -> None:
    key = replace(REFERENCE, evidence=None, catalog=CatalogEvidence(declared="fk"))
    file = tmp_path / "joins.json"
    file.write_text(records_as_json([record_of_key(key, TYPES)]))
    [read], statements, _, _ = read_joins_file(file)
    assert (read.evidence, read.is_confirmed, read.is_verified) == (None, True, False)
    assert statements == {}


def proposal(urn: str, aspect: str, content: Mapping[str, object]) -> dict[str, object]:
    kind = urn.split(":")[2]
    return {
        "entityType": kind,
        "entityUrn": urn,
        "aspectName": aspect,
        "aspect": {"json": content},
    }


JOIN = "urn:li:erModelRelationship:1"
PROPERTIES = proposal(
    JOIN,
    "erModelRelationshipProperties",
    {
        "name": "a.csv.x = b.csv.y",
        "source": "urn:li:dataset:(urn:li:dataPlatform:file,a.csv,PROD)",
        "destination": "urn:li:dataset:(urn:li:dataPlatform:file,b.csv,PROD)",
        "relationshipFieldMappings": [{"sourceField": "x", "destinationField": "y"}],
        "cardinality": "N_ONE",
    },
)


def query(**marks: str) -> dict[str, object]:
    content = {"statement": {"value": "SELECT 2"}, "customProperties": marks}
    return proposal(query_urn(JOIN), "queryProperties", content)


def test_whole_tags_and_hidden_joins_of_a_sink_are_read(tmp_path: Path) -> None:
    tags = {"tags": [{"tag": "urn:li:tag:join:rejected"}]}
    tagged = proposal(JOIN, "globalTags", tags)
    hidden = proposal(JOIN, "status", {"removed": True})
    dataset = proposal("urn:li:dataset:(urn:li:dataPlatform:file,a.csv,PROD)", "status", {})
    content = [PROPERTIES, tagged, hidden, dataset, query(sql_dialect="duckdb")]
    [join], statements, types, titles = read_joins_file(write(tmp_path / "sink.json", content))
    assert (join.verdict, join.is_hidden) == (Verdict.REJECTED, True)
    assert statements == {JOIN: Statement(sql="SELECT 2", dialect="duckdb")}
    assert types == {}
    assert {table.name: title for table, title in titles.items()} == {"a.csv": "a", "b.csv": "b"}


def test_withdrawn_sql_is_not_read(tmp_path: Path) -> None:
    content = [PROPERTIES, query(withdrawn_by="run")]
    assert read_joins_file(write(tmp_path / "sink.json", content))[1] == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": 1}]', "holds no joins. Name the joins.json that `hyperjoin find --out` or a run"),
        ('{"left": "a"}', "holds no joins"),
        ("[7]", "holds no joins"),
        ("[", "is damaged or cut off. Let a run write it again"),
        ("\ufeff\xff", "is damaged or cut off"),
        ("[]", "has no join: the run that wrote it found none, or was told to write none."),
        (json.dumps([query()]), "has no join"),
        (json.dumps([{**PROPERTIES, "aspect": {"json": {"source": 7}}}]), "is damaged"),
        (json.dumps([{**PROPERTIES, "aspect": {"json": []}}]), "is damaged"),
    ],
)
def test_another_file_is_refused_with_the_fix(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "joins.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(JoinsFileError) as caught:
        read_joins_file(file)
    assert str(caught.value).startswith(f"{str(file)!r} {message}")


@pytest.mark.parametrize("key", ["role", "left_type", "cardinality", "shared_values", "decision"])
def test_a_damaged_join_of_find_is_refused(tmp_path: Path, key: str) -> None:
    record = {**record_of(REFERENCE, None, TYPES), key: "?"}
    with pytest.raises(JoinsFileError, match="is damaged"):
        read_joins_file(write(tmp_path / "joins.json", [record]))


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(JoinsFileError, match="cannot be read: Is a directory"):
        read_joins_file(tmp_path)


def test_only_json_and_folders_of_find_hold_joins(tmp_path: Path) -> None:
    out, lake = tmp_path / "out", tmp_path / "lake"
    for folder in (out, lake):
        folder.mkdir()
        folder.joinpath("joins.json").write_text("[]")
        folder.joinpath("joins.csv").write_text("a\n1\n")
    assert find_joins_file(out) == find_joins_file(out / "joins.json") == out / "joins.json"
    assert find_joins_file(out / "joins.csv") is None
    lake.joinpath("orders.csv").write_text("a\n1\n")
    assert find_joins_file(lake) is None
    out.joinpath("joins.json").unlink()
    assert find_joins_file(out) is None
    assert find_joins_file(Path("x" * (os.pathconf("/", "PC_NAME_MAX") + 1))) is None
