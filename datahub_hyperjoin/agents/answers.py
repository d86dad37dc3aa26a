"""Build the answers that agents get about joins, of a limited length.

An answer first says whether a safe join is known. It never offers a guess. Tables have short names
in it, and it tells their full names once.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from datahub_hyperjoin.joins import Join, Statement, is_safe, reasons_unsafe
from datahub_hyperjoin.joins.describe import Phrases, describe, shorten, summarize
from datahub_hyperjoin.joins.join import rename_columns
from datahub_hyperjoin.names import without_extension
from datahub_hyperjoin.sql.paths import write_path
from datahub_hyperjoin.tables import ColumnId, TableId, short_names
from datahub_hyperjoin.visible import visible

MOST_BYTES = 5_250
"""Maximum number of bytes in an answer: 1,500 tokens of 3.5 characters. Bytes count, because
letters outside ASCII cost more tokens."""

_CUTS = (300, 100, 30)
"""Lengths to which texts are cut in turn, until an answer is short enough."""

_TOO_LONG = "too long to show; DataHub shows it among the Highlighted Queries of both datasets"

Answer = dict[str, Any]
"""An answer to an agent: texts, and lists of texts or of further answers."""

Legend = Mapping[str, str]
"""The full names of tables, by the short names that an answer has for them."""


class ShortNames:
    """The short names of the tables in an answer, which tell them apart."""

    def __init__(self, joins: Iterable[Join], *tables: TableId) -> None:
        listed = [*joins]
        through = {join.via[0].table for join in listed if join.via}
        names = short_names({*tables, *through, *(each for one in listed for each in one.tables)})
        stems = Counter(map(without_extension, names.values()))
        files = Counter(without_extension(table.name) for table in names)

        def is_clear(table: TableId, stem: str) -> bool:
            return stems[stem] == files[without_extension(table.name)] == 1

        self._names = {
            table: stem if is_clear(table, stem := without_extension(name)) else name
            for table, name in names.items()
        }

    def __getitem__(self, table: TableId) -> str:
        return self._names[table]

    def column(self, column: ColumnId) -> ColumnId:
        """Return a column with the short name of its table."""
        return replace(column, table=replace(column.table, name=self[column.table]))

    def join(self, join: Join) -> Join:
        """Return a join with the short names of its tables."""
        return rename_columns(join, self.column)

    def legend(self, *tables: TableId) -> Legend:
        """Return the full names of tables whose short names are other ones."""
        other = (table for table in tables if self[table] != table.name)
        return {visible(self[table]): visible(table.name) for table in other}


def with_tables(answer: Answer, *legends: Legend) -> Answer:
    """Add the full names of tables to an answer."""
    full = {
        **answer.get("tables", {}),
        **dict(chain.from_iterable(map(dict.items, map(dict, legends)))),
    }
    return {**answer, "tables": full} if full else answer


def add_entries(
    answer: Answer,
    key: str,
    entries: Sequence[Answer],
    legends: Sequence[Legend] = (),
    *,
    skip: int | None = None,
) -> Answer:
    """Add entries to an answer until it is full, but leave out the first `skip` entries.

    The names of the tables of each entry are in the legend at the same place.
    """
    rest, named = entries[skip or 0 :], legends[skip or 0 :]
    filled = {**answer, key: []}
    for number in range(1, len(rest) + 1):
        hint = "" if skip is None else f"; repeat with skip={skip + number}"
        others = len(rest) - number
        more = {"more": f"{others} more{hint}"} if others else {}
        told = with_tables(answer, *named[:number])
        longer = {**told, key: list(rest[:number]), **more}
        if number > 1 and not _is_short(longer):
            break
        filled = longer
    return filled


def to_text(answer: Answer) -> str:
    """Convert an answer to JSON of at most 1,500 tokens."""
    # If the answer is too long, its SQL is left out first; then texts are cut. SQL is never cut,
    # because the first part of a statement may run and be wrong. Names in all other texts are made
    # visible, so that none looks like instructions.
    shown = _change(answer, lambda key, text: text if key == "sql" else visible(text))
    without = _change(shown, lambda key, text: _TOO_LONG if key == "sql" else text)
    cut = (_change(without, partial(_cut, most)) for most in _CUTS)
    last = {"answer": shown["answer"], "why": "the whole answer is too long; ask about one join"}
    return _dump(next(filter(_is_short, chain([shown, without], cut, [last]))))


def _cut(most: int, _: str, text: str) -> str:
    return shorten(text, most)


def _change(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:  # noqa: ANN401
    """Replace each text in an answer, at any depth, with `change(key, text)`."""
    # The key is the one under which the text stands in the answer; it is `key` for a text outside
    # dictionaries.
    match value:
        case dict():
            return {inner: _change(held, change, inner) for inner, held in value.items()}
        case list():
            return [_change(held, change, key) for held in value]
        case str():
            return change(key, value)
        case _:
            return value


def _is_short(answer: Answer) -> bool:
    return len(_dump(answer).encode()) <= MOST_BYTES


def _dump(answer: Answer) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


NO_SAFE_JOIN = "no safe join known"
CHOOSE = "choose one"

ASK = "Do not join them on a guess: ask the user, or a person who may accept a join"
_CHOOSE = "Joins marked `choose` give other rows than each other. Ask the user which one is meant"
_OTHERS = "A join in `also` may be meant instead. Ask the user"
_SQL_IS_TESTED = "tested: it returned the expected rows"
_SQL_IS_WRITTEN = "not run: check its number of rows"

_MOST_RIVALS = 3
"""Maximum number of unsafe joins that an answer names beside a safe one."""

_IN_A_LIST = ("join", "cardinality", "grain", "rows", "compare", "decided", "description")
IN_A_STEP = ("join", "cardinality", "rows", "compare", "decided")
"""What an agent has to know of each join of a path."""

Statements = Mapping[str, Statement]
"""The SQL of joins that is known, by the URN of the join."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent asks about: a dataset, perhaps one column or the joins with another dataset."""

    table: TableId
    column: str = ""
    other: TableId | None = None

    @property
    def tables(self) -> tuple[TableId, ...]:
        """One or two tables."""
        return (self.table, *([self.other] if self.other else []))

    def shown(self, names: ShortNames) -> str:
        """Return what is asked about, in short names."""
        column = f".{self.column}" if self.column else ""
        other = f" with {names[self.other]}" if self.other else ""
        return f"{names[self.table]}{column}{other}"


