"""A table of a database as a data source of Spark's, each partition some ranges of its key."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import SecretStr
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.columns import choose_columns, read_of
from datahub_hyperjoin.spark.counting.written import texts_of
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.key_ranges import (
    WHOLE_KEY,
    Range,
    count_rows,
    cut_key,
    find_key,
    key_condition,
    sample_rows,
)
from datahub_hyperjoin.spark.databases.relations import columns_of, look_at, read_rows, select_from
from datahub_hyperjoin.spark.native.frames import Opened


@dataclass(frozen=True)
class Ranges(InputPartition):
    """What one connection reads."""

    ranges: tuple[Range, ...]
    """Ranges of the key, one after the other."""


class RelationSource(DataSource):
    """A table or a view as texts, with the options that `load_relation` gives."""

    @classmethod
    def name(cls) -> str:
        """What Spark knows it as.

        Returns:
            The name of the format.
        """
        return "hyperjoin_relation"

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads it.

        Args:
            schema: A column of text for each name of the options.

        Returns:
            The reader.
        """
        return _Reader(dict(self.options), schema)


class _Reader(DataSourceReader):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._options = options
        self._fields = schema.fieldNames()

    def partitions(self) -> Sequence[InputPartition]:
        return [
            Ranges(tuple((least, beyond) for least, beyond in ranges))
            for ranges in json.loads(self._options["partitions"])
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        options = self._options
        relation, names = _relation(options), json.loads(options["names"])
        limit = json.loads(options["limit"])
        with Databases() as databases:
            engine = databases.engine(relation)
            for range_ in partition.ranges if isinstance(partition, Ranges) else ():
                statement = key_condition(select_from(relation, names), options["key"], range_)
                for batch in read_rows(engine, statement.limit(limit), names):
                    texts = [texts_of(column) for column in batch.columns]
                    yield pa.RecordBatch.from_arrays(texts, names=self._fields)


def load_relation(
    session: SparkSession, relation: Relation, *, max_rows: int, share: float = 1.0
) -> Opened:
    """A table or a view as Spark has it.

    Args:
        session: Where to run.
        relation: Which one. It has as many partitions as its database may have connections.
        max_rows: About how many rows are read, if it has more: as many of each of some ranges of
            its key.
        share: The share of its rows that is read at most.

    Returns:
        Its rows.

    Raises:
        UnreadableRelationError: The database does not tell what it has.
    """
    most = relation.database.max_connections
    with Databases() as databases:
        engine = databases.engine(relation)
        known = look_at(engine)
        columns, notes = choose_columns(columns_of(relation, known), None)
        rows, key = count_rows(relation, engine), find_key(relation, known)
        wanted = max(1, min(max_rows, round(rows * share)))
        if rows > wanted:
            ranges, limit, note = sample_rows(relation, engine, key, rows=rows, wanted=wanted)
            notes.append(note)
        else:
            ranges, limit = cut_key(relation, engine, key, most) if key else [WHOLE_KEY], None
    partitions = [ranges[at::most] for at in range(min(most, len(ranges)))]
    options = {
        **_options(relation),
        "names": json.dumps(read_of(columns)),
        "key": key,
        "limit": json.dumps(limit),
        "partitions": json.dumps(partitions),
    }
    schema = ", ".join(f"c{at} string" for at in range(len(read_of(columns))))
    session.dataSource.register(RelationSource)
    reader = session.read.format(RelationSource.name()).options(**options)
    return Opened(reader.schema(schema).load() if schema else None, columns, notes, rows)


def _options(relation: Relation) -> dict[str, str]:
    """Spark shows no option that is called `url` or `password`."""
    database = relation.database
    return {
        "url": database.url.get_secret_value(),
        "password": database.password.get_secret_value() if database.password else "",
        "max_connections": str(database.max_connections),
        "timeout": str(database.timeout),
        "connection": relation.connection,
        "schema": relation.schema,
        "table": relation.name,
    }


def _relation(options: dict[str, str]) -> Relation:
    database = Database(
        url=SecretStr(options["url"]),
        password=SecretStr(options["password"]) if options["password"] else None,
        max_connections=int(options["max_connections"]),
        timeout=float(options["timeout"]),
    )
    return Relation(
        database=database,
        connection=options["connection"],
        schema=options["schema"],
        name=options["table"],
    )
