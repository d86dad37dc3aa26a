"""Test which page the Preview tabs of datasets show over several runs."""

from pathlib import Path

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import EmbedClass

from datahub_hyperjoin.emit.embeds import embed_url
from datahub_hyperjoin.metadata.urns import dataset_urn
from gms import Gms
from lakes.lake import table
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs

SERVICE = "http://localhost:8766"
EMIT = {"embed": SERVICE}
THEIRS = "https://looker.example/embed/1"
FLIGHTS, AIRLINES = dataset_urn(table("flights.csv")), dataset_urn(table("airlines.csv"))


def embed(gms: Gms, dataset: str) -> str | None:
    aspect = gms.get(dataset, EmbedClass)
    return aspect.renderUrl if aspect else None


def embeds_written(gms: Gms) -> list[str]:
    return [write.urn for write in gms.writes if write.aspect == "embed"]


def test_every_dataset_with_joins_shows_its_page_until_it_has_none(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=EMIT)
    assert embed(gms, FLIGHTS) == embed_url(SERVICE, FLIGHTS)
    assert embed(gms, AIRLINES) == embed_url(SERVICE, AIRLINES)
    assert embed(gms, dataset_urn(table("delays.csv"))) is None
    gms.writes.clear()
    quick(ALL, emit=EMIT)
    assert embeds_written(gms) == []
    quick([ORIGIN, PLANE], emit=EMIT)
    assert embeds_written(gms) == [AIRLINES]
    assert embed(gms, AIRLINES) is None
    quick(ALL, emit=EMIT)
    assert embed(gms, AIRLINES) == embed_url(SERVICE, AIRLINES)


def test_what_somebody_else_shows_stays(gms: Gms, quick: Runs) -> None:
    gms.put(FLIGHTS, EmbedClass(renderUrl=THEIRS), pipeline="looker")
    quick(ALL, emit=EMIT)
    assert embed(gms, FLIGHTS) == THEIRS
    # A person replaces ours, too, and no later run changes or removes it.
    gms.put(AIRLINES, EmbedClass(renderUrl=THEIRS))
    gms.writes.clear()
    quick(ALL, emit=EMIT)
    quick([PLANE], emit=EMIT)
    quick([PLANE])
    assert (embed(gms, FLIGHTS), embed(gms, AIRLINES)) == (THEIRS, THEIRS)
    assert {FLIGHTS, AIRLINES}.isdisjoint(embeds_written(gms))


def test_a_new_address_of_the_service_replaces_the_old_one(gms: Gms, quick: Runs) -> None:
    quick([CARRIER], emit=EMIT)
    quick([CARRIER], emit={"embed": "https://joins.example/"})
    assert embed(gms, FLIGHTS) == embed_url("https://joins.example", FLIGHTS)


def test_without_the_key_all_pages_are_taken_back(gms: Gms, quick: Runs) -> None:
    quick(ALL, emit=EMIT)
    quick(ALL)
    assert (embed(gms, FLIGHTS), embed(gms, AIRLINES)) == (None, None)
    gms.writes.clear()
    quick(ALL)
    assert embeds_written(gms) == []


def test_the_page_of_a_table_that_is_not_read_stays(gms: Gms, lake: Path, quick: Runs) -> None:
    quick([CARRIER, PLANE], emit=EMIT)
    lake.joinpath("airlines.csv").unlink()
    quick([PLANE], emit=EMIT)
    assert embed(gms, AIRLINES) == embed_url(SERVICE, AIRLINES)
    quick([PLANE])
    assert embed(gms, AIRLINES) is None


def test_what_a_connector_writes_during_a_run_stays(gms: Gms, quick: Runs) -> None:
    def interrupt(unit: MetadataWorkUnit) -> bool:
        if unit.get_urn() == FLIGHTS and isinstance(unit.metadata.aspect, EmbedClass):  # type: ignore[union-attr]
            gms.put(FLIGHTS, EmbedClass(renderUrl=THEIRS), pipeline="looker")
        return False

    quick.loses = interrupt
    quick([CARRIER], emit=EMIT)
    assert embed(gms, FLIGHTS) == THEIRS


@pytest.mark.parametrize("second", [{}, EMIT])
def test_what_another_pipeline_still_shows_stays(
    gms: Gms, quick: Runs, second: dict[str, str]
) -> None:
    quick([CARRIER], pipeline="first", emit=EMIT)
    quick([CARRIER], pipeline="second", emit=EMIT)
    quick([PLANE], pipeline="second", emit=second)
    assert embed(gms, AIRLINES) == embed_url(SERVICE, AIRLINES)