def _begin(answer: str, asked: Asked, joins: Sequence[Join]) -> tuple[Answer, ShortNames]:
    names = ShortNames(joins, *asked.tables)
    begun = {"answer": answer, "of": asked.shown(names)}
    return with_tables(begun, names.legend(*asked.tables)), names


def answer_nothing(asked: Asked) -> Answer:
    """Build the answer that the catalog has no join of what was asked about."""
    answer, _ = _begin(NO_SAFE_JOIN, asked, ())
    return {**answer, "why": "the catalog has no join of it"}


def list_joins_of(
    asked: Asked, joins: Sequence[Join], *, min_score: float, skip: int = 0
) -> Answer:
    """Build the answer that lists the joins of what was asked about, safe joins first."""
    ordered = sorted(joins, key=lambda join: not is_safe(join, min_score=min_score))
    safe = sum(is_safe(join, min_score=min_score) for join in joins)
    answer, names = _begin(_count(safe), asked, joins)
    entries = list_with_reasons(ordered, names, min_score=min_score)
    answer |= {"unsafe": len(joins) - safe}
    return add_entries(answer, "joins", entries, legends_of(ordered, names), skip=skip)


def legends_of(joins: Sequence[Join], names: ShortNames) -> list[Legend]:
    """Return the legend of each join."""
    return [names.legend(*join.tables) for join in joins]


def _count(safe: int) -> str:
    return {0: NO_SAFE_JOIN, 1: "1 safe join"}.get(safe, f"{safe} safe joins")


def list_with_reasons(
    joins: Sequence[Join], names: ShortNames, *, min_score: float
) -> list[Phrases]:
    """Summarise each join, with any reasons why it is not safe."""
    reasons = ("; ".join(reasons_unsafe(join, min_score=min_score)) for join in joins)
    return [
        {**summarize(names.join(join)), **({"unsafe": unsafe} if unsafe else {})}
        for join, unsafe in zip(joins, reasons, strict=True)
    ]


