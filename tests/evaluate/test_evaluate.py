"""`hyperjoin evaluate`, as it is typed, on files whose joins are known."""

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.evaluate.ablations import ABLATIONS
from datahub_hyperjoin.evaluate.rivals import RIVALS

SMALL = ("model.network.width=32", "model.network.heads=4", "model.features.dimension=16")
TRAIN_NOTHING = (
    "w/o rerank",
    "w/o HIN",
    "w/o hypergraph at inference",
    "w/o reference tables",
)


def run(*arguments: str | Path) -> Result:
    settings = [argument for key in SMALL for argument in ("--set", key)]
    return CliRunner().invoke(main, ["evaluate", *settings, *map(str, arguments)])


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
def test_every_part_is_left_out_in_turn(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = succeed(benchmark, "--ablate", "--epochs", "2", "--out", out)
    rows = [row for row in read(out / "evaluation.csv") if row["metric"] == "R@15"]
    assert [row["method"] for row in rows] == [variant.name for variant in ABLATIONS]
    assert all(row["fault"] == "" for row in rows)
    assert float(rows[0]["mean"]) == 1
    trained = {row["method"]: int(row["networks_trained"]) for row in rows}
    assert trained.pop("full") == 1
    assert {name: trained.pop(name) for name in TRAIN_NOTHING} == dict.fromkeys(TRAIN_NOTHING, 0)
    assert set(trained.values()) == {1}
    for variant in ABLATIONS:
        assert list(read(out / f"predictions-{variant.slug}.csv")) != []
    assert out.joinpath("evaluation.txt").read_text().strip() in result.stdout
    assert "[1/12] small, full, seed 0: Epoch 2 of at most 2" in result.stderr
    assert result.stderr.count("Profiling small") == 1


@pytest.mark.usefixtures("spark")
def test_answers_are_of_other_tables_ranked_without_gaps(benchmark: Path, tmp_path: Path) -> None:
    succeed(benchmark, "--epochs", "1", "--out", tmp_path)
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
    benchmark: Path, tmp_path: Path
) -> None:
    for name, line in {
        "queries.csv": "delays,share,number\n",
        "ground_truth.csv": "delays,share,flights,minutes,fk\n",
    }.items():
        file = benchmark / name
        file.write_text(file.read_text() + line)
    succeed(benchmark, "--epochs", "1", "--out", tmp_path)
    found = [
        row for row in read(tmp_path / "predictions-full.csv") if row["query_column"] == "share"
    ]
    assert found != []


@pytest.mark.usefixtures("spark")
def test_lakes_and_seeds_are_told_apart(benchmark: Path, tmp_path: Path) -> None:
    other = benchmark.rename(benchmark.with_name("first"))
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


@pytest.mark.usefixtures("spark")
def test_rivals_are_compared_with_the_whole(benchmark: Path, tmp_path: Path) -> None:
    result = succeed(benchmark, "--rivals", "--epochs", "1", "--out", tmp_path)
    rows = [row for row in read(tmp_path / "evaluation.csv") if row["metric"] == "R@15"]
    assert [row["method"] for row in rows] == ["full", *(rival.name for rival in RIVALS)]
    assert all(row["fault"] == "" for row in rows)
    assert [row["difference"] == "" for row in rows] == [True, *[False] * len(RIVALS)]
    assert [int(row["networks_trained"]) for row in rows] == [1, *[0] * (len(RIVALS) - 3), 1, 1, 1]
    # All true pairs share values, and no others do.
    exact = list(read(tmp_path / "predictions-josie.csv"))
    assert {row["rank"] for row in exact} == {"1", "2"}
    assert float(rows[1]["mean"]) == 1
    assert "[2/11] small, JOSIE, seed 0: P@15" in result.stderr
    assert "Loading" not in result.stderr


