"""Recognise tables whose files were written again with the same content.

Exports often write every file anew, though few rows have changed. Such a file has the size that it
had before, but another time of change. So the store keeps a checksum of each table in local files,
and a table with the same checksum keeps its state, and with it all that earlier runs stored.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import accumulate, takewhile
from pathlib import Path

from loky import cpu_count

from datahub_hyperjoin.file_formats import FileFormat
from datahub_hyperjoin.locations import File, Folder, WorkbookSheet, is_remote
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.profiles.store_keys import table_key
from datahub_hyperjoin.storage import checksum
from datahub_hyperjoin.tables import Table, TableId, TableProfile

_NAME = "contents"
_MOST_BYTES = 1 << 34
"""Bytes of files that a run reads for checksums. They take seconds, also where executors read far
larger tables."""

_Times = tuple[tuple[int, int], ...]
"""Size and time of change of each file of a table."""


@dataclass(frozen=True)
class _Content:
    """The content of a table, as an earlier run read it."""

    state: str
    """The table's state under which results are stored."""

    seen: str
    """The state of the files in the last run."""

    size: int
    """Bytes of all files."""

    checksum: str


class KnownContents:
    """The contents of tables in local files, as earlier runs read them.

    Args:
        store: Keeps the checksums.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts = store.results(_NAME)
        self._seen: dict[TableId, str] = {}
        self._times: dict[TableId, _Times] = {}
        self._sums: dict[TableId, str] = {}
        self.written_again = 0
        """Number of tables whose files were written again with the same content."""

    def recognise(self, tables: Sequence[Table]) -> list[Table]:
        """Give each table whose content is known the state under which results are stored.

        Only files that have the same size and another time of change are read, and none if no
        hashes of values may be kept.

        Args:
            tables: The tables of this run, with the states of their files.

        Returns:
            The same tables, in the same order.
        """
        config = self._store.config
        if config.store is None or not config.keep_values:
            return [*tables]
        local = [table for table in tables if table.state and _files(table)]
        self._seen = {table.id: table.state for table in local}
        known = {table.id: content for table in local if (content := self._content(table))}
        unseen = [
            each for each in local if each.id not in known or known[each.id].seen != each.state
        ]
        self._times = {table.id: _times(table) for table in unseen}
        self._sums = _checksums(
            table for table in unseen if table.id in known and table.size == known[table.id].size
        )
        self.written_again = sum(found == known[id_].checksum for id_, found in self._sums.items())
        return [
            replace(table, state=_state(table, known[table.id], self._sums.get(table.id, "")))
            if table.id in known
            else table
            for table in tables
        ]

    def keep(self, profiles: Iterable[TableProfile]) -> None:
        """Keep the checksums of the tables that this run has profiles of.

        Tables whose files have changed since the run began get none.

        Args:
            profiles: All profiles of this run.
        """
        tables = [each.table for each in profiles if not each.fault and each.table.id in self._seen]
        kept, new = dict[str, _Content](), list[Table]()
        for table in tables:
            content = self._content(table)
            if content and content.state == table.state:
                kept[_key(table)] = replace(content, seen=self._seen[table.id])
            else:
                new.append(table)
        sums = self._sums | _checksums(table for table in new if table.id not in self._sums)
        for table in new:
            if table.id in sums and _times(table) == self._times[table.id] != ():
                seen = self._seen[table.id]
                kept[_key(table)] = _Content(table.state, seen, table.size, sums[table.id])
        texts = {key: json.dumps(asdict(content)) for key, content in kept.items()}
        if texts != self._texts:
            self._store.keep_results(_NAME, texts)

    def _content(self, table: Table) -> _Content | None:
        text = self._texts.get(_key(table))
        return _Content(**json.loads(text)) if text else None


def _key(table: Table) -> str:
    return table_key(replace(table, state=""))


def _state(table: Table, content: _Content, checksum_now: str) -> str:
    """Return the state under which results about the present content of a table are stored."""
    if table.state == content.seen or checksum_now == content.checksum:
        return content.state
    # The older content may have had the same size and time of change.
    return table.state if table.state != content.state else f"{table.state} {checksum_now}"


def _files(table: Table) -> list[Path]:
    """List the local files that hold a table; none if other files belong to it, too."""
    match table.location:
        case File(uri=uri, format=form, store=None) if form is not FileFormat.FIXED_WIDTH:
            names = [uri]
        case WorkbookSheet(uri=uri, store=None):
            names = [uri]
        case Folder(uri=uri, parts=parts, store=None):
            names = [f"{uri}/{part}" for part in parts]
        case _:
            return []
    return [] if is_remote(names[0]) else [*map(local_path, names)]


def _times(table: Table) -> _Times:
    """Return size and time of change of each file of a table; nothing if one is not readable."""
    try:
        status = [path.stat() for path in _files(table)]
    except OSError:
        return ()
    return tuple((each.st_size, each.st_mtime_ns) for each in status)


def _checksums(tables: Iterable[Table]) -> dict[TableId, str]:
    """Compute checksums of tables, the smallest first, until a run has read enough.

    Tables that cannot be read are left out.
    """
    by_size = sorted(tables, key=lambda table: (table.size, table.id))
    ends = accumulate(table.size for table in by_size)
    some = by_size[: sum(1 for _ in takewhile(_MOST_BYTES.__ge__, ends))]
    files = {table.id: _files(table) for table in some}
    # Tables of one workbook or database share a file.
    paths = [*dict.fromkeys(path for own in files.values() for path in own)]
    with ThreadPoolExecutor(cpu_count()) as threads:
        sums: Mapping[Path, str] = dict(zip(paths, threads.map(_checksum, paths), strict=True))
    found = {id_: [sums[path] for path in own] for id_, own in files.items()}
    return {id_: sha256(repr(own).encode()).hexdigest() for id_, own in found.items() if all(own)}


def _checksum(path: Path) -> str:
    try:
        return checksum(path)
    except OSError:
        return ""
