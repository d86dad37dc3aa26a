"""Set up a small labelled lake, and methods with known rankings of its columns."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate.labelled_lake import (
    ColumnName,
    LabelledLake,
    RankedColumn,
    Rankings,
)
from datahub_hyperjoin.evaluate.metrics import bin_scores, score_rankings
from datahub_hyperjoin.evaluate.run import Cost, MethodRuns, ProfiledLake, Run
from datahub_hyperjoin.progress import Progress
from lakes.lake import write_flights

NOISE = ColumnName("airports", "faa")

QUERIES = "table,column,class\nflights,carrier,code\nairlines,carrier,code\nplanes,tailnum,code\n"
TRUTH = """\
query_table,query_column,candidate_table,candidate_column,kind
flights,carrier,airlines,carrier,fk
flights,carrier,delays,carrier,fk
airlines,carrier,flights,carrier,fk
airlines,carrier,delays,carrier,fk
planes,tailnum,flights,tailnum,fk
"""


@pytest.fixture
def labelled_lake(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    write_flights(folder / "tables")
    folder.joinpath("queries.csv").write_text(QUERIES)
    folder.joinpath("ground_truth.csv").write_text(TRUTH)
    return folder


@dataclass(frozen=True)
class Named:
    """A method that is never run, because tests supply its results."""

    name: str

    @property
    def slug(self) -> str:
        return self.name

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        raise NotImplementedError


def runs(lake: LabelledLake, name: str, *scores: tuple[float, ...]) -> MethodRuns:
    """Make one run for each tuple of scores.

    Each run ranks a wrong column first, and then the right ones.
    """
    measured = []
    for seed, (noise, *rest) in enumerate(scores):
        rankings = {
            query: [
                RankedColumn(NOISE, noise),
                *(RankedColumn(*pair) for pair in zip(sorted(gold), rest, strict=False)),
            ]
            for query, gold in lake.truth.items()
        }
        measured.append(
            Run(
                rankings=rankings,
                scores=score_rankings(lake.truth, rankings),
                binned=bin_scores(lake.truth, rankings),
                cost=Cost(seconds=12.4 + seed, megabytes=1500.0 + seed),
                trained=seed,
                fault="",
            )
        )
    return MethodRuns(Named(name), tuple(measured))


@pytest.fixture
def make_runs() -> Callable[..., MethodRuns]:
    return runs