@pytest.mark.usefixtures("spark")
def test_single_rivals_are_measured_on_cut_lakes_with_any_number_of_seeds(
    benchmark: Path, tmp_path: Path
) -> None:
    which = ("--rival", "column names", "--rival", "josie")
    extent = ("--tables", "3", "--seeds", "2", "--epochs", "1")
    succeed(benchmark, *which, *extent, "--out", tmp_path)
    for seed in ("", "-seed-1"):
        tables = set()
        for method in ("full", "josie", "column-names"):
            rows = list(read(tmp_path / f"predictions-{method}{seed}.csv"))
            tables |= {row["query_table"] for row in rows} | {r["candidate_table"] for r in rows}
        assert len(tables) <= 3


@pytest.mark.usefixtures("spark")
def test_lakes_are_cut_to_size_and_profiled_once(benchmark: Path, tmp_path: Path) -> None:
    sizes = ("--tables", "5", "--tables", "4", "--tables", "5")
    result = succeed(benchmark, *sizes, "--epochs", "1", "--seeds", "2", "--out", tmp_path)
    assert result.stderr.count("Profiling small") == 1
    assert "[4/4] small (5 tables), full, seed 1: P@15" in result.stderr
    small, whole = re.findall(r"^small \((.+?), profiled", result.stdout, re.MULTILINE)
    assert re.fullmatch(r"4 tables\): 4 tables, \d+ columns, [123] queries of 2 parts", small)
    assert whole == "5 tables): 5 tables, 12 columns, 3 queries of 2 parts"
    for row in read(tmp_path / "small-4-tables" / "predictions-full.csv"):
        assert row["query_table"] != "" != row["candidate_table"]
    lakes = [row["lake"] for row in read(tmp_path / "evaluation.csv")]
    assert set(lakes) == {"small (4 tables)", "small (5 tables)"}


def test_sizes_that_cannot_be_are_one_sentence(benchmark: Path) -> None:
    assert fail(benchmark, "--tables", "6") == (
        "Error: small cannot be cut to 6 tables: it has 5. Give no more"
    )
    assert fail(benchmark, "--tables", "4", "--tables", "1").startswith(
        "Error: a lake of 1 tables asks nothing"
    )


def test_pictures_that_cannot_be_drawn_are_told_before_anything_is_measured(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = fail(benchmark, "--out", tmp_path)
    assert found.startswith(
        "Error: matplotlib, which draws the pictures of --out, is not installed."
    )
    assert list(tmp_path.glob("*.csv")) == []


def test_a_rival_s_library_that_is_missing_is_told_before_anything_is_measured(
    benchmark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasketch", None)
    for flags in (["--rivals"], ["--rival", "JOSIE", "--rivals"], ["--rival", "LSH Ensemble"]):
        assert fail(benchmark, *flags).startswith(
            "Error: datasketch, which the rival 'LSH Ensemble' needs, is not installed."
        )


def test_a_folder_that_is_no_benchmark_is_one_sentence(tmp_path: Path) -> None:
    assert fail(tmp_path) == (
        f"Error: {tmp_path}/tables/*.csv is missing. A benchmark's folder has tables/*.csv, "
        "queries.csv and ground_truth.csv"
    )


def test_wrong_names_and_settings_are_one_sentence(benchmark: Path) -> None:
    assert fail(benchmark, "--only", "w/o luck").startswith("Error: there is no variant 'w/o luck'")
    assert fail(benchmark, "--rival", "Joe").startswith("Error: there is no rival 'Joe'. Choose")
    assert fail(benchmark, "--set", "x=1").startswith("Error: `x` cannot be set: ")
    assert fail(benchmark, "--set", "seed").startswith("Error: 'seed' is no setting. Write")


def test_a_folder_that_cannot_be_made_is_refused_at_once(benchmark: Path) -> None:
    result = run(benchmark, "--out", benchmark / "queries.csv" / "out")
    assert result.exit_code == 2
    assert "cannot be made: Not a directory. Give another folder" in result.output


def test_the_other_commands_wait_for_no_engine() -> None:
    code = "import sys, datahub_hyperjoin.cli; print({'torch', 'pyspark'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_spark_session_is_borrowed(spark: SparkSession, benchmark: Path) -> None:
    succeed(benchmark, "--epochs", "1")
    assert spark.range(3).count() == 3
