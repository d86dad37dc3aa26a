"""Settings of the Spark session, and settings for reading and profiling tables."""

from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionConfig:
    """Settings of the Spark session that is created if no session is active."""

    master: str = "local[*]"
    """Spark's master URL; `sc://host:port` for a Spark Connect server."""

    settings: dict[str, str] = field(default_factory=dict)
    """Further Spark settings, passed to Spark unchanged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileConfig:
    """Settings for reading tables and building profiles."""

    max_rows: int = 1_000_000
    """Maximum number of rows to profile of each table. Of a table with more rows, a random sample
    of all its parts is profiled, which is the same in every run."""

    max_bytes: int = 1 << 32
    """Maximum number of bytes to read of each table, as its rows take in memory. It limits tables
    of few long rows."""

    split_bytes: int = 1 << 28
    """Size in bytes from which a Parquet file, an ORC file or a database table is read by many
    tasks at once."""

    sketch_size: int = 4096
    """Number of hashes to keep per column. The error of an estimated containment is about
    1/sqrt(sketch_size)."""

    sample_size: int = 64
    """Number of distinct values to keep per column, for the model's features."""

    pattern_count: int = 3
    """Number of value patterns to keep per column."""

    store: Path | None = None
    """Folder that keeps profiles and evidence, so that unchanged tables are not read again. It
    holds the samples, which are values of the data. By default nothing is kept."""

    force: bool = False
    """Whether all tables are read again, even if the store has their profiles."""

    def __post_init__(self) -> None:
        """Reject limits below 1, because no values could then be compared."""
        for name, value in asdict(self).items():
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                message = f"`{name}` is {value}; it must be at least 1"
                raise ValueError(message)
