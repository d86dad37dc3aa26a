"""Test the commands on joins without a server: of a file, and found in data."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.sink.file import write_metadata_file

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.cli import main
from datahub_hyperjoin.discovery import FoundJoins
from datahub_hyperjoin.emit.queries import emit_query
from datahub_hyperjoin.emit.relationships import emit_relationship
from lakes.lake import write_flights

CARRIER = "flights.csv.carrier → airlines.csv.carrier"
PLANE = "flights.csv.tailnum → planes.csv.tailnum"
CARRIER_NAME = "flights.csv.carrier = airlines.csv.carrier"

Run = Callable[..., Result]


def write_sink(path: Path, found: FoundJoins) -> None:
    """Write the relationships and queries that a run with a file sink writes."""
    names = {table.table.id: table.table.title for table in found.findings.profiles}
    units = [unit for join in found for unit in emit_relationship(join, "0.1")]
    for join in found:
        statement = found.findings.statements[join.pairs]
        units += emit_query(join, statement=statement, model_version="0.1", names=names, now=0)
    tag = units[1].metadata
    assert not isinstance(tag, MetadataChangeProposalWrapper)  # a patch, as in a run
    write_metadata_file(path, [unit.metadata for unit in units])


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The places of the same joins that `--in` may name."""
    folder = tmp_path_factory.mktemp("joins")
    lake, out = folder / "lake", folder / "out"
    write_flights(lake)
    lake.joinpath("delays.csv").unlink()  # its key could be meant, too
    result = CliRunner().invoke(main, ["find", str(lake), "--out", str(out)])
    assert result.exit_code == 0, result.output
    write_sink(folder / "sink.json", find_joins(lake))
    return {
        "the file of find": out / "joins.json",
        "the folder of find": out,
        "the file of a sink": folder / "sink.json",
        "data": lake,
    }


@pytest.fixture
def run(places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on the joins of a place, in an empty folder; by default on the file of find."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATAHUB_GMS_URL", raising=False)
    monkeypatch.setenv("LOGNAME", "ann")

    def run_in(command: str, *arguments: str, place: str = "the file of find") -> Result:
        return CliRunner().invoke(main, [command, *arguments, "--in", str(places[place])])

    return run_in


