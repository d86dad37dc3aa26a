"""Change the names in a lake or remove its values, without changing its joins."""

import re
from collections.abc import Callable
from dataclasses import replace

from benchmarks.school.database import Random
from benchmarks.school.lake import SchoolLake, distinct_names
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

Guise = Callable[[SchoolLake, Random], SchoolLake]

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_CONSONANTS = "BCDFGHJKLMNPRSTVWXZ"
_LETTERS = "ABCDEFGHIKLMNOPRSTUVWZ"

Naming = Callable[[str], str]


def style_names(lake: SchoolLake, random: Random) -> SchoolLake:
    """Write the names of each database in a style of its own."""
    return _by_database(lake, random, style)


def abbreviate_names(lake: SchoolLake, random: Random) -> SchoolLake:
    """Abbreviate the words of all names, such as `cust_id` for `customer_id`."""
    return _by_database(lake, random, abbreviation)


def hide_names(lake: SchoolLake, random: Random) -> SchoolLake:
    """Replace all names with codes.

    Each database has its own scheme of codes.
    """
    tables, columns = {}, {}
    folders = _hidden_folders(lake)
    for number, (_, names) in enumerate(_databases(lake)):
        code, prefixed = _code(random), bool(random.random() < 0.4)
        start = int(random.integers(1, 90))
        for at, table in enumerate(names):
            tables[table] = folders[table] + (
                f"{_LETTERS[number % len(_LETTERS)]}{start + at:02}{random.integers(10, 99)}"
                if prefixed
                else code(table)
            )
            two = "".join(random.choice([*_LETTERS], 2)) if prefixed else ""
            for column in map(str, lake.tables[table]):
                columns[ColumnName(table, column)] = two + code(column)
    return lake.rename(distinct_names(tables), columns.__getitem__)


def number_names(lake: SchoolLake, random: Random) -> SchoolLake:
    """Rename tables and columns to `t12345` and `col_1`, as in extracts without headers."""
    numbers = random.permutation(90_000)[: len(lake.tables)] + 10_000
    folders = _hidden_folders(lake)
    tables = {
        table: f"{folders[table]}t{number}"
        for table, number in zip(lake.tables, numbers, strict=True)
    }
    return lake.rename(
        tables,
        lambda one: f"col_{[*lake.tables[one.table]].index(one.column) + 1}",
    )


def hide_values(lake: SchoolLake, random: Random) -> SchoolLake:
    """Remove all rows, but keep the list of joins."""
    del random  # all guises are called alike
    tables = {name: frame.iloc[:0] for name, frame in lake.tables.items()}
    return replace(lake, tables=tables)


def shuffle_columns(lake: SchoolLake, random: Random) -> SchoolLake:
    tables = {
        name: frame.iloc[:, random.permutation(frame.shape[1])]
        for name, frame in lake.tables.items()
    }
    return replace(lake, tables=tables)


def _folder(table: str) -> str:
    """Return the folder before a table's name, with the slash; nothing in a flat lake."""
    return table[: table.rfind("/") + 1]


def _hidden_folders(lake: SchoolLake) -> dict[str, str]:
    """Map each table to a folder whose name tells nothing."""
    folders = sorted({_folder(table) for table in lake.tables} - {""})
    hidden = {"": "", **{folder: f"d{at}/" for at, folder in enumerate(folders)}}
    return {table: hidden[_folder(table)] for table in lake.tables}


def _databases(lake: SchoolLake) -> list[tuple[str, list[str]]]:
    origins = sorted(set(lake.origins.values()))
    return [
        (origin, [name for name in lake.tables if lake.origins[name] == origin])
        for origin in origins
    ]


def _by_database(
    lake: SchoolLake, random: Random, scheme: Callable[[Random], Naming]
) -> SchoolLake:
    tables: dict[str, str] = {}
    columns: dict[ColumnName, str] = {}
    for _, names in _databases(lake):
        naming = scheme(random)
        for table in names:
            folder = _folder(table)
            tables[table] = folder + naming(table.removeprefix(folder))
            for column in map(str, lake.tables[table]):
                columns[ColumnName(table, column)] = naming(column)
    return lake.rename(distinct_names(tables), columns.__getitem__)


def _words(name: str) -> list[str]:
    """Split a name into lower-case words.

    >>> _words("CustomerID_2")
    ['customer', 'id', '2']
    """
    return [word.lower() for word in _WORDS.findall(name)] or ["x"]


def style(random: Random) -> Naming:
    """Draw a style for writing names, such as the separator and the word for keys."""
    joined = _JOINERS[int(random.integers(len(_JOINERS)))]
    key = str(random.choice(["id", "id", "no", "code", "key", "ref", "nr"]))
    first = bool(random.random() < 0.2)
    prefix = str(random.choice(["", "", "", "t", "tbl", "app", "dim"]))

    def naming(name: str) -> str:
        words = [key if word == "id" else word for word in _words(name)]
        if first and words[-1] == key:
            words = [key, *words[:-1]]
        return joined([prefix, *words] if prefix and name.islower() else words)

    return naming


_JOINERS: tuple[Callable[[list[str]], str], ...] = (
    "_".join,
    lambda words: "_".join(words).upper(),
    lambda words: "".join(word.capitalize() for word in words),
    lambda words: words[0] + "".join(word.capitalize() for word in words[1:]),
    lambda words: " ".join(words).capitalize(),
    "".join,
)


def abbreviation(random: Random) -> Naming:
    """Draw a way to abbreviate names."""
    shorten = _SHORTENERS[int(random.integers(len(_SHORTENERS)))]
    separator = str(random.choice(["_", "_", ""]))
    upper = bool(random.random() < 0.4)

    def naming(name: str) -> str:
        short = separator.join(shorten(word) for word in _words(name))
        return short.upper() if upper else short

    return naming


_SHORTENERS: tuple[Callable[[str], str], ...] = (
    lambda word: word[:4],
    lambda word: word[:3],
    lambda word: word[:1] + re.sub("[aeiou]", "", word[1:]) if len(word) > 3 else word,
    lambda word: (word[:1] + re.sub("[aeiou]", "", word[1:]))[:4],
    lambda word: word[:5] if len(word) > 6 else word,
)


def _code(random: Random) -> Naming:
    """Return a function that replaces names with random codes.

    A name gets the same code throughout one database.
    """
    codes: dict[str, str] = {}
    length = int(random.integers(4, 7))
    initials = bool(random.random() < 0.3)

    def naming(name: str) -> str:
        if name not in codes:
            drawn = "".join(random.choice([*_CONSONANTS], length))
            if initials:
                drawn = "".join(word[0] for word in _words(name)).upper()[:3] + drawn[:2]
            codes[name] = drawn
        return codes[name]

    return naming
