"""Errors in a recipe's choice of tables."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError, NoTablesError


class MissingServerError(CatalogError, ValueError):
    """A recipe needs a DataHub server and does not configure one."""

    @classmethod
    def to_choose_datasets(cls) -> Self:
        """Report that a dataset filter is set without a server."""
        return cls(
            "`catalog.domains`, `containers` and `tags` filter datasets by what a DataHub server "
            "stores. Configure a `datahub-rest` sink, or remove these keys"
        )


class NoRemoteTablesError(NoTablesError):
    """A remote folder has no table, or none that the recipe allows."""

    @classmethod
    def in_folder_of(cls, connection: str, *, seen: int) -> Self:
        """Report the connection and the number of files in its folder."""
        return cls(
            f"the folder of `{connection}` has {seen} files and no table that its `tables` allow. "
            "Check `folder` and `tables`; files must end in .csv, .tsv, .jsonl, .parquet, .orc or "
            ".avro"
        )
