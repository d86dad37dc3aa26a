"""Recognise files that are one table: a file for each year, month or day, numbered parts.

Their paths differ in numbers, months, quarters or identifiers alone, and their columns are equal,
but for columns that later ones add. Folders that Spark wrote and sheets may be one table, too. The
table is called after its newest file, since a catalog may know the files, but not the table.

If files repeat the keys of one another with mostly the same values, each is a state of the whole
table, and the newest one is the table. If the other values differ, files that are only numbered or
in different folders are tables of their own; the values of several times are one table.
Numbered lists of codes are tables of their own, too.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath

from datahub_hyperjoin.catalog.file_rows import (
    LEAST_SHARE,
    FirstRows,
    are_measured_again,
    seem_parts,
    share_keys,
    share_of_same_values,
)
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File, Folder, ListedFile
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.columns import TableStream, readable_paths
from datahub_hyperjoin.spark.files.formats import MIXED, format_of, format_of_suffix, read_file
from datahub_hyperjoin.spark.files.stored import COMPRESSIONS, path_of
from datahub_hyperjoin.tables import Table

_MONTHS = (
    "jan(?:uary|uar|vier)?|enero|gennaio|janeiro",
    "feb(?:ruary|ruar|rero|braio)?|f[eé]v(?:rier)?|fevereiro",
    "mar(?:ch)?|m(?:ä|ae)rz|mars|marzo|março",
    "apr(?:il)?|avr(?:il)?|abr(?:il)?|aprile",
    "may|mai|mayo|maio|maggio",
    "june?|juni|juin|junio|junho|giugno",
    "july?|juli|juil(?:let)?|julio|julho|luglio",
    "aug(?:ust)?|ao[uû]t|agosto",
    "sept?(?:ember|embre)?|septiembre|setembro|settembre",
    "oct(?:ober|obre)?|okt(?:ober)?|octubre|outubro|ottobre",
    "nov(?:ember|embre|iembre|embro)?",
    "dec(?:ember)?|dez(?:ember|embro)?|d[eé]c(?:embre)?|diciembre|dicembre",
)
_DAYS = (
    *("mon(?:day)?", "tue(?:s(?:day)?)?", "wed(?:nesday)?", "thu(?:rs(?:day)?)?"),
    *("fri(?:day)?", "sat(?:urday)?", "sun(?:day)?"),
)
_VARIES = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{32,64}(?![0-9a-z])|[0-9]+"
    rf"|(?<![^\W\d_])(?:{'|'.join((*_MONTHS, *_DAYS))}|q[1-4](?![0-9]))(?![^\W\d_])",
    re.IGNORECASE,
)
"""The parts of names that differ within a series: identifiers, numbers, months, days, quarters."""
_UNIT = re.compile(
    r"(?<![a-z])(?:fy|kw|cw|wk|week|day|hour|month|year|woche|tag|monat|jahr)[ _-]?$", re.IGNORECASE
)
"""The word before a number that makes it a time."""
_REVISION = re.compile(
    r"(?:[ _.-](?:v(?:er(?:sion)?)?[ _.-]?[0-9]{1,2}|rev(?:ision)?[ _.-]?[0-9]{0,2}|final|corrected"
    r"|revised|updated|korrigiert)| ?\([0-9]{1,2}\))(?=(?:\.[a-z]\w*)*(?:/[^/]*)?$)",
    re.IGNORECASE,
)
"""What a name says of the revision of a file, before its endings."""
_SLOT = "\0"
_IN_TITLE = re.compile(rf"{_SLOT}[ _-]of[ _-]{_SLOT}|{_SLOT}")
_LAST_DAY = 31
_CLOCK = re.compile("[0-2][0-9][0-5][0-9](?:[0-5][0-9])?")
_TIME = re.compile(r"(?:19|20)\d{2}(?:\d{2}){0,5}|18\d{2}|1[4-9]\d{8}(?:\d{3})?")
"""A year, or digits such as 202401, 20240131 and 202401311200; seconds or milliseconds since 1970.
"""
_PART = re.compile(
    r"(?<![a-z])(?:part|chunk|shard|split|batch|page|teil|parte)[ _-]?$|of[ _-]$", re.IGNORECASE
)
"""The word before a number that makes it a part."""
_SHORT_YEAR = re.compile("[0-4][0-9]")
_SURE = 3
"""Minimum number of files whose numbers tell that they are parts wherever these begin."""
_PADDED = re.compile("0[0-9]{5,}")
_MOST_HEADERS = 32
"""Maximum number of files of a series whose columns are compared, unless these differ."""
_MOST_ROWS = 500
"""Number of rows of two files that are compared."""


@dataclass(frozen=True)
class _Member:
    """A table that may be a part of another one."""

    table: Table
    location: File | Folder
    base: str
    """The folder of all files."""

    path: str
    """Path of the file, folder or sheet below it."""

    name: str
    """What is compared with the names of other members, such as the path."""

    is_mixed: bool = False
    """Whether others of its series have other formats."""

    @property
    def folder(self) -> str:
        """Path of the folder that holds the file."""
        path = PurePosixPath(self.path)
        is_inner = isinstance(self.location, File) and self.location.member
        return str(path.parent.parent if is_inner else path.parent).removeprefix(".")

    @property
    def parts(self) -> list[str]:
        """Paths of the files below the folder of all files."""
        if isinstance(self.location, File):
            has_sheet = self.location.member and self.is_mixed
            return [str(PurePosixPath(self.path).parent) if has_sheet else self.path]
        return [f"{self.path}/{part}" for part in self.location.parts]

    @cached_property
    def stem(self) -> str:
        """What names have in common that differ in their numbers, separators and case."""
        stem = _VARIES.sub(_SLOT, _without_compression(self.name))
        return re.sub(r"[ _.-]+", "_", stem.casefold())

    @cached_property
    def varying(self) -> list[str]:
        """The parts of the name that may differ."""
        return _VARIES.findall(self.name)

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key that puts numbers, months and years in their order."""
        return *_order(self.name), _order(self.path)

    def open(self) -> TableStream:
        """Open the table."""
        if isinstance(self.location, File):
            return read_file(self.location, None)
        from datahub_hyperjoin.spark.files.folder import read_folder  # noqa: PLC0415 (of few lakes)

        return read_folder(self.location, None)


