import logging
import multiprocessing
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import (
    OURS,
    Method,
    ModelConfig,
    NetworkConfig,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import Epoch, encode
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.hin import HIN, NetworkSizes, build_optimizers
from datahub_hyperjoin.model.saved import journal as journals
from datahub_hyperjoin.model.saved.journal import Journal, TrainingState
from datahub_hyperjoin.storage import locking
from lakes.switching import BLEND

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
EPOCHS = 6
SIZES = NetworkSizes(vocabulary=3, dimension=4, content=8, tables=2, steps=2)


class KilledError(Exception):
    """Raised to end a run between two epochs."""


METHOD = replace(OURS, dimension=16, heads=4, dropout=0.2)


def config(path: Path, method: Method = METHOD, **training: object) -> ModelConfig:
    return ModelConfig(
        path=path,
        setting=method,
        network=NetworkConfig(width=32),
        training=TrainingConfig(
            **{"epochs": EPOCHS, "batch_size": 3, "learning_rate": 2e-3, **training}  # type: ignore[arg-type]
        ),
        ranking=BLEND,
    )


@pytest.fixture(scope="module")
def index(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    return build_lake_index(make_lake(airline_tables), ModelConfig(), CatalogFacts())


def run(index: LakeIndex, settings: ModelConfig) -> list[Epoch]:
    epochs: list[Epoch] = []
    encode(index, settings, epochs.append)
    return epochs


def kill(index: LakeIndex, settings: ModelConfig, after: int) -> None:
    def watch(epoch: Epoch) -> None:
        if epoch.number == after:
            raise KilledError

    with pytest.raises(KilledError):
        encode(index, settings, watch)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def always_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_SHARE", float("inf"))


@dataclass(frozen=True)
class Whole:
    """The epochs of an uninterrupted run, and the files that it writes."""

    epochs: list[Epoch]
    content: dict[str, bytes]


@pytest.fixture(scope="module")
def whole(index: LakeIndex, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    return Whole(run(index, config(folder)), content(folder))


@pytest.mark.usefixtures("always_written")
@pytest.mark.parametrize("after", range(1, EPOCHS + 1))
def test_a_run_ended_after_any_epoch_makes_the_same_model(
    index: LakeIndex, whole: Whole, tmp_path: Path, after: int
) -> None:
    kill(index, config(tmp_path / "ended"), after)
    rest = run(index, config(tmp_path / "ended"))
    assert [epoch.number for epoch in rest] == list(range(after + 1, EPOCHS + 1))
    assert [epoch.resumed for epoch in rest] == [True, *[False] * len(rest)][: len(rest)]
    left = whole.epochs[after:]
    assert [(e.loss, e.recall) for e in rest] == [(e.loss, e.recall) for e in left]
    assert content(tmp_path / "ended") == whole.content


def test_a_process_killed_again_and_again_makes_the_same_model(
    index: LakeIndex, tmp_path: Path
) -> None:
    settings = config(tmp_path / "killed", replace(METHOD, patience=40), epochs=40)
    run(index, replace(settings, path=tmp_path / "whole"))
    context = multiprocessing.get_context("spawn")
    last = 0
    for epochs in (3, 8):
        seen = context.SimpleQueue()
        process = context.Process(target=encode, args=(index, settings, seen.put))
        process.start()
        numbers = [seen.get().number for _ in range(epochs)]
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert numbers[0] > last
        last = numbers[0]
    assert (tmp_path / "killed" / "training.safetensors").exists()
    assert run(index, settings)[0].resumed
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


def test_a_full_disk_costs_neither_the_run_nor_the_saved_model(
    index: LakeIndex, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(index, config(tmp_path / "model"))
    before = content(tmp_path / "model")
    other = config(tmp_path / "model", replace(METHOD, temperature=0.1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(_: Epoch) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, hard))

    try:
        assert encode(index, other, fill).trained
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    after = content(tmp_path / "model")
    assert {name: after[name] for name in before} == before
    assert "Cannot save the model in `model.path`" in caplog.text
    run(index, other)
    run(index, replace(other, path=tmp_path / "whole"))
    assert content(tmp_path / "model") == content(tmp_path / "whole")


@pytest.mark.usefixtures("always_written")
def test_early_stop_is_remembered(index: LakeIndex, tmp_path: Path) -> None:
    impatient = replace(METHOD, patience=3)
    still = config(tmp_path / "model", impatient, epochs=40, learning_rate=0.0)
    kill(index, still, after=2)
    assert [epoch.number for epoch in run(index, still)] == [3, 4]
    kill(index, replace(still, path=tmp_path / "late"), after=4)
    assert run(index, replace(still, path=tmp_path / "late")) == []


@pytest.mark.usefixtures("always_written")
@pytest.mark.parametrize("change", ["settings", "data"])
def test_the_journal_of_another_training_is_ignored_and_removed(
    index: LakeIndex,
    make_lake: MakeLake,
    airline_tables: Tables,
    tmp_path: Path,
    change: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    settings = config(tmp_path / "model")
    kill(index, settings, after=2)
    if change == "data":
        fewer = make_lake({name: airline_tables[name] for name in ("flights", "planes", "trees")})
        index = build_lake_index(fewer, ModelConfig(), CatalogFacts())
    else:
        settings = config(tmp_path / "model", replace(METHOD, temperature=0.1))
    assert [epoch.number for epoch in run(index, settings)] == list(range(1, EPOCHS + 1))
    assert "it is of another training" in caplog.text
    run(index, replace(settings, path=tmp_path / "other"))
    assert content(tmp_path / "model") == content(tmp_path / "other")


@pytest.mark.usefixtures("always_written")
@pytest.mark.parametrize("kept", [0, 100, -1])
def test_a_journal_that_cannot_be_read_is_ignored(
    index: LakeIndex, tmp_path: Path, kept: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = config(tmp_path / "model")
    kill(index, settings, after=2)
    file = tmp_path / "model" / "training.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    assert len(run(index, settings)) == EPOCHS
    assert "it cannot be read" in caplog.text
    assert not file.exists()


def test_a_journal_half_written_is_no_journal(index: LakeIndex, tmp_path: Path) -> None:
    settings = config(tmp_path / "model")
    half = tmp_path / "model" / ".unfinished-k3_x0q9z" / "training.safetensors"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half of")
    assert len(run(index, settings)) == EPOCHS
    with locking({"model.path": tmp_path / "model"}):
        assert not half.parent.exists()
    (tmp_path / "model" / ".lock").unlink()
    assert sorted(content(tmp_path / "model")) == [
        "model.json",
        "vectors.bin",
        "weights.safetensors",
    ]


@pytest.mark.usefixtures("always_written")
def test_a_damaged_journal_is_never_resumed(
    index: LakeIndex, whole: Whole, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = config(tmp_path / "model")
    kill(index, settings, after=2)
    file = tmp_path / "model" / "training.safetensors"
    written = bytearray(file.read_bytes())
    written[-9] ^= 1
    file.write_bytes(written)
    assert len(run(index, settings)) == EPOCHS
    assert "training.safetensors: it is damaged" in caplog.text
    assert content(tmp_path / "model") == whole.content


@pytest.mark.usefixtures("always_written")
def test_a_model_found_ends_the_training_that_was_left_beside_it(
    index: LakeIndex, tmp_path: Path
) -> None:
    settings = config(tmp_path / "model")
    run(index, settings)
    save_file({"x": torch.zeros(1)}, tmp_path / "model" / "training.safetensors")
    assert run(index, settings) == []
    assert "training.safetensors" not in content(tmp_path / "model")


def test_a_run_ended_while_it_saves_leaves_the_model_of_before(
    index: LakeIndex, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KilledError

    settings = config(tmp_path / "model")
    run(index, config(tmp_path / "model", replace(METHOD, temperature=0.1)))
    before = content(tmp_path / "model")
    with monkeypatch.context() as patch:
        patch.setattr("datahub_hyperjoin.model.saved.checkpoint.shutil.copyfile", stop)
        with pytest.raises(KilledError):
            run(index, settings)
    journal = {"training.safetensors"}
    left = content(tmp_path / "model")
    assert {name: left[name] for name in left.keys() - journal} == before
    run(index, settings)
    assert content(tmp_path / "model") == whole.content


def test_without_a_folder_nothing_is_written(index: LakeIndex, tmp_path: Path) -> None:
    settings = replace(config(tmp_path), path=None)
    assert len(run(index, settings)) == EPOCHS
    assert list(tmp_path.iterdir()) == []


class SlowState(TrainingState):
    """A training state that takes long to write, as measured by a simulated clock."""

    clock: ClassVar[list[float]] = [0.0]
    seconds: ClassVar[float]
    written: ClassVar[int]

    def facts(self) -> str:
        SlowState.clock[0] += self.seconds
        SlowState.written += 1
        return super().facts()


@pytest.mark.parametrize(("seconds", "most"), [(0.05, 100), (1.0, 10), (30.0, 1)])
def test_writing_takes_at_most_a_tenth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, most: int
) -> None:
    SlowState.clock[0], SlowState.seconds, SlowState.written = 0.0, seconds, 0
    monkeypatch.setattr(journals, "perf_counter", lambda: SlowState.clock[0])
    small = ModelConfig(setting=replace(OURS, heads=2), network=NetworkConfig(width=4))
    network = HIN(small, SIZES)
    state = SlowState(network, build_optimizers(network), np.random.default_rng(0))
    journal = Journal(tmp_path, "")
    for _ in range(100):
        SlowState.clock[0] += 1.0
        journal.note(state)
    assert most - 1 <= SlowState.written <= most
    assert (SlowState.written - 1) * seconds <= 0.1 * SlowState.clock[0]
