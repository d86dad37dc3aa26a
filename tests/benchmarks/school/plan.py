"""Plan the labelled lakes for training: draw the kind, layout, size and names of each."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import zip_longest

import numpy as np
from typing_extensions import assert_never

from benchmarks.school.codes import make_codes_lake
from benchmarks.school.combine import combine
from benchmarks.school.database import Database, Random
from benchmarks.school.errors import SourceError
from benchmarks.school.grow import grow
from benchmarks.school.guises import (
    Guise,
    abbreviate_names,
    hide_names,
    hide_values,
    number_names,
    shuffle_columns,
    style_names,
)
from benchmarks.school.invent import invent_rows
from benchmarks.school.keys import name_after_tables, name_alike, recode, renumber
from benchmarks.school.lake import SchoolLake
from benchmarks.school.pieces import make_pieces
from benchmarks.school.sampling import sample
from benchmarks.school.widen import widen


class LakeKind(Enum):
    """The kind of material that a lake is made of."""

    RELATIONAL = "relational"
    PIECES = "pieces"
    CODES = "codes"
    HEADERS = "headers"
    """Relational, without rows. Only made if asked for."""


_RELATED = {LakeKind.RELATIONAL, LakeKind.HEADERS}
"""The kinds of lakes that are made of whole databases."""

_KINDS = {LakeKind.RELATIONAL: 0.6, LakeKind.PIECES: 0.2, LakeKind.CODES: 0.2}
"""How often each kind is drawn."""


class Layout(Enum):
    """The databases of a relational lake, and how they lie in it."""

    ALONE = "alone"
    """One database."""

    MIXED = "mixed"
    """Ten to twenty databases of different authors, all tables in one folder."""

    FOLDERS = "folders"
    """The same, with a folder for each database."""

    SCATTERED = "scattered"
    """One database or several, whose tables lie in folders of their own or in those of layers."""


_LAYOUTS = {Layout.ALONE: 0.25, Layout.MIXED: 0.3, Layout.FOLDERS: 0.25, Layout.SCATTERED: 0.2}
"""How often each layout of a relational lake is drawn."""

_LAYERS = ("raw", "staging", "core", "mart", "reference", "archive", "export")
_IN_LAYERS, _ALONE = 0.5, 0.5
"""Shares of the scattered lakes whose folders are layers, and which hold one database."""

_DATABASES = (10, 20)
"""Fewest and most databases of a lake that mixes them; fewer, if the authors are fewer."""

_NAMES: tuple[tuple[str, float, Guise | None], ...] = (
    ("plain", 0.24, None),
    ("styled", 0.26, style_names),
    ("abbreviated", 0.2, abbreviate_names),
    ("hidden", 0.24, hide_names),
    ("numbered", 0.06, number_names),
)
"""Ways to rewrite the names in a lake, and how often each is drawn."""

_READABLE = {"plain", "styled", "abbreviated"}
"""Names in which references may be found without values."""

_VALUES_HIDDEN = 0.1
_OTHERS_DISGUISED = 0.4
_SHUFFLED = 0.3
_COPY = 0.2
_RENUMBERED = 0.4
_NAMED_AFTER_TABLES, _NAMED_ALIKE, _RECODED = 0.4, 0.5, 0.25
"""Probabilities that values are hidden, that the names of pieces and codes are disguised, that
columns are shuffled, that a database is doubled, that its keys are renumbered, that keys are named
after their tables, without or with the columns that refer to them, and that some become codes or
words."""

_OTHERS_OF_STANDARD = 9
"""Fewest databases with a schema of their own for each one whose schema is a standard."""

_WIDENED = 0.5
"""Share of the databases that get columns which are common in applications."""

_TOY, _GROWN = 50, 0.8
"""A database whose largest table has fewer than `_TOY` rows gets more rows with the probability
`_GROWN`."""

_TRIES = 9
"""Draws of databases until some columns join; the few rows of a single database may share none."""

_FEWEST, _FEWEST_RELATED = 30, 100
"""Fewest tables for which a lake has room; whole databases need more of it."""

_ROWS = (60, 100, 150, 150, 250, 600, 2_000)


@dataclass(frozen=True)
class Draft:
    """The plan of one lake."""

    number: int
    kind: LakeKind
    layout: Layout
    names: str
    values_hidden: bool
    tables: int
    rows: int

    @property
    def name(self) -> str:
        """Name of the lake's folder."""
        suffix = "-header-only" if self.values_hidden else ""
        layout = f"-{self.layout.value}" if self.kind in _RELATED else ""
        return f"{self.number:03}-{self.kind.value}{layout}-{self.names}{suffix}"


