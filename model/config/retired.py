"""Refuse recipe keys that only earlier versions had.

An entry stays for one version after the one that retires the key.
"""

from collections.abc import Iterator, Mapping

_METHOD = "is no longer a key; `model.setting: paper` selects the paper's whole method"
_FIXED = "is no longer a key; its value is fixed at {}"

RETIRED: Mapping[str, str] = {
    "keys.min_distinct": _FIXED.format(3),
    "keys.max_length": _FIXED.format(64),
    "features.dimension": _METHOD,
    "features.vocabulary": _FIXED.format(1500),
    "features.reference": _METHOD,
    "hypergraph.min_shared": _FIXED.format(3),
    "hypergraph.walk_length": _FIXED.format(16),
    "hypergraph.edges": _METHOD,
    "hypergraph.variants": _FIXED.format("true"),
    "hypergraph.within": _FIXED.format("true"),
    "hypergraph.across": _FIXED.format("true"),
    "hypergraph.inference": _FIXED.format("true"),
    "network.heads": _FIXED.format(8),
    "network.node_layers": _FIXED.format(2),
    "network.mixer_layers": _FIXED.format(2),
    "network.dropout": _FIXED.format(0.05),
    "network.position_weight": _FIXED.format(0.1),
    "network.structure_weight": _FIXED.format(0.5),
    "network.positions": _METHOD,
    "network.name_vectors": _METHOD,
    "training.warmup_epochs": _FIXED.format(3),
    "training.loss": _METHOD,
    "training.margin": _FIXED.format("1.0"),
    "training.temperature": _FIXED.format(0.07),
    "training.gradient_clip": _FIXED.format("1.0"),
    "training.held_out": _METHOD,
    "training.patience": _METHOD,
    "training.selection": _METHOD,
    "training.corruption": _METHOD,
    "training.relocation": _METHOD,
    "training.forgetting": _METHOD,
    "training.spare_alike": _METHOD,
    "ranking.candidates": _FIXED.format(50),
    "ranking.affinity": "is now `model.ranking.scoring`",
    "ranking.hold_copies": _METHOD,
    "variants.llm.columns_per_request": _FIXED.format(25),
    "variants.llm.retries": _FIXED.format(4),
}
"""The end of the error message for each retired key below `model`."""


def _list_keys(section: Mapping[object, object], path: str = "") -> Iterator[str]:
    for name, value in section.items():
        key = f"{path}{name}"
        yield key
        if isinstance(value, Mapping):
            yield from _list_keys(value, f"{key}.")


def refuse_retired_keys(written: Mapping[object, object]) -> None:
    """Raise an error if a recipe contains keys that only earlier versions had.

    Args:
        written: The section as the recipe has it.

    Raises:
        ValueError: The section contains such keys; the message says why each is refused.
    """
    retired = [f"`model.{key}` {RETIRED[key]}" for key in _list_keys(written) if key in RETIRED]
    if retired:
        raise ValueError("; ".join(retired))
