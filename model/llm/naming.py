"""Other names of a lake's key columns: from the cache, from a language model, or none."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.config import LanguageModelConfig, VariantConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.llm.answers import usable_name
from datahub_hyperjoin.model.llm.asking import Asker
from datahub_hyperjoin.model.llm.cache import Cache
from datahub_hyperjoin.model.llm.fault import Fault
from datahub_hyperjoin.model.llm.prompt import Prompt
from datahub_hyperjoin.model.llm.question import Question
from datahub_hyperjoin.model.llm.reply import NoReplyError

logger = logging.getLogger(__name__)

Say = Callable[[str], None]

_LINES = 10
"""Lines of progress, however many requests there are."""


@dataclass(frozen=True)
class NamingCounts:
    """How other names came about."""

    asked: int = 0
    """Key columns that a language model could give another name."""

    answered: int = 0
    """Those that it gave one in this run."""

    cached: int = 0
    """Those whose name an earlier run had been given."""

    requests: int = 0
    """Requests made, every try counted."""

    tokens: int = 0
    """Tokens of requests and answers, estimated from above where the endpoint did not count."""

    cost: float = 0.0
    """Their cost in the currency of the prices."""

    @property
    def by_rules(self) -> int:
        """Key columns for which rules must do."""
        return self.asked - self.answered - self.cached


@dataclass(frozen=True)
class Naming:
    """Other names of key columns that a language model gave."""

    variants: Mapping[int, str] = field(default_factory=dict)
    """The other name of each column that has one, by the column's place."""

    tally: NamingCounts = NamingCounts()
    faults: tuple[Fault, ...] = ()
    """Why names are missing."""


def name_columns(
    lake: Lake, keys: Int[np.ndarray, " key"], config: VariantConfig, say: Say = logger.info
) -> Naming:
    """Asks a language model for another name of each key column, if the recipe names one.

    Without one nothing is imported and nothing leaves. No answer, however bad, is an error.

    Args:
        lake: The columns.
        keys: Which of them are keys.
        config: Which language model is asked.
        say: Told now and then how far it is.

    Returns:
        The names that passed the checks, and what became of the others.
    """
    if config.llm is None:
        return Naming()
    columns = _group(lake, keys, config.llm)
    cache = Cache(config.llm.cache)
    kept = {
        question: said
        for question in columns
        if (said := cache.get(question.key(config.llm.model))) is not None
    }
    unknown = [question for question in columns if question not in kept]
    fresh, tally, faults = (
        _ask(unknown, config.llm, cache, say) if unknown else ({}, NamingCounts(), ())
    )
    answered, cached = _place(fresh, columns), _place(kept, columns)
    return Naming(
        variants=cached | answered,
        tally=replace(tally, asked=len(keys), answered=len(answered), cached=len(cached)),
        faults=faults,
    )


def _group(
    lake: Lake, keys: Int[np.ndarray, " key"], config: LanguageModelConfig
) -> dict[Question, list[int]]:
    """Which columns a question is about: copies of a table are asked about once."""
    columns = defaultdict(list)
    for key in keys.tolist():
        question = Question.from_lake(lake, key, send_values=config.send_values)
        columns[question].append(key)
    return dict(columns)


def _place(
    said: Mapping[Question, str], columns: Mapping[Question, Sequence[int]]
) -> dict[int, str]:
    """What was said, by column, as far as it is a name."""
    return {
        column: name
        for question, words in said.items()
        if (name := usable_name(words, question)) is not None
        for column in columns[question]
    }


def _ask(
    questions: Sequence[Question], config: LanguageModelConfig, cache: Cache, say: Say
) -> tuple[dict[Question, str], NamingCounts, tuple[Fault, ...]]:
    """What the endpoint says; answers are kept as they come, so that an end loses few."""
    from datahub_hyperjoin.model.llm.client import Client  # noqa: PLC0415 - imports openai

    try:
        client = Client(config)
    except NoReplyError as error:
        return {}, NamingCounts(), (Fault.unready(str(error)),)
    size = config.columns_per_request
    parts = [questions[start : start + size] for start in range(0, len(questions), size)]
    prompts = [Prompt(tuple(part), config.answer_tokens * len(part)) for part in parts]
    said: dict[Question, str] = {}
    with closing(client), ThreadPoolExecutor(config.concurrency) as pool:
        asker = Asker(client.send, config)
        try:
            answers = zip(prompts, pool.map(asker.ask, prompts), strict=True)
            for done, (prompt, names) in enumerate(answers, start=1):
                for number, name in names.items():
                    question = prompt.questions[number - 1]
                    said[question] = name
                    cache.put(question.key(config.model), name)
                if done * _LINES // len(prompts) > (done - 1) * _LINES // len(prompts):
                    say(f"Names: request {done} of {len(prompts)}, {len(said)} names so far")
        finally:
            asker.stop()
    spent = asker.budget.spent
    tally = NamingCounts(
        requests=asker.requests, tokens=spent.tokens, cost=asker.budget.cost(spent)
    )
    faults = (*asker.faults, *([Fault.unkept(cache.fault)] if cache.fault else []))
    return said, tally, faults
