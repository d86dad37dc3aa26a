"""Test that a dataset's Preview tab shows the page of joins only if nobody else uses the tab."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import EmbedClass

from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit import EmitConfig
from datahub_hyperjoin.emit.embeds import embed_url, find_foreign_embeds
from datahub_hyperjoin.emit.existing import ExistingState
from datahub_hyperjoin.emit.layer import Writing, unit_of
from datahub_hyperjoin.emit.layers import withdraw, write_layers
from datahub_hyperjoin.emit.patches import removes
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]
MakeJoin = Callable[[ColumnId, ColumnId, float], Join]

GOLDEN = Path(__file__).parent / "golden" / "embeds.json"
SERVICE = "http://localhost:8766"
FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines (2).csv")
FLIGHTS_URN, AIRLINES_URN = map(dataset_urn, (FLIGHTS, AIRLINES))
THEIRS = EmbedClass(renderUrl="https://looker.example/embed/1")
NOTHING = ExistingState()
OURS = EmbedClass(renderUrl=embed_url(SERVICE, FLIGHTS_URN))


@pytest.fixture
def publication(make_join: MakeJoin) -> Publication:
    join = make_join(ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "carrier"), 0.93)
    return Publication(
        joins=[join], titles={FLIGHTS: "flights", AIRLINES: "airlines"}, model_version="1"
    )


def emit(
    publication: Publication, existing: ExistingState = NOTHING
) -> tuple[list[MetadataWorkUnit], WrittenState]:
    written = WrittenState()
    units = write_layers(
        Writing(
            publication=publication,
            config=EmitConfig(relationships=False, properties=False, embed=SERVICE),
            existing=existing,
            written=written,
            graph=None,
            count=lambda *_: None,
        )
    )
    return list(units), written


def test_each_dataset_leads_to_its_own_page(publication: Publication, describe: Describe) -> None:
    units, written = emit(publication)
    described = [describe(unit) for unit in units]
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    assert described == json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert written.embeds == {unit["urn"]: unit["value"]["renderUrl"] for unit in described}
    assert {unit.is_primary_source for unit in units} == {False}


def test_an_embed_that_is_empty_or_ours_is_replaced(
    publication: Publication, describe: Describe
) -> None:
    units, _ = emit(publication, ExistingState(embedded=frozenset({FLIGHTS_URN})))
    changes = {describe(unit)["urn"]: describe(unit)["change"] for unit in units}
    assert changes == {FLIGHTS_URN: "UPSERT", AIRLINES_URN: "CREATE"}


def test_the_embed_of_somebody_else_stays(publication: Publication) -> None:
    existing = ExistingState(embedded=frozenset({FLIGHTS_URN}), closed=frozenset({FLIGHTS_URN}))
    units, written = emit(publication, existing)
    assert [unit.get_urn() for unit in units] == [AIRLINES_URN]
    assert written.embeds.keys() == {AIRLINES_URN}


@pytest.mark.parametrize(("embed", "written", "foreign"), [
    (THEIRS, {}, True),
    (THEIRS, {FLIGHTS_URN: OURS.renderUrl}, True),
    (OURS, {}, False),
    (EmbedClass(), {}, False),
    (EmbedClass(renderUrl="http://old/dataset"), {FLIGHTS_URN: "http://old/dataset"}, False),
    (EmbedClass(renderUrl="http://old/dataset"), {AIRLINES_URN: "http://old/dataset"}, True),
])  # fmt: skip
def test_what_is_not_ours_is_of_somebody_else(
    embed: EmbedClass, written: dict[str, str], *, foreign: bool
) -> None:
    found = find_foreign_embeds({FLIGHTS_URN: embed}, written, SERVICE)
    assert [*found] == ([FLIGHTS_URN] if foreign else [])


def test_without_a_service_only_what_the_last_run_wrote_is_ours() -> None:
    url = str(OURS.renderUrl)
    assert [*find_foreign_embeds({FLIGHTS_URN: OURS}, {}, None)] == [FLIGHTS_URN]
    assert [*find_foreign_embeds({FLIGHTS_URN: OURS}, {FLIGHTS_URN: url}, None)] == []


def test_the_embed_of_a_dataset_without_joins_is_taken_back(describe: Describe) -> None:
    last = WrittenState(embeds={FLIGHTS_URN: "http://a", AIRLINES_URN: "http://b"})
    units, stored = withdraw(
        last,
        WrittenState(embeds={AIRLINES_URN: "http://c"}),
        namespace="a",
        threshold=75.0,
        warn=lambda *_: None,
    )
    assert [(describe(unit)["urn"], describe(unit)["value"]) for unit in units] == [
        (FLIGHTS_URN, {})
    ]
    assert stored.embeds == {AIRLINES_URN: "http://c"}
    assert not units[0].is_primary_source


def test_too_many_lost_embeds_are_taken_for_a_mistake() -> None:
    last, said = WrittenState(embeds={FLIGHTS_URN: "http://a"}), list[str]()
    units, stored = withdraw(
        last,
        WrittenState(),
        namespace="a",
        threshold=75.0,
        warn=lambda title, *_: said.append(title),
    )
    assert (units, stored.embeds, said) == ([], last.embeds, ["Nothing withdrawn"])


def test_taking_back_is_repeated_until_it_arrives(publication: Publication) -> None:
    assert removes(unit_of(FLIGHTS_URN, EmbedClass()))
    assert not any(map(removes, emit(publication)[0]))
    state = WrittenState(embeds={FLIGHTS_URN: "http://a", AIRLINES_URN: "http://b"})
    assert state.held_in({(FLIGHTS_URN, "embed")}).embeds == {FLIGHTS_URN: "http://a"}
    assert state.about({AIRLINES_URN}, set()).embeds == {AIRLINES_URN: "http://b"}
    assert state.without(WrittenState(embeds={AIRLINES_URN: "x"})).embeds == {
        FLIGHTS_URN: "http://a"
    }


@pytest.mark.parametrize("address", [
    "localhost:8766", "ftp://a", "https://me:secret@a", "https://a?token=b", "https://a//b",
    "https://a/b c", "",
])  # fmt: skip
def test_an_address_of_another_form_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"^`embed` is no address of a web site\. Write scheme, "):
        EmitConfig(embed=address)


def test_the_service_may_be_below_a_path() -> None:
    config = EmitConfig(embed="https://datahub.example/joins/")
    assert embed_url(config.embed or "", FLIGHTS_URN).startswith(
        "https://datahub.example/joins/dataset?urn="
    )
