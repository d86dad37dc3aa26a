"""A table as a stream of rows: its columns, its batches, and a random sample of them.

Files may unfold: a few kilobytes of Parquet may hold a million long texts. Readers therefore read
few rows at a time, and these are combined up to a number of bytes.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from math import floor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.spark.counting.texts import countable
from datahub_hyperjoin.spark.errors import EmptyTableError, TableWithHeaderError
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.wording import name_some

Batches = Generator[pa.RecordBatch, None, None]
Paths = Collection[str] | None
"""Paths of the columns to read; all if None."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column in the schema of a file or of a database table."""

    path: str
    """Name of the column; for a member of a struct, the names that lead to it, joined by dots."""

    position: int
    opaque: DataType | None = None
    """The type of a column whose values are not read: `NESTED` or `BINARY` if they cannot be
    compared. None if they are read."""

    is_binary: bool = False
    """Whether its values are bytes, which are read as hexadecimal digits."""

    is_list: bool = False
    """Whether its values are lists, which are read as text."""

    is_withheld: bool = False
    """Whether its values are not read because the user may not select them."""


@dataclass(slots=True)
class RowEstimate:
    """The exact or estimated number of rows in a table."""

    rows: float = 0
    """Number of rows; 0 if unknown. A reader that can only estimate the number corrects it while it
    reads."""


@dataclass(frozen=True, slots=True)
class TableStream:
    """A table whose rows are read as a stream of batches."""

    columns: tuple[Column, ...]
    batches: Batches
    """Batches of rows with a field for each comparable column, named by the column's path."""

    notes: list[str]
    """Notes for users; complete once all batches are read."""

    extent: RowEstimate = field(default_factory=RowEstimate)


def numbered_names(names: Sequence[str], mark: str = "_") -> list[str]:
    """Return the names, where each that an earlier one has is followed by a number.

    Examples:
        >>> numbered_names(["id", "id", "id_2", "id"])
        ['id', 'id_3', 'id_2', 'id_4']
    """
    taken, seen = {*names}, set[str]()
    if len(taken) == len(names):
        return [*names]
    numbers: Counter[str] = Counter()
    distinct = []
    for name in names:
        free = name
        while free in seen or (free != name and free in taken):
            numbers[name] += 1
            free = f"{name}{mark}{numbers[name] + 1}"
        seen.add(free)
        distinct.append(free)
    return distinct


def column_names(names: Sequence[str], places: Iterable[int] | None = None) -> list[str]:
    """Return a name for each column that no other has; a blank name becomes the column's place.

    Examples:
        >>> column_names(["id", "", "name", "name"])
        ['id', 'column_2', 'name', 'name_2']
    """
    # The usual case, checked first because tables may have thousands of columns.
    if len({*names}) == len(names) and all(map(str.strip, names)):
        return [*names]
    placed = zip(names, range(len(names)) if places is None else places, strict=True)
    return numbered_names([name if name.strip() else f"column_{at + 1}" for name, at in placed])


def addressable_columns(columns: Sequence[Column], notes: list[str]) -> tuple[Column, ...]:
    """Return the columns with a name for each, and note which names are made up.

    Examples:
        >>> notes = []
        >>> names = ["id", "name", "name", ""]
        >>> kept = addressable_columns([Column(name, at) for at, name in enumerate(names)], notes)
        >>> [column.path for column in kept], notes[0]
        (['id', 'name', 'name_2', 'column_4'], "columns of one name are numbered: 'name_2'")
    """
    paths = [column.path for column in columns]
    made = column_names(paths, [column.position for column in columns])
    if made == paths:
        return tuple(columns)
    pairs = [*zip(paths, made, strict=True)]
    numbered = [repr(name) for path, name in pairs if path.strip() and name != path]
    placed = [repr(name) for path, name in pairs if not path.strip()]
    if numbered:
        notes.append(f"columns of one name are numbered: {name_some(numbered)}")
    if placed:
        notes.append(f"columns without a name are called by their places: {name_some(placed)}")
    return tuple(replace(each, path=name) for each, name in zip(columns, made, strict=True))


def _note_opaque(columns: Sequence[Column], notes: list[str]) -> None:
    """Add notes about columns whose values are not read, such as lists."""
    unread = [column for column in columns if column.opaque]
    for is_withheld, reason in (
        (False, "columns not compared, because they hold lists, maps or bytes"),
        (True, "columns not read, because the connection's user may not select them"),
    ):
        if names := [repr(each.path) for each in unread if each.is_withheld is is_withheld]:
            notes.append(f"{reason}: {name_some(names)}")


