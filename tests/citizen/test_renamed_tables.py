"""Test that people's decisions follow renamed tables."""

from dataclasses import replace
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    DatasetFieldProfileClass,
    DatasetProfileClass,
    DeprecationClass,
    StatusClass,
    TagPropertiesClass,
)

from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED, dataset_urn
from datahub_hyperjoin.tables import Pair, pair_of
from gms import Gms
from lakes.lake import codes, describe, table, write_table
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

ADA = "urn:li:corpuser:ada"
HIDE = "mutation($urns: [String!]!) { batchUpdateSoftDeleted(input: {urns: $urns, deleted: true}) }"
TAG = """
mutation($tag: String!, $join: String!) { addTag(input: {tagUrn: $tag, resourceUrn: $join}) }
"""


def rename(gms: Gms, lake: Path, old: str, new: str, *, hard: bool = False) -> None:
    """Rename a table.

    The catalog then gets a new dataset and loses the old one, as after a connector's run.
    """
    lake.joinpath(old).rename(lake / new)
    describe(gms, new, lake.joinpath(new).read_text().split("\n", 1)[0].split(","))
    vanish(gms, old, hard=hard)


def vanish(gms: Gms, name: str, *, hard: bool = False) -> None:
    if hard:
        gms.delete(dataset_urn(table(name)))
    else:
        gms.put(dataset_urn(table(name)), StatusClass(removed=True), pipeline="connector")


def moved(pair: Pair, old: str, new: str) -> Pair:
    return pair_of(
        *(replace(one, table=table(new)) if one.table == table(old) else one for one in pair)
    )


def decide(gms: Gms, pair: Pair, tag: str) -> None:
    gms.put(tag, TagPropertiesClass(name=tag))
    gms.graphql(
        TAG,
        tag=tag,
        join=urn_of(pair),
    )


def profile(gms: Gms, name: str, path: str, *, rows: int, distinct: int) -> None:
    field = DatasetFieldProfileClass(fieldPath=path, uniqueCount=distinct, nullCount=0)
    found = DatasetProfileClass(timestampMillis=1, rowCount=rows, fieldProfiles=[field])
    gms.put(dataset_urn(table(name)), found, pipeline="connector")


@pytest.mark.parametrize("way", ["tag", "delete", "hide"])
def test_a_rejection_follows_a_renamed_table(gms: Gms, quick: Runs, lake: Path, way: str) -> None:
    quick(ALL)
    if way == "tag":
        decide(gms, PLANE, REJECTED)
    elif way == "hide":
        gms.graphql(HIDE, urns=[urn_of(PLANE)])
    else:
        gms.delete(urn_of(PLANE))
    quick(ALL)
    rename(gms, lake, "planes.csv", "aircraft.csv")
    new = moved(PLANE, "planes.csv", "aircraft.csv")
    for _ in range(2):
        quick([CARRIER, ORIGIN, new])
        assert shown(gms) == {CARRIER, ORIGIN}


def test_an_acceptance_follows_a_renamed_table(gms: Gms, quick: Runs, lake: Path) -> None:
    quick(ALL)
    decide(gms, PLANE, ACCEPTED)
    rename(gms, lake, "planes.csv", "aircraft.csv")
    assert quick(ALL).joins_accepted == 2  # under both names


def test_decisions_follow_the_replacement_that_datahub_names(
    gms: Gms, quick: Runs, lake: Path
) -> None:
    quick(ALL)
    decide(gms, PLANE, REJECTED)
    write_table(lake, "fleet.csv", {"tailnum": codes("N-", 80), "built": codes("19", 80)})
    describe(gms, "fleet.csv", ["tailnum", "built"])
    replaced = DeprecationClass(
        deprecated=True, note="", actor=ADA, replacement=dataset_urn(table("fleet.csv"))
    )
    gms.put(dataset_urn(table("planes.csv")), replaced)
    vanish(gms, "planes.csv")
    lake.joinpath("planes.csv").unlink()
    quick([CARRIER, moved(PLANE, "planes.csv", "fleet.csv")])
    assert shown(gms) == {CARRIER}


