"""Read and write the file of people's decisions about joins.

The recipe names the file. People download it from the HTML page. It is CSV or JSON, so that people
can edit it in a spreadsheet and keep it in a repository.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any

from datahub_hyperjoin.errors import FaultyDecisionsError, UnwritablePathError
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.statements import JoinedColumns
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.tables import ColumnId, TableId, in_order

REQUIRED = ("left_table", "left_column", "right_table", "right_column", "decision")
OPTIONAL = ("by", "reason")
_NAMES = (*REQUIRED, *OPTIONAL)
_TABLES = ("left_table", "right_table")
_TEXTS = (*_TABLES, *OPTIONAL)
_SIDES = ("left", "right")
_DELIMITERS = (",", ";", "\t")
"""What spreadsheets write between the cells, depending on the country."""
_MOST_FAULTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDecision:
    """A person's decision about a join, as written in the file of decisions."""

    left_table: str
    """The left table: its name as the page shows it, or the URN of its dataset."""

    left_columns: tuple[str, ...]
    """The columns of the left table: one, or several for a composite key."""

    right_table: str
    """The right table, in the same form as the left one."""

    right_columns: tuple[str, ...]
    """The columns of the right table, as many as `left_columns`."""

    verdict: Verdict
    """Accepted or rejected."""

    by: str = ""
    """Who decided; empty if the file does not say."""

    reason: str = ""
    """Reason for the decision; empty if the file names none."""

    place: str = ""
    """Place of the decision in the file, such as `line 3`."""

    def __str__(self) -> str:
        sides = (self.left_table, self.left_columns), (self.right_table, self.right_columns)
        return " = ".join(f"{table}.{' + '.join(columns)}" for table, columns in sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledDecision:
    """A decision from the file of decisions, and the tables of this run that the decision names."""

    written: WrittenDecision
    """The decision in the words of the file."""

    left: TableId | None = None
    """The left table of the decision; None if this run has no such table."""

    right: TableId | None = None
    """The right table of the decision; None if this run has no such table."""

    @property
    def columns(self) -> JoinedColumns:
        """The columns of the join; empty if the run lacks one of the tables."""
        if self.left is None or self.right is None:
            return ()
        written, left, right = self.written, self.left, self.right
        return in_order(
            (ColumnId(left, own), ColumnId(right, other))
            for own, other in zip(written.left_columns, written.right_columns, strict=True)
        )


def read_decision_file(path: Path) -> tuple[WrittenDecision, ...]:
    """Read the decisions from a file.

    Args:
        path: A `.csv` or `.json` file. A file that does not exist holds no decisions.

    Returns:
        The decisions, in the order of the file.

    Raises:
        FaultyDecisionsError: The file cannot be read, or some of its lines are malformed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ()
    except UnicodeDecodeError as error:
        raise FaultyDecisionsError.in_file(str(path), [_NOT_UTF_8]) from error
    except OSError as error:
        fault = f"it cannot be read ({error.strerror}). Correct the path or its permissions"
        raise FaultyDecisionsError.in_file(str(path), [fault]) from error
    faults: list[str] = []
    parse = _parse_json if path.suffix.lower() == ".json" else _parse_csv
    decisions = tuple(parse(text, faults.append))
    if faults:
        more = [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
        raise FaultyDecisionsError.in_file(str(path), [*faults[:_MOST_FAULTS], *more])
    return decisions


def write_decision_file(path: Path, decisions: Iterable[WrittenDecision]) -> None:
    """Replace the content of a file of decisions atomically.

    A new file can be read by its owner only; another one keeps its permissions.

    Args:
        path: A `.csv` or `.json` file.
        decisions: All decisions of the file.

    Raises:
        UnwritablePathError: The file cannot be written.
    """
    lines = [_cells(each) for each in decisions]
    text = _as_json(lines) if path.suffix.lower() == ".json" else _as_csv(lines)
    # A link stays one.
    file = path.resolve()
    try:
        mode = file.stat().st_mode if file.exists() else None
        with replacing(file) as unfinished:
            unfinished.write_text(text, encoding="utf-8", newline="")
        if mode is not None:
            file.chmod(mode)
    except OSError as error:
        reason = f"it cannot be written ({error.strerror})"
        raise UnwritablePathError.because(_KEY, str(path), reason=reason) from error


_KEY = "decisions"
_Cells = tuple[str | tuple[str, ...], ...]


def _cells(decision: WrittenDecision) -> _Cells:
    return (
        decision.left_table,
        _cell(decision.left_columns),
        decision.right_table,
        _cell(decision.right_columns),
        decision.verdict.value,
        decision.by,
        decision.reason,
    )


def _cell(columns: tuple[str, ...]) -> str | tuple[str, ...]:
    """Convert the column names on one side of a join to a cell of the file of decisions.

    One name becomes a text, and several names become a tuple. One name also becomes a tuple if it
    has spaces around it or begins like a JSON list of names.
    """
    name, *others = columns
    is_plain = not others and name == name.strip() and not name.startswith('["')
    return name if is_plain else columns


def _as_json(lines: Iterable[_Cells]) -> str:
    entries = [dict(zip(_NAMES, cells, strict=True)) for cells in lines]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def _as_csv(lines: Iterable[_Cells]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_NAMES)
    for cells in lines:
        texts = (c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in cells)
        writer.writerow(texts)
    return text.getvalue()


_NOT_UTF_8 = "it is not UTF-8 text. Save it as `CSV UTF-8`"
_Note = Callable[[str], None]
"""Receives what is wrong with a line, and how to mend it."""


def _parse_csv(text: str, note: _Note) -> Iterator[WrittenDecision]:
    lines = _split(text)
    try:
        header = [name.strip() for name in next(lines, (1, []))[1]]
        if not _check_names(header, "line 1", note, missing="Begin the file with"):
            return
        for line, cells in lines:
            place = f"line {line}"
            if not any(cells):
                continue
            if len(cells) != len(header):
                note(
                    f"{place} has {len(cells)} cells, and the first line has {len(header)}. Put "
                    "texts that contain a comma or a quote between double quotes"
                )
            elif decision := _parse(dict(zip(header, cells, strict=True)), place, note):
                yield decision
    except csv.Error as error:
        note(f"a quoted text has no end ({error}). Close each quote, and double quotes in a text")


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    """Parse CSV text; yield the number of each row's first line, and the row's cells."""
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    for cells in rows:
        yield start, cells
        start = rows.line_num + 1


def _parse_json(text: str, note: _Note) -> Iterator[WrittenDecision]:
    try:
        entries = json.loads(text)
    except ValueError as error:
        note(f"it is not JSON: {error}. Correct this place")
        return
    if not isinstance(entries, list):
        note(f"it holds no list. Write a list of objects with the keys {_name(REQUIRED)}")
        return
    for number, entry in enumerate(entries, start=1):
        place = f"entry {number}"
        if not isinstance(entry, dict):
            note(f"{place} is no object. Write an object with the keys {_name(REQUIRED)}")
        elif _check_names([*entry], place, note, missing=f"Add to {place}") and (
            decision := _parse(entry, place, note)
        ):
            yield decision


def _check_names(names: Sequence[str], place: str, note: _Note, *, missing: str) -> bool:
    """Note unknown columns and missing required columns; return whether the names are right.

    In a JSON file, the columns are the keys of an entry. `missing` is the advice in the note about
    missing columns; their names follow it.
    """
    unknown = [name for name in names if name not in _NAMES]
    for name in unknown:
        near = get_close_matches(name, _NAMES, n=1)
        fix = f"Rename it to `{near[0]}`" if near else f"Remove it; the names are {_name(_NAMES)}"
        note(f"{place} has an unknown column `{name}`. {fix}")
    if lacking := [name for name in REQUIRED if name not in names]:
        note(f"{place} lacks {_name(lacking)}. {missing} {_name(REQUIRED)}")
    return not (unknown or lacking)


def _name(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _parse(cells: Mapping[str, Any], place: str, note: _Note) -> WrittenDecision | None:
    """Convert the cells of one line to a decision; None if a cell is malformed.

    Each fault is noted.
    """
    faults: list[str] = []
    texts = {name: _text(cells.get(name) or "", name, faults.append) for name in _TEXTS}
    faults += [
        f"column `{name}` is empty. Name a table, or give the URN of its dataset"
        for name in _TABLES
        if not texts[name]
    ]
    left, right = (_columns(cells[f"{side}_column"], side, faults.append) for side in _SIDES)
    if left and right and len(left) != len(right):
        faults.append(
            f"`left_column` names {len(left)} columns and `right_column` {len(right)}. Name the "
            "same number, in the same order"
        )
    if left == right and left and texts["left_table"] == texts["right_table"]:
        faults.append("the column is joined with itself. Name another column in `right_column`")
    verdict = _verdict(cells["decision"], faults.append)
    for fault in faults:
        note(f"{place}, {fault}")
    if faults or verdict is None:
        return None
    return WrittenDecision(
        **texts, left_columns=left, right_columns=right, verdict=verdict, place=place
    )


def _text(value: object, name: str, note: _Note) -> str:
    if isinstance(value, str):
        return value.strip()
    note(f"column `{name}`: {value!r} is no text. Put it between double quotes")
    return ""


def _columns(value: object, side: str, note: _Note) -> tuple[str, ...]:
    """Parse the column names on one side of a join; empty if they are malformed.

    The value is one name, or a JSON list of the names of a composite key.
    """
    name, names = f"{side}_column", value
    if isinstance(value, str):
        names = [value.strip()]
        if value.lstrip().startswith('["'):
            try:
                names = json.loads(value)
            except ValueError:
                names = [value]
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        note(f'column `{name}`: {value!r} is no name. Write `id`, or `["org", "year"]` for several')
        return ()
    if not names or not all(names):
        note(f"column `{name}` is empty. Name a column of `{side}_table`")
        return ()
    return tuple(names)


def _verdict(value: object, note: _Note) -> Verdict | None:
    known = [verdict.value for verdict in Verdict]
    word = str(value).strip().lower()
    if word in known:
        return Verdict(word)
    near = get_close_matches(word, known, n=1)
    fix = f"Write `{near[0]}`" if near else f"Write {' or '.join(f'`{one}`' for one in known)}"
    note(
        f"column `decision` is empty. {fix}, or remove the line"
        if not word or value is None
        else f"column `decision`: {value!r} is no decision. {fix}"
    )
    return None
