"""Test the lakes that the composite-key benchmark generates, and how it scores references."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.bench_composite import (
    Columns,
    Measured,
    declared_columns,
    implied_columns,
    name_slow,
    score,
    write_schemas,
)
from benchmarks.composite.schema import Declared
from benchmarks.composite.schemas import SCHEMAS

KEY: Columns = frozenset({("a.x", "b.x"), ("a.y", "b.y")})
OTHER: Columns = frozenset({("b.x", "c.x"), ("b.y", "c.y")})


@pytest.mark.parametrize("name", SCHEMAS)
def test_declared_keys_hold_in_the_rows(name: str) -> None:
    schema = SCHEMAS[name](np.random.default_rng(0))
    for key in schema.keys:
        left, right = schema.tables[key.table], schema.tables[key.referenced_table]
        parents = set(map(tuple, right[[*key.referenced]].astype(str).to_numpy()))
        assert len(parents) == len(right)
        children = left[[*key.columns]].astype(str).apply(lambda column: column.str.upper())
        matched = [row in parents for row in map(tuple, children.to_numpy())]
        assert np.mean(matched) > 0.99


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_part_of_a_key_is_unique(name: str) -> None:
    schema = SCHEMAS[name](np.random.default_rng(0))
    for key in schema.keys:
        parts = schema.tables[key.referenced_table][[*key.referenced]]
        assert not any(parts[column].is_unique for column in parts)


def test_lakes_are_the_same_in_every_run(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        write_schemas(folder, 7)
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)
    assert sum(len(pd.read_csv(first / name)) for name in names) > 10_000


def test_columns_of_a_declared_key_name_their_tables() -> None:
    key = Declared("a", ("x", "y"), "b", ("x", "y"))
    assert declared_columns(key) == KEY


def test_fewer_columns_of_a_key_are_right_and_more_are_not() -> None:
    wide: Columns = frozenset({*KEY, ("a.z", "b.z")})
    assert score([KEY], [wide]) == (1.0, 1.0, 1.0)
    assert score([wide], [KEY])[0] == 0
    assert score([KEY, OTHER], [KEY]) == pytest.approx((0.5, 1.0, 2 / 3))
    assert score([], [KEY]) == (0.0, 0.0, 0.0)


def test_a_search_that_takes_too_long_is_named() -> None:
    assert name_slow({"quick": Measured((), profiling=2.0, searching=3.0)}) == ""
    slow = {"slow": Measured((), profiling=2.0, searching=3.1)}
    assert name_slow(slow) == "The search exceeds 1.5 times profiling: slow"


def test_keys_one_after_the_other_imply_a_reference() -> None:
    [implied] = implied_columns([KEY, OTHER])
    assert implied == {("a.x", "c.x"), ("a.y", "c.y")}
    assert score([KEY, implied], [KEY, OTHER], [implied])[0] == 1
    assert implied_columns([KEY]) == []