def with_series(tables: Sequence[Table], files: Iterable[ListedFile], warn: Warn) -> list[Table]:
    """Put the files of each series together, of all files of a folder."""
    members = [*_members_of(tables)]
    base = f"{members[0].base}/" if members else ""
    # Also of files that are no tables or left out.
    paths = [file.uri[len(base) :] for file in files if file.uri.startswith(base)]
    replaced: dict[str, Table | None] = {}
    for similar in _with_like_names(members):
        similar.sort(key=lambda member: member.order)
        if not (kind := _kind_of([member.name for member in similar])):
            continue
        divided = _by_columns(similar, kind)
        if kind is _Kind.PARTS and not _may_be_parts(similar, len(divided)):
            continue
        for alike in divided:
            if one := _as_one(alike, kind, paths, warn):
                replaced |= dict.fromkeys(member.table.id.name for member in alike)
                replaced[alike[-1].table.id.name] = one
    return [found for table in tables if (found := replaced.get(table.id.name, table)) is not None]


def _with_like_names(members: Iterable[_Member]) -> Iterator[list[_Member]]:
    """Group members whose names differ in what varies, and perhaps in revisions and formats."""
    rest = list[_Member]()
    for similar in _by_stem(map(_in_any_format, members)):
        names = [member.name for member in similar]
        formats = {member.location.format for member in similar}
        is_one_each = len({*names}) == len(names) and all(map(_is_read_first, similar))
        if len(formats) > 1 and is_one_each:
            yield similar
        else:
            rest += (replace(member, name=member.path) for member in similar)
    for similar in _by_stem(map(_of_any_revision, rest), by_format=True):
        if len({member.name for member in similar}) > 1:
            yield similar
        else:
            own = (replace(member, name=member.path) for member in similar)
            yield from _by_stem(own, by_format=True)


