"""Test that the notebook in `docs/` runs, and gives the outputs that are stored in it."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "docs" / "first_joins.ipynb"


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run a notebook in a folder, as a reader who has installed the package does."""
    resources = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, timeout=300, resources=resources).execute()


def shown(notebook: nbformat.NotebookNode) -> list[list[Mapping[str, Any]]]:
    """Return the outputs of each code cell, without times and the kernel's numbers."""
    outputs = [
        [
            {key: each[key] for key in ("output_type", "name", "text", "data") if key in each}
            for each in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    timeless = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "now", json.dumps(outputs))
    found: list[list[Mapping[str, Any]]] = json.loads(timeless)
    return found


def test_the_stored_outputs_are_those_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The settings and the history of whoever runs the tests stay out of it.
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    folder = tmp_path / "reader"
    folder.mkdir()
    executed = execute(nbformat.read(NOTEBOOK, as_version=4), folder)
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        for cell in executed.cells:
            cell.metadata.pop("execution", None)  # the times of this run
        nbformat.write(executed, NOTEBOOK)
    assert shown(executed) == shown(nbformat.read(NOTEBOOK, as_version=4))
