import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm.client import Client, read_wait
from datahub_hyperjoin.model.llm.naming import ask_names
from datahub_hyperjoin.model.llm.prompt import FORMS
from datahub_hyperjoin.model.llm.question import ColumnInWords
from datahub_hyperjoin.model.llm.requests import Requester
from services.endpoint import Answer, Behaviour, Endpoint, hanging_up, naming, refusing, saying

Configure = Callable[..., LanguageModelConfig]
PROMPT = ask_names([ColumnInWords("", "orders", ("id", "customer"), "customer", ())], 100)
NAMED = {1: "alt_customer"}


def ask(config: LanguageModelConfig, *, times: int = 1, first_wait: float = 0.001) -> Any:  # noqa: ANN401
    """Ask the same question several times, and return the answers and the requester."""
    with closing(Client(config)) as client:
        requester = Requester(client.send, config, first_wait=first_wait)
        return [requester.ask(PROMPT) for _ in range(times)], requester


@pytest.mark.parametrize(
    "fault", [refusing(429), refusing(500), refusing(503), refusing(408), hanging_up]
)
def test_what_may_pass_is_tried_again(
    endpoint: Endpoint, configure: Configure, fault: Behaviour
) -> None:
    endpoint.script = [fault, fault]
    [names], requester = ask(configure(retries=2))
    assert names == NAMED
    assert requester.requests == len(endpoint.requests) == 3
    assert list(requester.failures) == []


@pytest.mark.parametrize("fault", [refusing(413), refusing(418), saying("no"), refusing(401)])
def test_what_will_not_pass_is_not_tried_again(
    endpoint: Endpoint, configure: Configure, fault: Behaviour
) -> None:
    endpoint.script = [fault]
    [names], _ = ask(configure(retries=5))
    assert names == {}
    assert len(endpoint.requests) == 1


def test_tries_end(endpoint: Endpoint, configure: Configure) -> None:
    endpoint.usual = refusing(503)
    [names], requester = ask(configure(retries=3))
    assert names == {}
    assert len(endpoint.requests) == 4
    assert [failure.context for failure in requester.failures] == [
        "Requests without a usable answer: HTTP 503: 1"
    ]


def test_the_time_that_the_endpoint_asks_for_is_waited(
    endpoint: Endpoint, configure: Configure
) -> None:
    endpoint.script = [refusing(429, retry_after="0.3")]
    begin = time.monotonic()
    [names], _ = ask(configure(retries=1))
    assert names == NAMED
    assert time.monotonic() - begin >= 0.3


