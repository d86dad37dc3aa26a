"""Errors of the server for agents.

HyperJoinError
├─ MissingMcpError       the package `mcp` is not installed
└─ UnguardedServerError  others could reach the server without a token
"""

from typing_extensions import Self

from datahub_hyperjoin.errors import HyperJoinError


class MissingMcpError(HyperJoinError, ImportError):
    """The optional package `mcp` is not installed."""

    @classmethod
    def for_command(cls) -> Self:
        return cls(
            "`hyperjoin mcp` needs the package `mcp`. Run `pip install 'datahub-hyperjoin[mcp]'`"
        )


class UnguardedServerError(HyperJoinError, ValueError):
    """The options of the server for agents are unsafe or incomplete."""

    @classmethod
    def without_token(cls, host: str, variable: str) -> Self:
        return cls(
            f"other machines can reach `--host {host}`, and no token keeps them out. Set "
            f"{variable} in the environment, or remove `--host`"
        )

    @classmethod
    def deciding_without_token(cls, variable: str) -> Self:
        return cls(
            "without a token, every user of this machine could accept and reject joins in your "
            f"name. Add `--read-only`, or set {variable} in the environment"
        )

    @classmethod
    def with_short_token(cls, variable: str, least: int) -> Self:
        return cls(
            f"the token in {variable} can be guessed. Use at least {least} characters without "
            "spaces, such as those of `openssl rand -hex 32`"
        )

    @classmethod
    def without_names(cls, host: str) -> Self:
        return cls(
            f"`--host {host}` is no name that clients use. Add `--allow-host` with the name or "
            "address under which they reach the server"
        )
