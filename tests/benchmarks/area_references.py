"""Compare the references that a run publishes with the references that `write_areas` wrote."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from datahub.utilities.urns.dataset_urn import DatasetUrn
from pyarrow import parquet


class PublishedReference(NamedTuple):
    """A reference from one column to the key of another table; tables are given by their paths."""

    table: str
    column: str
    referenced: str


def written_references(lake: Path) -> frozenset[PublishedReference]:
    """Return the references that `write_areas` wrote.

    A table's key has the name of the table. References have the name of the key, which belongs to a
    table of the same area or of the first.

    Args:
        lake: The folder of the lake.
    """
    columns = {
        file.relative_to(lake): parquet.read_schema(file).names for file in lake.rglob("*.parquet")
    }
    first = min(columns, key=lambda file: int(file.parent.name.rsplit("_", 1)[1])).parent

    def find() -> Iterator[PublishedReference]:
        for file, names in columns.items():
            for name in names:
                table = f"{name.removesuffix('_id')}.parquet"
                owner = next(
                    (at for p in (file.parent, first) if (at := p / table) in columns), file
                )
                if name.endswith("_id") and owner != file:
                    yield PublishedReference(str(file), name, str(owner))

    return frozenset(find())


def written_relationships(joins: Path) -> Iterator[dict[str, Any]]:
    """Yield the properties of each join relationship in a file of joins.

    Args:
        joins: The file that a sink wrote.
    """
    for event in json.loads(joins.read_text("utf-8")):
        if event.get("aspectName") == "erModelRelationshipProperties":
            yield event["aspect"]["json"]


def published_references(joins: Path, role: str = "reference") -> frozenset[PublishedReference]:
    """Return the single-column references in a file of joins.

    Args:
        joins: The file that the file sink wrote.
        role: The role of the joins to return instead of references.
    """

    def find() -> Iterator[PublishedReference]:
        for aspect in written_relationships(joins):
            fields = [mapping["sourceField"] for mapping in aspect["relationshipFieldMappings"]]
            if aspect["customProperties"]["role"] == role and len(fields) == 1:
                table, referenced = (
                    DatasetUrn.from_string(aspect[end]).name for end in ("source", "destination")
                )
                yield PublishedReference(table, fields[0], referenced)

    return frozenset(find())
