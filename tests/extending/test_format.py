"""Test that another package adds formats, whose tables are found, read and joined as any other."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.discovery.errors import NoSqlError, UnusableSourceError
from datahub_hyperjoin.spark.files import formats
from datahub_hyperjoin.spark.files.errors import FormatPlugInError, UnknownFormatError

CITIES = [(f"C{at:03}", f"City {at}") for at in range(60)]


def install(folder: Path, entry_points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out what `pip install` writes for a package with these entry points."""
    info = folder / "toy_formats-1.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: toy-formats\nVersion: 1.0\n")
    info.joinpath("entry_points.txt").write_text(f"[{formats.GROUP}]\n{entry_points}\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    formats.plug_ins.cache_clear()
    yield tmp_path / "site"
    formats.plug_ins.cache_clear()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    records = (f"code: {code}\nname: {name}" for code, name in CITIES)
    folder.joinpath("cities.rec").write_text("\n\n".join(records))
    visits = "".join(f"{at}~{CITIES[at % 60][0]}\n" for at in range(240))
    folder.joinpath("visits.tilde").write_text(f"visit~city_code\n{visits}")
    stays = "".join(f"{at},{CITIES[at % 60][0]}\n" for at in range(120))
    folder.joinpath("stays.csv").write_text(f"stay,city_code\n{stays}")
    return folder


def test_tables_of_added_formats_are_joined(
    site: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "records = toy_formats:Records\ntildes = toy_formats:TildeText", monkeypatch)
    found = find_joins(lake, list_all=True)
    joins = {frozenset(column.table.name for column in (one.left, one.right)): one for one in found}
    records = joins[frozenset({"cities.rec", "stays.csv"})]
    assert records.measured.rows == 120
    with pytest.raises(NoSqlError, match="but not on files of records"):
        found.sql(records)
    monkeypatch.chdir(lake)
    sql = found.sql(joins[frozenset({"visits.tilde", "stays.csv"})])
    assert "READ_CSV('visits.tilde', delim = '~')" in sql
    assert len(duckdb.execute(sql).fetchall()) == 100


def test_without_the_package_its_files_are_none(site: Path, lake: Path) -> None:
    assert not site.exists()
    for name in ("stays.csv", "visits.tilde"):
        lake.joinpath(name).unlink()
    with pytest.raises(UnusableSourceError, match="contains no table"):
        find_joins(lake)
    with pytest.raises(UnknownFormatError, match="Install the package that adds it"):
        formats.format_named("records")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("gone = toy_formats:Gone", r"toy_formats:Gone cannot be loaded: .*Gone.* Repair or"),
        ("csv = datahub_hyperjoin.spark.files.delimited:Csv", "own formats, csv. Rename"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(
    site: Path, monkeypatch: pytest.MonkeyPatch, entry: str, message: str
) -> None:
    install(site, entry, monkeypatch)
    with pytest.raises(FormatPlugInError, match=message):
        formats.format_named("records")