def _by_stem(members: Iterable[_Member], *, by_format: bool = False) -> Iterable[list[_Member]]:
    groups = defaultdict[object, list[_Member]](list)
    for member in members:
        if _SLOT in member.stem:
            own = member.location
            groups[member.stem, own.dialect, by_format and own.format].append(member)
    return groups.values()


def _in_any_format(member: _Member) -> _Member:
    """Name a file, or the sheet of a workbook, as a file of another format would be named."""
    location = member.location
    path = PurePosixPath(_without_compression(member.path))
    file = path.parent if isinstance(location, File) and location.member else path
    named = format_of_suffix(file.suffix)
    # What the content alone tells is not known where the files of the series are read.
    if isinstance(location, Folder) or not named or named.name != location.format:
        return member
    return _called(member, str(file.with_suffix("")))


def _is_read_first(member: _Member) -> bool:
    """Return whether no table is before this one in its file."""
    location = member.location
    if isinstance(location, Folder) or not location.member:
        return True
    return next(iter(format_of(location).list_members(path_of(location)))) == location.member


def _of_any_revision(member: _Member) -> _Member:
    """Name a file as its first revision."""
    return _called(member, _REVISION.sub("", member.path))


def _called(member: _Member, name: str) -> _Member:
    """Return a member with another name, if this still tells times, numbers or identifiers."""
    return replace(member, name=name) if _VARIES.search(name) else member


def _without_compression(path: str) -> str:
    file = PurePosixPath(path)
    return str(file.with_suffix("") if file.suffix.lower() in COMPRESSIONS else file)


def _members_of(tables: Iterable[Table]) -> Iterable[_Member]:
    found = list[tuple[Table, File | Folder, str]]()
    for table in tables:
        match table.location:
            # The tables of a database have a schema, too.
            case File(uri=uri, member=(name,), copy_of=()) as own if "/" not in name:
                found.append((table, own, f"{uri}/{name}"))
            case File(uri=uri, member=(), copy_of=()) | Folder(uri=uri) as own:
                found.append((table, own, uri))
            case _:
                pass
    base = _common_folder([own.uri.rpartition("/")[0] for _, own, _ in found])
    below = len(base) + 1
    return [_Member(table, own, base, path[below:], path[below:]) for table, own, path in found]


def _common_folder(folders: Sequence[str]) -> str:
    split = [folder.split("/") for folder in folders]
    return "/".join(split[0][: _count_common(split)]) if split else ""


def _order(path: str) -> tuple[object, ...]:
    """Sort numbers in names as numbers, months by the year, and years before all else.

    >>> sorted(["q4_2023", "q1_2024", "q2_2023"], key=_order)
    ['q2_2023', 'q4_2023', 'q1_2024']
    >>> sorted(["feb_10", "jan_9", "jan_10"], key=_order)
    ['jan_9', 'jan_10', 'feb_10']
    """
    found = _VARIES.findall(path)
    numbers = [_number(part) for part in found]
    years = [at for at, part in enumerate(found) if _TIME.fullmatch(part)]
    # A day may come before its month and year.
    is_reversed = bool(years) and years[0] == len(found) - 1
    return tuple(numbers[::-1] if is_reversed else numbers), path


