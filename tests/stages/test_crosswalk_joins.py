"""Test joins through crosswalks in whole runs over files."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pycountry
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_joins
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import (
    Bridge,
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Role,
    Suggestion,
    Verdict,
)
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.stages.crosswalk_joins import collect_crosswalk_joins
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId, pair_of
from lakes.handmade import lake_of

CODES = [f"B-{number:03}" for number in range(60)]
NAMES = [
    f"{kind} of {town}"
    for kind in ("Ale", "Bock", "Dubbel", "Gose", "Helles", "Kriek", "Lager", "Mild", "Pils", "Rye")
    for town in ("Aachen", "Bruges", "Cork", "Dublin", "Erfurt", "Ghent")
]
BREWERY = {
    "articles": {"article": CODES, "label": NAMES},
    "orders": {"beer": CODES[:40] * 3, "litres": ["7"] * 120},
    "prices": {"product": NAMES[10:], "price": [str(at % 9) for at in range(50)]},
}
UNTRAINED = ModelConfig(ranking=RankingConfig(scoring=Scoring.SIGNALS))
NO_LAKE = lake_of({})
ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED)


class Silent:
    """A progress report that keeps only the counters."""

    def __init__(self) -> None:
        self.counts: dict[str, float] = {}

    def stage(self, name: str) -> AbstractContextManager[None]:
        assert name
        return nullcontext()

    def count(self, name: str, by: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def say(self, line: str) -> None:
        assert line

    def warn(self, title: str, message: str, context: str) -> None:
        pytest.fail(f"{title}: {message} {context}")


def column(path: str) -> ColumnId:
    table, _, name = path.rpartition(".")
    return ColumnId(TableId("file", table), name)


def in_this_process() -> None:
    """Start no Spark session, so that this process reads the tables."""


BEER, PRODUCT = column("orders.beer"), column("prices.product")


def write(folder: Path, name: str, columns: Mapping[str, list[str]]) -> Table:
    rows = zip(*columns.values(), strict=True)
    file = folder / f"{name}.csv"
    file.write_text("\n".join([",".join(columns), *map(",".join, rows)]) + "\n")
    return Table(
        id=TableId("file", name),
        title=name,
        location=File(uri=str(file), format="csv"),
        size=file.stat().st_size,
        state="1",
    )


def write_all(folder: Path, lake: Mapping[str, Mapping[str, list[str]]]) -> list[Table]:
    return [write(folder, name, columns) for name, columns in lake.items()]


def find(
    session: OptionalSession,
    tables: list[Table],
    facts: CatalogFacts | None = None,
    store: Path | None = None,
) -> Findings:
    progress = Silent()
    found = find_joins(
        Catalog(tables=tables, facts=facts or CatalogFacts()),
        FindConfig(profile=ProfileConfig(store=store), model=UNTRAINED),
        progress,
        session,
    )
    assert progress.counts["joins_through_crosswalks"] == len(found.crosswalks)
    return found


def test_codes_join_with_names_through_a_crosswalk_of_the_lake(
    spark_for_all: SparkSession, tmp_path: Path
) -> None:
    found = find(lambda: spark_for_all, write_all(tmp_path, BREWERY))
    (two_steps,) = found.crosswalks
    assert two_steps.bridge == Bridge(
        BEER, column("articles.article"), column("articles.label"), PRODUCT
    )
    assert two_steps.joinability >= 0.5
    assert (BEER, PRODUCT) not in {(join.left, join.right) for join in found.joins}
    assert (two_steps.left_step.rows, two_steps.right_step.rows) == (120, 50)
    assert two_steps.left_step.cardinality is Cardinality.MANY_ONE
    assert two_steps.right_step.cardinality is Cardinality.ONE_ONE
    both = two_steps.evidence
    assert both.cardinality is Cardinality.MANY_ONE
    assert (both.shared, both.rows) == (30, 90)
    assert (both.left_containment, both.left_fan_out) == (30 / 40, 90 / 120)


def test_an_accepted_pair_has_the_evidence_of_its_crosswalk(tmp_path: Path) -> None:
    facts = CatalogFacts(pairs={(BEER, PRODUCT): ACCEPTED})
    found = find(in_this_process, write_all(tmp_path, BREWERY), facts)
    (join,) = (each for each in found.joins if (each.left, each.right) == (BEER, PRODUCT))
    assert join.measured.compared_as == "values through articles"
    assert join.measured.rows == 90
    assert join.via == (column("articles.article"), column("articles.label"))


def test_a_crosswalk_whose_rows_connect_little_confirms_nothing(tmp_path: Path) -> None:
    shifted = {"article": CODES, "label": [*NAMES[20:], *NAMES[:20]]}
    few = {"product": NAMES[:20], "price": ["7"] * 20}
    found = find(
        in_this_process, write_all(tmp_path, {**BREWERY, "articles": shifted, "prices": few})
    )
    assert found.crosswalks == ()
    assert (BEER, PRODUCT) not in {(join.left, join.right) for join in found.joins}


def test_country_codes_and_names_are_offered_the_crosswalk_of_the_lake(tmp_path: Path) -> None:
    listed = [one for one in pycountry.countries if "," not in one.name][:90]
    codes, names = [one.alpha_2 for one in listed], [f"{one.name}" for one in listed]
    lake = {
        "nations": {"iso": codes, "nation": names},
        "offices": {"country": names[:60:2] * 2, "staff": ["7"] * 60},
        "flights": {"area": codes[:70] * 2, "seats": ["5"] * 140},
    }
    found = find(in_this_process, write_all(tmp_path, lake))
    ends = pair_of(column("flights.area"), column("offices.country"))
    (offered,) = (each for each in found.crosswalks if each.bridge.pair == ends)
    assert offered.bridge.crosswalk.name == "nations"
    joins = [join for join in found.joins if (join.left, join.right) == ends]
    assert all(join.measured.compared_as == "countries" and join.via for join in joins)


def test_unchanged_joins_through_crosswalks_are_not_measured_again(tmp_path: Path) -> None:
    lake, store = write_all(tmp_path, BREWERY), tmp_path / "kept"
    first = find(in_this_process, lake, store=store)

    def start() -> NoReturn:
        pytest.fail("nothing has changed")

    assert find(start, lake, store=store) == first
    assert len(first.crosswalks) == 1


def test_a_changed_crosswalk_is_measured_again(tmp_path: Path) -> None:
    lake, store = write_all(tmp_path, BREWERY), tmp_path / "kept"
    find(in_this_process, lake, store=store)
    shifted = {"article": CODES, "label": [*NAMES[1:], NAMES[0]]}
    changed = [replace(write(tmp_path, "articles", shifted), state="2"), *lake[1:]]
    (two_steps,) = find(in_this_process, changed, store=store).crosswalks
    assert two_steps.evidence.rows == 93


def evidence_of(containment: float, compared_as: str = "") -> Evidence:
    return Evidence(
        shared=9,
        left_containment=containment,
        right_containment=containment,
        cardinality=Cardinality.ONE_ONE,
        left_fan_out=1.0,
        right_fan_out=1.0,
        rows=9,
        compared_as=compared_as,
    )


def join_of(pair: Pair) -> Join:
    return Join(left=pair[0], right=pair[1], joinability=0.9, evidence=evidence_of(1.0))


@pytest.mark.parametrize(
    ("own", "offered"),
    [
        (None, True),
        (evidence_of(0.5), False),
        (evidence_of(0.4), True),
        (evidence_of(0.5, "countries"), True),
        (replace(evidence_of(0.5, "countries"), rows=19), False),
    ],
)
def test_columns_that_share_values_need_no_crosswalk(own: Evidence | None, offered: bool) -> None:  # noqa: FBT001
    bridge = Bridge(BEER, column("articles.article"), column("articles.label"), PRODUCT)
    direct = dict.fromkeys(bridge.steps, evidence_of(1.0))
    if own:
        direct[bridge.pair] = own
    ranked = [Suggestion(query=BEER, candidate=PRODUCT, rank=1, joinability=0.9)]
    bridged, joins = {bridge: evidence_of(0.9)}, [*map(join_of, bridge.steps)]
    found = collect_crosswalk_joins(NO_LAKE, ranked, direct, bridged, joins, min_containment=0.1)
    assert bool(found) is offered


def test_a_pair_that_only_a_reference_proposed_has_no_crosswalk() -> None:
    bridge = Bridge(BEER, column("articles.article"), column("articles.label"), PRODUCT)
    direct = dict.fromkeys(bridge.steps, evidence_of(1.0))
    bridged, joins = {bridge: evidence_of(0.9)}, [*map(join_of, bridge.steps)]
    assert not collect_crosswalk_joins(NO_LAKE, (), direct, bridged, joins, min_containment=0.1)


@pytest.mark.parametrize(("joined", "offered"), [((0, 1), True), ((0,), False), ((2,), True)])
def test_both_steps_of_a_crosswalk_join_unless_its_pair_does(
    joined: Sequence[int],
    offered: bool,  # noqa: FBT001
) -> None:
    bridge = Bridge(BEER, column("articles.article"), column("articles.label"), PRODUCT)
    direct = dict.fromkeys(bridge.steps, evidence_of(1.0))
    ranked = [Suggestion(query=BEER, candidate=PRODUCT, rank=1, joinability=0.9)]
    joins = [join_of((*bridge.steps, bridge.pair)[at]) for at in joined]
    bridged = {bridge: evidence_of(0.9)}
    found = collect_crosswalk_joins(NO_LAKE, ranked, direct, bridged, joins, min_containment=0.1)
    assert bool(found) is offered


@pytest.mark.parametrize(
    ("role", "offered"), [(Role.SAME_DOMAIN, True), (Role.REFERENCE, False), (Role.SIBLING, False)]
)
def test_tables_that_a_key_joins_need_no_crosswalk(role: Role, offered: bool) -> None:  # noqa: FBT001
    bridge = Bridge(BEER, column("articles.article"), column("articles.label"), PRODUCT)
    direct = dict.fromkeys(bridge.steps, evidence_of(1.0))
    ranked = [Suggestion(query=BEER, candidate=PRODUCT, rank=1, joinability=0.9)]
    key = replace(bridge.pair[0], path="id"), replace(bridge.pair[1], path="id")
    joins = [*map(join_of, bridge.steps), replace(join_of(key), role=role)]
    bridged = {bridge: evidence_of(0.9)}
    found = collect_crosswalk_joins(NO_LAKE, ranked, direct, bridged, joins, min_containment=0.1)
    assert bool(found) is offered


@pytest.mark.parametrize("personal", ["", "e-mail addresses"])
def test_addresses_of_people_are_no_codes(personal: str) -> None:
    lake = lake_of({"articles": {"article": ["1", "2"], "label": ["a@b.c", "d@e.f"]}})
    profiles = tuple(replace(each, personal=personal) for each in lake.profiles)
    article, label = lake.ids
    bridge = Bridge(BEER, article, label, PRODUCT)
    direct = dict.fromkeys(bridge.steps, evidence_of(1.0))
    ranked = [Suggestion(query=BEER, candidate=PRODUCT, rank=1, joinability=0.9)]
    joins, bridged = [*map(join_of, bridge.steps)], {bridge: evidence_of(0.9)}
    lake = replace(lake, profiles=profiles)
    found = collect_crosswalk_joins(lake, ranked, direct, bridged, joins, min_containment=0.1)
    assert bool(found) is not bool(personal)
