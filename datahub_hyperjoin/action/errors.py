"""Errors of the DataHub Action."""

from collections.abc import Sequence

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class RefusedActionError(HyperJoinError, ValueError):
    """The action cannot start until its configuration is corrected."""

    @classmethod
    def because(cls, faults: Sequence[str]) -> Self:
        lines = [f"- {fault}" for fault in faults]
        return cls("Correct the action's configuration:", *lines)

    @classmethod
    def without_server(cls) -> Self:
        return cls.because(
            ["`datahub` is missing. Add the section beside `action`, with `server` and `token`"]
        )

    @classmethod
    def unreadable_recipe(cls, path: str, reason: str) -> Self:
        return cls.because([f"`recipe` is {path!r}, which cannot be read: {reason}"])

    @classmethod
    def of_another_source(cls, path: str, kind: str) -> Self:
        fix = "Name a recipe whose `source.type` is `hyperjoin`"
        return cls.because([f"`recipe` is {path!r}, which runs the source {kind!r}. {fix}"])

    @classmethod
    def without_server_in_recipe(cls, path: str) -> Self:
        fix = "Use its sink `datahub-rest`, because the action changes the catalog itself"
        return cls.because([f"`recipe` is {path!r}, which writes to no server. {fix}"])

    @classmethod
    def without_store(cls, path: str) -> Self:
        fix = "Set `profile.store` to a folder, and run the recipe once"
        return cls.because(
            [f"`recipe` is {path!r}, which would read all tables after every decision. {fix}"]
        )

    @classmethod
    def without_model(cls, path: str) -> Self:
        fix = "Set `model.path` to a folder, and run the recipe once with `datahub ingest`"
        return cls.because(
            [f"`recipe` is {path!r}, which would train a network after every decision. {fix}"]
        )


class MalformedEventError(HyperJoinError, ValueError):
    """An event does not have the form that DataHub's metadata model prescribes."""

    @classmethod
    def because(cls, reason: str) -> Self:
        return cls(f"{reason}. Check that the action and the server have the same DataHub release")


class UnrecordedRemovalError(HyperJoinError):
    """DataHub did not record that a person removed suggestions from a column."""

    @classmethod
    def of_column(cls, column: str, reason: str) -> Self:
        return cls(
            f"the removed suggestions of {column} cannot be recorded as rejected: {reason}. List "
            "them under its *Rejected joins* in DataHub"
        )
