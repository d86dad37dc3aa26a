"""Write each group of joinable columns as a glossary term."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from datahub.emitter.mce_builder import datahub_guid
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    GlossaryNodeInfoClass,
    GlossaryTermInfoClass,
    GlossaryTermsClass,
    SystemMetadataClass,
)
from datahub.metadata.urns import GlossaryNodeUrn, GlossaryTermUrn
from typing_extensions import override

from datahub_hyperjoin.catalog.entities import fetch, is_outside_runs
from datahub_hyperjoin.catalog.written_state import History
from datahub_hyperjoin.emit.layer import Info, OwnEntities, Withdrawal, Writing, create
from datahub_hyperjoin.emit.patches import add_terms, remove_terms
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import AUTHOR, column_urn, plain_path
from datahub_hyperjoin.model.domains import ColumnGroup, find_column_groups
from datahub_hyperjoin.tables import ColumnId, TableId, labels
from datahub_hyperjoin.visible import markdown, visible


@dataclass(frozen=True, kw_only=True)
class Glossary:
    """The glossary terms of a run, with the columns of each term."""

    terms: Mapping[str, ColumnGroup]
    removed: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    """URNs of the columns from which people removed a term, by the term's URN."""

    termed: frozenset[str] = frozenset()
    """URNs of the columns that have the aspect `glossaryTerms`."""

    def columns_of(self, term: str) -> set[str]:
        """Return the URNs of the columns to which a term is assigned."""
        return {*map(column_urn, self.terms[term].members)}.difference(self.removed.get(term, ()))


