"""Word vectors from fastText, either pretrained or trained on the lake."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import fasttext
import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.errors import VectorFileError, VectorTrainingError
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import tokens
from datahub_hyperjoin.storage import temporary_folder

_NO_WORD = re.compile(r"[\W_]+")


def words(text: str) -> str:
    """Convert a text to lower-case words for fastText, separated by single spaces.

    >>> words(" Newark-Liberty  (EWR)")
    'newark liberty ewr'
    """
    return _NO_WORD.sub(" ", text.lower()).strip()


def _sentences(lake: Lake, config: FeatureConfig, random: np.random.Generator) -> Iterable[str]:
    """Yield the text from which fastText learns: two lines for each column.

    A line has the names of the table and of the column, then the values in random order. Settings
    can exclude the names or the values.
    """
    for table, profile in zip(lake.table_of, lake.profiles, strict=True):
        names = [*tokens(lake.titles[table]), *tokens(profile.id.path)]
        names = names if config.names else []
        values = [words(value) for value in profile.sample] if config.values else []
        for _ in range(2):
            yield " ".join([*names, *random.permutation(values)])


class WordVectors:
    """Word vectors of a fastText model.

    Subwords give every word a vector, even a word that the model was not trained on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._model = fasttext.load_model(str(path))
        except ValueError as error:
            raise VectorFileError.from_path(str(path), reason=str(error)) from error
        self.dimension: int = self._model.get_dimension()

    def of(self, texts: Sequence[str]) -> Float32[np.ndarray, "text dimension"]:
        """Compute one vector for each text: the mean of its words' unit vectors.

        Returns:
            One row per text; zeros for a text without words.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._model.get_sentence_vector(words(text))
        return vectors


def _skipgram(corpus: Path, path: Path, dimension: int) -> None:
    """Train fastText on the file `corpus` in a separate process, and save the model at `path`.

    With one thread, fastText 0.9.3 fills only the first tenth of its matrix and expects the rest to
    be zero. That is true for fresh memory from the kernel, which glibc returns if the threshold
    below is small. It is not true for memory that this process has used before: training would
    differ from run to run, or end in NaN.
    """
    command = [sys.executable, "-m", "datahub_hyperjoin.model.network.skipgram"]
    done = subprocess.run(  # noqa: S603 - our own module, by our own interpreter
        [*command, str(corpus), str(path), str(dimension)],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise VectorTrainingError.from_output(done.stderr)


def train_vectors(lake: Lake, config: ModelConfig, *, path: Path) -> WordVectors:
    """Train fastText (skip-gram) on names and sampled values, and save the model.

    Args:
        config: The length of the vectors, and the seed for the order of values. fastText's own
            generator always starts from the same state.
    """
    with temporary_folder() as folder:
        corpus = folder / "corpus.txt"
        lines = _sentences(lake, config.features, np.random.default_rng(config.seed))
        corpus.write_text("\n".join(lines), encoding="utf-8")
        _skipgram(corpus, path, config.setting.dimension)
    return WordVectors(path)
