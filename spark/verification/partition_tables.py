"""Read many tables in one task, and divide their values into partitions by hash."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from datahub_hyperjoin.normal_form import Synonyms
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.memory import limited_memory
from datahub_hyperjoin.spark.verification.hash_partition import partition_values
from datahub_hyperjoin.spark.verification.values import RequestedColumns, read_values


def partition_tables(
    requests: Sequence[RequestedColumns], *, synonyms: Mapping[str, Synonyms], count: int
) -> Iterator[pa.RecordBatch]:
    """Read the requested columns of some tables, and partition their values by hash."""
    with limited_memory(), Databases() as databases:
        yield from partition_values(read_values(requests, synonyms, databases), count=count)
