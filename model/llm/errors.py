"""Errors of requests to a language model."""

from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.model.llm.reply import FailureKind


class NoReplyError(ModelError, ConnectionError):
    """The language model gave no usable reply.

    The message never repeats the endpoint's text, which may hold values or the key.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FailureKind = FailureKind.INVALID,
        status: int = 0,
        wait: float | None = None,
    ) -> None:
        """Store the details of a failure: message, kind, HTTP status and waiting time."""
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.wait = wait
        """Seconds to wait before the next try, if the endpoint asks for it."""

    @classmethod
    def from_status(cls, status: int, *, kind: FailureKind, wait: float | None) -> "NoReplyError":
        """Report that the endpoint replied with an HTTP error status."""
        return cls(f"HTTP {status}", kind=kind, status=status, wait=wait)

    @classmethod
    def timed_out(cls, seconds: float) -> "NoReplyError":
        """Report that the language model's reply was not complete within the time limit."""
        return cls(f"no complete answer within {seconds:g} s", kind=FailureKind.LOST)

    @classmethod
    def misconfigured(cls, reason: str) -> "NoReplyError":
        """Report that environment variables name an unusable proxy or certificate."""
        return cls(reason, kind=FailureKind.REFUSED)

    @classmethod
    def unreachable(cls) -> "NoReplyError":
        """Report that no connection to the endpoint could be opened."""
        return cls("no connection", kind=FailureKind.BUSY)

    @classmethod
    def connection_lost(cls) -> "NoReplyError":
        """Report that the connection ended before the language model's reply was complete."""
        return cls("connection lost", kind=FailureKind.LOST)

    @classmethod
    def too_large(cls, size: int) -> "NoReplyError":
        """Report that the language model's reply exceeds the maximum size."""
        return cls(f"answer larger than {size} bytes", kind=FailureKind.INVALID)

    @classmethod
    def not_a_completion(cls) -> "NoReplyError":
        """Report that the language model's reply is not a chat completion."""
        return cls("answer is not a chat completion", kind=FailureKind.INVALID)

    @classmethod
    def without_names(cls) -> "NoReplyError":
        """Report that the language model's reply contains none of the requested names."""
        return cls("answer without names", kind=FailureKind.INVALID)