def succeed(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(result: Result) -> str:
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    return result.stderr


@pytest.mark.parametrize("place", ["the folder of find", "the file of a sink", "data"])
def test_every_place_has_the_same_joins(run: Run, place: str) -> None:
    expected = json.loads(succeed(run("joins", "--json")))
    assert len(expected) == 3
    assert expected[0]["left_counts"]["total"] > 0
    assert json.loads(succeed(run("joins", "--json", place=place))) == expected


@pytest.mark.parametrize("place", ["the file of find", "the file of a sink", "data"])
def test_every_place_has_the_same_paths_and_exports(run: Run, place: str) -> None:
    lines = succeed(run("path", "planes", "airlines", place=place)).splitlines()
    assert lines[:3] == [
        "planes.csv → flights.csv → airlines.csv",
        "2 joins with a combined joinability of 1.00",
        "One row for each row of flights.csv that matches",
    ]
    text = succeed(run("export", "--format", "dbml", "--dataset", "planes", place=place))
    assert re.findall(r'^Ref "(\w+)"', text, re.MULTILINE) == ["flights_tailnum_to_planes"]


def test_joins_of_a_dataset_are_listed_by_its_title(run: Run) -> None:
    lines = succeed(run("joins", "--dataset", "planes")).splitlines()
    assert lines[0].split() == ["joinability", "join", "role", "cardinality"]
    assert "planes.csv.tailnum ← flights.csv.tailnum" in lines[2]
    none = succeed(run("joins", "--dataset", "planes", "--column", "maker", place="data"))
    assert none == "No joins of planes.maker in the data.\n"
    assert "No joins in" in succeed(run("joins", "--min-score", "1"))


def test_the_sql_of_a_path_runs(
    run: Run, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = succeed(run("path", "planes", "airlines", "--format", "sql"))
    assert sql.splitlines()[:2] == [
        "-- planes.csv.tailnum ← flights.csv.tailnum, then " + CARRIER,
        (
            "-- It was not run: check its number of rows. Run it in DuckDB, in the folder of which "
            "the files have these paths"
        ),
    ]
    monkeypatch.chdir(places["data"])
    unlimited = sql.replace("LIMIT 100", "")
    with duckdb.connect() as database:
        assert len(database.sql(unlimited).fetchall()) == 300


def test_the_sql_of_one_join_is_that_which_was_run(run: Run) -> None:
    sql = succeed(run("path", "flights", "airlines", "--format", "sql"))
    assert "-- It was run. Run it in DuckDB" in sql
    assert 'FROM "flights.csv" AS a' in sql
    written = succeed(run("path", "flights", "airlines", "--format", "sql", place="data"))
    assert "-- It was not run" in written


def test_why_a_join_is_suggested_is_told(run: Run) -> None:
    text = succeed(run("explain", "flights.carrier", "airlines.carrier"))
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert lines["join"] == CARRIER
    assert lines["decided"].startswith("suggested with joinability")
    assert fail(run("explain", "flights.carrier", "planes.tailnum")).endswith(
        "To see why a pair is not suggested, add --recipe, or --in with a folder or database\n"
    )


def test_a_decision_is_written_with_who_when_and_why(run: Run, tmp_path: Path) -> None:
    result = run("accept", CARRIER, "--why", "same code")
    assert succeed(result) == f"Accepted {CARRIER_NAME}\n"
    assert result.stderr == "Written to decisions.csv, which `hyperjoin find --decisions` reads\n"
    succeed(run("reject", "flights.tailnum = planes.tailnum", "--by", "Bo"))
    with tmp_path.joinpath("decisions.csv").open(encoding="utf-8") as file:
        carrier, plane = csv.DictReader(file)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", carrier.pop("when"))
    assert carrier == {
        "left_table": "flights.csv",
        "left_column": "carrier",
        "right_table": "airlines.csv",
        "right_column": "carrier",
        "decision": "accepted",
        "by": "ann",
        "reason": "same code",
    }
    assert (plane["decision"], plane["by"], plane["reason"]) == ("rejected", "Bo", "")


def test_commands_and_later_searches_keep_to_the_decisions(
    run: Run, places: dict[str, Path], tmp_path: Path
) -> None:
    succeed(run("accept", CARRIER, "--why", "same code"))
    succeed(run("reject", PLANE))
    for place in ("the file of find", "data"):
        first, *others = succeed(run("joins", place=place)).splitlines()[2:]
        assert CARRIER in first
        assert first.endswith("accepted")
        assert not any("planes.csv" in line for line in others)
        every = succeed(run("joins", "--all", "--dataset", "planes", place=place))
        assert every.splitlines()[2].endswith("rejected")
        assert "no path connects" in fail(run("path", "planes", "airlines", place=place))
    assert "decided: accepted by people\ndescription: same code" in succeed(
        run("explain", "flights.carrier", "airlines.carrier")
    )
    arguments = ["find", str(places["data"]), "--decisions", "decisions.csv", "--format", "json"]
    later = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert "planes.csv" not in {join["right_table"] for join in later}
    # A file without the rejected join still lets people undo the rejection.
    tmp_path.joinpath("later.json").write_text(json.dumps(later))
    undone = CliRunner().invoke(main, ["undo", PLANE, "--in", "later.json"])
    assert (
        succeed(undone) == "Undone flights.csv.tailnum = planes.csv.tailnum, which was rejected\n"
    )
    assert "planes.csv" not in tmp_path.joinpath("decisions.csv").read_text()
    assert [join["decision"] for join in later] == ["accepted", ""]


def test_decisions_may_differ_in_case_and_be_written_by_either_side(
    run: Run, tmp_path: Path
) -> None:
    tmp_path.joinpath("decisions.csv").write_text(
        "left_table,left_column,right_table,right_column,decision\n"
        "planes.csv,Tailnum,flights.csv,TAILNUM,rejected\n"
        "flights.csv,tailnum,planes.csv,tailnum,accepted\n"
    )
    assert "planes" not in succeed(run("joins"))  # the rejection takes precedence
    succeed(run("undo", PLANE))
    assert "planes" in succeed(run("joins"))


def test_undone_decisions_are_gone(run: Run) -> None:
    succeed(run("accept", CARRIER))
    (undone,) = json.loads(succeed(run("undo", CARRIER_NAME, "--json")))
    assert (undone["name"], undone["undone"]) == (CARRIER_NAME, ["accepted"])
    assert run("undo", CARRIER).output == f"Nobody has decided about {CARRIER_NAME}\n"


def test_all_else_in_the_file_of_decisions_stays(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    head = "left_table,left_column,right_table,right_column,decision,by,reason,when"
    other, damaged = 'gone.csv,a,lost.csv,b,rejected,Cy,"no, never",2026-01-01', "x,y,acepted"
    old = "planes.csv,tailnum,flights.csv,tailnum,rejected,Bo,old,"
    file.write_text(f"{head}\n{damaged}\n{old}\n{other}\n")
    result = run("accept", PLANE, "--decisions", str(file))
    assert succeed(result)
    assert f"Decision not read: {file}: line 2 has 3 cells" in result.stderr
    first, second, *rest = file.read_text().splitlines()[1:]
    assert first.startswith("flights.csv,tailnum,planes.csv,tailnum,accepted,ann,,20")
    assert [second, *rest] == [other, damaged]


def test_a_decision_is_not_written_if_one_name_is_wrong(run: Run, tmp_path: Path) -> None:
    message = fail(run("accept", CARRIER, "flights.carrier = nothing.id"))
    assert "has no join 'flights.carrier = nothing.id'" in message
    assert not tmp_path.joinpath("decisions.csv").exists()


@pytest.mark.parametrize("place", ["the file of find", "data"])
def test_unknown_tables_and_columns_are_named_with_the_nearest(run: Run, place: str) -> None:
    where = "the data" if place == "data" else r"\S*joins.json"
    for command in (["joins", "--dataset", "plane"], ["path", "plane", "airlines"]):
        assert re.fullmatch(
            f"Error: {where} has no dataset 'plane'. Did you mean 'planes.csv'\\?\n",
            fail(run(*command, place=place)),
        )
    assert "`hyperjoin joins` lists what it has" in fail(run("joins", "--dataset", "zzz"))
    assert fail(run("path", "planes.tailnumber", "airlines", place=place)) == (
        "Error: the dataset 'planes.csv' has no column 'tailnumber'. Did you mean 'tailnum'?\n"
    )


def test_a_column_without_a_join_is_known_from_data_alone(run: Run) -> None:
    assert "no path connects 'planes.csv.maker'" in fail(
        run("path", "planes.maker", "airlines", place="data")
    )


def test_options_that_need_each_other_say_so(places: dict[str, Path]) -> None:
    joins, lake = str(places["the file of find"]), str(places["data"])
    cases = {
        ("joins", "--decisions", "d.csv"): "--decisions needs --in. Without it, DataHub keeps the",
        ("joins", "--column", "a", "--in", joins): "--column needs --dataset",
        ("joins", "--in", joins, "--in", lake): "joins.json holds joins. Name it alone after --in",
        ("explain", "a.b", "--in", joins): "A single column needs data: add --recipe, or --in with",
        ("explain", "a.b", "-c", joins, "--in", lake): "--recipe names the tables already. Leave",
    }
    for arguments, message in cases.items():
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.replace("│", " ").split())


def test_a_faulty_file_of_decisions_is_named(run: Run, tmp_path: Path) -> None:
    tmp_path.joinpath("decisions.csv").write_text("name,age\nAnn,7\n")
    message = fail(run("joins"))
    assert message.startswith("Error: `decisions` is 'decisions.csv'. Correct this file:\n")


def test_a_decision_that_cannot_be_written_loses_no_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    succeed(run("accept", CARRIER))
    before = tmp_path.joinpath("decisions.csv").read_bytes()

    def crash(self: Path, *_: object) -> int:
        raise OSError(28, "No space left on device", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", crash)
        assert "No space left on device" in run("reject", PLANE).output
    assert tmp_path.joinpath("decisions.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.csv"]
