"""Store profiles and evidence, so that unchanged tables are not read again.

A profile is kept under a key made of everything it depends on: the table's location and state, the
profile settings and this package's version. The key of evidence is made of both tables' states and
both columns. A table of unknown state, such as a view, is read in every run.

Each file of the store holds only what the last run needed, is replaced as a whole, and ends in a
checksum. A damaged file is ignored with a warning, and its results are computed again.
"""

import json
import shutil
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from datetime import date, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin import __version__
from datahub_hyperjoin.errors import StoredFileError
from datahub_hyperjoin.joins import Bridge, Cardinality, Evidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import LostWorkerError
from datahub_hyperjoin.spark.memory import gc_paused
from datahub_hyperjoin.spark.profiles.rows import PROFILE_ROW, from_rows, read_results, to_rows
from datahub_hyperjoin.storage import read_checked, replacing_with_checksum, temporary_folder
from datahub_hyperjoin.tables import Pair, Table, TableId, TableProfile
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_PROFILES_FILE = "profiles.parquet"
_RESULTS_FOLDER, _KEYS_FILE = "unfinished", "keys.json"
"""The folder with an unfinished run's profiles, and the file with the store keys of the tables that
the run profiled."""
_Compared = TypeVar("_Compared", bound=Pair | Bridge)
_Ways = Mapping[_Compared, str] | None
"""How pairs are compared; None for joins through crosswalks, which are in a file of their own."""
_Item = TypeVar("_Item", bound=Hashable)
_Result = TypeVar("_Result")
_BATCH = 1 << 8
"""Profiles per batch. Their sketches are in one Arrow array, which holds 2 GiB at most."""
_KEY = pa.field("key", pa.string())
_PROFILE_SCHEMA = pa.schema([_KEY, *PROFILE_ROW])
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), Cardinality: pa.string()}
_MEASURES = [(each.name, _TYPES[each.type]) for each in fields(Evidence) if each.type in _TYPES]
_EVIDENCE_SCHEMA = pa.schema([_KEY, *pa.schema(_MEASURES)])
"""The measures of pairs; rows are counted only for the joins among them, after this."""

_RESULT_SCHEMA = pa.schema([_KEY, pa.field("json", pa.string())])


NoteDamaged = Callable[[Path, str], None]
"""Receives a file or folder of a store that cannot be read, and the reason."""


def log_damaged(path: Path, reason: str) -> None:
    """Log a warning that a stored file cannot be read."""
    logger.warning("Ignoring the stored file %s, and reading again: %s", path, reason)


