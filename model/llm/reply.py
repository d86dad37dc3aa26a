"""What comes back from an endpoint: words, or a reason why there are none."""

from dataclasses import dataclass
from enum import Enum

from datahub_hyperjoin.errors import ModelError


class Outcome(Enum):
    """Why a request was not answered, as far as it decides what to do next."""

    BUSY = "busy"
    """The endpoint refuses or fails for the moment: the same request may be answered later."""

    SILENT = "silent"
    """Nothing came back, or not in time; the request may have been worked on and billed."""

    UNFIT = "unfit"
    """The endpoint does not take the request as it is."""

    BARRED = "barred"
    """It would refuse any other request, too."""

    ODD = "odd"
    """What came back is no answer of this protocol."""


class NoReplyError(ModelError, ConnectionError):
    """A request was not answered.

    Its words never repeat those of the endpoint, which may hold values or the key.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome = Outcome.ODD,
        status: int = 0,
        wait: float | None = None,
    ) -> None:
        """Keep the facts beside the sentence."""
        super().__init__(message)
        self.outcome = outcome
        self.status = status
        self.wait = wait
        """Seconds after which the endpoint wants to be asked again, if it said so."""

    @classmethod
    def from_status(cls, status: int, *, outcome: Outcome, wait: float | None) -> "NoReplyError":
        """The endpoint's HTTP status."""
        return cls(f"HTTP {status}", outcome=outcome, status=status, wait=wait)

    @classmethod
    def late(cls, seconds: float) -> "NoReplyError":
        """No whole answer in time."""
        return cls(f"no whole answer within {seconds:g} s", outcome=Outcome.SILENT)

    @classmethod
    def unready(cls, reason: str) -> "NoReplyError":
        """This machine's own settings do not let a request out."""
        return cls(reason, outcome=Outcome.BARRED)

    @classmethod
    def unreached(cls) -> "NoReplyError":
        """There is nothing at the address."""
        return cls("no connection", outcome=Outcome.BUSY)

    @classmethod
    def broken(cls) -> "NoReplyError":
        """The connection ended too early."""
        return cls("a connection that broke", outcome=Outcome.SILENT)

    @classmethod
    def too_large(cls, size: int) -> "NoReplyError":
        """More came back than any answer has."""
        return cls(f"an answer of more than {size} bytes", outcome=Outcome.ODD)

    @classmethod
    def foreign(cls) -> "NoReplyError":
        """Something else than a chat completion came back."""
        return cls("an answer that is no chat completion", outcome=Outcome.ODD)

    @classmethod
    def without_names(cls) -> "NoReplyError":
        """The model wrote something else than names with the numbers it was given."""
        return cls("an answer without names", outcome=Outcome.ODD)


@dataclass(frozen=True)
class Reply:
    """A language model's answer."""

    text: str
    """What it wrote; empty if it refused."""

    cut: bool
    """Whether it reached the bound of its tokens."""

    request_tokens: int | None
    """Tokens of the request as the endpoint counts them; None if it does not say."""

    answer_tokens: int | None
    """Tokens of the answer, likewise."""
