"""Fill a test double of DataHub's server with the tables and joins of a lake."""

from pathlib import Path

import duckdb
from datahub.ingestion.run.pipeline import Pipeline

from gms import Gms
from lakes.lake import describe

_READABLE = (".csv", ".parquet", ".json")


def fill_catalog(server: Gms, folder: Path) -> None:
    """Describe the tables of a folder, as a connector would, and ingest their joins for agents.

    Args:
        server: The double.
        folder: The tables.
    """
    connection = duckdb.connect()
    for file in sorted(folder.rglob("*")):
        if file.suffix in _READABLE:
            columns = connection.sql("SELECT * FROM query_table($1)", params=[str(file)]).columns
            describe(server, file.relative_to(folder).as_posix(), columns)
    recipe = {
        "pipeline_name": "agents",
        "source": {
            "type": "hyperjoin",
            "config": {"catalog": {"folder": str(folder)}, "emit": {"agents": True}},
        },
        "sink": {"type": "datahub-rest", "config": {"server": server.url}},
    }
    pipeline = Pipeline.create(recipe, report_to=None)
    pipeline.run()
    pipeline.raise_from_status()
