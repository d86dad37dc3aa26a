"""Read and change the file of decisions, and merge people's decisions about the same join."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import MappingProxyType

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.decision_file import (
    FiledDecision,
    WrittenDecision,
    editing_decision_file,
    read_decision_file,
    time_of_decision,
)
from datahub_hyperjoin.joins import JoinedColumns, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn, table_id
from datahub_hyperjoin.names import find_spelling
from datahub_hyperjoin.progress import Warn, warn_nobody
from datahub_hyperjoin.tables import ColumnId, TableId, TableProfile, in_order
from datahub_hyperjoin.wording import day_of


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a join."""

    verdict: Verdict
    by: str = ""
    """URN or name of the person; empty if nobody recorded it."""

    when: int = 0
    """When the decision was made, in milliseconds since 1970; 0 if nobody recorded it."""

    why: str = ""
    """Reason for the decision; empty if nobody gave one."""

    place: str = field(default="", compare=False)
    """Where the decision stands, in words, such as `line 3 of decisions.csv`."""

    def __str__(self) -> str:
        day = day_of(self.when)
        known = (("by", self.by), ("on", day), ("in", self.place))
        return " ".join([self.verdict.value, *(f"{word} {it}" for word, it in known if it)])


JoinDecision = tuple[JoinedColumns, Decision]
"""The columns of a join and one decision about it; decisions may contradict each other."""


def merge_decisions(
    decisions: Iterable[JoinDecision],
    warn: Warn,
    settled: Mapping[JoinedColumns, Verdict] = MappingProxyType({}),
) -> dict[JoinedColumns, Decision]:
    """Merge the decisions about each join into the one that holds.

    `settled` has what earlier runs found to hold, and warned of.
    """
    by_join: defaultdict[JoinedColumns, list[Decision]] = defaultdict(list)
    for columns, decision in decisions:
        by_join[columns].append(decision)
    merged = {}
    for columns, made in by_join.items():
        is_dated = all(each.when for each in made)
        last = merged[columns] = max(made, key=partial(_standing, is_dated=is_dated))
        others = [each for each in made if each.verdict is not last.verdict]
        if others and settled.get(columns) is not last.verdict:
            rule = "The later decision holds" if is_dated else "The rejection takes precedence"
            warn(
                "Join accepted and rejected",
                f"{rule}. Remove the tag, the property value or the line of `decisions` that is "
                "wrong",
                f"{' and '.join(f'{left} = {right}' for left, right in columns)}: "
                f"{'; '.join(map(str, sorted({last, *others}, key=str)))}",
            )
    return merged


def _standing(decision: Decision, *, is_dated: bool) -> tuple[object, ...]:
    """Return a sort key of the decisions about one join, of which the greatest holds."""
    # If the time of one of them is unknown, it may be the last, so that a rejection overrides
    # acceptances. The result does not depend on the order of the decisions.
    rejects = decision.verdict is Verdict.REJECTED
    when = decision.when if is_dated else 0
    return when, rejects, bool(decision.by), decision.when, decision.by, decision.why


def read_written_decisions(path: Path | None, warn: Warn) -> tuple[WrittenDecision, ...]:
    """Read the file of decisions that a recipe names."""
    if path is None:
        return ()
    if not path.exists():
        warn(
            "No decisions yet",
            "The file of `decisions` does not exist. Download it from the page and save it "
            "there, or correct the path",
            str(path),
        )
    return read_decision_file(path, warn)


def find_decided_columns(
    written: Sequence[WrittenDecision], tables: Mapping[TableId, TableId], warn: Warn
) -> tuple[FiledDecision, ...]:
    """Find the columns that each decision in the file refers to."""
    named = defaultdict(set)
    for known, table in tables.items():
        named[known.name].add(table)
        named[dataset_urn(known)].add(table)
    for shorten in (_longer_names(written, named), _shorter_names(tables.values())):
        for name, known_by in shorten.items():
            named.setdefault(name, known_by)
    return tuple(
        FiledDecision(
            written=each,
            left=_find_table(each.left_table, each, named, warn),
            right=_find_table(each.right_table, each, named, warn),
        )
        for each in written
    )


def _shorter_names(tables: Iterable[TableId]) -> dict[str, set[TableId]]:
    # `hyperjoin find` on one database names no database, unlike a recipe.
    by_platform = defaultdict(set)
    for table in tables:
        by_platform[table.platform].add(table)
    shorter = defaultdict(set)
    for members in by_platform.values():
        any_name = next(iter(members)).name
        for mark in re.finditer(r"[./]", any_name):
            begin = any_name[: mark.end()]
            if all(table.name.startswith(begin) for table in members):
                for table in members:
                    shorter[table.name.removeprefix(begin)].add(table)
    return shorter


def _longer_names(
    written: Iterable[WrittenDecision], named: Mapping[str, set[TableId]]
) -> dict[str, set[TableId]]:
    """Find tables by the names in the file, without the prefixes that all these names share."""
    # A recipe adds the name of a database, unlike `hyperjoin find`.
    names = {name for each in written for name in (each.left_table, each.right_table)}
    longer: dict[str, set[TableId]] = {}
    for mark in re.finditer(r"[./]", min(names, default="")):
        begin = min(names)[: mark.end()]
        if all(name.startswith(begin) for name in names):
            rests = {name: name.removeprefix(begin) for name in names}
            longer |= {name: named[rest] for name, rest in rests.items() if rest in named}
    return longer


