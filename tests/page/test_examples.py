"""Test which values the page shows, and for which columns it shows no values."""

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from browser.pages import (
    FLIGHTS,
    PLANES,
    TEAMS,
    data_of,
    holding,
    join,
    profile,
    profiled,
    profiles,
    refers,
    write,
    write_found,
)
from datahub_hyperjoin.page.examples import list_examples, list_unmatched
from datahub_hyperjoin.tables import ColumnId, TableProfile

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


def sketched(column: ColumnId, values: Sequence[str], *, size: int = 99) -> TableProfile:
    """Profile the only column of a table."""
    made = holding(profiled(column), values, size=size)
    return replace(profile(column.table), columns=(made,))


def test_values_without_a_partner_are_shown_the_most_frequent_first() -> None:
    key = sketched(PLANES, ["N1", "n2 "])
    planes = sketched(FLIGHTS, ["N1", "N2", "X1", "unknown"])
    assert list_unmatched([refers(FLIGHTS, PLANES)], [planes, key]) == {0: ("unknown", "X1")}
    many = sketched(FLIGHTS, [f"X{at}" for at in range(9)])
    (shown,) = list_unmatched([refers(FLIGHTS, PLANES)], [many, key]).values()
    assert len(shown) == 5
    same_domain = join(FLIGHTS, PLANES)
    assert list_unmatched([same_domain], [planes, key]) == {}


def test_a_value_that_the_key_may_have_is_not_shown() -> None:
    values = [f"N{at}" for at in range(64)]
    key = sketched(PLANES, values, size=8)
    assert list_unmatched([refers(FLIGHTS, PLANES)], [sketched(FLIGHTS, values), key]) == {}
    empty = replace(key, columns=(replace(key.columns[0], sketch=b""),))
    assert list_unmatched([refers(FLIGHTS, PLANES)], [sketched(FLIGHTS, values), empty]) == {}


def test_personal_values_without_a_partner_are_not_shown() -> None:
    key, flights = sketched(PLANES, ["N1"]), sketched(FLIGHTS, ["X1"])
    personal = replace(profiled(TEAMS), personal="e-mail addresses")
    teams = replace(profile(TEAMS.table), columns=(personal,))
    joins = [refers(FLIGHTS, PLANES), join(FLIGHTS, TEAMS)]
    assert list_unmatched(joins[:1], [flights, key, teams]) == {0: ("X1",)}
    assert list_unmatched(joins, [flights, key, teams]) == {}


def test_a_page_with_values_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "joins.html"
    text = write(path, [FLIGHTS, PLANES], [join(FLIGHTS, PLANES)])
    assert data_of(text)["examples"] == data_of(text)["unmatched"] == {}
    assert stat.S_IMODE(path.stat().st_mode) != 0o600
    columns = [FLIGHTS, PLANES]
    write_found(
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
