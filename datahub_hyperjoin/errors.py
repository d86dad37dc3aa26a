"""The base class of all errors, and the errors that several folders raise.

    HyperJoinError
    ├─ TableError            one table cannot be used; the run continues without it
    ├─ ModelError            a model cannot be trained, loaded or used
    │  ├─ CheckpointMismatchError
    │  └─ DamagedModelError
    ├─ SparkError            Spark cannot run
    ├─ AddressSpaceError     the libraries cannot reserve the memory that they need
    ├─ NotEnoughMemoryError  a run needs more memory than it may use
    ├─ MissingExtraError     a package of an extra is not installed
    ├─ CatalogError          the catalog cannot be read or written
    │  └─ UnknownEntityTypeError
    ├─ FaultyDecisionsError  the file of people's decisions cannot be read
    ├─ LiteralSecretError    the recipe contains a password or key as plain text
    ├─ OutputError           a file or folder cannot be written
    │  ├─ UnwritablePathError
    │  └─ FolderInUseError
    └─ StoredFileError       a file that an earlier run kept cannot be used
       ├─ DamagedFileError
       └─ NoChecksumError

An error that one folder raises is in the `errors` module of that folder. Every error is created by
a named constructor, which writes the message. A message ends with an instruction that fixes the
problem.
"""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.visible import visible


class HyperJoinError(Exception):
    """Base class of all errors that this package raises deliberately.

    Each argument is a line of the message. Names in it are made visible.
    """

    def __str__(self) -> str:
        return "\n".join(map(visible, self.args))


class TableError(HyperJoinError):
    """One table cannot be used; the run continues without it.

    The report adds the recipe key that skips the table.
    """


class ModelError(HyperJoinError):
    """A model cannot be trained, loaded or used."""


class CheckpointMismatchError(ModelError, ValueError):
    """A saved model does not fit the configuration or training data of this run."""

    @classmethod
    def from_fingerprints(cls, *, saved: str, expected: str) -> Self:
        return cls(
            f"the saved model has fingerprint {saved}, this run needs {expected}. Point "
            "`model.path` at another folder, or delete the saved model to train again"
        )

    @classmethod
    def without_model(cls, key: str, folder: str) -> Self:
        return cls(
            f"`{key}` is {folder!r}, which holds no saved model. Set it to the folder that "
            "`model.path` named in an earlier run, or remove the key"
        )

    @classmethod
    def from_architectures(
        cls, key: str, folder: str, *, saved: str, expected: str, differs: str
    ) -> Self:
        return cls(
            f"the model in `{key}` {folder!r} has architecture {saved}, this run needs {expected}: "
            f"they differ in {differs}. Set `model` as it was when that model was trained, name "
            f"another folder, or train without it (`model.reuse: never`, no `model.start`)"
        )


class DamagedModelError(ModelError, ValueError):
    """A file of a saved model is damaged."""

    @classmethod
    def in_file(cls, key: str, folder: str, file: str) -> Self:
        """Report which file of a saved model is damaged.

        The message also names the recipe key of the model's folder.
        """
        return cls(
            f"the model in `{key}` {folder!r} cannot be used: {file} is damaged, or this version "
            "of the package did not save it. Restore the folder from a copy, or delete it"
        )


class SparkError(HyperJoinError):
    """Spark cannot run."""


class AddressSpaceError(HyperJoinError, MemoryError):
    """A limit on this process keeps its libraries from reserving the memory that they need."""

    @classmethod
    def below(cls, least: int, *, limit: int) -> Self:
        return cls(
            f"`ulimit -v` is {limit}, and the libraries of a run reserve more, most of which they "
            f"never use. Set it to at least {least} or to `unlimited`"
        )


class NotEnoughMemoryError(HyperJoinError, MemoryError):
    """A run needs more memory than it may use, so it stops before it compares values."""

    @classmethod
    def from_estimate(
        cls, compared: str, *, needed: int, allowed: int, limit: str, remedies: Sequence[str]
    ) -> Self:
        return cls(
            f"this run needs an estimated {needed:,} MiB of memory, and {limit} {allowed:,} MiB: "
            f"it {compared}. {'; or '.join(remedies)}"
        )


class MissingExtraError(HyperJoinError, ImportError):
    """A package that a recipe option needs is not installed."""

    @classmethod
    def named(cls, *, extra: str, option: str, package: str) -> Self:
        return cls(
            f"`{option}` needs the package {package}. Install it with "
            f"`pip install 'datahub-hyperjoin[{extra}]'`"
        )


class CatalogError(HyperJoinError):
    """The catalog cannot be read or written."""


class UnknownEntityTypeError(CatalogError, LookupError):
    """DataHub's server does not support an entity type.

    The server is too old or was built without the type.
    """

    @classmethod
    def named(cls, entity: str) -> Self:
        return cls(
            f"DataHub's server has no entity type {entity}. Upgrade the server, or run without "
            "the features that need it"
        )


class FaultyDecisionsError(HyperJoinError, ValueError):
    """The file of decisions cannot be read, or a decision could not be read back from it."""

    @classmethod
    def in_file(cls, path: str, faults: Sequence[str]) -> Self:
        lines = (f"  {fault}" for fault in faults)
        return cls(f"`decisions` is {path!r}. Correct this file:", *lines)

    @classmethod
    def of_decision(cls, decision: str, faults: Sequence[str]) -> Self:
        start = f"the decision about {decision!r} is not written, since it could not be read back"
        return cls("\n  ".join([f"{start}:", *faults]))


class LiteralSecretError(HyperJoinError, ValueError):
    """A recipe contains a password, key or token as plain text."""

    @classmethod
    def in_keys(cls, keys: Sequence[str]) -> Self:
        return cls(
            f"the recipe holds a secret as plain text in {', '.join(f'`{key}`' for key in keys)}. "
            "Write `${NAME}` instead and set NAME in the environment; or, if another program "
            "writes the recipe into a private file, set `allow_literal_secrets: true`"
        )


class OutputError(HyperJoinError):
    """Base class of errors about files or folders that cannot be written."""


class UnwritablePathError(OutputError, ValueError):
    """An output path cannot be used.

    Writing to it would fail at the end of the run, or destroy existing data.
    """

    @classmethod
    def because(cls, key: str, path: str, *, reason: str) -> Self:
        return cls(f"`{key}` is {path!r}, and {reason}. Set another path")


class FolderInUseError(OutputError, RuntimeError):
    """Another run uses a folder that allows only one run at a time."""

    @classmethod
    def named(cls, key: str, folder: str) -> Self:
        return cls(
            f"`{key}` is {folder!r}, and another run uses it now. Start this run when the other "
            "has ended, or set another folder"
        )


class StoredFileError(HyperJoinError):
    """A file stored by an earlier run cannot be used."""


class DamagedFileError(StoredFileError, ValueError):
    """A file stored by an earlier run is damaged."""

    @classmethod
    def at(cls, path: str) -> Self:
        return cls(f"{path!r} is damaged: its checksum does not match its content. Delete it")


class NoChecksumError(StoredFileError, ValueError):
    """A stored file has no checksum.

    Another version of the package, or another program, wrote it.
    """

    @classmethod
    def at(cls, path: str) -> Self:
        return cls(f"{path!r} was not written by this version of the package. Move or delete it")
