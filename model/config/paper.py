"""The default values of the section `model` for `setting: paper`."""

from collections.abc import Mapping
from dataclasses import asdict

from datahub_hyperjoin.model.config.method import PAPER
from datahub_hyperjoin.model.config.sections import (
    HypergraphConfig,
    ModelConfig,
    RankingConfig,
    Scoring,
)

_UNBOUNDED = 10**9
"""A hyperedge size that no lake reaches."""


def paper() -> ModelConfig:
    """Return the configuration of the HyperJoin paper (sections 4 to 6)."""
    return ModelConfig(
        setting=PAPER,
        hypergraph=HypergraphConfig(max_size=_UNBOUNDED),
        ranking=RankingConfig(
            top_k=25,
            coherence=1.0,
            scoring=Scoring.HIN,
            min_joinability=0.0,
            min_containment=0.0,
            max_key_columns=1,
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
    """Add the paper's defaults to the section `model` if the section contains `setting: paper`.

    Returns:
        The same keys, which override the defaults.

    >>> filled = fill({"setting": "paper", "ranking": {"top_k": 5}})
    >>> filled["ranking"]["top_k"], filled["ranking"]["scoring"].value
    (5, 'hin')
    """
    if written.get("setting") not in ("paper", PAPER):
        return dict(written)
    return _lay_beneath(asdict(paper()), written)
