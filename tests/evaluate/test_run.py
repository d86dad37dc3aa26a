"""Test evaluations of methods whose rankings are known, and their reports."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate.labelled_lake import (
    ColumnName,
    LabelledLake,
    RankedColumn,
    Rankings,
    read_labelled_lake,
)
from datahub_hyperjoin.evaluate.report import METRICS, as_csv, as_text, summarise, write_results
from datahub_hyperjoin.evaluate.run import (
    EvaluationProgress,
    LakeResult,
    ProfiledLake,
    RankingMethod,
    measure,
)
from datahub_hyperjoin.model.errors import CollapsedError
from datahub_hyperjoin.progress import Progress

WRONG = ColumnName("airports", "faa")


@dataclass(frozen=True)
class Scripted:
    """A method that ranks some wrong columns before the right ones.

    Their number is given for each seed.
    """

    name: str
    wrong: Sequence[int]

    @property
    def slug(self) -> str:
        return self.name

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        assert models.is_dir()
        models.joinpath(self.name).touch(exist_ok=False)
        progress.count("models_trained", 1)
        return {
            query: [
                RankedColumn(found, 0.5) for found in [*[WRONG] * self.wrong[seed], *sorted(gold)]
            ]
            for query, gold in lake.labelled.truth.items()
        }


@dataclass(frozen=True)
class Collapsing:
    """A method whose training always fails."""

    name: str = "collapsing"
    slug: str = "collapsing"

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        progress.say(f"{lake.labelled.name} with seed {seed} in {models}")
        raise CollapsedError.from_cosine(0.99)


@pytest.fixture
def suite(labelled_lake: Path) -> LabelledLake:
    return read_labelled_lake(labelled_lake)


def run(suite: LabelledLake, methods: Sequence[RankingMethod], seeds: int = 1) -> LakeResult:
    progress = EvaluationProgress(lambda _: None)
    progress.expect(len(methods) * seeds)
    return measure([ProfiledLake(suite, (), 3.0)] * seeds, methods, progress=progress)


def test_differences_are_to_the_first_method(suite: LabelledLake) -> None:
    good, late, lost = Scripted("good", [0]), Scripted("late", [1]), Scripted("lost", [15])
    rows = summarise(run(suite, [good, late, lost]))
    assert [row.name for row in rows] == ["good", "late", "lost"]
    figures = [row.metrics["MRR"] for row in rows]
    assert [figure.value.mean for figure in figures] == pytest.approx([1, 1 / 2, 1 / 16])
    assert figures[0].difference is None
    assert figures[1].difference is not None
    assert figures[1].difference.mean == pytest.approx(-1 / 2)
    assert figures[1].difference.excludes_zero
    unchanged = rows[1].metrics["P@15"].difference
    assert unchanged is not None
    assert (unchanged.mean, unchanged.excludes_zero) == (0, False)


def test_a_share_is_one_of_the_ceiling(suite: LabelledLake) -> None:
    good, lost = summarise(run(suite, [Scripted("good", [0]), Scripted("lost", [15])]))
    assert good.metrics["P@15"].value.mean == pytest.approx(5 / 3 / 15)
    assert good.metrics["P@15 of ceiling"].value.mean == pytest.approx(1)
    assert lost.metrics["P@15 of ceiling"].value.mean == 0
    assert lost.metrics["P@15 of ceiling"].difference is not None
    assert lost.metrics["P@15 of ceiling"].difference.mean == pytest.approx(-1)


def test_seeds_are_averaged_and_their_spread_is_told(suite: LabelledLake) -> None:
    [row] = summarise(run(suite, [Scripted("fickle", [0, 1, 3])], seeds=3))
    assert row.metrics["MRR"].value.mean == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert row.metrics["MRR"].spread == pytest.approx(3 / 4)
    assert row.metrics["R@5"].spread == 0
    assert (row.seeds, row.trained) == (3, 3)


def test_a_method_that_fails_has_no_answers_and_stops_no_other(suite: LabelledLake) -> None:
    result = run(suite, [Collapsing(), Scripted("good", [0])])
    failed, good = summarise(result)
    assert failed.metrics["R@15"].value.mean == 0
    assert "all embeddings are nearly identical" in failed.fault
    assert (good.fault, good.metrics["R@15"].value.mean) == ("", 1)
    text = as_text(result)
    assert "collapsing failed: all embeddings are nearly identical" in text
    assert "good failed" not in text


def test_people_read_percents_with_their_intervals(suite: LabelledLake) -> None:
    lines = as_text(run(suite, [Scripted("good", [0]), Scripted("lost", [25])])).splitlines()
    assert lines[0] == (
        "small: 5 tables, 12 columns, 3 query columns, profiled in 3 s; a perfect ranking reaches "
        "P@15 11.1, R@15 100.0"
    )
    good, lost = (line.split("  ") for line in lines[4:6])
    assert [cell.strip() for cell in good if cell.strip()][:3] == [
        "good",
        "11.1 (6.7 to 13.3)",
        "100.0 (100.0 to 100.0)",
    ]
    assert "-100.00 (-100.00 to -100.00) *" in "  ".join(lost)


def test_programs_read_every_metric_of_every_method(suite: LabelledLake) -> None:
    result = run(suite, [Scripted("good", [0, 0]), Scripted("lost", [25, 5])], seeds=2)
    rows = list(csv.DictReader(io.StringIO(as_csv([result]))))
    assert [(row["method"], row["metric"]) for row in rows] == [
        (method, metric) for method in ("good", "lost") for metric in METRICS
    ]
    of = {(row["method"], row["metric"]): row for row in rows}
    assert of["good", "R@15"]["difference"] == ""
    lost = of["lost", "R@15"]
    assert (lost["lake"], lost["mean"], lost["difference"]) == ("small", "0.500000", "-0.500000")
    assert (lost["excludes_zero"], lost["spread_over_seeds"]) == ("true", "1.000000")
    assert of["lost", "R@5"]["spread_over_seeds"] == "0.000000"
    assert (lost["seeds"], lost["networks_trained"], lost["fault"]) == ("2", "2", "")


def test_every_method_s_answers_are_written(suite: LabelledLake, tmp_path: Path) -> None:
    result = run(suite, [Scripted("good", [0, 1])], seeds=2)
    names = {"predictions-good.csv", "predictions-good-seed-1.csv"}
    write_results(tmp_path / "one", [result], apart=False)
    found = {path.name for path in tmp_path.joinpath("one").iterdir()}
    assert found == {*names, "evaluation.txt", "evaluation.csv"}
    write_results(tmp_path / "many", [result, result], apart=True)
    assert {path.name for path in tmp_path.joinpath("many", "small").iterdir()} == names
    text = tmp_path.joinpath("many", "evaluation.txt").read_text()
    assert text == f"{as_text(result)}\n\n{as_text(result)}\n"
    assert tmp_path.joinpath("one", "evaluation.csv").read_text() == as_csv([result])


def test_each_seed_has_a_folder_of_its_own_that_is_gone_at_the_end(suite: LabelledLake) -> None:
    seen: list[Path] = []

    class Keeping(Scripted):
        def rank(
            self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress
        ) -> Rankings:
            seen.append(models)
            return super().rank(lake, seed=seed, models=models, progress=progress)

    run(suite, [Keeping("a", [0, 0]), Keeping("b", [0, 0])], seeds=2)
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert not any(path.exists() for path in seen)
