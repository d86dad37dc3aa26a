"""Every method on every benchmark, seed by seed."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.evaluate.ablations import Variant
from datahub_hyperjoin.evaluate.calibration import ScoredAnswers, score_answers
from datahub_hyperjoin.evaluate.cost import Cost, measured
from datahub_hyperjoin.evaluate.cuts import check_sizes, cut
from datahub_hyperjoin.evaluate.methods import EvaluatedLake, Method, Product
from datahub_hyperjoin.evaluate.metrics import Scores, score
from datahub_hyperjoin.evaluate.progress import Narration
from datahub_hyperjoin.evaluate.settings import Settings, recipe
from datahub_hyperjoin.evaluate.suite import ColumnName, Rankings, Suite, read_suites
from datahub_hyperjoin.scan import scan
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.suggest import read_profiles


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    seeds: int = 1
    """How often each method is run, with seeds counted from the setting's."""

    sizes: Sequence[int] = ()
    """How many tables benchmarks are cut to, differently for each seed; none leaves them whole."""


@dataclass(frozen=True)
class Run:
    """One method on one benchmark with one seed."""

    rankings: Rankings
    """Its answers; none if it failed."""

    scores: Scores
    """How good they are, query by query."""

    scored: ScoredAnswers | None
    """What its scores say and what was right; nothing if they are not in [0, 1]."""

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


@dataclass(frozen=True, eq=False)
class LakeResult:
    """Everything measured on one benchmark; equal to itself only."""

    lakes: tuple[EvaluatedLake, ...]
    """What each seed measured."""

    methods: tuple[MethodRuns, ...]
    """In the order asked for; the first is what the others are compared with."""

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.lakes[0].suite.name

    @property
    def queries(self) -> tuple[ColumnName, ...]:
        """What any seed asks, once each."""
        return tuple(dict.fromkeys(query for lake in self.lakes for query in lake.suite.truth))


def evaluate(
    folders: Sequence[Path],
    variants: Sequence[Variant],
    *,
    settings: Settings,
    extent: Extent,
    progress: Narration,
    rivals: Sequence[Method] = (),
) -> Iterator[LakeResult]:
    """Measures variants of the product on benchmarks, and rivals beside them.

    Everything that could be wrong with folders and settings is found before anything is computed.
    Tables are read once, by Spark, for all methods and seeds. A method that cannot be trained has
    no answers; the others go on.

    Args:
        folders: The benchmarks.
        variants: What is measured; the others are compared with the first.
        settings: Recipe keys that all variants share, unless a variant sets them itself.
        extent: How often, and on how many of the tables.
        progress: Told how far it is.
        rivals: Further methods, compared with the first variant, too.

    Yields:
        One benchmark after another, of each size if sizes are told.

    Raises:
        EvaluationError: A benchmark or a setting cannot be used.
        SparkError: Spark cannot run.
    """
    suites = read_suites(folders)
    check_sizes(suites, extent.sizes)
    products = [
        Product(variant.name, variant.slug, recipe({**settings, **variant.settings}).model)
        for variant in variants
    ]
    methods = [*products, *rivals]
    lakes = _profile(suites, settings, progress)
    sizes: Sequence[int | None] = extent.sizes or [None]
    progress.expect(len(lakes) * len(sizes) * len(methods) * extent.seeds)
    for lake in lakes:
        for size in sizes:
            yield measure(lake, methods, seeds=extent.seeds, progress=progress, tables=size)


def measure(
    lake: EvaluatedLake,
    methods: Sequence[Method],
    *,
    seeds: int,
    progress: Narration,
    tables: int | None = None,
) -> LakeResult:
    """Runs methods on one benchmark.

    Args:
        lake: The benchmark.
        methods: What is measured.
        seeds: How often.
        progress: Told how far it is.
        tables: What it is cut to, in another way for each seed; the whole is measured without.

    Returns:
        Every run, method by method.
    """
    lakes = [cut(lake, tables, seed=seed) if tables else lake for seed in range(seeds)]
    runs: list[list[Run]] = [[] for _ in methods]
    for seed, part in enumerate(lakes):
        with tempfile.TemporaryDirectory(prefix="hyperjoin-") as folder:
            for method, done in zip(methods, runs, strict=True):
                progress.begin(f"{part.suite.name}, {method.name}, seed {seed}")
                done.append(_run(method, part, seed=seed, models=Path(folder), progress=progress))
    measured_ = (MethodRuns(method, tuple(of)) for method, of in zip(methods, runs, strict=True))
    return LakeResult(tuple(lakes), tuple(measured_))


def _profile(
    suites: Sequence[Suite], settings: Settings, progress: Narration
) -> tuple[EvaluatedLake, ...]:
    lakes = []
    with borrow_session(recipe(settings).spark) as session:
        for suite in suites:
            config = recipe(settings, suite.folder / "tables")
            with progress.stage(f"Profiling {suite.name}"), measured() as cost:
                profiles = read_profiles(
                    scan(config, progress.warn, lambda: session).tables,
                    lambda: session,
                    config.profile,
                    progress,
                )
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
    return Run(
        rankings=rankings,
        scores=scores,
        scored=score_answers(lake.suite.truth, rankings),
        cost=cost,
        trained=trained,
        fault=fault,
    )
