"""Vectors of single words: those that the sentence encoder starts from.

All-MiniLM-L6-v2 looks each piece of a word up in a table of 30,522 vectors before it reads the
pieces together. These alone know what words mean out of context, as fastText's do, and they are
there already, where a model of fastText fills gigabytes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.evaluate.rivals.encoder import load_encoder

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def word_vectors(words: Sequence[str]) -> Float32[np.ndarray, "word width"]:
    """Looks words up.

    Args:
        words: In lower case.

    Returns:
        One vector a word, the mean of its pieces'; zeros for a word without pieces.
    """
    model = load_encoder()
    transformer = cast("PreTrainedModel", model[0].auto_model)
    table = transformer.get_input_embeddings().get_parameter("weight").detach().cpu().numpy()
    pieces = model.tokenizer([*words], add_special_tokens=False)["input_ids"]
    vectors = np.zeros((len(words), table.shape[1]), dtype=np.float32)
    for vector, found in zip(vectors, pieces, strict=True):
        if found:
            vector[:] = table[found].mean(axis=0)
    return vectors
