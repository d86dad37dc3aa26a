"""Ask a language model questions within a budget, and keep its answers."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm import NOTHING, AnswerCounts
from datahub_hyperjoin.model.llm.errors import Failure, FailureKind, NoReplyError, Reply
from datahub_hyperjoin.model.llm.prompt import FORMS, Form, Prompt
from datahub_hyperjoin.storage import replacing

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
    """A limit on tokens and cost that concurrent requests share."""

    # A request reserves the most that it can use before it is sent, and returns the rest
    # afterwards, so that the limits hold however many requests run at once.

    def __init__(self, config: LanguageModelConfig, before: AnswerCounts = NOTHING) -> None:
        self._config, self._before = config, before
        self._changed = threading.Condition()
        self._reserved = Usage()
        self.spent = Usage()
        """Tokens used by all finished requests."""

    def cost(self, usage: Usage) -> float:
        """Return the cost of tokens, or 0 if no prices are configured."""
        prices = self._config.input_price or 0.0, self._config.output_price or 0.0
        return (usage.request * prices[0] + usage.answer * prices[1]) / _MILLION

    def reserve(self, most: Usage) -> bool:
        """Reserve the tokens that a request may need, if the budget allows the request."""
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
        within = self._before.tokens + usage.tokens <= self._config.max_tokens
        limit = self._config.max_cost
        return within and (limit is None or self._before.cost + self.cost(usage) <= limit)


_RETRIES = 4  # repetitions of a request when the endpoint is busy, fails or does not answer
_FIRST_WAIT = 1.0
_MAX_WAIT = 60.0
"""Maximum seconds to wait before a request is repeated, even if the endpoint asks for more."""
_MAX_FAILURES = 3
"""Maximum number of consecutive requests without a usable answer; after them, no more are sent."""

Send = Callable[[Prompt, Form], Reply]


class Requester:
    """A thread-safe sender that repeats failed requests."""

    def __init__(
        self,
        send: Send,
        config: LanguageModelConfig,
        before: AnswerCounts = NOTHING,
        *,
        first_wait: float = _FIRST_WAIT,
    ) -> None:
        self.budget = Budget(config, before)
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
        """Ask the language model all questions of a prompt, and return its answers by number."""
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
        """Stop sending requests."""
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
        """Send a request if the budget allows it."""
        # The maximum cost of the request stays reserved until the actual cost is known. A refused
        # request costs nothing. A request without a reply may have been billed in full.
        most = Usage(prompt.most_tokens, prompt.answer_tokens)
        if not self.budget.reserve(most):
            self._stop_for(Failure.over_budget())
            return None
        used = most
        try:
            with self._lock:
                self.requests += 1
            reply = self._send(prompt, form)
            # The endpoint may not count; then the limits stand for what was used.
            request, answer = reply.request_tokens, reply.answer_tokens
            used = Usage(
                most.request if request is None else request,
                most.answer if answer is None else answer,
            )
        except NoReplyError as error:
            if error.kind not in {FailureKind.LOST, FailureKind.INVALID}:
                used = Usage()
            raise
        finally:
            self.budget.settle(most, used)
        return reply

    def _read(self, reply: Reply, prompt: Prompt) -> dict[int, str]:
        answers = prompt.read(reply.text)
        with self._lock:
            self._form_accepted = True
            self._cut_off += reply.cut_off
            self._failed_in_a_row = 0 if answers else self._failed_in_a_row
        if not answers:
            reason = "reply without an answer"
            self._record_failure(NoReplyError.of_kind(FailureKind.INVALID, reason))
        return answers

    def _simplify(self, form: int) -> bool:
        """Switch to a simpler form of request, because the endpoint rejected form number `form`."""
        # A form that was accepted once stays: the endpoint then refuses the request for another
        # reason. Several threads can fail with the same form, but only the first one moves on.
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


# Each answer is one small file named by the question's hash, so runs can share a folder. A file
# holds the answer and nothing of the question.

_MAX_LENGTH = 200
"""Maximum number of characters of an answer that are stored; every usable name is shorter."""


class Cache:
    """A store of the language model's answers on disk."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.error = ""
        """Reason why an answer could not be stored; empty if all were."""

    def get(self, key: str) -> str | None:
        """Return the stored answer to a question, or None."""
        if self._folder is None:
            return None
        # A damaged file costs one question, so it is no reason to fail.
        try:
            answer = json.loads(self._file(self._folder, key).read_bytes())["answer"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return answer if isinstance(answer, str) else None

    def put(self, key: str, answer: str) -> None:
        """Store the answer to a question in one atomic write."""
        # An error that prevents one write, such as a full disk, prevents all others.
        if self._folder is None or self.error:
            return
        file = self._file(self._folder, key)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(file) as fresh:
                fresh.write_text(json.dumps({"answer": answer[:_MAX_LENGTH]}), "ascii")
        except OSError as error:
            self.error = f"{self._folder}: {error.strerror}"

    @staticmethod
    def _file(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"


_PROGRESS_LINES = 10  # maximum number of progress lines, for any number of requests

Question = TypeVar("Question")
"""What is asked: a frozen dataclass of names and numbers, whose content is the key of its answer.
"""


@dataclass(frozen=True)
class Answers(Generic[Question]):
    """The answers to questions, with counts, costs and reasons for missing answers."""

    received: dict[Question, str]
    cached: dict[Question, str]
    counts: AnswerCounts
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Asker(Generic[Question]):
    """A kind of questions, and how they are asked."""

    config: LanguageModelConfig
    version: str
    """The kind and version of the questions. Change it when the questions change, so that no older
    cached answer is used."""

    per_request: int
    """Maximum number of questions in one request."""

    prompt: Callable[[tuple[Question, ...]], Prompt]
    before: AnswerCounts = NOTHING
    """What the run has asked before. It counts for the budget."""

    report_progress: Callable[[str], None] = lambda _: None

    def key(self, question: Question) -> str:
        """Return the cache key of a question."""
        content = [self.version, self.config.model, astuple(question)]  # type: ignore[call-overload]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def ask(self, questions: Collection[Question]) -> Answers[Question]:
        """Ask all questions that the cache cannot answer; the first ones first."""
        cache = Cache(self.config.cache)
        cached = {
            question: answer
            for question in questions
            if (answer := cache.get(self.key(question))) is not None
        }
        answers = self._request([each for each in questions if each not in cached], cache)
        return replace(answers, cached=cached)

    def _request(self, questions: Sequence[Question], cache: Cache) -> Answers[Question]:
        """Ask the language model, and cache each answer as soon as it arrives."""
        # So that an interrupted run keeps what it has paid for.
        if not questions:
            return Answers({}, {}, NOTHING)
        from datahub_hyperjoin.model.llm.client import Client  # noqa: PLC0415 - imports openai

        try:
            client = Client(self.config)
        except NoReplyError as error:
            return Answers({}, {}, NOTHING, (Failure.misconfigured(str(error)),))
        size = self.per_request
        parts = [tuple(questions[at : at + size]) for at in range(0, len(questions), size)]
        received: dict[Question, str] = {}
        with closing(client), ThreadPoolExecutor(self.config.concurrency) as pool:
            requester = Requester(client.send, self.config, self.before)
            try:
                replies = pool.map(requester.ask, map(self.prompt, parts))
                for done, (part, answers) in enumerate(zip(parts, replies, strict=True), start=1):
                    for number, answer in answers.items():
                        received[part[number - 1]] = answer
                        cache.put(self.key(part[number - 1]), answer)
                    self._report(done, len(parts), len(received))
            finally:
                # Also after an interrupt: the pool waits for its threads, and they to repeat.
                requester.stop()
        spent = requester.budget.spent
        counts = AnswerCounts(
            requests=requester.requests, tokens=spent.tokens, cost=requester.budget.cost(spent)
        )
        not_cached = [Failure.not_cached(cache.error)] if cache.error else []
        return Answers(received, {}, counts, (*requester.failures, *not_cached))

    def _report(self, done: int, requests: int, answers: int) -> None:
        # Few lines, since a lake can need thousands of requests.
        tenths = [each * _PROGRESS_LINES // requests for each in (done - 1, done)]
        if tenths[0] < tenths[1]:
            self.report_progress(
                f"Language model: request {done} of {requests}, {answers} answers received"
            )
