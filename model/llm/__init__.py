"""Ask a language model what names mean.

It is asked which keys uncertain columns refer to, and for other names of key columns (paper,
section 4.1, step 3).
It is off unless a recipe names a model under `model.llm`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from datahub_hyperjoin.model.llm.errors import Failure


@dataclass(frozen=True)
class AnswerCounts:
    """Numbers of questions and answers, and the cost of requests."""

    # Number of columns that an answer from the cache or the model was wanted for.
    questions: int = 0
    received: int = 0
    cached: int = 0
    requests: int = 0
    # Number of tokens in requests and answers; an upper bound if the endpoint does not report it.
    tokens: int = 0
    cost: float = 0.0


NOTHING = AnswerCounts()
"""The counts where nothing was asked."""


@dataclass(frozen=True)
class Naming:
    """Name variants from a language model, with counts, costs and reasons for missing variants."""

    variants: Mapping[int, str] = field(default_factory=dict)
    counts: AnswerCounts = NOTHING
    failures: tuple[Failure, ...] = ()
