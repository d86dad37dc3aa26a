"""Make candidate pairs whose labels can be learnt only from other pairs of the same tables."""

import numpy as np

from benchmarks.pair_network.examples import LabelledPairs
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES
from datahub_hyperjoin.model.ranking.tree_scoring import PairGraph


def made_lake(seed: int) -> LabelledPairs:
    """Make pairs that join if and only if another pair of the same two tables has high evidence.

    A pair's own features tell nothing of that.
    """
    random = np.random.default_rng(seed)
    tables = 12
    ends = [(a, b) for a in range(tables) for b in range(tables) if a != b]
    # Each table has two columns: a hint and the column that is asked for.
    pairs = sorted([(2 * a + n, 2 * b + n) for a, b in ends for n in (0, 1)])
    friends = {frozenset(both): random.random() < 0.3 for both in ends}
    left, right = np.array(pairs).T
    joins = np.array([friends[frozenset((a // 2, b // 2))] for a, b in pairs])
    is_hint = left % 2 == 0
    rows = random.normal(size=(len(pairs), len(PAIR_FEATURES))).astype(np.float32)
    rows[:, 0] = np.where(is_hint, np.where(joins, 2.0, -2.0), 0.0)
    rows[:, 1] = is_hint
    evidence = np.where(is_hint, np.where(joins, 0.9, 0.1), 0.5)
    table_of = np.arange(2 * tables) // 2
    graph = PairGraph(left, right, rows, evidence, np.zeros(len(pairs)), table_of)
    asked = np.arange(1, 2 * tables, 2)
    answers = np.array([joins[left == query].sum() for query in asked])
    return LabelledPairs("made", graph, joins & ~is_hint, asked[answers > 0], answers[answers > 0])
