"""Test that lakes without rows are ranked by names."""

from pathlib import Path

import pytest

from datahub_hyperjoin.evaluate import EvaluationProgress, Pipeline
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.tables import DataType, Table, TableId, TableProfile, describe_columns

SCHEMA = {
    "customers": ("id", "name"),
    "orders": ("id", "customer_id", "product_id"),
    "products": ("id", "title"),
}


def profile(name: str, paths: tuple[str, ...]) -> TableProfile:
    id_ = TableId("file", f"{name}.csv")
    return TableProfile(
        table=Table(id=id_, title=name, location=File(uri=name, format="csv"), size=1),
        columns=describe_columns(id_, ((path, DataType.TEXT) for path in paths)),
        fault="has a header but no rows. Add rows",
    )


@pytest.mark.parametrize("scoring", [Scoring.SIGNALS, Scoring.BLEND])
def test_headers_are_ranked_by_the_references_that_they_name(
    scoring: Scoring, tmp_path: Path
) -> None:
    query, answer = ColumnName("orders", "customer_id"), ColumnName("customers", "id")
    lake = ProfiledLake(
        labelled=LabelledLake(
            folder=tmp_path,
            headers={name: frozenset(paths) for name, paths in SCHEMA.items()},
            truth={query: frozenset([answer])},
        ),
        profiles=tuple(profile(name, paths) for name, paths in SCHEMA.items()),
        seconds=0.0,
    )
    config = ModelConfig(ranking=RankingConfig(scoring=scoring))
    said: list[str] = []
    rankings = Pipeline("full", "full", config).rank(
        lake, seed=0, models=tmp_path, progress=EvaluationProgress(said.append)
    )
    assert rankings[query][0].candidate == answer
    assert rankings[query][0].score > 0.5
