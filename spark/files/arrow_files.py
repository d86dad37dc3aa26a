"""Read Arrow files and streams, which are also Feather files of version 2."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    has_made_up_names,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)
from datahub_hyperjoin.spark.files.stored import DataPath, open_in_order, path_of

_FILE, _OLD_FEATHER = b"ARROW1", b"FEA1"
_STEP_ROWS = 1 << 16


class ArrowFile(FileFormat):
    """Arrow's own format, as a file or a stream; members of structs are columns."""

    name = "arrow"
    title = "Arrow and Feather files"
    suffixes = (".arrow", ".feather", ".ipc", ".arrows", ".ftr")

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        path, extent = path_of(file), RowEstimate()
        with _opened(path) as reader:
            schema = reader.schema
        columns, notes = choose_columns(leaf_columns(schema), paths)
        names = readable_paths(columns)
        # Without a comparable column, one field is read to count the rows.
        needed = top_level_fields(schema, names) or schema.names[:1]
        fields = None if has_made_up_names(schema) else [*map(schema.get_field_index, needed)]
        return TableStream(columns, _batches(path, fields, names, extent), notes, extent)


@contextmanager
def _opened(
    path: DataPath, fields: Sequence[int] | None = None
) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    with translate_read_errors(pa.ArrowException), open_in_order(path) as source:
        start = source.read(len(_FILE))
        if start.startswith(_OLD_FEATHER):
            raise UnreadableTableError.of_old_feather()
        source.seek(0)
        opens = pa.ipc.open_file if start == _FILE else pa.ipc.open_stream
        with opens(source, options=options) as reader:
            yield reader


def _batches(
    path: DataPath, fields: Sequence[int] | None, names: Sequence[str], extent: RowEstimate
) -> Batches:
    with _opened(path, fields) as reader:
        rows = 0
        if isinstance(reader, pa.RecordBatchFileReader):
            count = reader.num_record_batches
            batches = map(reader.get_batch, range(count))
        else:
            # A stream does not say how many batches it has, so that its first rows are taken.
            count, batches = 0, iter(reader)
        for number, batch in enumerate(batches, start=1):
            rows += len(batch)
            extent.rows = rows * count / number
            for start in range(0, len(batch), _STEP_ROWS):
                yield flatten(batch.slice(start, _STEP_ROWS), names)
