"""Test whole runs through DataHub's pipeline, on small lakes with one defect each."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from datahub.configuration.common import PipelineExecutionError
from datahub.entrypoints import datahub
from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError
from pyspark.sql import SparkSession

from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.emit.publish import build_publication
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.source import HyperJoinSource
from datahub_hyperjoin.storage import locking

pytestmark = [
    pytest.mark.usefixtures("spark_for_all"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
NETWORK = {
    "network": {"width": 32},
    "training": {"epochs": 2},
    "ranking": {"scoring": "blend"},
}


def write_good_tables(folder: Path) -> None:
    random = np.random.default_rng(0)
    codes = [f"{a}{b}" for a in "ABDEFH" for b in "JKLMN"]
    flights = random.choice(codes, 200)
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("airlines.csv").write_text(
        "carrier,name\n" + "".join(f"{code},{code} Airways\n" for code in codes)
    )
    folder.joinpath("flights.csv").write_text(
        "carrier,minutes\n" + "".join(f"{code},{at % 90}\n" for at, code in enumerate(flights))
    )


def run(folder: Path, out: Path, *, dry: bool = False, **config: Any) -> Pipeline:  # noqa: ANN401
    recipe = {
        "source": {
            "type": "hyperjoin",
            "config": {"catalog": {"folder": str(folder)}, **config},
        },
        "sink": {"type": "file", "config": {"filename": str(out)}},
    }
    pipeline = Pipeline.create(recipe, dry_run=dry)
    pipeline.run()
    return pipeline


def report_of(pipeline: Pipeline) -> HyperJoinReport:
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    return report


def relationships(out: Path) -> set[str]:
    proposals = json.loads(out.read_text())
    return {
        proposal["aspect"]["json"]["name"]
        for proposal in proposals
        if proposal["aspectName"] == "erModelRelationshipProperties"
    }


def ragged(folder: Path) -> None:
    folder.joinpath("odd.csv").write_text("code,note\nAJ,one\nAK,two,more\nAL,three\n")


def latin(folder: Path) -> None:
    rows = "".join(f"Málaga {at},{at}\n" for at in range(9))
    folder.joinpath("odd.csv").write_bytes(f"ciudad,n\n{rows}".encode("latin-1"))


def utf16(folder: Path) -> None:
    rows = "".join(f"Málaga {at},{at}\n" for at in range(9))
    folder.joinpath("odd.csv").write_bytes(f"ciudad,n\n{rows}".encode("utf-16"))


def wide(folder: Path) -> None:
    """Write a table of 3,000 columns.

    Only one in thirty is a key, so that the ranking is fast.
    """
    names = ",".join(f"column_{at}" for at in range(3000))
    rows = "".join(
        ",".join(f"v{0 if at % 30 else row}_{at}" for at in range(3000)) + "\n" for row in range(4)
    )
    folder.joinpath("odd.csv").write_text(f"{names}\n{rows}")


def nested(folder: Path) -> None:
    table = pa.table(
        {
            "code": [f"c{at}" for at in range(9)],
            "place": [{"city": f"Town {at}", "zip": f"{at:05}"} for at in range(9)],
            "stops": [[0.5, 1.5]] * 9,
        }
    )
    pq.write_table(table, folder / "odd.parquet")


def repeated(folder: Path) -> None:
    rows = "".join(f"c{at},{at},x\n" for at in range(9))
    folder.joinpath("odd.csv").write_text(f"code,code,note\n{rows}")


@pytest.mark.parametrize(
    ("spoil", "warning"),
    [
        (
            lambda folder: folder.joinpath("odd.csv").touch(),
            "is an empty file. Add rows, or exclude it with `catalog.tables`$",
        ),
        (
            lambda folder: folder.joinpath("odd.csv").write_text("code,name\n"),
            "has a header but no rows. Add rows, or exclude it with `catalog.tables`$",
        ),
        (
            lambda folder: folder.joinpath("odd.csv").write_bytes(bytes(range(256)) * 40),
            "cannot be read: .* Fix the file, or exclude it with `catalog.tables`$",
        ),
        (ragged, "skipped lines that are no rows, with more or fewer fields than the header: 1"),
        (latin, "(?i)latin-1|cp1252|windows-1252"),
        (nested, "'stops'"),
        (repeated, "columns of one name are numbered: 'code_2'"),
    ],
    ids=["empty", "header-only", "binary", "ragged", "latin-1", "nested", "repeated-names"],
)
def test_one_table_s_fault_is_a_named_warning(
    tmp_path: Path, spoil: Callable[[Path], object], warning: str
) -> None:
    write_good_tables(tmp_path / "lake")
    spoil(tmp_path / "lake")
    pipeline = run(tmp_path / "lake", tmp_path / "out.json")
    report = report_of(pipeline)
    contexts = [context for entry in report.warnings for context in entry.context]
    assert len(contexts) == 1
    assert contexts[0].startswith("odd.")
    assert re.search(warning, contexts[0]), contexts[0]
    assert list(report.failures) == []
    assert "flights.csv.carrier = airlines.csv.carrier" in relationships(tmp_path / "out.json")


@pytest.mark.parametrize("spoil", [utf16, wide], ids=["utf-16", "3000-columns"])
def test_an_unusual_table_is_profiled_like_any_other(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    write_good_tables(tmp_path / "lake")
    spoil(tmp_path / "lake")
    report = report_of(run(tmp_path / "lake", tmp_path / "out.json"))
    assert (report.tables_profiled, report.tables_skipped) == (3, 0)
    assert "flights.csv.carrier = airlines.csv.carrier" in relationships(tmp_path / "out.json")


def test_a_missing_folder_is_one_clear_failure(tmp_path: Path) -> None:
    with pytest.raises(PipelineInitError, match=r"lost', and no such folder exists\. Correct"):
        run(tmp_path / "lost", tmp_path / "out.json")


def test_a_folder_without_tables_is_one_clear_failure(tmp_path: Path) -> None:
    tmp_path.joinpath("lake").mkdir()
    pipeline = run(tmp_path / "lake", tmp_path / "out.json")
    [failure] = report_of(pipeline).failures
    assert "has 0 files, and none holds a table" in str(list(failure.context))
    with pytest.raises(PipelineExecutionError, match="Source reported errors"):
        pipeline.raise_from_status()


def test_a_lake_without_joins_to_learn_is_one_clear_failure(tmp_path: Path) -> None:
    tmp_path.joinpath("one.csv").write_text("code\nAA\nUA\nDL\n")
    assert report_of(run(tmp_path, tmp_path / "out.json")).joins == 0
    [failure] = report_of(run(tmp_path, tmp_path / "out.json", model=NETWORK)).failures
    assert "1 key column in 1 table are too few" in str(list(failure.context))


def test_an_unknown_key_is_named_by_the_command_line(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yml"
    recipe.write_text(
        "source: {type: hyperjoin, config: {catalog: {folder: x}, rankings: {top_k: 3}}}\n"
        "sink: {type: console}\n"
    )
    result = CliRunner().invoke(datahub, ["ingest", "-c", str(recipe)])
    assert result.exit_code != 0
    assert "rankings" in f"{result.output}{result.exception}"
    assert "is not a key. Did you mean `model.ranking`?" in f"{result.output}{result.exception}"


def test_a_dry_run_keeps_the_model_and_nothing_else(tmp_path: Path) -> None:
    write_good_tables(tmp_path / "lake")
    page, model = tmp_path / "joins.html", tmp_path / "model"
    kept = {"model": {**NETWORK, "path": str(model)}, "page": str(page)}
    pipeline = run(tmp_path / "lake", tmp_path / "out.json", dry=True, **kept)
    assert report_of(pipeline).joins >= 1
    assert not page.exists()
    assert "evidence:" not in report_of(pipeline).as_string()
    assert model.joinpath("model.json").is_file()
    assert not (tmp_path / "out.json").exists() or relationships(tmp_path / "out.json") == set()


def test_a_run_leaves_a_borrowed_session_running(tmp_path: Path, spark: SparkSession) -> None:
    write_good_tables(tmp_path / "lake")
    run(tmp_path / "lake", tmp_path / "out.json", page=str(tmp_path / "joins.html"))
    assert spark.range(3).count() == 3
    assert "airlines" in tmp_path.joinpath("joins.html").read_text()


def test_a_page_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    write_good_tables(tmp_path / "lake")
    page = tmp_path / "joins.html"
    no_folder = tmp_path / "file"
    no_folder.touch()
    page.symlink_to(no_folder / "joins.html")
    report = report_of(run(tmp_path / "lake", tmp_path / "out.json", page=str(page)))
    assert [entry.title for entry in report.warnings] == ["Page not written"]
    assert report.page == ""
    assert "flights.csv.carrier = airlines.csv.carrier" in relationships(tmp_path / "out.json")


def test_profiles_of_columns_stay_in_memory_only_for_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_good_tables(tmp_path / "lake")
    written: list[Findings] = []

    def build(findings: Findings, *others: Any) -> Publication:  # noqa: ANN401 - passed on
        written.append(findings)
        return build_publication(findings, *others)

    monkeypatch.setattr("datahub_hyperjoin.source.build_publication", build)
    run(tmp_path / "lake", tmp_path / "one.json")
    run(tmp_path / "lake", tmp_path / "two.json", page=str(tmp_path / "joins.html"))
    assert [len(each.types) for each in written] == [0, 4]
    assert relationships(tmp_path / "one.json") == relationships(tmp_path / "two.json") != set()


def test_counts_and_seconds_stand_in_the_report(tmp_path: Path) -> None:
    write_good_tables(tmp_path / "lake")
    report = report_of(run(tmp_path / "lake", tmp_path / "out.json"))
    assert (report.tables_found, report.tables_profiled, report.columns_profiled) == (2, 2, 4)
    assert report.key_columns == 3
    assert report.models_trained == 0
    assert len(report.ingestion_stage_durations) == 9
    assert "flights.csv.carrier" in report.as_string()


def test_keys_that_only_a_network_reads_are_a_warning_without_one(tmp_path: Path) -> None:
    write_good_tables(tmp_path / "lake")
    model = {"network": {"width": 64}, "training": {"epochs": 2}}
    report = report_of(run(tmp_path / "lake", tmp_path / "out.json", model=model))
    (warning,) = report.warnings
    assert warning.title == "Keys without effect"
    assert warning.message.endswith("set `model.ranking.scoring: blend`")
    assert list(warning.context) == ["model.network, model.training"]


def test_a_kept_model_is_not_learnt_twice(tmp_path: Path) -> None:
    write_good_tables(tmp_path / "lake")
    kept = {**NETWORK, "path": str(tmp_path / "model")}
    first = report_of(run(tmp_path / "lake", tmp_path / "1.json", model=kept))
    again = report_of(run(tmp_path / "lake", tmp_path / "2.json", model=kept))
    assert (first.models_trained, again.models_trained) == (1, 0)
    assert relationships(tmp_path / "1.json") == relationships(tmp_path / "2.json")


@pytest.mark.parametrize(
    ("catalog", "reason"),
    [
        ({"folder": "empty"}, "has 0 files, and none holds a table"),
        ({"folder": "lost"}, "no such folder exists"),
        ({"folder": "lake", "tabels": []}, "Did you mean `catalog.tables`?"),
        ({"folder": "lake"}, None),
        ({"folder": "lost", "demo": True}, None),
    ],
)
def test_the_connection_test_looks_at_the_catalog(
    catalog: dict[str, Any],
    reason: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_good_tables(tmp_path / "lake")
    tmp_path.joinpath("empty").mkdir()
    monkeypatch.chdir(tmp_path)
    found = HyperJoinSource.test_connection({"catalog": catalog}).basic_connectivity
    assert found is not None
    assert found.capable is (reason is None)
    assert (reason or "") in (found.failure_reason or "")


@pytest.mark.parametrize(("master", "capable"), [("local[*]", False), ("sc://spark:15002", True)])
def test_the_connection_test_looks_for_java_where_spark_is_local(
    master: str,
    capable: bool,  # noqa: FBT001 - a test's expectation
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_good_tables(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    config = {"catalog": {"folder": str(tmp_path)}, "spark": {"master": master}}
    found = (HyperJoinSource.test_connection(config).capability_report or {})["Spark"]
    assert found.capable is capable
    assert capable or "Java 17 or newer" in (found.failure_reason or "")


def test_datahub_lists_the_source() -> None:
    result = CliRunner().invoke(datahub, ["check", "plugins", "--source", "hyperjoin"])
    assert "hyperjoin" in result.output
    assert "disabled" not in result.output


@pytest.mark.parametrize("key", ["profile.store", "model.path"])
def test_a_second_run_on_one_folder_is_refused(tmp_path: Path, key: str) -> None:
    write_good_tables(tmp_path / "lake")
    section, _, name = key.partition(".")
    kept = tmp_path / "kept"
    config: dict[str, Any] = {section: {**(NETWORK if section == "model" else {}), name: str(kept)}}
    with locking({key: kept}):
        refused = run(tmp_path / "lake", tmp_path / "a.json", **config)
        with pytest.raises(PipelineExecutionError, match=r"another run uses it now"):
            refused.raise_from_status()
    assert report_of(refused).tables_found == 0
    kept.joinpath(".unfinished-k3_x0q9z").mkdir()
    free = run(tmp_path / "lake", tmp_path / "b.json", **config)
    free.raise_from_status()
    assert relationships(tmp_path / "b.json")
    assert not kept.joinpath(".unfinished-k3_x0q9z").exists()
