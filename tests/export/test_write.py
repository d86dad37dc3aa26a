"""Test that an export never replaces a file that people wrote or edited."""

from pathlib import Path

import pytest

from datahub_hyperjoin.errors import UnwritablePathError
from datahub_hyperjoin.export import ExportFormat, export_joins, precede_with_checksum, write_export
from datahub_hyperjoin.export.errors import ForeignFileError
from datahub_hyperjoin.joins import Join

DBML = ExportFormat.DBML


def test_a_file_of_an_earlier_export_is_replaced(joins: list[Join], tmp_path: Path) -> None:
    path = tmp_path / "new" / "joins.dbml"
    for some in (joins, joins[:2]):
        text = precede_with_checksum(export_joins(some, DBML), DBML)
        write_export(path, text, DBML)
        assert path.read_text("utf-8") == text
    assert path.stat().st_mode & 0o777 == 0o644
    assert [file.name for file in path.parent.iterdir()] == ["joins.dbml"]


@pytest.mark.parametrize("own", ["", "models: []\n", "// Written by `hyperjoin export", "\xff"])
def test_a_file_of_somebody_else_is_kept(joins: list[Join], tmp_path: Path, own: str) -> None:
    path = tmp_path / "joins.dbml"
    path.write_text(own, "latin-1")
    with pytest.raises(
        ForeignFileError,
        match=r"^`--out` is '.*joins.dbml', which was not written by `hyperjoin export`, or was "
        r"edited since. Move it, or name another file$",
    ):
        write_export(path, precede_with_checksum(export_joins(joins, DBML), DBML), DBML)
    assert path.read_text("latin-1") == own


def test_a_file_that_people_edited_or_of_another_format_is_kept(
    joins: list[Join], tmp_path: Path
) -> None:
    path = tmp_path / "joins"
    text = precede_with_checksum(export_joins(joins, DBML), DBML)
    write_export(path, text, DBML)
    with pytest.raises(ForeignFileError, match="edited since"):
        write_export(path, text, ExportFormat.MERMAID)
    path.write_text(text.replace("Table", "Table  ", 1), "utf-8")
    with pytest.raises(ForeignFileError, match="edited since"):
        write_export(path, text, DBML)


def test_a_path_that_cannot_be_written_is_named(joins: list[Join], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "joins.dbml"
    with pytest.raises(UnwritablePathError, match=r"`--out` is '.*joins.dbml', and writing fails"):
        write_export(path, precede_with_checksum(export_joins(joins, DBML), DBML), DBML)
