"""Test that rows with and without a partner are counted as SQL counts them."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.discovery import FoundJoins
from datahub_hyperjoin.discovery.records import JoinRecord
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.spark.config import ProfileConfig
from engines.servers import serving

FIRMS = [f"{name} {letter}" for letter in "ABCD" for name in ("Abel", "Berg", "Costa", "Dorn")]
SEASONS = [(f"T{team:02}", year) for team in range(24) for year in range(2001, 2013)]


def spread(values: list[object], count: int) -> list[object]:
    """Repeat values so that their order does not follow the rows."""
    return [values[at * 7 % len(values)] for at in range(count)]


def frames() -> dict[str, pd.DataFrame]:
    """Make tables with nulls, empty texts, placeholders and values without a partner."""
    firms: list[object] = [*FIRMS]
    deals = [*spread(firms, 500), *60 * [None], *20 * [""], *15 * ["N/A"], *5 * ["Zorn X"]]
    seasons = [SEASONS[at * 5 % len(SEASONS)] for at in range(600)]
    return {
        "firms": pd.DataFrame({"firm": FIRMS, "size": [at * 3 % 7 for at in range(16)]}),
        "deals": pd.DataFrame({"deal": [f"D{at:05}" for at in range(600)], "firm": deals[::-1]}),
        "profiles": pd.DataFrame({"firm": FIRMS[:9], "url": [f"www.{at}" for at in range(9)]}),
        "seasons": pd.DataFrame(
            {
                "team": [team for team, _ in SEASONS],
                "year": [year for _, year in SEASONS],
                "wins": [at * 7 % 80 for at in range(len(SEASONS))],
            }
        ),
        "contracts": pd.DataFrame(
            {
                "contract": range(5_000, 5_600),
                # Either column of the key, or both, may be without a value.
                "team": [None if at % 10 == 3 else team for at, (team, _) in enumerate(seasons)],
                "year": pd.array(
                    [None if at % 4 == 1 else year for at, (_, year) in enumerate(seasons)], "Int64"
                ),
            }
        ),
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("market")
    for name, frame in frames().items():
        frame.to_csv(lake / f"{name}.csv", index=False)
    return lake


@pytest.fixture(scope="module")
def found(lake: Path) -> FoundJoins:
    return find_joins(lake)


def by_ends(found: FoundJoins) -> Mapping[tuple[str, str], tuple[Join, JoinRecord]]:
    return {
        (record["left"].replace(".csv", ""), record["right"].replace(".csv", "")): (join, record)
        for join, record in zip(found, found.records(), strict=True)
    }


def counts(record: JoinRecord) -> tuple[int | None, ...]:
    return (
        record["left_rows"],
        record["left_rows_with_value"],
        record["left_rows_with_partner"],
        record["right_rows"],
        record["right_rows_with_value"],
        record["right_rows_with_partner"],
    )


def test_rows_are_counted_by_value_and_partner(found: FoundJoins) -> None:
    joins = by_ends(found)
    assert counts(joins["deals.firm", "firms.firm"][1]) == (600, 505, 500, 16, 16, 16)
    assert counts(joins["profiles.firm", "firms.firm"][1]) == (9, 9, 9, 16, 16, 9)
    (composite,) = (record for join, record in joins.values() if join.further)
    used = frames()["contracts"].dropna()[["team", "year"]].drop_duplicates()
    assert counts(composite) == (600, 420, 420, 288, 288, len(used))
    assert "83% / 100%" in str(found)


@pytest.mark.parametrize("most", [16, 80])
def test_rows_of_few_values_are_counted_where_both_sides_repeat(tmp_path: Path, most: int) -> None:
    towns = [f"{first}{second}" for first in ("Alt", "Bad", "Neu", "Ober") for second in range(20)]
    for name, count, own in (("visits", 500, towns[:most]), ("shops", 300, towns[4:most])):
        rows = {"id": [f"{name[0]}{at:05}" for at in range(count)], "town": spread([*own], count)}
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    found = find_joins(tmp_path, list_all=True)
    [record] = (each for each in found.records() if each["left"].endswith("town"))
    assert record["cardinality"] == "many-to-many"
    matched = {record["left"]: record["left_rows_with_partner"]}
    matched |= {record["right"]: record["right_rows_with_partner"]}
    lost = sum(town in towns[:4] for town in spread([*towns[:most]], 500))
    counted = {"shops.csv.town": 300, "visits.csv.town": 500 - lost}
    # A profile holds few values.
    assert matched == (counted if most == 16 else dict.fromkeys(counted))


def test_counts_agree_with_inner_left_and_anti_join(
    lake: Path, found: FoundJoins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lake)

    def count(sql: str) -> int:
        text = sql.replace("LIMIT 100", "").replace("a.*,\n  b.*", "a.*")
        return len(duckdb.execute(text).fetchall())

    checked = 0
    for join, record in zip(found, found.records(), strict=True):
        if record["left_rows_with_partner"] is None or not join.referenced:
            continue
        inner = found.sql(join)
        left = count(inner.replace("JOIN", "LEFT JOIN"))
        assert count(inner) == record["rows"] == record["left_rows_with_partner"]
        assert left == record["left_rows"]
        assert count(found.anti_join(join)) == left - record["left_rows_with_partner"]
        checked += 1
    assert checked == 3


def test_the_anti_join_holds_the_rows_that_an_inner_join_drops(
    lake: Path, found: FoundJoins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lake)
    join, _ = by_ends(found)["deals.firm", "firms.firm"]
    sql = found.anti_join(join).replace("LIMIT 100", "")
    rows = duckdb.execute(sql).df()
    assert set(rows["firm"].dropna()) - {""} == {"N/A", "Zorn X"}
    assert len(rows) == 100
    assert found.anti_join(join).endswith("LIMIT 100")


def test_a_database_counts_alike(tmp_path: Path) -> None:
    with serving("postgresql", tmp_path) as server:
        for name, frame in frames().items():
            frame.to_sql(name, server.engine, schema=server.schema, index=False)
        url = f"{server.url}?options=-csearch_path%3D{server.schema}".replace("+psycopg2", "")
        found = find_joins(url)
        wanted = f"{server.schema}.deals.firm", f"{server.schema}.firms.firm"
        (record,) = (
            record
            for record in found.records()
            if record["left"].endswith(wanted[0]) and record["right"].endswith(wanted[1])
        )
        assert counts(record) == (600, 505, 500, 16, 16, 16)
        join = found.joins[found.records().index(record)]
        anti = found.anti_join(join).replace("LIMIT 100", "")
        with server.engine.connect() as connection:
            assert len(connection.exec_driver_sql(anti).fetchall()) == 100


def test_the_rows_of_a_sampled_table_are_estimated(lake: Path) -> None:
    found = find_joins(lake, sql=False, profile=ProfileConfig(max_rows=300))
    _, record = by_ends(found)["deals.firm", "firms.firm"]
    total, filled, matched, *_ = counts(record)
    assert (filled, matched) == (505, 500)
    assert total is not None
    assert abs(total - 600) < 30