_GROUP_NAME = "Joinable columns"
_GROUP_TEXT = (
    "Each term lists columns whose values come from one set, as HyperJoin found in the data. Such "
    "columns can be joined."
)
_TERM_TEXT = (
    "Columns whose values come from one set, so that they can be joined.{key} HyperJoin found them "
    "in the data. Rename and describe this term freely: your text stays. Remove the term from a "
    "column to say that the column does not belong here: it is not added there again."
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def node_urn(namespace: str) -> str:
    """Return the URN of the term group that contains all of this source's terms.

    >>> node_urn("io.datahub.hyperjoin")
    'urn:li:glossaryNode:io.datahub.hyperjoin'
    """
    return GlossaryNodeUrn(namespace).urn()


def term_urn(namespace: str, anchor: ColumnId) -> str:
    """Derive the URN of a new glossary term from one of the columns that get the term."""
    return GlossaryTermUrn(f"{namespace}.{datahub_guid({'domain of': column_urn(anchor)})}").urn()


def is_own_term(term: str, namespace: str) -> bool:
    """Return whether this source created the given term."""
    own = rf"urn:li:glossaryTerm:{re.escape(namespace)}\.[0-9a-f]{{32}}"
    return re.fullmatch(own, term) is not None


def assign_terms(
    groups: Sequence[ColumnGroup], known: Mapping[str, AbstractSet[str]], namespace: str
) -> dict[str, ColumnGroup]:
    """Assign each group of columns an existing term that shares columns with it, or a new term."""
    # A group keeps a term if it has at least half of the term's columns, or the term half of
    # its own. The largest overlaps come first.
    members = [frozenset(map(column_urn, group.members)) for group in groups]
    terms_of: dict[str, list[str]] = defaultdict(list)
    for term, columns in known.items():
        for column in columns:
            terms_of[column].append(term)
    shared = Counter(
        (index, term)
        for index, columns in enumerate(members)
        for column in columns
        for term in terms_of.get(column, ())
    )
    found: dict[str, int] = {}
    for (index, term), count in sorted(shared.items(), key=lambda it: (-it[1], it[0])):
        enough = count * 2 >= min(len(members[index]), len(known[term]))
        if enough and term not in found and index not in found.values():
            found[term] = index
    for index, group in enumerate(groups):
        if index not in found.values():
            ends = [group.anchor, *group.members]
            urns = (term_urn(namespace, end) for end in ends)
            found[next(urn for urn in urns if urn not in found and urn not in known)] = index
    return {term: groups[index] for term, index in found.items()}


def _find_terms(
    joins: Sequence[Join], known: Mapping[str, AbstractSet[str]], namespace: str
) -> Glossary:
    """Group columns that join with each other, and give each group a glossary term."""
    return Glossary(terms=assign_terms(find_column_groups(joins), known, namespace))


def name_terms(groups: Mapping[str, ColumnGroup], titles: Mapping[TableId, str]) -> dict[str, str]:
    """Name the glossary term of each group of columns."""
    # A term is named after the group's key column. Without a key, it is named after the
    # group's most frequent column name.
    names = {term: _name(group, titles) for term, group in groups.items()}
    several, tables = Counter(names.values()), labels(titles)
    for term, name in names.items():
        if several[name] > 1:
            names[term] = f"{name} ({tables[groups[term].anchor.table]})"
    return {term: visible(name) for term, name in names.items()}


def _name(group: ColumnGroup, titles: Mapping[TableId, str]) -> str:
    if group.key is None:
        paths = Counter(plain_path(member.path) for member in group.members)
        words = _words(min(paths, key=lambda path: (-paths[path], path)))
    else:
        words = _words(plain_path(group.key.path))
        table = _words(re.sub(r"\.\w+$", "", titles[group.key.table].rpartition("/")[2]))
        noun = [*table[:-1], _singular(table[-1])] if table else []
        if not noun or noun[-1] not in words:
            words = [*noun, *words]
    text = " ".join(words) or str(group.anchor)
    return text[:1].upper() + text[1:]


def _words(name: str) -> list[str]:
    r"""Split a name into lower-case words, but keep abbreviations in capitals.

    >>> _words("customerID"), _words("IATA_code")
    (['customer', 'ID'], ['IATA', 'code'])
    """
    found = _WORD.findall(name.rpartition(".")[2])
    return [word if word.isupper() and len(word) > 1 else word.lower() for word in found]


def _singular(word: str) -> str:
    """Return the singular of a regular plural.

    >>> [_singular(word) for word in ("airports", "countries", "classes", "boxes", "glass")]
    ['airport', 'country', 'class', 'box', 'glass']
    """
    if word.endswith("ies") and len(word) > len("pies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def create_term(
    term: str, group: ColumnGroup, name: str, titles: Mapping[TableId, str], namespace: str
) -> Iterator[MetadataWorkUnit]:
    """Create a glossary term for joinable columns, and the term's parent, unless they exist."""
    node = node_urn(namespace)
    key = group.key
    named = markdown(f" The key is {plain_path(key.path)} of {titles[key.table]}.") if key else ""
    info = GlossaryTermInfoClass(
        definition=_TERM_TEXT.format(key=named), termSource="INTERNAL", name=name, parentNode=node
    )
    group_info = GlossaryNodeInfoClass(definition=_GROUP_TEXT, name=_GROUP_NAME)
    for urn, aspect in ((node, group_info), (term, info)):
        yield create(urn, aspect).as_workunit(is_primary_source=False)


def read_glossary(
    publication: Publication, history: History, graph: DataHubGraph, namespace: str
) -> Glossary:
    """Find the glossary terms of joinable columns, and those that people removed from columns."""
    # A term was removed by a person if an earlier run added it, it is gone, and no ingestion
    # changed the terms of the column since. A term that is back is no longer removed.
    known: dict[str, set[str]] = defaultdict(set)
    for state in history.all:
        for term, written in (*state.terms.items(), *state.removed_terms.items()):
            known[term].update(written)
    ends = (column for join in publication.joins for pair in join.pairs for column in pair)
    members = {*map(column_urn, ends)}.union(*known.values())
    present = _read_terms(graph, sorted(members))
    removed: dict[str, set[str]] = defaultdict(set)
    for term, columns in known.items():
        for column in columns & present.keys():
            own, by_person = present[column]
            gone_before = column in history.own.removed_terms.get(term, ())
            if term not in own and (by_person or gone_before):
                removed[term].add(column)
    for column, (own, _) in present.items():
        for term in filter(partial(is_own_term, namespace=namespace), own):
            known[term].add(column)
    found = _find_terms(publication.joins, known, namespace)
    return replace(found, removed=dict(removed), termed=frozenset(present))


def _read_terms(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, tuple[frozenset[str], bool]]:
    """Read the terms of columns that have the aspect, and whether a person changed them last."""
    name, found = GlossaryTermsClass.ASPECT_NAME, {}
    for urn, aspects in fetch(graph, "schemaField", urns, [name]).items():
        aspect, stamp = aspects.get(name, (None, None))
        if isinstance(aspect, GlossaryTermsClass):
            by_person = stamp is None or is_outside_runs(stamp)
            found[urn] = frozenset(term.urn for term in aspect.terms), by_person
    return found


class Terms(OwnEntities):
    """Each group of columns whose values come from one set, as a glossary term of its columns."""

    key = "glossary_terms"
    entity = "glossaryTerm"
    info = GlossaryTermInfoClass
    needs: ClassVar = {
        "glossaryNode": ("glossaryNodeInfo",),
        "glossaryTerm": ("glossaryTermInfo", "status"),
        "schemaField": ("glossaryTerms",),
    }
    fields = ("terms",)
    outlives_edits = True
    records = 2
    per_join = 0.5

    @override
    def is_edited(self, info: Info, stamp: SystemMetadataClass | None) -> bool:
        return stamp is not None and is_outside_runs(stamp)

    @override
    def is_own(self, urn: str, info: Info, namespace: str) -> bool:
        return is_own_term(urn, namespace)

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        publication, existing, written = run.publication, run.existing, run.written
        namespace, titles = run.config.namespace, publication.titles
        glossary = existing.glossary or _find_terms(publication.joins, {}, namespace)
        written.removed_terms = {urn: sorted(glossary.removed[urn]) for urn in glossary.removed}
        names, tables = name_terms(glossary.terms, titles), labels(titles)
        of_column: dict[str, list[str]] = defaultdict(list)
        for term, group in sorted(glossary.terms.items()):
            written.terms[term] = sorted(glossary.columns_of(term))
            # What people hid or deleted is not written.
            if term in existing.closed or not written.terms[term]:
                continue
            is_new = term not in existing.present
            created = create_term(term, group, names[term], tables, namespace) if is_new else ()
            yield from self.put(run, term, created)
            for column in written.terms[term]:
                of_column[column].append(term)
        for column, terms in sorted(of_column.items()):
            yield add_terms(column, terms, exists=column in glossary.termed, actor=AUTHOR)

    @override
    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        terms: dict[str, list[str]] = defaultdict(list)
        for term, columns in gone.stale.terms.items():
            for column in columns:
                terms[column].append(term)
        for column, stale in sorted(terms.items()):
            yield remove_terms(column, stale)
        yield from super().withdraw(gone)
