"""Write each group of joinable columns as a glossary term."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from datahub.emitter.mce_builder import datahub_guid
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ChangeTypeClass,
    GlossaryNodeInfoClass,
    GlossaryTermInfoClass,
)
from datahub.metadata.urns import GlossaryNodeUrn, GlossaryTermUrn

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import column_urn, plain_path
from datahub_hyperjoin.model.domains import ColumnGroup, find_column_groups
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import markdown, visible


@dataclass(frozen=True, kw_only=True)
class Glossary:
    """The glossary terms of a run, with the columns of each term."""

    terms: Mapping[str, ColumnGroup]
    """The columns of each term, by its URN."""

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
    """Derive the URN of a new glossary term from one of the columns that get the term.

    Args:
        anchor: The column after which the group is identified.
    """
    return GlossaryTermUrn(f"{namespace}.{datahub_guid({'domain of': column_urn(anchor)})}").urn()


def is_own_term(term: str, namespace: str) -> bool:
    """Return whether this source created the given term."""
    return (
        re.fullmatch(rf"urn:li:glossaryTerm:{re.escape(namespace)}\.[0-9a-f]{{32}}", term)
        is not None
    )


def assign_terms(
    groups: Sequence[ColumnGroup], known: Mapping[str, AbstractSet[str]], namespace: str
) -> dict[str, ColumnGroup]:
    """Assign each group of columns an existing term that shares columns with it, or a new term.

    A group keeps a term if it has at least half of the term's columns, or the term half of its own.
    The largest overlaps come first.

    Args:
        known: URNs of the columns of each term that exists, by the term's URN.
    """
    members = [frozenset(map(column_urn, group.members)) for group in groups]
    terms_of: dict[str, list[str]] = {}
    for term, columns in known.items():
        for column in columns:
            terms_of.setdefault(column, []).append(term)
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


def find_terms(
    joins: Sequence[Join], known: Mapping[str, AbstractSet[str]], namespace: str
) -> Glossary:
    """Group columns that join with each other, and give each group a glossary term.

    Args:
        known: URNs of the columns of each term that exists, by the term's URN.
    """
    return Glossary(terms=assign_terms(find_column_groups(joins), known, namespace))


def name_terms(groups: Mapping[str, ColumnGroup], titles: Mapping[TableId, str]) -> dict[str, str]:
    """Name the glossary term of each group of columns.

    A term is named after the group's key column. Without a key, it is named after the group's most
    frequent column name.

    Returns:
        Names by URN; two groups of the same name are told apart by a table.
    """
    names = {term: _name(group, titles) for term, group in groups.items()}
    several = Counter(names.values())
    return {
        term: visible(f"{name} ({titles[groups[term].anchor.table]})")
        if several[name] > 1
        else visible(name)
        for term, name in names.items()
    }


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
        yield MetadataChangeProposalWrapper(
            entityUrn=urn,
            aspect=aspect,
            changeType=ChangeTypeClass.CREATE,
            headers={"If-None-Match": "*"},
        ).as_workunit(is_primary_source=False)
