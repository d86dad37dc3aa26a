"""Replies of a language model, why requests fail, and what users are told about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from typing_extensions import LiteralString

from datahub_hyperjoin.errors import ModelError


class FailureKind(Enum):
    """The reason why a request to a language model failed."""

    BUSY = "busy"  # the endpoint is overloaded or fails; the same request may succeed later
    LOST = "lost"  # no reply arrived in time; the request may have been processed and billed
    UNSUPPORTED = "unsupported"  # the endpoint does not support this form of request
    REFUSED = "refused"  # the endpoint refuses every request
    INVALID = "invalid"  # the reply does not follow the protocol


@dataclass(frozen=True)
class Reply:
    """A reply of a language model."""

    text: str
    cut_off: bool
    # Tokens of the request as counted by the endpoint; None if it does not report them.
    request_tokens: int | None
    answer_tokens: int | None


_FIXES = {
    HTTPStatus.PAYMENT_REQUIRED: "Check the credit of the account of `model.llm.api_key`",
    HTTPStatus.NOT_FOUND: "Check `model.llm.model` and `model.llm.base_url`",
}
_NO_MORE_REQUESTS: LiteralString = (
    "No more requests are sent. The run goes on without the remaining answers"
)


@dataclass(frozen=True)
class Failure:
    """A warning for users about failures of the language model."""

    # None repeats the endpoint's text, which could hold values or the key.

    title: LiteralString
    message: LiteralString
    context: str

    @classmethod
    def refused(cls, status: int) -> "Failure":
        fix = _FIXES.get(HTTPStatus(status), "Check `model.llm.api_key`")
        return cls("Language model refused the request", _NO_MORE_REQUESTS, f"HTTP {status}. {fix}")

    @classmethod
    def misconfigured(cls, reason: str) -> "Failure":
        return cls(
            "Language model cannot be reached",
            "The run goes on without it",
            f"{reason.rstrip('.')}. Check the environment's proxy and certificates",
        )

    @classmethod
    def no_answers(cls, reason: str, *, requests: int) -> "Failure":
        return cls(
            "Language model does not answer",
            _NO_MORE_REQUESTS,
            f"{requests} requests in a row had no usable answer, the last one: {reason}. Check "
            "`model.llm.base_url` and `model.llm.model`",
        )

    @classmethod
    def over_budget(cls) -> "Failure":
        return cls(
            "Language model's budget is spent",
            _NO_MORE_REQUESTS,
            "Raise `model.llm.max_tokens` or `model.llm.max_cost` to ask about "
            "all columns. Answers stored in `model.llm.cache` cost nothing",
        )

    @classmethod
    def unanswered(cls, reasons: Mapping[str, int]) -> "Failure":
        counts = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        return cls(
            "Language model's answers are missing",
            "The run goes on without them",
            f"Requests without a usable answer: {counts}",
        )

    @classmethod
    def cut_off(cls, answers: int) -> "Failure":
        return cls(
            "Language model's answers are cut off",
            "The run goes on without the missing ones",
            f"{answers} answers reached their limit of tokens. Raise `model.llm.answer_tokens`",
        )

    @classmethod
    def not_cached(cls, reason: str) -> "Failure":
        return cls(
            "Language model's answers are not cached",
            "The next run pays for them again",
            f"`model.llm.cache`: cannot write to {reason}. Choose a writable folder",
        )


class NoReplyError(ModelError, ConnectionError):
    """The language model gave no usable reply."""

    # The message never repeats the endpoint's text, which may hold values or the key.

    def __init__(
        self, message: str, *, kind: FailureKind, status: int = 0, wait: float | None = None
    ) -> None:
        """Store the reason, the HTTP status and the seconds to wait that the endpoint asks for."""
        super().__init__(message)
        self.kind, self.status, self.wait = kind, status, wait

    @classmethod
    def of_kind(cls, kind: FailureKind, message: str) -> "NoReplyError":
        return cls(message, kind=kind)

    @classmethod
    def from_status(cls, status: int, *, kind: FailureKind, wait: float | None) -> "NoReplyError":
        return cls(f"HTTP {status}", kind=kind, status=status, wait=wait)
