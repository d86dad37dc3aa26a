"""Describe in a sentence how many rows of one table of a join have a partner in the other.

The sentence agrees with what an inner join and a left join return: rows without a value have no
partner either. The page, agents and the texts in the catalog tell the same sentence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import RowCounts
from datahub_hyperjoin.wording import join_with_and, percent

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


def describe_rows(join: CatalogJoin, titles: tuple[str, str], *, columns: bool = True) -> str:
    """Describe in a sentence how many rows of the left table have how many partners.

    Args:
        titles: Short names of the left and the right table, as in `orders.csv`.

    Returns:
        For example `1,000 of 1,200 deals have one firm; 200 have no value.`
    """
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

    join: CatalogJoin
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
        mean, one = self.join.left_fan_out, self.one
        if mean is None:
            return f"Each {one.each} has at most {partner}"
        value = self._value(self.join.left.path)
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
        elif join.right_fan_out is not None and join.right_fan_out < 1:
            lonely, value = percent(1 - join.right_fan_out), self._value(join.right.path)
            yield f"{lonely} of the {other.many} with {value} have no {one.each}"

    def many_to_many(self) -> str:
        one, other = self.one, self.other
        to_right, to_left = self.join.matches, self.join.reversed.matches
        if to_right is None or to_left is None:
            return f"Many {one.many} match many {other.many}"
        back = f"each {other.each} {_short(to_left)} {one.many}"
        return f"Each {one.each} matches {_mean(to_right, other)}, and {back}"

    def _by(self, path: str, noun: _Noun) -> str:
        """Name the referring column if the noun of the other table does not.

        It tells two references to one table apart, such as origin and destination.
        """
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
