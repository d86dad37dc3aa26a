"""Kill or interrupt runs, or fill the disk, and check what is left behind."""

import atexit
import os
import random
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from datahub_hyperjoin.errors import StoredFileError
from datahub_hyperjoin.model.saved.files import DESCRIPTION, find_damage
from datahub_hyperjoin.storage import read_checked
from faults.full_disk import small_disk
from faults.outcome import Attack, Outcome
from faults.whole_runs import (
    CANARIES,
    LOG,
    MODEL,
    OUTPUT,
    STORE,
    Run,
    contents,
    paths,
    records,
    seeded,
    start,
    write_lake,
)

# A short series takes the first ones. The empty name stands for the time before the first stage.
STAGES = (
    "Profiling tables",
    "Writing suggestions",
    "Encoding columns",
    "Verifying on the data",
    "Ranking candidates",
    "",
    "Building the hypergraph",
    "Reading the catalog",
    "Deciding roles",
    "Finding keys of several columns",
)
_AT_ONCE = 2
_SECRETS = tuple(word.encode() for word in CANARIES)
_LATER = 1.3
"""Longest wait in a stage before the interruption, as a multiple of the stage's undisturbed time.
It is above 1, because two runs at once take longer."""
_SECONDS_TO_END = 3
"""Seconds in which an interrupted run ends on a machine with a processor for each process."""
_CONFIGURED, _SAID = "Sink configured successfully", "Run interrupted: "
_SPACES = (1 << 18, 1, 1 << 25)
"""Limits of the free space in bytes. The space holds some results, no result or most of a model."""
_OTHERS = re.compile(r"tmp/tmp\w{8}(/sqlite\.db)?")
"""Matches temporary files that a killed DataHub leaves behind; they contain no cell of a table."""


@dataclass
class Bench:
    """A lake, and an undisturbed run over it with which other runs are compared."""

    folder: Path
    lake: Path
    whole: Path
    runs: list[Run] = field(default_factory=list)

    def run(self, folder: Path, **changes: Any) -> Run:  # noqa: ANN401 - sections of a recipe
        """Start a run that keeps all its files in a folder."""
        folder.mkdir(exist_ok=True)
        run = start(self.lake, folder, **changes)
        self.runs.append(run)
        return run

    def expected(self) -> list[dict[str, Any]]:
        """The records that each run must write."""
        return records(self.whole / OUTPUT)

    def seconds(self, stage: str) -> float:
        """Return the duration of a stage in the undisturbed run."""
        return self.runs[0].stages().get(stage, 5.0)

    def others(self) -> dict[str, bytes]:
        """The files that no disturbed run may change."""
        whole, lake = contents(self.whole), contents(self.lake)
        return {**whole, **{f"lake/{path}": content for path, content in lake.items()}}


