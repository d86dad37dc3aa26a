"""Test what commands import, which is most of the time of a short run."""

import json
import subprocess
import sys
from pathlib import Path

ENTERED = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=open({file!r}, "w")))
sys.argv = ["hyperjoin", *{arguments!r}]
from datahub_hyperjoin.cli import main
main()
"""


def entered(tmp_path: Path, *arguments: str) -> tuple[set[str], set[str]]:
    """Return the modules of this package that a command imports, and the other packages."""
    file = tmp_path / "modules"
    code = ENTERED.format(file=str(file), arguments=arguments)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    names = set(file.read_text().strip('["]\n').split('", "'))
    ours = {name for name in names if name.partition(".")[0] == "datahub_hyperjoin"}
    return ours, {name.partition(".")[0] for name in names - ours}


def test_the_help_imports_no_command(tmp_path: Path) -> None:
    ours, others = entered(tmp_path, "--help")
    assert len(ours) <= 6
    assert not others & {"datahub", "numpy", "pydantic", "requests", "rich", "sqlglot"}


def test_a_search_of_two_files_imports_no_room_that_it_does_not_use(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "customers.csv").write_text("id,name\nA1,Ann\nA2,Bo\nA3,Cy\nA4,Di\n")
    (lake / "orders.csv").write_text("order,customer\n1,A1\n2,A1\n3,A3\n4,A2\n5,A4\n")
    ours, others = entered(tmp_path, "find", str(lake))
    # The number may only fall: each module costs about a thousandth of a second.
    assert len(ours) <= 150
    rooms = {".".join(name.split(".")[1:2]) for name in ours}
    assert not rooms & {"emit", "export", "graphql", "metadata", "page", "recipe", "source", "sql"}
    assert not others & {
        "datahub", "duckdb", "fasttext", "openai", "pyspark", "rich", "sklearn", "sknetwork",
        "sqlalchemy", "sqlglot", "torch",
    }  # fmt: skip


def test_joins_of_a_file_import_no_engine_and_no_client(tmp_path: Path) -> None:
    ends = {
        f"{side}_{name}": value
        for side, table in (("left", "a.csv"), ("right", "b.csv"))
        for name, value in {"table": table, "column": "x", "platform": "file", "type": ""}.items()
    }
    join = {**ends, "role": "sibling", "joinability": 0.9, "declared": False, "decision": ""}
    file = tmp_path / "joins.json"
    file.write_text(json.dumps([{**join, "sql": ""}]))
    for command in (("joins",), ("path", "a", "b", "--many-to-many")):
        ours, others = entered(tmp_path, *command, "--in", str(file))
        assert not ours & {"datahub_hyperjoin.discovery", "datahub_hyperjoin.model"}
        assert not others & {"duckdb", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot", "torch"}
        modules = json.loads(tmp_path.joinpath("modules").read_text())
        assert "datahub.ingestion.graph.client" not in modules