def draw_draft(number: int, random: Random, *, most: int, kind: LakeKind | None = None) -> Draft:
    """Draw the kind, layout, size and names of a lake.

    Args:
        number: Its number.
        random: Source of the draw.
        most: Most tables.
        kind: Its kind, unless that is drawn, too.
    """
    kind = kind or [*_KINDS][int(random.choice(len(_KINDS), p=[*_KINDS.values()]))]
    related = kind in _RELATED
    least = _FEWEST_RELATED if related else _FEWEST
    tables = int(np.exp(random.uniform(np.log(least), np.log(most))))
    # A large lake of many rows would cost more than it teaches.
    rows = int(random.choice([rows for rows in _ROWS if rows * tables <= 60_000]))
    layout = [*_LAYOUTS][int(random.choice(len(_LAYOUTS), p=[*_LAYOUTS.values()]))]
    names, shares, _ = zip(*_NAMES, strict=True)
    guise = str(random.choice(names, p=shares))
    if kind == LakeKind.HEADERS and guise not in _READABLE:
        guise = "plain"
    # Pieces and codes are found by their values, and most have names of their own already.
    guise = guise if related or random.random() < _OTHERS_DISGUISED else "plain"
    hidden = kind == LakeKind.RELATIONAL and bool(random.random() < _VALUES_HIDDEN)
    return Draft(number, kind, layout, guise, hidden, tables, rows)


def make_lake(
    draft: Draft, pool: Sequence[Database], random: Random
) -> tuple[SchoolLake, list[str]]:
    """Make the lake that a plan describes.

    Args:
        draft: What it should be.
        pool: Databases to draw from.
        random: Source of all draws.

    Returns:
        The lake, and the names of its databases.

    Raises:
        SourceError: The pool has nothing for this kind of lake.
    """
    public = [database for database in pool if not database.invented]
    match draft.kind:
        case LakeKind.PIECES:
            lake, used = make_pieces(public, draft.tables, random)
        case LakeKind.CODES:
            lake, used = make_codes_lake(public, draft.tables, random)
        case LakeKind.RELATIONAL:
            lake, used = _make_relational(draft, pool, random)
        case LakeKind.HEADERS:
            lake, used = _make_headers(draft, pool, random)
        case _:
            assert_never(draft.kind)
    if not (lake.truth or draft.kind == LakeKind.HEADERS):
        raise SourceError.too_few(draft.kind.value)
    return _disguise(lake, draft, random), used


def _make_relational(
    draft: Draft, pool: Sequence[Database], random: Random
) -> tuple[SchoolLake, list[str]]:
    related = _thinned([one for one in pool if one.references], random)
    for _ in range(_TRIES):
        chosen = list(_draw(draft, related, random, _make_part))
        lake = combine(chosen, random, folders=draft.layout == Layout.FOLDERS)
        if lake.truth:
            lake = _scatter(lake, random) if draft.layout == Layout.SCATTERED else lake
            return lake, sorted({database.name for database in chosen})
    raise SourceError.too_few(draft.kind.value)


def _make_headers(
    draft: Draft, pool: Sequence[Database], random: Random
) -> tuple[SchoolLake, list[str]]:
    related = _thinned([one for one in pool if one.references], random)
    chosen = list(_draw(draft, related, random, _make_header))
    lake = combine(chosen, random, folders=draft.layout == Layout.FOLDERS)
    lake = _scatter(lake, random) if draft.layout == Layout.SCATTERED else lake
    # A column that refers to the same key as another does not refer to the other.
    return replace(lake, neutral=()), sorted({database.name for database in chosen})


def _make_header(database: Database, rows: int, random: Random, *, is_copied: bool) -> Database:
    """Remove the rows of a database, and perhaps rename its keys."""
    del rows, is_copied  # all parts are made alike
    tables = {name: frame.iloc[:0] for name, frame in database.tables.items()}
    database = replace(database, tables=tables)
    return name_alike(database, random) if random.random() < _NAMED_ALIKE else database


