"""Write documents that tell AI agents how to join a table, as DataHub's `document` entities.

Agents often read a document in excerpts around the name that they look for, so every line says all
about its join. The whole text has at most 1,500 tokens.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DocumentContentsClass,
    DocumentInfoClass,
    DocumentSettingsClass,
    DocumentStateClass,
    DocumentStatusClass,
    RelatedAssetClass,
    _Aspect,
)
from typing_extensions import override

from datahub_hyperjoin.emit.layer import OwnEntities, Writing, create, unit_of
from datahub_hyperjoin.emit.publication import Publication, by_table
from datahub_hyperjoin.joins import Join, Statement, best_first, grain_of, reasons_unsafe
from datahub_hyperjoin.joins.describe import comparison_in_words, decision_in_words, rows_in_words
from datahub_hyperjoin.metadata.relationships import MODEL_VERSION, catalog_join, join_urn
from datahub_hyperjoin.metadata.urns import AUTHOR, JOIN_OVERVIEW, dataset_urn, document_urn
from datahub_hyperjoin.tables import ColumnId, TableId, labels
from datahub_hyperjoin.visible import code_span, markdown, visible

MOST_GUIDE_BYTES = 4_600
"""Maximum length of a guide in UTF-8 bytes. For ASCII text, this is 1,495 tokens by the rule of
DataHub's own MCP server: 1.3 tokens for every four characters. Other letters take more bytes, and
also more tokens."""

_INTRODUCTION = """\
Use only the safe joins below. If none of them fits, say that no safe join is known, and ask the \
user; a guess from the names of columns multiplies rows without an error.

The grain of a join is the table of which the result has one row for each row that matches. Sum \
only columns of that table.
"""
_MOST_UNSAFE = 20
_MOST_OF_COLUMN = 8

_COLUMN_INTRODUCTION = """\
Join this column only as follows, or ask the user. The grain of a join is the table of which the \
result has one row for each row that matches. Sum only columns of that table.
"""

OVERVIEW = """\
For each dataset that joins with others, DataHub has a document "How to join ...". It is hidden \
from search, and listed among the related documents of the dataset.

1. Get the dataset (`get_entities`), and take the URN of that document from its related documents.
2. Search the document for the name of the other dataset (`grep_documents`). Each line that names \
it is a whole join: its columns, the grain of the result, and how sure it is.

A document without such a line knows no safe join of the two. Do not guess one: ask the user.
"""


def write_guide(table: TableId, joins: Sequence[Join], statements: Mapping[str, str]) -> str:
    """Write, in Markdown, the text that tells an agent how to join a table."""
    turned = _by_partner([join.seen_from(table) for join in best_first(joins)])
    reasons = {join.urn: reasons_unsafe(join) for join in turned}
    safe = [join for join in turned if not reasons[join.urn]]
    page = _Page(f"# How to join {markdown(str(table))}\n\n{_INTRODUCTION}")
    page.add_list("Safe joins", _safe_lines(safe) or ["none: no safe join is known"])
    unsafe = [_unsafe_line(join, reasons[join.urn]) for join in turned if reasons[join.urn]]
    page.add_list("Not safe", unsafe, most=_MOST_UNSAFE)
    for join in safe:
        if sql := statements.get(join.urn):
            fence = _fence(sql)
            page.add(f"\n{_condition(join)}, in SQL that was run:\n{fence}sql\n{sql}\n{fence}\n")
    return page.text


def write_column_guides(table: TableId, joins: Sequence[Join]) -> dict[ColumnId, str]:
    """Write the texts that tell an agent how to join each column of a table."""
    turned = [join.seen_from(table) for join in best_first(joins)]
    safe = [join for join in turned if not reasons_unsafe(join)]
    lines: dict[ColumnId, list[str]] = defaultdict(list)
    for join, line in zip(safe, _safe_lines(safe), strict=True):
        for own, _ in join.pairs:
            lines[own].append(f"- {line}\n")
    for texts in lines.values():
        if (left_out := len(texts) - _MOST_OF_COLUMN) > 0:
            texts[_MOST_OF_COLUMN:] = [f'- {left_out} more, in the document "How to join ..."\n']
    return {column: _COLUMN_INTRODUCTION + "".join(texts) for column, texts in lines.items()}


def _by_partner(joins: Sequence[Join]) -> list[Join]:
    # An excerpt of a document shows neighbouring lines.
    places = {table: at for at, table in enumerate(dict.fromkeys(it.right.table for it in joins))}
    return sorted(joins, key=lambda join: places[join.right.table])


class _Page:
    """A Markdown text of limited size, to which parts are added."""

    _RESERVE = 60
    """Number of bytes reserved in each list for the line that counts the omitted entries."""

    def __init__(self, text: str) -> None:
        self.text = text

    def add(self, part: str, *, reserve: int = 0) -> bool:
        """Append a part if it leaves `reserve` bytes free; return whether the part was appended."""
        fits = len((self.text + part).encode()) + reserve <= MOST_GUIDE_BYTES
        if fits:
            self.text += part
        return fits

    def add_list(self, title: str, lines: Sequence[str], *, most: int | None = None) -> None:
        """Add a section with as many of the first `most` lines as fit."""
        reserve, left = 2 * self._RESERVE, len(lines)
        if not lines or not self.add(f"\n## {title}\n\n", reserve=reserve):
            return
        for line in lines[:most]:
            if not self.add(f"- {line}\n", reserve=reserve):
                break
            left -= 1
        if left:
            self.add(f"- {left} more\n")


def _safe_lines(joins: Sequence[Join]) -> list[str]:
    rivals = Counter(join.right.table for join in joins)
    return ["; ".join([_condition(it), *_notes(it, rivals[it.right.table])]) for it in joins]


def _notes(join: Join, rivals: int) -> Iterator[str]:
    yield join.cardinality.words
    grain = grain_of([join])
    yield f"grain: {'this table' if grain == join.left.table else markdown(str(grain))}"
    if rows := rows_in_words(join, " here", " there"):
        yield rows
    if compared := comparison_in_words(join):
        yield markdown(compared)
    if rivals > 1:
        yield f"one of {rivals} joins with that table that give other rows: ask which is meant"
    yield decision_in_words(join)


def _unsafe_line(join: Join, reasons: Sequence[str]) -> str:
    why = markdown("; ".join(reasons))
    if join.open and join.is_verified and not (join.is_confirmed or join.role.is_directed):
        # A value domain has many such joins, and a whole sentence for each leaves no room.
        why = f"{join.role.value}, no key on either side"
    return f"{_condition(join)}: {why}"


def _condition(join: Join) -> str:
    """Return the join condition as code, with the left table's column first in each comparison."""
    arrow = "=" if join.referenced is None else "→" if join.referenced == join.right else "←"
    return code_span(" and ".join(f"{own.path} {arrow} {other}" for own, other in join.pairs))


