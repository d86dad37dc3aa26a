"""Test how a file of people's decisions is read and written, and which faults are reported."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.decision_file import (
    WrittenDecision,
    read_decision_file,
    write_decision_file,
)
from datahub_hyperjoin.errors import FaultyDecisionsError, UnwritablePathError
from datahub_hyperjoin.joins import Verdict

HEADER = "left_table,left_column,right_table,right_column,decision"
CARRIER = WrittenDecision(
    left_table="flights.csv",
    left_columns=("carrier",),
    right_table="airlines.csv",
    right_columns=("code",),
    verdict=Verdict.ACCEPTED,
    place="line 2",
)
LINE = "flights.csv,carrier,airlines.csv,code,accepted"


def read(path: Path, text: str | bytes, name: str = "decisions.csv") -> list[WrittenDecision]:
    file = path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [*read_decision_file(file)]


def faults_of(path: Path, text: str | bytes, name: str = "decisions.csv") -> list[str]:
    """Return the lines of an error, except the first one, which names the file."""
    with pytest.raises(FaultyDecisionsError) as caught:
        read(path, text, name)
    first, *faults = str(caught.value).splitlines()
    assert first == f"`decisions` is {str(path / name)!r}. Correct this file:"
    return [fault.strip() for fault in faults]


def test_a_line_is_a_decision(tmp_path: Path) -> None:
    assert read(tmp_path, f"{HEADER}\n{LINE}\n") == [CARRIER]
    assert str(CARRIER) == "flights.csv.carrier = airlines.csv.code"


def test_a_file_that_does_not_exist_decides_nothing(tmp_path: Path) -> None:
    assert read_decision_file(tmp_path / "none.csv") == ()


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{HEADER}\r\n{LINE}\r\n",  # as Excel writes UTF-8
        f"{HEADER}\n{LINE}".replace(",", ";"),
        f"{HEADER}\n{LINE}".replace(",", "\t"),
        f"{HEADER}\n{LINE.replace('accepted', ' Accepted ')}\n\n,,,,\n",
    ],
)
def test_spreadsheets_write_it_in_several_ways(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [CARRIER]


def test_columns_stand_in_any_order_with_who_and_why(tmp_path: Path) -> None:
    text = (
        "decision,by,reason,right_table,right_column,left_table,left_column\n"
        'rejected,Ann,"other\nyears, ""really""",b,y,a,x\naccepted,,,b,z,a,w\n'
    )
    first, second = read(tmp_path, text)
    assert (first.by, first.reason, first.verdict) == (
        "Ann",
        'other\nyears, "really"',
        Verdict.REJECTED,
    )
    assert (first.place, second.place) == ("line 2", "line 4")
    assert (second.by, str(second)) == ("", "a.w = b.z")


def test_a_composite_key_is_a_list_of_columns(tmp_path: Path) -> None:
    cells = '"[""org"", ""year""]"'
    (decision,) = read(tmp_path, f"{HEADER}\na,{cells},b,{cells},accepted\n")
    assert decision.left_columns == decision.right_columns == ("org", "year")
    assert str(decision) == "a.org + year = b.org + year"


def test_a_name_may_look_like_a_list(tmp_path: Path) -> None:
    (decision,) = read(tmp_path, f'{HEADER}\na,[x],b,"[""unfinished",accepted\n')
    assert (decision.left_columns, decision.right_columns) == (("[x]",), ('["unfinished',))


