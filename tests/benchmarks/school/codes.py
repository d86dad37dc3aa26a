"""Make lakes in which some tables hold codes and others hold names of the same things.

The things are the rows of a public table. Each has several *forms*: the table's own codes and
names, a code that is made here, and a name as another publisher would write it. Fact tables hold
one form, lists another, crosswalks two. Two columns join if they hold forms of the same things.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from benchmarks.school.columns import Content, content
from benchmarks.school.database import Database, Random
from benchmarks.school.guises import abbreviation, style
from benchmarks.school.lake import SchoolLake, Truth, distinct
from benchmarks.school.made_codes import make_codes
from benchmarks.school.writing import draw_writing
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

EXACT = "exact"
"""The kind of a join of columns in which most things are written alike. Any other kind names the
forms of both columns, such as `code-name`."""

_FEWEST_THINGS, _MOST_THINGS = 40, 220
_UNIQUE = 0.95
_SHARED, _SHARE = 5, 0.1
_ALIKE = 0.5
_LONGEST_CODE = 5
_COMMON, _DOUBT = 4, 0.05
_QUERIES = 14
_CROSSWALK = 0.5
"""Share of the systems that have a crosswalk."""
_GROUPED = 0.3
"""Share of the systems whose tables hold disjoint groups of things."""


@dataclass(frozen=True)
class _System:
    """The things that one public table lists, with their codes and names."""

    database: str
    name: str
    forms: dict[str, tuple[str, pd.Series]]
    """Maps each form, such as `iso3`, to its kind (code or name) and a series of its values."""

    others: pd.DataFrame
    """The columns of the public table that hold neither codes nor names of the things."""


@dataclass(frozen=True)
class _Held:
    """A column of the lake that identifies things by a code or a name."""

    column: ColumnName
    system: int
    kind: str
    written: dict[int, str]
    """Maps the position of each thing in its `_System` to the text of the thing in this column."""


def make_codes_lake(
    pool: Sequence[Database], tables: int, random: Random
) -> tuple[SchoolLake, list[str]]:
    """Make a lake of codes and names, from public tables.

    Args:
        pool: Databases whose lists are used.
        tables: About the number of tables.
        random: Source of all draws.

    Returns:
        The lake, and the names of the databases.
    """
    frames: dict[str, pd.DataFrame] = {}
    origins: dict[str, str] = {}
    held: list[_Held] = []
    for number, system in enumerate(_systems(pool, random)):
        if len(frames) >= tables:
            break
        for name, frame, forms in _tables(system, number, random):
            free = name if name not in frames else f"{name}_{len(frames)}"
            frames[free] = frame
            origins[free] = system.database
            held += [
                _Held(ColumnName(free, column), number, kind, written)
                for column, kind, written in forms
            ]
    truth = sorted(_joins(held))
    hard = {one.query for one in truth if one.kind != EXACT}
    queries: set[ColumnName] = set()
    for number in sorted({one.system for one in held}):
        mine = [one.column for one in held if one.system == number and one.column in hard]
        queries |= {mine[int(at)] for at in random.permutation(len(mine))[:_QUERIES]}
    kept = tuple(one for one in truth if one.query in queries)
    return SchoolLake(frames, kept, (), origins), sorted(set(origins.values()))


def _systems(pool: Sequence[Database], random: Random) -> Iterator[_System]:
    """Draw public tables in which every row has a unique name.

    Tables that repeat the things of an earlier one are left out.
    """
    tables = [
        (database.name, name, frame)
        for database in pool
        for name, frame in database.tables.items()
        if len(frame) >= _FEWEST_THINGS
    ]
    seen: list[frozenset[str]] = []
    for at in random.permutation(len(tables)):
        database, name, frame = tables[int(at)]
        own = {str(one): content(frame[one]) for one in frame if _is_unique(frame[one])}
        names = [one for one, kind in own.items() if kind == Content.TEXT]
        if not names:
            continue
        rows = frame[(frame[names] != "").all(axis=1)].drop_duplicates(names[0])
        rows = rows.iloc[random.permutation(len(rows))[:_MOST_THINGS]].reset_index(drop=True)
        written = _folded(rows[names])
        if len(rows) >= _FEWEST_THINGS and not any(_overlap(written, one) for one in seen):
            seen.append(written)
            codes = [one for one, kind in own.items() if kind == Content.CODE]
            forms = _forms(rows, names[:2], codes[:1], random)
            known = _folded(rows[[*names, *codes]])
            others = [one for one in rows if not _overlap(_folded(rows[[one]]), known)]
            yield _System(database, name, forms, rows[others])


def _folded(rows: pd.DataFrame) -> frozenset[str]:
    return frozenset(cell.casefold() for column in rows for cell in rows[column]) - {""}


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two sets of things overlap so much that they may be the same."""
    shared = len(one & other)
    return shared >= _COMMON and shared >= _DOUBT * min(len(one), len(other))


