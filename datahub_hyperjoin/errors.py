"""The errors of this package, one tree.

    HyperJoinError
    ├─ TableError            one table's fault: the run goes on without it
    │  ├─ UnreadableTableError
    │  └─ EmptyTableError
    ├─ ModelError            the network cannot be trained or loaded
    │  ├─ NothingToLearnError
    │  ├─ VectorFileError
    │  ├─ VectorTrainingError
    │  ├─ NonFiniteLossError
    │  ├─ CollapsedError
    │  └─ CheckpointMismatchError
    ├─ SearchError           an index asked for what it does not hold
    │  ├─ DimensionMismatchError
    │  └─ EmptyIndexError
    ├─ SparkError            Spark cannot run
    │  └─ MissingJavaError
    ├─ CatalogError          the catalog cannot be read or written
    │  ├─ MissingFolderError
    │  ├─ NoTablesError
    │  ├─ MissingExtraError
    │  ├─ UnreadableCatalogError
    │  ├─ UnknownDatasetsError
    │  ├─ UnknownEntityTypeError
    │  └─ RefusedError
    └─ OutputError           a path of the recipe cannot be written
       └─ UnwritablePathError

Others stand in `graphql/errors.py`, `catalog/errors.py` and `spark/errors.py`, below
`CatalogError`, and in `model/llm/reply.py`, below `ModelError`.
Every error is made by a named constructor that owns its sentence, which ends in what to do.
"""

from typing_extensions import Self


class HyperJoinError(Exception):
    """Root of everything this package raises on purpose."""


class TableError(HyperJoinError):
    """One table cannot be used. Whoever says so adds the recipe's key that leaves it out."""


class UnreadableTableError(TableError, ValueError):
    """The bytes of a table do not parse as its format says."""

    @classmethod
    def because(cls, reason: str) -> Self:
        """The table's bytes do not parse, for a reason in the reader's words."""
        return cls(f"cannot be read: {reason}. Fix the file")

    @classmethod
    def not_text(cls) -> Self:
        """The file is named as text, and its bytes are those of something else."""
        return cls.because("its bytes are no text")

    @classmethod
    def without_names(cls) -> Self:
        """Every column is nameless, or shares its name."""
        return cls.because("no column has a name of its own")

    @classmethod
    def ragged(cls, rows: int) -> Self:
        """No row fits the header."""
        return cls.because(f"none of its {rows} rows has as many fields as the header")


class EmptyTableError(TableError, ValueError):
    """A table without rows has nothing to join on."""

    @classmethod
    def without_content(cls) -> Self:
        """The file has no bytes at all."""
        return cls("is an empty file. Fill it")

    @classmethod
    def without_rows(cls) -> Self:
        """The file has a header and nothing else."""
        return cls("has a header and no rows. Fill it")


class ModelError(HyperJoinError):
    """The network cannot be trained or loaded."""


class NothingToLearnError(ModelError, ValueError):
    """Training needs pairs, and pairs need key columns."""

    @classmethod
    def from_counts(cls, *, tables: int, keys: int) -> Self:
        """There are too few tables or key columns for even one pair and one negative."""
        return cls(
            f"{keys} key columns in {tables} tables are too few to learn from: at least 2 key "
            "columns in 2 tables are needed. Widen `catalog`, or loosen `model.keys`"
        )


class VectorFileError(ModelError, ValueError):
    """A file of word vectors cannot be used."""

    @classmethod
    def from_path(cls, path: str, *, reason: str) -> Self:
        """The file, and what fastText says of it."""
        return cls(
            f"`model.features.vectors` {path!r} is no fastText model: {reason} Give a .bin file, "
            "or leave the key out to train on the lake"
        )


class VectorTrainingError(ModelError, RuntimeError):
    """fastText could not be trained on the lake."""

    @classmethod
    def from_output(cls, output: str) -> Self:
        """The last line that fastText's process wrote says why."""
        reason = (output.strip().splitlines() or ["no reason given"])[-1]
        return cls(
            f"fastText could not learn word vectors from this lake: {reason}. Give pretrained "
            "ones with `model.features.vectors`"
        )


