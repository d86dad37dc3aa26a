"""Errors about recipe files that cannot be read, and servers that cannot be used."""

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class UnreadableRecipeError(HyperJoinError, ValueError):
    """A recipe file cannot be read.

    Its messages contain no value of the recipe, which may be a secret.
    """

    @classmethod
    def at(cls, file: str, line: int, reason: str) -> Self:
        because = f" ({reason})" if reason else ""
        return cls(
            f"{file}, line {line}: the file cannot be parsed from here on{because}. Correct the "
            "indentation, the colons and the quotes of this line and the one above"
        )

    @classmethod
    def for_characters(cls, file: str) -> Self:
        return cls(f"{file} has characters that no recipe may have. Save it as text in UTF-8")

    @classmethod
    def because(cls, file: str, reason: str) -> Self:
        return cls(f"{file} cannot be read: {reason.rstrip('.')}. Correct the path")

    @classmethod
    def without_sections(cls, file: str) -> Self:
        return cls(f"{file} has no sections. Begin it with the section `source`")


class UnusableServerError(HyperJoinError, OSError):
    """The DataHub server of a recipe cannot be reached, or refuses the recipe's token."""

    @classmethod
    def unreached(cls, key: str, reason: str) -> Self:
        return cls(
            f"`{key}.server`: DataHub cannot be reached: {reason.rstrip('.')}. Start the server, "
            "or correct the address"
        )

    @classmethod
    def refusing(cls, key: str, reason: str) -> Self:
        return cls(
            f"`{key}.token`: DataHub refuses the token: {reason.rstrip('.')}. Create another one "
            "in DataHub's settings, under Access Tokens"
        )

    @classmethod
    def closed(cls, key: str, reason: str) -> Self:
        return cls(
            f"`{key}.token` is missing, and DataHub requires a token: {reason.rstrip('.')}. Create "
            "one in DataHub's settings, under Access Tokens, and write it as "
            "`token: ${DATAHUB_GMS_TOKEN}`"
        )