def _number(part: str) -> tuple[int, str]:
    if part.isdigit():
        return int(part), ""
    for words in (_MONTHS, _DAYS, ("q1", "q2", "q3", "q4")):
        for at, word in enumerate(words):
            if re.fullmatch(word, part, re.IGNORECASE):
                return at, ""
    return 0, part


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
    >>> _kind_of(["a_2024_05.csv", "a_2024_06.csv"]), _kind_of(["a FY22.csv", "a FY24.csv"])
    (<_Kind.TIMES: 'times'>, <_Kind.TIMES: 'times'>)
    """
    found = [[*_VARIES.finditer(name)] for name in names]
    slots = [*zip(*([each.group() for each in own] for own in found), strict=True)]
    varying = [at for at, own in enumerate(slots) if len({*own}) > 1]
    if not varying:
        return None
    if any(not part.isdigit() for at in varying for part in slots[at]):
        return _Kind.TIMES  # months, quarters or identifiers
    if any(_are_times(slots[at]) or _follow_unit(names, found, at) for at in varying):
        return _Kind.TIMES
    first = slots[varying[0]]
    is_day_or_hour = max(map(int, first)) <= _LAST_DAY or all(map(_CLOCK.fullmatch, first))
    if is_day_or_hour and any(map(_are_times, slots)):
        return _Kind.TIMES  # of one year
    begin = 1 if len(varying) > 1 or len(names) < _SURE else min(map(int, first))
    return _Kind.PARTS if all(_are_gapless(slots[at], begin) for at in varying) else None


def _are_gapless(parts: Sequence[str], begin: int) -> bool:
    """Return whether numbers follow each other, or are offsets such as 0000000100."""
    numbers = [int(part) for part in parts]
    is_dense = min(numbers) <= begin and max(numbers) - min(numbers) < len(parts)
    return is_dense or all(map(_PADDED.fullmatch, parts))


def _are_times(parts: Iterable[str]) -> bool:
    return all(map(_TIME.fullmatch, parts))


def _follow_unit(names: Sequence[str], found: Sequence[Sequence[re.Match[str]]], at: int) -> bool:
    return all(
        _UNIT.search(name[: own[at].start()]) for name, own in zip(names, found, strict=True)
    )


def _are_short_years(members: Sequence[_Member]) -> bool:
    """Return whether each varying number has two digits, and the first is a late one."""
    numbers = [part for member in members for part in member.varying]
    return all(map(_SHORT_YEAR.fullmatch, numbers)) and min(map(int, numbers)) >= _SURE


def _are_called_parts(members: Sequence[_Member]) -> bool:
    """Return whether the names say that files are parts."""
    name = members[0].path
    return any(_PART.search(name[: found.start()]) for found in _VARIES.finditer(name))


def _may_be_parts(members: Sequence[_Member], kinds: int) -> bool:
    """Return whether numbered members, of so many kinds of columns, may be parts of a table."""
    names = [PurePosixPath(own.path).name.partition(".")[0] for own in members]
    folders = {own.folder for own in members}
    # Numbered folders may be databases of their own. Names that are nothing but numbers tell
    # little, unless a folder below has nothing else.
    has_words = not all(map(str.isdigit, names))
    return kinds == 1 and len(folders) == 1 and (has_words or "" not in folders)


def _by_columns(members: Sequence[_Member], kind: _Kind) -> list[list[_Member]]:
    """Divide the members of a series into those with the same columns."""
    # Of very many files, the columns of some are compared. If these differ, those of all are,
    # unless each file is a request.
    step = -(-len(members) // _MOST_HEADERS)
    groups = _grouped([*dict.fromkeys((*members[::step], members[-1]))])
    if step > 1 and len(groups) == 1:
        return [[*members]]
    if step > 1:
        groups = {} if members[0].location.store else _grouped(members)
    if kind is _Kind.TIMES:
        groups = _with_added(groups)
    return [*groups.values()]


_Columns = frozenset[str]


def _grouped(members: Sequence[_Member]) -> dict[_Columns, list[_Member]]:
    groups = defaultdict[_Columns, list[_Member]](list)
    for member in members:
        if columns := _columns(member):
            groups[columns].append(member)
    return groups


def _with_added(groups: dict[_Columns, list[_Member]]) -> dict[_Columns, list[_Member]]:
    """Unite times with later ones that have all of their columns, and further ones."""
    united: dict[_Columns, list[_Member]] = {}
    for columns, members in sorted(groups.items(), key=lambda own: own[1][-1].order, reverse=True):
        later = next((each for each in united if columns <= each), None)
        if later and len(columns) >= LEAST_SHARE * len(later):
            united[later] = sorted([*members, *united[later]], key=lambda member: member.order)
        else:
            united[columns] = members
    return united


def _columns(member: _Member) -> _Columns:
    with suppress(TableError):
        stream = member.open()
        stream.batches.close()
        return frozenset(path.casefold() for path in readable_paths(stream.columns))
    return frozenset()


def _as_one(
    members: Sequence[_Member], kind: _Kind, paths: Sequence[str], warn: Warn
) -> Table | None:
    """Return the table of a series; None if its members are tables of their own."""
    if len(members) == 1:
        return None
    newest = members[-1]
    span = f"{members[0].table.id} to {newest.table.id}"
    older = tuple(member.table.id for member in members[:-1])
    latest = _last_revisions(members)
    is_mixed = len({member.location.format for member in latest}) > 1
    members = [replace(member, is_mixed=is_mixed) for member in latest]
    rows = [_first_rows(member) for member in members[-_SURE:]]
    same = share_of_same_values(*rows[-2:]) if all(rows) and len(rows) > 1 else None
    are_states = len(members) == 1 or (same is not None and same >= LEAST_SHARE)
    if all(rows) and not are_states and _are_apart(members, kind, rows):
        return None
    if are_states:
        warn(
            "Older states of a table not read",
            "Files that repeat the same keys are states of one table; the newest is read. If each "
            "is a table, set `separate_files` or run `hyperjoin find --separate-files`",
            f"{len(members)} files, {span}",
        )
        return replace(newest.table, members=older)
    warn(
        "Files read as one table",
        "Files with the same columns, whose names differ in numbers, are one table. If each is a "
        "table, set `separate_files` or run `hyperjoin find --separate-files`",
        f"{len(members)} files, {span}",
    )
    states = [member.table.state for member in members]
    return replace(
        newest.table,
        title=_title(newest),
        location=_folder_of(members, paths),
        size=sum(member.table.size for member in members),
        members=older,
        state=sha256(repr(states).encode()).hexdigest() if all(states) else "",
    )


def _last_revisions(members: Sequence[_Member]) -> Sequence[_Member]:
    """Leave out the files of which a later revision has the same keys."""
    kept = list[_Member]()
    for member in members:
        if kept and kept[-1].name == member.name:
            rows = [_first_rows(each) for each in (kept[-1], member)]
            if all(rows) and share_keys(*rows):
                kept.pop()
        kept.append(member)
    return kept


def _are_apart(members: Sequence[_Member], kind: _Kind, rows: Sequence[FirstRows]) -> bool:
    """Return whether files are tables of their own, by the first rows of the last of them."""
    # The same numbers of unlike things; of times, they are one thing's values at several times.
    may_repeat = kind is _Kind.TIMES and len({member.folder for member in members}) == 1
    if may_repeat:
        return False
    later = rows[-2:]
    if share_of_same_values(*later) is not None or share_keys(*later):
        may_be_years = kind is _Kind.TIMES or _are_short_years(members)
        return not (may_be_years and are_measured_again(*later))
    return kind is _Kind.PARTS and not _are_called_parts(members) and not seem_parts(rows)


def _title(member: _Member) -> str:
    """Return what the name of a file says beside numbers, or that of the nearest folder."""
    folders = (PurePosixPath(name).stem for name in reversed(member.table.id.name.split("/")[:-1]))
    names = (
        _IN_TITLE.sub("", _VARIES.sub(_SLOT, name)).strip(" _-+.()[]")
        for name in (member.table.title, *folders)
    )
    return next(filter(None, names), member.table.title)


def _folder_of(members: Sequence[_Member], paths: Sequence[str]) -> Folder:
    newest, above = members[-1], _common_folder([member.folder for member in members])
    below = len(above) + 1 if above else 0
    names = [part[below:] for member in members for part in member.parts]
    own = [member.location for member in members]
    # DuckDB reads no sheets.
    is_listed = any(isinstance(each, Folder) and each.has_others for each in own)
    siblings = [path[below:] for path in paths if path.startswith(above)]
    pattern = "" if is_listed else _pattern(names, newest.path[below:], siblings)
    return Folder(
        uri=f"{newest.base}/{above}".rstrip("/"),
        format=MIXED if newest.is_mixed else newest.location.format,
        parts=tuple(names),
        dialect=newest.location.dialect,
        store=newest.location.store,
        pattern=pattern,
        has_others=not pattern,
        newest=newest.path[below:],
    )


def _pattern(names: Sequence[str], newest: str, siblings: Sequence[str]) -> str:
    """Return a glob pattern that matches the names and no other file of their folder, if any."""
    start = newest[: _count_common(names)]
    rest = [name[len(start) :][::-1] for name in names]
    end = rest[0][: _count_common(rest)][::-1]
    digits, parts = re.sub("[0-9]", "[0-9]", newest), _VARIES.sub("*", newest)
    for pattern in (f"{start}*{end}", digits, parts, re.sub("[0-9]+", "[0-9]*", newest)):
        if {*names} == {name for name in siblings if _matches(name, pattern)}:
            return pattern
    return ""


def _matches(name: str, pattern: str) -> bool:
    """Return whether a path matches a pattern, in which `*` stands for no `/`."""
    pairs = [*itertools.zip_longest(name.split("/"), pattern.split("/"), fillvalue="")]
    return all(fnmatchcase(*pair) for pair in pairs)


def _count_common(rows: Sequence[Sequence[str]]) -> int:
    """Count the items with which all rows begin."""
    same = itertools.takewhile(lambda items: len({*items}) == 1, zip(*rows, strict=False))
    return len([*same])


def _first_rows(member: _Member) -> FirstRows:
    rows = list[Mapping[str, str | None]]()
    with suppress(TableError):
        stream = member.open()
        for batch in stream.batches:
            taken = itertools.islice(batch.to_pylist(), _MOST_ROWS - len(rows))
            rows += ({name: _text(value) for name, value in row.items()} for row in taken)
            if len(rows) >= _MOST_ROWS:
                break
        stream.batches.close()
    return rows


def _text(value: object) -> str | None:
    """Write a value as it is in files of all formats; workbooks have no integers."""
    is_whole = isinstance(value, float) and value.is_integer()
    return None if value is None else f"{value:.0f}" if is_whole else str(value)


HUDI_FILE = re.compile(r"(?P<group>.+-\d+)_\d+(?:-\d+)+_(?P<instant>\d{8,17})\.parquet")
"""Names of Hudi's data files: each commit writes a new version of some groups of rows."""
HUDI_TABLE = ".hoodie/hoodie.properties"
HUDI_LOG = re.compile(r"\..+\.log\.\d+(?:_.*)?")
"""Names of files with changes that Hudi has not yet merged into data files."""


def is_hudi_metadata(path: PurePosixPath) -> bool:
    """Return whether a hidden file says something about a table of Hudi."""
    return path.match(HUDI_TABLE) or HUDI_LOG.fullmatch(path.name) is not None


def newest_of_hudi(files: Sequence[ListedFile]) -> list[ListedFile]:
    """Leave out the versions of Hudi's files that later ones replaced."""
    newest: dict[tuple[object, ...], tuple[str, str]] = {}
    for file in files:
        path = PurePosixPath(file.path)
        if found := HUDI_FILE.fullmatch(path.name):
            key, version = (path.parent, found["group"]), (found["instant"], file.path)
            newest[key] = max(version, newest.get(key, version))
    kept = {path for _, path in newest.values()}
    names = ((file, PurePosixPath(file.path).name) for file in files)
    return [file for file, name in names if file.path in kept or not HUDI_FILE.fullmatch(name)]
