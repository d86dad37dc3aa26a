"""Recognise files that are one table: a file for each year, month or day, numbered parts.

Their names differ in numbers, months, quarters or identifiers alone, and their columns are equal.
The table is called after its newest file, since a catalog may know the files, but not the table.

If files repeat the keys of one another with mostly the same values, each is a state of the whole
table, and the newest one is the table. If the other values differ, files that are only numbered are
tables of their own; the values of several times are one table.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import PurePosixPath

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.files.formats import read_file
from datahub_hyperjoin.tables import Table

_MONTHS = (
    *("jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?"),
    *("aug(?:ust)?", "sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?"),
)
_VARIES = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+"
    rf"|(?<![a-z])(?:{'|'.join(_MONTHS)}|q[1-4](?![0-9]))(?![a-z])",
    re.IGNORECASE,
)
"""The parts of names that differ within a series: identifiers, numbers, months and quarters."""
_IN_TITLE = re.compile(r"#[ _-]of[ _-]#|#")
_LAST_DAY = 31
_MOST_HEADERS = 32
"""Maximum number of files of a series whose columns are compared."""
_MOST_ROWS = 500
"""Number of rows of two files that are compared."""
_FEWEST_KEYS = 3
_LEAST_SHARE = 0.5
"""Minimum share of keys that two states of a table have in common, and of their equal values."""


def with_series(tables: Sequence[Table], warn: Warn) -> list[Table]:
    """Put the files of each series together."""
    groups, names = _by_stem(tables), defaultdict[str, list[str]](list)
    for table in tables:
        if isinstance(table.location, File):
            path = PurePosixPath(table.location.uri)
            names[str(path.parent)].append(path.name)
    replaced: dict[str, Table | None] = {}
    for (folder, stem), similar in groups.items():
        members = sorted(similar, key=lambda table: _order(_name(table)))
        kind = _kind_of([*map(_name, members)])
        # Of names that are nothing but numbers, only times tell that tables belong together.
        if not kind or (kind is _Kind.PARTS and stem.partition(".")[0] == "#"):
            continue
        for alike in _by_columns(members):
            if one := _as_one(alike, kind, names[folder], warn):
                replaced |= dict.fromkeys(table.id.name for table in alike)
                replaced[alike[-1].id.name] = one
    return [found for table in tables if (found := replaced.get(table.id.name, table)) is not None]


def _by_stem(tables: Iterable[Table]) -> dict[tuple[str, str], list[Table]]:
    """Group files of one folder whose names differ in numbers and the like."""
    groups: dict[tuple[str, str], list[Table]] = defaultdict(list)
    for table in tables:
        location = table.location
        if isinstance(location, File) and not location.member and not location.copy_of:
            path = PurePosixPath(location.uri)
            stem = _VARIES.sub("#", path.name)
            if stem != path.name:
                groups[str(path.parent), stem].append(table)
    return groups


def _name(table: Table) -> str:
    assert isinstance(table.location, File)  # noqa: S101 (`with_series` chooses them)
    return PurePosixPath(table.location.uri).name


def _order(name: str) -> tuple[object, ...]:
    """Sort numbers in names as numbers, months by the year, and years before all else.

    >>> sorted(["q4_2023", "q1_2024", "q2_2023"], key=_order)
    ['q2_2023', 'q4_2023', 'q1_2024']
    >>> sorted(["feb_10", "jan_9", "jan_10"], key=_order)
    ['jan_9', 'jan_10', 'feb_10']
    """
    found = _VARIES.findall(name)
    numbers = [_number(part) for part in found]
    years = [at for at, part in enumerate(found) if _tells_time(part)]
    # A day may come before its month and year.
    is_reversed = bool(years) and years[0] == len(found) - 1
    return tuple(numbers[::-1] if is_reversed else numbers), name


def _number(part: str) -> tuple[int, str]:
    if part.isdigit():
        return int(part), ""
    months = [at for at, month in enumerate(_MONTHS) if re.fullmatch(month, part, re.IGNORECASE)]
    quarter = int(part[1]) if re.fullmatch("[qQ][1-4]", part) else 0
    return (months[0] if months else quarter), "" if months or quarter else part


class _Kind(Enum):
    """What the names of a series tell."""

    TIMES = "times"
    PARTS = "parts"
    """Numbers without a gap, or nothing but identifiers."""


def _kind_of(names: Sequence[str]) -> _Kind | None:
    """Return what names tell: times, or all numbers from 0 or 1 on; None if neither.

    Files called after other numbers, as `s10005.csv` and `s99024.csv`, may be unlike tables.

    >>> _kind_of(["sales_2023.csv", "sales_2024.csv"]), _kind_of(["may.csv", "june.csv"])
    (<_Kind.TIMES: 'times'>, <_Kind.TIMES: 'times'>)
    >>> _kind_of(["a-1.csv", "a-2.csv"]), _kind_of(["a_2.csv", "a_3.csv"])
    (<_Kind.PARTS: 'parts'>, None)
    >>> _kind_of(["a_2024_05.csv", "a_2024_06.csv"])
    <_Kind.TIMES: 'times'>
    """
    parts = [*zip(*(_VARIES.findall(name) for name in names), strict=True)]
    varying = [part for part in parts if len({*part}) > 1]
    if not varying:
        return None
    if any("-" in part[0] for part in varying) or any(all(map(_tells_time, p)) for p in varying):
        return _Kind.TIMES
    if not all(each.isdigit() for part in varying for each in part):
        return _Kind.TIMES  # months or quarters
    first, *others = varying
    numbers = sorted(map(int, first))
    if numbers[-1] <= _LAST_DAY and any(all(map(_tells_time, part)) for part in parts):
        return _Kind.TIMES  # of one year
    is_gapless = not others and numbers[0] <= 1 and numbers[-1] - numbers[0] < len(names)
    return _Kind.PARTS if is_gapless else None


def _tells_time(digits: str) -> bool:
    """Return whether digits are a year, a month such as 202401, or a day such as 20240131."""
    return digits.startswith(("19", "20")) and len(digits) in {4, 6, 8}


def _by_columns(members: Sequence[Table]) -> list[list[Table]]:
    """Divide the members of a series into those with the same columns."""
    # Of very many files, the columns of some are compared. If these differ, no file is sure.
    step = -(-len(members) // _MOST_HEADERS)
    groups = defaultdict[object, list[Table]](list)
    for table in dict.fromkeys((*members[::step], members[-1])):
        columns = _columns(table)
        groups[table.id if columns is None else tuple(columns)].append(table)
    if step == 1:
        return [*groups.values()]
    return [[*members]] if len(groups) == 1 else []


def _columns(table: Table) -> list[str] | None:
    assert isinstance(table.location, File)  # noqa: S101 (as above)
    with suppress(TableError):
        stream = read_file(table.location, None)
        stream.batches.close()
        return readable_paths(stream.columns)
    return None


def _as_one(
    members: Sequence[Table], kind: _Kind, siblings: Iterable[str], warn: Warn
) -> Table | None:
    """Return the table of a series; None if its members are tables of their own."""
    if len(members) == 1:
        return None
    oldest, newest = members[0], members[-1]
    span = f"{oldest.id} to {newest.id}"
    same = _share_of_same_values(members[-2], newest)
    # The same numbers of unlike things; of times, they are one thing's values at several times.
    if same is not None and same < _LEAST_SHARE and kind is _Kind.PARTS:
        return None
    if same is not None and same >= _LEAST_SHARE:
        warn(
            "Older states of a table not read",
            "Files that repeat the same keys are states of one table; the newest is read. If each "
            "is a table, set `separate_files` or run `hyperjoin find --separate-files`",
            f"{len(members)} files, {span}",
        )
        return newest
    warn(
        "Files read as one table",
        "Files with the same columns, whose names differ in numbers, are one table. If each is a "
        "table, set `separate_files` or run `hyperjoin find --separate-files`",
        f"{len(members)} files, {span}",
    )
    location, names = newest.location, [_name(table) for table in members]
    assert isinstance(location, File)  # noqa: S101 (as above)
    pattern = _pattern(names, siblings)
    folder = Folder(
        uri=location.uri.removesuffix(f"/{_name(newest)}"),
        format=location.format,
        parts=tuple(names),
        dialect=location.dialect,
        store=location.store,
        pattern=pattern,
        has_others=not pattern,
    )
    states = [table.state for table in members]
    return replace(
        newest,
        title=_IN_TITLE.sub("", _VARIES.sub("#", newest.title)).strip(" _-.()")
        or PurePosixPath(newest.id.name).parent.name
        or newest.title,
        location=folder,
        size=sum(table.size for table in members),
        state=sha256(repr(states).encode()).hexdigest() if all(states) else "",
    )


def _pattern(names: Sequence[str], siblings: Iterable[str]) -> str:
    """Return a glob pattern that matches the names and no other file of their folder, if any."""
    start = _common_start(names)
    end = _common_start([name[len(start) :][::-1] for name in names])[::-1]
    newest, siblings = names[-1], [*siblings]
    digits, parts = re.sub("[0-9]", "[0-9]", newest), _VARIES.sub("*", newest)
    for pattern in (f"{start}*{end}", digits, parts, re.sub("[0-9]+", "[0-9]*", newest)):
        if {*names} == {name for name in siblings if fnmatchcase(name, pattern)}:
            return pattern
    return ""


def _common_start(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(one for one, _ in same)


def _share_of_same_values(first: Table, second: Table) -> float | None:
    """Return how many values are equal in rows of equal keys; None if keys do not repeat."""
    assert isinstance(first.location, File)  # noqa: S101 (as above)
    assert isinstance(second.location, File)  # noqa: S101
    rows = [_first_rows(location) for location in (first.location, second.location)]
    if not all(rows):
        return None
    shares = []
    for column in rows[0][0]:
        keyed = [{row.get(column): row for row in each} for each in rows]
        if any(len(keys) < len(each) for keys, each in zip(keyed, rows, strict=True)):
            continue
        shared = keyed[0].keys() & keyed[1].keys()
        if len(shared) >= max(_FEWEST_KEYS, _LEAST_SHARE * len(rows[0])):
            same = [
                keyed[0][key][name] == keyed[1][key].get(name)
                for key in shared
                for name in rows[0][0]
                if name != column
            ]
            shares.append(sum(same) / len(same) if same else 1.0)
    return max(shares, default=None)


def _first_rows(location: File) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with suppress(TableError):
        stream = read_file(location, None)
        for batch in stream.batches:
            rows += itertools.islice(batch.to_pylist(), _MOST_ROWS - len(rows))
            if len(rows) >= _MOST_ROWS:
                break
        stream.batches.close()
    return rows
