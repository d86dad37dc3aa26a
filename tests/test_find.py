"""Test the whole pipeline, from tables and catalog facts to findings, on known joins."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pycountry
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_all
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Verdict
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.config import (
    OURS,
    ModelConfig,
    NetworkConfig,
    RankingConfig,
    Scoring,
    TrainingConfig,
)
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.tables import ColumnId, DataType, Pair, Table, TableId, pair_of

ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED, by="urn:li:corpuser:ada")
REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)
QUICK = ModelConfig(
    setting=replace(OURS, dimension=16, heads=4),
    network=NetworkConfig(width=32),
    training=TrainingConfig(epochs=2),
    ranking=RankingConfig(top_k=2, scoring=Scoring.BLEND),
)


class Watcher:
    """A progress report that remembers everything."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.counts: dict[str, float] = {}
        self.warnings: list[tuple[str, str]] = []
        self.lines: list[str] = []

    @property
    def repeated_counts(self) -> dict[str, float]:
        """The counts that do not depend on how much memory is free."""
        return {name: count for name, count in self.counts.items() if not name.endswith("_mib")}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.stages.append(name)
        yield

    def count(self, name: str, by: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def say(self, line: str) -> None:
        assert line
        self.lines.append(line)

    def warn(self, title: str, message: str, context: str) -> None:
        assert message
        self.warnings.append((title, context))


def column(path: str) -> ColumnId:
    table, _, name = path.rpartition(".")
    return ColumnId(TableId("file", table), name)


def pair(one: str, other: str) -> Pair:
    return pair_of(column(one), column(other))


def write(folder: Path, name: str, columns: Mapping[str, list[str]]) -> Table:
    rows = zip(*columns.values(), strict=True)
    file = folder / f"{name}.csv"
    file.write_text("\n".join([",".join(columns), *map(",".join, rows)]) + "\n")
    return Table(
        id=TableId("file", name),
        title=name,
        location=File(uri=str(file), format="csv"),
        size=file.stat().st_size,
    )


@pytest.fixture
def tables(tmp_path: Path) -> list[Table]:
    codes = [f"{a}{b}" for a in "ABDEFH" for b in "JKLMN"]
    random = np.random.default_rng(0)
    notes = [f"note {letter}" for letter in "abcdefghij"]
    return [
        write(tmp_path, "airlines", {"carrier": codes, "name": [f"{c} Airways" for c in codes]}),
        write(
            tmp_path,
            "flights",
            {"carrier": random.choice(codes, 200).tolist(), "minutes": ["7"] * 200},
        ),
        write(tmp_path, "memos", {"memo": notes, "page": [str(at) for at in range(10)]}),
    ]


def find(tables: list[Table], facts: CatalogFacts | None = None) -> tuple[Findings, Watcher]:
    """Find joins in this process, which takes a fraction of Spark's time."""
    watcher = Watcher()
    catalog = Catalog(tables=tables) if facts is None else Catalog(tables=tables, facts=facts)
    found = find_all(catalog, FindConfig(model=QUICK), watcher, lambda: None)
    return found, watcher


CARRIERS = pair("airlines.carrier", "flights.carrier")
ODD = pair("airlines.name", "memos.memo")


def test_no_knowledge_is_the_default(tables: list[Table]) -> None:
    found, watcher = find(tables)
    again, other = find(tables, CatalogFacts())
    elsewhere, _ = find(tables, CatalogFacts(pairs={pair("lost.x", "lost.y"): ACCEPTED}))
    assert found == again == elsewhere
    assert (watcher.stages, watcher.repeated_counts) == (other.stages, other.repeated_counts)
    assert watcher.warnings == []
    assert [(join.left, join.right) for join in found.joins] == [CARRIERS]
    assert found.joins[0].catalog == CatalogEvidence()


def test_what_people_decided_is_kept_and_left_out(tables: list[Table]) -> None:
    found, _ = find(tables, CatalogFacts(pairs={CARRIERS: REJECTED, ODD: ACCEPTED}))
    [join] = found.joins
    assert (join.left, join.right, join.catalog) == (*ODD, ACCEPTED)
    assert join.measured.shared == 0
    asked = [(one.query, one.candidate, one.rank) for one in found.suggestions]
    assert asked == [(*ODD, 1), (*ODD[::-1], 1)]
    assert {column("airlines.name"), column("memos.memo")} <= set(found.keys)


def test_a_join_shows_what_the_catalog_says(tables: list[Table]) -> None:
    said = CatalogEvidence(declared="fk_carrier", queries=4)
    plain, _ = find(tables)
    found, _ = find(tables, CatalogFacts(pairs={CARRIERS: said}))
    assert [join.catalog for join in found.joins] == [said]
    assert found.joins[0].joinability > max(0.97, plain.joins[0].joinability)
    assert found.model_version != plain.model_version


def test_columns_that_the_catalog_lacks_are_left_out(tables: list[Table]) -> None:
    columns = {
        TableId("file", "flights"): frozenset(["minutes"]),
        TableId("file", "lost"): frozenset(["x"]),
    }
    found, watcher = find(tables, CatalogFacts(columns=columns))
    assert watcher.warnings == [("Column not in the catalog", "flights: carrier")]
    assert found.joins == ()
    assert column("flights.carrier") not in found.types
    assert found.types[column("flights.minutes")] is DataType.INTEGER


def test_a_warning_names_only_the_first_columns(tables: list[Table], tmp_path: Path) -> None:
    wide = write(tmp_path, "wide", {f"c{at}": ["1", "2"] for at in range(8)})
    facts = CatalogFacts(columns={wide.id: frozenset(["c0"])})
    _, watcher = find([*tables, wide], facts)
    context = "wide: c1, c2, c3, c4, c5 and 2 more"
    assert watcher.warnings == [("Column not in the catalog", context)]


def test_an_accepted_pair_of_a_table_that_cannot_be_read_is_not_found(
    tables: list[Table], tmp_path: Path
) -> None:
    (tmp_path / "memos.csv").write_text("")
    found, watcher = find(tables, CatalogFacts(pairs={ODD: ACCEPTED}))
    assert found.unread == {TableId("file", "memos")}
    assert [title for title, _ in watcher.warnings] == ["Table skipped"]
    assert [(join.left, join.right) for join in found.joins] == [CARRIERS]


class Killer(Watcher):
    """A progress report that ends the run when the first epoch is reported."""

    def say(self, line: str) -> None:
        super().say(line)
        if line.startswith("Epoch"):
            raise KeyboardInterrupt


def test_a_run_that_was_killed_goes_on_and_says_so(tables: list[Table], tmp_path: Path) -> None:
    watchers = []
    for watcher in (Killer(), Watcher()):
        watchers.append(watcher)
        with suppress(KeyboardInterrupt):
            find_all(
                Catalog(tables=tables),
                FindConfig(model=replace(QUICK, path=tmp_path / "model")),
                watcher,
                lambda: None,
            )
    first, second = (watcher.lines[1:] for watcher in watchers)  # after the estimate
    assert [line[:20] for line in first] == ["Epoch 1 of at most 2"]
    assert second[0] == "Resuming training after epoch 1, where an earlier run ended"
    assert [line[:20] for line in second[1:]] == ["Epoch 2 of at most 2"]


def test_codes_and_names_are_confirmed_as_what_they_stand_for(tmp_path: Path) -> None:
    listed = [one for one in pycountry.countries if "," not in one.name]
    names = [f"{one.name}" for one in listed]
    offices = names[:60:2] * 2
    lake = [
        write(
            tmp_path, "iso", {"code": [one.alpha_2 for one in listed], "area": ["9"] * len(listed)}
        ),
        write(tmp_path, "offices", {"country": offices, "staff": ["7"] * len(offices)}),
    ]
    (join,) = find(lake)[0].joins
    assert (join.left, join.right) == pair("iso.code", "offices.country")
    assert (join.measured.shared, join.measured.compared_as) == (30, "countries")
    assert join.measured.right_containment == 1
    assert join.measured.cardinality is Cardinality.ONE_MANY


def test_what_has_not_changed_is_not_read_again(
    spark_for_all: SparkSession, tables: list[Table], tmp_path: Path
) -> None:
    kept = ProfileConfig(store=tmp_path / "kept")
    lake = [replace(table, state="1") for table in tables]
    started: list[SparkSession] = []

    def start() -> SparkSession:
        started.append(spark_for_all)
        return spark_for_all

    def run(lake: list[Table], config: ProfileConfig = kept) -> tuple[Findings, Watcher]:
        watcher = Watcher()
        started.clear()
        found = find_all(
            Catalog(tables=lake), FindConfig(profile=config, model=QUICK), watcher, start
        )
        return found, watcher

    first, told = run(lake)
    assert told.counts["tables_from_profile_store"] == 0
    assert started
    again, told = run(lake)
    assert again == first
    assert told.counts["tables_from_profile_store"] == told.counts["tables_profiled"] == 3
    assert started == []
    (tmp_path / "memos.csv").write_text("memo,page\nnew,1\nother,2\n")
    changed, told = run([*lake[:2], replace(lake[2], state="2")])
    assert told.counts["tables_from_profile_store"] == 2
    assert changed.profiles[2].rows == 2
    forced, told = run(lake, replace(kept, force=True))
    assert told.counts["tables_from_profile_store"] == 0
    assert forced.profiles[:2] == changed.profiles[:2]
    assert forced.profiles[2].rows == 2
