"""Test that databases of all formats are read with their declared references."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.school.cldf import read_cldf
from benchmarks.school.database import Database, Reference, domains
from benchmarks.school.django import read_django
from benchmarks.school.errors import UnreadableSourceError
from benchmarks.school.repository import Repository
from benchmarks.school.sqlite import read_sqlite
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import commit


def test_a_dataset_becomes_a_database_whose_lists_are_tables(database: Database) -> None:
    assert set(database.tables) == {
        *("languages", "senses", "forms", "examples", "examples_Form_IDs")
    }
    assert list(database.tables["languages"]) == ["ID", "Name"]  # Glottolog's codes judge
    assert list(database.tables["examples"]) == ["ID", "Language_ID"]
    links = database.tables["examples_Form_IDs"]
    assert links.iloc[:2].to_numpy().tolist() == [["e0", "f0"], ["e0", "f1"]]
    assert {(str(one.origin), str(one.target)) for one in database.references} == {
        ("forms.Language_ID", "languages.ID"),
        ("examples.Language_ID", "languages.ID"),
        ("examples_Form_IDs.examples_ID", "examples.ID"),
        ("examples_Form_IDs.Form_IDs", "forms.ID"),
    }


def test_a_repository_without_metadata_is_refused(tmp_path: Path) -> None:
    made = commit(tmp_path / "x", {"README.md": "nothing"})
    with pytest.raises(
        UnreadableSourceError,
        match=r"^owner/x has no file cldf/\*-metadata\.json\. Correct its path in the list",
    ):
        read_cldf(Repository("owner/x", tmp_path / "x" / ".git", made), "cldf/*-metadata.json")


def toy(file: Path) -> bytes:
    """Return an SQLite database with two references, one of which omits the referenced column."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE Band (Band_ID INTEGER PRIMARY KEY, Name TEXT);"
            "CREATE TABLE Concert (Id INTEGER PRIMARY KEY, BAND INTEGER REFERENCES band,"
            " Hall INTEGER, FOREIGN KEY (Hall) REFERENCES HALL(hall_id));"
            "CREATE TABLE Hall (Hall_Id INTEGER PRIMARY KEY, City TEXT);"
        )
        for n in range(1, 7):
            connection.execute("INSERT INTO Band VALUES (?, ?)", (n, f"Band {n}"))
            connection.execute("INSERT INTO Hall VALUES (?, NULL)", (n,))
            connection.execute("INSERT INTO Concert VALUES (?, ?, ?)", (n, 7 - n, n))
        connection.commit()
    return file.read_bytes()


def test_sqlite_s_keys_are_read_whatever_their_case(tmp_path: Path) -> None:
    database = read_sqlite("toy", toy(tmp_path / "toy.sqlite"))
    assert {(str(one.origin), str(one.target)) for one in database.references} == {
        ("Concert.BAND", "Band.Band_ID"),
        ("Concert.Hall", "Hall.Hall_Id"),
    }
    assert database.tables["Hall"]["City"].tolist() == [""] * 6


MODELS = """
class Named(models.Model):
    region = models.ForeignKey("places.Region", on_delete=models.CASCADE)

class Region(models.Model):
    parent = models.ForeignKey("self", null=True)

class City(Named):
    twins = models.ManyToManyField(to=Region)

class Port(City):
    depth = models.IntegerField()
"""


def test_fixtures_refer_as_their_models_declare(tmp_path: Path) -> None:
    regions = [
        {"model": "places.region", "pk": n, "fields": {"parent": n - 1 or None}} for n in (1, 2)
    ]
    cities = [{"model": "places.city", "pk": 7, "fields": {"region": 2, "twins": [1, 2]}}]
    ports = [{"model": "places.port", "pk": 7, "fields": {"depth": 9}}]
    files = {"models.py": MODELS, "all.json": json.dumps([*regions, *cities, *ports])}
    made = commit(tmp_path / "x", files)
    database = read_django(Repository("a/b", tmp_path / "x" / ".git", made), "*.json *.py")
    assert {(str(one.origin), str(one.target)) for one in database.references} == {
        ("places_region.parent_id", "places_region.id"),
        ("places_city.region_id", "places_region.id"),
        ("places_city_twins.city_id", "places_city.id"),
        ("places_city_twins.twin_id", "places_region.id"),
        ("places_port.id", "places_city.id"),
    }
    assert database.tables["places_region"]["parent_id"].tolist() == ["", "1"]
    assert database.tables["places_city_twins"].to_numpy().tolist() == [["7", "1"], ["7", "2"]]


def test_domains_follow_references_in_steps() -> None:
    a, b, c, d = (ColumnName(name, "id") for name in "abcd")
    assert domains([Reference(a, b), Reference(c, b), Reference(b, d)]) == [(a, b, c, d)]