@cache
def _bench(*, longer: bool) -> Bench:
    folder = Path(tempfile.mkdtemp(prefix="hyperjoin-faults-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    bench = Bench(folder, folder / "lake", folder / "whole")
    write_lake(bench.lake, 200 if longer else 30)
    run = bench.run(bench.whole)
    if not run.finish() or run.process.returncode:
        message = f"The undisturbed run failed:\n{run.log[-4000:]}"
        raise RuntimeError(message)
    return bench


def kill(seed: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Kill runs at random moments, and check that the next run gives complete results."""

    def attempt(bench: Bench, folder: Path, number: int) -> tuple[str, str]:
        stage = STAGES[number % len(STAGES)]
        everything = _disturb(bench, folder, stage, moment=seeded("kill", seed, number))
        run = bench.run(folder)
        if not run.finish():
            return f"killed in {stage!r}: the next run or the killed one does not end", ""
        fault = _difference(bench, run)
        return fault and f"killed in {stage!r}, {everything=}: {fault}", ""

    return _tried("a run is killed", attempt, tries=20 if longer else 2, longer=longer)


def interrupt(seed: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Interrupt runs at random moments, and check the output.

    It must be the earlier one or all of the new one, and the log must name the interrupt.
    """

    def attempt(bench: Bench, folder: Path, number: int) -> tuple[str, str]:
        moment = seeded("interrupt", seed, number)
        stage = STAGES[number % len(STAGES)]
        earlier = b'[{"earlier": true}]'
        folder.mkdir()
        folder.joinpath(OUTPUT).write_bytes(earlier)
        run = bench.run(folder)
        run.reach(stage)
        time.sleep(moment.uniform(0, _LATER) * bench.seconds(stage))
        began = time.monotonic()
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does
        run.wait(lambda: False, _patience())
        seconds = f"{time.monotonic() - began:04.1f} s to end"
        fault = "" if run.process.poll() is not None else f"{seconds}, and has not ended"
        if not run.finish():  # Java may still be starting
            fault = fault or "processes that it started do not end"
        run.kill(everything=True)
        fault = fault or _spoiled(bench, run, earlier) or _leftovers(run)
        return fault and f"interrupted in {stage!r}: {fault}", seconds

    # A second run would take up the time that is measured.
    tries = 10 if longer else 2
    return _tried("a run is interrupted", attempt, tries=tries, longer=longer, at_once=1)


def fill_disk(seed: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Run on a nearly full disk, and check that the store and the model stay intact."""

    def attempt(bench: Bench, folder: Path, number: int) -> tuple[str, str]:
        chosen = seeded("disk", seed, number)
        space = chosen.randrange(_SPACES[number % len(_SPACES)])
        kept = folder / "kept"
        kept.mkdir(parents=True)
        with small_disk(kept, [bench.whole / STORE, bench.whole / MODEL], space) as limit:
            before = contents(kept)
            # Other epochs, so that another model is trained and all results are written again.
            run = bench.run(
                folder,
                profile={"store": str(kept / STORE), "force": True},
                model={"path": str(kept / MODEL), "training": {"epochs": 4}},
            )
            limit(run.process.pid)
            ended = run.finish()
            fault = "" if ended else "the run does not end"
            fault = fault or _spoiled_keeping(before, kept) or _leftovers(run)
            run.kill(everything=True)
        return fault and f"{space} bytes free: {fault}", f"exit {run.process.returncode}"

    return _tried("the disk is full", attempt, tries=9 if longer else 1, longer=longer)


def look_for_canaries(_: int, longer: bool) -> Outcome:  # noqa: FBT001 - as all attacks
    """Search logs, outputs and processes of all earlier runs for a password and cell values."""
    runs = _bench(longer=longer).runs
    failures = []
    for run in runs:
        for name in (LOG, OUTPUT):
            path = run.folder / name
            text = path.read_text(errors="replace") if path.exists() else ""
            failures += [f"{path} shows {word}" for word in CANARIES if word in text]
        failures += [f"`ps` showed {word} during {run.folder.name}" for word in run.leaks]
    return Outcome(len(runs), tuple(failures))


ATTACKS: Mapping[str, Attack] = {
    "a run is killed": kill,
    "a run is interrupted": interrupt,
    "the disk is full": fill_disk,
    "password and cells in logs": look_for_canaries,
}


def _tried(
    attack: str,
    attempt: Callable[[Bench, Path, int], tuple[str, str]],
    *,
    tries: int,
    longer: bool,
    at_once: int = _AT_ONCE,
) -> Outcome:
    """Run an attack `tries` times, `at_once` at a time, and collect the results."""
    bench = _bench(longer=longer)
    before = bench.others()

    def one(number: int) -> tuple[str, str]:
        folder = bench.folder / f"{attack} {number}".replace(" ", "-")
        return attempt(bench, folder, number)

    with ThreadPoolExecutor(at_once) as pool:
        results = list(pool.map(one, range(tries)))
    faults = [f"{attack}, try {number}: {fault}" for number, (fault, _) in enumerate(results)]
    failures = [fault for fault, (broken, _) in zip(faults, results, strict=True) if broken]
    if bench.others() != before:
        failures.append(f"{attack}: the lake or files of another run have changed")
    return Outcome(tries, tuple(failures), max(went for _, went in results))


def _patience() -> float:
    """Return the seconds that an interrupted run may take to end.

    The limit grows with the load of the machine.
    """
    return _SECONDS_TO_END * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _disturb(bench: Bench, folder: Path, stage: str, *, moment: random.Random) -> bool:
    """Kill a run at a random moment of a stage.

    Returns whether all its processes were killed, or only the first.
    """
    everything = moment.random() < 0.5
    run = bench.run(folder)
    run.reach(stage)
    time.sleep(moment.uniform(0, _LATER) * bench.seconds(stage))
    run.kill(everything=everything)
    return everything


def _difference(bench: Bench, run: Run) -> str:
    """Describe how a run differs from the undisturbed one, or return an empty text."""
    if run.process.returncode:
        return f"the next run failed: {run.log[-2000:]}"
    if records(run.folder / OUTPUT) != bench.expected():
        return "the output differs"
    if contents(run.folder / MODEL) != contents(bench.whole / MODEL):
        return "the model differs"
    different = paths(run.folder) ^ paths(bench.whole)
    if ours := sorted(path for path in different if not _OTHERS.fullmatch(path)):
        return f"files were left behind or are missing: {ours}"
    left = contents(run.folder / "tmp")
    telling = [path for path, content in left.items() if any(map(content.__contains__, _SECRETS))]
    return f"files with cells were left behind: {telling}" if telling else ""


def _spoiled(bench: Bench, run: Run, earlier: bytes) -> str:
    """Describe what is wrong with the output of an interrupted run, or with its log."""
    output = run.folder / OUTPUT
    if output.read_bytes() == earlier:
        silent = _CONFIGURED in run.log and _SAID not in run.log
        return "the log does not say that the run was interrupted" if silent else ""
    try:
        complete = records(output) == bench.expected()
    except (ValueError, TypeError) as error:
        return f"the output is neither the earlier one nor valid: {error}"
    return "" if complete else "the output is neither the earlier one nor complete"


def _leftovers(run: Run) -> str:
    left = [path.name for path in run.folder.joinpath("tmp").glob("hyperjoin-run-*")]
    left.remove("hyperjoin-run-of-somebody")
    unfinished = [path.name for path in run.folder.rglob(".unfinished-*")]
    return f"left behind: {left + unfinished}" if left or unfinished else ""


def _spoiled_keeping(before: dict[str, bytes], kept: Path) -> str:
    """Describe any damage to the kept store and model; empty if they are intact.

    Unchanged files and complete new ones are both right.
    """
    after = contents(kept)
    for name in before:
        if name not in after:
            return f"{name} is lost"
        if name.startswith(STORE) and name.endswith(".parquet"):
            try:
                read_checked(kept / name)
            except StoredFileError as error:
                return str(error)
    described = f"{MODEL}/{DESCRIPTION}"
    if after[described] != before[described]:
        return find_damage(kept / MODEL) and "the new model is damaged"
    changed = [name for name in before if name.startswith(MODEL) and after[name] != before[name]]
    return f"the old model's files have changed: {changed}" if changed else ""
