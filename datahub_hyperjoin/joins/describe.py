"""What people and AI agents read about a join: words, sentences, shares, lines and lists.

The page, the terminal, the catalog, agents and notebooks tell the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from datahub_hyperjoin.cell_parts import CellParts
from datahub_hyperjoin.joins.compound import CrosswalkJoin, lone_joins
from datahub_hyperjoin.joins.evidence import Cardinality, Evidence, RowCounts
from datahub_hyperjoin.joins.join import Join, JoinedColumns, Role
from datahub_hyperjoin.joins.safety import NOT_VERIFIED, grain_of
from datahub_hyperjoin.value_forms import ValueForm
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import join_with_and, number_of, percent

WRITTEN = "created by a person"
"""Words that mark a join without a score."""

_LONGEST_REASON = 200
"""Maximum number of characters shown of a person's description, which may be a page long."""

_NEARLY_ALL = 0.999
"""Greatest share that is not told as everything."""

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
    return {"join": join.arrows, "means": f"{join.cardinality.words}; {decision_in_words(join)}"}


def _role(join: Join) -> str:
    """Describe the role of a join, and name the key."""
    if join.known_role is None or join.referenced is None:
        return join.role.value if join.known_role else ""
    at = [right if join.referenced == join.right else left for left, right in join.pairs]
    paths = ", ".join(column.path for column in at)
    key = f"{at[0].table.name} ({paths})" if len(at) > 1 else at[0]
    return f"{join.role.value}; the key is {key}"


def _cardinality(join: Join) -> str:
    left, right = join.tables
    amount = "any number of rows" if join.multiplies else "at most one row"
    source = "" if join.evidence else ", as stated; nobody measured it"
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
    ends = ((left, right, join), (right, left, join.reversed))
    return "; ".join(
        f"on average, {seen.matches:.3g} rows of {other} match a row of {one}"
        if seen.multiplies
        else share_in_words(seen, f"of {one}")
        for one, other, seen in ends
        if seen.matches is not None
    )


def share_in_words(join: Join, where: str) -> str:
    """Describe the share of the left rows that match, where each matches one right row at most."""
    counts = join.left_counts
    if counts is None or counts.matched_share is None:
        fan_out = join.evidence.left_fan_out if join.evidence else 0.0
        return f"{_tenths(fan_out)} of the rows {where} with a value match"
    empty = f", {_tenths(counts.without_value / counts.total)} have no value"
    share = _tenths(counts.matched_share)
    return f"{share} of the rows {where} match{empty if counts.without_value else ''}"


def _tenths(share: float) -> str:
    """Return a share in percent, which is 100.0% only if it is everything."""
    return f"{share if share == 1 else min(share, _NEARLY_ALL):.1%}"


def _values(join: Join) -> str:
    """Describe how many distinct values of each column occur in the other column."""
    if join.evidence is None:
        return ""
    shares = (
        (join.left, join.right, join.evidence.left_containment),
        (join.right, join.left, join.evidence.right_containment),
    )
    return "; ".join(
        f"{share:.1%} of the distinct values of {one} occur in {other.table.name}"
        for one, other, share in shares
    )


def comparison_in_words(join: Join) -> str:
    """Describe how values are compared; empty if they are compared as written."""
    if join.via:
        into, out = join.via
        return visible(f"in two steps: {join.left} = {into}, then {out} = {join.right}")
    return "; ".join(filter(None, (_form_in_words(join), _placeholders_in_words(join))))


def _form_in_words(join: Join) -> str:
    if not join.compared_as:
        return ""
    if join.compared_as == ValueForm.EXACT:
        return "values are compared exactly, since some keys differ in case or spelling alone"
    if CellParts.read(join.compared_as):
        return f"not whole values are compared, but {join.compared_as}"
    if as_written := join.measured.rows_as_written:
        return (
            f"values are compared as {join.compared_as}; "
            f"{as_written:,} of the {join.measured.rows:,} rows match as written, too"
        )
    return f"values are equal only as {join.compared_as}"


