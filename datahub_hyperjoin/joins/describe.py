"""What people and AI agents read about a join: words, sentences, shares and lines.

The page, the terminal, the catalog, agents and notebooks tell the same.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.cell_parts import CellParts
from datahub_hyperjoin.joins.evidence import Cardinality, RowCounts
from datahub_hyperjoin.joins.join import (
    ROW_LIMIT,
    Derivation,
    Join,
    Role,
    Statement,
)
from datahub_hyperjoin.joins.safety import NOT_VERIFIED, UNCOUNTED, grain_of
from datahub_hyperjoin.names import without_extension
from datahub_hyperjoin.value_forms import ValueForm
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import about, join_with_and, number_of, percent

WRITTEN = "created by a person"
"""Words that mark a join without a score."""

FOLLOWING = {
    Derivation.SAME_COLUMNS: "between tables with the same columns, such as those of two years",
    Derivation.SAME_KEY: "between columns that refer to one key, which repeat on both sides",
    Derivation.SAME_TABLES: "of tables with a better join, by columns that repeat on both sides",
    Derivation.DATES: "of dates, without a calendar",
}
"""Words that follow the number of joins that are not listed, by the reason."""

MORE_TABLES = {
    Derivation.SAME_COLUMNS: "with the same columns",
    Derivation.SAME_KEY: "by the same key",
    Derivation.SAME_TABLES: "that other columns join better",
    Derivation.DATES: "by dates alone",
}
"""Words that follow a number of tables whose joins are not listed, by the reason."""

_LONGEST_REASON = 200
"""Maximum number of characters shown of a person's description, which may be a page long."""

Phrases = dict[str, str]
"""Phrases by their keys, in the order in which an agent reads them."""


def describe(join: Join) -> Phrases:
    """Describe a join in phrases: its columns, role, rows and decision."""
    words = {
        "join": join.arrows,
        "role": _role(join),
        "cardinality": _cardinality(join),
        "grain": describe_grain([join]),
        "rows": _rows(join),
        "values": _values(join),
        "compare": comparison_in_words(join),
        "decided": decision_in_words(join),
        "description": shorten(join.description),
    }
    return {key: visible(text) for key, text in words.items() if text}


def summarize(join: Join) -> Phrases:
    """Describe a join in two phrases, for lists."""
    cardinality = cardinality_in_words(join)
    return {"join": join.arrows, "means": f"{cardinality}; {decision_in_words(join)}"}


def cardinality_in_words(join: Join) -> str:
    """Name the cardinality of a join, if it is known."""
    return "cardinality unknown" if join.is_uncounted else join.cardinality.words


def role_in_words(join: Join) -> str:
    """Name the role of a join, and say if the key repeats; empty if the role is unknown."""
    if join.known_role is None:
        return ""
    repeats = join.referenced and join.evidence and join.directed.multiplies
    return f"{join.role.value}, key repeats" if repeats else join.role.value


def _role(join: Join) -> str:
    """Describe the role of a join, and name the key."""
    if join.known_role is None or join.referenced is None:
        return join.role.value if join.known_role else ""
    at = [right if join.referenced == join.right else left for left, right in join.pairs]
    paths = ", ".join(column.path for column in at)
    key = f"{at[0].table.name} ({paths})" if len(at) > 1 else at[0]
    repeats = ", which repeats" if role_in_words(join) != join.role.value else ""
    return f"{join.role.value}; the key is {key}{repeats}"


def _cardinality(join: Join) -> str:
    if join.is_uncounted:
        return UNCOUNTED
    left, right = join.tables
    amount = "any number of rows" if join.multiplies else "at most one row"
    source = "" if join.evidence else ", as the catalog states it"
    # Further rows may refer to the same key.
    is_open = join.known_role is Role.REFERENCE and join.cardinality is Cardinality.ONE_ONE
    so_far = " so far" if is_open else ""
    return (
        f"{join.cardinality.words}{so_far}: each row of {left} matches {amount} of {right}{source}"
    )


