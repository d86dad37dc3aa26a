"""Test that no order of columns, rows, files or folders changes the joins that are found."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.bench_order import VARIANTS, compare, find
from datahub_hyperjoin.joins import Join

MEASURES = [f"{name}_{part}" for name in ("at_bats", "runs", "hits") for part in ("won", "lost")]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a lake in which columns without an identifier's name precede keys of two columns."""
    folder, random = tmp_path_factory.mktemp("order"), np.random.default_rng(7)
    years, codes = range(2000, 2012), [f"T{code}" for code in "ABCDEFGHIJ"]
    seasons = pd.DataFrame(
        [(year, code) for year in years for code in codes], columns=["season", "club"]
    )

    def measured(rows: pd.DataFrame) -> pd.DataFrame:
        drawn = {name: random.integers(0, 40, len(rows)) for name in MEASURES}
        return pd.DataFrame(drawn).join(rows.reset_index(drop=True))

    clubs = pd.DataFrame({"club": codes, "town": [f"Town of {code}" for code in codes]})
    players = pd.DataFrame(
        {"player_id": [f"p{at:03}" for at in range(200)], "born": random.integers(1960, 1990, 200)}
    )
    lines = seasons.sample(600, replace=True, random_state=1).assign(
        player_id=random.choice(players["player_id"], 600)
    )
    (folder / "league").mkdir()
    (folder / "people").mkdir()
    measured(seasons).to_csv(folder / "league" / "results.csv", index=False)
    measured(lines).to_csv(folder / "league" / "lines.csv", index=False)
    clubs.to_csv(folder / "league" / "clubs.csv", index=False)
    players.to_csv(folder / "people" / "players.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def before(lake: Path) -> dict[frozenset[frozenset[str]], Join]:
    return {**find(lake, {}, None)}


def test_the_joins_of_the_lake_as_it_is(before: dict[frozenset[frozenset[str]], Join]) -> None:
    names = {"season", "club"}
    composite = frozenset(
        frozenset({f"league/lines.csv {name}", f"league/results.csv {name}"}) for name in names
    )
    assert composite in before
    assert (
        frozenset({frozenset({"league/lines.csv player_id", "people/players.csv player_id"})})
        in before
    )


@pytest.mark.parametrize("name", ["columns", "rows", "files", "folder"])
def test_no_order_and_no_folder_s_name_changes_a_join(
    lake: Path, before: dict[frozenset[frozenset[str]], Join], tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "lake"
    shutil.copytree(lake, copy)
    random, change = np.random.default_rng(3), VARIANTS[name]
    renamed = change(copy, random) if change else {}
    after = find(copy, renamed, None if change else random)
    difference = compare(before, after)
    assert after.keys() == before.keys()
    assert (difference.lost, difference.roles, difference.moved) == ([], 0, 0)
    if name != "folder":
        scores = {pairs: join.joinability for pairs, join in before.items()}
        assert {pairs: join.joinability for pairs, join in after.items()} == scores
