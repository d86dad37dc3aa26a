"""Ask a language model for name variants of key columns (paper, section 4.1, step 3).

It is off unless a recipe names a model under `model.variants.llm`. The rules of
`datahub_hyperjoin.model.signals.names` provide the variants that the model does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from datahub_hyperjoin.model.llm.errors import Failure


@dataclass(frozen=True)
class NamingCounts:
    """Counts of name variants by source, and the cost of requests."""

    # Number of key columns for which a variant was requested from the cache or the model.
    requested: int = 0
    received: int = 0
    cached: int = 0
    requests: int = 0
    # Number of tokens in requests and answers; an upper bound if the endpoint does not report it.
    tokens: int = 0
    cost: float = 0.0

    @property
    def by_rules(self) -> int:
        """Number of key columns that get their name variant by built-in rules, not from a model."""
        return self.requested - self.received - self.cached


@dataclass(frozen=True)
class Naming:
    """Name variants from a language model, with counts, costs and reasons for missing variants."""

    variants: Mapping[int, str] = field(default_factory=dict)
    counts: NamingCounts = NamingCounts()
    failures: tuple[Failure, ...] = ()
