"""Read the titles and columns of datasets, and the URN of the signed-in user."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.graphql.operations import GraphQLObject, execute, parsing
from datahub_hyperjoin.metadata.urns import plain_path

_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSummary:
    """The title of a dataset, and the number of its columns."""

    title: str = ""
    """The name that DataHub's pages show; empty without one."""

    columns: int | None = None
    """Number of the dataset's columns; None if DataHub does not know them."""


def read_dataset_summaries(graph: DataHubGraph, urns: Iterable[str]) -> dict[str, DatasetSummary]:
    """Read the title and the number of columns of each dataset.

    Returns:
        Summaries by URN; datasets that the user may not see are missing.
    """
    rest, summaries = iter(urns), dict[str, DatasetSummary]()
    while page := list(islice(rest, _PAGE)):
        data = execute(graph, "describe_datasets", datasets=page)
        with parsing("describe_datasets"):
            summaries |= {it["urn"]: _summarize(it) for it in data["entities"] if it}
    return summaries


def _summarize(entity: GraphQLObject) -> DatasetSummary:
    schema = entity.get("schemaMetadata")
    return DatasetSummary(
        title=(entity.get("properties") or {}).get("name") or "",
        columns=len(schema["fields"]) if schema else None,
    )


def read_columns(graph: DataHubGraph, urn: str) -> list[str]:
    """Read the paths of a dataset's columns.

    Returns:
        Plain paths, as in `address.city`; none if DataHub does not know the columns.
    """
    data = execute(graph, "describe_datasets", datasets=[urn])
    with parsing("describe_datasets"):
        schemas = [entity.get("schemaMetadata") for entity in data["entities"] if entity]
        fields = [field for schema in schemas if schema for field in schema["fields"]]
        return [plain_path(field["fieldPath"]) for field in fields]


def signed_in_user(graph: DataHubGraph) -> str:
    """Return the URN of the user to whom the client's token belongs."""
    data = execute(graph, "signed_in")
    with parsing("signed_in"):
        return str(data["me"]["corpUser"]["urn"])
