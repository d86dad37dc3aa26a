"""Set up sessions of Snowflake."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import URL


def snowflake_arguments(url: "URL") -> dict[str, object]:
    """Return the arguments with which Snowflake's driver opens a connection.

    They set parameters of the session when it begins. Formats are those that our SQL relies on,
    whatever the account or the user prefers.
    """
    if url.get_backend_name() != "snowflake":
        return {}
    parameters = {
        "DATE_INPUT_FORMAT": "AUTO",
        "QUERY_TAG": "datahub-hyperjoin",
        # With true, a quoted name in small letters would be another name.
        "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
        "TIMESTAMP_INPUT_FORMAT": "AUTO",
        "TIMEZONE": "UTC",
    }
    return {"session_parameters": parameters}
