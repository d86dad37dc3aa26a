"""Read and write the file of people's decisions about joins.

The recipe names the file. People download it from the HTML page. It is CSV or JSON, so that people
can edit it in a spreadsheet and keep it in a repository. A damaged line has no effect, and stays in
the file.
"""

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any

from datahub_hyperjoin.errors import FaultyDecisionsError, UnwritablePathError
from datahub_hyperjoin.joins import JoinedColumns, Verdict
from datahub_hyperjoin.progress import Warn, warn_nobody
from datahub_hyperjoin.storage import alone_in, replacing
from datahub_hyperjoin.tables import ColumnId, TableId, in_order

REQUIRED = ("left_table", "left_column", "right_table", "right_column", "decision")
OPTIONAL = ("by", "reason", "when")
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

    right_columns: tuple[str, ...]
    """The columns of the right table, as many as `left_columns`."""

    verdict: Verdict

    by: str = ""
    """Who decided; empty if the file does not say."""

    reason: str = ""
    """Reason for the decision; empty if the file names none."""

    when: str = ""
    """When the decision was made, as the file says; empty if it does not."""

    place: str = ""
    """Place of the decision in the file, such as `line 3`."""

    @property
    def milliseconds(self) -> int:
        """`when` in milliseconds since 1970; 0 if the file does not say it as ISO 8601 does.

        Days and times without a zone are those of UTC.
        """
        try:
            # Before Python 3.11, `Z` is no zone.
            made = datetime.fromisoformat(self.when.strip().replace("Z", "+00:00"))
        except ValueError:
            return 0
        zoned = made if made.tzinfo else made.replace(tzinfo=timezone.utc)
        return int(zoned.timestamp() * 1000)

    @property
    def words(self) -> str:
        """The decision in words, without the join: `rejected by Ann: both only count`."""
        signed = f"{self.verdict.value} by {self.by}" if self.by else self.verdict.value
        return f"{signed}: {self.reason}" if self.reason else signed

    def __str__(self) -> str:
        sides = (self.left_table, self.left_columns), (self.right_table, self.right_columns)
        return " = ".join(f"{table}.{' + '.join(columns)}" for table, columns in sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledDecision:
    """A decision from the file of decisions, and the tables of this run that the decision names."""

    written: WrittenDecision

    left: TableId | None = None
    """The left table of the decision; None if this run has no such table."""

    right: TableId | None = None

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


@dataclass(frozen=True, slots=True)
class _Damaged:
    """A line of CSV, or an entry of JSON, that holds no decision."""

    raw: Any
    """The line as it is written, or the entry."""

    faults: tuple[str, ...]
    """What is wrong with it, and how to mend it."""


_Entry = WrittenDecision | _Damaged


@dataclass(frozen=True, kw_only=True)
class _Content:
    """What a file of decisions holds, and how it is written."""

    entries: Sequence[_Entry] = ()
    names: Sequence[str] = (*REQUIRED, "by", "reason")
    delimiter: str = _DELIMITERS[0]
    end: str = "\n"
    mark: bytes = b""
    """The mark with which Excel begins a file in UTF-8."""

    @property
    def decisions(self) -> list[WrittenDecision]:
        return [entry for entry in self.entries if isinstance(entry, WrittenDecision)]

    @property
    def damaged(self) -> list[_Damaged]:
        return [entry for entry in self.entries if isinstance(entry, _Damaged)]


def time_of_decision() -> str:
    """Return the present time as the file says when a decision was made."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def read_decision_file(path: Path, warn: Warn = warn_nobody) -> tuple[WrittenDecision, ...]:
    """Read the decisions from a file."""
    content = _load(path)
    faults = [fault for entry in content.damaged for fault in entry.faults]
    more = [f"{len(faults) - _MOST_FAULTS} more faults"] if len(faults) > _MOST_FAULTS else []
    for fault in (*faults[:_MOST_FAULTS], *more):
        warn(
            "Decision not read",
            "The line has no effect, and stays in the file of `decisions`. Correct it there",
            f"{path}: {fault}",
        )
    return tuple(content.decisions)


def read_damaged_lines(path: Path) -> tuple[str, ...]:
    """Return the lines of a file of decisions that hold no decision, as they are written."""
    with suppress(FaultyDecisionsError):
        raw = (entry.raw for entry in _load(path).damaged)
        return tuple(_json(each) if _is_json(path) else each.rstrip("\r\n") for each in raw)
    return ()


@contextmanager
def editing_decision_file(path: Path) -> Iterator[list[WrittenDecision]]:
    """Let a `with` block change the decisions of a file, while nobody else changes the file.

    The file is replaced atomically. A new file can be read by its owner only; another one keeps its
    permissions and, at its end, its damaged lines.
    """
    # A link stays one.
    file = path.resolve()
    with ExitStack() as stack:
        with _writing(path):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(alone_in(file.parent))
        is_empty = file.is_file() and not file.stat().st_size
        content = _Content() if is_empty else _load(path)
        decisions = content.decisions
        yield decisions
        if decisions == content.decisions and not is_empty:
            return
        known = {*map(id, content.decisions)}
        for decision in decisions:
            if id(decision) not in known:
                _refuse_unreadable(path, decision, content)
        text = _render(path, decisions, content)
        with _writing(path), replacing(file, private=not file.exists()) as unfinished:
            unfinished.write_bytes(content.mark + text.encode("utf-8", _AS_IT_IS))


_KEY = "decisions"
_AS_IT_IS = "surrogateescape"
"""Python's way to read bytes that are no UTF-8, so that they are written back as they were."""
_Cell = str | tuple[str, ...]


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"it cannot be written ({error.strerror})"
        raise UnwritablePathError.because(_KEY, str(path), reason=reason) from error


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _load(path: Path) -> _Content:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return _Content()
    except OSError as error:
        fault = f"it cannot be read ({error.strerror}). Correct the path or its permissions"
        raise FaultyDecisionsError.in_file(str(path), [fault]) from error
    mark = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
    text = content.removeprefix(mark).decode("utf-8", _AS_IT_IS)
    faults: list[str] = []
    read = _parse_text(path, text, faults.append)
    if faults:
        raise FaultyDecisionsError.in_file(str(path), faults)
    return replace(read, mark=mark)


def _refuse_unreadable(path: Path, decision: WrittenDecision, content: _Content) -> None:
    """Refuse a decision that would be read back in another way, or not at all."""
    faults: list[str] = []
    text = _render(path, [decision], replace(content, entries=()))
    again = _parse_text(path, text, faults.append)
    if [replace(each, place="") for each in again.decisions] != [replace(decision, place="")]:
        faults += [fault for entry in again.damaged for fault in entry.faults]
        raise FaultyDecisionsError.of_decision(str(decision), faults)


def _render(path: Path, decisions: Sequence[WrittenDecision], content: _Content) -> str:
    """Return the text of a file with other decisions than before, and the same damaged lines."""
    lines = [_cells(each) for each in decisions]
    raw = [entry.raw for entry in content.damaged]
    if _is_json(path):
        return f"{_json([*lines, *raw], indent=2)}\n"
    used = (name for name in OPTIONAL if any(line.get(name) for line in lines))
    names = [*dict.fromkeys((*content.names, *used))]
    text = StringIO()
    writer = csv.writer(text, delimiter=content.delimiter, lineterminator=content.end)
    writer.writerow(names)
    for line in lines:
        cells = (line.get(name, "") for name in names)
        writer.writerow(cell if isinstance(cell, str) else _json(cell) for cell in cells)
    # At the end, a quoted text without an end can swallow no decision.
    text.writelines(line.rstrip("\r\n") + content.end for line in raw)
    return text.getvalue()


def _cells(decision: WrittenDecision) -> dict[str, _Cell]:
    left, right = (
        columns[0] if len(columns) == 1 and _is_plain(columns[0]) else columns
        for columns in (decision.left_columns, decision.right_columns)
    )
    return {
        "left_table": _cell(decision.left_table),
        "left_column": left,
        "right_table": _cell(decision.right_table),
        "right_column": right,
        "decision": decision.verdict.value,
        "by": _cell(decision.by),
        "reason": _cell(decision.reason),
        **({"when": _cell(decision.when)} if decision.when else {}),
    }


def _cell(text: str) -> _Cell:
    return text if _is_plain(text) else (text,)


def _is_plain(text: str) -> bool:
    """Return whether a text is a cell itself; any other text becomes a JSON list of one text."""
    # Spreadsheets, editors and version control change line breaks, and people write spaces around
    # cells.
    return text.isprintable() and text == text.strip() and not text.startswith('["')


def _json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON, with escapes for all characters that people cannot see."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    shown = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    return "".join(shown)


_NOT_UTF_8 = "it is not UTF-8 text. Save it as `CSV UTF-8`"
_Note = Callable[[str], None]
"""Receives what is wrong with a line, and how to mend it."""


def _is_utf_8(text: str) -> bool:
    return text == text.encode("utf-8", "replace").decode()


def _parse_text(path: Path, text: str, note: _Note) -> _Content:
    """Parse the text of a file, and note what is wrong with the whole file."""
    return (_parse_json if _is_json(path) else _parse_csv)(text, note)


def _parse_csv(text: str, note: _Note) -> _Content:
    lines = [*StringIO(text, newline="\n" if "\n" in text else "\r")] or [""]
    if not _is_utf_8(lines[0]):
        note(_NOT_UTF_8)
        return _Content()
    delimiter = max(_DELIMITERS, key=lines[0].count)
    try:
        names = [name.strip() for name in next(csv.reader(lines[:1], delimiter=delimiter), [])]
    except csv.Error as error:
        note(f"line 1, {_explain(str(error))}")
        return _Content()
    if not _check_names(names, "line 1", note, missing="Begin the file with"):
        return _Content()
    entries: list[_Entry] = []
    start = 1
    while start < len(lines):
        count, entry = _parse_line(lines, start, names, delimiter)
        entries += [entry] if entry else []
        start += count
    end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    return _Content(entries=entries, names=names, delimiter=delimiter, end=end)


def _parse_line(
    lines: Sequence[str], start: int, names: Sequence[str], delimiter: str
) -> tuple[int, _Entry | None]:
    """Parse the cells that begin in a line, and return how many lines they take."""
    # Of a damaged line, no further line is taken: a quote that is missing there could hide them
    # all.
    place = f"line {start + 1}"
    following = (lines[number] for number in range(start, len(lines)))
    rows = csv.reader(following, delimiter=delimiter, strict=True)
    try:
        cells = next(rows)
    except csv.Error as error:
        return 1, _Damaged(lines[start], (f"{place}, {_explain(str(error))}",))
    raw = "".join(lines[start : start + rows.line_num])
    if not any(cells):
        return rows.line_num, None
    if not _is_utf_8(raw):
        return 1, _Damaged(lines[start], (f"{place}, {_NOT_UTF_8}",))
    if len(cells) != len(names):
        fault = (
            f"{place} has {len(cells)} cells, and the first line has {len(names)}. Put texts that "
            "contain a comma or a quote between double quotes"
        )
        return 1, _Damaged(lines[start], (fault,))
    faults: list[str] = []
    decision = _parse(dict(zip(names, cells, strict=True)), place, faults.append)
    return rows.line_num, decision or _Damaged(raw, tuple(faults))


def _explain(error: str) -> str:
    """Explain an error of the CSV parser."""
    if "end of data" in error or "expected after" in error:
        return f"a quoted text has no end ({error}). Close each quote, and double quotes in a text"
    # The parser's advice is for programmers, and differs between versions of Python.
    reason = error.partition(" - ")[0]
    return f"it cannot be read ({reason}). Shorten its texts, and put line breaks between quotes"


def _parse_json(text: str, note: _Note) -> _Content:
    if not _is_utf_8(text):
        note(_NOT_UTF_8)
        return _Content()
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        note(f"it is not JSON: {error}. Correct this place")
        return _Content()
    if not isinstance(entries, list):
        note(f"it holds no list. Write a list of objects with the keys {_name(REQUIRED)}")
        return _Content()
    return _Content(entries=[_parse_entry(*each) for each in enumerate(entries, start=1)])


def _parse_entry(number: int, entry: object) -> _Entry:
    place, faults = f"entry {number}", list[str]()
    if not isinstance(entry, dict):
        faults.append(f"{place} is no object. Write an object with the keys {_name(REQUIRED)}")
    elif _check_names([*entry], place, faults.append, missing=f"Add to {place}") and (
        decision := _parse(entry, place, faults.append)
    ):
        return decision
    return _Damaged(entry, tuple(faults))


def _check_names(names: Sequence[str], place: str, note: _Note, *, missing: str) -> bool:
    """Note unknown columns and missing required columns; return whether the names are right."""
    # In a JSON file, the columns are the keys of an entry. `missing` is the advice in the note
    # about missing columns; their names follow it.
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
    """Convert the cells of one line to a decision; None if a cell is malformed."""
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
    listed = _listed(value)
    if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], str):
        return listed[0]
    if isinstance(value, str):
        return value.strip()
    note(f"column `{name}`: {value!r} is no text. Put it between double quotes")
    return ""


def _listed(value: object) -> object:
    """Return the JSON list that a cell holds; a cell without one is returned as it is."""
    if isinstance(value, str) and value.lstrip().startswith('["'):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _columns(value: object, side: str, note: _Note) -> tuple[str, ...]:
    """Parse the column names on one side of a join; empty if they are malformed."""
    # The value is one name, or a JSON list of the names of a composite key.
    name, listed = f"{side}_column", _listed(value)
    names = [listed.strip()] if isinstance(listed, str) else listed
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
