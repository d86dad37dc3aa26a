"""Measure the bytes and CPU time of profiling tables in a database, and of reading their rows.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_database`.

It fills a temporary schema of a server with tables of `--rows` rows, from the fewest to the most in
equal ratios: keys, references, words, dates, times, prices, floats and texts. `--server` chooses
PostgreSQL, MariaDB or ClickHouse; `HYPERJOIN_POSTGRES`, `HYPERJOIN_MARIADB` and
`HYPERJOIN_CLICKHOUSE` are their URLs, if not those of this machine. Without the last, it starts
ClickHouse's engine as a Python package, `chdb-core`. A proxy counts the bytes that the server
sends; ClickHouse compresses all of them, unless `--plain` asks it not to. CPU seconds of the client
are those of all its processes, without the proxy and the engine; those of the server are known only
if it runs on this machine, and include other work.
"""

import argparse
import collections
import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
import psutil
from pydantic import SecretStr
from sqlalchemy import make_url
from tabulate import tabulate

from benchmarks.bench_catalog import cpu_seconds
from benchmarks.bench_profile import write_lake
from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_each
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.tables import ColumnProfile, Table, TableProfile
from engines.servers import Server, serving

_CHUNK = 1 << 16
_FILES, _TURNS = 250, 7
_TABLES = {
    "postgresql": """
        CREATE TABLE {name} AS SELECT
            i AS id,
            (i * 7919::bigint) % {references} + 1 AS customer_id,
            (ARRAY['open', 'paid', 'sent', 'closed', NULL])[i % 5 + 1] AS status,
            date '2015-01-01' + (i * 31::bigint % 4000)::int AS ordered,
            timestamp '2015-01-01' + i * 7919::bigint % 100000000 * interval '1 second' AS changed,
            ((i * 104729::bigint) % 1000000 / 100.0)::numeric(12, 2) AS price,
            sin(i) AS weight,
            'Customer ' || md5(({seed} + i)::text) AS name
        FROM generate_series(1, {rows}) i
    """,
    "mariadb": """
        CREATE TABLE {name} AS SELECT
            CAST(seq AS INTEGER) AS id,
            seq * 7919 % {references} + 1 AS customer_id,
            elt(seq % 5 + 1, 'open', 'paid', 'sent', 'closed', NULL) AS status,
            date '2015-01-01' + INTERVAL seq * 31 % 4000 DAY AS ordered,
            timestamp '2015-01-01 00:00:00' + INTERVAL seq * 7919 % 100000000 SECOND AS changed,
            CAST(seq * 104729 % 1000000 / 100.0 AS DECIMAL(12, 2)) AS price,
            sin(seq) AS weight,
            concat('Customer ', md5({seed} + seq)) AS name
        FROM seq_1_to_{rows}
    """,
    "clickhouse": """
        CREATE TABLE {name} ENGINE = MergeTree PRIMARY KEY id AS SELECT
            toInt32(number + 1) AS id,
            id * 7919 % {references} + 1 AS customer_id,
            if(id % 5 = 4, NULL, ['open', 'paid', 'sent', 'closed'][id % 5 + 1]) AS status,
            toDate('2015-01-01') + id * 31 % 4000 AS ordered,
            toDateTime('2015-01-01 00:00:00') + id * 7919 % 100000000 AS changed,
            toDecimal64(id * 104729 % 1000000 / 100, 2) AS price,
            sin(id) AS weight,
            concat('Customer ', lower(hex(MD5(toString({seed} + id))))) AS name
        FROM numbers({rows})
    """,
}
# ClickHouse's driver writes it after the host, where its settings follow.
_PLAIN = {"endpoint": "?enable_http_compression=0"}
_PORTS = {"postgresql": 5432, "mariadb": 3306, "clickhouse": 8123}


@dataclass(frozen=True)
class _Measures:
    """The cost of profiling all tables with one setting of `compute`, and the profiles."""

    sent: int
    """Bytes that the server sent."""

    seconds: float
    client: float
    """CPU seconds."""

    server: float
    """CPU seconds; not a number if the server is on another machine."""

    profiles: tuple[TableProfile, ...]


