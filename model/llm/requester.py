"""Send requests to a language model, and repeat those that fail.

When more requests are pointless, no more are sent.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm.errors import NoReplyError
from datahub_hyperjoin.model.llm.failure import Failure
from datahub_hyperjoin.model.llm.parsing import read_names
from datahub_hyperjoin.model.llm.prompt import FORMS, Form, Prompt
from datahub_hyperjoin.model.llm.reply import FailureKind, Reply

_MILLION = 1_000_000


@dataclass(frozen=True)
class Usage:
    """The numbers of tokens in requests and in answers."""

    request: int = 0
    answer: int = 0

    @property
    def tokens(self) -> int:
        """The total number of tokens in requests and answers."""
        return self.request + self.answer

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.request + other.request, self.answer + other.answer)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.request - other.request, self.answer - other.answer)


class Budget:
    """A limit on tokens and cost that concurrent requests share.

    A request reserves the most that it can use before it is sent, and returns the rest afterwards.
    So the limits hold however many requests run at once.
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        self._config = config
        self._changed = threading.Condition()
        self._reserved = Usage()
        self.spent = Usage()
        """Tokens used by all finished requests."""

    def cost(self, usage: Usage) -> float:
        """Return the cost of tokens, or 0 if no prices are configured.

        The currency is that of the prices.
        """
        prices = self._config.input_price or 0.0, self._config.output_price or 0.0
        return (usage.request * prices[0] + usage.answer * prices[1]) / _MILLION

    def reserve(self, most: Usage) -> bool:
        """Reserve the tokens that a request may need, if the budget allows the request.

        If the budget has too few tokens left, wait until running requests return tokens.
        """
        with self._changed:
            while not self._allows(self.spent + self._reserved + most):
                # No running request can return tokens, so waiting would never end.
                if not self._reserved.tokens:
                    return False
                self._changed.wait()
            self._reserved += most
            return True

    def settle(self, most: Usage, spent: Usage) -> None:
        """Replace a request's reserved tokens with the tokens that it used."""
        with self._changed:
            self._reserved -= most
            self.spent += spent
            self._changed.notify_all()

    def _allows(self, usage: Usage) -> bool:
        within = usage.tokens <= self._config.max_tokens
        limit = self._config.max_cost
        return within and (limit is None or self.cost(usage) <= limit)


_RETRIES = 4
"""Repetitions of a request when the endpoint is busy, fails or does not answer."""
_FIRST_WAIT = 1.0
_MAX_WAIT = 60.0
"""Maximum seconds to wait before a request is repeated, even if the endpoint asks for more."""
_MAX_FAILURES = 3
"""Maximum number of consecutive requests without a usable answer; after them, no more are sent."""

Send = Callable[[Prompt, Form], Reply]


