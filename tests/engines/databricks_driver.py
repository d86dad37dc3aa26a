"""Lead Databricks' SQLAlchemy dialect to a local Spark, and its driver's conversion of values.

`databricks+local://HOST:PORT?catalog=...&schema=...` is the URL of a server that
`databricks_engine` is. Parameters such as `spark.sql.ansi.enabled` are settings of its sessions.
Importing this module lets SQLAlchemy know such URLs.
"""

from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Client
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from databricks.sql import exc
from databricks.sql.result_set import ResultSet
from sqlalchemy import URL
from sqlalchemy.dialects import registry

from datahub_hyperjoin.spark.databases.databricks import DatabricksReader
from engines.buffered_cursor import BufferedCursor
from engines.databricks_engine import KEY

_ServerOperationError: Callable[[str], Exception] = exc.ServerOperationError
_rows_of: Callable[[Any, pa.Table], Sequence[tuple[object, ...]]] = ResultSet._convert_arrow_table  # noqa: SLF001


class _Cursor(BufferedCursor):
    """A cursor that gets each result as a whole, and its rows from the code of the real driver."""

    arraysize, rowcount = 1, -1

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 (of `multiprocessing`)
        super().__init__()
        self._connection = connection

    def execute(self, statement: str, parameters: Mapping[str, object] | None = None) -> None:
        self._connection.send((statement, {**(parameters or {})}))
        answer = self._connection.recv()
        if isinstance(answer, str):
            raise _ServerOperationError(answer)
        table = pa.ipc.open_stream(answer).read_all()
        description = [(name, *[None] * 6) for name in table.column_names]
        self.description = description or None
        known = SimpleNamespace(
            connection=SimpleNamespace(disable_pandas=False), description=description
        )
        self._rows = _rows_of(known, table) if description else []

    def close(self) -> None:
        """Keep the connection for other cursors."""


class _Connection:
    """A connection without transactions, as those of the real driver are."""

    def __init__(
        self, address: tuple[str, int], schema: str, settings: Mapping[str, str], **_: object
    ) -> None:
        self._connection = Client(address, authkey=KEY)
        self.cursor().execute(f"USE {schema}")
        for name, value in settings.items():
            self.cursor().execute(f"SET {name} = {value}")

    def cursor(self) -> _Cursor:
        return _Cursor(self._connection)

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        self._connection.close()


class LocalDatabricks(DatabricksReader):
    """The dialect that runs use, with another way to the server."""

    driver = "local"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> Any:  # noqa: ANN401 (a module, for SQLAlchemy)
        return SimpleNamespace(**vars(exc), paramstyle="named", connect=_Connection)

    def create_connect_args(self, url: URL) -> Any:  # noqa: ANN401 (as above)
        _, named = super().create_connect_args(url)  # type: ignore[no-untyped-call]
        schema = f"{named['catalog']}.{named['schema'] or 'default'}"
        settings = {name: value for name, value in url.query.items() if "." in name}
        return [(url.host, url.port), schema, settings], {}


registry.register("databricks.local", __name__, "LocalDatabricks")
