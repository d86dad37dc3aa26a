"""Test that a lake keeps its joins if names change, columns are shuffled or values are removed."""

import pandas as pd
import pytest

from benchmarks.school.guises import (
    Guise,
    abbreviate_names,
    hide_names,
    hide_values,
    number_names,
    shuffle_columns,
    style_names,
)
from benchmarks.school.lake import Directed, SchoolLake, Truth
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import random

GUISES = (style_names, abbreviate_names, hide_names, number_names, shuffle_columns, hide_values)


@pytest.mark.parametrize("guise", GUISES)
def test_a_guise_keeps_the_truth(guise: Guise, lake: SchoolLake) -> None:
    other = guise(lake, random(5))
    assert len(other.truth) == len(lake.truth)
    assert len(other.references) == len(lake.references)
    for one in other.truth:
        for column in (one.query, one.candidate):
            assert column.column in other.tables[column.table].columns
    if guise is hide_values:
        assert all(frame.empty for frame in other.tables.values())
        return
    assert shared(lake) == shared(other)


def shared(lake: SchoolLake) -> list[tuple[str, int]]:
    """Return the kind of each join, and the number of values that its two columns share."""

    def values(column: ColumnName) -> frozenset[str]:
        return frozenset(lake.tables[column.table][column.column])

    return sorted((one.kind, len(values(one.query) & values(one.candidate))) for one in lake.truth)


@pytest.mark.parametrize("guise", [hide_names, number_names])
def test_hidden_names_tell_nothing(guise: Guise, lake: SchoolLake) -> None:
    new = guise(lake, random(5))
    words = {"languages", "forms", "examples", "form", "language", "name"}
    names = {*new.tables, *(str(column) for frame in new.tables.values() for column in frame)}
    assert not {name.lower() for name in names} & words


def test_a_guise_names_a_column_alike_throughout_one_database(lake: SchoolLake) -> None:
    new = hide_names(lake, random(2))
    tables = dict(zip(lake.tables, new.tables, strict=True))
    column = list(lake.tables["forms"]).index("Language_ID")
    other = list(lake.tables["examples"]).index("Language_ID")
    one = str(new.tables[tables["forms"]].columns[column])
    two = str(new.tables[tables["examples"]].columns[other])
    assert one[-4:] == two[-4:]


def test_names_that_become_alike_are_numbered() -> None:
    frame = pd.DataFrame({"customer": ["1"], "custom": ["2"]})
    first = ColumnName("t", "customer")
    lake = SchoolLake(
        {"t": frame}, (Truth(first, first, "fk"),), (Directed(first, first, "unique"),), {"t": "x"}
    )
    new = lake.rename({"t": "u v"}, lambda column: column.column[:4])
    assert list(new.tables["u_v"]) == ["cust", "cust2"]
    assert new.queries == [ColumnName("u_v", "cust")]