def test_json_holds_the_same(tmp_path: Path) -> None:
    keys, cells = HEADER.split(","), LINE.split(",")
    entries = [
        dict(zip(keys, cells, strict=True)),
        {
            **dict(zip(keys, cells, strict=True)),
            "left_column": ["a", "b"],
            "right_column": ["c", "d"],
        },
    ]
    first, second = read(tmp_path, json.dumps(entries), "decisions.JSON")
    assert (first.left_columns, first.place) == (("carrier",), "entry 1")
    assert (second.left_columns, second.right_columns) == (("a", "b"), ("c", "d"))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "a,x,b,y,acepted",
            "line 2, column `decision`: 'acepted' is no decision. Write `accepted`",
        ),
        (
            "a,x,b,y,maybe",
            "line 2, column `decision`: 'maybe' is no decision. Write `accepted` or `rejected`",
        ),
        (
            "a,x,b,y,",
            (
                "line 2, column `decision` is empty. Write `accepted` or `rejected`, or remove the "
                "line"
            ),
        ),
        (
            ",x,b,y,accepted",
            "line 2, column `left_table` is empty. Name a table, or give the URN of its dataset",
        ),
        (
            "a,x,b,,accepted",
            "line 2, column `right_column` is empty. Name a column of `right_table`",
        ),
        (
            "a,x,a,x,accepted",
            "line 2, the column is joined with itself. Name another column in `right_column`",
        ),
        (
            'a,"[""x"", ""y""]",b,y,accepted',
            (
                "line 2, `left_column` names 2 columns and `right_column` 1. Name the same number, "
                "in the same order"
            ),
        ),
        (
            'a,"[""x"", 7]",b,y,accepted',
            (
                "line 2, column `left_column`: '[\"x\", 7]' is no name. Write `id`, or "
                '`["org", "year"]` for several'
            ),
        ),
        (
            "a,x,b,y,accepted,more",
            (
                "line 2 has 6 cells, and the first line has 5. Put texts that contain a comma or a "
                "quote between double quotes"
            ),
        ),
        (
            'a,x,"b,y,accepted',
            (
                "a quoted text has no end (unexpected end of data). Close each quote, and double "
                "quotes in a text"
            ),
        ),
    ],
)
def test_a_fault_names_its_line_its_column_and_the_fix(
    tmp_path: Path, line: str, fault: str
) -> None:
    assert faults_of(tmp_path, f"{HEADER}\n{line}\n") == [fault]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            "",
            [
                (
                    "line 1 lacks `left_table`, `left_column`, `right_table`, `right_column`, "
                    "`decision`. Begin the file with `left_table`, `left_column`, `right_table`, "
                    "`right_column`, `decision`"
                )
            ],
        ),
        (
            f"{HEADER},resaon\n",
            ["line 1 has an unknown column `resaon`. Rename it to `reason`"],
        ),
        (
            f"{HEADER},7\n",
            [
                (
                    "line 1 has an unknown column `7`. Remove it; the names are `left_table`, "
                    "`left_column`, `right_table`, `right_column`, `decision`, `by`, `reason`"
                )
            ],
        ),
        (
            "Ort é".encode("latin-1"),
            ["it is not UTF-8 text. Save it as `CSV UTF-8`"],
        ),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, text: str | bytes, faults: list[str]
) -> None:
    assert faults_of(tmp_path, text) == faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "[{",
            "it is not JSON: Expecting property name enclosed in double quotes: line 1 column 3",
        ),
        ("{}", "it holds no list. Write a list of objects with the keys `left_table`"),
        ("[7]", "entry 1 is no object. Write an object with the keys `left_table`"),
        ("[{}]", "entry 1 lacks `left_table`, `left_column`"),
        (
            (
                '[{"left_table": 7, "left_column": 1, "right_table": "b", "right_column": "y", '
                '"decision": "accepted"}]'
            ),
            "entry 1, column `left_table`: 7 is no text. Put it between double quotes",
        ),
    ],
)
def test_faults_of_json_are_named_too(tmp_path: Path, text: str, fault: str) -> None:
    assert faults_of(tmp_path, text, "decisions.json")[0].startswith(fault)


def test_many_faults_are_shortened(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, "\n".join([HEADER, *["a,x,b,y,no"] * 7]))
    assert [fault.partition(",")[0] for fault in faults] == [
        *(f"line {number}" for number in range(2, 7)),
        "and 2 more",
    ]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FaultyDecisionsError, match=r"cannot be read \(Is a directory\)\. Correct"):
        read_decision_file(tmp_path)


ODD = WrittenDecision(
    left_table='a "b", c',
    left_columns=("org", "ye ar"),
    right_table="é;\nf",
    right_columns=("x", "y"),
    verdict=Verdict.REJECTED,
    by="Ann",
    reason="other\tyears",
)


@pytest.mark.parametrize("name", ["decisions.csv", "decisions.JSON"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    names = (" id", '["a"]', "plain")
    singles = [replace(ODD, left_columns=(one,), right_columns=("x",)) for one in names]
    file = tmp_path / "new" / name
    write_decision_file(file, [CARRIER, ODD, *singles])
    read_again = [replace(each, place="") for each in read_decision_file(file)]
    assert read_again == [replace(CARRIER, place=""), ODD, *singles]


def test_the_csv_is_that_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    write_decision_file(file, [CARRIER])
    assert file.read_bytes() == f"{HEADER},by,reason\n{LINE},,\n".encode()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    file, link = tmp_path / "shared.csv", tmp_path / "decisions.csv"
    file.touch()
    file.chmod(0o664)
    link.symlink_to(file)
    write_decision_file(link, [CARRIER])
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o664
    assert [replace(each, place="line 2") for each in read_decision_file(file)] == [CARRIER]


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    message = (
        r"`decisions` is '.*d\.csv', and it cannot be written \((File exists|Not a directory)\)"
    )
    with pytest.raises(UnwritablePathError, match=message):
        write_decision_file(file / "d.csv", [CARRIER])
