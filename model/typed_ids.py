"""Find ids that a type beside them completes.

A comment may belong to a document or to a picture. Then one column holds the id, and another one
the name of the table or class (`commentable_id` and `commentable_type`), so that the ids refer to
each table only in the rows of its type.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from datahub_hyperjoin.cell_parts import CellParts, PartKind
from datahub_hyperjoin.model.cell_parts import PartProposal
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import ALL_UNIQUE, Lake
from datahub_hyperjoin.model.roles.words import TYPE_WORDS, endings
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, meaningful_words, stems

_ANYTHING = frozenset(
    ["content", "item", "object", "obj", "record", "related", "resource", "subject"]
)
"""Stems of what may be a row of any table, as in `content_type` and `object_id`."""
_CLASS = re.compile(r"(?:[A-Za-z_]\w*(?:\\\\?|::|[./]))*([A-Za-z_]\w*)", re.ASCII)
"""The name of a table or class, which may be in modules or schemas."""
_MOST_TYPES = 100
_MIN_NAMED = 0.5
"""Least share of the types that must name tables."""


def propose_typed_ids(index: LakeIndex) -> list[PartProposal]:
    """Propose a join for each table that a column of types names."""
    lake = index.lake
    keys_by_title = _keys_by_title(lake)
    proposals: list[PartProposal] = []
    for kind in np.flatnonzero(lake.is_text).tolist():
        if not TYPE_WORDS.isdisjoint(lake.column_words[kind]):
            named = _named_tables(lake, kind, keys_by_title)
            ids = _ids_of(lake, kind) if named else ()
            proposals += (
                PartProposal(
                    pairs=tuple((lake.ids[own], lake.ids[key]) for own in (column, kind)),
                    parts=CellParts(PartKind.OF_TYPE, str(lake.ids[column]), written),
                    names=1.0,
                )
                for column in ids
                for written, keys in named.items()
                for key in keys
                if lake.profiles[key].type is lake.profiles[column].type
            )
    return proposals


def _keys_by_title(lake: Lake) -> Mapping[str, list[int]]:
    """Map each table's title, as one word, with and without its first words, to its key."""
    keys: dict[str, list[int]] = defaultdict(list)
    for key in np.flatnonzero(lake.standing == 0).tolist():
        if lake.profiles[key].uniqueness >= ALL_UNIQUE:
            title = lake.title_words[lake.table_of[key]]
            for ending in endings(title):
                keys[ending].append(key)
    return keys


def _named_tables(
    lake: Lake, kind: int, keys_by_title: Mapping[str, list[int]]
) -> dict[str, list[int]]:
    """Map the types that name other tables, as written, to those tables' keys."""
    profile = lake.profiles[kind]
    if profile.personal or not profile.distinct <= min(len(profile.sample), _MOST_TYPES):
        return {}
    place = lake.ids[kind].table.place
    named: dict[str, list[int]] = {}
    for written in profile.sample:
        match = _CLASS.fullmatch(written)
        keys = keys_by_title.get("".join(stems(match[1])), []) if match else []
        others = [key for key in keys if lake.table_of[key] != lake.table_of[kind]]
        if near := [key for key in others if lake.ids[key].table.place == place] or others:
            named[written] = near
    return named if len(named) >= _MIN_NAMED * profile.distinct else {}


def _ids_of(lake: Lake, kind: int) -> list[int]:
    """Return the columns of the same table that a column of types may complete."""
    columns = np.flatnonzero(lake.table_of == lake.table_of[kind]).tolist()
    others = [column for column in columns if column != kind and lake.standing[column]]
    about = _about(lake, kind)
    if not about <= _ANYTHING:
        return [column for column in others if _about(lake, column) == about]
    # Of several ids of anything, nobody knows which one is meant.
    found = [
        column
        for column in others
        if _about(lake, column) <= _ANYTHING
        and not IDENTIFIER_WORDS.isdisjoint(lake.column_words[column])
    ]
    return found if len(found) == 1 else []


def _about(lake: Lake, column: int) -> frozenset[str]:
    return frozenset(meaningful_words(lake.column_words[column])) - TYPE_WORDS
