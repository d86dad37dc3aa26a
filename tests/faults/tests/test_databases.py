"""Tests of `faults.databases`, which damages tables of databases between two stages of a run."""

from faults.databases import VERIFIES

from datahub_hyperjoin.spark.verification.verify import verify_joins


def test_the_attack_replaces_the_function_that_runs_call() -> None:
    assert getattr(VERIFIES, verify_joins.__name__) is verify_joins
