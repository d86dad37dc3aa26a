"""Test that the findings of a run are used again if, and only if, nothing has changed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys, ForeignKey
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_all
from datahub_hyperjoin.findings import Findings, KeptFindings, NotedProgress
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.config.sections import LanguageModelConfig
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles import store
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId, TableProfile, pair_of

CODES = [f"B-{number:03}" for number in range(40)]
LAKE: Mapping[str, Mapping[str, list[str]]] = {
    "articles": {"article": CODES, "label": [f"Ale of {code}" for code in CODES]},
    "orders": {"article": CODES[:30] * 4, "litres": ["7", "8", "9"] * 40},
    "prices": {"label": [f"Ale of {code}" for code in CODES[5:]], "price": ["4"] * 35},
}
NO_FACTS = CatalogFacts()


def column(table: str, name: str) -> ColumnId:
    return ColumnId(TableId("file", table), name)


ARTICLE = pair_of(column("articles", "article"), column("orders", "article"))
UNIQUE = DeclaredKeys(unique=frozenset({ARTICLE[0]}))
ODD = pair_of(column("orders", "litres"), column("prices", "price"))


def write(folder: Path) -> list[Table]:
    tables = []
    for name, columns in LAKE.items():
        rows = [tuple(columns), *zip(*columns.values(), strict=True)]
        file = folder / f"{name}.csv"
        file.write_text("\n".join(map(",".join, rows)))
        location = File(uri=str(file), format="csv")
        size = file.stat().st_size
        table = Table(id=TableId("file", name), title=name, location=location, size=size)
        tables.append(replace(table, state="first"))
    return tables


def find(
    tables: list[Table],
    profile: ProfileConfig,
    model: ModelConfig | None = None,
    facts: CatalogFacts = NO_FACTS,
) -> tuple[Findings, RunProgress]:
    progress = RunProgress()
    found = find_all(
        Catalog(tables=tables, facts=facts),
        FindConfig(profile=profile, model=model or ModelConfig()),
        progress,
        lambda: None,
    )
    return found, progress


def is_reused(progress: RunProgress) -> bool:
    return "joins_from_profile_store" in progress.counts


def decide(pair: Pair, verdict: Verdict) -> CatalogFacts:
    return CatalogFacts(pairs={pair: CatalogEvidence(verdict=verdict)})


def test_an_unchanged_lake_gets_the_joins_of_a_run_without_a_store(tmp_path: Path) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    expected, whole = find(tables, ProfileConfig())
    first, told = find(tables, kept)
    again, told_again = find(tables, kept)
    third, _ = find(tables, kept)
    assert expected == first == again == third
    assert again.joins
    assert again.contributions
    assert (is_reused(whole), is_reused(told)) == (False, False)
    assert told_again.counts["joins_from_profile_store"] == len(first.joins)
    for name in ("key_columns", "joins", "suggestions", "expected_pairs"):
        assert told_again.counts[name] == told.counts[name]


def test_a_run_says_that_nothing_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    find(tables, kept)
    lines: list[str] = []
    monkeypatch.setattr(RunProgress, "say", lambda _, line: lines.append(line))
    find(tables, kept)
    assert lines == [
        "Profiling tables",
        "Nothing has changed since the last run, so its joins are used again",
    ]


def with_fewer_rows(tables: list[Table]) -> list[Table]:
    prices = tables[2]
    assert isinstance(prices.location, File)
    file = Path(prices.location.uri)
    header, *rows = file.read_text().splitlines()
    file.write_text("\n".join([header, *rows[:34]]))
    return [*tables[:2], replace(prices, state="second", size=file.stat().st_size)]


CHANGES: Mapping[str, tuple[Callable[[list[Table]], list[Table]], dict[str, object]]] = {
    "a table": (with_fewer_rows, {}),
    "a table less": (lambda tables: tables[:2], {}),
    "a title": (lambda tables: [replace(tables[0], title="goods"), *tables[1:]], {}),
    "an accepted pair": (list, {"facts": decide(ODD, Verdict.ACCEPTED)}),
    "a rejected pair": (list, {"facts": decide(ARTICLE, Verdict.REJECTED)}),
    "a query": (list, {"facts": CatalogFacts(pairs={ARTICLE: CatalogEvidence(queries=3)})}),
    "a unique column": (list, {"facts": CatalogFacts(keys=UNIQUE)}),
    "a declared key": (
        list,
        {"facts": NO_FACTS.declaring(DeclaredKeys(foreign=(ForeignKey(name="", pairs=(ODD,)),)))},
    ),
    "a column that the catalog lacks": (
        list,
        {"facts": CatalogFacts(columns={ARTICLE[0].table: frozenset({"article"})})},
    ),
    "a setting of the ranking": (list, {"model": ModelConfig(ranking=RankingConfig(top_k=1))}),
    "a setting of profiles": (list, {"max_rows": 35}),
    "a run by force": (list, {"force": True}),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_what_has_changed_is_compared_again(tmp_path: Path, changed: str) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    find(tables, kept)
    change, settings = CHANGES[changed]
    model, facts = settings.get("model"), settings.get("facts", NO_FACTS)
    assert isinstance(model, ModelConfig | None)
    assert isinstance(facts, CatalogFacts)
    own = {name: settings[name] for name in ("max_rows", "force") if name in settings}
    profile = replace(ProfileConfig(), **own)  # type: ignore[arg-type]
    found, told = find(change(tables), replace(profile, store=kept.store), model, facts)
    assert not is_reused(told)
    expected, _ = find(change(tables), replace(profile, force=False), model, facts)
    assert found == expected


def test_another_version_of_the_package_compares_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    find(tables, kept)
    monkeypatch.setattr(store, "__version__", "another")
    assert not is_reused(find(tables, kept)[1])


def test_only_the_last_findings_are_kept(tmp_path: Path) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    find(tables, kept)
    find(tables, kept, facts=decide(ARTICLE, Verdict.REJECTED))
    assert not is_reused(find(tables, kept)[1])


def test_tables_of_unknown_state_are_compared_in_every_run(tmp_path: Path) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    tables[1] = replace(tables[1], state="")
    find(tables, kept)
    assert not is_reused(find(tables, kept)[1])


def test_a_table_that_can_be_read_again_is_compared(tmp_path: Path) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    file = tmp_path / "orders.csv"
    text = file.read_text()
    file.write_text("")
    first, _ = find(tables, kept)
    file.write_text(text)
    again, told = find(tables, kept)
    assert not is_reused(told)
    assert len(again.joins) > len(first.joins)


def test_findings_with_warnings_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, kept = write(tmp_path), ProfileConfig(store=tmp_path / "store")

    def warn(_profiles: object, _model: object, _facts: object, progress: RunProgress) -> None:
        progress.warn("Little memory", "The run may fail", "this machine")

    monkeypatch.setattr("datahub_hyperjoin.find.check_budget", warn)
    find(tables, kept)
    _, told = find(tables, kept)
    assert not is_reused(told)
    assert [warning.title for warning in told.warnings] == ["Little memory"]


def test_files_written_again_with_the_same_content_change_nothing(tmp_path: Path) -> None:
    config = ProfileConfig(store=tmp_path / "store")
    first, _ = find(write(tmp_path), config)
    again, told = find([replace(table, state="second") for table in write(tmp_path)], config)
    assert is_reused(told)
    assert told.counts["tables_written_again"] == len(LAKE)
    assert again.joins == first.joins


def test_findings_without_the_joins_of_a_lost_table_are_not_kept(tmp_path: Path) -> None:
    tables, config = write(tmp_path), ProfileConfig(store=tmp_path / "store")
    findings, _ = find(tables, config)
    kept = KeptFindings.of(findings.profiles, Store(config), ModelConfig(), NO_FACTS)
    noted = NotedProgress(RunProgress())
    kept.keep(findings, noted)
    assert kept.read(findings.profiles, RunProgress()) == findings
    kept.keep(replace(findings, unverified=frozenset({tables[0].id})), noted)
    assert kept.read(findings.profiles, RunProgress()) is None


def test_findings_hold_no_values_and_are_used_again_without_profiles(tmp_path: Path) -> None:
    tables = write(tmp_path)
    kept = ProfileConfig(store=tmp_path / "store", keep_values=False)
    first, _ = find(tables, kept)
    again, told = find(tables, kept)
    assert is_reused(told)
    assert told.counts["tables_from_profile_store"] == 0
    assert again == first
    [text] = Store(kept).results("findings").values()
    assert "articles" in text
    assert not any(code in text for code in CODES)


@pytest.mark.parametrize(
    "model",
    [
        ModelConfig(ranking=RankingConfig(scoring=Scoring.BLEND)),
        ModelConfig(llm=LanguageModelConfig(model="m", base_url="http://localhost")),
    ],
)
def test_findings_of_a_model_that_learns_or_asks_are_not_kept(
    tmp_path: Path, model: ModelConfig
) -> None:
    profiles = [TableProfile(table=table) for table in write(tmp_path)]
    store = Store(ProfileConfig(store=tmp_path / "store"))
    assert KeptFindings.of(profiles, store, ModelConfig(), NO_FACTS).key
    assert not KeptFindings.of(profiles, store, model, NO_FACTS).key


def test_the_order_of_facts_does_not_matter(tmp_path: Path) -> None:
    profiles = [TableProfile(table=table) for table in write(tmp_path)]
    store = Store(ProfileConfig(store=tmp_path / "store"))
    facts = {pair: CatalogEvidence(queries=1) for pair in (ARTICLE, ODD)}
    turned = dict(reversed(facts.items()))
    keys = {
        KeptFindings.of(profiles, store, ModelConfig(), CatalogFacts(pairs=pairs)).key
        for pairs in (facts, turned)
    }
    assert len(keys) == 1
