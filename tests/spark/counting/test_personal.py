"""Test that columns of personal values are recognised, and no other columns."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.personal import _checks, recognise
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.tables import ColumnProfile, Table, TableId


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["ann@example.org", "bob.b@mail.example.co.uk"], "e-mail addresses"),
        (["call Ann <ann@example.org>", *["no comment"] * 9], "e-mail addresses"),
        (["+41 44 668 18 00", "+1 (212) 555-2368"], "phone numbers"),
        (["(212) 555-2368", "312-555-0142"], "phone numbers"),
        (["GB82 WEST 1234 5698 7654 32", "DE89370400440532013000"], "IBANs"),
        (["536-90-4399", "212-34-5678", "401-22-3344"], "national identity numbers"),
        (["756.9217.0769.85", "7569217076985", "756.1234.5678.97"], "national identity numbers"),
        (["111222333", "100000009", "123456782"], "national identity numbers"),
        (["131052-308T", "131052A308T", "131052-308T"], "national identity numbers"),
        (["MRTMTT91D08F205J", "RSSMRA85T10A562S", "MLLSNT82P65Z404U"], "national identity numbers"),
        (["44051401359", "02070803628", "44051401458"], "national identity numbers"),
    ],
)
def test_personal_values_are_recognised(values: list[str], kind: str) -> None:
    assert recognise(values) == kind


def test_a_name_tells_phone_numbers_from_other_digits() -> None:
    values = ["0446681800", "044 668 18 01", "079-123-45-67"]
    assert [
        recognise(values, name) for name in ("home_phone", "Telephone", "microphone", "id")
    ] == [
        "phone numbers",
        "phone numbers",
        "",
        "",
    ]


def number(digits: int) -> list[str]:
    source = random.Random(digits)  # noqa: S311 (a test needs no secrets)
    return [str(source.randrange(10 ** (digits - 1), 10**digits)) for _ in range(64)]


@pytest.mark.parametrize(
    "values",
    [
        [],
        [""],
        *map(number, range(5, 20)),
        [str(1_000_000_000 + number) for number in range(64)],
        [str(100_000_000 + number) for number in range(64)],
        [f"2024-{month:02}-{day:02}" for month in range(1, 9) for day in range(1, 9)],
        [f"2024{month:02}{day:02}{day:03}" for month in range(1, 9) for day in range(1, 9)],
        [f"2024-01-01 10:{minute:02}:00" for minute in range(60)],
        [f"{number / 7:.10f}" for number in range(64)],
        [f"A{number:07}" for number in range(64)],
        ["978-3-16-148410-0", "978-0-306-40615-7"],
        ["192.168.178.1", "10.0.0.1"],
        ["@handle", "user@host"],
        ["C:\\data", "https://example.org/x"],
        ["+5", "+12.5", "-3"],
    ],
    ids=lambda values: values[0] if values else "none",
)
def test_other_values_are_not(values: list[str]) -> None:
    assert recognise(values, "value") == ""


def test_every_check_exists() -> None:
    every = [check for length in range(20) for check in _checks(length)]
    assert len({*every}) > 30
    assert not any(check("x") for check in every)


@pytest.fixture
def people(tmp_path_factory: pytest.TempPathFactory) -> Table:
    rows = [f"{number},p{number}@example.org,Oslo {number}" for number in range(70)]
    file = tmp_path_factory.mktemp("lake") / "people.csv"
    return write_table(file, ["id,mail,town", *rows, *rows[:9]])


def write_table(file: Path, lines: Sequence[str]) -> Table:
    file.write_text("\n".join(lines))
    location = File(uri=str(file), format="csv")
    return Table(id=TableId("file", file.name), title=file.stem, location=location, size=1)


def columns(table: Table, config: ProfileConfig) -> dict[str, ColumnProfile]:
    profile = profile_table(table, config, Databases())
    return {column.id.path: column for column in profile.columns}


def told(profiles: dict[str, ColumnProfile]) -> dict[str, str]:
    return {path: column.personal for path, column in profiles.items() if column.personal}


def test_samples_of_personal_columns_are_hashes(people: Table) -> None:
    clear = columns(people, ProfileConfig(detect_personal=False))
    hidden = columns(people, ProfileConfig())
    assert told(hidden) == {"mail": "e-mail addresses"}
    assert told(clear) == {}
    mail = hidden["mail"]
    assert not {*mail.sample} & {*clear["mail"].sample}
    assert all(value.isalnum() and len(value) > 8 for value in mail.sample)
    assert replace(mail, sample=clear["mail"].sample, personal="") == clear["mail"]


def test_dates_are_no_phone_numbers(tmp_path: Path) -> None:
    rows = [f"2024-01-{day:02},2024-01-{day:02} 09:30:00,044668{day:04}" for day in range(1, 29)]
    table = write_table(tmp_path / "phones.csv", ["mobile_since,fax_tested,fax", *rows])
    assert told(columns(table, ProfileConfig())) == {"fax": "phone numbers"}


def test_equal_values_have_equal_hashes(people: Table) -> None:
    copy = replace(people, id=TableId("file", "copy.csv"))
    config = ProfileConfig()
    assert columns(people, config)["mail"].sample == columns(copy, config)["mail"].sample


@pytest.mark.parametrize(
    ("config", "marked", "reasons"),
    [
        (ProfileConfig(personal_columns=(r"\.TOWN$",)), (), {"town": "named by `profile.pers"}),
        (ProfileConfig(personal_columns=("people",)), (), {"id": "named", "town": "named"}),
        (ProfileConfig(), ("id",), {"id": "marked in the catalog"}),
        (ProfileConfig(), ("ID",), {"id": "marked in the catalog"}),
    ],
)
def test_columns_are_personal_by_name_and_by_the_catalog(
    people: Table, config: ProfileConfig, marked: Sequence[str], reasons: dict[str, str]
) -> None:
    profiles = columns(
        replace(people, personal=frozenset(marked)), replace(config, detect_personal=False)
    )
    found = told(profiles)
    for path, reason in reasons.items():
        assert found[path].startswith(reason)
        assert not {*profiles[path].sample} & {"1", "Oslo 1"}
    # A number stays a number, because the model reads the samples of such columns as numbers.
    assert all(value.isdigit() for value in profiles["id"].sample)


def test_a_faulty_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`personal_columns` holds '\(', which is no regular exp"):
        ProfileConfig(personal_columns=("(",))
