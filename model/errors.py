"""Errors in training, and in searching an index of embeddings.

ModelError
├─ NothingToLearnError   the lake has too few key columns to train on
├─ VectorFileError       a file of word vectors cannot be used
├─ VectorTrainingError   word vectors cannot be trained on the lake
├─ NonFiniteLossError    the training loss is infinite or undefined
├─ CollapsedError        all columns get nearly the same embedding
├─ NoGpuError            an executor should train on a GPU, and PyTorch sees none there
└─ EmptyIndexError       no column can be searched for candidates
"""

from datahub_hyperjoin.errors import ModelError
from datahub_hyperjoin.wording import number_of


class NothingToLearnError(ModelError, ValueError):
    """The lake has too few key columns for training."""

    @classmethod
    def from_counts(cls, *, tables: int, keys: int) -> "NothingToLearnError":
        return cls(
            f"{number_of(keys, 'key column')} in {number_of(tables, 'table')} are too few to learn "
            "from: at least 2 key columns in 2 tables are needed. Widen `catalog`, or loosen "
            "`model.keys`"
        )


class VectorFileError(ModelError, ValueError):
    """A file of word vectors cannot be used."""

    @classmethod
    def from_path(cls, path: str, *, reason: str) -> "VectorFileError":
        return cls(
            f"`model.features.vectors` {path!r} is not a fastText model: {reason} Set it to a .bin "
            "file, or remove the key to train on the lake"
        )


class VectorTrainingError(ModelError, RuntimeError):
    """fastText cannot learn word vectors from the lake."""

    @classmethod
    def from_output(cls, output: str) -> "VectorTrainingError":
        reason = (output.strip().splitlines() or ["no reason given"])[-1]
        return cls(
            f"fastText could not learn word vectors from this lake: {reason}. Set "
            "`model.features.vectors` to a file of pretrained vectors"
        )


class NonFiniteLossError(ModelError, ArithmeticError):
    """The training loss became infinite or undefined."""

    @classmethod
    def at_epoch(cls, epoch: int, loss: float) -> "NonFiniteLossError":
        return cls(f"the loss became {loss} in epoch {epoch}. Lower `model.training.learning_rate`")


class CollapsedError(ModelError, ArithmeticError):
    """The network gives all columns nearly the same embedding."""

    @classmethod
    def from_cosine(cls, cosine: float) -> "CollapsedError":
        return cls(
            "all embeddings are nearly identical (mean cosine of random pairs "
            f"{cosine:.3f}). Use `model.setting: ours`, or rank without the network: "
            "`model.ranking.scoring: signals`"
        )


class NoGpuError(ModelError, RuntimeError):
    """An executor should train on a GPU, and PyTorch sees none there."""

    @classmethod
    def on_executor(cls) -> "NoGpuError":
        return cls(
            "PyTorch sees no CUDA device on the executor. Check that "
            "`spark.executor.resource.gpu.discoveryScript` lists the GPUs there"
        )


class EmptyIndexError(ModelError, ValueError):
    """An index of embeddings is empty."""

    @classmethod
    def without_columns(cls) -> "EmptyIndexError":
        return cls(
            "no column has values, so there is nothing to join. Name further tables, in a recipe "
            "by `catalog` or `connections`, or see the warnings about tables that cannot be read"
        )
