"""Values that stand for a missing key, and keys that differ in little, found in small lakes."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.discovery.records import JoinRecord

CODES = [f"K{number}" for number in range(1000, 1400, 5)]
MAILS = [f"ann.{number}@example.org" for number in range(80)]
DAYS = [str(date(2023, 1, 1) + timedelta(days=at)) for at in range(365)]
PAIRS = [f"aa{letter}{at}" for at in range(30) for letter in "bB"]


def joins(
    folder: Path, keys: Sequence[object], referring: Sequence[object], column: str = "customer"
) -> list[JoinRecord]:
    key = "id" if column == "customer" else column
    orders = {"order_no": range(5001, 5001 + len(referring)), column: referring}
    pd.DataFrame({key: keys, "rank": [at * 3 % 7 for at in range(len(keys))]}).to_csv(
        folder / "customers.csv", index=False
    )
    pd.DataFrame(orders).to_csv(folder / "orders.csv", index=False)
    return find_joins(folder).records()


def referring_to(keys: Sequence[str], count: int = 300) -> list[str]:
    return [keys[at * 7 % len(keys)] for at in range(count)]


def rows_of(record: JoinRecord) -> int:
    return len(duckdb.execute(record["sql"].rpartition("LIMIT")[0]).fetchall())


@pytest.mark.parametrize(
    ("markers", "shown"),
    [
        (["TBA"] * 3, "TBA"),
        (["0000000000"] * 3, "0000000000"),
        (["{00000000-0000-0000-0000-000000000000}"] * 2, "{00000000-"),
        (["NULL", "N/A", "-", "?"] * 3, "-, ?, N/A, NULL"),
        (["Unknown", "unknown", "UNKNOWN"] * 2, "UNKNOWN"),
        (["Oak lane"] * 9, "a value that repeats"),
    ],
)
def test_a_value_that_stands_for_no_key_joins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, markers: list[str], shown: str
) -> None:
    monkeypatch.chdir(tmp_path)
    [record] = joins(tmp_path, [*CODES, *markers], [*referring_to(CODES), *markers * 4])
    assert (record["cardinality"], record["rows"]) == ("many-to-one", 300)
    assert shown in record["placeholders"]
    assert rows_of(record) == 300
    assert "Oak lane" not in record["sql"]


def test_a_personal_value_that_stands_for_no_key_joins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nobody = ["nobody.at@shop.example"] * 9
    keys, referring = [*MAILS, *nobody], [*referring_to(MAILS), *nobody]
    [record] = joins(tmp_path, keys, referring, "email")
    assert (record["role"], record["rows"]) == ("reference", 300)
    assert rows_of(record) == 300
    assert "nobody" not in str(record)


@pytest.mark.parametrize("marker", ["N/A", "0", "UNKNOWN"])
def test_rows_with_a_marker_that_no_key_has_are_without_a_value(
    tmp_path: Path, marker: str
) -> None:
    keys = CODES[:50]
    [record] = joins(tmp_path, keys, [*referring_to(keys), *[marker] * 50])
    assert (record["left_rows"], record["left_rows_with_value"]) == (350, 300)
    assert (record["left_containment"], record["placeholders"]) == (1, marker)


def test_zero_among_flags_is_no_marker(tmp_path: Path) -> None:
    assert joins(tmp_path, range(1, 41), [at % 4 % 3 for at in range(300)], "is_main") == []


def test_a_number_far_from_all_keys_is_a_marker(tmp_path: Path) -> None:
    keys = range(1000, 1250, 5)
    [record] = joins(tmp_path, keys, [*(keys[at * 7 % 50] for at in range(300)), *[0] * 50])
    assert (record["rows"], record["placeholders"]) == (300, "0")


@pytest.mark.parametrize("marker", ["N/A", "-1"])
def test_a_marker_that_is_a_key_is_referred_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    monkeypatch.chdir(tmp_path)
    [record] = joins(tmp_path, [marker, *CODES], [*referring_to(CODES), *[marker] * 50])
    assert (record["rows"], record["placeholders"]) == (350, "")
    assert rows_of(record) == 350


def test_columns_that_share_markers_alone_do_not_join(tmp_path: Path) -> None:
    one, other = ([*referring_to(list(codes), 90), *["N/A", "-"] * 20] for codes in ("ab", "cd"))
    assert joins(tmp_path, one, other, "code") == []


TEAMS = ["BOS", "CHA", "DET", "NYA", "SEA", "TBA"]


@pytest.mark.parametrize(("marker", "placeholders"), [("TBA", ""), ("N/A", "N/A")])
def test_a_marker_may_be_a_code_among_codes_like_it(
    tmp_path: Path, marker: str, placeholders: str
) -> None:
    teams = [*TEAMS[:5], marker] * 20
    [record] = joins(tmp_path, teams, teams[::2] + teams[1::2], "team")
    assert record["placeholders"] == placeholders
    assert record["rows"] == 20 * 20 * (6 if marker == "TBA" else 5)


@pytest.mark.parametrize(
    "keys",
    [
        PAIRS,
        [*(f"k{at}" for at in range(40)), "k1 ", "k7 "],
        [f"{street}{at}" for at in range(30) for street in ("Straße", "Strasse")],
        [f"A{dash}{at}" for at in range(30) for dash in "-–"],
        list("AaBbCcDdEe"),
    ],
)
def test_keys_that_differ_in_little_are_compared_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [record] = joins(tmp_path, keys, referring_to(keys))
    assert (record["cardinality"], record["rows"]) == ("many-to-one", 300)
    assert record["compared_as"] == "exact values"
    assert rows_of(record) == 300


def test_days_refer_to_the_day_of_a_calendar_that_is_written_alike(tmp_path: Path) -> None:
    calendar = {
        "date_key": [day.replace("-", "") for day in DAYS],
        "full_date": DAYS,
        "ts": [f"{day} 00:00:00" for day in DAYS],
        "weekday": [date.fromisoformat(day).strftime("%A") for day in DAYS],
    }
    sales = {
        "no": range(7001, 7601),
        "sold_on": referring_to(DAYS, 300) + referring_to(DAYS[::3], 300),
    }
    pd.DataFrame(calendar).to_csv(tmp_path / "dim_date.csv", index=False)
    pd.DataFrame(sales).to_csv(tmp_path / "sales.csv", index=False)
    [record] = find_joins(tmp_path).records()
    assert {record["left_column"], record["right_column"]} == {"sold_on", "full_date"}
    assert (record["role"], record["rows"]) == ("reference", 600)


@pytest.mark.parametrize("parts", [range(1, 10), range(1, 25)])
def test_codes_that_count_behind_a_point_are_keys(tmp_path: Path, parts: range) -> None:
    width = len(str(parts[-1]))
    keys = [f"{one}.{other:0{width}}" for one in range(1, 20) for other in parts]
    [record] = joins(tmp_path, keys, referring_to(keys, 900), "section")
    assert (record["role"], record["rows"]) == ("reference", 900)


@pytest.mark.parametrize("name", ["icd9", "NAICS", "dx_code", "dx.diagnosisCode"])
def test_numbers_with_a_point_that_are_called_codes_are_keys(tmp_path: Path, name: str) -> None:
    keys = [f"{at * 0.37 + 1:.2f}" for at in range(200)]
    [record] = joins(tmp_path, keys, referring_to(keys), name)
    assert (record["role"], record["rows"], bool(record["sql"])) == ("reference", 300, True)


def test_fractions_of_one_are_no_codes(tmp_path: Path) -> None:
    rates = [f"{at / 200:.3f}" for at in range(200)]
    assert joins(tmp_path, rates, referring_to(rates), "discount_code") == []


@pytest.mark.parametrize(
    "measures",
    [
        [f"{at * 0.37 + 1:.2f}" for at in range(200)],
        # Some people write 3.10, others 3.1.
        [*(f"{at / 20 + 3:.2f}" for at in range(60)), *(f"{at / 10 + 3:.1f}" for at in range(30))],
    ],
)
def test_measures_with_a_point_are_no_keys(tmp_path: Path, measures: list[str]) -> None:
    assert joins(tmp_path, measures, referring_to(measures), "weight") == []
