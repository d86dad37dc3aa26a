"""Read the tables of Stata and SAS, with the codes of values and not their labels."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.nested import translate_read_errors
from datahub_hyperjoin.spark.files.stored import DataPath, open_in_order, path_of

if TYPE_CHECKING:
    import pandas as pd

_BATCH_ROWS = 1 << 14


class StatisticsFile(FileFormat):
    """A table of Stata or SAS."""

    name = "statistics"
    title = "files of Stata and SAS"
    suffixes = (".dta", ".sas7bdat", ".xpt")

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        path, extent = path_of(file), RowEstimate()
        with _opened(path) as frames:
            names = [*map(str, next(frames).columns)]
        columns, notes = choose_columns([Column(name, at) for at, name in enumerate(names)], paths)
        return TableStream(columns, _batches(path, columns, extent), notes, extent)


def _batches(path: DataPath, columns: Sequence[Column], extent: RowEstimate) -> Batches:
    read = [column for column in columns if not column.opaque]
    with _opened(path) as frames:
        for frame in frames:
            extent.rows += len(frame)
            arrays = [_array_of(frame.iloc[:, column.position]) for column in read]
            yield pa.RecordBatch.from_arrays(arrays, readable_paths(columns))


def _array_of(values: "pd.Series[Any]") -> pa.Array:
    # Both write a missing text as an empty one.
    if values.dtype != object:
        return pa.array(values, from_pandas=True)
    texts = pa.array(values.map(_text, na_action="ignore"), pa.string(), from_pandas=True)
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    # The transport files of SAS do not say their encoding.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("cp1252", "replace")


@contextmanager
def _opened(path: DataPath) -> Iterator[Iterator["pd.DataFrame"]]:
    errors = (ValueError, KeyError, EOFError, struct.error)
    with translate_read_errors(*errors), open_in_order(path) as file, _reader(path, file) as frames:
        yield frames


def _reader(path: DataPath, file: BinaryIO) -> Any:  # noqa: ANN401 (the classes of readers are private)
    import pandas as pd  # noqa: PLC0415 (few lakes have such files)

    match path.suffix.lower():
        case ".xpt":
            return pd.read_sas(file, format="xport", chunksize=_BATCH_ROWS)
        case ".sas7bdat":
            return pd.read_sas(file, format="sas7bdat", encoding="infer", chunksize=_BATCH_ROWS)
        case _:
            return pd.read_stata(file, convert_categoricals=False, chunksize=_BATCH_ROWS)
