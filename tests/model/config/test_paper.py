from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from datahub_hyperjoin.model.config import (
    OURS,
    PAPER,
    Edges,
    EpochSelection,
    FeatureConfig,
    Loss,
    ModelConfig,
    Positions,
    Scoring,
)
from datahub_hyperjoin.model.config.method import find_method, name_method
from datahub_hyperjoin.model.config.paper import fill, paper


def at(config: ModelConfig, key: str) -> object:
    """Return the value of a key such as `training.epochs`."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("setting.vocabulary", 1500),
        ("setting.dimension", 300),
        ("setting.edges", Edges.VARIANTS),
        ("setting.walk_length", 16),
        ("network.width", 512),
        ("setting.heads", 8),
        ("setting.node_layers", 2),
        ("setting.mixer_layers", 2),
        ("setting.dropout", 0.05),
        ("setting.position_weight", 0.1),
        ("setting.structure_weight", 0.5),
        ("setting.positions", Positions.LAPLACIAN),
        ("setting.name_vectors", False),
        ("training.epochs", 30),
        ("setting.warmup_epochs", 3),
        ("training.batch_size", 64),
        ("training.learning_rate", 4e-4),
        ("setting.loss", Loss.TRIPLET),
        ("setting.margin", 1.0),
        ("setting.gradient_clip", 1.0),
        ("setting.selection", EpochSelection.LOSS),
        ("setting.corruption", False),
        ("setting.table_swap_rate", 0.0),
        ("setting.context_dropout_rate", 0.0),
        ("setting.exclude_similar_negatives", False),
        ("setting.defer_duplicates", False),
        ("setting.candidates", 50),
        ("setting.entity_kinds", False),
        ("setting.value_forms", False),
        ("setting.roles", False),
        ("hypergraph.max_size", 10**9),
        ("ranking.top_k", 25),
        ("ranking.coherence", 1.0),
        ("ranking.scoring", Scoring.HIN),
        ("ranking.min_joinability", 0.0),
        ("ranking.min_containment", 0.0),
    ],
)
def test_the_paper_s_setting_is_the_paper_s(key: str, value: object) -> None:
    assert at(paper(), key) == value


def test_the_paper_s_training_never_stops_early_and_learns_every_key() -> None:
    assert PAPER.patience >= paper().training.epochs
    assert PAPER.held_out == 0


def test_every_hyperedge_of_the_paper_is_there() -> None:
    assert PAPER.within_tables
    assert PAPER.across_tables
    assert PAPER.hyperedges_at_inference
    assert PAPER.name_variants


def test_a_setting_beneath_nothing_is_the_setting() -> None:
    assert fill({"setting": "paper"}) == {**asdict(paper()), "setting": "paper"}
    assert fill({"setting": PAPER}) == {**asdict(paper()), "setting": PAPER}


def test_our_setting_adds_nothing() -> None:
    for written in ({}, {"setting": "ours"}, {"setting": "papre", "training": {"epochs": 1}}):
        assert fill(written) == written


def test_what_is_written_wins_at_every_depth() -> None:
    filled = fill({"setting": "paper", "seed": 3, "ranking": {"scoring": "blend"}})
    assert filled["seed"] == 3
    assert filled["ranking"] == {**asdict(paper().ranking), "scoring": "blend"}
    assert filled["training"] == asdict(paper().training)


def test_what_is_wrong_stays_for_validation_to_name() -> None:
    filled = fill({"setting": "paper", "ranking": None, "training": {"epoch": 1}})
    assert filled["ranking"] is None
    assert filled["training"] == {**asdict(paper().training), "epoch": 1}


def test_a_section_of_the_paper_s_setting_can_be_replaced() -> None:
    ours = replace(paper(), ranking=ModelConfig().ranking)
    assert [f.name for f in fields(ours) if getattr(ours, f.name) == getattr(paper(), f.name)] == [
        f.name for f in fields(ours) if f.name != "ranking"
    ]


def test_a_method_has_the_name_that_selects_it() -> None:
    for name, method in (("ours", OURS), ("paper", PAPER)):
        assert find_method(name) == find_method(method) == method
        assert name_method(method) == name
    assert name_method(replace(OURS, loss=Loss.TRIPLET)) == "custom"


def test_something_must_be_read() -> None:
    with pytest.raises(ValueError, match="`names` and `values` are both false; read at least one"):
        FeatureConfig(names=False, values=False)
