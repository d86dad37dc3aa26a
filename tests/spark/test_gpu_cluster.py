"""Train the network on a GPU of this machine that a Spark cluster offers."""

from pathlib import Path

import pytest
import torch

from benchmarks.area_lake import write_areas
from benchmarks.bench_gpu_cluster import PLACES, TrainedRun, agreement, run

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]
TABLES, EPOCHS = 60, 3


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("areas")
    write_areas(folder, TABLES)
    return folder


@pytest.fixture(scope="module")
def here(lake: Path) -> TrainedRun:
    return run(lake, PLACES["own GPU"], EPOCHS)


@pytest.mark.parametrize("place", ["executor", "executor behind Connect"])
def test_an_executor_trains_on_its_gpu_as_the_run_does_on_its_own(
    place: str, lake: Path, here: TrainedRun
) -> None:
    there = run(lake, PLACES[place], EPOCHS)
    assert (there.trained, there.warnings) == (1, [])
    # Sums on a GPU differ in their last digits between runs.
    assert agreement(there, here) >= 0.98
