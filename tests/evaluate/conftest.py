"""A small benchmark: the flights of the other tests, with what joins written down."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate.calibration import score_answers
from datahub_hyperjoin.evaluate.cost import Cost
from datahub_hyperjoin.evaluate.methods import EvaluatedLake
from datahub_hyperjoin.evaluate.metrics import score
from datahub_hyperjoin.evaluate.run import MethodRuns, Run
from datahub_hyperjoin.evaluate.suite import ColumnName, RankedColumn, Rankings, Suite
from datahub_hyperjoin.progress import Progress
from lake import write_flights

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
def benchmark(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    write_flights(folder / "tables")
    folder.joinpath("queries.csv").write_text(QUERIES)
    folder.joinpath("ground_truth.csv").write_text(TRUTH)
    return folder


@dataclass(frozen=True)
class Named:
    """A method that is never asked, since its answers are given."""

    name: str

    @property
    def slug(self) -> str:
        return self.name

    def rank(self, lake: EvaluatedLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        raise NotImplementedError


def runs(suite: Suite, name: str, *scores: tuple[float, ...]) -> MethodRuns:
    """A run a seed; each answers with noise and then with the truth, of scores as told."""
    measured = []
    for seed, (noise, *rest) in enumerate(scores):
        rankings = {
            query: [
                RankedColumn(NOISE, noise),
                *(RankedColumn(*pair) for pair in zip(sorted(gold), rest, strict=False)),
            ]
            for query, gold in suite.truth.items()
        }
        measured.append(
            Run(
                rankings=rankings,
                scores=score(suite.truth, rankings),
                scored=score_answers(suite.truth, rankings),
                cost=Cost(seconds=12.4 + seed, megabytes=1500.0 + seed),
                trained=seed,
                fault="",
            )
        )
    return MethodRuns(Named(name), tuple(measured))


@pytest.fixture
def make_runs() -> Callable[..., MethodRuns]:
    return runs
