"""Compare the pairs that databases count with pairs whose values are read."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import Compute
from datahub_hyperjoin.spark.verification import in_database
from datahub_hyperjoin.spark.verification.counting import PairCounts
from datahub_hyperjoin.spark.verification.in_database import count_in_databases
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import Pair, Table
from engines.counted_profiles import located


def verified_and_counted(
    tables: Sequence[Table], pairs: Sequence[Pair], kinds: ColumnKinds
) -> tuple[dict[Pair, Evidence], set[Pair]]:
    """Verify pairs, and also return those that databases have counted.

    A stand-in for a database takes seconds for many pairs, so it counts once.
    """
    seen: set[Pair] = set()

    def count(*given: Any) -> dict[Pair, PairCounts]:  # noqa: ANN401 (what the function takes)
        counts = count_in_databases(*given)
        seen.update(counts)
        return counts

    with patch.object(in_database, "count_in_databases", count):
        return verify_joins(None, tables, pairs, kinds=kinds), seen


def verified_by_reading(
    tables: Sequence[Table], pairs: Sequence[Pair], kinds: ColumnKinds
) -> dict[Pair, Evidence]:
    """Verify pairs by reading, even if a database could count them."""
    by_spark = [located(table, compute=Compute.SPARK) for table in tables]
    return verify_joins(None, by_spark, pairs, kinds=kinds)
