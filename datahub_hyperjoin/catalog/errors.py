"""Errors that occur while tables are listed or the catalog is read."""

from collections.abc import Mapping, Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError
from datahub_hyperjoin.spark.files.formats import usual_endings
from datahub_hyperjoin.visible import redact
from datahub_hyperjoin.wording import name_some, number_of

_STORE_HINTS = {
    ("NO_SUCH_BUCKET", "NoSuchBucket", "not found"): (
        "the bucket does not exist. Correct its name, or `endpoint` if it is in another store"
    ),
    ("does not exist",): "the folder does not exist. Correct its path after the bucket's name",
    ("ACCESS_DENIED", "INVALID_ACCESS_KEY", "INVALID_CLIENT_TOKEN", "SIGNATURE", "credential"): (
        "the store refuses access. Give the credentials of a user who may list the bucket and read "
        "its files, for S3 as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or give "
        "this machine a role"
    ),
    ("configured region", "PermanentRedirect", "status 301", "region"): (
        "the bucket is in another region, or its region is unknown. Set `region`"
    ),
    ("NETWORK_CONNECTION", "curlCode"): (
        "the store does not answer. Check the network and, for a store other than Amazon's, "
        "`endpoint` or AWS_ENDPOINT_URL"
    ),
}
"""Maps phrases in Arrow's messages to advice; the first entry with a matching phrase applies."""


class MissingFolderError(CatalogError, FileNotFoundError):
    """The folder that the recipe names does not exist, or is a file."""

    @classmethod
    def at(cls, folder: str) -> Self:
        return cls(f"`catalog.folder` is {folder!r}, and no such folder exists. Correct the path")

    @classmethod
    def but_file(cls, file: str) -> Self:
        return cls(
            f"`catalog.folder` is {file!r}, which is a file. Set the folder that contains it, and "
            "choose tables with `catalog.tables`"
        )


class UnknownSheetError(CatalogError, LookupError):
    """No workbook has the sheet that was asked for."""

    @classmethod
    def named(cls, sheet: str, *, among: Mapping[str, Sequence[str]]) -> Self:
        lines = [f"{path} has {name_some([*names])}" for path, names in among.items()]
        return cls(
            f"no workbook has a sheet {sheet!r}; {name_some(lines)}. Correct `sheet`, or `--sheet`"
        )


class NoTablesError(CatalogError, ValueError):
    """A folder, database or catalog contains no table that the recipe allows."""

    @classmethod
    def in_folder(cls, folder: str, *, seen: int) -> Self:
        return cls(
            f"`catalog.folder` {folder!r} has {number_of(seen, 'file')}, and none holds a table "
            "that `catalog.tables` allows. Check both; table files end in "
            f"{usual_endings('.sqlite', '.duckdb')}"
        )

    @classmethod
    def in_database(cls, connection: str, *, seen: int) -> Self:
        return cls(
            f"`{connection}` has {number_of(seen, 'table')}, and none that its `tables` and "
            "`schemas` allow. Widen these patterns"
        )


class UnreadableCatalogError(CatalogError, OSError):
    """The catalog cannot be read."""

    @classmethod
    def because(cls, what: str, reason: str) -> Self:
        return cls(
            f"{what} cannot be read from DataHub: {reason.rstrip('.')}. Check the URL and the "
            "token of the recipe's `sink` or `datahub_api`, and that the token's owner may read "
            "metadata"
        )

    @classmethod
    def incomplete(cls, urn: str) -> Self:
        return cls(
            f"DataHub's answers are incomplete: it has {urn}, but left it out of a list. Nothing "
            "was changed. Run again when the server is well"
        )


class UnknownDatasetsError(CatalogError, LookupError):
    """None of the run's tables can be matched to a dataset in DataHub."""

    @classmethod
    def on_platform(cls, platform: str, env: str, *, example: str, places: str = "") -> Self:
        start = (
            f"DataHub knows none of the tables on platform {platform!r} in env {env!r}, for "
            f"example {example!r}."
        )
        if places:
            return cls(f"{start} {places}".removesuffix("."))
        return cls(
            f"{start} Ingest them with their own source first, correct "
            "`catalog.platform`, `platform_instance` and `env`, state their names in "
            "`catalog.names`, or set `catalog.known_only: false`"
        )

    @classmethod
    def alike(cls, candidates: str) -> Self:
        return cls(
            "DataHub has the names of the tables in another case, and more than one table or "
            "dataset has the same letters. Keep one dataset for each table in DataHub, or ingest "
            f"the tables with their names as they are: {candidates}"
        )

    @classmethod
    def unclear(cls, candidates: str) -> Self:
        return cls(
            "several datasets may be those of the files, and none is certain. Set `catalog.names` "
            "to the names that the right datasets have, as in `mnt/lake/{table}`: "
            f"{candidates}"
        )


class MissingServerError(CatalogError, ValueError):
    """The recipe needs a DataHub server but configures none."""

    @classmethod
    def to_choose_datasets(cls) -> Self:
        return cls(
            "`catalog.domains`, `containers` and `tags` filter datasets by what a DataHub server "
            "stores. Configure a `datahub-rest` sink, or remove these keys"
        )

    @classmethod
    def to_describe_tables(cls) -> Self:
        return cls(
            "`catalog: datahub` takes the tables from a DataHub server. Configure a `datahub-rest` "
            "sink, or set `catalog.folder` or `connections`"
        )


class NoRemoteTablesError(NoTablesError):
    """A remote folder contains no table that the recipe allows."""

    @classmethod
    def in_folder_of(cls, connection: str, *, seen: int) -> Self:
        return cls(
            f"the folder of `{connection}` has {number_of(seen, 'file')}, and none holds a table "
            "that its `tables` allow. Check `folder` and `tables`; table files end in "
            f"{usual_endings(remote=True)}"
        )


class UnreachableStoreError(CatalogError, OSError):
    """Arrow cannot list a folder of an object store."""

    @classmethod
    def because(cls, folder: str, reason: str) -> Self:
        hints = (
            hint for parts, hint in _STORE_HINTS.items() if any(part in reason for part in parts)
        )
        hint = next(hints, "it cannot be listed. Check its URI and the store")
        return cls(f"the folder of `{folder}`: {hint}. The store's answer: {redact(reason)}")