def describe_grain(joins: Sequence[Join]) -> str:
    """Name the table whose rows do not repeat in the result of a chain of joins."""
    grain = grain_of(joins)
    if grain is None:
        return "rows of every table may repeat: do not sum over the result"
    exact = grain_of(joins, exact=True) is not None
    few = "" if exact else ", and a few more: a key on the way has duplicates"
    return f"one row for each row of {visible(str(grain))} that matches{few}"


def _rows(join: Join) -> str:
    """Describe how many rows match in each direction."""
    left, right = join.tables
    ends = ((join, left, right), (join.reversed, right, left))
    told = (rows_in_words(seen, f" of {one}", f" of {other}") for seen, one, other in ends)
    return "; ".join(filter(None, told))


def rows_in_words(join: Join, here: str, there: str) -> str:
    """Describe how many rows of the right table match the left one's; empty if unknown."""
    if join.matches is None:
        return ""
    if join.multiplies:
        partners, rows = _mean(join.matches, _Noun(f"row{there}", f"rows{there}"))
        subject = f"each row{here} matches" if rows == 1 else f"{rows:,} rows{here} match"
        return f"{subject} {partners}"
    counts = join.left_counts
    if counts is None or counts.matched_share is None:
        fan_out = join.evidence.left_fan_out if join.evidence else 0.0
        return f"{percent(fan_out)} of the rows{here} with a value match"
    empty = f", {percent(counts.without_value / counts.total)} have no value"
    share = percent(counts.matched_share)
    return f"{share} of the rows{here} match{empty if counts.without_value else ''}"


def _mean(value: float, noun: "_Noun") -> tuple[str, int]:
    """Return a mean in words, and the number of rows that it is of, as in 40 rows of each 100."""
    per = 1
    while 0 < value < 1:
        per, value = (100, value * 100) if per == 1 else (per * 10, value * 10)
    if value == 1:
        return f"one {noun.each}", per
    rounded = float(f"{value:.2g}" if value < _WHOLE else f"{round(value):.3g}")
    number = f"{rounded:,.1f}".removesuffix(".0")
    return f"about {number} {noun.each if number == '1' else noun.many}", per


def fan_out_in_words(join: Join) -> str:
    """Describe in few words how many rows a join makes of the left rows; empty if unknown."""
    if join.matches is None:
        return ""
    if not join.multiplies:
        return f"{percent(join.matches)} of rows"
    told, rows = _mean(join.matches, _Noun("row", "rows"))
    return f"{told} per {'row' if rows == 1 else f'{rows:,} rows'}"


def _values(join: Join) -> str:
    """Describe how many distinct values of each column occur in the other column."""
    if join.evidence is None:
        return ""
    shares = (
        (join.left, join.right, join.evidence.left_containment),
        (join.right, join.left, join.evidence.right_containment),
    )
    return "; ".join(
        f"{percent(share)} of the distinct values of {one} occur in {other.table.name}"
        for one, other, share in shares
    )


def comparison_in_words(join: Join) -> str:
    """Describe how values are compared; empty if they are compared as written."""
    if join.via:
        into, out = join.via
        return visible(f"in two steps: {join.left} = {into}, then {out} = {join.right}")
    as_written = join.measured.rows_as_written if join.compared_as else 0
    of = f"{as_written:,} of {join.measured.rows:,} rows match as written" if as_written else ""
    return "; ".join(filter(None, [_form_in_words(join), of, _placeholders_in_words(join)]))


def note_in_words(join: Join) -> str:
    """Note in few words how values are compared; empty if as they are written, and all of them."""
    return "; ".join(filter(None, [_form_in_words(join), _placeholders_in_words(join)]))


def _form_in_words(join: Join) -> str:
    if not join.compared_as:
        return ""
    if join.compared_as == ValueForm.EXACT:
        return "compared exactly, with upper and lower case apart"
    way = "by" if CellParts.read(join.compared_as) else "as"
    return f"compared {way} {join.compared_as}"