class Store:
    """A store of profiles and evidence for later runs.

    It stays empty unless a folder is configured.
    """

    def __init__(self, config: ProfileConfig, note_damaged: NoteDamaged = log_damaged) -> None:
        self.config = config
        self._folder = config.store
        self._ignores_content = config.force
        self.settings = repr(replace(config, store=None, force=False))
        """The settings on which results depend."""
        self._note_damaged = note_damaged

    def profiles(self, tables: Sequence[Table]) -> dict[TableId, TableProfile]:
        """Return the stored profiles of unchanged tables."""
        by_key = {table_key(table, self.settings): table for table in tables if table.state}
        found: dict[TableId, TableProfile] = {}
        with gc_paused():
            for rows in self._stored_profiles():
                own = [by_key.get(key) for key in rows["key"].to_pylist()]
                # Filtered before conversion, which is the expensive step.
                chosen = rows.filter(pa.array([table is not None for table in own], pa.bool_()))
                profiles = from_rows(filter(None, own), chosen)
                found |= {each.table.id: each for each in profiles if not each.fault}
        return found

    @contextmanager
    def result_folder(self, tables: Sequence[Table]) -> Iterator[Path]:
        """Provide a folder into which workers write each finished profile."""
        with ExitStack() as opened:
            folder = self._new_results([table_key(table, self.settings) for table in tables])
            yield folder or opened.enter_context(temporary_folder())

    def keep_profiles(self, profiles: Sequence[TableProfile]) -> None:
        """Replace the stored profiles with this run's profiles."""
        # The next run tries unreadable tables again.
        kept = [profile for profile in profiles if profile.table.state and not profile.fault]
        batches = []
        for start in range(0, len(kept), _BATCH):
            some = kept[start : start + _BATCH]
            keys = pa.array([table_key(each.table, self.settings) for each in some], pa.string())
            columns = [keys, *to_rows(some).columns]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=_PROFILE_SCHEMA))
        self._write(_PROFILES_FILE, pa.Table.from_batches(batches, _PROFILE_SCHEMA))
        self._discard_results()

    def discard_profiles(self) -> None:
        """Delete all stored profiles, which contain values from tables."""
        if self._folder is not None:
            (self._folder / _PROFILES_FILE).unlink(missing_ok=True)
            self._discard_results()

    def evidence(
        self, compared: Sequence[_Compared], tables: Sequence[Table], ways: _Ways[_Compared] = None
    ) -> dict[_Compared, Evidence]:
        """Return the stored evidence of what has unchanged tables and ways of comparison."""
        batches = self._read(_evidence_file(ways), _EVIDENCE_SCHEMA)
        rows = (row for batch in batches for row in batch.to_pylist())
        stored = {
            row.pop("key"): {**row, "cardinality": Cardinality(row["cardinality"])} for row in rows
        }
        keys = _evidence_keys(compared, tables, ways)
        return {each: Evidence(**stored[key]) for each, key in keys.items() if key in stored}

    def keep_evidence(
        self,
        evidence: Mapping[_Compared, Evidence],
        tables: Sequence[Table],
        ways: _Ways[_Compared] = None,
    ) -> None:
        """Replace the stored evidence with this run's evidence."""
        keys = _evidence_keys([*evidence], tables, ways)
        found = [evidence[compared] for compared in keys]
        # By columns: `asdict` would copy each of a million measures on its own.
        columns = {
            field: [getattr(each, field) for each in found] for field in _EVIDENCE_SCHEMA.names[1:]
        }
        columns["cardinality"] = [each.cardinality.value for each in found]
        rows = pa.Table.from_pydict({"key": [*keys.values()], **columns}, schema=_EVIDENCE_SCHEMA)
        self._write(_evidence_file(ways), rows)

    def results(self, name: str) -> dict[str, str]:
        """Return the stored results of one kind, such as `lost_tables`, as JSON texts by key."""
        batches = self._read(f"{name}.parquet", _RESULT_SCHEMA)
        return {row["key"]: row["json"] for batch in batches for row in batch.to_pylist()}

    def keep_results(self, name: str, results: Mapping[str, str]) -> None:
        """Replace the stored results of one kind with this run's results."""
        rows = [{"key": key, "json": text} for key, text in results.items() if key]
        self._write(f"{name}.parquet", pa.Table.from_pylist(rows, schema=_RESULT_SCHEMA))

    def reuse_results(
        self,
        name: str,
        keys: Mapping[_Item, str],
        make: Callable[[list[_Item]], Mapping[_Item, _Result]],
        *,
        dump: Callable[[_Result], str],
        load: Callable[[str], _Result],
    ) -> dict[_Item, _Result]:
        """Read the stored results of items by their keys, make the missing ones, and keep all."""
        kept = self.results(name)
        found = {item: load(kept[key]) for item, key in keys.items() if key in kept}
        found |= make([item for item in keys if item not in found])
        self.keep_results(name, {keys[item]: dump(result) for item, result in found.items()})
        return found

    def _discard_results(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder / _RESULTS_FOLDER, ignore_errors=True)

    def _new_results(self, keys: Sequence[str]) -> Path | None:
        if self._folder is None:
            return None
        folder = self._folder / _RESULTS_FOLDER / uuid4().hex
        try:
            # One by one, because `mkdir(parents=True)` ignores the mode for outer folders.
            for new in (self._folder, folder.parent, folder):
                new.mkdir(mode=0o700, exist_ok=True)
            # With a checksum, because a damaged key could be that of another table.
            with replacing_with_checksum(folder / _KEYS_FILE) as unfinished:
                unfinished.write_text(json.dumps(keys))
        except OSError as error:
            logger.warning("Cannot store results as they come in %s: %s", self._folder, error)
            return None
        return folder

    def _stored_profiles(self) -> Iterator[pa.RecordBatch]:
        """Yield all stored profiles, including the profiles of interrupted runs."""
        yield from self._read(_PROFILES_FILE, _PROFILE_SCHEMA)
        if self._folder is None or self._ignores_content:
            return
        for folder in sorted((self._folder / _RESULTS_FOLDER).glob("*")):
            yield from self._unfinished_profiles(folder)

    def _unfinished_profiles(self, folder: Path) -> Iterator[pa.RecordBatch]:
        try:
            keys = json.loads(bytes(read_checked(folder / _KEYS_FILE)))
            for rows in read_results(folder):
                own = pa.array([keys[at] for at in rows["table"].to_pylist()], pa.string())
                columns = [own, *rows.columns[1:]]
                yield pa.RecordBatch.from_arrays(columns, schema=_PROFILE_SCHEMA)
        except (StoredFileError, pa.ArrowException, OSError) as error:
            self._note_damaged(folder, f"{type(error).__name__}: {error}")

    def _read(self, name: str, schema: pa.Schema) -> list[pa.RecordBatch]:
        if self._folder is None or self._ignores_content or not (self._folder / name).exists():
            return []
        try:
            rows = pq.read_table(pa.BufferReader(read_checked(self._folder / name)))
            if not rows.schema.equals(schema):
                message = "another version of this package wrote it"
                raise pa.ArrowInvalid(message)
        except (StoredFileError, pa.ArrowException, OSError) as error:
            self._note_damaged(self._folder / name, str(error))
            return []
        return rows.to_batches()

    def _write(self, name: str, table: pa.Table) -> None:
        if self._folder is None:
            return
        try:
            with replacing_with_checksum(self._folder / name) as unfinished:
                pq.write_table(table, unfinished)
        except (StoredFileError, OSError) as error:
            logger.warning("Cannot store results for the next run in %s: %s", self._folder, error)


