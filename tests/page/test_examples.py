"""Test which values the page shows, and for which columns it shows no values."""

import stat
from dataclasses import replace
from pathlib import Path

from pages import FLIGHTS, PLANES, TEAMS, data_of, join, profile, profiled, profiles, write

from datahub_hyperjoin.page import write_page
from datahub_hyperjoin.page.examples import list_examples

INDICES = {FLIGHTS: 0, PLANES: 1, TEAMS: 2}


def test_a_column_shows_its_first_values_in_short() -> None:
    sample = ("a  b\nc", "x" * 50, *"defgh")
    columns = {FLIGHTS: replace(profiled(FLIGHTS), sample=sample), PLANES: profiled(PLANES)}
    found = list_examples([join(FLIGHTS, PLANES)], columns, INDICES)
    assert found == {0: ("a b c", "x" * 39 + "…", "d", "e", "f"), 1: ("N14228",)}


def test_personal_columns_and_those_that_hold_their_values_show_none() -> None:
    columns = {column: profiled(column) for column in INDICES}
    columns[PLANES] = replace(columns[PLANES], personal="e-mail addresses")
    joins = [join(FLIGHTS, PLANES), join(FLIGHTS, TEAMS)]
    assert list_examples(joins, columns, INDICES) == {0: (), 1: (), 2: ("N14228",)}


def test_a_column_that_the_page_leaves_out_still_hides_values() -> None:
    columns = {column: profiled(column) for column in INDICES}
    columns[PLANES] = replace(columns[PLANES], personal="e-mail addresses")
    found = list_examples([join(FLIGHTS, PLANES)], columns, {FLIGHTS: 0})
    assert found == {0: ()}


def test_a_page_with_values_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "joins.html"
    text = write(path, [FLIGHTS, PLANES], [join(FLIGHTS, PLANES)])
    assert data_of(text)["examples"] == {}
    assert stat.S_IMODE(path.stat().st_mode) != 0o600
    columns = [FLIGHTS, PLANES]
    write_page(
        path,
        profiles=[*profiles(*columns), profile(TEAMS.table, fault="is an empty file")],
        keys=columns,
        suggestions=(),
        joins=[join(FLIGHTS, PLANES)],
        values=True,
    )
    examples = data_of(path.read_text(encoding="utf-8"))["examples"]
    assert examples == {"0": ["N14228"], "1": ["N14228"]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
