"""The paper's setting: one key for every choice that the paper makes otherwise than we do."""

from collections.abc import Mapping
from dataclasses import asdict

from datahub_hyperjoin.model.config.sections import (
    Edges,
    EpochSelection,
    FeatureConfig,
    HypergraphConfig,
    Loss,
    ModelConfig,
    NetworkConfig,
    Positions,
    RankingConfig,
    Scoring,
    Setting,
    TrainingConfig,
)

_UNBOUNDED = 10**9
"""Columns of a hyperedge that no lake reaches."""


def _paper_training() -> TrainingConfig:
    """Section 4.2 and the implementation details of section 6.

    The paper does not say which epoch's weights it keeps; its code keeps those of least training
    loss, and holds nothing out.
    """
    return TrainingConfig(
        epochs=30,
        warmup_epochs=3,
        batch_size=64,
        learning_rate=4e-4,
        loss=Loss.TRIPLET,
        margin=1.0,
        gradient_clip=1.0,
        held_out=0.0,
        patience=30,
        selection=EpochSelection.LOSS,
        corruption=False,
        relocation=0.0,
        forgetting=0.0,
        spare_alike=False,
    )


def paper() -> ModelConfig:
    """Everything as the paper has it (sections 4 to 6).

    What mends a defect has no other setting: names are split on case changes too, and a supervised
    pair never shares a hyperedge.

    Returns:
        Settings that `dataclasses.replace` may vary.
    """
    return ModelConfig(
        setting=Setting.PAPER,
        features=FeatureConfig(dimension=300, vocabulary=1500, reference=False),
        hypergraph=HypergraphConfig(max_size=_UNBOUNDED, walk_length=16, edges=Edges.VARIANTS),
        network=NetworkConfig(
            width=512,
            heads=8,
            node_layers=2,
            mixer_layers=2,
            dropout=0.05,
            position_weight=0.1,
            structure_weight=0.5,
            positions=Positions.LAPLACIAN,
            name_vectors=False,
        ),
        training=_paper_training(),
        ranking=RankingConfig(
            candidates=50,
            top_k=25,
            coherence=1.0,
            affinity=Scoring.HIN,
            hold_copies=False,
            min_joinability=0.0,
            min_containment=0.0,
        ),
    )


def _lay_beneath(
    defaults: Mapping[str, object], written: Mapping[str, object]
) -> dict[str, object]:
    filled = {**defaults, **written}
    for key, default in defaults.items():
        value = filled[key]
        if isinstance(default, Mapping) and isinstance(value, Mapping):
            filled[key] = _lay_beneath(default, value)
    return filled


def fill(written: Mapping[str, object]) -> dict[str, object]:
    """Completes the section `model` of a recipe with the defaults of the setting it names.

    Args:
        written: The keys of the recipe, in any state; what is wrong in them stays wrong.

    Returns:
        The same keys, above all those of the setting.

    >>> filled = fill({"setting": "paper", "training": {"epochs": 5}})
    >>> filled["training"]["epochs"], filled["training"]["loss"].value
    (5, 'triplet')
    """
    if written.get("setting") != Setting.PAPER:
        return dict(written)
    return _lay_beneath(asdict(paper()), written)
