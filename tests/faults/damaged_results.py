"""Damage files that an earlier run kept: profiles, evidence and models."""

import json
import logging
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.errors import CheckpointMismatchError, DamagedModelError
from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.model.config import OURS, ModelConfig, NetworkConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.saved.checkpoint import build_initial_model, load_model, save
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.rows import send_profiles
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.tables import ColumnId
from faults.damage import damage, damage_text
from faults.samples import text_files
from faults.watched import Try
from lakes.handmade import lake_of

_EVIDENCE = Evidence(
    shared=2,
    left_containment=1.0,
    right_containment=0.25,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=0.5,
    right_fan_out=1.0,
    rows=2,
)


class _Warnings(logging.Handler):
    """A log handler that counts warnings."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a log record if it is a warning or worse."""
        self.count += record.levelno >= logging.WARNING


class _Kept:
    """A profile store in a folder, with the results that it must return."""

    def __init__(self, folder: Path) -> None:
        self._config = ProfileConfig(store=folder / "store", sketch_size=64)
        tables = [replace(one.table, state="1") for one in text_files(folder)]
        self._profiles = [profile_table(table, self._config, Databases()) for table in tables]
        self._tables = tables
        self._pair = ColumnId(tables[0].id, "id"), ColumnId(tables[1].id, "id")
        self._warnings = _Warnings()
        logging.getLogger("datahub_hyperjoin").addHandler(self._warnings)
        self.write()
        self.contents = {
            file: file.read_bytes() for file in (folder / "store").rglob("*") if file.is_file()
        }

    def write(self) -> None:
        """Write the results that a complete run keeps, and those that a killed run leaves."""
        store = Store(self._config)
        store.keep_profiles(self._profiles[:3])
        store.keep_evidence({self._pair: _EVIDENCE}, self._tables, {})
        store.keep_results("composites", {"key": "[1, 2]"})
        with store.result_folder(self._tables[3:]) as folder:
            for at, profile in enumerate(self._profiles[3:]):
                send_profiles([at], [profile], folder)

    def _all(self) -> dict[object, object]:
        """Map each table, pair and key in the store to what the store contains for it."""
        store = Store(self._config)
        found: dict[object, object] = {}
        found |= dict[object, object](store.profiles(self._tables).items())
        found |= store.evidence([self._pair], self._tables, {})
        return found | {**store.results("composites")}

    def problem(self, file: Path) -> str:
        """Read a store that has a damaged file, write it again, and describe what goes wrong."""
        right = self._right()
        self._warnings.count = 0
        found = self._all()
        if wrong := [key for key, value in found.items() if right.get(key) != value]:
            return f"{file.name} is read as something else: {wrong}"
        # A result file of a killed run is incomplete as a rule, so it needs no warning.
        is_silent = file.parents[1].name == "unfinished" and file.suffix != ".json"
        if len(found) < len(right) and not self._warnings.count and not is_silent:
            return f"{file.name} is ignored without a warning"
        damaged = file.read_bytes()
        self.write()
        is_replaced = not file.exists() or file.read_bytes() != damaged
        if not is_replaced and not self._warnings.count:
            return f"{file.name} is neither replaced nor reported"
        return ""

    def _right(self) -> dict[object, object]:
        profiles: dict[object, object] = {one.table.id: one for one in self._profiles}
        return profiles | {self._pair: _EVIDENCE, "key": "[1, 2]"}


@contextmanager
def stores() -> Iterator[Try]:
    """Yield a function that reads a store with a damaged file.

    The store has profiles, evidence, results and an unfinished run.
    """
    with tempfile.TemporaryDirectory() as name:
        kept = _Kept(Path(name))

        def attempt(draw: random.Random) -> str:
            _restore(Path(name, "store"), kept.contents)
            file = draw.choice([*kept.contents])
            other = kept.contents[draw.choice([*kept.contents])]
            content = damage_text(kept.contents[file], draw, other)
            file.write_bytes(content)
            return kept.problem(file) if content != kept.contents[file] else ""

        yield attempt


def _restore(folder: Path, contents: dict[Path, bytes]) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file not in contents:
            file.unlink()
    for file, content in contents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


@contextmanager
def models() -> Iterator[Try]:
    """Yield a function that loads a damaged model."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "model")
        codes = [f"C{at:03}" for at in range(40)]
        lake = lake_of({"lines": {"code": codes * 2}, "codes": {"code": codes, "id": codes}})
        method = replace(OURS, dimension=16, heads=4)
        config = ModelConfig(path=folder, setting=method, network=NetworkConfig(width=32))
        index = build_lake_index(lake, config, CatalogFacts())
        save(build_initial_model(index, config, Path(name)), folder, config)
        load_model(folder, config)
        contents = {file: file.read_bytes() for file in folder.iterdir()}

        def attempt(draw: random.Random) -> str:
            file, other = draw.choice([*contents]), draw.choice([*contents])
            damager = damage_text if file.suffix == ".json" else damage
            content = damager(contents[file], draw, contents[other])
            file.write_bytes(content)
            try:
                load_model(folder, config)
            except (DamagedModelError, CheckpointMismatchError) as error:
                is_named = str(folder) in str(error) and file.name in str(error)
                return "" if is_named else f"{file.name} is not named: {error}"
            finally:
                file.write_bytes(contents[file])
            same = _read(content) == _read(contents[file])
            return "" if same else f"{file.name} is used although damaged"

        yield attempt


def _read(content: bytes) -> object:
    """Parse JSON, or return the bytes unchanged if they are not valid JSON.

    Damage may repeat a part of the text without changing its meaning.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content
