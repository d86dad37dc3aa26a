"""Test how a file of people's decisions is read and written, and which faults are reported."""

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.decision_file import (
    WrittenDecision,
    editing_decision_file,
    read_damaged_lines,
    read_decision_file,
)
from datahub_hyperjoin.errors import FaultyDecisionsError, UnwritablePathError
from datahub_hyperjoin.joins import Verdict
from lakes.written_decisions import decisions, write_decision_file

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


def damaged(path: Path, text: str | bytes, name: str = "decisions.csv") -> list[str]:
    """Return the warnings of a file, without the path, which begins each of them."""
    file, told = path / name, list[tuple[str, str]]()
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    read_decision_file(file, lambda title, _, context: told.append((title, context)))
    assert all(title == "Decision not read" for title, _ in told)
    return [context.removeprefix(f"{file}: ") for _, context in told]


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
                "line 2, a quoted text has no end (unexpected end of data). Close each quote, and "
                "double quotes in a text"
            ),
        ),
    ],
)
def test_a_fault_names_its_line_its_column_and_the_fix(
    tmp_path: Path, line: str, fault: str
) -> None:
    assert damaged(tmp_path, f"{HEADER}\n{line}\n") == [fault]


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
                    "`left_column`, `right_table`, `right_column`, `decision`, `by`, `reason`, "
                    "`when`"
                )
            ],
        ),
        (
            f"{HEADER},by\rreason\n",
            [
                (
                    "line 1, it cannot be read (new-line character seen in unquoted field). "
                    "Shorten its texts, and put line breaks between quotes"
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
    ],
)
def test_a_file_that_is_no_list_of_json_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    assert faults_of(tmp_path, text, "decisions.json")[0].startswith(fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
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
    assert damaged(tmp_path, text, "decisions.json")[0].startswith(fault)


def test_many_faults_are_shortened(tmp_path: Path) -> None:
    faults = damaged(tmp_path, "\n".join([HEADER, *["a,x,b,y,no"] * 7]))
    assert [fault.partition(",")[0] for fault in faults] == [
        *(f"line {number}" for number in range(2, 7)),
        "2 more faults",
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


_settings = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize(
    "first",
    [
        "",
        f"\ufeff{HEADER.replace(',', ';')};by;reason\r\n",  # as Excel writes it in much of Europe
        "decision\tby\tright_table\tright_column\treason\tleft_table\tleft_column\r",
        "json",
    ],
    ids=["new", "semicolons", "tabs", "json"],
)
@_settings
@given(written=st.lists(decisions(), max_size=8))
def test_any_decision_is_read_as_it_was_written(
    tmp_path: Path, first: str, written: list[WrittenDecision]
) -> None:
    file = tmp_path / ("decisions.json" if first == "json" else "decisions.csv")
    file.write_bytes(b"[]" if first == "json" else first.encode())
    write_decision_file(file, written)
    assert [replace(each, place="") for each in read_decision_file(file)] == written
    assert file.read_bytes().startswith(first.partition(";")[0].encode() if ";" in first else b"")


@_settings
@given(written=decisions())
def test_each_decision_of_a_new_file_takes_one_line(
    tmp_path: Path, written: WrittenDecision
) -> None:
    file = tmp_path / "decisions.csv"
    file.unlink(missing_ok=True)
    write_decision_file(file, [written, written])
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3


LINES = [
    "flights.csv,carrier,airlines.csv,code,accepted,Ann,",
    'a,x,b,y,rejected,,"both, ""really"" count"',
    "c,z,d,w,accepted,Ümit,known",
]
DAMAGED = [
    "a,x,b",
    "a,x,b,y,acepted,,",
    'a,x,"b,y,accepted,,',
    'a,x,b",y,"accepted"x,,',
    "a\rb,x,c,y,accepted,,",
    ",x,b,y,accepted,,",
    "a,x,b,y,accepted,,,,",
    b"a,x,b\xe9,y,accepted,,",
    b"\xff\xfe\0\0",
    'a,"[""x"", 7]",b,y,accepted,,',
    f"a,x,b,y,accepted,,{'x' * 140_000}",
]


@pytest.mark.parametrize("line", DAMAGED)
@pytest.mark.parametrize("position", range(len(LINES) + 1))
def test_a_damaged_line_costs_that_line_alone(
    tmp_path: Path, line: str | bytes, position: int
) -> None:
    rest = [each.encode() for each in LINES]
    bad = line if isinstance(line, bytes) else line.encode()
    header = f"{HEADER},by,reason".encode()
    text = b"\n".join([header, *rest[:position], bad, *rest[position:], b""])
    [fault] = damaged(tmp_path, text)
    assert fault.startswith(f"line {position + 2}")
    file = tmp_path / "decisions.csv"
    kept = [replace(each, place="") for each in read_decision_file(file)]
    assert [each.left_table for each in kept] == ["flights.csv", "a", "c"]
    # A later decision keeps the line, and the line hides none.
    added = replace(CARRIER, left_table=",q", reason="more", place="")
    with editing_decision_file(file) as written:
        written.append(added)
    assert [replace(each, place="") for each in read_decision_file(file)] == [*kept, added]
    assert file.read_bytes().endswith(b"\n" + bad + b"\n")


def test_damaged_lines_and_entries_are_given_as_they_are_written(tmp_path: Path) -> None:
    text = f"{HEADER}\r\na,x,b\r\n{LINE}\r\n".encode()
    damaged(tmp_path, text)
    assert read_damaged_lines(tmp_path / "decisions.csv") == ("a,x,b",)
    damaged(tmp_path, '[{"left_table": "é"}, 7]', "decisions.json")
    assert read_damaged_lines(tmp_path / "decisions.json") == ('{"left_table": "é"}', "7")
    assert read_damaged_lines(tmp_path / "none.csv") == ()
    (tmp_path / "other.csv").write_text("x\n")
    assert read_damaged_lines(tmp_path / "other.csv") == ()


def test_entries_that_hold_no_decision_stay_in_json(tmp_path: Path) -> None:
    damaged(tmp_path, '[{"left_table": "é"}, 7]', "decisions.json")
    file = tmp_path / "decisions.json"
    write_decision_file(file, [CARRIER])
    assert json.loads(file.read_text())[1:] == [{"left_table": "é"}, 7]


def test_the_form_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    file.write_bytes(f"\ufeff{HEADER}\n{LINE}\n".replace(",", ";").replace("\n", "\r\n").encode())
    with editing_decision_file(file) as written:
        written.append(replace(CARRIER, right_table="z", by="Ann"))
    lines = file.read_bytes().decode("utf-8-sig").split("\r\n")
    assert lines == [
        f"{HEADER},by".replace(",", ";"),
        f"{LINE},".replace(",", ";"),
        "flights.csv;carrier;z;code;accepted;Ann",
        "",
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"left_table": ""}, "column `left_table` is empty. Name a table"),
        ({"right_columns": ("",)}, "column `right_column` is empty. Name a column"),
        (
            {"right_table": "flights.csv", "right_columns": ("carrier",)},
            "the column is joined with itself. Name another column",
        ),
        ({"reason": "x" * 140_000}, "it cannot be read (field larger than field limit (131072))"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(
    tmp_path: Path, change: dict[str, object], fault: str
) -> None:
    file = tmp_path / "decisions.csv"
    write_decision_file(file, [CARRIER])
    before = file.read_bytes()
    with (
        pytest.raises(FaultyDecisionsError, match="is not written, since it could not be") as error,
        editing_decision_file(file) as written,
    ):
        written.append(replace(CARRIER, **change))  # type: ignore[arg-type]
    assert fault in str(error.value)
    assert file.read_bytes() == before


def add(file: Path, names: Sequence[str]) -> None:
    for name in names:
        with editing_decision_file(file) as written:
            written.append(replace(CARRIER, left_table=name))


def test_decisions_that_several_programs_write_at_once_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "new" / "decisions.csv"
    people = [[f"{person}{number}" for number in range(20)] for person in "abcd"]
    with ProcessPoolExecutor(len(people)) as pool:
        list(pool.map(add, [file] * len(people), people))
    written = [each.left_table for each in read_decision_file(file)]
    assert sorted(written) == sorted(name for names in people for name in names)
    assert [path.name for path in file.parent.iterdir()] == ["decisions.csv"]
