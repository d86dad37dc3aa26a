"""A Spark data source that reads a database table over several connections."""

import json
from collections.abc import Iterator, Sequence
from functools import partial

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
        self._relation = _relation(options)
        self._partitions, *self._plan = json.loads(options["plan"])
        self._fields = schema.fieldNames()

    def partitions(self) -> Sequence[InputPartition]:
        # Each has the ranges of the key that one task reads over one connection.
        return [*map(InputPartition, self._partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        limit, key, names = self._plan
        key, *names = (quoted_name(name, quote=True) for name in (key, *names))
        with Databases() as databases:
            engine = databases.engine(self._relation)
            values = select_values(self._relation, names, inspect_database(engine))
            for first, end in partition.value:
                statement = within_key_range(values, key, (first, end))
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
            limit, ranges = None, [WHOLE_KEY]
            if key:
                ranges = split_key(relation, engine, key, connections, rows=rows)
    names = [stored_name(path, engine.dialect) for path in readable_paths(columns)]
    # Each partition opens one connection, so that there are never more than the recipe allows.
    partitions = [ranges[start::connections] for start in range(min(connections, len(ranges)))]
    plan = (partitions, limit, stored_name(key, engine.dialect), names)
    # Columns are numbered, because Spark would read a dot in a name as a member of a struct.
    schema = ", ".join(f"c{index} string" for index in range(len(names)))
    session.dataSource.register(RelationSource)
    options = {**_options(relation, engine.dialect), "plan": json.dumps(plan)}
    reader = session.read.format(RelationSource.name()).options(**options)
    return TableFrame(reader.schema(schema).load() if schema else None, columns, notes, rows)


def _options(relation: Relation, dialect: Dialect) -> dict[str, str]:
    """Return the reader's options, named so that Spark recognises and redacts secrets.

    All names are as the database stores them, since options are plain texts.
    """
    database, stored = relation.database, partial(stored_name, dialect=dialect)
    kept = [relation.connection, stored(relation.schema), stored(relation.name)]
    return {
        "url": database.url.get_secret_value(),
        "password": database.password.get_secret_value() if database.password else "",
        "relation": json.dumps([database.max_connections, database.timeout, *kept]),
    }


def _relation(options: dict[str, str]) -> Relation:
    most, timeout, connection, *names = json.loads(options["relation"])
    url, password = map(SecretStr, (options["url"], options["password"]))
    database = Database(url=url, password=password or None, max_connections=most, timeout=timeout)
    schema, name = (quoted_name(each, quote=True) for each in names)
    return Relation(database=database, connection=connection, schema=schema, name=name)