def test_waiting_is_bounded_and_ends_with_the_run(
    endpoint: Endpoint, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.llm.requests._MAX_WAIT", 0.2)
    endpoint.script = [refusing(429, retry_after="86400")]
    begin = time.monotonic()
    [names], _ = ask(configure(retries=1), first_wait=50.0)
    assert names == NAMED
    assert 0.2 <= time.monotonic() - begin < 3


def test_a_moment_to_wait_for_is_understood() -> None:
    later = datetime.now(timezone.utc) + timedelta(seconds=40)
    assert 38 < (read_wait(format_datetime(later, usegmt=True)) or 0) <= 40
    assert 38 < (read_wait(later.strftime("%a, %d %b %Y %H:%M:%S -0000")) or 0) <= 40
    assert read_wait("Sat, 01 Jan 2000 00:00:00 GMT") == 0
    assert read_wait("inf") is None
    assert read_wait("") is None


def strict(place: int) -> Behaviour:
    """Answer requests in the form `FORMS[place]` or a later form, and reject all others."""

    def behave(request: dict[str, Any]) -> Answer | None:
        allowed = {f"{form.response_format(PROMPT)}{form.limit}" for form in FORMS[place:]}
        limit = "max_tokens" if "max_tokens" in request else "max_completion_tokens"
        known = f"{request.get('response_format')}{limit}" in allowed
        return (naming() if known else refusing(400 if place % 2 else 422))(request)

    return behave


@pytest.mark.parametrize("place", range(len(FORMS)))
def test_the_form_of_requests_gets_simpler_once_a_run(
    endpoint: Endpoint, configure: Configure, place: int
) -> None:
    endpoint.usual = strict(place)
    names, requester = ask(configure(), times=3)
    assert names == [NAMED] * 3
    assert len(endpoint.requests) == place + 3
    assert list(requester.failures) == []
    assert all(
        request.get("max_tokens", request.get("max_completion_tokens")) == 100
        for request in endpoint.requests
    )


def test_a_late_refusal_of_an_older_form_is_asked_again_in_the_new_one(
    endpoint: Endpoint, configure: Configure
) -> None:
    known = threading.Event()

    def late(_: dict[str, Any]) -> Answer | None:
        known.wait(5)
        return refusing(400)({})

    def then(request: dict[str, Any]) -> Answer | None:
        known.set()
        return naming()(request)

    endpoint.script = [late, refusing(400), then]
    config = configure()
    with closing(Client(config)) as client, ThreadPoolExecutor(2) as pool:
        requester = Requester(client.send, config)
        assert list(pool.map(requester.ask, [PROMPT, PROMPT])) == [NAMED, NAMED]
    assert len(endpoint.requests) == 4


def test_a_form_that_was_understood_stays(endpoint: Endpoint, configure: Configure) -> None:
    endpoint.script = [naming(), refusing(400)]
    names, _ = ask(configure(), times=3)
    assert names == [NAMED, {}, NAMED]
    assert {str(request.get("response_format")) for request in endpoint.requests} == {
        str(FORMS[0].response_format(PROMPT))
    }


def test_an_endpoint_that_understands_no_form_is_given_up(
    endpoint: Endpoint, configure: Configure
) -> None:
    endpoint.usual = refusing(400)
    names, requester = ask(configure(), times=5)
    assert names == [{}] * 5
    assert len(endpoint.requests) == len(FORMS) + 2
    assert "the last one: HTTP 400" in next(requester.failures).context


def test_now_and_then_a_failure_gives_nobody_up(endpoint: Endpoint, configure: Configure) -> None:
    endpoint.script = [refusing(500), refusing(500), naming()] * 3
    names, requester = ask(configure(), times=9)
    assert names == [{}, {}, NAMED] * 3
    assert [failure.title for failure in requester.failures] == [
        "Language model's answers are missing"
    ]


def test_the_token_budget_is_never_exceeded(endpoint: Endpoint, configure: Configure) -> None:
    endpoint.usual = saying('{"names": [{"number": 1, "name": "buyer"}]}')  # counts nothing
    most = PROMPT.most_tokens + PROMPT.answer_tokens
    names, requester = ask(configure(max_tokens=3 * most + 1), times=9)
    assert names == [{1: "buyer"}] * 3 + [{}] * 6
    assert len(endpoint.requests) == 3
    assert requester.budget.spent.tokens == 3 * most
    assert [failure.title for failure in requester.failures] == ["Language model's budget is spent"]
    assert "Raise `model.llm.max_tokens`" in next(requester.failures).context


def test_what_the_endpoint_counts_takes_the_place_of_the_estimate(configure: Configure) -> None:
    most = PROMPT.most_tokens + PROMPT.answer_tokens
    names, requester = ask(configure(max_tokens=most + 3 * 310), times=9)
    assert names == [NAMED] * 4 + [{}] * 5
    assert requester.budget.spent.tokens == 4 * 310


@pytest.mark.parametrize("usage", [{"prompt_tokens": -5}, {"prompt_tokens": "x"}, [1], "many"])
def test_a_count_that_is_none_is_estimated(
    endpoint: Endpoint, configure: Configure, usage: object
) -> None:
    endpoint.usual = saying('{"names": [{"number": 1, "name": "buyer"}]}', usage=usage)
    _, requester = ask(configure())
    assert requester.budget.spent.tokens == PROMPT.most_tokens + PROMPT.answer_tokens


def test_the_money_budget_is_never_exceeded(endpoint: Endpoint, configure: Configure) -> None:
    prices = {"input_price": 2.0, "output_price": 10.0}
    most = (PROMPT.most_tokens * 2 + PROMPT.answer_tokens * 10) / 1e6
    each = (300 * 2 + 10 * 10) / 1e6
    names, requester = ask(configure(max_cost=most + 2.5 * each, **prices), times=9)
    assert names == [NAMED] * 3 + [{}] * 6
    assert requester.budget.cost(requester.budget.spent) == pytest.approx(3 * each)
    assert len(endpoint.requests) == 3


def test_a_refused_request_costs_nothing_and_a_lost_one_may_have(
    endpoint: Endpoint, configure: Configure
) -> None:
    endpoint.script = [refusing(500), refusing(429)]
    assert ask(configure(), times=2)[1].budget.spent.tokens == 0
    endpoint.script = [hanging_up]
    assert ask(configure())[1].budget.spent.tokens > 100
