"""Turn labelled lakes into training examples for the trees that score pairs without values."""

from dataclasses import replace
from enum import Enum

import numpy as np

from benchmarks.trees.examples import Examples, are_true, number_columns
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import NAME_FEATURES, NameFeatures
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, NameScorer, score_pairs
from datahub_hyperjoin.tables import DataType, DescribedTable, describe_columns

_CHUNK = 1 << 16
"""Number of pairs described at once."""


class Known(Enum):
    """The facts, besides names, that the trees may know about a lake's columns."""

    STATISTICS = "statistics"
    """The types and counts of columns."""

    TYPES = "types"
    """The types of columns only."""

    HEADERS = "headers"
    """Nothing but the names."""


def describe(lake: ProfiledLake, known: Known) -> Lake:
    """Return the columns of a lake with only those facts that the trees may know.

    Args:
        lake: The profiled lake.
        known: What is known.
    """
    if known is Known.STATISTICS:
        return Lake.from_tables(lake.profiles)
    return Lake.from_tables([]).with_described(
        [
            DescribedTable(
                id=profile.table.id,
                title=profile.table.title,
                columns=describe_columns(
                    profile.table.id,
                    [
                        (column.id.path, column.type if known is Known.TYPES else DataType.TEXT)
                        for column in profile.columns
                    ],
                ),
            )
            for profile in lake.profiles
        ]
    )


def collect_name_examples(lake: ProfiledLake, known: Known) -> Examples:
    """Find candidates for all query columns without using values, and compute their features.

    Args:
        lake: The profiled lake with its ground truth.
        known: What is known of its columns.
    """
    config = ModelConfig(
        ranking=RankingConfig(scoring=Scoring.SIGNALS), features=FeatureConfig(values=False)
    )
    index = build_lake_index(describe(lake, known), config, CatalogFacts())
    numbers = number_columns(index.lake)
    queries = [query for query in lake.labelled.truth if query in numbers]
    index = replace(index, keys=np.array([numbers[query] for query in queries], dtype=np.int64))
    candidates = find_candidates(index, index.names.vectors(), config)
    query, position = np.nonzero(candidates != NO_CANDIDATE)
    left, right = index.keys[query], candidates[query, position]
    scorer, features = NameScorer(index, None, STRENGTHS), NameFeatures(index)
    rows, scores = [np.zeros((0, len(NAME_FEATURES)), np.float32)], [np.zeros(0)]
    for start in range(0, len(left), _CHUNK):
        ends = left[start : start + _CHUNK], right[start : start + _CHUNK]
        scores.append(score_pairs(scorer, *ends))
        rows.append(features.of(*ends, scores[-1]))
    return Examples(
        rows=np.vstack(rows),
        noisy_or=np.concatenate(scores),
        known=np.zeros(len(left)),
        query=query,
        joins=are_true(lake.labelled, numbers, left, right),
        answers=np.array([len(lake.labelled.truth[query]) for query in queries]),
    )
