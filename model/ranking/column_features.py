"""Describe each column by numbers that are comparable between lakes."""

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.tables import ColumnProfile, DataType

_TYPES = (DataType.TEXT, DataType.INTEGER, DataType.DECIMAL, DataType.DATE)

COLUMN_FEATURES = (
    "uniqueness",
    "completeness",
    "density",
    "position",  # of the likeliest key first; the trees were trained with that in the table
    "columns of its table",
    "rows",
    "distinct values",
    "mean length",
    "range of lengths",
    "share of the most frequent value",
    *(f"is {kind.value}" for kind in _TYPES),
    "probability that it refers to some key",
    "references to it",
)
"""Names of the measures of a column, in the order in which the trees read them."""

STATISTICS = COLUMN_FEATURES[:-2]
"""The measures of a column alone, without its references."""


def _describe(profile: ColumnProfile) -> tuple[float, ...]:
    most_frequent = max(profile.counts, default=0) / max(profile.rows, 1)
    counts = (
        profile.rows,
        profile.distinct,
        profile.lengths.mean,
        profile.lengths.longest - profile.lengths.shortest,
    )
    is_type = (float(profile.type is kind) for kind in _TYPES)
    return (*np.log1p(counts), most_frequent, *is_type)


def measure_columns(index: LakeIndex) -> Float32[np.ndarray, "column feature"]:
    """Compute the measures in `COLUMN_FEATURES` for each column.

    Counts and lengths are logarithms, so that the measures of small and large tables compare.
    """
    lake, references, count = index.lake, index.references, len(index.lake)
    widths = np.bincount(lake.table_of, minlength=len(lake.titles))
    refers = np.zeros(count)
    np.maximum.at(refers, references.referring, references.probability)
    referred = np.bincount(references.referenced, references.probability, minlength=count)
    described = np.array([_describe(profile) for profile in lake.profiles])
    return np.column_stack(
        [
            index.priors.uniqueness,
            index.priors.completeness,
            lake.density,
            lake.standing,
            np.log1p(widths)[lake.table_of],
            described.reshape(count, -1),
            refers,
            np.log1p(referred),
        ]
    ).astype(np.float32)


def statistics_vectors(index: LakeIndex) -> Float32[np.ndarray, "column statistic"]:
    """For each column, compute a unit vector of its standardised statistics.

    Each of `STATISTICS` is standardised over the lake. Columns without rows differ in their types
    and positions only.
    """
    measured = measure_columns(index)[:, : len(STATISTICS)]
    spread = measured.std(axis=0)
    return unit_rows((measured - measured.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def unit_rows(
    rows: Float32[np.ndarray, "column width"],
) -> Float32[np.ndarray, "column width"]:
    """Scale each row to length 1; rows of zeros stay as they are."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)
