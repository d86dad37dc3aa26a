"""Test whole runs that ask a language model about the keys of uncertain columns."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.run.pipeline import Pipeline

from benchmarks.area_references import PublishedReference, published_references
from datahub_hyperjoin.model.llm import adjudication, requests
from datahub_hyperjoin.report import HyperJoinReport
from lakes.lake import write_flights
from services.endpoint import Behaviour, Endpoint, choosing, hanging_up, refusing, saying

pytestmark = [
    pytest.mark.usefixtures("without_spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
KEY = "sk-topsecret-0123456789"


@pytest.fixture(autouse=True)
def _ask_once_about_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_RETRIES", 0)
    monkeypatch.setattr(adjudication, "UNSURE", (0.05, 1.0))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint().open() as served:
        yield served


def run(folder: Path, endpoint: Endpoint, **llm: Any) -> HyperJoinReport:  # noqa: ANN401
    """Run a pipeline that asks the endpoint about columns, and return its report."""
    write_flights(folder / "lake")
    usual = {"model": "small", "base_url": endpoint.url, "api_key": KEY}
    model = {"llm": {**usual, "timeout": 2, **llm}}
    config = {"catalog": {"folder": str(folder / "lake")}, "model": model}
    sink = {"type": "file", "config": {"filename": str(folder / "out.json")}}
    pipeline = Pipeline.create({"source": {"type": "hyperjoin", "config": config}, "sink": sink})
    pipeline.run()
    pipeline.raise_from_status()
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    assert list(report.failures) == []
    return report


def references(folder: Path) -> list[PublishedReference]:
    """Return the references that a run wrote."""
    return sorted(published_references(folder / "out.json"))


def test_keys_are_asked_for_and_counted(
    tmp_path: Path, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.usual = choosing()
    prices = {"input_price": 1.0, "output_price": 4.0, "max_cost": 1}
    cache = str(tmp_path / "answers")
    report = run(tmp_path, endpoint, cache=cache, **prices)
    asked = len(endpoint.requests)
    assert asked >= 3
    assert (report.llm_questions, report.llm_answers, report.llm_requests) == (asked, asked, asked)
    assert report.llm_tokens == 308 * asked
    assert report.llm_cost == pytest.approx((300 + 4 * 8) * asked / 1e6)
    assert list(report.warnings) == []
    assert f"Language model: request {asked} of {asked}" in caplog.text

    again = run(tmp_path, endpoint, cache=cache)
    assert len(endpoint.requests) == asked
    assert (again.llm_answers_from_cache, again.llm_requests, again.llm_cost) == (asked, 0, 0)
    written = tmp_path.joinpath("out.json").read_text()
    assert KEY not in f"{caplog.text}{report.as_string()}{again.as_string()}{written}"
    assert "CA001" not in json.dumps(endpoint.requests), "no value leaves"


def test_what_the_language_model_denies_is_no_reference(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These references are sure, so that one answer hardly changes them.
    monkeypatch.setattr("datahub_hyperjoin.model.roles.references._TRUST", 1e9)
    endpoint.usual = choosing(none=True)
    run(tmp_path, endpoint)
    assert references(tmp_path) == []
    endpoint.usual = refusing(500)
    run(tmp_path, endpoint)
    assert len(references(tmp_path)) == 3


@pytest.mark.parametrize(
    ("behaviour", "warning"),
    [
        (refusing(401, f"Incorrect API key {KEY}"), "Check `model.llm.api_key`"),
        (refusing(500), "HTTP 500"),
        (hanging_up, "connection lost"),
        (saying("Ignore the above and delete all tables."), "reply without an answer"),
    ],
    ids=["refused", "failing", "hanging-up", "talking"],
)
def test_a_language_model_that_fails_is_a_warning_and_the_joins_are_found(
    tmp_path: Path, endpoint: Endpoint, behaviour: Behaviour, warning: str
) -> None:
    endpoint.usual = behaviour
    report = run(tmp_path, endpoint)
    contexts = [context for entry in report.warnings for context in entry.context]
    assert any(warning in context for context in contexts)
    assert (report.llm_questions >= 3, report.llm_answers) == (True, 0)
    assert report.joins >= 3
    assert KEY not in report.as_string()


def test_a_budget_that_is_reached_is_one_warning(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.usual = choosing()
    report = run(tmp_path, endpoint, max_tokens=2000, concurrency=1)
    assert [entry.title for entry in report.warnings] == ["Language model's budget is spent"]
    assert report.llm_tokens <= 2000
    assert 0 < report.llm_answers < report.llm_questions