def requested_columns(columns: Sequence[Column], paths: Paths) -> tuple[Column, ...]:
    """Return the requested columns, or all columns if `paths` is None."""
    return tuple(column for column in columns if paths is None or column.path in paths)


def choose_columns(columns: Sequence[Column], paths: Paths) -> tuple[tuple[Column, ...], list[str]]:
    """Return the columns to read, and notes that tell users which columns cannot be used."""
    notes: list[str] = []
    chosen = requested_columns(addressable_columns(columns, notes), paths)
    _note_opaque(chosen, notes)
    return chosen, notes


def choose_selectable_columns(
    columns: Sequence[Column], paths: Paths
) -> tuple[tuple[Column, ...], list[str]]:
    """Return the columns to read from a system whose SQL cannot select one without a name."""
    named = [column for column in columns if column.path.strip()]
    chosen, notes = choose_columns(named, paths)
    if blank := len(columns) - len(named):
        notes.append(f"skipped columns without a name: {blank}")
    return chosen, notes


@contextmanager
def naming_columns(columns: Sequence[Column]) -> Iterator[None]:
    """Within a `with` block, add the columns of a table to an error about its rows."""
    try:
        yield
    except TableWithHeaderError as error:
        error.with_header(each.path for each in columns if each.is_withheld or not each.opaque)
        raise


def readable_paths(columns: Iterable[Column]) -> list[str]:
    """Return the paths of the columns whose values can be compared."""
    return [column.path for column in columns if not column.opaque]


STEP_ROWS = 1 << 10
"""Rows to read at a time from files that may be much larger in memory."""
_BATCH_BYTES = 1 << 26
_LONGEST = 1 << 20
"""Maximum number of characters kept of each value. Values of join columns are far shorter."""
_LIMITS = {"s": 10**12, "ms": 10**15, "us": 10**18, "ns": (1 << 63) - 1}
"""For each unit of time, the maximum distance from 1970 at which Arrow can write a timestamp: at
most about 31,700 years."""
# Days from 1970: about 30,000 years, within the bounds of `_LIMITS`.
_LAST_DAY = 11_000_000

_INVALID = "texts that are not UTF-8, with characters replaced by \ufffd"
_LONG = f"values longer than {_LONGEST} characters, which were cut"
_FAR = "dates and times thousands of years away, which count as missing"


