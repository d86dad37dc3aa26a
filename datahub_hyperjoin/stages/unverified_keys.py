"""Keep the joins of declared foreign keys that no value can confirm or refute yet.

A table may have no rows, a column no values, and a table may not be readable at all. Their foreign
keys are declared nevertheless, and unverified is not refuted.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from datahub_hyperjoin.catalog_facts import CatalogFacts, ForeignKey
from datahub_hyperjoin.joins import Join, Role, Verdict
from datahub_hyperjoin.metadata.relationship_aspect import catalog_evidence
from datahub_hyperjoin.tables import ColumnId, Pair, TableProfile, pair_of


def find_unverified_keys(
    profiles: Sequence[TableProfile], facts: CatalogFacts, joins: Collection[Join]
) -> tuple[Join, ...]:
    """Return the joins of foreign keys between tables of a run that have no values to compare.

    Args:
        profiles: All tables of the run, with those that could not be read.
        joins: The joins that the run found otherwise, which stay as they are.
    """
    with_values = {
        column.id: column.distinct > 0
        for profile in profiles
        if not profile.fault
        for column in profile.columns
    }
    faulty = {profile.table.id for profile in profiles if profile.fault}
    taken = {pair_of(join.left, join.right) for join in joins}
    found: list[Join] = []
    for key in sorted(facts.foreign_keys, key=lambda each: (each.is_composite, each.pairs)):
        ends = [column for pair in key.pairs for column in pair]
        is_known = all(column.table in faulty or column in with_values for column in ends)
        if is_known and not all(with_values.get(column) for column in ends):
            for join in _join(key, facts, taken):
                taken.add(pair_of(join.left, join.right))
                found.append(join)
    return tuple(sorted(found, key=lambda join: (join.left, join.right)))


def _join(key: ForeignKey, facts: CatalogFacts, taken: Collection[Pair]) -> Iterator[Join]:
    """Yield the join of a foreign key, unless people rejected it or there is one already.

    A relationship is named by its first pair of columns, so no two joins may share it.
    """
    evidence = replace(catalog_evidence(key.pairs, facts), declared=key.title)
    free = [pair for pair in key.pairs if pair[0] != pair[1] and pair_of(*pair) not in taken]
    if not free or evidence.verdict is Verdict.REJECTED:
        return
    referring, referenced = free[0]
    is_turned = referenced < referring
    pairs = [free[0], *(pair for pair in key.pairs if pair != free[0])]
    turned = [_sorted(pair, is_turned=is_turned) for pair in pairs]
    yield Join(
        left=turned[0][0],
        right=turned[0][1],
        joinability=1.0,
        evidence=None,
        catalog=evidence,
        role=Role.REFERENCE,
        referenced=referenced,
        further=tuple(turned[1:]),
    )


def _sorted(pair: tuple[ColumnId, ColumnId], *, is_turned: bool) -> tuple[ColumnId, ColumnId]:
    return (pair[1], pair[0]) if is_turned else pair
