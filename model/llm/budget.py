"""Limit the tokens and the cost of concurrent requests."""

import threading
from dataclasses import dataclass

from datahub_hyperjoin.model.config import LanguageModelConfig

_MILLION = 1_000_000


@dataclass(frozen=True)
class Usage:
    """The numbers of tokens in requests and in answers."""

    request: int = 0
    answer: int = 0

    @property
    def tokens(self) -> int:
        """The total number of tokens in requests and answers."""
        return self.request + self.answer

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.request + other.request, self.answer + other.answer)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.request - other.request, self.answer - other.answer)


class Budget:
    """A limit on tokens and cost that concurrent requests share.

    A request reserves the most that it can use before it is sent, and returns the rest afterwards.
    So the limits hold however many requests run at once.
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        self._config = config
        self._changed = threading.Condition()
        self._reserved = Usage()
        self.spent = Usage()
        """Tokens used by all finished requests."""

    def cost(self, usage: Usage) -> float:
        """Return the cost of tokens, or 0 if no prices are configured.

        The currency is that of the prices.
        """
        prices = self._config.input_price or 0.0, self._config.output_price or 0.0
        return (usage.request * prices[0] + usage.answer * prices[1]) / _MILLION

    def reserve(self, most: Usage) -> bool:
        """Reserve the tokens that a request may need, if the budget allows the request.

        If the budget has too few tokens left, wait until running requests return tokens.
        """
        with self._changed:
            while not self._allows(self.spent + self._reserved + most):
                # No running request can return tokens, so waiting would never end.
                if not self._reserved.tokens:
                    return False
                self._changed.wait()
            self._reserved += most
            return True

    def settle(self, most: Usage, spent: Usage) -> None:
        """Replace a request's reserved tokens with the tokens that it used."""
        with self._changed:
            self._reserved -= most
            self.spent += spent
            self._changed.notify_all()

    def _allows(self, usage: Usage) -> bool:
        within = usage.tokens <= self._config.max_tokens
        limit = self._config.max_cost
        return within and (limit is None or self.cost(usage) <= limit)
