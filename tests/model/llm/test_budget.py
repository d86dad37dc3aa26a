import threading
from concurrent.futures import ThreadPoolExecutor

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm.requests import Budget, Usage


def test_requests_side_by_side_never_hold_more_than_the_budget() -> None:
    budget = Budget(LanguageModelConfig(model="m", max_tokens=1000))
    lock, held, peaks = threading.Lock(), [0], []

    def spend(_: int) -> bool:
        if not budget.reserve(Usage(200, 100)):
            return False
        with lock:
            held[0] += 300
            peaks.append(held[0] + budget.spent.tokens)
            held[0] -= 300
        budget.settle(Usage(200, 100), Usage(20, 5))
        return True

    with ThreadPoolExecutor(8) as pool:
        allowed = sum(pool.map(spend, range(100)))
    assert max(peaks) <= 1000
    assert budget.spent.tokens == 25 * allowed
    assert 1000 - 300 < budget.spent.tokens <= 1000


def test_a_request_waits_for_what_others_may_give_back() -> None:
    budget = Budget(LanguageModelConfig(model="m", max_tokens=500))
    assert budget.reserve(Usage(400, 0))
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(budget.reserve, Usage(400, 0))
        assert not second.done()
        budget.settle(Usage(400, 0), Usage(50, 0))
        assert second.result(timeout=5)
        third = pool.submit(budget.reserve, Usage(400, 0))
        budget.settle(Usage(400, 0), Usage(60, 0))
        assert not third.result(timeout=5)
