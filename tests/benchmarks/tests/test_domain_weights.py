"""Test how the pairs of labelled lakes teach the weights of one domain."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.domain_weights import Pairs, collect, fit, main, report
from datahub_hyperjoin.model.domains import FITTED_WEIGHTS
from lakes.handmade import write_csv

TOWNS = [f"Town {at}" for at in range(40)]
STATES = ["new", "open", "late"]
TABLES: dict[str, dict[str, Sequence[str]]] = {
    "shops": {"town": TOWNS * 2, "state": STATES * 26 + STATES[:2]},
    "trips": {"to": TOWNS[5:] * 2, "status": STATES * 23 + STATES[:1]},
}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a labelled lake in which towns join and states do not."""
    folder = tmp_path / "train" / "000-pieces-plain"
    for name, columns in TABLES.items():
        write_csv(folder / "tables" / f"{name}.csv", columns, zip(*columns.values(), strict=True))
    write_csv(folder / "queries.csv", ("table", "column"), [("shops", "town"), ("trips", "status")])
    pair = ("query_table", "query_column", "candidate_table", "candidate_column")
    write_csv(folder / "ground_truth.csv", pair, [("shops", "town", "trips", "to")])
    return folder


def test_pairs_are_labelled_by_the_truth_of_the_lake(lake: Path) -> None:
    found = collect(lake)
    assert found
    right = {
        round(np.expm1(shared)): label
        for shared, label in zip(found.described[:, 1], found.right, strict=True)
    }
    assert right == {35: True, 3: False}
    assert not found.described[:, 2:].any()
    write_csv(lake / "ground_truth.csv", ("query_table",), [])
    undone = collect(lake)
    assert undone
    assert not undone.right.any()


def test_a_pair_of_which_nothing_is_known_teaches_nothing(lake: Path) -> None:
    write_csv(lake / "ground_truth.csv", ("query_table",), [])
    write_csv(lake / "queries.csv", ("table", "column"), [])
    assert collect(lake) is None


def test_a_lake_without_rows_teaches_nothing(tmp_path: Path) -> None:
    write_csv(tmp_path / "tables" / "empty.csv", ("id",), [])
    assert collect(tmp_path) is None


def test_the_fit_returns_the_weights_that_drew_the_pairs() -> None:
    random = np.random.default_rng(0)
    described = random.normal(size=(20_000, 4))
    drawn = FITTED_WEIGHTS
    right = random.random(len(described)) < drawn.weigh(described)
    fitted = fit([Pairs("drawn", described, np.full(len(right), 0.9), right)])
    assert fitted.features == pytest.approx(drawn.features, abs=0.2)
    assert fitted.constant == pytest.approx(drawn.constant, abs=0.2)


def test_no_pair_gains_by_its_surroundings() -> None:
    described = np.array([[0.0, 8.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    lake = Pairs("two", described, np.array([0.6, 0.9]), np.array([True, False]))
    before, after = report([lake], FITTED_WEIGHTS).splitlines()[2:]
    assert before.split()[2:] == ["2", "1", "0.650"]
    assert after.split()[2:] == ["1", "1", "0.204"]


def test_the_command_prints_the_weights_and_judges_lakes(
    lake: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_csv(lake / "queries.csv", ("table", "column"), [("shops", "town"), ("shops", "state")])
    (lake.parent.parent / "validation").mkdir()
    main([str(lake.parent.parent), str(lake)])
    assert "constant: " in caplog.text
    assert "000-pieces-plain after" in caplog.text
