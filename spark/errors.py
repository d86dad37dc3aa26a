"""What can go wrong where tables are."""

from typing_extensions import Self

from datahub_hyperjoin.errors import CatalogError, EmptyTableError, UnreadableTableError


class UnreachableDatabaseError(CatalogError, OSError):
    """A database gives no answer, or none that can be used."""

    @classmethod
    def because(cls, connection: str, reason: str) -> Self:
        """The key of the recipe, and the words of the database or of its driver."""
        return cls(
            f"the database of `{connection}` cannot be read: {reason.rstrip('.')}. Check its `url` "
            "and `password`, and that the database is up"
        )

    @classmethod
    def without_driver(cls, connection: str, package: str) -> Self:
        """The key of the recipe, and the package that is missing."""
        return cls(
            f"the database of `{connection}` cannot be read: its driver {package} is not "
            f"installed. Install it with `pip install {package}`, or name another in the `url`, as "
            "in `postgresql+psycopg2://`"
        )


class UnreachableSourceError(CatalogError, OSError):
    """Spark cannot list a catalog or a folder."""

    @classmethod
    def of_catalog(cls, connection: str, reason: str) -> Self:
        """The key of the recipe, and Spark's words."""
        return cls(
            f"the catalog of `{connection}` cannot be listed: {reason.rstrip('.')}. Check its "
            "`spark_catalog`, and what `spark.settings` say of it"
        )

    @classmethod
    def of_folder(cls, connection: str, reason: str) -> Self:
        """The key of the recipe, and Spark's words."""
        return cls(
            f"the folder of `{connection}` cannot be listed: {reason.rstrip('.')}. Check its "
            "`folder`, and that `spark.settings` let Spark reach it"
        )


class UnreadableRelationError(UnreadableTableError):
    """The database does not give a table's rows."""

    @classmethod
    def because(cls, reason: str) -> Self:
        """What the database says."""
        return cls(
            f"cannot be read: {reason.rstrip('.')}. Let the user of the connection select from it"
        )

    @classmethod
    def gone(cls) -> Self:
        """It was there when tables were listed."""
        return cls.because("it is no longer there")


class EmptyRelationError(EmptyTableError):
    """A table of a database has no rows."""

    @classmethod
    def without_rows(cls) -> Self:
        """Nothing was selected."""
        return cls("has no rows. Fill it")


class MissingDeltaError(UnreadableTableError):
    """A Delta table, and nothing that reads its log."""

    @classmethod
    def of_table(cls) -> Self:
        """The package, and the extra that carries it."""
        return cls(
            "is a Delta table, which needs the package deltalake. Install it with "
            "`pip install 'datahub-hyperjoin[delta]'`"
        )


class MissingIcebergError(UnreadableTableError):
    """An Iceberg table, and nothing that reads its metadata."""

    @classmethod
    def of_table(cls) -> Self:
        """The package, and the extra that carries it."""
        return cls(
            "is an Iceberg table, which needs the package pyiceberg. Install it with "
            "`pip install 'datahub-hyperjoin[iceberg]'`"
        )


class NoMetadataError(UnreadableTableError):
    """Nothing tells what an Iceberg table holds."""

    @classmethod
    def in_file(cls, name: str) -> Self:
        """The file that should."""
        return cls.because(f"{name} is no metadata of an Iceberg table")

    @classmethod
    def of_any_version(cls) -> Self:
        """No file is named as metadata is."""
        return cls.because("no file of its metadata has a version")


class NotAvroError(UnreadableTableError):
    """A file is named as Avro and is something else."""

    @classmethod
    def at_the_beginning(cls) -> Self:
        """Avro files begin with four bytes that no text begins with."""
        return cls.because("it does not begin as Avro files do")


class UnbroughtFileError(UnreadableTableError):
    """Spark has listed a file and does not bring it."""

    @classmethod
    def at_all(cls) -> Self:
        """Spark does not say why: it is told to go on with the others."""
        return cls(
            "cannot be read: Spark does not bring it, as it is gone, may not be read, or has more "
            "than 1 GiB. Let Spark's user read it, or keep it as Parquet"
        )
