"""How many tokens and how much money a run may spend, kept by requests that run side by side."""

import threading
from dataclasses import dataclass

from datahub_hyperjoin.model.config import LanguageModelConfig

_MILLION = 1_000_000


@dataclass(frozen=True)
class Usage:
    """Tokens of requests and of answers."""

    request: int = 0
    answer: int = 0

    @property
    def tokens(self) -> int:
        """Both."""
        return self.request + self.answer

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.request + other.request, self.answer + other.answer)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.request - other.request, self.answer - other.answer)


class Budget:
    """What is spent, and what requests under way may come to spend.

    A request sets aside the most that it can cost before it is made, and gives back what it did not
    need, so that the bounds hold however many run at once.

    Args:
        config: The bounds and the prices.
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        self._config = config
        self._changed = threading.Condition()
        self._held = Usage()
        self.spent = Usage()
        """What all requests so far have used."""

    def cost(self, usage: Usage) -> float:
        """What tokens cost.

        Args:
            usage: The tokens.

        Returns:
            Money in the currency of the prices; 0 without prices.
        """
        prices = self._config.input_price or 0.0, self._config.output_price or 0.0
        return (usage.request * prices[0] + usage.answer * prices[1]) / _MILLION

    def reserve(self, most: Usage) -> bool:
        """Sets aside what a request may come to use; waits while others may still give back.

        Args:
            most: The most it can use.

        Returns:
            False if the budget does not allow it.
        """
        with self._changed:
            while not self._allows(self.spent + self._held + most):
                if not self._held.tokens:
                    return False
                self._changed.wait()
            self._held += most
            return True

    def settle(self, most: Usage, spent: Usage) -> None:
        """Replaces what was set aside by what was used.

        Args:
            most: What was set aside.
            spent: What was used.
        """
        with self._changed:
            self._held -= most
            self.spent += spent
            self._changed.notify_all()

    def _allows(self, usage: Usage) -> bool:
        within = usage.tokens <= self._config.max_tokens
        bound = self._config.max_cost
        return within and (bound is None or self.cost(usage) <= bound)
