"""Look up vectors of single words in the input layer of the sentence encoder.

All-MiniLM-L6-v2 looks up each word piece in a table of 30,522 vectors before it reads the pieces
together. These vectors hold the meaning of words without context, as those of fastText do, but need
no further download, while a fastText model takes gigabytes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float32

from benchmarks.rivals.encoder import load_encoder

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def word_vectors(words: Sequence[str]) -> Float32[np.ndarray, "word width"]:
    """Return the vectors of words.

    Args:
        words: Words in lower case.

    Returns:
        One vector per word: the mean of its pieces, or zeros for a word without pieces.
    """
    model = load_encoder()
    transformer = cast("PreTrainedModel", model[0].auto_model)
    table = transformer.get_input_embeddings().get_parameter("weight").detach().cpu().numpy()
    pieces = model.tokenizer([*words], add_special_tokens=False)["input_ids"]
    vectors = np.zeros((len(words), table.shape[1]), dtype=np.float32)
    for vector, own_pieces in zip(vectors, pieces, strict=True):
        if own_pieces:
            vector[:] = table[own_pieces].mean(axis=0)
    return vectors
