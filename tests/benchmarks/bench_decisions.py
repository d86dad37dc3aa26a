"""Measure how much people's decisions improve the ranking of undecided pairs.

Each lake has a `decisions.csv` with draws of several sizes (draw, size, table_a, column_a, table_b,
column_b, decision). Decided pairs count neither as answers nor as candidates, before and after. The
bound of each gain is the most that relatives of accepted pairs could add (`decision_bound`).

`--effects` measures whole runs instead: what decisions change in joins of which they say nothing
(`decision_effects`). A folder without a `decisions.csv` is a lake whose joins are accepted or
rejected as a coin falls.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_decisions FOLDER...`.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tabulate import tabulate

from benchmarks import decision_effects
from benchmarks.decision_bound import Named, find_relatives, rank_first, read_equal
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate import EvaluationProgress, profile_lakes, read_labelled_lakes
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import ColumnId, pair_of

CONFIG = ModelConfig(ranking=RankingConfig(top_k=25, min_joinability=0.0))
_VERDICTS = {"accept": Verdict.ACCEPTED, "reject": Verdict.REJECTED}

Decisions = Mapping[Named, Verdict]
Ranked = Mapping[ColumnName, list[ColumnName]]


def name_of(column: ColumnId) -> ColumnName:
    """Return the name that the files of a labelled lake use for a column."""
    return ColumnName(Path(column.table.name).stem, column.path)


def read_decisions(file: Path, draws: int) -> Mapping[tuple[int, int], Decisions]:
    """Read sets of decisions from a file, and return each set by its size and draw number.

    Args:
        file: A `decisions.csv`.
        draws: Number of draws of each size.
    """
    read: defaultdict[tuple[int, int], dict[Named, Verdict]] = defaultdict(dict)
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if int(row["draw"]) <= draws:
                left = ColumnName(row["table_a"], row["column_a"])
                right = ColumnName(row["table_b"], row["column_b"])
                read[int(row["size"]), int(row["draw"])][left, right] = _VERDICTS[row["decision"]]
    return dict(sorted(read.items()))


def decide(index: LakeIndex, decisions: Decisions) -> LakeIndex:
    """Return a copy of the lake with people's decisions added.

    Args:
        index: The lake.
        decisions: Verdicts on pairs.
    """
    ids = {name_of(column): column for column in index.lake.ids}
    facts = CatalogFacts(
        pairs={
            pair_of(ids[left], ids[right]): CatalogEvidence(verdict=verdict)
            for (left, right), verdict in decisions.items()
            if left in ids and right in ids
        }
    )
    return index.with_decisions(CatalogPriors.from_facts(index.lake, facts))


def rank_all(index: LakeIndex) -> Ranked:
    """Return the ranked candidates of each query column.

    Args:
        index: The lake; its key columns are the query columns.
    """
    ranked: Ranked = {name_of(index.lake.ids[key]): [] for key in index.keys}
    for suggestion in rank(index, index.names.vectors(), CONFIG):
        ranked[name_of(suggestion.query)].append(name_of(suggestion.candidate))
    return ranked


def average_precisions(
    ranked: Ranked, truth: Mapping[ColumnName, frozenset[ColumnName]], decisions: Decisions
) -> dict[ColumnName, float]:
    """Return the average precision of each query column that has an undecided true pair.

    Args:
        ranked: Candidates by query column, best first.
        truth: The answers.
        decisions: Pairs that do not count.
    """
    both_ways = {*decisions, *((right, left) for left, right in decisions)}
    measured = {}
    for query, candidates in ranked.items():
        answers = {answer for answer in truth[query] if (query, answer) not in both_ways}
        rest = [each for each in candidates if (query, each) not in both_ways]
        found, total = 0, 0.0
        for position, candidate in enumerate(rest, start=1):
            if candidate in answers:
                found += 1
                total += found / position
        if answers:
            measured[query] = total / len(answers)
    return measured


def measure(lake: ProfiledLake, draws: int) -> None:
    """Print the gain in mean average precision for each number of decisions.

    Args:
        lake: The profiled lake.
        draws: Number of draws of each size.
    """
    index = build_lake_index(Lake.from_tables(lake.profiles), CONFIG, CatalogFacts())
    truth = lake.labelled.truth
    queries = np.flatnonzero([name_of(column) in truth for column in index.lake.ids])
    index = replace(index, keys=queries)
    undecided = rank_all(index)
    start = np.mean(list(average_precisions(undecided, truth, {}).values()))
    print(f"{lake.labelled.name}: MAP {100 * start:.1f} without decisions", flush=True)
    gains, bounds = defaultdict(list), defaultdict(list)
    equal = read_equal(lake.labelled.folder)
    drawn = read_decisions(lake.labelled.folder / "decisions.csv", draws)
    for (size, _), decisions in drawn.items():
        before = average_precisions(undecided, truth, decisions)
        after = average_precisions(rank_all(decide(index, decisions)), truth, decisions)
        gains[size].append(_gain(before, after))
        accepted = [pair for pair, verdict in decisions.items() if verdict is Verdict.ACCEPTED]
        relatives = find_relatives(accepted, equal)
        best = rank_first(undecided, truth, relatives, CONFIG.ranking.top_k)
        bounds[size].append(_gain(before, average_precisions(best, truth, decisions)))
    for size, by_draw in gains.items():
        error = np.std(by_draw, ddof=1) / np.sqrt(len(by_draw)) if len(by_draw) > 1 else np.nan
        gained = f"{np.mean(by_draw):+.1f} ± {1.96 * error:.1f}"
        print(f"  {size:3} decisions: {gained}, bound {np.mean(bounds[size]):+.1f}", flush=True)


_SIZES = (1, 5, 11, 30)
"""Numbers of decisions whose effects on whole runs are counted."""


def measure_effects(folder: Path, draws: int) -> None:
    """Print what each number of decisions changes in other joins, as means over the draws.

    Args:
        folder: A labelled lake, or a folder of tables.
        draws: Number of draws of each size.
    """
    file = folder / "decisions.csv"
    drawn = read_decisions(file, draws) if file.exists() else {}
    rows = []
    with TemporaryDirectory() as store:
        runs = decision_effects.Runs(folder / "tables" if drawn else folder, Path(store))
        before = runs.find({})
        for size in _SIZES:
            counted = []
            for draw in range(1, draws + 1):
                if drawn:
                    # Each draw holds the smaller ones of its number.
                    most = drawn[max(key for key in drawn if key[1] == draw)]
                    decisions = decision_effects.identify(before, dict([*most.items()][:size]))
                else:
                    decisions = decision_effects.toss(before, size, draw)
                after = runs.find(decisions)
                counted.append(decision_effects.compare(before, after, decisions))
            rows.append((size, *np.mean(counted, axis=0).round(1).tolist()))
    print(f"{folder}: {len(before.all_joins)} joins, {draws} draws of decisions")
    print(tabulate(rows, decision_effects.HEADERS), flush=True)


def _gain(before: Mapping[ColumnName, float], after: Mapping[ColumnName, float]) -> float:
    """Return by how many points the mean average precision rises."""
    return 100 * float(np.mean([after[query] - before[query] for query in before]))


def _report(line: str) -> None:
    print(line, file=sys.stderr)


def main() -> None:
    """Run the benchmark on the lakes named on the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_decisions", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=10, help="draws of each size")
    parser.add_argument("--effects", action="store_true", help="measure whole runs")
    options = parser.parse_args()
    if options.effects:
        for folder in options.folders:
            measure_effects(folder, options.draws)
        return
    lakes = read_labelled_lakes(options.folders)
    for lake in profile_lakes(lakes, {}, EvaluationProgress(_report)):
        measure(lake, options.draws)


if __name__ == "__main__":
    main()
