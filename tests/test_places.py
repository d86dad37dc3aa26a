"""Test which tables are in one place."""

import pytest

from datahub_hyperjoin.tables import TableId, places_of


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["a.csv", "b.xlsx/Sheet1", "c.ods/Sheet1"], ["", "", ""]),
        (["x/a.csv", "x/b.XLSX/One", "x/b.XLSX/Two"], ["x", "x", "x"]),
        (["x/a.csv", "y/b.xlsx/One", "a.csv"], ["x", "y", ""]),
        # Versions of a workbook: each refers to its own sheets.
        (
            ["b24.xlsx/One", "b24.xlsx/Two", "b25.xlsx/One", "b25.xlsx/Two", "a.csv"],
            ["b24.xlsx", "b24.xlsx", "b25.xlsx", "b25.xlsx", ""],
        ),
        (["x/b24.xlsx/One", "x/b24.xlsx/Two", "y/b24.xlsx/One", "y/b24.xlsx/Two"], [*"xxyy"]),
        # Such a folder of files, or a database.
        (["shop.db/orders", "a.csv"], ["shop.db", ""]),
    ],
)
def test_a_workbook_is_no_place_beside_other_files(names: list[str], places: list[str]) -> None:
    tables = [TableId("file", name) for name in names]
    assert [*places_of(tables).values()] == [f"file PROD {place}" for place in places]
