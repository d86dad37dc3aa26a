"""Replies of a language model, and reasons why requests fail."""

from dataclasses import dataclass
from enum import Enum


class FailureKind(Enum):
    """The reason why a request to a language model failed.

    The reason decides whether the request is repeated.
    """

    BUSY = "busy"
    """The endpoint is overloaded or fails; the same request may succeed later."""

    LOST = "lost"
    """No reply arrived in time; the request may have been processed and billed."""

    UNSUPPORTED = "unsupported"
    """The endpoint does not support this form of request."""

    REFUSED = "refused"
    """The endpoint refuses every request."""

    INVALID = "invalid"
    """The reply does not follow the protocol."""


@dataclass(frozen=True)
class Reply:
    """A reply of a language model."""

    text: str
    """The answer's text; empty if the model refused."""

    cut_off: bool
    """Whether the answer was cut off at its limit of tokens."""

    request_tokens: int | None
    """Tokens of the request as counted by the endpoint; None if it does not report them."""

    answer_tokens: int | None
    """Tokens of the answer as counted by the endpoint; None if it does not report them."""
