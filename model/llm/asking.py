"""Requests until they are answered, given up or no longer worth making."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm.answers import read_names
from datahub_hyperjoin.model.llm.budget import Budget, Usage
from datahub_hyperjoin.model.llm.fault import Fault
from datahub_hyperjoin.model.llm.prompt import FORMS, Form, Prompt
from datahub_hyperjoin.model.llm.reply import NoReplyError, Outcome, Reply

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
"""Seconds between two tries of a request, whatever the endpoint asks for."""
_PATIENCE = 3
"""Requests in a row without a usable answer after which the endpoint is given up."""

Send = Callable[[Prompt, Form], Reply]


class Asker:
    """Asks an endpoint from several threads, and stops when there is no use in asking.

    Args:
        send: Makes one request.
        config: How patient to be, and what may be spent.
        first_wait: Seconds before a request's second try; they double from try to try.
    """

    def __init__(
        self, send: Send, config: LanguageModelConfig, *, first_wait: float = _FIRST_WAIT
    ) -> None:
        self.budget = Budget(config)
        """What was spent."""
        self.requests = 0
        """How many were made, every try counted."""
        self._send, self._config, self._first_wait = send, config, first_wait
        self._random = np.random.default_rng()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._end: Fault | None = None
        self._lost: Counter[str] = Counter()
        self._cut = 0
        self._in_a_row = 0
        self._form = 0
        self._understood = False

    def ask(self, prompt: Prompt) -> dict[int, str]:
        """Asks about some columns, as often as it takes.

        Args:
            prompt: The columns.

        Returns:
            What the model said of each column's number; empty if nothing of use.
        """
        tries = 0
        while tries <= self._config.retries and not self._stopped.is_set():
            place = self._form
            try:
                reply = self._try(prompt, FORMS[place])
            except NoReplyError as error:
                if error.outcome is Outcome.UNFIT and self._simplify(place):
                    continue
                if not self._may_repeat(error, tries):
                    self._give_up(error)
                    break
                tries += 1
            else:
                return self._use(reply, prompt) if reply else {}
        return {}

    def stop(self) -> None:
        """Makes no further request, and wakes those that wait to be repeated."""
        self._stopped.set()

    @property
    def faults(self) -> Iterator[Fault]:
        """What the run goes on without, each kind once."""
        if self._end:
            yield self._end
        if self._lost:
            yield Fault.lost(self._lost)
        if self._cut:
            yield Fault.cut(self._cut)

    def _try(self, prompt: Prompt, form: Form) -> Reply | None:
        """One request within the budget; None if it would exceed it."""
        most = Usage(prompt.most_tokens, prompt.answer_tokens)
        if not self.budget.reserve(most):
            self._end_with(Fault.spent())
            return None
        used = most
        try:
            with self._lock:
                self.requests += 1
            reply = self._send(prompt, form)
            used = _used(reply, most)
        except NoReplyError as error:
            if error.outcome not in {Outcome.SILENT, Outcome.ODD}:
                used = Usage()
            raise
        finally:
            self.budget.settle(most, used)
        return reply

    def _use(self, reply: Reply, prompt: Prompt) -> dict[int, str]:
        names = read_names(reply.text, len(prompt.questions))
        with self._lock:
            self._understood = True
            self._cut += reply.cut
            self._in_a_row = 0 if names else self._in_a_row
        if not names:
            self._give_up(NoReplyError.without_names())
        return names

    def _simplify(self, place: int) -> bool:
        """Goes on to a simpler form of request, unless this one was understood before."""
        with self._lock:
            if self._form == place and not self._understood and place + 1 < len(FORMS):
                self._form += 1
            return self._form > place

    def _may_repeat(self, error: NoReplyError, tries: int) -> bool:
        """Waits until a request may be repeated; False if it would be of no use."""
        if error.outcome not in {Outcome.BUSY, Outcome.SILENT} or tries == self._config.retries:
            return False
        wait = self._first_wait * 2**tries * float(self._random.uniform(0.5, 1.5))
        self._stopped.wait(min(max(wait, error.wait or 0.0), _LONGEST_WAIT))
        return True

    def _give_up(self, error: NoReplyError) -> None:
        """Leaves a request's columns to the rules, and perhaps all others."""
        if error.outcome is Outcome.BARRED:
            self._end_with(Fault.barred(error.status))
            return
        reason = str(error)
        with self._lock:
            self._lost[reason] += 1
            self._in_a_row += 1
        if self._in_a_row >= _PATIENCE:
            self._end_with(Fault.gone(reason, requests=_PATIENCE))

    def _end_with(self, fault: Fault) -> None:
        with self._lock:
            self._end = self._end or fault
        self.stop()


def _used(reply: Reply, most: Usage) -> Usage:
    """What the endpoint counted; the most it can be where it did not say."""
    request, answer = reply.request_tokens, reply.answer_tokens
    return Usage(
        most.request if request is None else request, most.answer if answer is None else answer
    )