def _placeholders_in_words(join: Join) -> str:
    found = join.evidence.missing if join.evidence else ()
    verb = "counts" if len(found) == 1 else "count"
    return f"{join_with_and([*map(visible, found)])} {verb} as no value" if found else ""


def result_in_words(statement: Statement) -> str:
    """Describe what a statement returned when it was run, and how it compares values."""
    if not statement.sql:
        return statement.reason
    compared = f"compares values as {statement.compared}" if statement.compared else ""
    if not statement.was_run:
        return f"not run{f'; it {compared}' if compared else ''}"
    cut = f"shows {ROW_LIMIT}" if statement.rows > ROW_LIMIT else ""
    does = " and ".join(filter(None, [cut, compared]))
    return f"{number_of(statement.rows, 'row')} when tested{f'; it {does}' if does else ''}"


def join_in_brief(join: Join) -> str:
    """Describe a join in one line: its columns, joinability, role and fan-out."""
    score = "" if join.score is None else f"{join.score:.2f}"
    doubt = "" if join.is_verified else NOT_VERIFIED
    role = join.role.value if join.known_role else ""
    facts = filter(None, [score, doubt, role, fan_out_in_words(join)])
    return f"{join.arrows} ({', '.join(facts)})"


def decision_in_words(join: Join) -> str:
    """Describe people's decision about a join, or else the origin of the join."""
    if join.verdict:
        return f"{join.verdict.value} by people"
    if join.is_written:
        return WRITTEN
    if join.catalog.is_declared:
        return "declared by a foreign key or a person's relationship"
    return f"suggested with joinability {join.joinability:.2f}; nobody decided"


def list_notes(join: Join) -> tuple[str, ...]:
    """List what the page notes beside a join: the catalog's facts and people's words."""
    if join.published is None:
        return join.catalog.descriptions
    notes = {
        WRITTEN: join.is_written and not join.band,
        "declared in the catalog": join.catalog.is_declared,
        NOT_VERIFIED: not join.is_verified,
        join.description: bool(join.description),
    }
    return tuple(note for note, applies in notes.items() if applies)