def _fence(sql: str) -> str:
    longest = max(map(len, re.findall("`+", sql)), default=0)
    return "`" * max(longest + 1, len("```"))


def emit_guide(
    table: TableId, *, label: str, text: str, model_version: str, now: int
) -> Iterator[MetadataWorkUnit]:
    """Write the document that tells agents how to join a table."""
    # The document is related to the dataset. It is hidden from global search, which would
    # otherwise list one document for each dataset.
    urn = document_urn(table)
    info = _document_info(visible(f"How to join {label}"), text, model_version, now)
    info.relatedAssets = [RelatedAssetClass(asset=dataset_urn(table))]
    # Not primary, so that DataHub's removal of stale entities leaves documents to `withdraw`.
    yield unit_of(urn, info)
    # Only created: a person may let search show the document.
    hidden = create(urn, DocumentSettingsClass(showInGlobalContext=False))
    yield hidden.as_workunit(is_primary_source=False)


def emit_overview(*, model_version: str, now: int) -> MetadataWorkUnit:
    """Write the overview that tells agents where to find the document about each table."""
    # Only this document appears in global search. DataHub's MCP server offers its tools for
    # documents only if search finds one.
    return unit_of(
        JOIN_OVERVIEW, _document_info("How to join datasets", OVERVIEW, model_version, now)
    )


def _document_info(title: str, text: str, model_version: str, now: int) -> DocumentInfoClass:
    stamp = AuditStampClass(time=now, actor=AUTHOR)
    return DocumentInfoClass(
        title=title,
        contents=DocumentContentsClass(text=text),
        status=DocumentStatusClass(state=DocumentStateClass.PUBLISHED),
        customProperties={MODEL_VERSION: model_version},
        created=stamp,
        lastModified=stamp,
    )


def joins_for_agents(publication: Publication) -> dict[TableId, list[Join]]:
    """Return the joins of each table, including joins that only other pipelines write."""
    shared = by_table(publication.shared)
    return {
        table: [catalog_join(join) for join in (*own, *shared.get(table, ()))]
        for table, own in by_table(publication.listed).items()
    }


class Documents(OwnEntities):
    """For each dataset, a document that says how to join it."""

    key = "documents"
    entity = "document"
    info = DocumentInfoClass
    needs: ClassVar = {"document": ("documentInfo", "documentSettings", "status")}
    records = 1
    per_table = 2

    @override
    def urns(self, publication: Publication) -> Iterable[str]:
        tables = by_table(publication.listed)
        return [*map(document_urn, tables), *([JOIN_OVERVIEW] if tables else ())]

    @override
    def shown_by(self, aspects: Mapping[type[_Aspect], _Aspect]) -> Iterable[str]:
        info = aspects.get(DocumentInfoClass)
        assets = info.relatedAssets or () if isinstance(info, DocumentInfoClass) else ()
        return (related.asset for related in assets)

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        publication, existing = run.publication, run.existing
        names, version, now = labels(publication.titles), publication.model_version, publication.now
        statements = {
            join_urn(join): publication.statements.get(join.pairs, Statement()).sql
            for join in publication.joins
        }
        # What a person changed or deleted is skipped. So are documents of tables that this run did
        # not read, because their SQL was not run.
        unread = map(document_urn, publication.unread - publication.described)
        kept = existing.closed | existing.present.intersection(unread)
        joins = joins_for_agents(publication)
        for table, found in joins.items():
            if (urn := document_urn(table)) not in kept:
                text, label = write_guide(table, found, statements), names[table]
                guide = emit_guide(table, label=label, text=text, model_version=version, now=now)
                yield from self.put(run, urn, guide)
        if joins and JOIN_OVERVIEW not in kept:
            overview = emit_overview(model_version=version, now=now)
            yield from self.put(run, JOIN_OVERVIEW, [overview])
