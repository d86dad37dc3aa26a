"""Settings for the Spark session, and for reading and profiling tables."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path

from typing_extensions import Self

from datahub_hyperjoin.bounds import Large, PerColumn
from datahub_hyperjoin.tables import ValueHash


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionConfig:
    """Settings for a new Spark session.

    They have no effect if a session is active.
    """

    master: str = "local[*]"
    """Spark's master URL; `sc://host:port` for a Spark Connect server."""

    settings: dict[str, str] = field(default_factory=dict)
    """Further Spark settings, passed to Spark unchanged."""

    @property
    def is_connect(self) -> bool:
        """Whether a Spark Connect server runs Spark, so that this machine needs no Java."""
        return self.master.startswith("sc://")


def _check_pattern(name: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        message = f"`{name}` holds {pattern!r}, which is no regular expression: {error}"
        raise ValueError(message) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileConfig:
    """Settings for reading tables and building profiles."""

    max_rows: Large = 1_000_000
    """Maximum number of rows to profile of each table. If a table has more, the run profiles a
    random sample of the rows from all its parts; the sample is the same in every run."""

    max_bytes: Large = 1 << 32
    """Maximum number of bytes to read of each table, measured as the size of its rows in memory.
    It limits tables of few long rows."""

    split_bytes: Large = 1 << 28
    """Minimum size, in bytes, of a table that many tasks read at once. The limit applies to Parquet
    and ORC files, and to database tables that the database does not profile. In verification, it
    also applies to CSV and TSV files, and to local Delta and Iceberg tables. Many tasks profile a
    local Delta or Iceberg table only from four times this size on."""

    sketch_size: PerColumn = 4096
    """Number of hashes to keep per column. The error of an estimated containment is about
    1/sqrt(sketch_size)."""

    sample_size: PerColumn = 64
    """Number of distinct values to keep per column, for the model's features."""

    pattern_count: PerColumn = 3
    """Number of value patterns to keep per column."""

    store: Path | None = None
    """Folder that keeps profiles, evidence and hashes of verified values, so that unchanged tables
    are not read again. It holds the samples, which are values of the data. By default nothing is
    kept."""

    force: bool = False
    """Whether all tables are read again, even if the store has their profiles."""

    keep_values: bool = True
    """Whether values of the data may stay on disk after the run. If false, the store keeps no
    profiles, and no hashes of values or files, and a saved model must not contain words of values.
    """

    detect_personal: bool = True
    """Whether columns of e-mail addresses, phone numbers, IBANs and national identity numbers are
    recognised. The values of personal columns are hashed in samples and never sent."""

    personal_columns: tuple[str, ...] = ()
    """Regular expressions for the names of further personal columns, found anywhere in
    `table.column`, in any case."""

    personal_tags: tuple[str, ...] = ("pii", "personal", "sensitive", "confidential", "gdpr")
    """Regular expressions that mark DataHub tags and glossary terms as personal. A column is
    personal if the column or its dataset has such a tag or term. An expression may match any part
    of a name, in upper or lower case."""

    def __post_init__(self) -> None:
        """Raise an error if a regular expression is invalid."""
        for name in ("personal_columns", "personal_tags"):
            for pattern in getattr(self, name):
                _check_pattern(name, pattern)

    @property
    def value_hash(self) -> ValueHash:
        """The hash function for values in sketches.

        Each run chooses the function; recipes cannot set it.
        """
        return ValueHash.SIPHASH


@dataclass(frozen=True, kw_only=True, slots=True)
class Md5ProfileConfig(ProfileConfig):
    """The settings of a run that hashes values with MD5, so that databases can profile tables.

    It has another text than `ProfileConfig`, so stored profiles of the two are told apart.
    """

    @classmethod
    def of(cls, config: ProfileConfig) -> Self:
        """Copy a recipe's settings for a run that hashes values with MD5."""
        return cls(**{each.name: getattr(config, each.name) for each in fields(config)})

    @property
    def value_hash(self) -> ValueHash:
        """The hash function for values in sketches."""
        return ValueHash.MD5
