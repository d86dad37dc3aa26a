"""Test that the gallery shows what is found in its lakes today."""

import re
from pathlib import Path

import pytest

from benchmarks.gallery import LAKES, GalleryLake, known_within, row
from datahub_hyperjoin import find_joins
from datahub_hyperjoin.demo import write_lake

PAGE = Path(__file__).parents[3] / "docs" / "gallery.md"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gallery") / "lake"
    write_lake(folder)
    return folder


@pytest.mark.parametrize("lake", LAKES, ids=lambda lake: lake.name)
def test_the_page_has_the_numbers_of_a_run(lake: GalleryLake, folder: Path) -> None:
    found = find_joins(*(folder / publisher for publisher in lake.publishers), sql=False)
    name, *numbers = map(str, row(lake, found))
    page = PAGE.read_text("utf-8")
    shown = re.findall(rf"^\| \[{name}\]\(#{name}\) \| (.*) \|$", page, re.MULTILINE)
    assert shown == [" | ".join(numbers)]


def test_a_known_join_has_both_tables_in_the_lake() -> None:
    assert known_within(("gapminder",)) == set()
    assert (
        "gapminder/gapminder.csv",
        "country",
        "country_converter/country_data.csv",
        "name_short",
    ) in (known_within(("gapminder", "country_converter")))
