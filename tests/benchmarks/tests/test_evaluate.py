"""Test the command `python -m benchmarks.evaluate` with variants, rivals and reduced lakes."""

import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks import evaluate
from benchmarks.rivals import RIVALS
from benchmarks.variants import ABLATIONS
from datahub_hyperjoin.evaluate import parse_settings
from datahub_hyperjoin.model.config.method import OURS

TRAIN_NOTHING = (
    "full",
    "w/o rerank",
    "w/o reference tables",
    "w/o value forms",
    "w/o pair network",
    "w/o trees",
    "w/o roles",
    "w/o names",
    "w/o values",
    "w/o hypergraph at inference",  # shares the network of "with HIN"
)


@dataclass(frozen=True)
class Output:
    """Text that a run printed to standard output and standard error."""

    stdout: str
    stderr: str


@pytest.fixture(autouse=True)
def _small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {
        "model.setting": replace(OURS, dimension=16, heads=4),
        "model.network.width": 32,
    }
    monkeypatch.setattr(evaluate, "parse_settings", lambda texts: small | parse_settings(texts))


def succeed(*arguments: str | Path) -> Output:
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        evaluate.main([*map(str, arguments)])
    return Output(stdout.getvalue(), stderr.getvalue())


def fail(*arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as exit_info:
        succeed(*arguments)
    assert isinstance(exit_info.value.code, str)
    return exit_info.value.code


def read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(opened)


@pytest.mark.usefixtures("spark")
def test_every_part_is_left_out_in_turn(labelled_lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = succeed(labelled_lake, "--ablate", "--epochs", "2", "--out", out)
    rows = [row for row in read(out / "evaluation.csv") if row["metric"] == "R@15"]
    assert [row["method"] for row in rows] == [variant.name for variant in ABLATIONS]
    assert all(row["fault"] == "" for row in rows)
    assert float(rows[0]["mean"]) == 1
    trained = {row["method"]: int(row["networks_trained"]) for row in rows}
    assert {name: trained.pop(name) for name in TRAIN_NOTHING} == dict.fromkeys(TRAIN_NOTHING, 0)
    assert set(trained.values()) == {1}
    for variant in ABLATIONS:
        assert list(read(out / f"predictions-{variant.slug}.csv")) != []
    assert out.joinpath("evaluation.txt").read_text().strip() in result.stdout
    assert {path.name for path in out.glob("*.svg")} == {"rankings.svg", "reliability.svg"}
    assert "[10/16] small, with HIN, seed 0: Epoch 2 of at most 2" in result.stderr
    assert result.stderr.count("Profiling small") == 1


@pytest.mark.usefixtures("spark")
def test_rivals_are_compared_with_the_whole(labelled_lake: Path, tmp_path: Path) -> None:
    result = succeed(labelled_lake, "--rivals", "--epochs", "1", "--out", tmp_path)
    rows = [row for row in read(tmp_path / "evaluation.csv") if row["metric"] == "R@15"]
    assert [row["method"] for row in rows] == ["full", *(rival.name for rival in RIVALS)]
    assert all(row["fault"] == "" for row in rows)
    assert [row["difference"] == "" for row in rows] == [True, *[False] * len(RIVALS)]
    assert [int(row["networks_trained"]) for row in rows] == [0, *[0] * (len(RIVALS) - 3), 1, 1, 1]
    # All true pairs share values, and no others do.
    exact = list(read(tmp_path / "predictions-josie.csv"))
    assert {row["rank"] for row in exact} == {"1", "2"}
    assert float(rows[1]["mean"]) == 1
    assert "[2/11] small, JOSIE, seed 0: P@15" in result.stderr
    assert "Loading" not in result.stderr


@pytest.mark.usefixtures("spark")
def test_single_rivals_are_measured_on_cut_lakes_with_any_number_of_seeds(
    labelled_lake: Path, tmp_path: Path
) -> None:
    which = ("--rival", "column names", "--rival", "josie")
    extent = ("--tables", "3", "--seeds", "2", "--epochs", "1")
    succeed(labelled_lake, *which, *extent, "--out", tmp_path)
    for seed in ("", "-seed-1"):
        tables = set()
        for method in ("full", "josie", "column-names"):
            rows = list(read(tmp_path / f"predictions-{method}{seed}.csv"))
            tables |= {row["query_table"] for row in rows} | {r["candidate_table"] for r in rows}
        assert len(tables) <= 3


@pytest.mark.usefixtures("spark")
def test_lakes_are_cut_to_size_and_profiled_once(labelled_lake: Path, tmp_path: Path) -> None:
    sizes = ("--tables", "5", "--tables", "4", "--tables", "5")
    result = succeed(labelled_lake, *sizes, "--epochs", "1", "--seeds", "2", "--out", tmp_path)
    assert result.stderr.count("Profiling small") == 1
    assert "[4/4] small (5 tables), full, seed 1: P@15" in result.stderr
    small, whole = re.findall(r"^small \((.+?), profiled", result.stdout, re.MULTILINE)
    assert re.fullmatch(r"4 tables\): 4 tables, \d+ columns, [123] query columns in 2 parts", small)
    assert whole == "5 tables): 5 tables, 12 columns, 3 query columns in 2 parts"
    for row in read(tmp_path / "small-4-tables" / "predictions-full.csv"):
        assert row["query_table"] != "" != row["candidate_table"]
    lakes = [row["lake"] for row in read(tmp_path / "evaluation.csv")]
    assert set(lakes) == {"small (4 tables)", "small (5 tables)"}


def test_sizes_that_cannot_be_are_one_sentence(labelled_lake: Path) -> None:
    assert fail(labelled_lake, "--tables", "6") == (
        "Error: small cannot be cut to 6 tables: it has 5. Use a smaller size"
    )
    assert fail(labelled_lake, "--tables", "4", "--tables", "1").startswith(
        "Error: a lake of 1 tables has no query"
    )


def test_pictures_that_cannot_be_drawn_are_told_before_anything_is_measured(
    labelled_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = fail(labelled_lake, "--out", tmp_path)
    assert found.startswith(
        "Error: matplotlib, which draws the pictures of --out, is not installed."
    )
    assert list(tmp_path.glob("*.csv")) == []


def test_a_rival_s_library_that_is_missing_is_told_before_anything_is_measured(
    labelled_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasketch", None)
    for flags in (["--rivals"], ["--rival", "JOSIE", "--rivals"], ["--rival", "LSH Ensemble"]):
        assert fail(labelled_lake, *flags).startswith(
            "Error: datasketch, which the rival 'LSH Ensemble' needs, is not installed."
        )


def test_wrong_names_and_settings_are_one_sentence(labelled_lake: Path) -> None:
    assert fail(labelled_lake, "--only", "w/o luck").startswith(
        "Error: there is no variant 'w/o luck'"
    )
    assert fail(labelled_lake, "--rival", "Joe").startswith(
        "Error: there is no rival 'Joe'. Choose"
    )
    assert fail(labelled_lake, "--set", "x=1").startswith("Error: `x` cannot be set: ")
    assert fail(labelled_lake, "--set", "seed").startswith("Error: 'seed' is not a setting. Write")


def test_a_folder_that_cannot_be_made_is_refused_at_once(labelled_lake: Path) -> None:
    assert "Not a directory" in fail(labelled_lake, "--out", labelled_lake / "queries.csv" / "out")
