"""Test that the page's data contains roles, directions and value domains."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from browser.pages import (
    FLIGHTS,
    PLANES,
    TEAMS,
    column,
    data_of,
    join,
    lake,
    profiles,
    refers,
    suggestion,
    undeclared,
    write,
)
from datahub_hyperjoin.joins import (
    Role,
)
from datahub_hyperjoin.page.contents import list_contents


def test_a_join_has_its_role_and_direction(tmp_path: Path) -> None:
    further = ((column("nycflights13/flights.year"), column("nycflights13/planes.built")),)
    joins = [
        replace(refers(FLIGHTS, PLANES), further=further),
        refers(TEAMS, FLIGHTS),
        replace(join(TEAMS, PLANES), role=Role.SIBLING),
    ]
    data = data_of(write(tmp_path / "page.html", [FLIGHTS, PLANES, TEAMS], joins))
    ends = {tuple(record[:2]): record[13:15] for record in data["joins"]}
    teams, flights, planes = 0, 1, 2
    assert ends == {(flights, planes): [0, 1], (teams, flights): [0, 1], (teams, planes): [2, 0]}
    (number,) = (n for n, one in enumerate(data["joins"]) if one[:2] == [flights, planes])
    further_paths: Any = data["further"]
    assert further_paths == {str(number): [["year", "built"]]}
    back = data_of(write(tmp_path / "page.html", [FLIGHTS, PLANES], [refers(PLANES, FLIGHTS)]))
    assert back["joins"][0][13:15] == [0, -1]


def test_joins_keep_their_order_and_those_of_crosswalks_alone_come_last() -> None:
    columns = lake(tables=3, keys=1)
    first, second, third = columns
    contents = list_contents(
        profiles(*columns),
        keys=columns,
        suggestions=[suggestion(first, second, 0.9)],
        joins=[join(first, third, 0.2), join(first, second, 0.9)],
        lone=[join(second, third, 0.99)],
    )
    assert [record[:2] for record in contents.joins] == [(0, 2), (0, 1), (1, 2)]


def test_columns_of_one_domain_are_listed_once() -> None:
    columns = lake(tables=5, keys=1)
    joins = [undeclared(one, other) for one, other in combinations(columns[:4], 2)]
    joins.append(refers(columns[4], columns[0]))
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    (domain,) = contents.domains
    assert (domain[0], sorted(domain[1])) == ("key0", [0, 1, 2, 3])
    assert sorted(int(record[15]) for record in contents.joins) == [-1] + 6 * [0]


def test_a_page_shows_each_domain_once(tmp_path: Path) -> None:
    columns = lake(tables=4, keys=1)
    page = write(
        tmp_path / "page.html",
        columns,
        [undeclared(one, other) for one, other in combinations(columns, 2)],
    )
    assert page.count('id="domains-title"') == 1