def _is_unique(cells: "pd.Series[str]") -> bool:
    filled = cells[cells != ""]
    return len(filled) >= _FEWEST_THINGS and filled.nunique() >= _UNIQUE * len(filled)


def _forms(
    rows: pd.DataFrame, names: list[str], codes: list[str], random: Random
) -> dict[str, tuple[str, pd.Series]]:
    forms: dict[str, tuple[str, pd.Series]] = {
        name: ("name" if rows[name].str.len().mean() > _LONGEST_CODE else "code", rows[name])
        for name in names
    }
    forms |= {code: ("code", rows[code]) for code in codes if (rows[code] != "").all()}
    made, cells = make_codes(rows[names[0]].tolist(), random)
    forms[made] = ("code", pd.Series(cells, dtype=str))
    if random.random() < 0.5:
        write = draw_writing(random)
        forms[f"{names[0]}_title"] = ("name", rows[names[0]].map(write))
    return forms


def _tables(
    system: _System, number: int, random: Random
) -> Iterator[tuple[str, pd.DataFrame, list[tuple[str, str, dict[int, str]]]]]:
    """Yield tables made from a system: the name, rows and identifying columns of each table.

    Facts and lists hold one code or name of each thing, and crosswalks hold two.
    """
    count = len(next(iter(system.forms.values()))[1])
    parts = int(random.integers(2, 4)) if random.random() < _GROUPED else 1
    groups = [group for group in np.array_split(random.permutation(count), parts) if len(group)]
    naming = (style, abbreviation)[int(random.integers(2))](random)
    forms = [*system.forms]
    plan = [[str(random.choice(forms))] for _ in range(int(random.integers(4, 11)))]
    if len(forms) > 1 and random.random() < _CROSSWALK:
        plan += [random.choice(forms, 2, replace=False).tolist() for _ in groups]
    for at, held in enumerate(plan):
        group = groups[at % len(groups)]
        walk = len(held) > 1
        size = len(group) if walk else int(random.integers(len(group) // 3, len(group) + 1))
        things = random.permutation(group)[: max(size, min(_SHARED, len(group)))]
        if not walk and random.random() < 0.5:
            things = random.choice(things, int(len(things) * random.uniform(1, 2.5)))
        frame, written = _fill(system, held, things, random)
        frame = frame.set_axis(distinct(map(naming, frame.columns)), axis=1)
        columns = [
            (str(frame.columns[place]), system.forms[form][0], written[form])
            for place, form in enumerate(held)
        ]
        order = random.permutation(frame.shape[1])
        words = re.sub(r"\W+", "_", naming(system.name))
        stem = f"{words}_{number}{'abcdefghijklmnop'[at]}"
        yield stem, frame.iloc[:, order], columns


def _fill(
    system: _System, held: list[str], things: "np.ndarray", random: Random
) -> tuple[pd.DataFrame, dict[str, dict[int, str]]]:
    """Make a table with codes and names of the given things, and with up to five other columns."""
    cells = {form: system.forms[form][1].iloc[things].tolist() for form in held}
    written = {form: dict(zip(things.tolist(), cells[form], strict=True)) for form in held}
    frame = pd.DataFrame(cells, dtype=str)
    for column in random.permutation([*map(str, system.others)])[: int(random.integers(0, 4))]:
        frame[str(column)] = system.others[column].iloc[things].tolist()
    for name in random.permutation(_MEASURES)[: int(random.integers(0, 3))]:
        frame[str(name)] = random.integers(1, 10_000, len(frame)).astype(str)
    return frame, written


_MEASURES = ["amount", "quantity", "total", "year", "rank", "score", "units"]


def _joins(held: Sequence[_Held]) -> Iterator[Truth]:
    by_system: dict[int, list[_Held]] = {}
    for one in held:
        by_system.setdefault(one.system, []).append(one)
    for columns in by_system.values():
        for one, other in permutations(columns, 2):
            shared = one.written.keys() & other.written.keys()
            least = max(_SHARED, _SHARE * min(len(one.written), len(other.written)))
            if one.column.table != other.column.table and len(shared) >= least:
                alike = sum(
                    one.written[at].casefold() == other.written[at].casefold() for at in shared
                )
                kind = EXACT if alike >= _ALIKE * len(shared) else f"{one.kind}-{other.kind}"
                yield Truth(one.column, other.column, kind)