def in_short(join: Join, names: ShortNames, keys: Sequence[str]) -> Phrases:
    """Describe a join by what agents need."""
    words = describe(names.join(join))
    # The grain says what the sentences of the cardinality do.
    stated = "" if join.evidence else ", as the catalog states it"
    words |= {"cardinality": f"{join.cardinality.words}{stated}"}
    return {key: words[key] for key in keys if key in words}


def suggest_safe_joins(
    asked: Asked,
    joins: Sequence[Join],
    statements: Statements,
    *,
    min_score: float,
    skip: int = 0,
) -> Answer:
    """Build the answer that describes the safe ones among joins, with their SQL.

    Beside each are the unsafe references between the same datasets, which may be meant instead.
    """
    safe = [join for join in joins if is_safe(join, min_score=min_score)]
    # A person has to choose among safe joins with one table that alike repeat rows or do not.
    rivals = Counter((join.right.table, join.to_one) for join in safe)
    answer, names = _begin(_count(len(safe)), asked, joins)
    entries = []
    for join in safe:
        others = rivals[join.right.table, join.to_one]
        choice = {"choose": f"{others} safe joins with this dataset"} if others > 1 else {}
        also = [
            _doubted(rival, names, min_score) for rival in doubtful_rivals([join], joins, min_score)
        ]
        entries.append(
            {
                **in_short(join, names, _IN_A_LIST),
                **choice,
                **({"also": also} if also else {}),
                **sql_of([join], statements),
            }
        )
    if max(rivals.values()) > 1:
        answer |= {"next": _CHOOSE, **({"answer": CHOOSE} if len(rivals) == 1 else {})}
    elif any("also" in entry for entry in entries):
        answer |= {"next": _OTHERS}
    return add_entries(answer, "joins", entries, legends_of(safe, names), skip=skip)


def doubtful_rivals(path: Sequence[Join], joins: Iterable[Join], min_score: float) -> list[Join]:
    """List unsafe references that the user may mean instead of a path of joins."""
    # They connect the same two tables as a join of the path, or the two ends of the path.
    tables = {frozenset(join.tables) for join in path}
    tables.add(frozenset((path[0].left.table, path[-1].right.table)))
    rivals = (
        join
        for join in joins
        if frozenset(join.tables) in tables and join.open and join.role.is_directed
    )
    return [join for join in rivals if reasons_unsafe(join, min_score=min_score)][:_MOST_RIVALS]


def _doubted(join: Join, names: ShortNames, min_score: float) -> str:
    """Say in a line why a join is not safe."""
    reasons = reasons_unsafe(join, min_score=min_score)
    is_open = join.is_verified and not join.is_confirmed and join.strength < min_score
    why = "undecided" if is_open and len(reasons) == 1 else "; ".join(reasons)
    return f"{names.join(join).arrows}, {join.strength:.2f}, {why}"


def sql_of(joins: Sequence[Join], statements: Statements) -> Answer:
    """Return one statement for a path of joins, and say whether it was tested."""
    statement = write_path(joins, statements)
    if not statement.sql:
        return {"sql_is": f"none: {statement.reason}"}
    return {
        "sql": statement.sql,
        "sql_is": _SQL_IS_TESTED if statement.was_run else _SQL_IS_WRITTEN,
    }


def answer_none_safe(asked: Asked, joins: Sequence[Join], *, min_score: float) -> Answer:
    """Build the answer that none of the joins is safe, with the reasons."""
    answer, names = _begin(NO_SAFE_JOIN, asked, joins)
    return add_unsafe({**answer, "next": ASK}, joins, names, min_score=min_score)


def add_unsafe(
    answer: Answer, joins: Sequence[Join], names: ShortNames, *, min_score: float
) -> Answer:
    """Add joins that are not safe to an answer, with the reasons."""
    entries = list_with_reasons(joins, names, min_score=min_score)
    return add_entries(answer, "unsafe", entries, legends_of(joins, names))


def assess_join(join: Join, statements: Statements, *, min_score: float) -> Answer:
    """Build the answer about one join: its safety and its description."""
    names = ShortNames([join])
    told = with_tables({"urn": join.urn}, names.legend(*join.tables))
    words = describe(names.join(join))
    reasons = reasons_unsafe(join, min_score=min_score)
    if reasons:
        return {"answer": "not safe", "unsafe": "; ".join(reasons), "next": ASK, **words, **told}
    return {"answer": "safe", **words, **sql_of([join], statements), **told}