def _thinned(pool: Sequence[Database], random: Random) -> list[Database]:
    """Leave out databases of a standard at random, until they are a tenth of the pool."""
    own = [database for database in pool if not database.standard]
    standard = [database for database in pool if database.standard]
    most = len(own) // _OTHERS_OF_STANDARD if own else len(standard)
    return own + [standard[int(at)] for at in random.permutation(len(standard))[:most]]


def _scatter(lake: SchoolLake, random: Random) -> SchoolLake:
    """Put each table into a folder of its own, or into that of a layer, whatever its database."""
    layers = random.permutation(_LAYERS)[: int(random.integers(2, len(_LAYERS)))].tolist()
    in_layers = random.random() < _IN_LAYERS
    folders = {table: random.choice(layers) if in_layers else table for table in lake.tables}
    names = {table: f"{folder}/{table}" for table, folder in folders.items()}
    return lake.rename(names, lambda name: name.column)


def _draw(
    draft: Draft,
    pool: Sequence[Database],
    random: Random,
    make_part: Callable[..., Database],
) -> Iterator[Database]:
    alone = draft.layout == Layout.ALONE or (
        draft.layout == Layout.SCATTERED and random.random() < _ALONE
    )
    count = 1 if alone else int(random.integers(_DATABASES[0], _DATABASES[1] + 1))
    left = draft.tables
    for database in _by_author(pool, random):
        if count <= 0:
            return
        copies = 2 if not alone and random.random() < _COPY else 1
        if copies * len(database.tables) > left:
            continue
        count -= 1
        for _ in range(copies):
            part = make_part(database, draft.rows, random, is_copied=copies > 1)
            left -= len(part.tables)
            yield part


def _make_part(database: Database, rows: int, random: Random, *, is_copied: bool) -> Database:
    """Draw or make up rows of a database, and change its keys and columns."""
    if database.invented:
        part = invent_rows(database, rows, random)
    else:
        part = _part(database, rows, random)
    if random.random() < _NAMED_AFTER_TABLES:
        part = name_after_tables(part, random)
    if not database.invented:
        if is_copied or random.random() < _RENUMBERED:
            part = renumber(part, random, shuffled=is_copied)
            part = _grown(part, rows, random)
        if random.random() < _WIDENED:
            part = widen(part, random)
    return recode(part, random) if random.random() < _RECODED else part


def _by_author(pool: Sequence[Database], random: Random) -> Iterator[Database]:
    """Yield one database of each author in random order, then a second one of each, and so on.

    So a corpus of a hundred databases weighs no more than a person's only one.
    """
    by_author: dict[str, list[Database]] = defaultdict(list)
    for at in random.permutation(len(pool)):
        by_author[pool[int(at)].author].append(pool[int(at)])
    for turn in zip_longest(*by_author.values()):
        order = random.permutation(len(turn))
        yield from (one for at in order if (one := turn[int(at)]))


def _part(database: Database, rows: int, random: Random) -> Database:
    """Draw rows of a database, and drop some columns that are not keys."""
    part = sample(database, max(20, int(rows * random.uniform(0.6, 1.4))), random)
    keys = {column for one in part.references for column in (one.origin, one.target)}
    dropped = random.uniform(0, 0.25)
    tables = {}
    for name, frame in part.tables.items():
        kept = [
            column
            for column in frame.columns
            if (name, column) in keys or random.random() >= dropped
        ]
        if kept:
            tables[name] = frame[kept]
    return replace(part, tables=tables)


def _grown(part: Database, rows: int, random: Random) -> Database:
    """Add rows to a database if it is tiny and a random draw says so.

    It is tiny if its largest table has only about a dozen rows.
    """
    toy = max(map(len, part.tables.values())) < _TOY
    return grow(part, rows, random) if toy and random.random() < _GROWN else part


def _disguise(lake: SchoolLake, draft: Draft, random: Random) -> SchoolLake:
    guise = {name: function for name, _, function in _NAMES}[draft.names]
    if random.random() < _SHUFFLED:
        lake = shuffle_columns(lake, random)
    if guise:
        lake = guise(lake, random)
    return hide_values(lake, random) if draft.values_hidden else lake