def shorten(text: str, most: int = _LONGEST_REASON) -> str:
    """Shorten a text, and mark the cut with an ellipsis.

    >>> shorten("the same IATA code", most=9)
    'the same…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


_NOT_PLURAL = re.compile(r"(ss|us|is|news|series|species|status|data)$", re.IGNORECASE)
_PLURAL = re.compile(r"([a-z]+[_-])*[a-z]+s", re.IGNORECASE)
_MANY = 1_000_000
"""Number of rows from which a sentence tells shares. Tables with more rows are profiled by a sample
by default, so that their number of rows is an estimate."""
_EXACT = 1_000
"""Number of joined rows from which a sentence rounds."""
_WHOLE = 10
"""Mean from which decimals are left out."""


@dataclass(frozen=True, slots=True)
class _Noun:
    """What a row of a table is called, such as `order` and `orders`."""

    each: str
    many: str


def describe_rows(join: Join, titles: tuple[str, str]) -> str:
    """Describe in a sentence how many rows of the left table have how many partners."""
    one, other = map(_noun_of, titles)
    if join.left.table == join.right.table:
        other = _Noun("row of the same table", "rows of the same table")
    if join.multiplies and join.reversed.multiplies:
        return f"{_many_to_many(join, one, other)}."
    return f"{(_one_to_many if join.multiplies else _to_one)(join, one, other)}."


def _to_one(join: Join, one: _Noun, other: _Noun) -> str:
    counts = join.left_counts
    if join.evidence is None:
        return f"Each {one.each} matches at most one {other.each}"
    if counts is None or counts.matched is None:
        if (mean := join.evidence.left_fan_out) == 1:
            return f"Each {one.each} with a value matches one {other.each}"
        return f"{percent(mean)} of the {one.many} with a value match one {other.each}"
    if counts.are_all_matched:
        return f"Each {one.each} has one {other.each}"
    if not counts.matched:
        return f"No {one.each} matches a {other.each}"
    verb = "matches" if counts.matched == 1 else "match"
    return f"{_part(counts, one.many)} {verb} one {other.each}; {_dropped(counts)}"


def _one_to_many(join: Join, one: _Noun, other: _Noun) -> str:
    counts, total = join.left_counts, join.matches
    if total is None:
        return f"Each {one.each} matches any number of {other.many}"
    if counts is None or counts.matched is None or counts.are_all_matched:
        partners, rows = _mean(total, other)
        subject = f"Each {one.each} matches" if rows == 1 else f"{rows:,} {one.many} match"
        return f"{subject} {partners}"
    if not counts.matched:
        return f"No {one.each} matches a {other.each}"
    partners, _ = _mean(max(total * counts.total / counts.matched, 1.0), other)
    verb, each = ("matches", "") if counts.matched == 1 else ("match", " each")
    return f"{_part(counts, one.many)} {verb} {partners}{each}; {_dropped(counts)}"


def _many_to_many(join: Join, one: _Noun, other: _Noun) -> str:
    if join.evidence is None:
        return f"Many {one.many} may match many {other.many}"
    repeat = "Values repeat on both sides, so joining repeats rows of both"
    left, right, mean = join.left_counts, join.right_counts, join.matches or 0.0
    if left is None or right is None:
        to_right, per = _mean(mean, other)
        return f"{repeat}: {to_right} per {one.each if per == 1 else f'{per:,} {one.many}'}"
    rows = join.evidence.rows or round(mean * left.total)
    # Three digits say enough of a number that may be greater than that of either table.
    result = f"{rows:,} rows" if rows < _EXACT else f"{about(rows)} rows"
    return f"{repeat}: {left.total:,} {one.many} and {right.total:,} {other.many} give {result}"


def _part(counts: RowCounts, noun: str) -> str:
    """Return the part of a table's rows with a partner, as in `200 of 1,200 deals (17%)`."""
    share = percent(counts.matched_share or 0.0)
    if counts.total >= _MANY:
        return f"{share} of the {noun}"
    return f"{counts.matched:,} of {counts.total:,} {noun} ({share})"


def _dropped(counts: RowCounts) -> str:
    """Say why an inner join drops rows, with the number of rows."""
    reasons = {
        "without a value": counts.without_value,
        "whose value has no match": counts.unmatched or 0,
    }
    many = counts.total >= _MANY
    told = (
        f"{percent(count / counts.total) if many else f'{count:,}'} {why}"
        for why, count in reasons.items()
        if count
    )
    return f"an inner join drops {join_with_and([*told])}"


def _noun_of(title: str) -> _Noun:
    """Derive what a row is called from the table's name, if that is a plain plural."""
    name = without_extension(title)
    if not _PLURAL.fullmatch(name) or _NOT_PLURAL.search(name):
        return _Noun(f"row of {name}", f"rows of {name}")
    spaced = re.sub("([a-z])([A-Z])", r"\1 \2", name)
    plural = re.sub("[_-]+", " ", spaced).lower()
    return _Noun(_singular(plural), plural)


def _singular(plural: str) -> str:
    if plural.endswith("ies") and len(plural) > len("ties"):
        return f"{plural[:-3]}y"
    return plural[:-2] if re.search("(sses|shes|ches|xes)$", plural) else plural[:-1]


def more_tables(reasons: Iterable[Derivation]) -> str:
    """Count the tables whose joins a list leaves out, for reasons; empty if there are none.

    >>> more_tables([Derivation.SAME_KEY] * 11)
    'and 11 more tables by the same key'
    """
    counts = Counter(reasons)
    told = [
        f"{number_of(counts[why], 'more table')} {MORE_TABLES[why]}"
        for why in MORE_TABLES
        if counts[why]
    ]
    return f"and {join_with_and(told)}" if told else ""
