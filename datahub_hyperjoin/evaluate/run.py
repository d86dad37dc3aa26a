"""Evaluate ranking methods on labelled lakes, with one run per seed."""

import resource
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import yaml
from jaxtyping import Int
from pydantic import ValidationError
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.evaluate.errors import SettingError
from datahub_hyperjoin.evaluate.labelled_lake import (
    ColumnName,
    LabelledLake,
    RankedColumn,
    Rankings,
    read_labelled_lakes,
)
from datahub_hyperjoin.evaluate.metrics import (
    RANKING_LENGTH,
    BinnedScores,
    QueryScores,
    bin_scores,
    score_rankings,
)
from datahub_hyperjoin.find import embed, index_lake
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.saved.checkpoint import fingerprint
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.scan import scan
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.stages.named_joins import describe_unread, index_by_names
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.tables import ColumnId, TableProfile

RecipeSettings = Mapping[str, object]
"""Recipe keys, such as `model.training.epochs`, and their values."""


def parse_settings(texts: Sequence[str]) -> dict[str, object]:
    """Parse `KEY=VALUE` settings from the command line.

    >>> parse_settings(["model.training.epochs=3", "model.setting=paper"])
    {'model.training.epochs': 3, 'model.setting': 'paper'}
    """
    settings: dict[str, object] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not (key and separator and value):
            raise SettingError.shapeless(text)
        try:
            settings[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SettingError.shapeless(text) from error
    return settings


def recipe_config(settings: RecipeSettings, folder: Path = Path()) -> HyperJoinConfig:
    """Build the DataHub source's configuration from settings and a folder of tables."""
    nested: dict[str, Any] = {
        "catalog": {"folder": str(folder), "tables": {"allow": [r"[^/]+\.csv$"]}}
    }
    for key, value in settings.items():
        parent = nested
        *sections, last = key.split(".")
        for section in sections:
            parent = parent.setdefault(section, {})
            if not isinstance(parent, dict):
                raise SettingError.because(key, f"`{section}` has a value itself")
        parent[last] = value
    try:
        return HyperJoinConfig.model_validate(nested)
    except ValidationError as error:
        details = error.errors()[0]
        key = ".".join(map(str, details["loc"]))
        raise SettingError.because(key, details["msg"]) from error


class EvaluationProgress:
    """Reports the progress of an evaluation, line by line."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write, self._prefix = write, ""
        self.expect(0)
        self.counts: defaultdict[str, float] = defaultdict(float)

    def expect(self, runs: int) -> None:
        """Set the expected number of runs, and start the timer."""
        self._begun, self._total, self._started = 0, runs, perf_counter()

    def begin(self, run: str) -> None:
        """Report that a run starts, and estimate when all runs will be finished."""
        elapsed = perf_counter() - self._started
        left = elapsed / self._begun * (self._total - self._begun) if self._begun else 0.0
        self._begun += 1
        self._prefix = f"[{self._begun}/{self._total}] {run}: "
        self.say(f"starting; all runs finish in about {_duration(left)}" if left else "starting")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Report the start of a stage; the `with` block contains the work."""
        self.say(name)
        yield

    def count(self, name: str, by: float) -> None:
        """Increase a named counter."""
        self.counts[name] += by

    def say(self, line: str) -> None:
        """Show one line to the user."""
        self._write(f"{self._prefix}{line}")

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Show an error that does not stop the evaluation."""
        self.say(f"{title} ({context}). {message}")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if round(seconds) < 60 else f"{round(seconds) / 60:.0f} min"  # noqa: PLR2004


@dataclass(frozen=True)
class ProfiledLake:
    """A lake with known joins, and the profiles of its tables."""

    labelled: LabelledLake  # the query columns and the ground truth
    # One profile per table, including tables that could not be read.
    profiles: tuple[TableProfile, ...]
    seconds: float  # run time of profiling


class RankingMethod(Protocol):
    """The interface of methods that rank candidates for query columns."""

    @property
    def name(self) -> str:
        """The name shown in reports."""
        ...

    @property
    def slug(self) -> str:
        """The name used in file names."""
        ...

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Rank candidates for each query column.

        Args:
            lake: The tables and the query columns.
            seed: Seed of all randomness.
            models: A folder for trained networks, shared by all methods of this lake and seed.
            progress: Receives stages and epochs.

        Returns:
            Up to `RANKING_LENGTH` columns of other tables for each query column, best first.

        Raises:
            ModelError: The method cannot be trained on this lake.
        """
        ...


@dataclass(frozen=True)
class Pipeline:
    """This package's own ranking method, without the limits of an ingestion.

    It measures a ranking rather than a cut-off, so `model.ranking.top_k` and `min_joinability` have
    no effect, and query columns are ranked for whether or not they look like keys. No candidate is
    verified on the data: that drops pairs, and never changes the order of the rest. Methods that
    need the same network share it, whatever `model.path` says. Seeds count from `model.seed`.
    """

    name: str  # the name shown in reports
    slug: str  # the name used in file names
    config: ModelConfig  # the `model` section of a recipe

    def rank(self, lake: ProfiledLake, *, seed: int, models: Path, progress: Progress) -> Rankings:
        """Rank candidates for each query column."""
        config = replace(self.config, seed=self.config.seed + seed)
        described = describe_unread(lake.profiles, CatalogFacts())
        rankings: Rankings = {}
        if not described or len(Lake.from_tables(lake.profiles)):
            rankings = _rank_by_values(lake, config, models, progress)
        if not described:
            return rankings
        index, config = index_by_names(lake.profiles, described, config, CatalogFacts())
        queried = replace(index, keys=_query_columns(index, lake.labelled))
        named = _rankings(queried, index.names.vectors(), config, lake.labelled)
        unread = {table.title for table in described}
        for query, ranking in named.items():
            # Candidates that were found by name alone follow those that were found by values.
            further = [it for it in ranking if {query.table, it.candidate.table} & unread]
            named[query] = [*rankings.get(query, ()), *further][:RANKING_LENGTH]
        return named


def _rank_by_values(
    lake: ProfiledLake, config: ModelConfig, models: Path, progress: Progress
) -> Rankings:
    index = index_lake(lake.profiles, config, CatalogFacts(), progress)
    # The fingerprint names the network by its training, so equal training is found again.
    config = replace(config, path=models / fingerprint(index, config))
    encoding = embed(index, config, progress)
    # The query columns are ranked beside the key columns, whose candidates are their context.
    keys = np.union1d(index.keys, _query_columns(index, lake.labelled))
    return _rankings(replace(index, keys=keys), encoding.embeddings, config, lake.labelled)


def _name(column: ColumnId) -> ColumnName:
    return ColumnName(Path(column.table.name).stem, column.path)


def _query_columns(index: LakeIndex, labelled: LabelledLake) -> Int[np.ndarray, " query"]:
    """Return the position of each query column in the lake index."""
    return np.flatnonzero([_name(column) in labelled.truth for column in index.lake.ids])


def _rankings(
    index: LakeIndex, embeddings: np.ndarray, config: ModelConfig, labelled: LabelledLake
) -> dict[ColumnName, list[RankedColumn]]:
    unlimited = replace(config.ranking, top_k=RANKING_LENGTH, min_joinability=0.0)
    suggestions = rank(index, embeddings, replace(config, ranking=unlimited))
    return {
        name: [
            RankedColumn(candidate, each.joinability)
            for each in group
            if labelled.has(candidate := _name(each.candidate))
        ]
        for query, group in groupby(suggestions, key=lambda suggestion: suggestion.query)
        if (name := _name(query)) in labelled.truth
    }


_CLEAR_REFS, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_KILO, _MEGA = 2**10, 2**20


@dataclass
class Cost:
    """The run time and peak memory of a `with` block, filled in when the block ends."""

    seconds: float = 0.0  # wall-clock time
    # Peak resident memory of this process in MiB, including memory allocated before the block.
    megabytes: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure the run time and the peak memory of a `with` block."""
    # Only Linux can reset the peak of a process. On other systems it is that since the start.
    cost, started = Cost(), perf_counter()
    with suppress(OSError):
        _CLEAR_REFS.write_text("5", "ascii")
    try:
        yield cost
    finally:
        cost.seconds = perf_counter() - started
        cost.megabytes = peak_memory() / _MEGA


def peak_memory() -> float:
    """Return this process's peak memory since the last reset, in bytes."""
    try:
        return float(_STATUS.read_text("ascii").partition("VmHWM:")[2].split()[0]) * _KILO
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return float(peak) * (1 if sys.platform == "darwin" else _KILO)  # macOS counts bytes


@dataclass(frozen=True)
class Run:
    """The result of running one method on one lake with one seed."""

    rankings: Rankings  # the method's rankings; empty if it failed
    scores: QueryScores  # the metrics of the rankings, for each query column
    # The scores of the rankings in bins; None if a score lies outside [0, 1].
    binned: BinnedScores | None
    cost: Cost  # run time and memory, without the training of a network that another method trained
    trained: int  # number of networks trained
    fault: str  # reason of the failure; empty if the method did not fail


@dataclass(frozen=True)
class MethodRuns:
    """One method and its runs on one lake."""

    method: RankingMethod  # the method
    runs: tuple[Run, ...]  # one run per seed


@dataclass(frozen=True, eq=False)
class LakeResult:
    """The runs of all methods on one lake."""

    # The lake of each seed; seeds may use different parts of a lake.
    lakes: tuple[ProfiledLake, ...]
    methods: tuple[MethodRuns, ...]  # the methods; all others are compared with the first

    @property
    def name(self) -> str:
        """The lake's name."""
        return self.lakes[0].labelled.name

    @property
    def queries(self) -> tuple[ColumnName, ...]:
        """The query columns of all runs."""
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

    All folders and settings are checked before the first computation. Tables are profiled once for
    all methods and seeds. A method that cannot be trained has empty rankings; the others continue.

    Args:
        folders: The labelled lakes.
        methods: The methods; all others are compared with the first.
        settings: The recipe keys that decide how tables are profiled.
        seeds: Number of runs of each method, with seeds that count from 0.
        progress: Receives the progress.

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
    """Profile the tables of all given lakes in one Spark session."""
    profiled = []
    with borrow_session(recipe_config(settings).spark) as session:
        for lake in lakes:
            config = recipe_config(settings, lake.folder / "tables")
            with progress.stage(f"Profiling {lake.name}"), measured() as cost:
                scanned = scan(config, progress.warn, lambda: session)
                profiles = read_profiles(scanned, lambda: session, config.profile, progress)
            profiled.append(ProfiledLake(lake, profiles, cost.seconds))
    return tuple(profiled)


def measure(
    lakes: Sequence[ProfiledLake], methods: Sequence[RankingMethod], *, progress: EvaluationProgress
) -> LakeResult:
    """Run each method once for each seed, and score the rankings."""
    runs: list[list[Run]] = [[] for _ in methods]
    for seed, lake in enumerate(lakes):
        # Networks are shared between methods, but never between seeds or lakes.
        with temporary_folder() as folder:
            for method, method_runs in zip(methods, runs, strict=True):
                progress.begin(f"{lake.labelled.name}, {method.name}, seed {seed}")
                method_runs.append(_run(method, lake, seed, folder, progress))
    return LakeResult(tuple(lakes), tuple(map(MethodRuns, methods, map(tuple, runs))))


def _run(
    method: RankingMethod, lake: ProfiledLake, seed: int, models: Path, progress: EvaluationProgress
) -> Run:
    """Run one method on one lake with one seed, and score the rankings."""
    rankings: Rankings = {}
    fault = ""
    trained_before = progress.counts["models_trained"]
    with measured() as cost:
        try:
            rankings = method.rank(lake, seed=seed, models=models, progress=progress)
        except ModelError as error:
            fault = str(error)
            message = "Its rankings are empty. The other methods continue"
            progress.warn("Method failed", message, fault)
    truth = lake.labelled.truth
    scores = score_rankings(truth, rankings)
    shares = ", ".join(f"{it} {100 * scores[it].mean():.1f}" for it in ("P@15", "R@15"))
    progress.say(f"{shares} in {cost.seconds:.0f} s")
    trained = round(progress.counts["models_trained"] - trained_before)
    return Run(rankings, scores, bin_scores(truth, rankings), cost, trained, fault)
