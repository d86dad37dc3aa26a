"""A program that trains fastText's skip-gram model in a process of its own."""

import sys

import fasttext


def _train_skipgram(corpus: str, path: str, dimension: int) -> None:
    """Train a skip-gram model on a text file and save the model."""
    # One thread, because fastText's threads race and a run must be repeatable.
    fasttext.train_unsupervised(
        corpus,
        model="skipgram",
        dim=dimension,
        minCount=1,
        minn=2,
        maxn=5,
        epoch=5,
        bucket=50_000,
        thread=1,
        verbose=0,
    ).save_model(path)


if __name__ == "__main__":
    _train_skipgram(sys.argv[1], sys.argv[2], int(sys.argv[3]))
