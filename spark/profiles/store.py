"""Keeps what was read, so that what has not changed since is not read again.

A profile is kept under what it was made from: the table's place and state, what was to be read of
it, and this package's version. Evidence is kept under both tables' states and both columns. A table
whose state nothing tells, such as a view, is read every time.

Each file of the store holds what the last run needed and no more, and is replaced as a whole.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin import __version__
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.gc_tuning import without_collecting
from datahub_hyperjoin.spark.profiles.rows import PROFILE_ROW, from_rows, to_rows
from datahub_hyperjoin.tables import Cardinality, Evidence, Pair, Table, TableId, TableProfile

logger = logging.getLogger(__name__)

_PROFILES, _EVIDENCE = "profiles.parquet", "evidence.parquet"
_BATCH = 1 << 8
"""Profiles that are written at once: Arrow's arrays are of 2 GiB at most."""
_KEY = pa.field("key", pa.string())
_PROFILE = pa.schema([_KEY, *PROFILE_ROW])
_SAID = pa.schema(
    [
        _KEY,
        *pa.schema(
            {
                "shared": pa.int64(),
                "left_containment": pa.float64(),
                "right_containment": pa.float64(),
                "cardinality": pa.string(),
                "left_fan_out": pa.float64(),
                "right_fan_out": pa.float64(),
                "compared_as": pa.string(),
            }
        ),
    ]
)


class Store:
    """A folder of profiles and evidence; without a folder it keeps nothing.

    Args:
        config: The folder, whether what it holds counts, and what profiles are made of.
    """

    def __init__(self, config: ProfileConfig) -> None:
        self._folder = config.store
        self._read_again = config.force
        self._made_of = repr(replace(config, store=None, force=False))

    def profiles(self, tables: Sequence[Table]) -> dict[TableId, TableProfile]:
        """Profiles of tables that have not changed.

        Args:
            tables: Those of this run.

        Returns:
            What is kept of them.
        """
        known = {_key(table, self._made_of): table for table in tables if table.state}
        with without_collecting():
            return {
                profile.table.id: profile
                for rows in self._batches(_PROFILES, _PROFILE)
                for profile in _profiles(rows, known)
            }

    def keep_profiles(self, profiles: Sequence[TableProfile]) -> None:
        """Keeps profiles, in place of all that are kept.

        Args:
            profiles: Those of this run; one with a fault is tried again by the next.
        """
        kept = [one for one in profiles if one.table.state and not one.fault]
        keys = pa.array([_key(one.table, self._made_of) for one in kept], pa.string())
        batches = [
            pa.RecordBatch.from_arrays(
                [keys[at : at + _BATCH], *to_rows(kept[at : at + _BATCH]).columns], schema=_PROFILE
            )
            for at in range(0, len(kept), _BATCH)
        ]
        self._write(_PROFILES, pa.Table.from_batches(batches, _PROFILE))

    def evidence(
        self, pairs: Sequence[Pair], tables: Sequence[Table], kinds: Mapping[Pair, str]
    ) -> dict[Pair, Evidence]:
        """What was said of pairs whose tables have not changed.

        Args:
            pairs: Those of this run.
            tables: Where their columns stand.
            kinds: Of pairs whose columns hold things of one kind, which.

        Returns:
            What is kept of them.
        """
        held = [row for rows in self._batches(_EVIDENCE, _SAID) for row in rows.to_pylist()]
        rows = {row.pop("key"): row for row in held}
        keys = _pair_keys(pairs, tables, kinds)
        return {pair: _evidence(rows[key]) for pair, key in keys.items() if key in rows}

    def keep_evidence(
        self, found: Mapping[Pair, Evidence], tables: Sequence[Table], kinds: Mapping[Pair, str]
    ) -> None:
        """Keeps what was said of pairs, in place of all that is kept.

        Args:
            found: The pairs of this run.
            tables: Where their columns stand.
            kinds: Of pairs whose columns hold things of one kind, which.
        """
        keys = _pair_keys([*found], tables, kinds)
        rows = [{"key": key, **asdict(found[pair])} for pair, key in keys.items()]
        rows = [{**row, "cardinality": row["cardinality"].value} for row in rows]
        self._write(_EVIDENCE, pa.Table.from_pylist(rows, schema=_SAID))

    def _batches(self, name: str, schema: pa.Schema) -> list[pa.RecordBatch]:
        if self._folder is None or self._read_again or not (self._folder / name).exists():
            return []
        try:
            rows = pq.read_table(self._folder / name)
            if not rows.schema.equals(schema):
                message = "its columns are those of another version"
                raise pa.ArrowInvalid(message)
        except (pa.ArrowException, OSError) as error:
            logger.warning("What %s holds cannot be used: %s", self._folder / name, error)
            return []
        return rows.to_batches()

    def _write(self, name: str, table: pa.Table) -> None:
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = self._folder / f".{name}"
            pq.write_table(table, unfinished)
            unfinished.replace(self._folder / name)
        except OSError as error:
            logger.warning("Nothing is kept for the next run in %s: %s", self._folder, error)


def _key(table: Table, *rest: str) -> str:
    made_of = [__version__, repr(table.id), repr(table.place), table.state, *rest]
    return sha256(repr(made_of).encode()).hexdigest()


def _pair_keys(
    pairs: Sequence[Pair], tables: Sequence[Table], kinds: Mapping[Pair, str]
) -> dict[Pair, str]:
    states = {table.id: _key(table) for table in tables if table.state}
    keys = {}
    for pair in pairs:
        if all(column.table in states for column in pair):
            ends = [(states[column.table], column.path) for column in pair]
            keys[pair] = sha256(repr([*ends, kinds.get(pair, "")]).encode()).hexdigest()
    return keys


def _profiles(rows: pa.RecordBatch, known: Mapping[str, Table]) -> list[TableProfile]:
    tables = [known.get(key) for key in rows["key"].to_pylist()]
    chosen = rows.filter(pa.array([table is not None for table in tables], pa.bool_()))
    return from_rows(filter(None, tables), chosen)


def _evidence(row: dict[str, Any]) -> Evidence:
    return Evidence(**{**row, "cardinality": Cardinality(row["cardinality"])})
