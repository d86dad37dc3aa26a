"""Read ORC files."""

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import orc

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)
from datahub_hyperjoin.spark.files.stored import open_at_random, path_of
from datahub_hyperjoin.wording import name_some


class Orc(FileFormat):
    """ORC, whose stripes can be read alone."""

    name = "orc"
    title = "ORC files"
    suffixes = (".orc",)
    spark_reader = "orc"
    spark_providers = ("orc", "org.apache.hadoop.hive.ql.io.orc.OrcSerde")
    # Arrow does not know the time zone in which an ORC file was written.
    spark_reads_other_times = True

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        opened = _opened(file)
        return _read(opened, paths, range(opened.nstripes))

    def read_groups(self, file: File, paths: Paths, groups: range) -> TableStream:
        """See `FileFormat.read_groups`."""
        return _read(_opened(file), paths, groups)

    def group_sizes(self, file: File) -> Sequence[int]:
        """Return 1 for each stripe, whose real size a file does not say."""
        return [1] * _opened(file).nstripes


def _opened(file: File) -> orc.ORCFile:
    with translate_read_errors():
        return orc.ORCFile(open_at_random(path_of(file)))


def _read(file: orc.ORCFile, paths: Paths, stripes: range) -> TableStream:
    columns, notes = choose_columns(leaf_columns(file.schema), paths)
    batches = _batches(file, readable_paths(columns), notes, stripes)
    # A file does not say how many rows each stripe has.
    rows = file.nrows * len(stripes) / max(file.nstripes, 1)
    return TableStream(columns, batches, notes, RowEstimate(rows))


def _batches(file: orc.ORCFile, paths: Sequence[str], notes: list[str], stripes: range) -> Batches:
    # Without a comparable column, one field is read to count the rows.
    fields = top_level_fields(file.schema, paths) or file.schema.names[:1]
    unread: dict[str, None] = {}
    with translate_read_errors():
        for stripe in stripes:
            yield flatten(_read_stripe(file, stripe, fields, unread), paths)
    if unread:
        names = name_some([*map(repr, unread)])
        notes.append(f"columns with values that cannot be read, which count as missing: {names}")


def _read_stripe(
    file: orc.ORCFile, stripe: int, fields: Sequence[str], unread: dict[str, None]
) -> pa.RecordBatch:
    """Read a stripe of an ORC file; unreadable fields become null, and are added to `unread`."""
    # One date in a far year is enough: Arrow counts nanoseconds.
    try:
        # Names of which there are two are ambiguous.
        return file.read_stripe(stripe, columns=None if [*fields] == file.schema.names else fields)
    except pa.ArrowInvalid:
        read = {name: _read_field(file, stripe, name) for name in fields}
        lengths = [len(array) for array in read.values() if array is not None]
        if not lengths:
            raise
    unread.update({name: None for name in fields if read[name] is None})
    arrays = [
        pa.nulls(lengths[0], file.schema.field(name).type) if array is None else array
        for name, array in read.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[*fields])


def _read_field(file: orc.ORCFile, stripe: int, name: str) -> pa.Array | None:
    try:
        return file.read_stripe(stripe, columns=[name]).column(0)
    except pa.ArrowInvalid:
        return None
