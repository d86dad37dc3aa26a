"""Test that a path of published joins returns the rows that a person expects."""

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from datahub_hyperjoin.cli import main
from gms import Gms
from lakes.lake import write_table

PERSONS, VISITS, DRUGS = 60, 300, 900


def write_clinic(folder: Path) -> None:
    """Write the tables of a clinic.

    Drugs refer to visits and persons, and visits refer to persons and sites.
    """
    random = np.random.default_rng(3)
    persons, visits = np.arange(1, PERSONS + 1), np.arange(50_001, 50_001 + VISITS)
    sites = np.arange(7_001, 7_021)
    years = random.integers(1930, 2010, PERSONS)
    write_table(folder, "person.csv", {"person_id": persons, "year_of_birth": years})
    write_table(
        folder,
        "care_site.csv",
        {"care_site_id": sites, "place": [f"Ward {number}" for number in range(len(sites))]},
    )
    seen = random.choice(persons, VISITS)
    write_table(
        folder,
        "visit_occurrence.csv",
        {
            "visit_occurrence_id": visits,
            "person_id": seen,
            "care_site_id": random.choice(sites, VISITS),
        },
    )
    given = random.integers(0, VISITS, DRUGS)
    write_table(
        folder,
        "drug_exposure.csv",
        {
            "drug_exposure_id": np.arange(900_001, 900_001 + DRUGS),
            "person_id": seen[given],
            "visit_occurrence_id": visits[given],
            "quantity": random.random(DRUGS).round(4) * 100,
        },
    )


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    write_clinic(folder)
    return folder


def test_a_path_follows_the_reference_and_counts_each_row_once(
    gms: Gms, ingest: Callable[..., str], lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest()
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    done = CliRunner().invoke(main, ["path", "drug_exposure.csv", "visit_occurrence.csv", "--json"])
    path = json.loads(done.output)
    assert path["safe"]
    assert path["grain"].endswith("drug_exposure.csv,PROD)")
    (step,) = path["joins"]
    assert (step["role"], step["multiplies_by"]) == ("reference", 1.0)
    conditions = " and ".join(
        f"a.{pair['left']['column']} = b.{pair['right']['column']}" for pair in step["columns"]
    )
    assert "a.visit_occurrence_id = b.visit_occurrence_id" in conditions
    drugs, visits = (f"'{lake}/{name}.csv'" for name in ("drug_exposure", "visit_occurrence"))
    joined = f"select count(*), sum(quantity) from {drugs} a join {visits} b on {conditions}"
    single = f"select count(*), sum(quantity) from {drugs}"
    counts = [duckdb.execute(query).fetchall()[0] for query in (joined, single)]
    assert counts[0] == pytest.approx(counts[1])
