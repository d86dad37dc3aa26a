"""Variants of the pipeline: without one of its parts, or with one choice of the paper's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.errors import UnknownVariantError
from datahub_hyperjoin.evaluate import Pipeline, RecipeSettings, recipe_config
from datahub_hyperjoin.evaluate.slugs import slug
from datahub_hyperjoin.model.config.method import PAPER, Positions


@dataclass(frozen=True)
class Variant:
    """Recipe keys and fields of the method that differ from the full pipeline."""

    name: str
    """The name shown in reports."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """Recipe keys, such as `model.ranking.coherence`, and their values."""

    method: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `model.config.method.Method`, which have no recipe keys, and their values."""

    @property
    def slug(self) -> str:
        """The name in the form that file names and command lines use.

        >>> Variant("w/o HIN").slug
        'without-hin'
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

ABLATIONS = (
    FULL,
    Variant("w/o rerank", {"model.ranking.coherence": 0.0}),
    Variant("w/o HIN", {"model.ranking.scoring": "signals"}),
    Variant("w/o hypergraph at inference", method={"hyperedges_at_inference": False}),
    Variant("w/o reference tables", method={"entity_kinds": False}),
    Variant("w/o value forms", method={"value_forms": False}),
    Variant("w/o roles", method={"roles": False}),
    Variant("w/o within-table edges", method={"within_tables": False}),
    Variant("w/o across-table edges", method={"across_tables": False}),
    Variant("w/o variants", method={"name_variants": False}),
    Variant("w/o positions", method={"positions": Positions.NONE}),
    Variant("w/o names", {"model.features.names": False}),
    Variant("w/o values", {"model.features.values": False}),
    Variant("paper's setting", {"model.setting": "paper"}),
)
"""The full pipeline, the pipeline without each of its parts, and the paper's setting."""

DEPARTURES = (
    Variant("paper's loss", method=_paper("loss")),
    Variant("paper's edges", method=_paper("edges")),
    Variant("paper's positions", method=_paper("positions")),
    Variant("paper's names", method=_paper("name_vectors")),
    Variant("paper's selection", method=_paper("selection")),
    Variant("paper's values", method=_paper("corruption")),
    Variant("paper's pairs", method=_paper("table_swap_rate")),
    Variant("paper's knowledge", method=_paper("context_dropout_rate")),
    Variant("paper's negatives", method=_paper("exclude_similar_negatives")),
    Variant("paper's affinity", {"model.ranking.scoring": "hin"}),
    Variant("paper's coherence", {"model.ranking.coherence": 1.0}),
    Variant("paper's copies", method=_paper("defer_duplicates")),
)
"""Single choices of the paper's, each in place of ours."""


def choose(names: Sequence[str]) -> tuple[Variant, ...]:
    """Find variants by name; the full pipeline, which all are compared with, comes first.

    Args:
        names: Names or slugs, in any case; all of `ABLATIONS` if empty.

    Returns:
        The variants, in the order of `ABLATIONS` and `DEPARTURES`.

    Raises:
        UnknownVariantError: There is no variant of a name.

    >>> [variant.name for variant in choose(["without-hin", "W/o rerank"])]
    ['full', 'w/o rerank', 'w/o HIN']
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