def test_decisions_follow_a_new_platform_instance(gms: Gms, quick: Runs, lake: Path) -> None:
    quick(ALL)
    decide(gms, PLANE, REJECTED)
    for file in sorted(lake.iterdir()):
        describe(gms, f"eu.{file.name}", file.read_text().split("\n", 1)[0].split(","))
        vanish(gms, file.name, hard=True)
    carrier, plane = (
        pair_of(*(replace(one, table=table(f"eu.{one.table.name}")) for one in pair))
        for pair in (CARRIER, PLANE)
    )
    quick([carrier, plane], platform_instance="eu")
    assert carrier in shown(gms)
    assert plane not in shown(gms)


def test_an_ambiguous_new_name_is_asked_for(gms: Gms, quick: Runs, lake: Path) -> None:
    quick(ALL)
    decide(gms, PLANE, REJECTED)
    rename(gms, lake, "planes.csv", "aircraft.csv")
    write_table(lake, "jets.csv", {"tailnum": codes("J-", 80), "maker": codes("Maker ", 80)})
    describe(gms, "jets.csv", ["tailnum", "maker"])
    new = moved(PLANE, "planes.csv", "aircraft.csv")
    report = quick([CARRIER, new])
    (asked,) = [one for one in report.warnings if one.title == "Which table is it now?"]
    urns = [dataset_urn(table(name)) for name in ("planes.csv", "aircraft.csv", "jets.csv")]
    assert list(asked.context) == [f"{urns[0]} may be {urns[1]} or {urns[2]}"]
    assert new in shown(gms)
    folder = {"folder": str(lake), "renamed": {urns[0]: urns[1]}}
    report = quick([CARRIER, new], catalog=folder)
    assert new not in shown(gms)
    assert not [one for one in report.warnings if one.title == "Which table is it now?"]


def test_statistics_tell_tables_with_the_same_columns_apart(
    gms: Gms, quick: Runs, lake: Path
) -> None:
    quick(ALL)
    decide(gms, PLANE, REJECTED)
    rename(gms, lake, "planes.csv", "aircraft.csv")
    write_table(lake, "jets.csv", {"tailnum": ["J-1"] * 80, "maker": codes("Maker ", 80)})
    describe(gms, "jets.csv", ["tailnum", "maker"])
    for name, distinct in (("planes.csv", 80), ("aircraft.csv", 80), ("jets.csv", 1)):
        profile(gms, name, "tailnum", rows=80, distinct=distinct)
    new = moved(PLANE, "planes.csv", "aircraft.csv")
    quick([CARRIER, new])
    assert shown(gms) == {CARRIER}


def test_decisions_about_tables_that_exist_elsewhere_stay_with_them(
    gms: Gms, quick: Runs, lake: Path
) -> None:
    quick(ALL)
    decide(gms, PLANE, REJECTED)
    # The same columns in another folder, while the old table is not read, but still there.
    lake.joinpath("planes.csv").rename(lake / "jets.csv")
    describe(gms, "jets.csv", ["tailnum", "maker"])
    new = moved(PLANE, "planes.csv", "jets.csv")
    quick([CARRIER, new])
    assert new in shown(gms)


def test_the_recipe_names_a_new_table_while_the_old_one_still_exists(
    gms: Gms, quick: Runs, lake: Path
) -> None:
    quick(ALL)
    decide(gms, PLANE, REJECTED)
    lake.joinpath("planes.csv").rename(lake / "jets.csv")
    describe(gms, "jets.csv", ["tailnum", "maker"])
    urns = [dataset_urn(table(name)) for name in ("planes.csv", "jets.csv")]
    folder = {"folder": str(lake), "renamed": {urns[0]: urns[1]}}
    quick([CARRIER, moved(PLANE, "planes.csv", "jets.csv")], catalog=folder)
    assert shown(gms) == {CARRIER}
