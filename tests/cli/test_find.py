"""Test the command `hyperjoin find`."""

import csv
import io
import json
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from datahub_hyperjoin.cli import main

WHERE = (
    "-- DuckDB finds files by the names below in the folder that was searched. Start it there.\n"
)
LEFT, RIGHT = "orders.csv.customer", "customers.csv.id"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("find") / "shop"
    folder.mkdir()
    orders = "".join(f"{at},C{at % 20:03}\n" for at in range(60))
    customers = "".join(f"C{at:03},Customer {at}\n" for at in range(20))
    (folder / "orders.csv").write_text("order_id,customer\n" + orders)
    (folder / "customers.csv").write_text("id,name\n" + customers)
    (folder / "notes.xml").write_text("<a/>")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["find", *arguments])


def test_a_page_shows_values_only_if_it_is_told_to(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write_people(lake)
    page, out = tmp_path / "joins.html", tmp_path / "out"
    run(str(lake), "--page", str(page))
    assert "Harbour 0" not in page.read_text()
    result = run(str(lake), "--page", str(page), "--out", str(out), "--page-values")
    assert result.exit_code == 0, result.output
    for written in (page, out / "joins.html"):
        assert "Harbour 0" in written.read_text()
        assert "canary" not in written.read_text()
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert "Harbour 0" not in (out / "joins.json").read_text()


def write_people(lake: Path) -> None:
    """Write tables of people, of letters to them, and of their towns."""
    lake.mkdir()
    mails = [f"canary{at}@example.org" for at in range(30)]
    towns = [f"Harbour {at % 15:02}" for at in range(30)]
    rows = "".join(f"{mail},{town}\n" for mail, town in zip(mails, towns, strict=True))
    (lake / "people.csv").write_text("mail,town\n" + rows)
    letters = "".join(f"{at},{mails[at % 30]}\n" for at in range(60))
    (lake / "letters.csv").write_text("letter,mail\n" + letters)
    (lake / "towns.csv").write_text("town,mayor\n" + "".join(f"{t},M\n" for t in towns[:15]))


def test_a_folder_of_archives_says_what_to_extract(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "shop.tar", "w") as archive:
        archive.add(__file__, "orders.csv")
    result = run(str(tmp_path))
    assert result.exit_code == 1
    told = "Archive not read: shop.tar: extract it in its folder if it has tables\nError: "
    assert told in result.stderr


def test_values_need_a_page(lake: Path) -> None:
    result = run(str(lake), "--page-values")
    assert result.exit_code == 2
    assert "--page-values needs a page: add --page or --out" in result.stderr


def test_a_file_is_no_folder_to_write_to(lake: Path, tmp_path: Path) -> None:
    result = run(str(lake), "--out", str(tmp_path / "joins.json"))
    assert result.exit_code == 2
    assert (
        "--out names a folder, and joins.json looks like a file. Name a folder, or write "
        "`--format json > joins.json`"
    ) in result.stderr
    assert not tmp_path.joinpath("joins.json").exists()


def test_everything_is_written_and_told(lake: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    result = run(str(lake), "--out", str(out), "--page", str(page))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("1 join found, best first:\n")
    assert LEFT in result.stdout
    lines = result.stderr.splitlines()
    assert lines[:2] == ["Listing tables", "Profiling tables"]
    assert lines[-5:] == [
        f"All joins, with their evidence: {page}",
        f"All joins, with their evidence: {out / 'joins.html'}",
        "Read 2 tables.",
        "Files not read: .xml: 1 file, for example notes.xml",
        "To read tables from files of other kinds, save them as CSV or Parquet.",
    ]
    assert sorted(path.name for path in out.iterdir()) == [
        "joins.csv",
        "joins.html",
        "joins.json",
        "joins.sql",
    ]
    assert page.read_text() == (out / "joins.html").read_text()
    [join] = json.loads((out / "joins.json").read_text())
    assert (join["left"], join["right"], join["rows"]) == (LEFT, RIGHT, 60)
    [row] = csv.DictReader(io.StringIO((out / "joins.csv").read_text()))
    assert row == {name: str(value) for name, value in join.items()}
    statement = (out / "joins.sql").read_text()
    assert statement.startswith(f"{WHERE}\n-- {LEFT} = {RIGHT} (")
    assert join["sql"] + ";\n" in statement


@pytest.mark.parametrize("output_format", ["json", "csv", "sql"])
def test_programs_can_read_the_output(lake: Path, output_format: str) -> None:
    result = run(str(lake), "--format", output_format)
    assert result.exit_code == 0, result.output
    if output_format == "json":
        assert json.loads(result.stdout)[0]["left"] == LEFT
    else:
        begin = {"csv": "left,right,role,", "sql": f"{WHERE}\n-- {LEFT} = {RIGHT}"}[output_format]
        assert result.stdout.startswith(begin)


def test_errors_are_one_line(lake: Path, tmp_path: Path) -> None:
    result = run(str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith("nowhere' does not exist. Correct the path")
    (tmp_path / "file").write_text("")
    result = run(str(lake), "--page", str(tmp_path / "file" / "joins.html"))
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()  # told before the run
    assert line == f"Error: {tmp_path / 'file'} cannot be written: File exists. Name another path"


def test_a_run_that_fails_leaves_no_empty_folder(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    out, page = tmp_path / "new" / "out", tmp_path / "pages" / "joins.html"
    for given in (out, kept):
        result = run(str(tmp_path / "nowhere"), "--out", str(given), "--page", str(page))
        assert "does not exist. Correct the path" in result.stderr
    assert [*tmp_path.iterdir()] == [kept]


def test_ctrl_c_leaves_no_empty_folder(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    program = subprocess.Popen(
        [sys.executable, "-m", "datahub_hyperjoin.cli", "find", str(lake), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr
    while "Profiling tables" not in program.stderr.readline():
        assert program.poll() is None
    assert out.exists()
    program.send_signal(signal.SIGINT)
    assert program.communicate(timeout=60)[0] == ""
    assert program.returncode == 1
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("option", ["--page", "--out"])
def test_a_page_replaces_only_a_page(lake: Path, tmp_path: Path, option: str) -> None:
    page = tmp_path / "joins.html"
    page.write_text("<!doctype html><title>My own page</title>")
    given = page if option == "--page" else tmp_path
    result = run(str(lake), option, str(given))
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()  # told before the run
    assert line == (
        f"Error: `{option}` is {str(page)!r}, and it holds something else than a page of joins. "
        "Set another path"
    )
    assert page.read_text() == "<!doctype html><title>My own page</title>"
    page.write_text("")
    for _ in range(2):  # an empty file, then the page of the first run
        assert run(str(lake), option, str(given)).exit_code == 0
    assert "customers" in page.read_text()


def test_decisions_are_kept_to_and_stand_on_the_page(lake: Path, tmp_path: Path) -> None:
    file, page = tmp_path / "mine.csv", tmp_path / "page.html"
    arguments = (str(lake), "--decisions", str(file), "--page", str(page))
    first = run(*arguments)
    assert "1 join found" in first.stdout
    assert f"No decisions yet: {file}" in first.stderr
    header = "left_table,left_column,right_table,right_column,decision"
    file.write_text(f"{header}\ncustomers.csv,id,orders.csv,customer,rejected\n")
    second = run(*arguments)
    assert second.stdout.startswith("No joins found.")
    assert "No decisions yet" not in second.stderr
    assert "Download mine.csv" in page.read_text()
    file.write_text(f"{header}\ncustomers.csv,id,orders.csv,customer,no\n")
    third = run(*arguments)
    assert "1 join found" in third.stdout
    assert "line 2, column `decision`: 'no' is no decision. Write `accepted`" in third.stderr


SERVERS = {"datahub.ingestion.graph.client", "pyspark", "requests", "sqlalchemy"}
"""Libraries that are not needed to find joins in a folder of files. Each takes tenths of a second
to import."""


@pytest.mark.parametrize(
    ("output_format", "libraries"),
    [
        ("table", SERVERS | {"duckdb", "fastavro", "rich", "sklearn", "sqlglot", "torch"}),
        ("json", SERVERS | {"rich", "sklearn", "torch"}),
    ],
)
def test_a_folder_of_files_waits_for_no_other_library(
    lake: Path, output_format: str, libraries: set[str]
) -> None:
    code = f"""import sys
from datahub_hyperjoin.cli import main

main(["find", {str(lake)!r}, "--format", {output_format!r}], standalone_mode=False)
print(*sorted({libraries!r}.intersection(sys.modules)), "loaded")"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


def test_tables_can_be_left_out(lake: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(lake, tmp_path / "shop")
    (folder / "orders-2023.csv").write_text((lake / "orders.csv").read_text())
    found = run(str(folder), "--exclude", "returns.csv", "--exclude", "orders-*")
    assert LEFT in found.output
    assert "orders-2023.csv" not in found.output
    assert "Nothing excluded: no table fits 'returns.csv'" in found.stderr


def test_options_say_how_files_are_read(tmp_path: Path) -> None:
    cities = [f"Çity {at}" for at in range(20)]
    for year in (2023, 2024):
        rows = "".join(f"{year}{at}\x01{city}\n" for at, city in enumerate(cities))
        (tmp_path / f"orders_{year}.csv").write_text(rows, encoding="cp1254")
    (tmp_path / "towns.csv").write_text("".join(f"{city}\x01x\n" for city in cities), "cp1254")
    told = run(
        str(tmp_path),
        *("--separate-files", "--no-header", "--delimiter", r"\x01", "--encoding", "cp1254"),
        *("--format", "json"),
    )
    assert "Read 3 tables." in told.stderr
    joined = {(each["left"], each["right"]) for each in json.loads(told.stdout)}
    assert ("orders_2024.csv.column1", "towns.csv.column0") in joined
    result = run(str(tmp_path), "--encoding", "cp9999")
    assert result.exit_code == 1
    assert (
        "`encoding` is 'cp9999', which Python does not know. Correct it, or leave it out to detect "
        "it in each file" in result.output
    )