class NonFiniteLossError(ModelError, ArithmeticError):
    """The training loss became infinite or undefined."""

    @classmethod
    def at_epoch(cls, epoch: int, loss: float) -> Self:
        """Training stops at the first epoch whose loss is not a number."""
        return cls(f"the loss became {loss} in epoch {epoch}. Lower `model.training.learning_rate`")


class CollapsedError(ModelError, ArithmeticError):
    """The network gives every column the same embedding."""

    @classmethod
    def from_cosine(cls, cosine: float) -> Self:
        """Random columns are as similar as joinable ones."""
        return cls(
            f"all embeddings are alike (mean cosine of random pairs {cosine:.3f}). Raise "
            "`model.training.margin`, or use `model.training.loss: infonce` or `semi-hard`"
        )


class CheckpointMismatchError(ModelError, ValueError):
    """A saved model was made by another configuration or from other data."""

    def __init__(self, message: str, *, found: str = "", expected: str = "") -> None:
        """Keep both fingerprints beside the sentence."""
        super().__init__(message)
        self.found = found
        self.expected = expected

    @classmethod
    def from_fingerprints(cls, *, found: str, expected: str) -> Self:
        """The model in the folder is not the one this run needs."""
        return cls(
            f"the saved model has fingerprint {found}, this run needs {expected}. Point "
            "`model.path` at another folder, or remove the old one to train again",
            found=found,
            expected=expected,
        )

    @classmethod
    def without_model(cls, key: str, folder: str) -> Self:
        """The recipe's key, and a folder that holds no whole model."""
        return cls(
            f"`{key}` is {folder!r}, and no saved model is there. Give the folder that "
            "`model.path` named in an earlier run, or leave the key out",
            found="none",
        )

    @classmethod
    def from_architectures(
        cls, key: str, folder: str, *, found: str, expected: str, differs: str
    ) -> Self:
        """The recipe's key, both fingerprints, and what the two disagree about."""
        return cls(
            f"the model in `{key}` {folder!r} has architecture {found}, this run needs {expected}: "
            f"they differ in {differs}. Give `model` the settings it was trained with, name "
            f"another folder, or train anew without it (`model.reuse: never`, no `model.start`)",
            found=found,
            expected=expected,
        )


class SearchError(HyperJoinError):
    """An index was asked for what it does not hold."""


class DimensionMismatchError(SearchError, ValueError):
    """Queries and index disagree about the length of an embedding."""

    @classmethod
    def from_sizes(cls, *, index: int, queries: int) -> Self:
        """Both lengths, so that the wrong side can be told."""
        return cls(
            f"queries have {queries} dimensions, the index has {index}. Encode both with the "
            "same model"
        )


class EmptyIndexError(SearchError, ValueError):
    """There is nothing to search in."""

    @classmethod
    def without_columns(cls) -> Self:
        """No column was added to the index."""
        return cls("the index holds no column. Add embeddings before searching")


class SparkError(HyperJoinError):
    """Spark cannot run."""


class MissingJavaError(SparkError, OSError):
    """Spark runs on Java, and there is none that it can use."""

    @classmethod
    def nowhere(cls) -> Self:
        """Neither JAVA_HOME nor PATH leads to Java."""
        return cls(
            "Spark needs Java 17 or newer, and neither JAVA_HOME nor PATH leads to one. Install "
            "it, for example with `apt-get install openjdk-17-jre-headless`, or set "
            "`spark.master` to a Spark Connect server, `sc://host:port`"
        )

    @classmethod
    def refused(cls, java: str) -> Self:
        """Java is there and ended before Spark ran; it is most often too old."""
        return cls(
            f"Spark needs Java 17 or newer, and {java} ended before Spark had started. Read its "
            "words above, and see `java -version`; Java 17 comes, for example, with `apt-get "
            "install openjdk-17-jre-headless`"
        )


