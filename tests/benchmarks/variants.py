"""Define variants of the pipeline, each of which changes one part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.errors import UnknownVariantError
from benchmarks.slugs import slug
from datahub_hyperjoin.evaluate import Pipeline, RecipeSettings, recipe_config
from datahub_hyperjoin.model.config.method import PAPER, Positions


@dataclass(frozen=True)
class Variant:
    """A variant of the pipeline, given by the settings that differ from the full pipeline."""

    name: str
    """The name shown in reports."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """Recipe keys, such as `model.ranking.coherence`, and their values."""

    method: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `model.config.method.Method`, which have no recipe keys, and their values."""

    @property
    def slug(self) -> str:
        """Name, spelled for use in file names and on command lines.

        >>> Variant("w/o rerank").slug
        'without-rerank'
        """
        return slug(self.name)

    def pipeline(self, settings: RecipeSettings) -> Pipeline:
        """Build the pipeline of this variant.

        Args:
            settings: Recipe keys that all variants share; the variant's own take precedence.

        Raises:
            SettingError: A setting cannot be used.
        """
        config = recipe_config({**settings, **self.settings}).model
        method = replace(config.setting, **self.method)
        return Pipeline(self.name, self.slug, replace(config, setting=method))


def _paper(*fields: str) -> dict[str, Any]:
    return {name: getattr(PAPER, name) for name in fields}


FULL = Variant("full")
"""The pipeline as the recipe configures it."""

_NETWORK = {"model.ranking.scoring": "blend"}


def _in_network(name: str, **method: Any) -> Variant:  # noqa: ANN401 - fields of `Method`
    """Return a variant that uses the network, which is off by default."""
    return Variant(name, _NETWORK, method)


ABLATIONS = (
    FULL,
    Variant("w/o rerank", {"model.ranking.coherence": 0.0}),
    Variant("w/o reference tables", method={"entity_kinds": False}),
    Variant("w/o value forms", method={"value_forms": False}),
    Variant("w/o pair network", method={"network_correction": False}),
    Variant("w/o trees", method={"tree_correction": False}),
    Variant("w/o roles", method={"roles": False}),
    Variant("w/o names", {"model.features.names": False}),
    Variant("w/o values", {"model.features.values": False}),
    Variant("with HIN", _NETWORK),
    _in_network("w/o hypergraph at inference", hyperedges_at_inference=False),
    _in_network("w/o within-table edges", within_tables=False),
    _in_network("w/o across-table edges", across_tables=False),
    _in_network("w/o variants", name_variants=False),
    _in_network("w/o positions", positions=Positions.NONE),
    Variant("paper's setting", {"model.setting": "paper"}),
)
"""Variants that show what each part of the pipeline and of its network contributes, and the paper's
setting."""

DEPARTURES = (
    _in_network("paper's loss", **_paper("loss")),
    _in_network("paper's edges", **_paper("edges")),
    _in_network("paper's positions", **_paper("positions")),
    _in_network("paper's names", **_paper("name_vectors")),
    _in_network("paper's selection", **_paper("selection")),
    _in_network("paper's values", **_paper("corruption")),
    _in_network("paper's pairs", **_paper("table_swap_rate")),
    _in_network("paper's knowledge", **_paper("context_dropout_rate")),
    _in_network("paper's negatives", **_paper("exclude_similar_negatives")),
    Variant("paper's affinity", {"model.ranking.scoring": "hin"}),
    Variant("paper's coherence", {"model.ranking.coherence": 1.0}),
    Variant("paper's copies", method=_paper("defer_duplicates")),
)
"""Variants that each replace one choice of this project with that of the paper."""


def choose(names: Sequence[str]) -> tuple[Variant, ...]:
    """Choose variants by name.

    The full pipeline, with which all others are compared, comes first.

    Args:
        names: Names or slugs, in any case; all of `ABLATIONS` if empty.

    Returns:
        The variants, in the order of `ABLATIONS` and `DEPARTURES`.

    Raises:
        UnknownVariantError: There is no variant of a name.

    >>> [variant.name for variant in choose(["with-hin", "W/o rerank"])]
    ['full', 'w/o rerank', 'with HIN']
    """
    if not names:
        return ABLATIONS
    variants = (*ABLATIONS, *DEPARTURES)
    slugs = {variant.slug for variant in variants}
    for name in names:
        if slug(name) not in slugs:
            raise UnknownVariantError.named(name, [variant.name for variant in variants])
    wanted = {FULL.slug, *map(slug, names)}
    return tuple(variant for variant in variants if variant.slug in wanted)
