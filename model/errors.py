"""Errors of training and searching the model, and of asking a language model.

ModelError
├─ NothingToLearnError   the lake has too few key columns to train on
├─ VectorFileError       a file of word vectors cannot be used
├─ VectorTrainingError   word vectors cannot be trained on the lake
├─ NonFiniteLossError    the training loss is infinite or undefined
├─ CollapsedError        all columns get nearly the same embedding
├─ NoReplyError          a request to a language model failed
└─ SearchError           an index cannot answer a search
   ├─ DimensionMismatchError
   └─ EmptyIndexError
"""

from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.model.llm.reply import Outcome


class NothingToLearnError(ModelError, ValueError):
    """The lake has too few key columns for a training pair."""

    @classmethod
    def from_counts(cls, *, tables: int, keys: int) -> "NothingToLearnError":
        """Report that the lake has too few tables or key columns for one training pair."""
        return cls(
            f"{keys} key columns in {tables} tables are too few to learn from: at least 2 key "
            "columns in 2 tables are needed. Widen `catalog`, or loosen `model.keys`"
        )


class VectorFileError(ModelError, ValueError):
    """A file of word vectors cannot be used."""

    @classmethod
    def from_path(cls, path: str, *, reason: str) -> "VectorFileError":
        """Report the file and fastText's reason for rejecting it."""
        return cls(
            f"`model.features.vectors` {path!r} is not a fastText model: {reason} Set it to a .bin "
            "file, or remove the key to train on the lake"
        )


class VectorTrainingError(ModelError, RuntimeError):
    """fastText cannot be trained on the lake."""

    @classmethod
    def from_output(cls, output: str) -> "VectorTrainingError":
        """Quote the last line of fastText's output, which states the reason."""
        reason = (output.strip().splitlines() or ["no reason given"])[-1]
        return cls(
            f"fastText could not learn word vectors from this lake: {reason}. Set "
            "`model.features.vectors` to a file of pretrained vectors"
        )


class NonFiniteLossError(ModelError, ArithmeticError):
    """The training loss became infinite or undefined."""

    @classmethod
    def at_epoch(cls, epoch: int, loss: float) -> "NonFiniteLossError":
        """Report the epoch in which the loss became infinite or undefined."""
        return cls(f"the loss became {loss} in epoch {epoch}. Lower `model.training.learning_rate`")


class CollapsedError(ModelError, ArithmeticError):
    """The network gives all columns nearly the same embedding."""

    @classmethod
    def from_cosine(cls, cosine: float) -> "CollapsedError":
        """Report that random pairs are as similar as joinable ones."""
        return cls(
            "all embeddings are nearly identical (mean cosine of random pairs "
            f"{cosine:.3f}). Use `model.setting: ours`, or rank without the network: "
            "`model.ranking.scoring: signals`"
        )


class SearchError(ModelError):
    """An index cannot answer a search."""


class DimensionMismatchError(SearchError, ValueError):
    """Queries and index have embeddings of different lengths."""

    @classmethod
    def from_sizes(cls, *, index: int, queries: int) -> "DimensionMismatchError":
        """Report the embedding lengths of the index and of the queries."""
        return cls(
            f"queries have {queries} dimensions, the index has {index}. Encode both with the "
            "same model"
        )


class EmptyIndexError(SearchError, ValueError):
    """An index contains no columns."""

    @classmethod
    def without_columns(cls) -> "EmptyIndexError":
        """Report a search before any column was added."""
        return cls("the index holds no column. Add embeddings before searching")


class NoReplyError(ModelError, ConnectionError):
    """A request to a language model failed.

    The message never repeats the endpoint's text, which may hold values or the key.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: Outcome = Outcome.INVALID,
        status: int = 0,
        wait: float | None = None,
    ) -> None:
        """Store the message, the outcome, the HTTP status and the requested wait."""
        super().__init__(message)
        self.outcome = outcome
        self.status = status
        self.wait = wait
        """Seconds to wait before the next try, if the endpoint asks for it."""

    @classmethod
    def from_status(cls, status: int, *, outcome: Outcome, wait: float | None) -> "NoReplyError":
        """The endpoint replied with an HTTP error status."""
        return cls(f"HTTP {status}", outcome=outcome, status=status, wait=wait)

    @classmethod
    def timed_out(cls, seconds: float) -> "NoReplyError":
        """The answer was not complete in time."""
        return cls(f"no complete answer within {seconds:g} s", outcome=Outcome.LOST)

    @classmethod
    def misconfigured(cls, reason: str) -> "NoReplyError":
        """The environment's settings do not allow any request."""
        return cls(reason, outcome=Outcome.REFUSED)

    @classmethod
    def unreachable(cls) -> "NoReplyError":
        """Nothing answers at the URL."""
        return cls("no connection", outcome=Outcome.BUSY)

    @classmethod
    def connection_lost(cls) -> "NoReplyError":
        """The connection ended before the answer was complete."""
        return cls("connection lost", outcome=Outcome.LOST)

    @classmethod
    def too_large(cls, size: int) -> "NoReplyError":
        """The answer is larger than any valid answer."""
        return cls(f"answer larger than {size} bytes", outcome=Outcome.INVALID)

    @classmethod
    def not_a_completion(cls) -> "NoReplyError":
        """The answer is not a chat completion."""
        return cls("answer is not a chat completion", outcome=Outcome.INVALID)

    @classmethod
    def without_names(cls) -> "NoReplyError":
        """The answer has no name for any of the requested column numbers."""
        return cls("answer without names", outcome=Outcome.INVALID)
