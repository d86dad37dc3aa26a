"""Show joins in DataHub's Preview tab, unless the tab already shows another page."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import EmbedClass
from typing_extensions import override

from datahub_hyperjoin.emit.layer import Layer, Withdrawal, Writing, create, unit_of
from datahub_hyperjoin.emit.publication import by_table
from datahub_hyperjoin.metadata.urns import dataset_urn


def embed_url(service: str, dataset: str) -> str:
    """Return the address of the page that shows a dataset's joins.

    >>> embed_url("http://localhost:8766/", "urn:li:dataset:(a,b,PROD)")
    'http://localhost:8766/dataset?urn=urn%3Ali%3Adataset%3A%28a%2Cb%2CPROD%29'
    """
    return f"{service.rstrip('/')}/dataset?urn={quote(dataset, safe='')}"


def find_foreign_embeds(
    embeds: Mapping[str, EmbedClass], written: Mapping[str, str], service: str | None
) -> Iterable[str]:
    """Yield the URNs of datasets whose Preview tab shows a page other than the page of joins."""
    # An address of our service is ours even if the checkpoint of the last run is lost.
    for dataset, embed in embeds.items():
        ours = {written.get(dataset), *([embed_url(service, dataset)] if service else [])}
        if embed.renderUrl and embed.renderUrl not in ours:
            yield dataset


class Embeds(Layer):
    """The page of joins in each dataset's Preview tab."""

    key = "embed"
    fields = ("embeds",)
    per_table = 1

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        for dataset in map(dataset_urn, by_table(run.publication.linking)):
            if dataset not in run.existing.closed:
                url = embed_url(run.config.embed or "", dataset)
                aspect = EmbedClass(renderUrl=url)
                if dataset in run.existing.embedded:
                    yield unit_of(dataset, aspect)
                else:  # the server keeps what another source writes in the meantime
                    yield create(dataset, aspect).as_workunit(is_primary_source=False)
                run.written.embeds[dataset] = url

    @override
    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        return (unit_of(dataset, EmbedClass()) for dataset in gone.stale.embeds)
