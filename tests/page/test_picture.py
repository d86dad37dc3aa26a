"""Test that the picture shows the joined tables, and the best joins if there are many."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
from pages import join, lake, profiles, refers

from datahub_hyperjoin.joins import (
    Role,
)
from datahub_hyperjoin.page.contents import list_contents
from datahub_hyperjoin.page.picture import MOST_LINES, draw_tables


def test_a_tooltip_shows_the_direction_and_the_best_use_first() -> None:
    columns = lake(tables=2, keys=2)
    joins = [join(columns[0], columns[2], 0.99), refers(columns[3], columns[1], 0.6)]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    (line,) = draw_tables(contents).lines
    assert line.tooltip.splitlines()[1:] == ["key1 ← key1 · 0.60", "key0 = key0 · 0.99"]
    assert (line.weight, line.is_reference) == (0.99, True)


def test_a_disc_grows_with_its_joins_within_limits() -> None:
    columns = lake(tables=400, keys=1)
    joins = [join(columns[0], other) for other in columns[1:]]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    radii = [node.radius for node in draw_tables(contents).nodes]
    assert radii[0] == max(radii) < 30
    assert min(radii) > 5


def test_many_joins_of_two_tables_are_one_line() -> None:
    columns = lake(tables=2, keys=8)
    joins = [join(one, other, 0.5) for one, other in zip(columns[:8], columns[8:], strict=True)]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    (line,) = draw_tables(contents).lines
    assert line.tooltip.splitlines()[0] == "table00000 – table00001"
    assert line.tooltip.splitlines()[-1] == "and 2 more"


def test_thinning_a_dense_picture_keeps_it_connected() -> None:
    columns = lake(tables=60, keys=1)
    joins = [
        replace(join(one, other), role=Role.SIBLING) for one, other in combinations(columns, 2)
    ]
    contents = list_contents(profiles(*columns), keys=columns, suggestions=[], joins=joins)
    picture = draw_tables(contents)
    drawn = nx.Graph(line.tables for line in picture.lines)
    assert nx.is_connected(drawn)
    assert len(drawn) == 60
    assert len(picture.lines) <= MOST_LINES + 59
    assert len(picture.lines) + picture.lines_left_out == len(joins)