class CatalogError(HyperJoinError):
    """The catalog cannot be read or written."""


class MissingFolderError(CatalogError, FileNotFoundError):
    """The recipe names a folder that is not there."""

    @classmethod
    def at(cls, folder: str) -> Self:
        """The folder as the recipe wrote it."""
        return cls(f"`catalog.folder` is {folder!r}, and no such folder exists. Correct the path")


class NoTablesError(CatalogError, ValueError):
    """Nothing that could be a table is where tables are looked for."""

    @classmethod
    def in_folder(cls, folder: str, *, seen: int) -> Self:
        """Nothing in the folder is a table, or the filters leave nothing."""
        return cls(
            f"`catalog.folder` {folder!r} has {seen} files and none is a table that "
            "`catalog.tables` allows. Files must end in .csv, .tsv, .jsonl, .parquet, .orc or .avro"
        )

    @classmethod
    def in_database(cls, connection: str, *, seen: int) -> Self:
        """The database has no table, or none that the filters leave."""
        return cls(
            f"`{connection}` has {seen} tables and none that its `tables` and `schemas` allow"
        )


class MissingExtraError(CatalogError, ImportError):
    """A package that an option needs is not installed."""

    @classmethod
    def named(cls, *, extra: str, option: str, package: str) -> Self:
        """The option, the package it misses, and the extra that carries it."""
        return cls(
            f"`{option}` needs the package {package}. Install it with "
            f"`pip install 'datahub-hyperjoin[{extra}]'`"
        )


class UnreadableCatalogError(CatalogError, OSError):
    """DataHub's server gives no answer that can be used."""

    @classmethod
    def because(cls, what: str, reason: str) -> Self:
        """What was to be read, and what came instead."""
        return cls(
            f"{what} cannot be read from DataHub: {reason.rstrip('.')}. Check the address and the "
            "token of the recipe's `sink` or `datahub_api`, and that the token's owner may read "
            "metadata"
        )


class UnknownDatasetsError(CatalogError, LookupError):
    """The catalog knows none of the tables that can be read."""

    @classmethod
    def on_platform(cls, platform: str, env: str, *, example: str) -> Self:
        """Where they were looked for, and the name of one that was not there."""
        return cls(
            f"DataHub knows none of the tables on platform {platform!r} in env {env!r}, for "
            f"example {example!r}. Ingest them with their own source first, correct "
            "`catalog.platform`, `platform_instance` and `env`, or set `catalog.known_only: false`"
        )


class UnknownEntityTypeError(CatalogError, LookupError):
    """DataHub's server is too old for a kind of thing, or was built without it."""

    def __init__(self, message: str, *, entity: str = "") -> None:
        """Keep the entity type beside the sentence."""
        super().__init__(message)
        self.entity = entity

    @classmethod
    def named(cls, entity: str) -> Self:
        """The entity type as DataHub's own models name it."""
        return cls(
            f"DataHub's server knows no entity type {entity}. Upgrade the server, or go without "
            "what the catalog says through it",
            entity=entity,
        )


class RefusedError(CatalogError, RuntimeError):
    """DataHub's server refuses what a run must write before anything else."""

    @classmethod
    def definition(cls, urn: str, *, reason: str) -> Self:
        """What was to be defined, and the server's words."""
        return cls(
            f"DataHub's server did not define {urn}: {reason.rstrip('.')}. Let the sink's token "
            "manage structured properties and tags, or switch off `emit.properties` or "
            "`emit.relationships`"
        )


class OutputError(HyperJoinError):
    """A path of the recipe cannot be written."""


class UnwritablePathError(OutputError, ValueError):
    """A run would fail at its end, or destroy what is there already."""

    @classmethod
    def because(cls, key: str, path: str, *, reason: str) -> Self:
        """The recipe's key, its value, and what stands in the way."""
        return cls(f"`{key}` is {path!r}, and {reason}. Give another path")
