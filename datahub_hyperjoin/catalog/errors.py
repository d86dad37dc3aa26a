"""What can go wrong before anything is asked of DataHub."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError, NoTablesError


class MissingServerError(CatalogError, ValueError):
    """A recipe asks what only a DataHub server can tell, and names none."""

    @classmethod
    def to_choose_datasets(cls) -> Self:
        """Domains, containers and tags are the catalog's."""
        return cls(
            "`catalog.domains`, `containers` and `tags` choose datasets by what a DataHub server "
            "says of them. Give a `datahub-rest` sink, or leave them out"
        )


class NoRemoteTablesError(NoTablesError):
    """A folder that Spark reaches has no table that is wanted."""

    @classmethod
    def in_folder_of(cls, connection: str, *, seen: int) -> Self:
        """Nothing in the folder is a table, or the filters leave nothing."""
        return cls(
            f"the folder of `{connection}` has {seen} files and none is a table that its `tables` "
            "allow. Files must end in .csv, .tsv, .jsonl, .parquet, .orc or .avro"
        )
