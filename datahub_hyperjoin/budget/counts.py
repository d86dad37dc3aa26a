"""Count the columns, hashes and pairs of a lake, which determine the cost of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.partners import ExpectedPairs, expect_pairs
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys
from datahub_hyperjoin.tables import TableProfile

_HASH_BYTES = 8
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class LakeCounts:
    """Counts and sizes of a lake, from which the memory and the time of a run are estimated."""

    columns: int
    """Number of columns with values that can be compared."""

    keys: int
    """Number of key columns."""

    hashes: int = 0
    """Number of hashes in the sketches of all columns."""

    compared: int = 0
    """Expected pairs of distinct sketches that share a value, in both orders."""

    kept: int = 0
    """Expected pairs of columns that share a value and are kept, in both orders."""

    mebibytes: float = 0.0
    """Size of the tables as stored, as far as it is known."""

    network: bool = False
    """Whether the run trains and uses the network HIN."""


def count_lake(
    profiles: Sequence[TableProfile], model: ModelConfig, facts: CatalogFacts
) -> LakeCounts:
    """Count the columns, key columns, hashes and expected pairs of a lake."""
    lake = Lake.from_tables(profiles)
    reads_values = model.features.values
    pairs = expect_pairs(lake) if reads_values else ExpectedPairs(0, 0)
    sketches = (len(column.sketch) for column in lake.profiles if reads_values)
    return LakeCounts(
        columns=len(lake),
        keys=len(find_keys(lake, model.keys, CatalogPriors.from_facts(lake, facts))),
        hashes=sum(sketches) // _HASH_BYTES,
        compared=pairs.compared,
        kept=pairs.kept,
        mebibytes=sum(each.table.size for each in profiles if not each.fault) / _MEBIBYTE,
        network=model.ranking.scoring is not Scoring.SIGNALS,
    )