class _Proxy:
    """A TCP proxy in a process of its own, which counts the bytes from the server."""

    def __init__(self, host: str, port: int) -> None:
        context = get_context("fork")
        self._sent = context.Value("q", 0)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        relay = (listener, (host, port), self._sent)
        self._process = context.Process(target=_relay, args=relay, daemon=True)
        self._process.start()
        listener.close()

    @property
    def sent(self) -> int:
        """Bytes that the server has sent so far."""
        return int(self._sent.value)

    @property
    def cpu(self) -> float:
        """CPU seconds of the proxy so far."""
        return sum(psutil.Process(self._process.pid).cpu_times()[:2])

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()


def _relay(listener: socket.socket, server: tuple[str, int], sent: "Synchronized[int]") -> None:
    """Relay all connections in one thread, and add the bytes from the server to `sent`."""
    other: dict[socket.socket, socket.socket] = {}
    servers: set[socket.socket] = set()
    while True:
        for ready in select.select([listener, *other], [], [])[0]:
            if ready is listener:
                near, far = listener.accept()[0], socket.create_connection(server)
                other |= {near: far, far: near}
                servers.add(far)
            elif ready in other:
                data = ready.recv(_CHUNK)
                if data:
                    sent.value += len(data) if ready in servers else 0
                    other[ready].sendall(data)
                    continue
                for end in (ready, other[ready]):
                    del other[end]
                    servers.discard(end)
                    end.close()


@contextmanager
def _proxy(server: Server) -> Iterator[tuple[_Proxy, str]]:
    """Yield a proxy of a server, and the URL that leads through it."""
    url = make_url(server.url)
    proxy = _Proxy(url.host or "127.0.0.1", url.port or _PORTS[server.kind])
    try:
        through = url.set(host="127.0.0.1", port=proxy.port)
        yield proxy, through.render_as_string(hide_password=False)
    finally:
        proxy.close()


def _fill(server: Server, tables: int, fewest: int, most: int) -> None:
    for at, rows in enumerate(np.geomspace(fewest, most, tables).astype(int).tolist()):
        statement = _TABLES[server.kind].format(
            name=f"t{at}", rows=rows, references=rows // 4 + 1, seed=at
        )
        server.run(statement)
        if server.kind != "clickhouse":
            server.run(f"ALTER TABLE t{at} ADD PRIMARY KEY (id)")
        # MariaDB learns the sizes of new tables only later.
        server.run(*([f"ANALYZE TABLE t{at}"] if server.kind == "mariadb" else []))


def _scan(server: Server, url: str, compute: Compute) -> list[Table]:
    selection = ConnectionConfig.model_validate(
        {"database": {"url": url}, "schemas": {"allow": [f"^{server.schema}$"]}}
    ).selection
    return scan_database("connections[0]", Database(url=SecretStr(url), compute=compute), selection)


def _process(server: Server) -> psutil.Process | None:
    """Return the server's main process, or None if it runs on another machine."""
    url = make_url(server.url)
    if url.host not in {"127.0.0.1", "localhost", None}:
        return None
    port = url.port or _PORTS[server.kind]
    listening = (
        each.pid
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr.port == port and each.pid
    )
    # Processes that PostgreSQL starts for connections listen, too.
    return min(map(psutil.Process, listening), key=lambda each: each.create_time(), default=None)


def _server_seconds(process: psutil.Process | None) -> float:
    if process is None:
        return float("nan")
    # Those of PostgreSQL's connections count once they have ended, as they have when it is asked.
    return float(sum(process.cpu_times()[:4]))


def _own_seconds(process: psutil.Process | None) -> float:
    """Return the server's CPU seconds if this process has started the server; else 0."""
    is_own = process in psutil.Process().children()
    return _server_seconds(process) if is_own else 0.0