def result_key(tables: Sequence[Table], *parts: str) -> str:
    """Build the store key of a result that depends on several tables."""
    if not all(table.state for table in tables):
        return ""
    return sha256(repr([*map(table_key, tables), *parts]).encode()).hexdigest()


def table_key(table: Table, *settings: str) -> str:
    """Build the store key of results that depend on one table."""
    # The version is part of the key, because another one may compute other profiles.
    parts = [__version__, repr(table.id), repr(table.location), table.state, *settings]
    return sha256(repr(parts).encode()).hexdigest()


def _evidence_file(ways: _Ways[_Compared]) -> str:
    return "crosswalks.parquet" if ways is None else "evidence.parquet"


def _evidence_keys(
    compared: Sequence[_Compared], tables: Sequence[Table], ways: _Ways[_Compared]
) -> dict[_Compared, str]:
    """Return store keys, based on the tables and on how values are compared."""
    states = {table.id: table_key(table) for table in tables if table.state}
    keys: dict[_Compared, str] = {}
    for each in compared:
        columns = [*each] if isinstance(each, tuple) else [*each.columns]
        if all(column.table in states for column in columns):
            parts: list[object] = [(states[column.table], column.path) for column in columns]
            parts += [] if ways is None else [ways.get(each, "")]
            keys[each] = sha256(repr(parts).encode()).hexdigest()
    return keys


_NAME = "lost_tables"
_FAULT = str(LostWorkerError.by_reading())
_WAIT = timedelta(days=7)
"""Time after which an unchanged table is read again: the machine may have more memory by then."""


class LostTables:
    """The tables that crashed a worker in an earlier run, and have not changed since."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days = store.results(_NAME)

    def known(self, tables: Iterable[Table]) -> dict[TableId, TableProfile]:
        """For each table that recently crashed a worker, return a profile that says so."""
        found = {}
        for table in tables:
            if (day := self._day(table)) and _today() < day + _WAIT:
                fault = str(LostWorkerError.by_reading_on(day, again=day + _WAIT))
                found[table.id] = TableProfile(table=table, fault=fault)
        return found

    def keep(self, profiles: Iterable[TableProfile]) -> None:
        """Remember the tables that crashed a worker in this run or an earlier one."""
        kept = {
            self._key(one.table): json.dumps(day.isoformat())
            for one in profiles
            if one.fault
            and one.table.state
            and (day := _today() if one.fault == _FAULT else self._day(one.table))
        }
        if kept != self._days or self._store.config.force:
            self._store.keep_results(_NAME, kept)

    def _day(self, table: Table) -> date | None:
        """Return the day on which a table crashed a worker, or None if no day is stored."""
        day = self._days.get(self._key(table))
        return date.fromisoformat(json.loads(day)) if day else None

    def _key(self, table: Table) -> str:
        return result_key([table], self._store.settings)


def _today() -> date:
    return datetime.now(timezone.utc).date()
