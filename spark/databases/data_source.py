"""A Spark data source that reads a database table over several connections."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import SecretStr
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from sqlalchemy import Dialect
from sqlalchemy.sql.elements import quoted_name

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.spark.columns import naming_columns, readable_paths
from datahub_hyperjoin.spark.counting.texts import texts_of
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.relations import (
    WHOLE_KEY,
    KeyRange,
    choose_relation_columns,
    count_rows,
    find_integer_key,
    inspect_database,
    read_rows,
    sample_rows,
    select_values,
    split_key,
    within_key_range,
)
from datahub_hyperjoin.spark.databases.system import stored_name
from datahub_hyperjoin.spark.native.frames import TableFrame


@dataclass(frozen=True)
class KeyRanges(InputPartition):
    """The ranges of a primary key that one Spark task reads over one connection."""

    ranges: tuple[KeyRange, ...]
    """Ranges of the key, read one after the other."""


class RelationSource(DataSource):
    """A Spark data source for a database table or view, all of whose values are text."""

    @classmethod
    def name(cls) -> str:
        """Return the name under which Spark knows this data source."""
        return "hyperjoin_relation"

    def reader(self, schema: StructType) -> DataSourceReader:
        """Create a reader, with one text column for each name in the options."""
        return _Reader(dict(self.options), schema)


class _Reader(DataSourceReader):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._options = options
        self._fields = schema.fieldNames()

    def partitions(self) -> Sequence[InputPartition]:
        return [
            KeyRanges(tuple((first, end) for first, end in ranges))
            for ranges in json.loads(self._options["partitions"])
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        options = self._options
        relation = _relation(options)
        names = [quoted_name(name, quote=True) for name in json.loads(options["names"])]
        key = quoted_name(options["key"], quote=True)
        limit = json.loads(options["limit"])
        with Databases() as databases:
            engine = databases.engine(relation)
            values = select_values(relation, names, inspect_database(engine))
            for range_ in partition.ranges if isinstance(partition, KeyRanges) else ():
                statement = within_key_range(values, key, range_)
                for batch in read_rows(engine, statement.limit(limit), names):
                    texts = [texts_of(column) for column in batch.columns]
                    yield pa.RecordBatch.from_arrays(texts, names=self._fields)


def load_relation(
    session: SparkSession, relation: Relation, *, max_rows: int, share: float = 1.0
) -> TableFrame:
    """Load a table or view, or at most a given share of its rows, as a Spark data frame.

    The frame has at most as many partitions as the database allows connections. If the table has
    too many rows, an equal number of rows is read from each of some ranges of its key.
    """
    connections = relation.database.max_connections
    with Databases() as databases:
        engine = databases.engine(relation)
        inspector = inspect_database(engine)
        columns, notes = choose_relation_columns(relation, inspector)
        with naming_columns(columns):
            rows, key = count_rows(relation, engine), find_integer_key(relation, inspector)
        most_rows = max(1, min(max_rows, round(rows * share)))
        if rows > most_rows:
            ranges, limit, note = sample_rows(relation, engine, key, rows=rows, most=most_rows)
            notes.append(note)
        else:
            limit = None
            ranges = [WHOLE_KEY]
            if key:
                ranges = split_key(relation, engine, key, connections, rows=rows)
    names = [stored_name(path, engine.dialect) for path in readable_paths(columns)]
    # Each partition opens one connection, so that there are never more than the recipe allows.
    partitions = [ranges[start::connections] for start in range(min(connections, len(ranges)))]
    options = {
        **_options(relation, engine.dialect),
        "names": json.dumps(names),
        "key": stored_name(key, engine.dialect),
        "limit": json.dumps(limit),
        "partitions": json.dumps(partitions),
    }
    # Columns are numbered, because Spark would read a dot in a name as a member of a struct.
    schema = ", ".join(f"c{index} string" for index in range(len(names)))
    session.dataSource.register(RelationSource)
    reader = session.read.format(RelationSource.name()).options(**options)
    return TableFrame(reader.schema(schema).load() if schema else None, columns, notes, rows)


def _options(relation: Relation, dialect: Dialect) -> dict[str, str]:
    """Return the reader's options, named so that Spark recognises and redacts secrets.

    All names are as the database stores them, since options are plain texts.
    """
    database = relation.database
    return {
        "url": database.url.get_secret_value(),
        "password": database.password.get_secret_value() if database.password else "",
        "max_connections": str(database.max_connections),
        "timeout": str(database.timeout),
        "connection": relation.connection,
        "schema": stored_name(relation.schema, dialect),
        "table": stored_name(relation.name, dialect),
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
        schema=quoted_name(options["schema"], quote=True),
        name=quoted_name(options["table"], quote=True),
    )