def _placeholders_in_words(join: Join) -> str:
    found = join.evidence.placeholders if join.evidence else ""
    return f"rows with {visible(found)} count as rows without a value" if found else ""


def join_in_brief(join: Join) -> str:
    """Describe a join in one line: its columns, joinability, role and fan-out."""
    score = "" if join.score is None else f"{join.score:.2f}"
    doubt = "" if join.is_verified else NOT_VERIFIED
    fan_out = "" if join.matches is None else f"{join.matches:.3g} rows per row"
    facts = filter(None, [score, doubt, join.role.value if join.known_role else "", fan_out])
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


_EXTENSION = re.compile(
    r"\.(csv|tsv|jsonl?|ndjson|parquet|orc|avro)(\.(gz|bz2|xz|zst|lz4|br))?$", re.IGNORECASE
)
_NOT_PLURAL = re.compile(r"(ss|us|is|news|series|species|status|data)$", re.IGNORECASE)
_PLURAL = re.compile(r"[a-z]+([_-]?[a-z]+)*s", re.IGNORECASE)
_MANY = 1_000_000
"""Number of rows from which a sentence tells shares. Tables with more rows are profiled by a sample
by default, so that their number of rows is an estimate."""
_MOST_SHOWN = 100
"""Mean from which decimals are left out."""


@dataclass(frozen=True, slots=True)
class _Noun:
    """What a row of a table is called, such as `order` and `orders`."""

    each: str
    many: str


def describe_rows(join: Join, titles: tuple[str, str], *, columns: bool = True) -> str:
    """Describe in a sentence how many rows of the left table have how many partners."""
    one, other = map(_noun_of, titles)
    sentence = _Sentence(join, one, other, columns)
    if join.multiplies and join.reversed.multiplies:
        return f"{sentence.many_to_many()}, so joining them multiplies rows."
    if join.multiplies:
        return f"{'; '.join(sentence.one_to_many())}."
    return f"{sentence.to_one()}."


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The parts of a sentence about the rows of a join's left table."""

    join: Join
    one: _Noun
    """What a row of the left table is called."""
    other: _Noun
    """What a row of the right table is called."""
    columns: bool

    def to_one(self) -> str:
        counts, one = self.join.left_counts, self.one
        partner = f"one {self.other.each}{self._by(self.join.left.path, self.other)}"
        if counts is None or counts.matched is None:
            return self._to_one_without_counts(partner)
        if counts.are_all_matched:
            return f"Each {one.each} has {partner}"
        if not counts.matched:
            return f"No {one.each} has {partner}"
        rest = join_with_and([*self._missing(counts)])
        return f"{_part(counts.matched, counts, one.many)} {partner}; {rest}"

    def _to_one_without_counts(self, partner: str) -> str:
        """Describe a join of which only the share of rows with a value may be known."""
        one = self.one
        if self.join.evidence is None:
            return f"Each {one.each} has at most {partner}"
        value, mean = self._value(self.join.left.path), self.join.evidence.left_fan_out
        if mean == 1:
            return f"Each {one.each} with {value} has {partner}"
        return f"{percent(mean)} of the {one.many} with {value} have {partner}"

    def _missing(self, counts: RowCounts) -> Iterator[str]:
        """Yield why rows have no partner, with the number of rows."""
        paths = [own.path for own, _ in self.join.pairs]
        where = f" in {', '.join(paths[:-1])} or {paths[-1]}" if paths[1:] and self.columns else ""
        if counts.without_value:
            yield f"{_some(counts.without_value, counts)} no value{where}"
        if counts.unmatched:
            yield f"{_some(counts.unmatched, counts)} a value that no {self.other.each} has"

    def one_to_many(self) -> Iterator[str]:
        join, one, other = self.join, self.one, self.other
        many = f"any number of {other.many}" if join.matches is None else _mean(join.matches, other)
        yield f"Each {one.each} has {many}{self._by(join.right.path, one)}"
        own, theirs = join.left_counts, join.right_counts
        if own and own.matched is not None and not own.are_all_matched:
            yield f"{_part(own.total - own.matched, own, one.many)} none"
        if theirs and theirs.matched is not None:
            if not theirs.are_all_matched:
                yield f"{_part(theirs.total - theirs.matched, theirs, other.many)} no {one.each}"
        elif join.evidence and join.evidence.right_fan_out < 1:
            lonely, value = percent(1 - join.evidence.right_fan_out), self._value(join.right.path)
            yield f"{lonely} of the {other.many} with {value} have no {one.each}"

    def many_to_many(self) -> str:
        one, other = self.one, self.other
        to_right, to_left = self.join.matches, self.join.reversed.matches
        if to_right is None or to_left is None:
            return f"Many {one.many} match many {other.many}"
        back = f"each {other.each} {_short(to_left)} {one.many}"
        return f"Each {one.each} matches {_mean(to_right, other)}, and {back}"

    def _by(self, path: str, noun: _Noun) -> str:
        """Name the referring column if the noun of the other table does not."""
        # It tells two references to one table apart, such as origin and destination.
        if self.join.pairs[1:] or not self.columns:
            return ""
        name, start = (re.sub("[^a-z]", "", text.lower()) for text in (path, noun.each))
        return "" if start[:5] in name else f" (by {path})"

    def _value(self, path: str) -> str:
        if not self.columns:
            return "a value"
        # Before a u, as in user_id and unit, names mostly take "a".
        return f"{'an' if re.match('[aeio]', path, re.IGNORECASE) else 'a'} {path}"


