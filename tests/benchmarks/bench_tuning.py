"""Measure what fine-tuning the pair network on declared foreign keys gains.

Shares of the declared references of each lake are drawn at random and given to the run as facts of
the catalog. The network learns from the columns of these references: two of them join if they
have the same key, and a column joins no other key. Rankings of the shipped and of the fine-tuned
network are compared over query columns. Pairs that the declared references imply do not count, and
neither do query columns with a declared reference.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_tuning FOLDER...`. Each folder
is a labelled lake with a `references.csv`.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import networkx as nx
import numpy as np
from jaxtyping import Float

from benchmarks.bench_decisions import CONFIG, Ranked, average_precisions, name_of
from benchmarks.bench_taught import SHARES, reveal, tell
from benchmarks.directed_lake import Directed, DirectedLake, read_directed_lake
from benchmarks.pair_network.tuning import KnownPairs, tune
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate import EvaluationProgress, profile_lakes
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.evaluate.metrics import Bootstrap
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.pair_network import PairNetwork
from datahub_hyperjoin.model.ranking.pair_features import ReferenceLookup
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, NoisyOrScorer
from datahub_hyperjoin.model.ranking.rank import Ranker
from datahub_hyperjoin.model.ranking.tree_scoring import (
    SHIPPED,
    NetworkCorrection,
    TreeScorer,
    build_pair_graph,
)
from datahub_hyperjoin.model.tree_ensemble import shipped_trees

_UNIQUE, _UNRELATED = 0.95, 0.1
"""Least uniqueness of a key, and greatest probability of a reference between unrelated keys."""


@dataclass(frozen=True)
class _Known:
    """The joins that follow from the declared references of a lake. Columns are given by index."""

    key_of: Mapping[int, int]
    """The key of each column with a declared reference."""

    kinds: Mapping[int, int]
    """For each column of a declared reference, a group number; columns of the same group join."""

    @classmethod
    def of(cls, index: LakeIndex, declared: Sequence[Directed]) -> "_Known":
        number = {name_of(column): place for place, column in enumerate(index.lake.ids)}
        pairs = [(number[a], number[b]) for a, b in declared if a in number and b in number]
        joined = nx.connected_components(nx.Graph(pairs))
        return cls(dict(pairs), {each: kind for kind, own in enumerate(joined) for each in own})

    def tells(self, left: int, right: int) -> bool | None:
        """Whether two columns join, if both belong to declared references; None otherwise."""
        if left not in self.kinds or right not in self.kinds:
            return None
        return self.kinds[left] == self.kinds[right]


def find_known_pairs(index: LakeIndex, known: _Known, learnt: NetworkCorrection) -> KnownPairs:
    """List the candidate pairs for which declared references show whether the columns join.

    Args:
        index: The lake, without declared references.
        known: What the declared references tell.
        learnt: The pairs that the network corrects.
    """
    lookup = ReferenceLookup.of(index)
    unique = index.priors.uniqueness >= _UNIQUE

    def refutes(column: int, other: int) -> bool:
        key = known.key_of.get(column)
        if key is None or other in known.kinds or not unique[other]:
            return False
        ends = np.array([key, other])
        return bool((lookup.between(ends, ends[::-1]) < _UNRELATED).all())

    found = list[tuple[int, bool, int]]()
    ends = zip(learnt.pairs.left.tolist(), learnt.pairs.right.tolist(), strict=True)
    for position, (left, right) in enumerate(ends):
        joins = known.tells(left, right)
        if joins is None and (refutes(left, right) or refutes(right, left)):
            joins = False
        if joins is not None:
            found.append((position, joins, left if left in known.kinds else right))
    positions, answers, groups = np.array(found).reshape(-1, 3).T
    return KnownPairs(positions, answers.astype(bool), groups)


def _learn(index: LakeIndex, ranker: Ranker, declared: Sequence[Directed]) -> PairNetwork:
    noisy_or = NoisyOrScorer(index, None, STRENGTHS)
    graph = build_pair_graph(index, noisy_or, ranker.candidates)
    learnt = NetworkCorrection.of(index, noisy_or, ranker.candidates)
    known = find_known_pairs(index, _Known.of(index, declared), learnt)
    places = np.flatnonzero(learnt.pairs.locate(graph.left, graph.right) >= 0)
    network, steps = tune(graph, replace(known, positions=places[known.positions]))
    _report(f"{known.joins.sum()} of {len(known.joins)} known pairs join; {steps} steps")
    return network


def rank_with(index: LakeIndex, network: PairNetwork | None) -> Ranked:
    """Return the ranked candidates of each key column.

    Args:
        index: The lake.
        network: The pair network; None for the shipped one.
    """
    ranker = Ranker.of(index, index.names.vectors(), CONFIG)
    noisy_or = NoisyOrScorer(index, None, STRENGTHS)
    correction = NetworkCorrection.of(index, noisy_or, ranker.candidates, network)
    scorer = TreeScorer(index, noisy_or, shipped_trees(SHIPPED), correction)
    ids = index.lake.ids
    return {
        name_of(ids[each.query]): [name_of(ids[column]) for column in each.candidates]
        for each in replace(ranker, scorer=scorer).select()
    }


def _measure(ranked: Ranked, lake: DirectedLake) -> Float[np.ndarray, "query 2"]:
    """Return average precision and recall in the first 15 candidates of each query column."""
    truth = lake.labelled.truth
    precision = average_precisions(ranked, truth, {})
    found = (len({*ranked[query][:15]} & truth[query]) / len(truth[query]) for query in precision)
    return 100 * np.column_stack([[*precision.values()], [*found]])


def gains(
    lake: DirectedLake, index: LakeIndex, share: float, seed: int
) -> Iterator[tuple[ColumnName, Float[np.ndarray, "2"]]]:
    """Yield what fine-tuning gains for each query column without a declared reference.

    Args:
        lake: The declared references.
        index: The lake; its key columns contain the query columns.
        share: Share of the references that the catalog declares.
        seed: Seed of the draw of declared references.

    Yields:
        A query column, and its gains in average precision and in recall, in points.
    """
    declared = reveal(lake, share, seed)
    start = time.perf_counter()
    network = _learn(index, Ranker.of(index, index.names.vectors(), CONFIG), declared)
    _report(f"{lake.labelled.name}, {share:.0%}: tuned in {time.perf_counter() - start:.0f} s")
    told = index.with_decisions(tell(index, declared))
    asked = lake.labelled.truth.keys() - {column for pair in declared for column in pair}
    before, after = (
        {query: own for query, own in rank_with(told, each).items() if query in asked}
        for each in (None, network)
    )
    yield from zip(before, _measure(after, lake) - _measure(before, lake), strict=True)


def describe(by_query: Mapping[ColumnName, Sequence[Float[np.ndarray, "2"]]]) -> str:
    """Describe the mean gains over draws, with intervals over query columns.

    Args:
        by_query: The gains of each query column, one for each draw.
    """
    means = np.array([np.mean(own, axis=0) for own in by_query.values()])
    bootstrap = Bootstrap(len(means))
    intervals = (bootstrap.interval(values) for values in means.T)
    named = zip(("MAP", "R@15"), intervals, strict=True)
    return ", ".join(f"{n} {i.mean:+.1f} ({i.low:+.1f} to {i.high:+.1f})" for n, i in named)


def _index(lake: DirectedLake, tables: Lake) -> LakeIndex:
    index = build_lake_index(tables, CONFIG, CatalogFacts())
    queries = np.flatnonzero([name_of(column) in lake.labelled.truth for column in tables.ids])
    return replace(index, keys=np.union1d(index.keys, queries))


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark on the lakes named on the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_tuning", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=3, help="draws of each share (3)")
    parser.add_argument("--share", type=float, action="append", help="share of references")
    options = parser.parse_args(arguments)
    lakes = [read_directed_lake(folder) for folder in options.folders]
    profiled = profile_lakes([lake.labelled for lake in lakes], {}, EvaluationProgress(_report))
    for lake, one in zip(lakes, profiled, strict=True):
        index = _index(lake, Lake.from_tables(one.profiles))
        for share in options.share or SHARES:
            by_query = defaultdict(list)
            for seed in range(options.draws):
                for query, gain in gains(lake, index, share, seed):
                    by_query[query].append(gain)
            print(f"{lake.labelled.name}, {share:.0%}: {describe(by_query)}", flush=True)


if __name__ == "__main__":
    main()
