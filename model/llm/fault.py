"""What a run goes on without, in words for the person who wrote the recipe.

Each sentence names keys of the recipe and never repeats what an endpoint said, which could hold
values or the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from typing_extensions import LiteralString

_CHECK = {
    HTTPStatus.PAYMENT_REQUIRED: "check what the account of `model.variants.llm.api_key` may spend",
    HTTPStatus.NOT_FOUND: "check `model.variants.llm.model` and `model.variants.llm.base_url`",
}


@dataclass(frozen=True)
class Fault:
    """Why some names come from rules."""

    title: LiteralString
    """The kind of fault."""

    message: LiteralString
    """What it means."""

    context: str
    """What happened, and which key of the recipe to look at."""

    @classmethod
    def barred(cls, status: int) -> "Fault":
        """The endpoint refuses every request."""
        check = _CHECK.get(HTTPStatus(status), "check `model.variants.llm.api_key`")
        return cls(
            "Language model refused",
            "It is asked no more; rules give the other names",
            f"HTTP {status}: {check}",
        )

    @classmethod
    def unready(cls, reason: str) -> "Fault":
        """No request can leave this machine."""
        return cls(
            "Language model cannot be asked",
            "Rules give all names",
            f"{reason.rstrip('.')}. Check the environment's proxy and certificates",
        )

    @classmethod
    def gone(cls, reason: str, *, requests: int) -> "Fault":
        """Request after request was not answered."""
        return cls(
            "Language model does not answer",
            "It is asked no more; rules give the other names",
            f"{requests} requests in a row had no usable answer, the last one: {reason}. Check "
            "`model.variants.llm.base_url` and `model.variants.llm.model`",
        )

    @classmethod
    def spent(cls) -> "Fault":
        """The next request could exceed the budget."""
        return cls(
            "Language model's budget reached",
            "It is asked no more; rules give the other names",
            "Raise `model.variants.llm.max_tokens` or `model.variants.llm.max_cost` to ask about "
            "all key columns; those with an answer in `model.variants.llm.cache` cost nothing",
        )

    @classmethod
    def lost(cls, reasons: Mapping[str, int]) -> "Fault":
        """Some requests had no usable answer."""
        listed = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        return cls(
            "Language model's answers missing",
            "Rules give the names that they were about",
            f"Requests without a usable answer: {listed}",
        )

    @classmethod
    def cut(cls, requests: int) -> "Fault":
        """Answers ended at their bound."""
        return cls(
            "Language model's answers cut off",
            "Rules give the names that are missing",
            f"{requests} answers reached the bound of `model.variants.llm.answer_tokens`; raise it",
        )

    @classmethod
    def unkept(cls, reason: str) -> "Fault":
        """Answers could not be written to disk."""
        return cls(
            "Language model's answers not kept",
            "The next run pays for them again",
            f"`model.variants.llm.cache` {reason}",
        )