def _find_table(
    name: str, decision: WrittenDecision, named: Mapping[str, set[TableId]], warn: Warn
) -> TableId | None:
    tables = named.get(name, set())
    if len(tables) == 1:
        return next(iter(tables))
    if tables:
        urns = " or ".join(sorted(map(dataset_urn, tables)))
        warn(
            "Decision about an ambiguous table",
            "It has no effect, since several tables have the name. Write the URN of one of them "
            "into the file of `decisions`",
            f"{decision.place}: {name} is {urns}",
        )
        return None
    warn(
        "Decision about an unknown table",
        "It has no effect, and stays in the file of `decisions`. Correct the name there, or remove "
        "the line if the table is gone for good",
        f"{decision.place}: {name}.{_hint(name, named)}",
    )
    try:
        return table_id(name)  # DataHub may know the new name of a renamed table.
    except InvalidUrnError:
        return None


def _hint(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, [*known], n=1)
    return f" Did you mean {near[0]}?" if near else ""


_Known = Mapping[TableId, Collection[str]]
"""The paths of the columns of tables."""
_UNKNOWN: _Known = MappingProxyType({})


def joins_decided(filed: Iterable[FiledDecision], known: _Known = _UNKNOWN) -> list[JoinDecision]:
    """Convert decisions from the file of decisions to `JoinDecision` tuples."""

    def spelled(column: ColumnId) -> ColumnId:
        return replace(column, path=find_spelling(column.path, known.get(column.table, ())))

    return [
        (
            in_order((spelled(left), spelled(right)) for left, right in each.columns),
            Decision(
                each.written.verdict,
                each.written.by,
                each.written.milliseconds,
                each.written.reason,
                f"the file of `decisions`, {each.written.place}",
            ),
        )
        for each in filed
        if each.columns
    ]


def warn_of_unknown_columns(
    filed: Iterable[FiledDecision], profiles: Iterable[TableProfile], warn: Warn
) -> None:
    """Warn about decisions in the file that name an unknown column."""
    paths = {
        profile.table.id: {column.id.path.casefold() for column in profile.columns}
        for profile in profiles
        if not profile.fault
    }
    for decision in filed:
        for column in (column for pair in decision.columns for column in pair):
            known = paths.get(column.table)
            if known is None or column.path.casefold() in known:
                continue
            fault = f"{column.table} has no column {column.path}.{_hint(column.path, known)}"
            warn(
                "Decision about an unknown column",
                "It has no effect. Correct the name in the file of `decisions`, or remove the line",
                f"{decision.written.place}: {fault}",
            )


def write_decision(
    columns: JoinedColumns,
    tables: Sequence[TableId],
    verdict: Verdict,
    *,
    by: str = "",
    reason: str = "",
) -> WrittenDecision:
    """Build a decision that is made now about a join, as the file of decisions stores it."""
    counts = Counter(table.name for table in tables)
    left, right = (
        dataset_urn(column.table) if counts[column.table.name] > 1 else column.table.name
        for column in columns[0]
    )
    return WrittenDecision(
        left_table=left,
        left_columns=tuple(own.path for own, _ in columns),
        right_table=right,
        right_columns=tuple(other.path for _, other in columns),
        verdict=verdict,
        by=by,
        reason=reason,
        when=time_of_decision(),
    )


def find_decided_tables(
    written: Sequence[WrittenDecision], tables: Iterable[TableId]
) -> tuple[FiledDecision, ...]:
    """Find the tables that each decision names; one outside the run becomes None."""
    # Runs warn of unknown tables.
    return find_decided_columns(written, {table: table for table in tables}, warn_nobody)


_Filed = Sequence[FiledDecision]


def change_decisions(
    file: Path,
    find_tables: Callable[[Sequence[WrittenDecision]], _Filed],
    change: Callable[[_Filed], _Filed],
) -> tuple[_Filed, _Filed]:
    """Change the decisions of a file, and return them as they were before and are now."""
    with editing_decision_file(file) as decisions:
        before = find_tables(decisions)
        after = change(before)
        decisions[:] = [each.written for each in after]
    return before, after


def with_decision(filed: _Filed, new: FiledDecision, known: _Known = _UNKNOWN) -> _Filed:
    """Put a decision in the place of the first one about the same join, and drop the others."""
    earlier = [number for number, each in enumerate(filed) if _is_same_join(each, new, known)]
    start = earlier[0] if earlier else len(filed)
    return (*filed[:start], new, *without_decision(filed[start:], new, known))


def without_decision(filed: _Filed, undone: FiledDecision, known: _Known = _UNKNOWN) -> _Filed:
    """Remove all decisions about one join, with the `known` columns of tables in any case."""
    return tuple(each for each in filed if not _is_same_join(each, undone, known))


def _is_same_join(one: FiledDecision, other: FiledDecision, known: _Known) -> bool:
    if one.columns or other.columns:
        own, others = ([at for at, _ in joins_decided([each], known)] for each in (one, other))
        return own == others
    # Of tables that the run does not know, only the names can be compared.
    return str(one.written) == str(other.written)
