"""Names of tables and columns: as catalogs spell them, as people type them, and between quotes.

DataHub's connectors write the names of tables, and sometimes of columns, in lower case where their
`convert_urns_to_lowercase` says so. A part of a full name ends at a dot or a slash; names of tables
and paths of columns may both contain dots.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

_Name = TypeVar("_Name", bound=Hashable)
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Spelled(Generic[_Name]):
    """The known spelling of each name, and the names with several possible spellings."""

    matched: Mapping[_Name, _Name]
    """The known spelling of each name that has one."""

    unclear: Mapping[_Name, tuple[_Name, ...]]
    """For each name that is not matched, the known spellings that nobody else has. A known spelling
    that several names want is not guessed, either."""


def match_spellings(
    names: Collection[_Name], known: Collection[_Name], fold: Callable[[_Name], Hashable]
) -> Spelled[_Name]:
    """Match names with known ones: first those of equal spelling, then those that differ in case.

    >>> match_spellings(["Id", "name"], ["id", "name"], str.casefold).matched
    {'Id': 'id', 'name': 'name'}
    >>> match_spellings(["id", "ID"], ["id"], str.casefold).matched
    {'id': 'id'}
    >>> match_spellings(["Id"], ["id", "ID"], str.casefold).unclear
    {'Id': ('id', 'ID')}
    """
    own, others = frozenset(names), frozenset(known)
    matched = {name: name for name in names if name in others}
    missing = [name for name in dict.fromkeys(names) if name not in others]
    if not missing:
        return Spelled(matched, {})
    alike: dict[Hashable, list[_Name]] = defaultdict(list)
    for name in known:
        alike[fold(name)].append(name)
    wanted = Counter(map(fold, missing))
    unclear: dict[_Name, tuple[_Name, ...]] = {}
    for name in missing:
        spellings = alike.get(fold(name), [])
        free = tuple(spelling for spelling in spellings if spelling not in own)
        if len(spellings) == len(free) == wanted[fold(name)] == 1:
            matched[name] = free[0]
        elif free:
            unclear[name] = free
    return Spelled({name: matched[name] for name in names if name in matched}, unclear)


def find_spelling(name: str, known: Collection[str]) -> str:
    """Return the known spelling of a name; the name itself if there is none, or more than one.

    >>> find_spelling("Id", {"id"}), find_spelling("Id", {"id", "ID"}), find_spelling("id", {})
    ('id', 'Id', 'id')
    """
    if name in known:
        return name
    alike = [other for other in known if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else name


_EXTENSION = re.compile(
    r"\.(csv|tsv|txt|jsonl?|ndjson|parquet|orc|avro)(\.(gz|bz2|xz|zst|lz4|br))?$", re.IGNORECASE
)


def without_extension(name: str) -> str:
    """Return the name of a table without the extension of a file.

    >>> without_extension("lake/flights.csv.gz"), without_extension("public.orders")
    ('lake/flights', 'public.orders')
    """
    return _EXTENSION.sub("", name)


def ends_in(full: str, typed: str) -> bool:
    """Return whether a typed name is a full name, or the last parts of it.

    >>> ends_in("shop.public.orders", "public.orders"), ends_in("lake/flights.csv", "flights.csv")
    (True, True)
    >>> ends_in("shop.public.back_orders", "orders")
    False
    """
    return full == typed or full.endswith((f"/{typed}", f".{typed}"))


def names_table(typed: str, full: str) -> bool:
    """Return whether a typed name is that of a table, or the end of it, also without an extension.

    >>> names_table("lake/flights", "data/lake/flights.csv"), names_table("csv", "flights.csv")
    (True, False)
    """
    # The extension alone names no table.
    stem = without_extension(full)
    return ends_in(stem, typed) or (len(typed) > len(full) - len(stem) and ends_in(full, typed))


def split_column(typed: str) -> Iterator[tuple[str, str]]:
    """Yield all splits of a typed name into a table and a column, with the longest table first.

    >>> [*split_column("flights.csv.carrier")]
    [('flights.csv', 'carrier'), ('flights', 'csv.carrier')]
    """
    for at in reversed(range(len(typed))):
        if typed[at] == "." and typed[:at] and typed[at + 1 :]:
            yield typed[:at], typed[at + 1 :]


# Libraries that quote names double the quotes in them, and leave backslashes as they are. Where a
# backslash starts an escape, a name that ends in one would then run on to the next quote.
_CONTROLS = {chr(number): f"\\x{number:02x}" for number in (*range(1, 32), 127)}
_ESCAPES: Mapping[str, dict[int, str]] = {
    "clickhouse": str.maketrans({"\\": "\\\\"}),
    # It reads no doubled quotes, and a quoted name has one line.
    "bigquery": str.maketrans({"\\": "\\\\", "`": "\\x60", **_CONTROLS}),
}


def escape_for_quotes(name: str, system: str) -> str:
    r"""Escape a name that a library will quote for a system of sqlglot or SQLAlchemy.

    >>> print(escape_for_quotes("share\\", "clickhouse"), escape_for_quotes("share\\", "mysql"))
    share\\ share\
    """
    return name.translate(_ESCAPES[system]) if system in _ESCAPES else name


def best_fits(items: Iterable[_Item], *rules: Callable[[_Item], bool]) -> list[_Item]:
    """Return the items that fit the first rule that any item fits; the strictest rule comes first.

    >>> best_fits(["Orders", "orders"], "orders".__eq__, lambda each: each.lower() == "orders")
    ['orders']
    """
    listed = [*items]
    found = ([item for item in listed if fits(item)] for fits in rules)
    return next(filter(None, found), [])
