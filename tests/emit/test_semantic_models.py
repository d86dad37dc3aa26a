"""Test that accepted joins become semantic models in DataHub, one for each schema or folder."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import ASPECT_NAME_MAP, StatusClass

from datahub_hyperjoin.catalog.versions import SemanticModelInfo
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit.config import EmitConfig, JoinChoice
from datahub_hyperjoin.emit.existing import ExistingState
from datahub_hyperjoin.emit.layer import Writing
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.remove import find_leftovers
from datahub_hyperjoin.emit.semantic_models import SemanticModels
from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Join, Role, Verdict
from datahub_hyperjoin.metadata.urns import (
    NAMESPACE,
    SEMANTIC_MODEL,
    dataset_urn,
    semantic_model_urn,
)
from datahub_hyperjoin.tables import ColumnId, Pair, TableId
from gms import Gms
from lakes.lake import describe_folder, table, write_flights
from lakes.quick_runs import CARRIER, EVIDENCE, PLANE, Runs, join_of

pytestmark = pytest.mark.skipif(
    SEMANTIC_MODEL not in ASPECT_NAME_MAP, reason="the client has no semantic models"
)

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
GOLDEN = Path(__file__).parent / "golden" / "semantic_models.json"
ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED, by="urn:li:corpuser:ann")
MODEL = semantic_model_urn(table("flights.csv"))
EMIT = {"semantic_models": "accepted"}


def ends(one: str, other: str, env: str = "PROD") -> tuple[ColumnId, ColumnId]:
    """Return two columns, each written as `schema.table.column`."""
    (left, own), (right, key) = (each.rsplit(".", 1) for each in (one, other))
    return tuple(
        ColumnId(TableId("postgres", f"shop.{name}", env), path)
        for name, path in ((left, own), (right, key))
    )  # type: ignore[return-value] # two


def refers(one: str, other: str, env: str = "PROD", **changes: Any) -> Join:  # noqa: ANN401 - fields of a join
    """Make an accepted reference."""
    left, right = ends(one, other, env)
    join = Join(
        left=left,
        right=right,
        joinability=0.9,
        evidence=EVIDENCE,
        role=Role.REFERENCE,
        referenced=right,
        catalog=ACCEPTED,
    )
    return replace(join, **changes)


def write(*joins: Join, choice: JoinChoice = JoinChoice.ACCEPTED) -> list[MetadataWorkUnit]:
    publication = Publication(
        joins=joins,
        titles={table: table.name.rpartition(".")[2] for join in joins for table in join.tables},
        model_version="1",
        now=1_750_000_000_000,
    )
    run = Writing(
        publication=publication,
        config=EmitConfig(semantic_models=choice),
        existing=ExistingState(),
        written=WrittenState(),
        graph=None,
        count=lambda *_: None,
    )
    return [*SemanticModels().write(run)]


def joined(units: list[MetadataWorkUnit]) -> list[list[str]]:
    """Return the names of the relationships of each model."""
    infos = [unit.get_aspect_of_type(SemanticModelInfo) for unit in units]
    return [[str(each.name) for each in info.relationships or ()] for info in infos if info]


def test_each_schema_has_a_model_as_agreed(describe: Describe) -> None:
    in_part = replace(EVIDENCE, left_containment=0.97)
    to_one = replace(EVIDENCE, cardinality=Cardinality.ONE_ONE)
    found = write(
        refers("sales.orders.customer", "crm.customers.id", evidence=in_part),
        refers("sales.orders.payer", "crm.customers.id"),
        refers(
            "sales.lines.shop",
            "sales.orders.shop",
            further=(ends("sales.lines.order", "sales.orders.number"),),
        ),
        refers("crm.addresses.id", "crm.customers.id", evidence=to_one, role=Role.ONE_TO_ONE),
    )
    read = list(map(describe, found))
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(read, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read == json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert not any(unit.is_primary_source for unit in found)


@pytest.mark.parametrize("turned", [False, True])
def test_a_relationship_leads_from_the_referring_table(*, turned: bool) -> None:
    join = refers("sales.orders.payer", "crm.customers.id")
    units = write(join.reversed if turned else join)
    assert joined(units) == [["shop.sales.orders.payer → shop.crm.customers.id"]]
    assert units[0].get_urn() == semantic_model_urn(join.left.table)


@pytest.mark.parametrize(
    ("catalog", "takes"),
    [
        (ACCEPTED, {*JoinChoice}),
        (CatalogEvidence(declared="fk"), {JoinChoice.DECLARED, JoinChoice.SAFE}),
        (CatalogEvidence(), {JoinChoice.SAFE}),
        (CatalogEvidence(verdict=Verdict.REJECTED, declared="fk"), set()),
    ],
)
def test_a_choice_takes_joins_by_what_is_known(
    catalog: CatalogEvidence, takes: set[JoinChoice]
) -> None:
    join = refers("sales.orders.payer", "crm.customers.id", catalog=catalog)
    assert {choice for choice in JoinChoice if write(join, choice=choice)} == takes


@pytest.mark.parametrize(
    "change",
    [
        {"evidence": replace(EVIDENCE, cardinality=Cardinality.MANY_MANY)},
        {"role": Role.SIBLING, "referenced": None},
        {"evidence": replace(EVIDENCE, compared_as="numbers")},
    ],
)
def test_an_accepted_join_that_is_not_safe_is_in_no_model(change: dict[str, Any]) -> None:
    assert write(refers("sales.orders.payer", "crm.customers.id", **change)) == []


def test_tables_of_one_name_are_named_in_full() -> None:
    [unit] = write(
        refers("sales.orders.customer", "crm.customers.id"),
        refers("sales.customers.id", "crm.customers.id"),
    )
    info = unit.get_aspect_of_type(SemanticModelInfo)
    assert info
    sides = [(each.from_, each.to) for each in info.relationships or ()]
    full = "shop.crm.customers"
    assert sides == [("shop.sales.customers", full), ("orders", full)]


def test_models_of_one_name_tell_their_environments() -> None:
    joins = [refers("a.b", "c.d", env) for env in ("PROD", "DEV")]
    names = [unit.metadata.aspect.name for unit in write(*joins)]  # type: ignore[union-attr]
    assert names == ["Joins of shop (postgres, DEV)", "Joins of shop (postgres, PROD)"]


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    write_flights(tmp_path)
    with Gms() as gms:
        describe_folder(gms, tmp_path)
        yield Runs(gms, tmp_path)


def accepted(pair: Pair) -> Join:
    return replace(join_of(pair), catalog=ACCEPTED)


def shown(runs: Runs) -> list[str] | None:
    """Return the columns that the model of the folder joins; None if the model is hidden."""
    status = runs.gms.get(MODEL, StatusClass)
    info = runs.gms.get(MODEL, SemanticModelInfo)
    if info is None or (status and status.removed):
        return None
    return [column for each in info.relationships or () for column in each.fromColumns]


def test_a_model_follows_people_s_decisions(runs: Runs) -> None:
    runs([accepted(CARRIER), PLANE], emit=EMIT)
    assert shown(runs) == ["carrier"]
    runs([accepted(CARRIER), accepted(PLANE)], emit=EMIT)
    assert shown(runs) == ["carrier", "tailnum"]
    before = len(runs.gms.writes)
    runs([accepted(CARRIER), accepted(PLANE)], emit=EMIT)
    assert MODEL not in {one.urn for one in runs.gms.writes[before:]}
    runs([CARRIER, PLANE], emit=EMIT)
    assert shown(runs) is None
    runs([accepted(PLANE)], emit=EMIT)
    assert shown(runs) == ["tailnum"]
    info = runs.gms.get(MODEL, SemanticModelInfo)
    assert info
    assert info.nativeDefinition is None
    assert info.datasets == [dataset_urn(table(name)) for name in ("flights.csv", "planes.csv")]


def test_a_model_is_shown_again_although_the_checkpoint_is_lost(runs: Runs) -> None:
    runs([accepted(CARRIER)], emit=EMIT)
    runs([CARRIER], emit=EMIT)
    for urn in runs.gms.urns("dataJob"):
        runs.gms.delete(urn)
    runs([accepted(CARRIER)], emit=EMIT)
    assert shown(runs) == ["carrier"]


def test_a_model_that_a_person_hides_stays_hidden(runs: Runs) -> None:
    runs([accepted(CARRIER)], emit=EMIT)
    runs.gms.put(MODEL, StatusClass(removed=True))
    runs([accepted(CARRIER), accepted(PLANE)], emit=EMIT)
    assert shown(runs) is None


def test_a_model_that_a_person_changes_stays_theirs(runs: Runs) -> None:
    runs([accepted(CARRIER)], emit=EMIT)
    theirs = SemanticModelInfo(name="Flights", relationships=[])
    runs.gms.put(MODEL, theirs)
    runs([accepted(CARRIER)], emit=EMIT)
    runs([CARRIER], emit=EMIT)
    assert runs.gms.get(MODEL, SemanticModelInfo) == theirs
    assert shown(runs) == []


def test_a_withdrawn_model_can_be_deleted_for_good(runs: Runs) -> None:
    runs([accepted(CARRIER)], emit=EMIT)
    assert find_leftovers(runs.gms.graph(), NAMESPACE).visible
    runs([], emit={"relationships": False, "properties": False})
    runs.gms.put("urn:li:semanticModel:(urn:li:dataPlatform:dbt,a,b)", StatusClass(removed=True))
    leftovers = find_leftovers(runs.gms.graph(), NAMESPACE)
    assert leftovers.removable["semanticModel"] == [MODEL]


def test_a_server_without_the_entity_is_told_once(tmp_path: Path) -> None:
    write_flights(tmp_path)
    with Gms(without=["semanticModel"]) as gms:
        describe_folder(gms, tmp_path)
        report = Runs(gms, tmp_path)([accepted(CARRIER)], emit=EMIT)
        assert gms.urns("erModelRelationship")
    [warning] = report.warnings
    assert warning.title == "Layers not written"
    assert list(warning.context) == ["emit.semantic_models needs the entity type semanticModel"]
