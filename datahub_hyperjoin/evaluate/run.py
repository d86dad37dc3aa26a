"""Every method on every benchmark, seed by seed."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from datahub_hyperjoin.connection import scan
from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.evaluate.ablations import Variant
from datahub_hyperjoin.evaluate.cost import Cost, measured
from datahub_hyperjoin.evaluate.methods import EvaluatedLake, Method, Product
from datahub_hyperjoin.evaluate.metrics import Scores, score
from datahub_hyperjoin.evaluate.progress import Narration
from datahub_hyperjoin.evaluate.settings import Settings, recipe
from datahub_hyperjoin.evaluate.suite import Rankings, Suite, read_suites
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.suggest import read_profiles


@dataclass(frozen=True)
class Run:
    """One method on one benchmark with one seed."""

    rankings: Rankings
    """Its answers; none if it failed."""

    scores: Scores
    """How good they are, query by query."""

    cost: Cost
    """What they took; a network that another method had trained already is not in it."""

    trained: int
    """Networks that were trained for it."""

    fault: str
    """Why the method failed; empty if it did not."""


@dataclass(frozen=True)
class MethodRuns:
    """One method on one benchmark."""

    method: Method
    """Which method."""

    runs: tuple[Run, ...]
    """One a seed."""


@dataclass(frozen=True)
class LakeResult:
    """Everything measured on one benchmark."""

    lake: EvaluatedLake
    """The benchmark."""

    methods: tuple[MethodRuns, ...]
    """In the order asked for; the first is what the others are compared with."""


def evaluate(
    folders: Sequence[Path],
    variants: Sequence[Variant],
    *,
    settings: Settings,
    seeds: int,
    progress: Narration,
) -> Iterator[LakeResult]:
    """Measures variants of the product on benchmarks.

    Everything that could be wrong with folders and settings is found before anything is computed.
    Tables are read once, by Spark, for all methods and seeds. A method that cannot be trained has
    no answers; the others go on.

    Args:
        folders: The benchmarks.
        variants: What is measured; the others are compared with the first.
        settings: Recipe keys that all variants share, unless a variant sets them itself.
        seeds: How often each is run, with seeds counted from the setting's.
        progress: Told how far it is.

    Yields:
        One benchmark after another.

    Raises:
        EvaluationError: A benchmark or a setting cannot be used.
        SparkError: Spark cannot run.
    """
    suites = read_suites(folders)
    methods = [
        Product(variant.name, variant.slug, recipe({**settings, **variant.settings}).model)
        for variant in variants
    ]
    lakes = _profile(suites, settings, progress)
    progress.expect(len(lakes) * len(methods) * seeds)
    for lake in lakes:
        yield measure(lake, methods, seeds=seeds, progress=progress)


def measure(
    lake: EvaluatedLake, methods: Sequence[Method], *, seeds: int, progress: Narration
) -> LakeResult:
    """Runs methods on one benchmark.

    Args:
        lake: The benchmark.
        methods: What is measured.
        seeds: How often.
        progress: Told how far it is.

    Returns:
        Every run, method by method.
    """
    runs: list[list[Run]] = [[] for _ in methods]
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="hyperjoin-") as folder:
            for method, done in zip(methods, runs, strict=True):
                progress.begin(f"{lake.suite.name}, {method.name}, seed {seed}")
                done.append(_run(method, lake, seed=seed, models=Path(folder), progress=progress))
    measured_ = (MethodRuns(method, tuple(of)) for method, of in zip(methods, runs, strict=True))
    return LakeResult(lake, tuple(measured_))


def _profile(
    suites: Sequence[Suite], settings: Settings, progress: Narration
) -> tuple[EvaluatedLake, ...]:
    lakes = []
    with borrow_session(recipe(settings).spark) as session:
        for suite in suites:
            config = recipe(settings, suite.folder / "tables")
            with progress.stage(f"Profiling {suite.name}"), measured() as cost:
                profiles = read_profiles(scan(config), session, config.profile, progress)
            lakes.append(EvaluatedLake(suite, profiles, cost.seconds))
    return tuple(lakes)


def _run(
    method: Method, lake: EvaluatedLake, *, seed: int, models: Path, progress: Narration
) -> Run:
    rankings: Rankings = {}
    fault = ""
    before = progress.counts["models_trained"]
    with measured() as cost:
        try:
            rankings = method.rank(lake, seed=seed, models=models, progress=progress)
        except ModelError as error:
            fault = str(error)
            progress.warn("Method failed", "It has no answers; the others go on", fault)
    scores = score(lake.suite.truth, rankings)
    progress.say(
        f"P@15 {100 * scores['P@15'].mean():.1f}, R@15 {100 * scores['R@15'].mean():.1f} "
        f"in {cost.seconds:.0f} s"
    )
    trained = round(progress.counts["models_trained"] - before)
    return Run(rankings=rankings, scores=scores, cost=cost, trained=trained, fault=fault)
