"""Test all SQL that is published for lakes with different spellings of values."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin.metadata.urns import query_urn
from engines.servers import Server

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
Rows = Sequence[tuple[Any, ...]]

MANY = {"ranking": {"top_k": 9, "min_joinability": 0.0}}
CODES = [f"{a}{b}{c}" for a in "ABD" for b in "EFGHJ" for c in "KLMN"]
random = np.random.default_rng(7)


def cased(codes: Sequence[str]) -> list[str]:
    return [code.lower() if at % 2 else f" {code} " for at, code in enumerate(codes)]


def lake() -> dict[str, tuple[tuple[str, ...], Rows]]:
    """Make tables whose columns refer to `code` in another spelling."""
    orders = random.choice(CODES, 240).tolist()
    return {
        "products": (
            ("code", "title", "price"),
            [(code, f"Product {code}", f"{at}.{at % 4 * 25:02}") for at, code in enumerate(CODES)],
        ),
        "orders": (
            ("product", "number", "day"),
            [
                (code, f"{at + 1:06}", f"2024-01-{at % 28 + 1:02}")
                for at, code in enumerate(cased(orders))
            ],
        ),
        "stock": (
            ("product_code", "shelf"),
            [(code, f"S{at % 7}") for at, code in enumerate(CODES[::2])],
        ),
        "invoices": (
            ("order_number", "total"),
            [(at + 1, at * 1.5) for at in range(0, 240, 3)],
        ),
    }


def publish(out: Path, **config: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401
    """Run a recipe, and return its published SQL and its report."""
    recipe = {
        "source": {
            "type": "hyperjoin",
            "config": {"model": MANY, "emit": {"queries": True}, **config},
        },
        "sink": {"type": "file", "config": {"filename": str(out)}},
    }
    pipeline = Pipeline.create(recipe)
    pipeline.run()
    pipeline.raise_from_status()
    proposals = [each for each in json.loads(out.read_text()) if "aspect" in each]
    queries = [each for each in proposals if each["aspectName"] == "queryProperties"]
    return [each["aspect"]["json"]["statement"]["value"] for each in queries], {
        each["entityUrn"]: each["aspect"]["json"]
        for each in proposals
        if each["aspectName"] in {"queryProperties", "erModelRelationshipProperties"}
    }


def promised_rows(aspects: dict[str, Any]) -> dict[str, int]:
    """Map each published statement to the number of rows that its evidence states."""
    return {
        aspects[query_urn(urn)]["statement"]["value"]: int(
            aspect["customProperties"]["joined_rows"]
        )
        for urn, aspect in aspects.items()
        if query_urn(urn) in aspects
    }


def check(aspects: dict[str, Any], count: Callable[[str], int]) -> None:
    """Check that each statement returns as many rows as its evidence states."""
    promised = promised_rows(aspects)
    assert len(promised) >= 4
    for statement, rows in promised.items():
        counted = count(f"SELECT COUNT(*) FROM ({without_stars(statement)}) AS counted")
        assert rows > 0, statement
        assert abs(counted - rows) <= 0.02 * rows, statement


def without_stars(statement: str) -> str:
    """Select one column and drop the limit, so that the statement can be a subquery."""
    return statement.replace("a.*,\n  b.*", "1 AS x").removesuffix("\nLIMIT 100")


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def test_a_lake_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    for name, (columns, rows) in lake().items():
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    statements, aspects = publish(tmp_path / "out.json", catalog={"folder": str(folder)})
    with working_in(folder), duckdb.connect() as connection:
        for statement in statements:
            assert connection.execute(statement).fetchall()
        check(aspects, lambda query: connection.execute(query).fetchall()[0][0])


def test_a_lake_in_a_database(server: Server, tmp_path: Path) -> None:
    types = {"price": "DECIMAL(12,2)", "order_number": "INTEGER", "total": "DECIMAL(18,4)"}
    for name, (columns, rows) in lake().items():
        fields = ", ".join(f"{column} {types.get(column, 'VARCHAR(40)')}" for column in columns)
        listed = ", ".join(f"({', '.join(map(repr, row))})" for row in rows)
        server.run(f"CREATE TABLE {name} ({fields})", f"INSERT INTO {name} VALUES {listed}")
    connection = {
        "database": {"url": server.url},
        "schemas": {"allow": [f"^{server.schema}$"]},
    }
    statements, aspects = publish(tmp_path / "out.json", connections=[connection])

    def run(query: str) -> list[Any]:
        raw = server.engine.raw_connection()
        cursor = raw.cursor()
        cursor.execute(query)
        rows = list(cursor.fetchall())
        raw.close()
        return rows

    assert all(run(statement) for statement in statements)
    check(aspects, lambda query: int(run(query)[0][0]))