def _measure(server: Server, compute: Compute, query: Mapping[str, str]) -> _Measures:
    """Profile all tables without Spark, and measure the cost; add `query` to the server's URL."""
    process = _process(server)
    with _proxy(server) as (proxy, through):
        url = make_url(through).update_query_dict(query).render_as_string(hide_password=False)
        tables = _scan(server, url, compute)
        own = proxy.cpu + _own_seconds(process)
        before = (proxy.sent, cpu_seconds() - own, _server_seconds(process))
        started = perf_counter()
        profiles = read_profiles(tables, lambda: None, ProfileConfig(), HyperJoinReport())
        seconds = perf_counter() - started
        own = proxy.cpu + _own_seconds(process)
        after = (proxy.sent, cpu_seconds() - own, _server_seconds(process))
    sent, client, used = (end - start for start, end in zip(before, after, strict=True))
    return _Measures(int(sent), seconds, client, used, profiles)


def _compare(read: _Measures, counted: _Measures) -> str:
    """Describe how the profiles counted in the database differ from those made by reading rows."""
    pairs = [
        pair
        for tables in zip(read.profiles, counted.profiles, strict=True)
        for pair in zip(tables[0].columns, tables[1].columns, strict=True)
    ]
    equal = sum(_exact(left) == _exact(right) for left, right in pairs)
    errors = [abs(right.distinct / left.distinct - 1) for left, right in pairs]
    return (
        f"{equal} of {len(pairs)} columns have equal types, rows, nulls and lengths; numbers of "
        f"distinct values differ by {median(errors):.1%} in the median and {max(errors):.1%} at "
        "most, by the error of both estimates"
    )


def _exact(column: ColumnProfile) -> tuple[object, ...]:
    shortest, longest = column.lengths.shortest, column.lengths.longest
    return column.type, column.rows, column.nulls, shortest, longest, column.notation


def _cost_of_md5() -> float:
    """Return the CPU time of profiling files with MD5 as a multiple of the time with SipHash."""
    took: dict[ProfileConfig, list[float]] = {
        config: [] for config in (ProfileConfig(), Md5ProfileConfig())
    }
    with TemporaryDirectory() as folder:
        write_lake(Path(folder) / "lake", _FILES)
        selection = TableSelection(platform="file", env="PROD")
        tables = scan_folder(Path(folder) / "lake", selection, warn=print)
        for _ in range(_TURNS):
            for config, times in took.items():
                started = process_time()
                collections.deque(profile_each(tables, config, Databases()), maxlen=0)
                times.append(process_time() - started)
    with_siphash, with_md5 = map(median, took.values())
    return with_md5 / with_siphash


def main() -> None:
    """Run the benchmark, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=_TABLES, default="postgresql")
    parser.add_argument("--tables", type=int, default=300, help="number of tables")
    parser.add_argument("--rows", type=int, nargs=2, default=(1_000, 200_000), help="rows of each")
    parser.add_argument("--plain", action="store_true", help="let ClickHouse compress nothing")
    options = parser.parse_args()
    query = _PLAIN if options.plain else {}
    print(
        f"For {_FILES} CSV files, profiling with MD5 takes {_cost_of_md5():.2f} times the CPU time "
        f"of SipHash, in the median of {_TURNS} turns\n"
    )
    with TemporaryDirectory() as folder, serving(options.server, Path(folder)) as server:
        _fill(server, options.tables, *options.rows)
        # The other way round, the first would also pay for starting processes.
        counted = _measure(server, Compute.DATABASE, query)
        read = _measure(server, Compute.SPARK, query)
    rows = [
        (
            way,
            each.sent / 2**20,
            f"{each.sent / read.sent:.1%}",
            each.seconds,
            each.client,
            each.server,
        )
        for way, each in (("rows", read), ("counts", counted))
    ]
    print(tabulate(rows, _HEADERS, floatfmt=".1f"), "\n")
    print(_compare(read, counted))


_HEADERS = ("what leaves", "MiB", "share", "s", "CPU s of the client", "CPU s of the server")


if __name__ == "__main__":
    main()
