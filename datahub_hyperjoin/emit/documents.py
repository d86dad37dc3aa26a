"""Write documents for AI agents, as DataHub's `document` entities."""

from collections.abc import Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ChangeTypeClass,
    DocumentContentsClass,
    DocumentInfoClass,
    DocumentSettingsClass,
    DocumentStateClass,
    DocumentStatusClass,
    RelatedAssetClass,
)

from datahub_hyperjoin.emit.guide import OVERVIEW
from datahub_hyperjoin.metadata.relationship_aspect import MODEL_VERSION
from datahub_hyperjoin.metadata.urns import AUTHOR, JOIN_OVERVIEW, dataset_urn, document_urn
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import visible


def emit_guide(
    table: TableId, *, label: str, text: str, model_version: str, now: int
) -> Iterator[MetadataWorkUnit]:
    """Write the document that tells agents how to join a table.

    The document is related to the dataset. It is hidden from global search, which would otherwise
    list one document for each dataset.

    Yields:
        Two aspects. Stateful ingestion does not remove them; `withdraw` does.
    """
    urn = document_urn(table)
    info = _info(visible(f"How to join {label}"), text, model_version, now)
    info.relatedAssets = [RelatedAssetClass(asset=dataset_urn(table))]
    yield _unit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=info))
    hidden = DocumentSettingsClass(showInGlobalContext=False)
    # Only created: a person may let search show the document.
    yield _unit(
        MetadataChangeProposalWrapper(
            entityUrn=urn,
            aspect=hidden,
            changeType=ChangeTypeClass.CREATE,
            headers={"If-None-Match": "*"},
        )
    )


def emit_overview(*, model_version: str, now: int) -> MetadataWorkUnit:
    """Write the overview that tells agents where to find the document about each table.

    Only this document appears in global search. DataHub's MCP server offers its tools for documents
    only if search finds one.
    """
    info = _info("How to join datasets", OVERVIEW, model_version, now)
    return _unit(MetadataChangeProposalWrapper(entityUrn=JOIN_OVERVIEW, aspect=info))


def _info(title: str, text: str, model_version: str, now: int) -> DocumentInfoClass:
    stamp = AuditStampClass(time=now, actor=AUTHOR)
    return DocumentInfoClass(
        title=title,
        contents=DocumentContentsClass(text=text),
        status=DocumentStatusClass(state=DocumentStateClass.PUBLISHED),
        customProperties={MODEL_VERSION: model_version},
        created=stamp,
        lastModified=stamp,
    )


def _unit(proposal: MetadataChangeProposalWrapper) -> MetadataWorkUnit:
    # Not primary, so that DataHub's removal of stale entities leaves documents to `withdraw`.
    return proposal.as_workunit(is_primary_source=False)
