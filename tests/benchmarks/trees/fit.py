"""Fit gradient-boosted trees that correct the scores of the noisy-or model, and export them."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from jaxtyping import Float
from safetensors.numpy import save_file

from benchmarks.trees.examples import Examples, Lakes
from datahub_hyperjoin.model.ranking.pair_features import (
    RISING_FEATURES,
    log_odds,
)
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble

DEPTH = 6
"""Depth of the trees, which limits how many features can interact."""

_KEPT = 0.25
"""Share of the non-joining pairs that are drawn for training. The drawn pairs weigh more, to make
up for the omitted pairs."""


def _train(lakes: Lakes, rising: int, trees: int, seed: int) -> lightgbm.Booster:
    random = np.random.default_rng(seed)
    rows, labels, start, weights = [], [], [], []
    for lake in lakes:
        # What is known of a pair is added afterwards, so the trees need not explain it.
        unknown = (lake.known == 0) | lake.joins
        drawn = unknown & (lake.joins | (random.random(len(lake.joins)) < _KEPT))
        weight = np.where(lake.joins[drawn], 1.0, 1 / _KEPT)
        rows.append(lake.rows[drawn])
        labels.append(lake.joins[drawn])
        start.append(log_odds(lake.noisy_or[drawn]))
        # A lake with four times the pairs counts twice as much.
        weights.append(weight / np.sqrt(weight.sum()))
    weight = np.concatenate(weights)
    data = lightgbm.Dataset(
        np.vstack(rows),
        np.concatenate(labels),
        weight=weight * len(weight) / weight.sum(),
        init_score=np.concatenate(start),
    )
    parameters = {
        "objective": "binary",
        "learning_rate": 0.08,
        "max_depth": DEPTH,
        "num_leaves": 24,
        "min_data_in_leaf": 80,
        "lambda_l2": 5.0,
        "feature_fraction": 0.6,
        "monotone_constraints": [1] * rising + [0] * (rows[0].shape[1] - rising),
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
    }
    return lightgbm.train(parameters, data, trees)


def export(booster: lightgbm.Booster) -> TreeEnsemble:
    """Convert LightGBM trees to complete binary trees.

    Args:
        booster: Trees of numerical features, no deeper than `DEPTH`.
    """
    roots = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    nodes = 2**DEPTH - 1
    feature = np.zeros((len(roots), nodes), dtype=np.int64)
    threshold = np.zeros((len(roots), nodes), dtype=np.float32)
    value = np.zeros((len(roots), nodes + 1), dtype=np.float32)

    def place(node: dict[str, Any], tree: int, position: int) -> None:
        if position >= nodes:
            value[tree, position - nodes] = node["leaf_value"]
            return
        is_leaf = "leaf_value" in node
        if not is_leaf:
            feature[tree, position] = node["split_feature"]
            threshold[tree, position] = node["threshold"]
        # A leaf above the lowest level is repeated below, whatever the comparisons there say.
        place(node if is_leaf else node["left_child"], tree, 2 * position + 1)
        place(node if is_leaf else node["right_child"], tree, 2 * position + 2)

    for tree, root in enumerate(roots):
        place(root, tree, 0)
    return TreeEnsemble(feature, threshold, value)


def fit(
    lakes: Lakes,
    *,
    share: float,
    rising: int = len(RISING_FEATURES),
    trees: int = 150,
    seed: int = 0,
) -> TreeEnsemble:
    """Fit trees to the pairs of several lakes.

    Args:
        lakes: The examples to learn from.
        share: Share of the correction that is exported.
        rising: Number of features, the first ones, of which more never lowers a score.
        trees: Number of trees.
        seed: Seed of the draws.
    """
    exported = export(_train(lakes, rising, trees, seed))
    return replace(exported, value=np.float32(share) * exported.value)


def score(trees: TreeEnsemble, lake: Examples) -> Float[np.ndarray, " pair"]:
    """Score the pairs of a lake as the pipeline's ranking does.

    Args:
        trees: The trees.
        lake: The pairs.
    """
    corrected = 1 / (1 + np.exp(-log_odds(lake.noisy_or) - trees(lake.rows)))
    return 1 - (1 - corrected) * (1 - lake.known)


def save(trees: TreeEnsemble, path: Path, lakes: Sequence[str], features: Sequence[str]) -> None:
    """Write trees to a file, with what they know of their lakes and features.

    Args:
        trees: The trees.
        path: The file.
        lakes: The names of the lakes that taught them.
        features: The names of their inputs.
    """
    arrays = {"threshold": trees.threshold, "value": trees.value}
    save_file(
        {"feature": trees.feature.astype(np.uint8), **arrays},
        path,
        metadata={
            "lakes": str(len(lakes)),
            "sha256": hashlib.sha256(",".join(lakes).encode()).hexdigest(),
            # The trees know a feature by its position alone.
            "features": "\n".join(features),
        },
    )
