"""Evaluate ranking methods on labelled lakes, with one run per seed."""

import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.evaluate.calibration import BinnedScores, bin_scores
from datahub_hyperjoin.evaluate.labelled_lake import (
    ColumnName,
    LabelledLake,
    Rankings,
    read_labelled_lakes,
)
from datahub_hyperjoin.evaluate.methods import ProfiledLake, RankingMethod
from datahub_hyperjoin.evaluate.metrics import QueryScores, score_rankings
from datahub_hyperjoin.evaluate.progress import EvaluationProgress
from datahub_hyperjoin.evaluate.settings import RecipeSettings, recipe_config
from datahub_hyperjoin.scan import scan
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.temporary import temporary_folder

_CLEAR_REFS, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_RESET_PEAK = "5"
_KILO, _MEGA = 2**10, 2**20


@dataclass
class Cost:
    """The run time and peak memory of a `with` block, filled in when the block ends."""

    seconds: float = 0.0
    """Wall-clock time."""

    megabytes: float = 0.0
    """Peak resident memory of this process in MiB, including memory allocated before the block."""


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure the run time and the peak memory of a `with` block.

    Only Linux can reset the peak of a process. On other systems the peak is the one since the
    process started.
    """
    cost = Cost()
    _reset_peak()
    started = perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = perf_counter() - started
        cost.megabytes = peak_memory() / _MEGA


def _reset_peak() -> None:
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK, "ascii")
    except OSError:
        return


def peak_memory() -> float:
    """Return this process's peak memory since the last reset, in bytes."""
    try:
        lines = _STATUS.read_text("ascii").splitlines()
        [peak] = [line for line in lines if line.startswith("VmHWM:")]
        return float(peak.split()[1]) * _KILO
    except OSError:
        peak_units = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes, all other systems kibibytes.
        return float(peak_units) * (1 if sys.platform == "darwin" else _KILO)


@dataclass(frozen=True)
class Run:
    """The result of running one method on one lake with one seed."""

    rankings: Rankings
    """The method's rankings; empty if it failed."""

    scores: QueryScores
    """The metrics of the rankings, for each query column."""

    binned: BinnedScores | None
    """The scores of the rankings in bins; None if a score lies outside [0, 1]."""

    cost: Cost
    """Run time and memory, without the training of a network that another method trained."""

    trained: int
    """Number of networks trained."""

    fault: str
    """Reason of the failure; empty if the method did not fail."""


@dataclass(frozen=True)
class MethodRuns:
    """One method and its runs on one lake."""

    method: RankingMethod
    """The method."""

    runs: tuple[Run, ...]
    """One run per seed."""


@dataclass(frozen=True, eq=False)
class LakeResult:
    """The runs of all methods on one lake.

    Instances are compared by identity, so that they can be keys of a cache.
    """

    lakes: tuple[ProfiledLake, ...]
    """The lake of each seed; seeds may use different parts of a lake."""

    methods: tuple[MethodRuns, ...]
    """The methods; all others are compared with the first."""

    @property
    def name(self) -> str:
        """The lake's name."""
        return self.lakes[0].labelled.name

    @property
    def queries(self) -> tuple[ColumnName, ...]:
        """The query columns of all runs.

        Each is listed once.
        """
        return tuple(dict.fromkeys(query for lake in self.lakes for query in lake.labelled.truth))


def evaluate(
    folders: Sequence[Path],
    methods: Sequence[RankingMethod],
    *,
    settings: RecipeSettings,
    seeds: int = 1,
    progress: EvaluationProgress,
) -> Iterator[LakeResult]:
    """Run ranking methods on labelled lakes, and score the rankings.

    All folders and settings are checked before the first computation. Spark profiles the tables
    once for all methods and seeds. A method that cannot be trained has empty rankings, and the
    other methods continue.

    Args:
        folders: The labelled lakes.
        methods: The methods; all others are compared with the first.
        settings: The recipe keys that decide how tables are profiled.
        seeds: Number of runs of each method, with seeds that count from 0.
        progress: Receives the progress.

    Yields:
        The result of each lake.

    Raises:
        EvaluationError: A folder or a setting cannot be used.
        SparkError: Spark cannot run.
    """
    lakes = profile_lakes(read_labelled_lakes(folders), settings, progress)
    progress.expect(len(lakes) * len(methods) * seeds)
    for lake in lakes:
        yield measure([lake] * seeds, methods, progress=progress)


def profile_lakes(
    lakes: Sequence[LabelledLake], settings: RecipeSettings, progress: EvaluationProgress
) -> tuple[ProfiledLake, ...]:
    """Profile the tables of all given lakes in one Spark session.

    Args:
        lakes: The labelled lakes.
        settings: The recipe keys that decide how tables are profiled.
        progress: Receives the progress.

    Raises:
        SettingError: A setting cannot be used.
        SparkError: Spark cannot run.
    """
    profiled = []
    with borrow_session(recipe_config(settings).spark) as session:
        for lake in lakes:
            config = recipe_config(settings, lake.folder / "tables")
            with progress.stage(f"Profiling {lake.name}"), measured() as cost:
                profiles = read_profiles(
                    scan(config, progress.warn, lambda: session),
                    lambda: session,
                    config.profile,
                    progress,
                )
            profiled.append(ProfiledLake(lake, profiles, cost.seconds))
    return tuple(profiled)


def measure(
    lakes: Sequence[ProfiledLake],
    methods: Sequence[RankingMethod],
    *,
    progress: EvaluationProgress,
) -> LakeResult:
    """Run each method once for each seed, and score the rankings.

    Args:
        lakes: The lake of each seed, counted from 0: the same lake, or parts of it.
        methods: The methods; all others are compared with the first.
        progress: Receives the progress.
    """
    runs: list[list[Run]] = [[] for _ in methods]
    for seed, lake in enumerate(lakes):
        # Networks are shared between methods, but never between seeds or lakes.
        with temporary_folder() as folder:
            for method, method_runs in zip(methods, runs, strict=True):
                progress.begin(f"{lake.labelled.name}, {method.name}, seed {seed}")
                run = _run(method, lake, seed=seed, models=folder, progress=progress)
                method_runs.append(run)
    return LakeResult(
        tuple(lakes),
        tuple(MethodRuns(method, tuple(own)) for method, own in zip(methods, runs, strict=True)),
    )


def _run(
    method: RankingMethod,
    lake: ProfiledLake,
    *,
    seed: int,
    models: Path,
    progress: EvaluationProgress,
) -> Run:
    """Run one method on one lake with one seed, and score the rankings.

    If the method fails, its rankings are empty and all metrics are 0.
    """
    rankings: Rankings = {}
    fault = ""
    trained_before = progress.counts["models_trained"]
    with measured() as cost:
        try:
            rankings = method.rank(lake, seed=seed, models=models, progress=progress)
        except ModelError as error:
            fault = str(error)
            progress.warn(
                "Method failed", "Its rankings are empty. The other methods continue", fault
            )
    truth = lake.labelled.truth
    scores = score_rankings(truth, rankings)
    progress.say(
        f"P@15 {100 * scores['P@15'].mean():.1f}, R@15 {100 * scores['R@15'].mean():.1f} "
        f"in {cost.seconds:.0f} s"
    )
    return Run(
        rankings=rankings,
        scores=scores,
        binned=bin_scores(truth, rankings),
        cost=cost,
        trained=round(progress.counts["models_trained"] - trained_before),
        fault=fault,
    )
