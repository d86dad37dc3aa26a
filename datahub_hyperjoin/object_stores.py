"""Object stores that are read without Spark, and how to reach them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from typing_extensions import Self

STORE_SCHEMES = ("s3", "gs", "abfs", "abfss")
"""Schemes of the URIs of stores that Arrow can read."""

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class FolderReader(str, Enum):
    """The library that lists and reads the files of a remote folder."""

    ARROW = "arrow"
    """Arrow, which works in any process: it needs no jar, and small lakes need no Spark."""

    SPARK = "spark"
    """Spark, with the jars and settings that its session has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStore:
    """The endpoint and region of an object store.

    The credentials come from the environment of each process.
    """

    endpoint: str = ""
    """URL of a store that speaks S3, as in `http://127.0.0.1:9000`; empty for Amazon's own."""

    region: str = ""
    """Region of the bucket. If empty, Amazon reports the region; for another endpoint, the
    environment defines it."""

    @classmethod
    def of_environment(
        cls, *, endpoint: str = "", region: str = "", environment: Mapping[str, str] = os.environ
    ) -> Self:
        """Create a store, with the endpoint from Amazon's environment variables by default.

        The processes that read the files may have another environment.
        """
        named = (environment.get(name, "") for name in _ENDPOINTS)
        return cls(endpoint=endpoint or next(filter(None, named), ""), region=region)


def is_in_store(uri: str) -> bool:
    """Return whether a URI has the scheme of an object store that Arrow can read.

    Examples:
        >>> is_in_store("s3://lake/sales"), is_in_store("s3a://lake/sales"), is_in_store("lake")
        (True, False, False)
    """
    return uri.partition("://")[0] in STORE_SCHEMES and "://" in uri


def check_store_uri(uri: str) -> None:
    """Refuse a URI that Arrow cannot read, or that contains a secret."""
    scheme, _, rest = uri.partition("://")
    if scheme not in STORE_SCHEMES:
        message = (
            f"`reader: arrow` does not read {scheme}://. Write the URI with one of "
            f"{', '.join(STORE_SCHEMES)}, or set `reader: spark`"
        )
        raise ValueError(message)
    host = rest.partition("/")[0]
    # `abfss` has the container before the @, and may have a key after a colon.
    if "@" in host and (scheme in {"s3", "gs"} or ":" in host.rpartition("@")[0]):
        message = (
            f"the {scheme}:// URI contains credentials. Give them in the environment, for S3 as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
        raise ValueError(message)
    if not host:
        message = f"the {scheme}:// URI names no bucket. Write it as in s3://lake/sales"
        raise ValueError(message)
