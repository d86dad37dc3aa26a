"""Collect name variants of key columns from the cache and from a language model."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import LanguageModelConfig, VariantConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.errors import NoReplyError
from datahub_hyperjoin.model.llm.failure import Failure
from datahub_hyperjoin.model.llm.parsing import usable_name
from datahub_hyperjoin.model.llm.prompt import Prompt
from datahub_hyperjoin.model.llm.question import Question
from datahub_hyperjoin.model.llm.requester import Requester
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.visible import logger_of

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
        """Return the stored answer to a question, or None.

        Returns:
            The answer; None if there is none or its file is damaged.
        """
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


logger = logger_of(__name__)

ReportProgress = Callable[[str], None]

_COLUMNS_PER_REQUEST = 25
"""Maximum number of key columns in one request."""
_PROGRESS_LINES = 10
"""Maximum number of progress lines, for any number of requests."""


@dataclass(frozen=True)
class NamingCounts:
    """Counts of name variants by source, and the cost of requests."""

    requested: int = 0
    """Number of key columns for which a variant was requested from the cache or the model."""

    received: int = 0
    """Number of key columns for which the model provided a variant in this run."""

    cached: int = 0
    """Number of key columns whose variant was in the cache."""

    requests: int = 0
    """Number of requests that were sent, including repetitions."""

    tokens: int = 0
    """Number of tokens in requests and answers; an upper bound if the endpoint does not report it.
    """

    cost: float = 0.0
    """Cost of the tokens in the currency of the prices."""

    @property
    def by_rules(self) -> int:
        """Number of key columns that get their name variant by built-in rules, not from a model."""
        return self.requested - self.received - self.cached


@dataclass(frozen=True)
class Naming:
    """Name variants from a language model, with counts, costs and reasons for missing variants."""

    variants: Mapping[int, str] = field(default_factory=dict)
    """The name variant of each column that has one, by column index."""

    counts: NamingCounts = NamingCounts()
    failures: tuple[Failure, ...] = ()
    """Reasons why variants are missing."""


def name_columns(
    lake: Lake,
    keys: Int[np.ndarray, " key"],
    config: VariantConfig,
    report_progress: ReportProgress = logger.info,
) -> Naming:
    """Ask a language model for a name variant of each key column.

    Without a model, nothing is imported and nothing is sent. No answer raises an error.

    Args:
        report_progress: Receives a line of progress from time to time.
    """
    if config.llm is None:
        return Naming()
    columns_of = _group(lake, keys, config.llm)
    cache = Cache(config.llm.cache)
    cached = {
        question: answer
        for question in columns_of
        if (answer := cache.get(question.key(config.llm.model))) is not None
    }
    uncached = [question for question in columns_of if question not in cached]
    answers, counts, failures = (
        _request_answers(uncached, config.llm, cache, report_progress)
        if uncached
        else ({}, NamingCounts(), ())
    )
    from_model, from_cache = _variants(answers, columns_of), _variants(cached, columns_of)
    return Naming(
        variants=from_cache | from_model,
        counts=replace(
            counts, requested=len(keys), received=len(from_model), cached=len(from_cache)
        ),
        failures=failures,
    )


def _group(
    lake: Lake, keys: Int[np.ndarray, " key"], config: LanguageModelConfig
) -> dict[Question, list[int]]:
    """Build the questions about key columns, and map each question to its columns.

    Copies of a table lead to the same questions.
    """
    columns_of = defaultdict(list)
    for key in keys.tolist():
        question = Question.from_lake(lake, key, send_values=config.send_values)
        columns_of[question].append(key)
    return dict(columns_of)


def _variants(
    answers: Mapping[Question, str], columns_of: Mapping[Question, Sequence[int]]
) -> dict[int, str]:
    """Map columns to their name variants.

    Columns without a usable answer are left out.
    """
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
    report_progress: ReportProgress,
) -> tuple[dict[Question, str], NamingCounts, tuple[Failure, ...]]:
    """Ask the language model all questions, and cache each answer as soon as it arrives.

    An interrupted run thus keeps the answers that it has paid for.
    """
    from datahub_hyperjoin.model.llm.client import Client  # noqa: PLC0415 - imports openai

    try:
        client = Client(config)
    except NoReplyError as error:
        return {}, NamingCounts(), (Failure.misconfigured(str(error)),)
    prompts = _split(questions, config)
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
                if _starts_line(done, len(prompts)):
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


def _split(questions: Sequence[Question], config: LanguageModelConfig) -> list[Prompt]:
    size = _COLUMNS_PER_REQUEST
    parts = [questions[start : start + size] for start in range(0, len(questions), size)]
    return [Prompt(tuple(part), config.answer_tokens * len(part)) for part in parts]


def _starts_line(done: int, total: int) -> bool:
    """Return whether to report progress after `done` of `total` requests.

    A run reports progress at most `_PROGRESS_LINES` times.
    """
    return done * _PROGRESS_LINES // total > (done - 1) * _PROGRESS_LINES // total
