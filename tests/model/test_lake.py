from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.tables import DataType, Table, TableId, TableProfile
from datahub_hyperjoin.value_forms import Notation
from lakes.handmade import draw

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]


def test_columns_are_listed_table_by_table(make_lake: MakeLake) -> None:
    lake = make_lake({"a": {"x": ["1"], "empty": ["", ""]}, "b": {"y": ["2"], "z": ["3"]}})
    assert [str(column) for column in lake.ids] == ["a.x", "b.y", "b.z"]
    assert [columns.tolist() for columns in lake.columns_of] == [[0], [1, 2]]
    assert len(lake) == 3


def test_the_order_of_tables_and_columns_is_that_of_names(make_lake: MakeLake) -> None:
    tables = {"b": {"y": ["1"], "x": ["2"]}, "a": {"z": ["3"]}, "c": {"v": ["4"], "w": ["5"]}}
    backwards = {
        name: dict(reversed(columns.items())) for name, columns in reversed(tables.items())
    }
    for lake in (make_lake(tables).in_order(), make_lake(backwards).in_order()):
        assert [str(column) for column in lake.ids] == ["a.z", "b.x", "b.y", "c.v", "c.w"]
        assert (lake.titles, lake.table_of.tolist()) == (("a", "b", "c"), [0, 1, 1, 2, 2])


def test_a_table_with_a_fault_counts_for_nothing() -> None:
    table = Table(
        id=TableId("file", "bad"),
        title="bad",
        location=File(uri="bad", format="csv"),
        size=0,
    )
    lake = Lake.from_tables([TableProfile(table=table, fault="is an empty file")])
    assert (len(lake), lake.titles) == (0, ())
    assert lake.table_of.dtype == np.int64


def test_density_tells_running_numbers_from_codes(make_lake: MakeLake) -> None:
    cells = {
        "running": [str(number) for number in range(7, 57)],
        "every_tenth": [str(number) for number in range(10, 510, 10)],
        "words": [f"w{number}" for number in range(50)],
        "one": ["5"] * 50,
        "negative": [str(-number) for number in range(50)],
        "raised": ["\N{SUPERSCRIPT TWO}", "\N{SUPERSCRIPT THREE}"] * 25,
        "marked": ["\N{MINUS SIGN}2", "\N{ZERO WIDTH SPACE}-1"] * 25,
    }
    lake = make_lake({"t": cells})
    np.testing.assert_allclose(lake.density[:5], [1, 50 / 491, 0, 1, 1])
    odd = (replace(profile, type=DataType.INTEGER) for profile in lake.profiles[5:])
    numbers = replace(lake, profiles=(*odd,))
    assert numbers.density.tolist() == [1, 1]


def test_a_counter_with_a_few_marks_holds_numbers(make_lake: MakeLake) -> None:
    counter = [str(number) for number in range(1, 61)]
    cells = {
        "marked": [*counter[:59], "60*"],
        "often_marked": [*counter[:56], *(f"{number}*" for number in counter[56:])],
        "codes": [*(f"{number}00" for number in counter[:59]), "60*"],
        "words": [f"w{number}" for number in counter],
    }
    lake = make_lake({"t": {name: draw(values, 64) for name, values in cells.items()}})
    marked = {"marked"}
    named = dict(
        zip(lake.paths, zip(lake.is_whole, lake.is_text, lake.density, strict=True), strict=True)
    )
    assert {name for name, (is_whole, _, _) in named.items() if is_whole} == marked
    assert {name for name, (_, is_text, _) in named.items() if not is_text} == marked
    assert named["marked"][2] == 1
    assert named["often_marked"][2] == named["codes"][2] == named["words"][2] == 0
    assert lake.ids[lake.paths.index("marked")] in lake.texts
    padded = replace(lake.profiles[lake.paths.index("marked")], notation=Notation.PADDED)
    assert replace(lake, profiles=(padded,)).is_text.tolist() == [True]


def test_numbers_without_bounds_fill_nothing(make_lake: MakeLake) -> None:
    lake = make_lake({"t": {"x": ["1", "2", "inf"]}})
    numbers = replace(lake, profiles=(replace(lake.profiles[0], type=DataType.DECIMAL),))
    assert numbers.density.tolist() == [0]


def test_a_value_that_a_column_spells_in_two_ways_is_one_value(make_lake: MakeLake) -> None:
    lake = make_lake({"t": {"day": ["2024-01-30", "30.01.2024", "31.01.2024"]}})
    [written] = lake.profiles
    form_sketch = written.sketch[: len(written.sketch) * 2 // 3]
    mixed = replace(written, notation=Notation.DAY_FIRST, form_sketch=form_sketch)
    assert replace(lake, profiles=(mixed,)).distinct.tolist() == [2]


def test_days_of_spreadsheets_are_no_running_numbers(make_lake: MakeLake) -> None:
    lake = make_lake({"t": {"sold_on": [str(number) for number in range(45000, 45300)]}})
    days = replace(lake.profiles[0], notation=Notation.SERIAL_DAY)
    assert lake.density.tolist() == [1]
    assert replace(lake, profiles=(days,)).density.tolist() == [0]
