"""Show joins in DataHub's Preview tab, unless the tab already shows another page.

The tab then contains the page of `hyperjoin serve`.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import ChangeTypeClass, EmbedClass

_IF_ABSENT = {"If-None-Match": "*"}


def embed_url(service: str, dataset: str) -> str:
    """Return the address of the page that shows a dataset's joins.

    Args:
        dataset: URN of the dataset.

    >>> embed_url("http://localhost:8766/", "urn:li:dataset:(a,b,PROD)")
    'http://localhost:8766/dataset?urn=urn%3Ali%3Adataset%3A%28a%2Cb%2CPROD%29'
    """
    return f"{service.rstrip('/')}/dataset?urn={quote(dataset, safe='')}"


def emit_embed(dataset: str, url: str, *, exists: bool) -> MetadataWorkUnit:
    """Set the page that a dataset's Preview tab shows, unless another source has set one.

    Args:
        exists: Whether the dataset has the aspect, with an address of ours or without any.
            Otherwise the server keeps what another source writes in the meantime.
    """
    proposal = MetadataChangeProposalWrapper(entityUrn=dataset, aspect=EmbedClass(renderUrl=url))
    if not exists:
        proposal.changeType, proposal.headers = ChangeTypeClass.CREATE, _IF_ABSENT
    return proposal.as_workunit(is_primary_source=False)


def remove_embed(dataset: str) -> MetadataWorkUnit:
    """Stop showing the page of joins in a dataset's Preview tab."""
    proposal = MetadataChangeProposalWrapper(entityUrn=dataset, aspect=EmbedClass())
    return proposal.as_workunit(is_primary_source=False)


def find_foreign_embeds(
    embeds: Mapping[str, EmbedClass], written: Mapping[str, str], service: str | None
) -> Iterable[str]:
    """Yield the URNs of datasets whose Preview tab shows a page other than the page of joins.

    Args:
        embeds: The aspects of datasets that have one, by URN.
        written: The addresses that the last run wrote, by the dataset's URN.
        service: Address of `hyperjoin serve`; None without one. An address of this service is
            ours even if the checkpoint of the last run is lost.
    """
    for dataset, embed in embeds.items():
        ours = {written.get(dataset), *([embed_url(service, dataset)] if service else [])}
        if embed.renderUrl and embed.renderUrl not in ours:
            yield dataset
