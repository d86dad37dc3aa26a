"""The product, without one of its parts or with one of the paper's: recipes with other keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datahub_hyperjoin.evaluate.errors import UnknownVariantError
from datahub_hyperjoin.evaluate.slugs import slug


@dataclass(frozen=True)
class Variant:
    """Keys of a recipe that make another method of the product."""

    name: str
    """As reports call it."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """Recipe keys, as in `model.ranking.coherence`, and their values."""

    @property
    def slug(self) -> str:
        """The name as file names and command lines have it.

        >>> Variant("w/o HIN").slug
        'without-hin'
        """
        return slug(self.name)


FULL = Variant("full")
"""The product as the recipe has it."""

ABLATIONS = (
    FULL,
    Variant("w/o rerank", {"model.ranking.coherence": 0.0}),
    Variant("w/o HIN", {"model.ranking.affinity": "signals"}),
    Variant("w/o hypergraph at inference", {"model.hypergraph.inference": False}),
    Variant("w/o reference tables", {"model.features.reference": False}),
    Variant("w/o within-table edges", {"model.hypergraph.within": False}),
    Variant("w/o across-table edges", {"model.hypergraph.across": False}),
    Variant("w/o variants", {"model.hypergraph.variants": False}),
    Variant("w/o positions", {"model.network.positions": "none"}),
    Variant("w/o names", {"model.features.names": False}),
    Variant("w/o values", {"model.features.values": False}),
    Variant("paper's setting", {"model.setting": "paper"}),
)
"""The whole first, then without one part after another, and at last as the paper has it."""


DEPARTURES = (
    Variant("paper's loss", {"model.training.loss": "triplet"}),
    Variant("paper's edges", {"model.hypergraph.edges": "variants"}),
    Variant("paper's positions", {"model.network.positions": "laplacian"}),
    Variant("paper's names", {"model.network.name_vectors": False}),
    Variant("paper's selection", {"model.training.selection": "loss"}),
    Variant("paper's values", {"model.training.corruption": False}),
    Variant("paper's pairs", {"model.training.relocation": 0.0}),
    Variant("paper's knowledge", {"model.training.forgetting": 0.0}),
    Variant("paper's negatives", {"model.training.spare_alike": False}),
    Variant("paper's affinity", {"model.ranking.affinity": "hin"}),
    Variant("paper's coherence", {"model.ranking.coherence": 1.0}),
    Variant("paper's copies", {"model.ranking.hold_copies": False}),
)
"""One choice after another as the paper makes it, all others as we do."""


def choose(names: Sequence[str]) -> tuple[Variant, ...]:
    """Finds variants by name; the full one, to which all are compared, is always the first.

    Args:
        names: As reports or file names spell them, in any case; none chooses all of `ABLATIONS`.

    Returns:
        The variants, in the order of `ABLATIONS` and `DEPARTURES`.

    Raises:
        UnknownVariantError: There is no such variant.

    >>> [variant.name for variant in choose(["without-hin", "W/o rerank"])]
    ['full', 'w/o rerank', 'w/o HIN']
    """
    if not names:
        return ABLATIONS
    every = (*ABLATIONS, *DEPARTURES)
    known = {variant.slug for variant in every}
    for name in names:
        if slug(name) not in known:
            raise UnknownVariantError.named(name, [variant.name for variant in every])
    wanted = {FULL.slug, *map(slug, names)}
    return tuple(variant for variant in every if variant.slug in wanted)