def _part(count: int, counts: RowCounts, noun: str) -> str:
    """Return a part of a table's rows, as in `200 of 1,200 deals have`."""
    if counts.total >= _MANY:
        return f"{percent(count / counts.total)} of the {noun} have"
    return f"{count:,} of {counts.total:,} {noun} {'has' if count == 1 else 'have'}"


def _some(count: int, counts: RowCounts) -> str:
    if counts.total >= _MANY:
        return f"{percent(count / counts.total)} have"
    return f"{count:,} {'has' if count == 1 else 'have'}"


def _mean(value: float, noun: _Noun) -> str:
    return f"{_short(value)} {noun.many} on average"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= _MOST_SHOWN else f"{value:.3g}"


def _noun_of(title: str) -> _Noun:
    """Derive what a row is called from the table's name, if that is a plain plural."""
    name = _EXTENSION.sub("", title)
    if not _PLURAL.fullmatch(name) or _NOT_PLURAL.search(name):
        return _Noun(f"row of {name}", f"rows of {name}")
    spaced = re.sub("([a-z])([A-Z])", r"\1 \2", name)
    plural = re.sub("[_-]+", " ", spaced).lower()
    return _Noun(_singular(plural), plural)


def _singular(plural: str) -> str:
    if plural.endswith("ies") and len(plural) > len("ties"):
        return f"{plural[:-3]}y"
    return plural[:-2] if re.search("(sses|shes|ches|xes)$", plural) else plural[:-1]


_MAX_JOINS = 25
DECLARED = "declared, not verified"
"""Words that mark a join of a foreign key that no values confirm."""
_HEADERS = (
    "column",
    "joins with",
    "role",
    "joinability",
    "shared values",
    "containment",
    "rows with partner",
    "cardinality",
)


def list_best_joins(
    joins: Sequence[Join],
    crosswalks: Sequence[CrosswalkJoin] = (),
    named: Sequence[Join] = (),
    derived: Mapping[str, int] | None = None,
) -> str:
    """List the best joins as a text table.

    `derived` counts the joins that are not listed, by the reason.
    """
    rows = [*map(_row, joins[:_MAX_JOINS])]
    none = "No join was verified on data." if named else "No joins found."
    lines = [
        f"{number_of(len(joins), 'join')} found, best first:" if joins else none,
        tabulate(rows, headers=_HEADERS, disable_numparse=True) if rows else "",
        *_count_more(joins),
        *_count_derived(derived or {}),
        *_list_crosswalks(crosswalks, joins),
        *_list_named(named),
    ]
    return "\n".join(line for line in lines if line)