class Requester:
    """A thread-safe sender that repeats failed requests.

    It stops when more requests are pointless.

    Args:
        first_wait: Seconds before a request is repeated; doubled for each further repetition.
    """

    def __init__(
        self, send: Send, config: LanguageModelConfig, *, first_wait: float = _FIRST_WAIT
    ) -> None:
        self.budget = Budget(config)
        """Tokens spent and reserved."""
        self.requests = 0
        """Number of requests sent, repetitions included."""
        self._send, self._first_wait = send, first_wait
        self._random = np.random.default_rng()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._stop_reason: Failure | None = None
        self._failed: Counter[str] = Counter()
        self._cut_off = 0
        self._failed_in_a_row = 0
        self._form = 0
        self._form_accepted = False

    def ask(self, prompt: Prompt) -> dict[int, str]:
        """Ask the language model for a name variant of each column in the prompt.

        Returns:
            The name for each column's number; empty if there is no usable answer.
        """
        repetitions = 0
        while repetitions <= _RETRIES and not self._stopped.is_set():
            # Read once, because another thread may simplify the form at any time.
            form = self._form
            try:
                reply = self._request(prompt, FORMS[form])
            except NoReplyError as error:
                if error.kind is FailureKind.UNSUPPORTED and self._simplify(form):
                    continue
                if not self._wait_to_repeat(error, repetitions):
                    self._record_failure(error)
                    break
                repetitions += 1
            else:
                return self._read(reply, prompt) if reply else {}
        return {}

    def stop(self) -> None:
        """Stop sending requests.

        Threads that wait to repeat a request stop waiting.
        """
        self._stopped.set()

    @property
    def failures(self) -> Iterator[Failure]:
        """The warnings about all failures so far, one for each kind of failure."""
        if self._stop_reason:
            yield self._stop_reason
        if self._failed:
            yield Failure.unanswered(self._failed)
        if self._cut_off:
            yield Failure.cut_off(self._cut_off)

    def _request(self, prompt: Prompt, form: Form) -> Reply | None:
        """Send a request if the budget allows it.

        The maximum cost of the request stays reserved until the actual cost is known. A refused
        request costs nothing. A request without a reply may have been billed in full.
        """
        most = Usage(prompt.most_tokens, prompt.answer_tokens)
        if not self.budget.reserve(most):
            self._stop_for(Failure.over_budget())
            return None
        used = most
        try:
            with self._lock:
                self.requests += 1
            reply = self._send(prompt, form)
            used = _used(reply, most)
        except NoReplyError as error:
            if error.kind not in {FailureKind.LOST, FailureKind.INVALID}:
                used = Usage()
            raise
        finally:
            self.budget.settle(most, used)
        return reply

    def _read(self, reply: Reply, prompt: Prompt) -> dict[int, str]:
        names = read_names(reply.text, len(prompt.questions))
        with self._lock:
            self._form_accepted = True
            self._cut_off += reply.cut_off
            self._failed_in_a_row = 0 if names else self._failed_in_a_row
        if not names:
            self._record_failure(NoReplyError.without_names())
        return names

    def _simplify(self, form: int) -> bool:
        """Switch to a simpler form of request, because the endpoint rejected form number `form`.

        The return value says whether `form` is replaced now, by this thread or another.

        A form that was accepted once stays: the endpoint then refuses the request for another
        reason. Several threads can fail with the same form, but only the first one moves on.
        """
        with self._lock:
            if self._form == form and not self._form_accepted and form + 1 < len(FORMS):
                self._form += 1
            return self._form > form

    def _wait_to_repeat(self, error: NoReplyError, repetitions: int) -> bool:
        """Wait before a failed request is repeated; return False if repeating is pointless."""
        if error.kind not in {FailureKind.BUSY, FailureKind.LOST} or repetitions == _RETRIES:
            return False
        # Waits are random, so that threads which failed together do not return together.
        wait = self._first_wait * 2**repetitions * float(self._random.uniform(0.5, 1.5))
        self._stopped.wait(min(max(wait, error.wait or 0.0), _MAX_WAIT))
        return True

    def _record_failure(self, error: NoReplyError) -> None:
        """Count a failed request, and stop if further requests would probably fail too."""
        if error.kind is FailureKind.REFUSED:
            self._stop_for(Failure.refused(error.status))
            return
        reason = str(error)
        with self._lock:
            self._failed[reason] += 1
            self._failed_in_a_row += 1
        if self._failed_in_a_row >= _MAX_FAILURES:
            self._stop_for(Failure.no_answers(reason, requests=_MAX_FAILURES))

    def _stop_for(self, failure: Failure) -> None:
        with self._lock:
            # Several threads may stop at a time; the first of them knows the cause.
            self._stop_reason = self._stop_reason or failure
        self.stop()


def _used(reply: Reply, most: Usage) -> Usage:
    """Return the token counts of a request and its reply; missing counts are taken from `most`.

    `most` holds the upper limits.
    """
    request, answer = reply.request_tokens, reply.answer_tokens
    return Usage(
        most.request if request is None else request, most.answer if answer is None else answer
    )
