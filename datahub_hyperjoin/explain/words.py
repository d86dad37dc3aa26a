"""Write explanations as text for people, or as records for programs."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from tabulate import tabulate

from datahub_hyperjoin.explain.pairs import ColumnExplanation, PairExplanation, RankExplanation
from datahub_hyperjoin.joins import Evidence, Join, Role
from datahub_hyperjoin.joins.describe import FOLLOWING
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import about, percent


def describe_pair(pair: PairExplanation) -> str:
    """Explain why a pair is suggested or not, as text that starts with the answer."""
    left, right = pair.columns
    blocks = [
        _lines([f"{left.column} = {right.column}", *_answer(pair)]),
        _lines(map(_column_line, pair.columns)),
        _lines(_facts(pair)),
        _signals(pair),
        _lines(line for rank in pair.ranks for line in _rank_lines(rank)),
    ]
    return "\n\n".join(block for block in blocks if block)


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(map(visible, lines))


def describe_column(column: ColumnExplanation) -> str:
    """Describe a column and its suggestions in text."""
    if not column.suggestions:
        none = "No suggestions." if column.is_key else "No suggestions, since it is no key column."
        return _lines([_column_line(column), none])
    rows = [
        (each.rank, visible(str(each.candidate)), f"{each.joinability:.2f}")
        for each in column.suggestions
    ]
    table = tabulate(rows, headers=("rank", "joins with", "joinability"), disable_numparse=True)
    return "\n".join([_lines([_column_line(column)]), "", table])


def _answer(pair: PairExplanation) -> Iterator[str]:
    if pair.join is None:
        yield f"Not suggested: {pair.objection}"
        return
    yield f"Suggested as {_role(pair.join)} with a joinability of {pair.join.joinability:.2f}"
    if pair.aside:
        yield f"It is listed with `--all` only, as one of the joins {FOLLOWING[pair.aside]}"
    yield f"The joinability is {_decisive(pair)}"
    left, right = pair.columns
    for column, other in ((left, right), (right, left)):
        ranks = [each.rank for each in column.suggestions if each.candidate == other.column]
        rank = f"number {ranks[0]}" if ranks else "not among the suggestions"
        yield f"For {column.column}, it is {rank} of {len(column.suggestions)}"


def _decisive(pair: PairExplanation) -> str:
    """Name the fact that determined a join's joinability."""
    join, probabilities = pair.join, [each.probability for each in pair.references]
    if join and join.further:
        return "that of the whole key of several columns"
    if join and join.role.is_directed and join.joinability in probabilities:
        return "the probability of the reference"
    if join and join.role is Role.SIBLING:
        return "the probability that both columns refer to the same key"
    return (
        "the better of the ranking's two scores, and less where few values are equal among tables "
        "that refer to others"
    )


def _role(join: Join) -> str:
    referred = f" to {join.referenced}" if join.referenced else ""
    further = f", with all of its {len(join.pairs)} columns," if join.further else ""
    return f"{join.role.value}{referred}{further}"


def _column_line(column: ColumnExplanation) -> str:
    kind = "a key column" if column.is_key else f"no key column: {column.obstacle}"
    distinct = about(column.distinct) if column.distinct_is_estimated else f"{column.distinct:,}"
    return (
        f"{column.column} is {kind} ({column.type}, {distinct} distinct values in "
        f"{column.rows:,} rows, filled in {percent(column.completeness)}, uniqueness "
        f"{column.uniqueness:.2f})"
    )


def _facts(pair: PairExplanation) -> Iterator[str]:
    if said := pair.catalog.descriptions:
        yield f"Catalog and people: {', '.join(said)}"
    for reference in pair.references:
        yield (
            f"Reference: {reference.column} → {reference.key} with a probability of "
            f"{reference.probability:.2f}"
        )
        if reference.clues:
            decided = (f"{clue.name} {clue.log_odds:+.1f}" for clue in reference.clues)
            yield f"  Clues that weigh most, in log-odds: {'; '.join(decided)}"
        if reference.answer:
            yield f"  A language model chose: {reference.answer}"
        if reference.rivals:
            others = (f"{rival.key} {rival.probability:.2f}" for rival in reference.rivals)
            yield f"  Other keys: {', '.join(others)}"
        if reference.namesakes:
            known = reference.namesakes.describe(reference.column, reference.key)
            yield f"Columns of the same name: {known}"
    yield from _repetitions(pair)
    yield _verification(pair.evidence)


def _repetitions(pair: PairExplanation) -> Iterator[str]:
    """Explain each reference that was dropped because its key has repeated values."""
    if pair.evidence is None:
        return
    for reference in pair.repeated:
        is_left = reference.column == pair.columns[0].column
        evidence = pair.evidence if is_left else pair.evidence.reversed
        yield (
            f"No reference: {reference.key}, the likely key of {reference.column} (probability "
            f"{reference.probability:.2f}), repeats values: 100 rows of {reference.column.table} "
            f"match about {100 * evidence.left_fan_out:,.0f} rows of {reference.key.table}"
        )


def _verification(evidence: Evidence | None) -> str:
    if evidence is None:
        return "Verification: none, since neither the ranking nor a reference proposed the pair"
    compared = f" compared as {evidence.compared_as}" if evidence.compared_as else ""
    return (
        f"Verification: {evidence.shared:,} shared values{compared}, "
        f"{percent(evidence.left_containment)} and {percent(evidence.right_containment)} of each "
        f"side, {evidence.cardinality.words}"
    )


def _signals(pair: PairExplanation) -> str:
    headers = ("signal", "measured", "probability alone", "from")
    rows = [
        (each.name, f"{each.measured:.2f}", f"{each.alone:.2f}", visible(each.source))
        for each in pair.signals
    ]
    return tabulate(rows, headers=headers, disable_numparse=True) if rows else ""


def _rank_lines(each: RankExplanation) -> Iterator[str]:
    by = f"found by {', '.join(each.found_by)}" if each.found_by else "not found"
    # Of what was found, only rejected pairs are removed.
    none = "removed from the candidates as rejected" if each.found_by else "no candidate"
    place = f"place {each.place} of {each.candidates} candidates" if each.place else none
    rank = f"rank {each.rank}" if each.rank else "not selected"
    yield f"{each.candidate} for {each.query}: {by}; {place}; {rank}"
    yield (
        f"  score by signals {each.by_signals:.3f}, corrected {each.corrected:.3f}, with "
        f"decisions {each.by_decisions:.3f}; joinability {each.joinability:.3f}"
    )


def as_record(account: PairExplanation | ColumnExplanation) -> dict[str, Any]:
    """Convert an explanation to a dictionary that can be written as JSON.

    Columns are represented by their names.

    The keys never change, because programs rely on them.
    """
    return {field.name: _plain(getattr(account, field.name)) for field in fields(account)}


def _plain(value: object) -> object:
    match value:
        case ColumnId():
            return {"dataset": dataset_urn(value.table), "column": value.path}
        case Join():
            pairs = [[_plain(column) for column in pair] for pair in value.pairs]
            role = {"role": value.role.value, "joinability": round(value.joinability, 4)}
            return {"columns": pairs, "referenced": _plain(value.referenced), **role}
        case float():
            return round(value, 4)
        case tuple():
            return [_plain(each) for each in value]
        case _ if is_dataclass(value):
            return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            return value.value if isinstance(value, Enum) else value