def shown_first(
    joins: Sequence[Join], crosswalks: Sequence[CrosswalkJoin] = ()
) -> frozenset[JoinedColumns]:
    """Return the columns of the joins that `list_best_joins` lists."""
    direct = (join.pairs for join in joins[:_MAX_JOINS])
    return frozenset([*direct, *(crosswalk.pairs for crosswalk in crosswalks[:_MAX_JOINS])])


def _row(join: Join) -> tuple[str, ...]:
    """Format a join as a row of the report's table, with the referring column first."""
    evidence = join.directed.measured
    return (
        *_sides(join.directed_pairs),
        join.role.value,
        f"{join.joinability:.2f}",
        _shared(evidence),
        f"{evidence.left_containment:.0%} / {evidence.right_containment:.0%}",
        _matched(evidence),
        evidence.cardinality.words,
    )


def _shared(evidence: Evidence) -> str:
    words = f"{evidence.shared} {evidence.compared_as}".rstrip()
    return f"{words} without {evidence.placeholders}" if evidence.placeholders else words


def _matched(evidence: Evidence) -> str:
    """Return the share of each table's rows that have a partner; empty if unknown."""
    shares = [
        percent(counts.matched_share)
        for counts in (evidence.left_counts, evidence.right_counts)
        if counts and counts.matched_share is not None
    ]
    return " / ".join(shares)


def _sides(pairs: JoinedColumns) -> Iterator[str]:
    """For each side of a join, yield its table and columns as text."""
    # A composite key names its table once, as in `teams.year + team`.
    for columns in zip(*pairs, strict=True):
        yield visible(" + ".join([str(columns[0]), *(column.path for column in columns[1:])]))


def _count_derived(derived: Mapping[str, int]) -> Iterator[str]:
    if not derived:
        return
    yield "\nNot listed, as they follow from other joins or join no things:"
    yield from (f"{count:,} {reason}" for reason, count in derived.items())
    yield "`--all`, or in a recipe `model.ranking.list_all: true`, lists them, too."


def _list_crosswalks(crosswalks: Sequence[CrosswalkJoin], joins: Sequence[Join]) -> Iterator[str]:
    if not crosswalks:
        return
    noun = "pair of columns joins" if len(crosswalks) == 1 else "pairs of columns join"
    # The page lists these among the joins, so the reader has to know how many they add.
    further = sum(1 for _ in lone_joins(crosswalks, joins))
    yield (
        f"\n{len(crosswalks)} {noun} in two steps, through a table with codes and names "
        f"({further} besides the joins above):"
    )
    for crosswalk in crosswalks[:_MAX_JOINS]:
        steps = " and ".join(f"{left} = {right}" for left, right in crosswalk.pairs)
        yield visible(f"{steps} ({crosswalk.joinability:.2f})")
    yield from _count_more(crosswalks)


def _list_named(joins: Sequence[Join]) -> Iterator[str]:
    declared = [join for join in joins if join.catalog.declared]
    others = [join for join in joins if not join.catalog.declared]
    noun = "foreign key has" if len(declared) == 1 else "foreign keys have"
    yield from _list_unverified(declared, f"{noun} no values to compare yet", DECLARED)
    noun = "join is" if len(others) == 1 else "joins are"
    yield from _list_unverified(others, f"{noun} suggested by names, and not verified on data", "")


def _list_unverified(joins: Sequence[Join], what: str, mark: str) -> Iterator[str]:
    if not joins:
        return
    yield f"\n{len(joins)} {what}:"
    for join in joins[:_MAX_JOINS]:
        arrow = "→" if join.referenced else "="
        pairs = " and ".join(f"{left} {arrow} {right}" for left, right in join.directed_pairs)
        yield visible(f"{pairs} ({mark or f'{join.joinability:.2f}'})")
    yield from _count_more(joins)


def _count_more(joins: Sequence[object]) -> list[str]:
    more = len(joins) - _MAX_JOINS
    return [f"... and {more} more."] if more > 0 else []
