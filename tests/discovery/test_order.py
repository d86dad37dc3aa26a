"""Test that every list of a run's joins has the order of the result."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.cli.find import find_in_sources
from datahub_hyperjoin.discovery import FoundJoins
from datahub_hyperjoin.discovery.records import records_as_csv, records_as_json, records_as_sql
from datahub_hyperjoin.joins import BANDS, Join, Role, band, sort_joins
from datahub_hyperjoin.tables import ColumnId, TableId

TABLES, SEASONS = [f"T{at:02}" for at in range(24)], range(2001, 2013)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write tables whose joins have all roles, and a key of two columns."""
    lake = tmp_path_factory.mktemp("league")
    people = [f"{name}{at:03}" for at in range(60) for name in ("ada", "bob")]
    seasons = [(team, year) for team in TABLES for year in SEASONS]
    frames = {
        "teams": pd.DataFrame({"team": TABLES}),
        "people": pd.DataFrame({"person": people, "born": [1950 + at % 50 for at in range(120)]}),
        "passports": pd.DataFrame(
            {"person": people, "issued": [2000 + at % 9 for at in range(120)]}
        ),
        "seasons": pd.DataFrame(
            {
                "team": [team for team, _ in seasons],
                "year": [year for _, year in seasons],
                "wins": [at * 7 % 80 for at in range(len(seasons))],
            }
        ),
        "contracts": pd.DataFrame(
            {
                "contract": range(5_000, 5_600),
                "team": [seasons[at * 5 % len(seasons)][0] for at in range(600)],
                "year": [seasons[at * 5 % len(seasons)][1] for at in range(600)],
                "person": [people[at * 11 % 120] for at in range(600)],
            }
        ),
        "injuries": pd.DataFrame(
            {
                "person": [people[at * 7 % 120] for at in range(300)],
            }
        ),
        # Tables without references.
        "hotels": pd.DataFrame({"town": [f"Town {at % 80}" for at in range(160)]}),
        "halls": pd.DataFrame({"place": [f"Town {at % 90}" for at in range(180)]}),
    }
    for name, frame in frames.items():
        frame.to_csv(lake / f"{name}.csv", index=False)
    return lake


@pytest.fixture(scope="module")
def found(lake: Path) -> FoundJoins:
    return find_joins(lake, list_all=True)


def ends(join: Join) -> tuple[str, str]:
    """Name the sides of a join as records do, the referring one first."""
    pairs = [*join.pairs] if join.referenced != join.left else [pair[::-1] for pair in join.pairs]
    left, right = zip(*pairs, strict=True)
    return " and ".join(map(str, left)), " and ".join(map(str, right))


def sides(records: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    return [(each["left"], each["right"]) for each in records]


def test_references_come_first_whatever_their_columns(found: FoundJoins) -> None:
    assert {join.role for join in found} == {*Role}
    assert any(join.further for join in found)
    for name in BANDS:
        keys = [(j.role.place, -j.joinability) for j in found if band(j.joinability) == name]
        assert keys == sorted(keys)
    bands = [[*BANDS].index(band(join.joinability)) for join in found]
    assert bands == sorted(bands)


def test_all_outputs_list_the_joins_of_the_result_in_order(found: FoundJoins) -> None:
    wanted, records = [*map(ends, found.joins)], found.records()
    assert [(each["left"], each["right"]) for each in records] == wanted
    assert sides(json.loads(records_as_json(records))) == wanted
    assert sides([*csv.DictReader(io.StringIO(records_as_csv(records)))]) == wanted
    told = re.findall(r"^-- (\S.*) = (.*) \([01]\.\d\d", records_as_sql(records), re.MULTILINE)
    assert told == wanted
    frame = found.to_pandas()
    assert [*zip(frame["left"], frame["right"], strict=True)] == wanted
    cells = re.findall(r"<td>(.*?)</td>", found._repr_html_())
    assert [*zip(cells[::6], cells[1::6], strict=True)] == wanted[:25]


def test_the_printed_table_and_the_page_have_the_same_order(found: FoundJoins) -> None:
    lines = str(found).splitlines()[3 : 3 + len(found)]
    for line, join in zip(lines, found.joins, strict=False):
        left, right = (side.split(" and ") for side in ends(join))
        cells = [
            " + ".join([first, *(each.rpartition(".")[2] for each in more)])
            for first, *more in (left, right)
        ]
        assert re.split(r"\s{2,}", line)[:2] == cells
    page = re.search(r'id="data">(.*?)</script>', found.to_html())
    assert page
    data = json.loads(page[1])
    names = [f"{data['tables'][column[0]][0]}.{column[1]}" for column in data["columns"]]
    shown = [(names[record[0]], names[record[1]]) for record in data["joins"]]
    assert shown[: len(found)] == [(str(join.left), str(join.right)) for join in found.joins]


def test_the_command_writes_the_joins_in_the_same_order(lake: Path, found: FoundJoins) -> None:
    wanted = [*map(ends, found.joins)]
    result = CliRunner().invoke(find_in_sources, [str(lake), "--all", "--format", "json"])
    assert sides(json.loads(result.stdout)) == wanted


def test_a_person_rejects_the_join_of_the_row(found: FoundJoins) -> None:
    found.reject(found.joins[4])
    left, right = ends(found.joins[4])
    (decision,) = found.decisions
    found.undo(decision)
    columns = {f"{decision.left_table}.{path}" for path in decision.left_columns} | {
        f"{decision.right_table}.{path}" for path in decision.right_columns
    }
    assert columns == {*left.split(" and "), *right.split(" and ")}


def test_equally_good_joins_are_in_the_order_of_their_names() -> None:
    a, b, c = (ColumnId(TableId("file", name), "id") for name in "abc")
    joins = [
        Join(left=left, right=right, joinability=0.5, evidence=None)
        for left, right in ((b, c), (a, c), (a, b))
    ]
    assert sort_joins(joins) == sort_joins(joins[::-1]) == joins[::-1]
