"""Collect name variants of key columns from the cache and from a language model."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from datahub_hyperjoin.model.config import LanguageModelConfig, VariantConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm import Naming, NamingCounts
from datahub_hyperjoin.model.llm.errors import Failure, FailureKind, NoReplyError, Reply
from datahub_hyperjoin.model.llm.question import (
    FORMS,
    Form,
    Prompt,
    Question,
    read_names,
    usable_name,
)
from datahub_hyperjoin.model.signals.pairs import KeyInts
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

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

    def __init__(self, config: LanguageModelConfig) -> None:
        self._config = config
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
        within = usage.tokens <= self._config.max_tokens
        limit = self._config.max_cost
        return within and (limit is None or self.cost(usage) <= limit)


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
        """Ask the language model for a name variant of each column in the prompt."""
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
        names = read_names(reply.text, len(prompt.questions))
        with self._lock:
            self._form_accepted = True
            self._cut_off += reply.cut_off
            self._failed_in_a_row = 0 if names else self._failed_in_a_row
        if not names:
            self._record_failure(NoReplyError.of_kind(FailureKind.INVALID, "answer without names"))
        return names

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


_COLUMNS_PER_REQUEST = 25  # maximum number of key columns in one request
_PROGRESS_LINES = 10  # maximum number of progress lines, for any number of requests


def name_columns(
    lake: Lake,
    keys: KeyInts,
    config: VariantConfig,
    report_progress: Callable[[str], None] = logger.info,
) -> Naming:
    """Ask a language model for a name variant of each key column."""
    if config.llm is None:
        return Naming()
    # Copies of a table lead to the same questions.
    columns_of: dict[Question, list[int]] = defaultdict(list)
    for key in keys.tolist():
        question = Question.from_lake(lake, key, send_values=config.llm.send_values)
        columns_of[question].append(key)
    cache = Cache(config.llm.cache)
    cached = {
        question: answer
        for question in columns_of
        if (answer := cache.get(question.key(config.llm.model))) is not None
    }
    uncached = [question for question in columns_of if question not in cached]
    answers, counts, failures = _request_answers(uncached, config.llm, cache, report_progress)
    from_model, from_cache = _variants(answers, columns_of), _variants(cached, columns_of)
    return Naming(
        variants=from_cache | from_model,
        counts=replace(
            counts, requested=len(keys), received=len(from_model), cached=len(from_cache)
        ),
        failures=failures,
    )


def _variants(
    answers: Mapping[Question, str], columns_of: Mapping[Question, Sequence[int]]
) -> dict[int, str]:
    """Map columns to their name variants."""
    return {
        column: name
        for question, answer in answers.items()
        if (name := usable_name(answer, question)) is not None
        for column in columns_of[question]
    }


def _request_answers(
    questions: Sequence[Question],
    config: LanguageModelConfig,
    cache: Cache,
    report_progress: Callable[[str], None],
) -> tuple[dict[Question, str], NamingCounts, tuple[Failure, ...]]:
    """Ask the language model all questions, and cache each answer as soon as it arrives."""
    # So that an interrupted run keeps what it has paid for.
    if not questions:
        return {}, NamingCounts(), ()
    from datahub_hyperjoin.model.llm.client import Client  # noqa: PLC0415 - imports openai

    try:
        client = Client(config)
    except NoReplyError as error:
        return {}, NamingCounts(), (Failure.misconfigured(str(error)),)
    size = _COLUMNS_PER_REQUEST
    parts = [questions[start : start + size] for start in range(0, len(questions), size)]
    prompts = [Prompt(tuple(part), config.answer_tokens * len(part)) for part in parts]
    answers: dict[Question, str] = {}
    with closing(client), ThreadPoolExecutor(config.concurrency) as pool:
        requester = Requester(client.send, config)
        try:
            replies = zip(prompts, pool.map(requester.ask, prompts), strict=True)
            for done, (prompt, names) in enumerate(replies, start=1):
                for number, name in names.items():
                    question = prompt.questions[number - 1]
                    answers[question] = name
                    cache.put(question.key(config.model), name)
                # Few lines, since a lake can need thousands of requests.
                tenths = [each * _PROGRESS_LINES // len(prompts) for each in (done - 1, done)]
                if tenths[0] < tenths[1]:
                    report_progress(
                        f"Language model: request {done} of {len(prompts)}, "
                        f"{len(answers)} names received"
                    )
        finally:
            # Also after an interrupt: the pool waits for its threads, and they for a repetition.
            requester.stop()
    spent = requester.budget.spent
    counts = NamingCounts(
        requests=requester.requests, tokens=spent.tokens, cost=requester.budget.cost(spent)
    )
    not_cached = [Failure.not_cached(cache.error)] if cache.error else []
    return answers, counts, (*requester.failures, *not_cached)
