"""Measure whether a sentence encoder would improve the ranking.

The encoder is all-MiniLM-L6-v2, as it is. It reads two texts of each column: its table's title with
its name, and its sampled values. The cosine of two columns' texts, times a weight, is added to the
log-odds of the pair's score. The candidates are those of the package; for a second measurement, the
columns whose texts are most similar are candidates, too.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_encoder FOLDER...`.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from tabulate import tabulate

from benchmarks.bench_decisions import CONFIG
from benchmarks.compare_scorers.results import measure
from benchmarks.rivals.encoder import encode_texts, load_encoder
from benchmarks.trees.examples import Examples, are_true, number_columns
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate import EvaluationProgress, profile_lakes, read_labelled_lakes
from datahub_hyperjoin.evaluate.metrics import Bootstrap
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, ColumnIndex
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.ranking.rank import Ranker
from datahub_hyperjoin.model.signals.cells import StoredVectors
from datahub_hyperjoin.model.signals.names import tokens

WEIGHTS = (1.0, 3.0)
"""Factors by which the cosine is multiplied before it is added to the log-odds."""
_NEAREST = 50
"""Number of candidates of each query column that the vectors of each kind of text find."""
_VALUES = 40
"""Number of values of a column that are encoded; the encoder reads only 128 tokens."""
_TOKENS = 128

Vectors = Float32[np.ndarray, "column width"]


@dataclass(frozen=True)
class EncodedPairs:
    """The candidate pairs of a lake, with the cosine similarities of the columns' texts."""

    examples: Examples
    """The pairs and their ground truth."""

    scores: Float[np.ndarray, " pair"]
    """The score that the package gives each pair."""

    cosines: Mapping[str, Float[np.ndarray, " pair"]]
    """For each kind of text, the cosine of the two columns' texts."""

    is_own: Bool[np.ndarray, " pair"]
    """Whether the package compares the pair; if not, only the encoder proposes it."""


def describe_columns(lake: Lake) -> dict[str, list[str]]:
    """Describe each column by two texts: its table's title with its name, and its values."""
    names = [
        f"{' '.join(tokens(lake.titles[table]))}: {' '.join(tokens(profile.id.path))}"
        for table, profile in zip(lake.table_of, lake.profiles, strict=True)
    ]
    values = [", ".join(profile.sample[:_VALUES]) for profile in lake.profiles]
    return {"names": names, "values": values}


def encode_lake(lake: Lake) -> dict[str, Vectors]:
    """Encode the texts of all columns as unit vectors."""
    model = load_encoder()
    model.max_seq_length = _TOKENS
    return {name: encode_texts(model, texts) for name, texts in describe_columns(lake).items()}


def collect_pairs(lake: ProfiledLake) -> EncodedPairs:
    """Collect the pairs that the package or the encoder proposes, with the scores that both give.

    Args:
        lake: The profiled lake with its ground truth.
    """
    columns = Lake.from_tables(lake.profiles)
    index = build_lake_index(columns, CONFIG, CatalogFacts())
    numbers = number_columns(columns)
    asked = [query for query in lake.labelled.truth if query in numbers]
    queries = np.array([numbers[query] for query in asked], dtype=np.int64)
    ranker = Ranker.of(replace(index, keys=queries), index.names.vectors(), CONFIG)
    vectors = encode_lake(columns)
    candidates = _join_candidates(columns, queries, ranker.candidates, vectors)
    row, position = np.nonzero(candidates != NO_CANDIDATE)
    left, right = queries[row], candidates[row, position]
    scores = ranker.scorer.score(queries[:, None], candidates)[row, 0, position]
    examples = Examples(
        rows=np.zeros((len(left), 0), np.float32),
        noisy_or=scores,
        known=np.zeros(len(left)),
        query=row,
        joins=are_true(lake.labelled, numbers, left, right),
        answers=np.array([len(lake.labelled.truth[query]) for query in asked]),
    )
    cosines = {
        name: np.einsum("pw,pw->p", of[left], of[right], optimize=True)
        for name, of in vectors.items()
    }
    return EncodedPairs(examples, scores, cosines, position < ranker.candidates.shape[1])


def _join_candidates(
    lake: Lake,
    queries: Int[np.ndarray, " query"],
    own: Int[np.ndarray, "query candidate"],
    vectors: Mapping[str, Vectors],
) -> Int[np.ndarray, "query candidate"]:
    """Extend the candidates of each query column by the columns with the most similar texts."""
    table_of, joined = lake.table_of, own
    for of in vectors.values():
        index = ColumnIndex(StoredVectors.of(of), table_of)
        near = index.search(of[queries], table_of[queries], _NEAREST)
        is_known = (near[:, :, None] == joined[:, None, :]).any(axis=2)
        joined = np.hstack([joined, np.where(is_known, NO_CANDIDATE, near)])
    return joined


def compare(pairs: EncodedPairs) -> Iterator[list[str]]:
    """Yield a row for each combination of text kind, weight and candidate set.

    Each row has the mean average precision without the encoder, and the gain by it in percentage
    points.
    """
    base, every = log_odds(pairs.scores), pairs.examples
    own = np.where(pairs.is_own, base, -np.inf)
    # If there are few candidates of our own, the others fill the ranking, but none counts.
    ours = replace(every, joins=every.joins & pairs.is_own)
    without = measure(ours, own)[0]
    bootstrap = Bootstrap(len(without))
    for name, cosine in pairs.cosines.items():
        for weight in WEIGHTS:
            added = weight * cosine
            for title, average in {
                "ours": measure(ours, own + added)[0],
                "ours and the encoder's": measure(every, base + added)[0],
            }.items():
                gain = bootstrap.interval(average - without)
                low, mean, high = (f"{100 * it:+.1f}" for it in (gain.low, gain.mean, gain.high))
                star = " *" if gain.excludes_zero else ""
                shown = f"{100 * without.mean():.1f}"
                yield [name, f"{weight:g}", title, shown, f"{mean} ({low} to {high}){star}"]


def main() -> None:
    """Read the command line, and print a table for each lake."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_encoder", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="labelled lakes")
    options = parser.parse_args()
    progress = EvaluationProgress(lambda line: print(line, file=sys.stderr))
    headers = ["text", "weight", "candidates", "MAP", "gain"]
    for lake in profile_lakes(read_labelled_lakes(options.folders), {}, progress):
        rows = list(compare(collect_pairs(lake)))
        print(f"{lake.labelled.name}\n\n{tabulate(rows, headers, disable_numparse=True)}\n")


if __name__ == "__main__":
    main()
