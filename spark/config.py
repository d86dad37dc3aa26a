"""How much of a table is read, what is kept of it, and where Spark runs."""

from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionConfig:
    """Which Spark to use when none is active yet."""

    master: str = "local[*]"
    """Spark's master URL; a Spark Connect server is `sc://host:port`."""

    settings: dict[str, str] = field(default_factory=dict)
    """Further Spark settings, passed through as they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileConfig:
    """What one pass over a table reads and keeps."""

    max_rows: int = 1_000_000
    """Rows profiled of each table; if it has more, some of all its parts, the same in every run."""

    max_bytes: int = 1 << 32
    """Bytes read of each table, as its rows take in memory; a table of few long rows ends by it."""

    split_bytes: int = 1 << 28
    """Parquet, ORC and tables of databases of so many bytes or more are read in parts, by many
    tasks each."""

    sketch_size: int = 4096
    """Hashes kept of each column; the error of a containment is about 1/sqrt of it."""

    sample_size: int = 64
    """Distinct values kept of each column, for features."""

    pattern_count: int = 3
    """Shapes kept of each column."""

    store: Path | None = None
    """Folder that keeps what was read of tables and pairs, so that what has not changed since is
    not read again. It holds the samples, which are values; without it nothing is kept."""

    force: bool = False
    """Whether everything is read again, whatever is kept."""

    def __post_init__(self) -> None:
        """Refuse sizes that leave nothing to compare."""
        for name, value in asdict(self).items():
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                message = f"`{name}` is {value}; it must be at least 1"
                raise ValueError(message)
