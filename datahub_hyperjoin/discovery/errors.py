"""Errors of a search for joins without a recipe."""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.wording import name_some


class UnusableSourceError(HyperJoinError, ValueError):
    """A folder, file, URL or data frame cannot be searched for joins."""

    @classmethod
    def without_any(cls) -> Self:
        return cls(
            "there is nothing to search. Name a folder, a database's URL or file or, in Python, "
            "pass a dict of data frames"
        )

    @classmethod
    def missing(cls, path: str) -> Self:
        return cls(f"{path!r} does not exist. Correct the path")

    @classmethod
    def other_file(cls, path: str) -> Self:
        return cls(
            f"{path!r} is a file, but no DuckDB or SQLite database. Name the folder that contains "
            "it; all tables in the folder are read"
        )

    @classmethod
    def other_url(cls, scheme: str) -> Self:
        return cls(
            f"{scheme}:// is no database that is read by its URL. Use postgresql://, mysql:// or "
            "sqlite://, or s3://, gs:// or abfss:// for a folder in an object store; for other "
            "folders and Spark catalogs, write a recipe with `connections`"
        )

    @classmethod
    def other_store(cls, reason: str) -> Self:
        """Report a URI of an object store that cannot be read.

        The message omits the URI.
        """
        return cls(reason)

    @classmethod
    def malformed_url(cls, scheme: str) -> Self:
        """Report a URL that cannot be parsed.

        The message omits the URL, which may contain a password.
        """
        return cls(
            f"the {scheme}:// URL cannot be parsed. Write it as in "
            "postgresql://reader@host:5432/shop, with special characters percent-encoded"
        )

    @classmethod
    def without_tables(cls, source: str, *, kinds: str) -> Self:
        return cls(f"{source!r} contains no table. {kinds}")

    @classmethod
    def without_kept_tables(cls, source: str) -> Self:
        return cls(
            f"all tables of {source!r} are excluded. Exclude fewer with `--exclude` (`exclude` in "
            "Python), or leave the source out"
        )

    @classmethod
    def locked(cls, path: str, reason: str) -> Self:
        return cls(
            f"{path!r} cannot be opened: {reason.rstrip('.')}. Close the program that writes to "
            "it, and check that this version of DuckDB can read it"
        )

    @classmethod
    def other_value(cls, value: object) -> Self:
        return cls(
            f"a source is a {type(value).__name__}. Pass a path, a URL or a dict of data frames"
        )

    @classmethod
    def other_frame(cls, name: str, kind: str) -> Self:
        return cls(
            f"{name!r} is a {kind}, which is no data frame. Pass frames of pandas, Polars, Arrow "
            "or Spark"
        )


class UnknownTableError(HyperJoinError, KeyError):
    """A name matches no table of the run, or more than one table."""

    # KeyError would show the message as a quoted string.
    __str__ = Exception.__str__

    @classmethod
    def named(cls, name: str, *, near: Sequence[str]) -> Self:
        hint = f"Did you mean {name_some([*map(repr, near)])}?" if near else "See `.tables`"
        return cls(f"no table is named {name!r}. {hint}")

    @classmethod
    def shared(cls, name: str, *, names: Sequence[str]) -> Self:
        return cls(f"several tables are named {name!r}. Write one of {name_some([*names])}")


class NoSqlError(HyperJoinError, LookupError):
    """No SQL is available for a join."""

    @classmethod
    def because(cls, join: str, reason: str) -> Self:
        return cls(f"{join} has no SQL: {reason}")

    @classmethod
    def of_other_run(cls, join: str) -> Self:
        return cls(f"{join} is not among these joins. Pass one of `.joins`")

    @classmethod
    def disabled(cls) -> Self:
        return cls("this run wrote no SQL. Pass `sql=True` to `find_joins`")


class UnknownChoiceError(HyperJoinError, ValueError):
    """An argument is none of its choices."""

    @classmethod
    def of_sql(cls, value: object, *, choices: Sequence[str]) -> Self:
        return cls(f"`sql` is {value!r}. Pass {', '.join(map(repr, choices))}, True or False")

    @classmethod
    def of_files(cls, reason: str) -> Self:
        """Report an option of files that cannot be used."""
        return cls(f"{reason}. Correct it, or leave it out to detect it in each file")


class ForbiddenValuesError(HyperJoinError, ValueError):
    """The caller asked for a page with values, but the run must not keep values."""

    @classmethod
    def on_page(cls) -> Self:
        return cls(
            "`values=True` would keep values on the page, which `keep_values=False` of the run's "
            "profile forbids. Leave out one of them"
        )
