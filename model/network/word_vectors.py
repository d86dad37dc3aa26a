"""Word vectors by fastText: a user's pretrained model, or one trained on the lake itself."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import fasttext
import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.errors import VectorFileError, VectorTrainingError
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import tokens

_NO_WORD = re.compile(r"[\W_]+")


def words(text: str) -> str:
    """A name or a cell as fastText reads it: lower-case words with single spaces.

    >>> words(" Newark-Liberty  (EWR)")
    'newark liberty ewr'
    """
    return _NO_WORD.sub(" ", text.lower()).strip()


def _sentences(lake: Lake, config: FeatureConfig, random: np.random.Generator) -> Iterable[str]:
    """A line a column: its names and its values, so that a domain's words share contexts."""
    for place, profile in enumerate(lake.profiles):
        names = [*tokens(lake.titles[lake.table_of[place]]), *tokens(profile.id.path)]
        names = names if config.names else []
        values = [words(value) for value in profile.sample] if config.values else []
        for _ in range(2):
            yield " ".join([*names, *random.permutation(values)])


class WordVectors:
    """Vectors of texts, subwords included, so that no word is unknown.

    Args:
        path: A fastText model.

    Raises:
        VectorFileError: The file is not there, or is no fastText model.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._model = fasttext.load_model(str(path))
        except ValueError as error:
            raise VectorFileError.from_path(str(path), reason=str(error)) from error
        self.dimension: int = self._model.get_dimension()

    def of(self, texts: Sequence[str]) -> Float32[np.ndarray, "text dimension"]:
        """One vector a text, the mean of its words' unit vectors.

        Args:
            texts: Names or cells, as written.

        Returns:
            One row a text; zeros for a text without words.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._model.get_sentence_vector(words(text))
        return vectors


def _skipgram(corpus: Path, path: Path, dimension: int) -> None:
    """Runs fastText in a process of its own.

    With one thread, fastText 0.9.3 fills only the first tenth of its matrix and trusts the rest
    to be zero. That holds for memory fresh from the kernel, which glibc hands out where the
    threshold below is small, and not for memory that this process has used before: there
    training differs from run to run, or ends in NaN.
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
    """Trains fastText (skip-gram) on names and sampled values and saves it.

    One thread, because fastText's threads race and a run must be repeatable.

    Args:
        lake: Where names and values come from.
        config: The length of the vectors, and the seed of the order of values. fastText's own
            generator always starts from the same state.
        path: The file to write.

    Returns:
        The trained vectors.

    Raises:
        VectorTrainingError: fastText fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.txt")
        lines = _sentences(lake, config.features, np.random.default_rng(config.seed))
        corpus.write_text("\n".join(lines), encoding="utf-8")
        _skipgram(corpus, path, config.setting.dimension)
    return WordVectors(path)
