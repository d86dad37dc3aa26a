"""Test how labelled lakes become examples of references, and how these are judged."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reference_trees.__main__ import (
    _PARAMETERS,
    main,
    train,
    train_on_headers,
)
from benchmarks.reference_trees.examples import DOUBT, RIGHT, WRONG, Examples, collect
from benchmarks.reference_trees.judge import judge, probabilities
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble
from lakes.handmade import draw, numbers, write_csv

TABLES = {
    "customers": {"id": numbers(1, 61), "born": numbers(1940, 2000)},
    "orders": {"id": numbers(1, 201), "customer_id": draw(numbers(1, 61), 200)},
    "invoices": {"id": numbers(1, 101), "order_id": draw(numbers(1, 80), 100)},
}
DECLARED = [("orders", "customer_id", "customers", "id")]
HEADER = ("from_table", "from_column", "to_table", "to_column")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Return a labelled lake of the school's form, in which one reference is not declared."""
    folder = tmp_path / "train" / "000-relational-alone-plain"
    for name, columns in TABLES.items():
        write_csv(folder / "tables" / f"{name}.csv", columns, zip(*columns.values(), strict=False))
    write_csv(folder / "references.csv", (*HEADER, "direction"), [(*DECLARED[0], "unique")])
    write_csv(folder / "declared.csv", HEADER, DECLARED)
    write_csv(folder / "provenance.csv", ("table", "database"), [(name, "shop") for name in TABLES])
    return folder


def named(found: Examples, folder: Path) -> dict[tuple[str, str], int]:
    """Return the label of each pair, by the names of its columns."""
    names = [f"{name}.{column}" for name in sorted(TABLES) for column in TABLES[name]]
    assert found.name == folder.name
    assert found.columns == len(names)
    pairs = zip(found.column.tolist(), found.key.tolist(), found.labels.tolist(), strict=True)
    return {(names[a], names[b]): label for a, b, label in pairs}


def test_undeclared_references_that_names_and_values_tell_are_in_doubt(lake: Path) -> None:
    found = collect(lake)
    assert found
    labels = named(found, lake)
    assert labels["orders.customer_id", "customers.id"] == RIGHT
    assert labels["invoices.order_id", "orders.id"] == DOUBT
    assert labels["orders.customer_id", "invoices.id"] == WRONG
    assert found.within.all()
    assert found.judged.all()


def test_a_lake_whose_truth_is_whole_has_no_such_doubt(lake: Path) -> None:
    (lake / "declared.csv").unlink()
    write_csv(lake / "declared_all.csv", HEADER, DECLARED)
    found = collect(lake)
    assert found
    assert named(found, lake)["invoices.order_id", "orders.id"] == WRONG


def test_a_column_whose_key_holds_none_of_its_values_is_not_judged(lake: Path) -> None:
    lost = ("invoices", "id", "customers", "born")
    write_csv(lake / "declared.csv", HEADER, [*DECLARED, lost])
    found = collect(lake)
    assert found
    assert np.flatnonzero(~found.judged).tolist() == [2]


def test_a_lake_without_candidates_teaches_nothing(tmp_path: Path) -> None:
    write_csv(tmp_path / "tables" / "a.csv", ["x"], [["one"], ["two"]])
    assert collect(tmp_path) is None


def examples(scores: list[float], labels: list[int]) -> Examples:
    """Return the examples of three columns: two candidates of the first, one of each other."""
    return Examples(
        name="made",
        features=("score",),
        rows=np.array(scores, np.float32)[:, None],
        scores=np.array(scores),
        column=np.array([0, 0, 1, 2]),
        key=np.array([3, 4, 3, 4]),
        columns=5,
        labels=np.array(labels),
        within=np.ones(4, bool),
        judged=np.ones(5, bool),
        asked=frozenset({frozenset({0, 3}), frozenset({2, 4})}),
        true=frozenset({frozenset({0, 3}), frozenset({2, 4})}),
    )


def test_a_run_is_judged_by_what_it_would_write() -> None:
    made = examples([2.0, 0.0, 0.2, -1.0], [RIGHT, WRONG, WRONG, RIGHT])
    none = np.zeros(4)
    p = probabilities(made, made.scores)
    assert p[:2].sum() + 1 / (1 + np.e**2 + 1) == pytest.approx(1)
    result = judge(made, none)
    assert result[:3] == pytest.approx((0.5, 0.5, 0.5))
    off = [1 - p[0], p[2], 1 - p[3]]
    assert result.calibration_error == pytest.approx(np.mean(off))
    surprise = [-np.log(p[0]), -np.log(1 - p[2]), -np.log(p[3])]
    assert result.log_loss == pytest.approx(np.mean(surprise))


def test_pairs_in_doubt_do_not_count() -> None:
    made = examples([2.0, -9.0, 1.0, 3.0], [RIGHT, WRONG, DOUBT, RIGHT])
    assert judge(made, np.zeros(4))[:3] == pytest.approx((1, 1, 1))
    assert judge(replace(made, judged=np.zeros(5, bool)), np.zeros(4)).recall == 0


def test_training_again_gives_the_same_trees(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One lake has a dozen pairs.
    few = {**_PARAMETERS, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0}
    monkeypatch.setattr("benchmarks.reference_trees.__main__._PARAMETERS", few)
    (tmp_path / "validation").mkdir()
    main([str(tmp_path), str(lake), "--out", str(file := tmp_path / "trees.safetensors")])
    found = collect(lake)
    assert found
    again, written = train([found]), TreeEnsemble.load(file)
    assert again(found.rows).tolist() == written(found.rows).tolist()
    assert np.ptp(again(found.rows)) > 0


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    """Return a lake of the school without rows, in which two references are not declared."""
    folder = tmp_path / "train" / "000-headers-alone-plain"
    tables = {
        "customers": ["id", "name"],
        "orders": ["id", "customer_id", "seller_id"],
        "invoices": ["id", "order_id", "customer_id"],
        "sellers": ["id", "name"],
    }
    for name, columns in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", columns, [])
    declared = [(*DECLARED[0],), ("orders", "seller_id", "sellers", "id")]
    write_csv(folder / "references.csv", (*HEADER, "direction"), [])
    write_csv(folder / "declared.csv", HEADER, declared)
    write_csv(folder / "provenance.csv", ("table", "database"), [(name, "shop") for name in tables])
    return folder


def test_a_lake_of_headers_asks_for_what_is_declared(headers: Path) -> None:
    found = collect(headers)
    assert found
    assert found.asked == found.true
    assert len(found.asked) == 2
    guessed = found.rows[:, found.features.index("guessed_of_b")] > 0
    # Names tell two more references, of which nobody knows whether they are right.
    assert np.count_nonzero((found.labels == DOUBT) & guessed) == 2
    assert np.count_nonzero(found.labels == RIGHT) == 2


def test_training_on_headers_again_gives_the_same_trees(
    headers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {**_PARAMETERS, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0}
    few |= {"min_data_in_bin": 1, "lambda_l2": 0.0}
    monkeypatch.setattr("benchmarks.reference_trees.__main__._PARAMETERS", few)
    (tmp_path / "validation").mkdir()
    main([str(tmp_path), str(headers), "--headers", "--out", str(file := tmp_path / "trees")])
    found = collect(headers)
    assert found
    again, written = train_on_headers([found]), TreeEnsemble.load(file)
    assert again(found.rows).tolist() == written(found.rows).tolist()
    assert np.ptp(again(found.rows)) > 0
