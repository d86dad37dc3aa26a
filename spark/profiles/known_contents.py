"""Recognise tables whose files were written again with the same content.

Exports often write every file anew, though few rows have changed. Such a file has the size that it
had before, but another time of change. So the store keeps a checksum of each table in files, and a
table with the same checksum keeps its state, and with it all that earlier runs stored. Of a file in
an object store, the entity tag stands for the checksum, so that no byte is read.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TypeVar

from loky import cpu_count

from datahub_hyperjoin.locations import File, Folder, ObjectStore, is_remote
from datahub_hyperjoin.spark.files.formats import format_named
from datahub_hyperjoin.spark.files.stored import DataPath, StoredFile, entity_tag, local_path
from datahub_hyperjoin.spark.profiles.store import Store, table_key
from datahub_hyperjoin.storage import checksum
from datahub_hyperjoin.tables import Table, TableId, TableProfile

_NAME = "contents"
_MOST_BYTES = 1 << 34
"""Bytes of files that a run reads for checksums. They take seconds, also where executors read far
larger tables."""

_MOST_REQUESTS = 1 << 14
"""Maximum number of entity tags that a run requests before it reads tables, and again after it."""
_THREADS = 32
"""Number of entity tags that are requested at the same time."""

_File = TypeVar("_File", bound=DataPath)
_Marks = tuple[str, ...]
"""Of each file of a table, the size and the time of change, or the entity tag."""


@dataclass(frozen=True)
class _Content:
    """The content of a table, as an earlier run read it."""

    state: str
    """The table's state under which results are stored."""

    seen: str
    """The state of the files in the last run."""

    size: int
    checksum: str


class KnownContents:
    """The contents of tables in files, as earlier runs read them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts = store.results(_NAME)
        self._seen: dict[TableId, str] = {}
        self._marks: dict[TableId, _Marks] = {}
        self._sums: dict[TableId, str] = {}
        self.written_again = 0
        """Number of tables whose files were written again with the same content."""

    def recognise(self, tables: Sequence[Table]) -> list[Table]:
        """Give each table whose content is known the state under which results are stored."""
        config = self._store.config
        if config.store is None or not config.keep_values:
            return [*tables]
        filed = [table for table in tables if table.state and _uris(table)[0]]
        self._seen = {table.id: table.state for table in filed}
        known = {table.id: content for table in filed if (content := self._content(table))}
        seen = {id_: content.seen for id_, content in known.items()}
        unseen = [each for each in filed if seen.get(each.id) != each.state]
        self._marks = _marks(unseen)
        alike = [each for each in unseen if each.id in known and each.size == known[each.id].size]
        self._sums = _checksums(alike, self._marks)
        self.written_again = sum(found == known[id_].checksum for id_, found in self._sums.items())
        return [
            replace(table, state=_state(table, known[table.id], self._sums.get(table.id, "")))
            if table.id in known
            else table
            for table in tables
        ]

    def keep(self, profiles: Iterable[TableProfile]) -> None:
        """Keep the checksums of the tables that this run has profiles of."""
        tables = [each.table for each in profiles if not each.fault and each.table.id in self._seen]
        kept, new = dict[str, _Content](), list[Table]()
        for table in tables:
            content = self._content(table)
            if content and content.state == table.state:
                kept[_key(table)] = replace(content, seen=self._seen[table.id])
            else:
                new.append(table)
        unread = [table for table in new if table.id not in self._sums]
        sums = self._sums | _checksums(unread, self._marks)
        marks = _marks(new)  # after the files were read
        # Tables whose files have changed since the run began get none.
        for table in new:
            if table.id in sums and marks.get(table.id, ()) == self._marks.get(table.id):
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


def _uris(table: Table) -> tuple[list[str], ObjectStore | None]:
    """List the files that hold a table, and their store; none if other files belong to it, too."""
    match table.location:
        case File(uri=uri, format=form, store=store) if not format_named(form).schema_suffix:
            return [uri], store
        case Folder(parts=parts, store=store) as folder:
            from datahub_hyperjoin.spark.files.folder import file_of  # noqa: PLC0415 (of few lakes)

            return [*dict.fromkeys(file_of(folder, part).uri for part in parts)], store
        case _:
            return [], None


def _local_files(table: Table) -> list[Path]:
    uris, store = _uris(table)
    return [] if store or not uris or is_remote(uris[0]) else [*map(local_path, uris)]


def _stored_files(table: Table) -> list[StoredFile]:
    """List the files in S3; the tags of other stores change whenever a file is written."""
    uris, store = _uris(table)
    return [StoredFile(uri, store) for uri in uris if uri.startswith("s3:")] if store else []


def _marks(tables: Sequence[Table]) -> dict[TableId, _Marks]:
    """Return the marks of tables; none of a table that is not readable.

    Tables of object stores come with the fewest files first, until a run has sent enough requests.
    """
    few = _first(tables, lambda table: len(_stored_files(table)), _MOST_REQUESTS)
    with ThreadPoolExecutor(_THREADS) as threads:
        tags = _of_files(few, _stored_files, entity_tag, threads.map)
    return tags | _of_files(tables, _local_files, _status, map)


def _checksums(tables: Sequence[Table], marks: Mapping[TableId, _Marks]) -> dict[TableId, str]:
    """Compute checksums of tables, the smallest first, until a run has read enough.

    Tables that cannot be read are left out. In object stores, the marks of tables are enough.
    """
    local = _first(filter(_local_files, tables), lambda table: table.size, _MOST_BYTES)
    with ThreadPoolExecutor(cpu_count()) as threads:
        sums = _of_files(local, _local_files, checksum, threads.map)
    stored = [table.id for table in tables if _stored_files(table)]
    sums |= {id_: marks[id_] for id_ in stored if id_ in marks}
    return {id_: sha256(repr(own).encode()).hexdigest() for id_, own in sums.items()}


def _first(tables: Iterable[Table], cost: Callable[[Table], int], most: int) -> list[Table]:
    """Return the cheapest tables whose total cost is at most `most`."""
    by_cost = sorted(tables, key=lambda table: (cost(table), table.id))
    return by_cost[: sum(1 for _ in takewhile(most.__ge__, accumulate(map(cost, by_cost))))]


def _of_files(
    tables: Iterable[Table],
    files: Callable[[Table], list[_File]],
    find: Callable[[_File], str],
    map_: Callable[..., Iterable[str]],
) -> dict[TableId, _Marks]:
    """Find something about each file of some tables; leave out tables of which it is not found."""
    own = {table.id: files(table) for table in tables}
    # Tables of one workbook or database share a file.
    paths = [*dict.fromkeys(path for listed in own.values() for path in listed)]
    found = dict(zip(paths, map_(partial(_attempt, find), paths), strict=True))
    of_tables = {id_: tuple(found[path] for path in listed) for id_, listed in own.items()}
    return {id_: each for id_, each in of_tables.items() if each and all(each)}


def _attempt(find: Callable[[_File], str], path: _File) -> str:
    try:
        return find(path)
    except OSError:
        return ""


def _status(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"
