"""Recognise files that are one table: a file for each year, month or day, numbered parts.

Their names differ in numbers alone, and they have the same columns. The table is called after its
newest file, since a catalog may know the files, but not the table.

If files repeat the keys of one another with mostly the same values, each is a state of the whole
table, and the newest one is the table.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import PurePosixPath

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.columns import readable_paths
from datahub_hyperjoin.spark.files.formats import read_file
from datahub_hyperjoin.tables import Table

_VARIES = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]+", re.IGNORECASE)
_MOST_HEADERS = 32
"""Maximum number of files of a series whose columns are compared."""
_MOST_ROWS = 500
"""Number of rows of two files that are compared."""
_FEWEST_KEYS = 3
_LEAST_SHARE = 0.5
"""Minimum share of keys that two states of a table have in common, and of their equal values."""


def with_series(tables: Sequence[Table], warn: Warn) -> list[Table]:
    """Put the files of each series together."""
    groups: dict[tuple[str, str], list[Table]] = defaultdict(list)
    for table in tables:
        location = table.location
        if isinstance(location, File) and not location.member and not location.copy_of:
            path = PurePosixPath(location.uri)
            stem = _VARIES.sub("#", path.name)
            if stem != path.name and stem.partition(".")[0] != "#":
                groups[str(path.parent), stem].append(table)
    names = defaultdict(list)
    for table in tables:
        if isinstance(table.location, File):
            path = PurePosixPath(table.location.uri)
            names[str(path.parent)].append(path.name)
    replaced: dict[str, Table | None] = {}
    for (folder, _), similar in groups.items():
        members = sorted(similar, key=lambda table: _order(_name(table)))
        if _are_in_sequence([*map(_name, members)]) and _have_same_columns(members):
            replaced |= dict.fromkeys(table.id.name for table in members)
            replaced[members[-1].id.name] = _as_one(members, names[folder], warn)
    return [found for table in tables if (found := replaced.get(table.id.name, table)) is not None]


def _name(table: Table) -> str:
    assert isinstance(table.location, File)  # noqa: S101 (`with_series` chooses them)
    return PurePosixPath(table.location.uri).name


def _order(name: str) -> tuple[object, ...]:
    """Sort numbers in names as numbers."""
    parts = re.split("([0-9]+)", name)
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts))


def _are_in_sequence(names: Sequence[str]) -> bool:
    """Return whether names tell times, all numbers from 0 or 1 on, or nothing but identifiers.

    Files called after other numbers, as `s10005.csv` and `s99024.csv`, may be unlike tables.

    >>> _are_in_sequence(["sales_2023.csv", "sales_2024.csv"])
    True
    >>> _are_in_sequence(["part-1.csv", "part-2.csv"]), _are_in_sequence(["a_2.csv", "a_3.csv"])
    (True, False)
    """
    parts = zip(*(_VARIES.findall(name) for name in names), strict=True)
    varying = [part for part in parts if len({*part}) > 1]
    if not varying:
        return False
    if any(all(map(_tells_time, part)) or "-" in part[0] for part in varying):
        return True
    first, *others = varying
    numbers = sorted(map(int, first))
    return not others and numbers[0] <= 1 and numbers[-1] - numbers[0] < len(names)


def _tells_time(digits: str) -> bool:
    """Return whether digits are a year, a month such as 202401, or a day such as 20240131."""
    return digits.startswith(("19", "20")) and len(digits) in {4, 6, 8}


def _have_same_columns(members: Sequence[Table]) -> bool:
    step = -(-len(members) // _MOST_HEADERS)
    first, *others = (_columns(table) for table in (*members[::step], members[-1]))
    return first is not None and all(other == first for other in others)


def _columns(table: Table) -> list[str] | None:
    assert isinstance(table.location, File)  # noqa: S101 (as above)
    with suppress(TableError):
        stream = read_file(table.location, None)
        stream.batches.close()
        return readable_paths(stream.columns)
    return None


def _as_one(members: Sequence[Table], siblings: Iterable[str], warn: Warn) -> Table:
    oldest, newest = members[0], members[-1]
    span = f"{oldest.id} to {newest.id}"
    if _are_states(members[-2], newest):
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
    folder = Folder(
        uri=location.uri.removesuffix(f"/{_name(newest)}"),
        format=location.format,
        parts=tuple(names),
        dialect=location.dialect,
        store=location.store,
        pattern=_pattern(names, siblings),
    )
    states = [table.state for table in members]
    return replace(
        newest,
        title=_VARIES.sub("", newest.title).strip(" _-.()") or newest.title,
        location=folder,
        size=sum(table.size for table in members),
        state=sha256(repr(states).encode()).hexdigest() if all(states) else "",
    )


def _pattern(names: Sequence[str], siblings: Iterable[str]) -> str:
    """Return a glob pattern that matches the names and no other file of their folder."""
    start = _common_start(names)
    end = _common_start([name[len(start) :][::-1] for name in names])[::-1]
    plain, exact = f"{start}*{end}", re.sub("[0-9]", "[0-9]", names[-1])
    for pattern in (plain, exact):
        if {*names} == {name for name in siblings if fnmatchcase(name, pattern)}:
            return pattern
    return f"{{{','.join(names)}}}"


def _common_start(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(one for one, _ in same)


def _are_states(first: Table, second: Table) -> bool:
    """Return whether two files are states of one table, with mostly the same rows."""
    assert isinstance(first.location, File)  # noqa: S101 (as above)
    assert isinstance(second.location, File)  # noqa: S101
    rows = [_first_rows(location) for location in (first.location, second.location)]
    if not all(rows):
        return False
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
            if not same or sum(same) >= _LEAST_SHARE * len(same):
                return True
    return False


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
