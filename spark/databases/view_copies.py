"""Copy the rows of views to files, so that a run executes the query of each view once.

All stages then see the same rows, even of a view that returns others each time.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
from sqlalchemy import Engine

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.counting.text_counts import texts_of
from datahub_hyperjoin.spark.databases.relations import (
    choose_relation_columns,
    inspect_database,
    read_rows,
    select_values,
)


def write_copy(view: Relation, engine: Engine, file: Path) -> None:
    """Write all rows of a view to a file in Arrow's format, as text."""
    inspector = inspect_database(engine)
    columns, _ = choose_relation_columns(view, inspector)
    names = readable_paths(columns)
    schema = pa.schema([(name, pa.string()) for name in names])
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    rows = read_rows(engine, select_values(view, names, inspector), names)
    with (
        closing(rows),
        pa.OSFile(str(file), "wb") as sink,
        pa.ipc.new_file(sink, schema, options=options) as writer,
    ):
        for batch in rows:
            texts = [texts_of(column) for column in batch.columns]
            # Without columns, the batch keeps its number of rows.
            writer.write_batch(pa.record_batch(texts, schema=schema) if texts else batch)


def read_copy(file: str, names: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
    """Read some columns of a copied view."""
    with pa.OSFile(file, "rb") as source:
        schema = pa.ipc.open_file(source).schema
        places = [schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        reader = pa.ipc.open_file(source, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number).select(list(names))
