"""Test that each lake is measured once per guise, and that hidden names reveal nothing."""

import logging
from pathlib import Path

from benchmarks.measured_lakes import Guise, guise_file, hide_names, measure_missing
from datahub_hyperjoin.evaluate.run import EvaluationProgress, ProfiledLake
from lakes.handmade import numbers, profile_lake

logger = logging.getLogger(__name__)


def test_hidden_names_differ_and_leave_the_rest_as_it_was() -> None:
    tables = {"orders": {"customer": numbers(1, 9)}, "customers": {"id": numbers(1, 9)}}
    before = profile_lake(tables)
    after = hide_names(before)
    names = [column.id for table in after for column in table.columns]
    assert len(set(names)) == len(names)
    assert not {"orders", "customers"} & {table.table.title for table in after}
    assert not {"customer", "id"} & {name.path for name in names}
    assert [table.columns[0].sketch for table in after] == [t.columns[0].sketch for t in before]


def test_what_is_measured_stays(labelled_lake: Path, tmp_path: Path) -> None:
    saved = []

    def save(lake: ProfiledLake, guise: Guise, file: Path) -> None:
        saved.append((lake.labelled.name, guise))
        file.touch()

    guises = (Guise.WHOLE, Guise.BARE)
    files = {labelled_lake: {each: guise_file(labelled_lake, tmp_path, each) for each in guises}}
    for _ in range(2):
        measure_missing(files, save, EvaluationProgress(logger.info))
    assert saved == [(labelled_lake.name, guise) for guise in guises]
    assert all(file.exists() for file in files[labelled_lake].values())


def test_a_lake_of_the_working_folder_has_a_file() -> None:
    file = guise_file(Path("school"), Path("cache"), Guise.NAMELESS)
    assert file.name.endswith("-school-nameless.npz")
