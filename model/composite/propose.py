"""Propose composite references, before they are verified on the data."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from datahub_hyperjoin.joins import ColumnPairs
from datahub_hyperjoin.model.composite.partners import ColumnPartners, table_index
from datahub_hyperjoin.tables import TableId

Keys = Mapping[TableId, Sequence[tuple[str, ...]]]
"""The composite keys of each table, the most reliable first."""

_PARTNERS = 4
"""Maximum number of referring columns that are tried for each column of a key."""
_PER_TABLES = 5
"""Maximum number of proposals for two tables: several references may lead to one key."""
_PER_TABLE = 3
"""Mean number of proposals for each table of the lake, which bounds the time of verification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposed reference from several columns to a composite key."""

    pairs: ColumnPairs
    """The referring and the referenced columns, in the order of the key."""

    names: float
    """Lowest similarity between the names of any of the column pairs, in [0, 1]."""

    mean_names: float = 1.0
    """Similarity of the two names in a column pair, averaged over all pairs, in [0, 1]."""

    rank: int = 0
    """Rank of the key among the keys of its table, from 0."""

    declared: str = ""
    """Name of the foreign key that declares the reference; empty if none does."""


def propose(partners: ColumnPartners, keys: Keys) -> list[Proposal]:
    """For each composite key, propose references from columns of other tables.

    Args:
        partners: Pairs of columns that may be parts of a reference.

    Returns:
        The most promising references, best first: at most five for two tables, and three for each
        table of the lake on average.
    """
    tables = table_index(partners.lake)
    with_keys = {tables[table]: found for table, found in keys.items() if table in tables}
    proposals: list[Proposal] = []
    for referenced, pairs in partners.by_tables(with_keys.keys()):
        found = sorted(_of_tables(partners, pairs, with_keys[referenced]), key=_order)
        proposals += found[:_PER_TABLES]
    return sorted(proposals, key=_order)[: _PER_TABLE * len(tables)]


def _order(proposal: Proposal) -> tuple[float, int, int, ColumnPairs]:
    return -proposal.mean_names, len(proposal.pairs), proposal.rank, proposal.pairs


def _of_tables(
    partners: ColumnPartners, pairs: Sequence[int], keys: Sequence[tuple[str, ...]]
) -> Iterator[Proposal]:
    """Yield the possible composite references from one table to another.

    `pairs` are the positions in `partners` of the pairs between the two tables. `keys` are the
    composite keys of the referenced table, the most reliable first.
    """
    ids = partners.lake.ids
    of_path: dict[str, list[int]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda pair: -partners.similarity[pair]):
        choices = of_path[ids[partners.referenced[pair]].path]
        if len(choices) < _PARTNERS:
            choices.append(pair)
    for rank, key in enumerate(keys):
        for chosen in product(*(of_path.get(path, []) for path in key)):
            if len({int(partners.referring[pair]) for pair in chosen}) == len(key):
                similarity = partners.similarity[[*chosen]]
                yield Proposal(
                    pairs=tuple(
                        (ids[partners.referring[pair]], ids[partners.referenced[pair]])
                        for pair in chosen
                    ),
                    names=float(similarity.min()),
                    mean_names=float(similarity.mean()),
                    rank=rank,
                )
