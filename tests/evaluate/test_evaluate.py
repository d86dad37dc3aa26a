"""Test the command `hyperjoin evaluate` on files whose joins are known."""

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from datahub_hyperjoin.cli import main


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        main, ["evaluate", "--set", "model.network.width=32", *map(str, arguments)]
    )


def succeed(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def fail(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    return result.output.splitlines()[-1]


def read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(opened)


@pytest.mark.usefixtures("spark")
def test_tables_and_rankings_are_written(labelled_lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    blend = ("--set", "model.ranking.scoring=blend")
    result = succeed(labelled_lake, *blend, "--epochs", "2", "--out", out)
    assert {path.name for path in out.iterdir()} == {
        "evaluation.txt",
        "evaluation.csv",
        "predictions-full.csv",
    }
    [row] = [row for row in read(out / "evaluation.csv") if row["metric"] == "R@15"]
    assert (row["method"], row["networks_trained"], row["fault"]) == ("full", "1", "")
    assert float(row["mean"]) == 1
    assert out.joinpath("evaluation.txt").read_text().strip() in result.stdout
    assert "[1/1] small, full, seed 0: Epoch 2 of at most 2" in result.stderr
    assert result.stderr.count("Profiling small") == 1
    assert "Without effect" not in result.stderr


@pytest.mark.usefixtures("spark")
def test_answers_are_of_other_tables_ranked_without_gaps(
    labelled_lake: Path, tmp_path: Path
) -> None:
    result = succeed(labelled_lake, "--epochs", "1", "--out", tmp_path)
    unused = "model.network, model.training"
    assert f"Without effect, as no network is trained: {unused}" in result.stderr
    ranks: dict[tuple[str, str], list[int]] = {}
    for row in read(tmp_path / "predictions-full.csv"):
        assert row["query_table"] != row["candidate_table"]
        ranks.setdefault((row["query_table"], row["query_column"]), []).append(int(row["rank"]))
    assert set(ranks) == {("flights", "carrier"), ("airlines", "carrier"), ("planes", "tailnum")}
    for found in ranks.values():
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= 5


@pytest.mark.usefixtures("spark")
def test_a_column_that_is_no_key_is_answered_when_it_is_asked_about(
    labelled_lake: Path, tmp_path: Path
) -> None:
    for name, line in {
        "queries.csv": "delays,share,number\n",
        "ground_truth.csv": "delays,share,flights,minutes,fk\n",
    }.items():
        file = labelled_lake / name
        file.write_text(file.read_text() + line)
    succeed(labelled_lake, "--epochs", "1", "--out", tmp_path)
    found = [
        row for row in read(tmp_path / "predictions-full.csv") if row["query_column"] == "share"
    ]
    assert found != []


@pytest.mark.usefixtures("spark")
def test_lakes_and_seeds_are_told_apart(labelled_lake: Path, tmp_path: Path) -> None:
    other = labelled_lake.rename(labelled_lake.with_name("first"))
    copy = tmp_path / "second"
    subprocess.run(["cp", "-r", str(other), str(copy)], check=True)
    out = tmp_path / "out"
    result = succeed(other, copy, "--epochs", "1", "--seeds", "2", "--out", out)
    for lake in ("first", "second"):
        assert {path.name for path in out.joinpath(lake).iterdir()} == {
            "predictions-full.csv",
            "predictions-full-seed-1.csv",
        }
    assert "[4/4] second, full, seed 1: P@15" in result.stderr


def test_a_folder_without_tables_is_one_sentence(tmp_path: Path) -> None:
    assert fail(tmp_path) == (
        f"Error: {tmp_path}/tables/*.csv is missing. A labelled lake is a folder with "
        "tables/*.csv, queries.csv and ground_truth.csv"
    )


def test_wrong_settings_are_one_sentence(labelled_lake: Path) -> None:
    assert fail(labelled_lake, "--set", "x=1").startswith("Error: `x` cannot be set: ")
    assert fail(labelled_lake, "--set", "seed").startswith("Error: 'seed' is not a setting. Write")


def test_a_folder_that_cannot_be_made_is_refused_at_once(labelled_lake: Path) -> None:
    result = run(labelled_lake, "--out", labelled_lake / "queries.csv" / "out")
    assert result.exit_code == 2
    assert "cannot be created: Not a directory. Use another folder" in result.output


def test_the_other_commands_wait_for_no_engine() -> None:
    code = """import sys
from datahub_hyperjoin.cli import main

main(["--help"], standalone_mode=False)
print({"torch", "pyspark"} & {*sys.modules})"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nset()\n")


def test_a_spark_session_is_borrowed(spark: SparkSession, labelled_lake: Path) -> None:
    succeed(labelled_lake, "--epochs", "1")
    assert spark.range(3).count() == 3
