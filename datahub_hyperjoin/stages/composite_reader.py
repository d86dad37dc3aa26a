"""Find composite keys and measure composite references.

Results of earlier runs are reused.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from datahub_hyperjoin.joins import Cardinality, ColumnPairs, CompositeEvidence, Evidence, KeySearch
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.spark.profiles.routes import session_for
from datahub_hyperjoin.spark.profiles.store import Store, result_key
from datahub_hyperjoin.spark.session import OptionalSession
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.spark.verification.key_search import search_keys
from datahub_hyperjoin.spark.verification.verify import NoteUnread, log_unread
from datahub_hyperjoin.tables import Table, TableId

_KEYS, _EVIDENCE = "composite_keys", "composite_evidence"

TableKeys = Mapping[TableId, tuple[tuple[str, ...], ...]]
"""The paths of the columns of each key, by table."""


class CompositeReader:
    """A reader of composite keys and of evidence for composite references.

    The reader stores its results for later runs.

    Args:
        note_unread: Receives the tables that can no longer be read.
    """

    def __init__(
        self,
        index: LakeIndex,
        tables: Sequence[Table],
        session: OptionalSession,
        store: Store,
        note_unread: NoteUnread = log_unread,
    ) -> None:
        lake = index.lake
        self._texts = {column for column, text in zip(lake.ids, lake.is_text, strict=True) if text}
        self._tables = {table.id: table for table in tables}
        self._session = session
        self._config = store.config
        self._note_unread = note_unread
        self._store = store

    def keys(self, searches: Sequence[KeySearch]) -> TableKeys:
        """Search the given columns of each table for composite keys."""
        names = {
            search: result_key([self._tables[search.table]], repr(search)) for search in searches
        }
        kept = self._store.results(_KEYS)
        found = {
            search.table: tuple(map(tuple, json.loads(kept[name])))
            for search, name in names.items()
            if name in kept
        }
        changed = [search for search in searches if search.table not in found]
        tables = [self._tables[search.table] for search in changed]
        session = session_for(tables, self._session, self._config)
        read = search_keys(session, tables, changed, self._config)
        for search in changed:
            if search.table not in read:
                self._note_unread(search.table)
        found |= read
        self._store.keep_results(
            _KEYS,
            {
                name: json.dumps(found[search.table])
                for search, name in names.items()
                if search.table in found
            },
        )
        # Tables without keys are stored, too, so that they are not searched again.
        return {table: keys for table, keys in found.items() if keys}

    def evidence(self, references: Sequence[ColumnPairs]) -> dict[ColumnPairs, CompositeEvidence]:
        """Measure composite references on all rows of their tables.

        Args:
            references: The referring and the referenced columns of each.
        """
        names = {reference: self._name(reference) for reference in references}
        kept = self._store.results(_EVIDENCE)
        measured = {
            reference: _from_json(kept[name]) for reference, name in names.items() if name in kept
        }
        changed = [reference for reference in references if reference not in measured]
        ends = {
            column.table: None for reference in changed for pair in reference for column in pair
        }
        tables = [self._tables[table] for table in ends]
        measured |= verify_composites(
            session_for(tables, self._session, self._config),
            tables,
            changed,
            texts=self._texts,
            config=self._config,
            note_unread=self._note_unread,
        )
        self._store.keep_results(
            _EVIDENCE,
            {names[reference]: _to_json(evidence) for reference, evidence in measured.items()},
        )
        return measured

    def _name(self, reference: ColumnPairs) -> str:
        ends = [column.table for column in reference[0]]
        paths = repr([[column.path for column in pair] for pair in reference])
        return result_key([self._tables[table] for table in ends], paths)


def _to_json(evidence: CompositeEvidence) -> str:
    return json.dumps(asdict(evidence))


def _from_json(text: str) -> CompositeEvidence:
    fields = json.loads(text)
    # JSON has no nested classes, enumerations or tuples.
    measures = fields.pop("evidence")
    measures["cardinality"] = Cardinality(measures["cardinality"])
    fields["by_chance"] = tuple(fields["by_chance"])
    return CompositeEvidence(evidence=Evidence(**measures), **fields)