def merge_batches(batches: Iterable[pa.RecordBatch], *, cells: int) -> Iterator[pa.RecordBatch]:
    """Merge small batches into larger ones, because every batch has a fixed cost."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        rows, size = rows + len(batch), size + batch.nbytes
        if pending and (rows * batch.num_columns > cells or size > _BATCH_BYTES):
            yield pa.concat_batches(pending)
            pending, rows, size = [], len(batch), batch.nbytes
        pending.append(batch)
    if pending:
        yield pa.concat_batches(pending)


def with_usable_values(stream: TableStream) -> TableStream:
    """Shorten very long texts, and replace invalid characters and out-of-range dates.

    The table's notes tell users how many values were changed.
    """
    return replace(stream, batches=_usable(stream.batches, stream.notes))


def _usable(batches: Batches, notes: list[str]) -> Batches:
    changed = dict.fromkeys((_INVALID, _LONG, _FAR), 0)
    try:
        with closing(batches):
            for batch in batches:
                columns = [_usable_column(column, changed) for column in batch.columns]
                is_changed = any(a is not b for a, b in zip(columns, batch.columns, strict=True))
                names = batch.schema.names
                yield pa.RecordBatch.from_arrays(columns, names=names) if is_changed else batch
    finally:
        notes += [f"{what}: {count}" for what, count in changed.items() if count]


def _usable_column(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    type_ = column.type
    if pa.types.is_string_view(type_):
        return _usable_column(column.cast(pa.large_string()), changed)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _without_tails(_as_utf8(column, changed), changed)
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return _without_far(column, changed)
    return column


def _as_utf8(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    characters = column.buffers()[2]
    # ASCII is the usual case, and ten times as fast to recognise.
    if characters is None or np.frombuffer(characters, np.int8).min(initial=0) >= 0:
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        binary = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
        written = column.view(binary).to_pylist()
        texts = [None if each is None else each.decode("utf-8", "replace") for each in written]
        pairs = zip(written, texts, strict=True)
        changed[_INVALID] += sum(text is not None and text.encode() != each for each, text in pairs)
        return pa.array(texts, column.type)
    return column


def _without_tails(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    characters = column.buffers()[2]
    # So few bytes cannot hold a value of as many characters.
    if characters is None or characters.size <= _LONGEST:
        return column
    if not (long := pc.sum(pc.greater(pc.utf8_length(column), _LONGEST)).as_py()):
        return column
    changed[_LONG] += long
    return pc.utf8_slice_codeunits(column, 0, _LONGEST)


def _without_far(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    if pa.types.is_date32(column.type):
        units, limit = column.cast(pa.int32()), _LAST_DAY
    else:
        units, limit = column.cast(pa.int64()), _LIMITS[getattr(column.type, "unit", "ms")]
    is_far = pc.or_(pc.less(units, -limit), pc.greater(units, limit))
    if not (far := pc.sum(is_far).as_py()):
        return column
    changed[_FAR] += far
    return pc.if_else(is_far, pa.scalar(None, column.type), column)


SEED = 0
"""Seed of all random choices, so that every run draws the same rows."""


@dataclass(slots=True)
class SampleCount:
    """The numbers of rows that were read and drawn, of a table or of several parts of it."""

    read: int = 0
    drawn: int = 0
    is_cut: bool = False
    """Whether there are more rows, which were not read."""

    def __add__(self, other: "SampleCount") -> "SampleCount":
        return SampleCount(
            self.read + other.read, self.drawn + other.drawn, self.is_cut or other.is_cut
        )

    def notes(self, parts: int = 1) -> list[str]:
        """Return notes for users on the rows that were not read or not drawn."""
        where = f"up to row {self.read}" if parts == 1 else f"{self.read} rows of {parts} parts"
        notes = [f"read {where}; there are more"] if self.is_cut else []
        if self.drawn < self.read:
            notes.append(f"read a sample of {self.drawn / self.read:.2%} of {self.read} rows")
        return notes


def draw(stream: TableStream, *, max_rows: int, max_bytes: int) -> Batches:
    """Draw random rows of a table; add notes if not all rows are read or drawn."""
    count = SampleCount()
    yield from draw_part(stream, count, max_rows=max_rows, max_bytes=max_bytes)
    if not count.read:
        raise EmptyTableError.without_rows().with_header(readable_paths(stream.columns))
    stream.notes.extend(count.notes())


def draw_part(stream: TableStream, count: SampleCount, *, max_rows: int, max_bytes: int) -> Batches:
    """Draw random rows from each batch, in proportion to the batch's size.

    If n rows are still wanted, and N rows remain including this batch of b rows, then n b / N rows
    of the batch are drawn at random: proportional allocation to strata (Cochran, Sampling
    Techniques, 1977, 5.5). Where N is an estimate, later batches compensate for its error. If a
    reader cannot estimate N, the first rows are taken.

    Args:
        stream: The table, or a part of it, which may have no rows.
        max_bytes: Approximate number of bytes to read. At least one row is read.

    Yields:
        The rows drawn of each batch, in the order of the table.
    """
    bytes_left = max_bytes
    with closing(stream.batches) as batches:
        for batch in batches:
            wanted, total, size = max_rows - count.drawn, stream.extent.rows, batch.nbytes
            affordable = max(len(batch) * bytes_left // max(size, 1), int(not count.read))
            limit = affordable if total else min(affordable, wanted)
            read = batch.slice(0, min(len(batch), limit))
            remaining = max(min(total - count.read, affordable), len(read))
            seed = (SEED, count.read)
            rows = read if remaining <= wanted else _draw(read, wanted / remaining, seed)
            yield rows
            count.read, count.drawn = count.read + len(read), count.drawn + len(rows)
            bytes_left -= size
            count.is_cut = len(read) < len(batch)
            if count.is_cut:
                break


def _draw(batch: pa.RecordBatch, share: float, seed: tuple[int, int]) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    # Rounded up or down by chance: always rounded down, short batches would never have a row.
    rows = floor(len(batch) * share + random.random())
    indices = random.choice(len(batch), rows, replace=False, shuffle=False)
    taken = pa.array(np.sort(indices))
    columns = [countable(column).take(taken) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
