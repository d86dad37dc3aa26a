"""Test the printed report against a golden file."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from datahub_hyperjoin.evaluate.labelled_lake import read_labelled_lake
from datahub_hyperjoin.evaluate.metrics import bin_scores, score_rankings
from datahub_hyperjoin.evaluate.report import as_text
from datahub_hyperjoin.evaluate.run import LakeResult, MethodRuns, ProfiledLake

GOLDEN = Path(__file__).parent / "golden"
MakeRuns = Callable[..., MethodRuns]


def test_a_table_is_the_one_on_file(labelled_lake: Path, make_runs: MakeRuns) -> None:
    suite = read_labelled_lake(labelled_lake)
    lake = ProfiledLake(suite, (), 3.0)
    full = make_runs(suite, "full", (0.9, 0.8, 0.7), (0.4, 0.35, 0.3))
    plain = make_runs(suite, "w/o rerank", (0.9, 0.8), (0.9,))
    loud = make_runs(suite, "loud", (2.0, 1.0, 0.5), (2.0, 1.0, 0.5))
    failed = replace(
        plain.runs[0],
        rankings={},
        scores=score_rankings(suite.truth, {}),
        binned=bin_scores(suite.truth, {}),
        fault="it is late",
    )
    result = LakeResult(
        (lake, lake), (full, plain, loud, replace(make_runs(suite, "late"), runs=(failed,) * 2))
    )
    shown, file = f"{as_text(result)}\n", GOLDEN / "table.txt"
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        file.write_text(shown, "utf-8")
    assert shown == file.read_text("utf-8")
