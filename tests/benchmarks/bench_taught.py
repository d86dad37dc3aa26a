"""Measure how much declared foreign keys help to find undeclared references.

Shares of the declared references of each lake are drawn at random and given to the run as facts of
the catalog. References of all other columns are compared with those of a run that knows the same
facts, but does not let namesakes follow them. Containment is that of the profiles.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_taught FOLDER...`. Each folder
is a labelled lake with a `references.csv`. Lakes are pooled by `--pool`.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from benchmarks.directed_lake import Directed, DirectedLake, read_directed_lake
from benchmarks.reference_metrics import column_name, judge_references
from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys, ForeignKey
from datahub_hyperjoin.evaluate import EvaluationProgress, profile_lakes
from datahub_hyperjoin.evaluate.metrics import TAILS, Bootstrap
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.roles.references import find_references
from datahub_hyperjoin.model.signals.priors import CatalogPriors

SHARES = (0.1, 0.25, 0.5)
"""Shares of the declared references that the catalog knows."""
_SURE = 0.5
"""Minimum probability of a reference that counts as predicted."""

Tally = Float[np.ndarray, "3"]
"""Counts of correct, predicted and declared references."""
Tallies = Mapping[str, Tally]
"""A tally for each referring table."""


def reveal(lake: DirectedLake, share: float, seed: int) -> list[Directed]:
    """Draw the references that the catalog knows.

    Args:
        lake: The declared references.
        share: Share of them to draw.
        seed: Seed of the draw.
    """
    declared = sorted(lake.directions)
    drawn = np.random.default_rng(seed).permutation(len(declared))
    return [declared[place] for place in sorted(drawn[: round(share * len(declared))])]


def tell(index: LakeIndex, known: Sequence[Directed]) -> CatalogPriors:
    """Return the catalog priors of a lake in which some foreign keys are declared.

    Args:
        index: The lake.
        known: The foreign keys.
    """
    ids = {column_name(column): column for column in index.lake.ids}
    keys = (
        ForeignKey(name="", pairs=((ids[referring], ids[referenced]),))
        for referring, referenced in known
        if referring in ids and referenced in ids
    )
    facts = CatalogFacts().declaring(DeclaredKeys(foreign=tuple(keys)))
    return CatalogPriors.from_facts(index.lake, facts)


def tally(
    lake: DirectedLake, index: LakeIndex, known: Sequence[Directed], *, taught: bool
) -> Tallies:
    """Count the correct, predicted and declared references of columns without a known foreign key.

    Args:
        lake: The declared references.
        index: The lake.
        known: The foreign keys that the catalog declares.
        taught: Whether namesakes follow them.
    """
    weights = DEFAULT_WEIGHTS if taught else replace(DEFAULT_WEIGHTS, namesake=0.0)
    priors = tell(index, known)
    found = find_references(index.lake, index.overlap, priors, index.beyond_overlap, weights)
    names = [column_name(column) for column in index.lake.ids]
    told = {referring for referring, _ in known}
    predicted = (
        (names[column], names[key])
        for column, (key, probability) in found.best.items()
        if probability >= _SURE
    )
    kept = {pair: way for pair, way in lake.directions.items() if pair[0] not in told}
    judged = {pair for pair in judge_references(lake, predicted) if pair[0] not in told}
    counts = [
        Counter(pair[0].table for pair in pairs) for pairs in (judged & {*kept}, judged, kept)
    ]
    tables = set().union(*counts)
    return {
        table: np.array([count[table] for count in counts], dtype=np.float64) for table in tables
    }


def compare(before: Sequence[Tallies], after: Sequence[Tallies]) -> str:
    """Describe how F1, precision and recall changed, with an interval for the change of F1.

    The interval is a bootstrap over referring tables.

    Args:
        before: The tallies of each draw, untaught.
        after: Those of the same draws, taught.
    """
    tables = sorted({table for draw in (*before, *after) for table in draw})
    none = np.zeros(3)
    totals = [
        np.array([sum((draw.get(table, none) for draw in draws), none) for table in tables])
        for draws in (before, after)
    ]
    bootstrap = Bootstrap(len(tables))
    gains = _f1(bootstrap.resampled(totals[1])) - _f1(bootstrap.resampled(totals[0]))
    low, high = np.percentile(gains, TAILS)
    first, second = (float(_f1(total.sum(axis=0))) for total in totals)
    rates = [total.sum(axis=0) for total in totals]
    precision, recall = ([rate[0] / max(rate[k], 1) for rate in rates] for k in (1, 2))
    return (
        f"F1 {first:.3f} -> {second:.3f} ({low:+.3f} to {high:+.3f}), "
        f"precision {precision[0]:.3f} -> {precision[1]:.3f}, "
        f"recall {recall[0]:.3f} -> {recall[1]:.3f}"
    )


def _f1(counts: Float[np.ndarray, "*draw 3"]) -> Float[np.ndarray, "*draw"]:
    right, predicted, declared = np.moveaxis(counts, -1, 0)
    return 2 * right / np.maximum(predicted + declared, 1e-9)


def measure(
    lake: DirectedLake, index: LakeIndex, draws: int
) -> Iterator[tuple[float, Tallies, Tallies]]:
    """For each draw, yield the share of known references, and tallies without and with namesakes.

    Args:
        lake: The declared references.
        index: The lake.
        draws: Number of draws of each share.
    """
    for share in SHARES:
        for seed in range(draws):
            known = reveal(lake, share, seed)
            before = tally(lake, index, known, taught=False)
            yield share, before, tally(lake, index, known, taught=True)


def _report(line: str) -> None:
    print(line, file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark on the lakes named on the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_taught", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=5, help="draws of each share (5)")
    parser.add_argument("--pool", action="store_true", help="one result for all lakes together")
    options = parser.parse_args(arguments)
    lakes = [read_directed_lake(folder) for folder in options.folders]
    profiled = profile_lakes([lake.labelled for lake in lakes], {}, EvaluationProgress(_report))
    before, after = defaultdict(list), defaultdict(list)
    for lake, one in zip(lakes, profiled, strict=True):
        tables = Lake.from_tables(one.profiles)
        index = build_lake_index(tables, ModelConfig(), CatalogFacts())
        name = "all" if options.pool else lake.labelled.name
        for share, untaught, taught in measure(lake, index, options.draws):
            owner = f"{lake.labelled.name}/" if options.pool else ""
            before[name, share].append({owner + table: n for table, n in untaught.items()})
            after[name, share].append({owner + table: n for table, n in taught.items()})
    for (name, share), untaught_draws in before.items():
        print(f"{name}, {share:.0%}: {compare(untaught_draws, after[name, share])}", flush=True)


if __name__ == "__main__":
    main()
