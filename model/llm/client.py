"""One request to an endpoint, through the `openai` client.

Importing this module imports `openai`, which takes about a second: only runs that ask a language
model do.
"""

import json
import math
import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx2
import openai

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm.prompt import Form, Prompt
from datahub_hyperjoin.model.llm.reply import NoReplyError, Outcome, Reply
from datahub_hyperjoin.redact import in_short

_LARGEST = 1 << 20
"""Bytes of an answer that are read."""
_OUTCOMES: dict[int, Outcome] = {
    HTTPStatus.BAD_REQUEST: Outcome.UNFIT,
    HTTPStatus.UNPROCESSABLE_ENTITY: Outcome.UNFIT,
    HTTPStatus.UNAUTHORIZED: Outcome.BARRED,
    HTTPStatus.PAYMENT_REQUIRED: Outcome.BARRED,
    HTTPStatus.FORBIDDEN: Outcome.BARRED,
    HTTPStatus.NOT_FOUND: Outcome.BARRED,
    HTTPStatus.REQUEST_TIMEOUT: Outcome.BUSY,
    HTTPStatus.CONFLICT: Outcome.BUSY,
    HTTPStatus.TOO_EARLY: Outcome.BUSY,
    HTTPStatus.TOO_MANY_REQUESTS: Outcome.BUSY,
}


class Client:
    """A language model behind an endpoint; safe to use from several threads.

    Args:
        config: Where it is and what it is called.

    Raises:
        NoReplyError: The environment has a proxy or a certificate that cannot be used.
    """

    def __init__(self, config: LanguageModelConfig) -> None:
        self._config = config
        # Without a key of the recipe's the client would send the one of the environment, which
        # may be meant for another endpoint. It tries once, so that every try is accounted for.
        try:
            self._api = openai.OpenAI(
                api_key=config.api_key.get_secret_value() if config.api_key else "none",
                base_url=config.base_url,
                timeout=config.timeout,
                max_retries=0,
            )
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
            raise NoReplyError.unready(in_short(str(error))) from error

    def close(self) -> None:
        """Ends the connections."""
        self._api.close()

    def send(self, prompt: Prompt, form: Form) -> Reply:
        """Asks once.

        Args:
            prompt: What to ask.
            form: In which form.

        Returns:
            What the model wrote.

        Raises:
            NoReplyError: It did not answer, with what that means for other requests.
        """
        try:
            return _read(self._post(prompt, form))
        except openai.APIStatusError as error:
            raise _refused(error.response) from error
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise self._unanswered(error) from error

    def _unanswered(self, error: Exception) -> NoReplyError:
        """What came in the way; the client wraps what happens before an answer begins."""
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            return NoReplyError.unreached()
        if isinstance(cause, httpx2.TimeoutException):
            return NoReplyError.late(self._config.timeout)
        return NoReplyError.broken()

    def _post(self, prompt: Prompt, form: Form) -> bytes:
        """The answer's bytes; a deadline of its own, as the client's is one for each packet."""
        options: dict[str, Any] = {
            "model": self._config.model,
            "messages": prompt.messages,
            form.limit: prompt.answer_tokens,
        }
        if form.response_format:
            options["response_format"] = form.response_format
        deadline = time.monotonic() + self._config.timeout
        body = bytearray()
        with self._api.chat.completions.with_streaming_response.create(**options) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > _LARGEST:
                    raise NoReplyError.too_large(_LARGEST)
                if time.monotonic() > deadline:
                    raise NoReplyError.late(self._config.timeout)
        return bytes(body)


def _refused(response: httpx2.Response) -> NoReplyError:
    status = response.status_code
    failed = Outcome.BUSY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Outcome.ODD
    return NoReplyError.from_status(
        status,
        outcome=_OUTCOMES.get(status, failed),
        wait=read_wait(response.headers.get("retry-after", "")),
    )


def read_wait(header: str) -> float | None:
    """Reads how long an endpoint asks to wait.

    Args:
        header: The value of `Retry-After`: seconds, or a moment.

    Returns:
        Seconds from now, never negative; None if it says nothing of use.

    >>> read_wait("2.5"), read_wait("-1"), read_wait("soon"), read_wait("nan")
    (2.5, 0.0, None, None)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        seconds = (aware - datetime.now(timezone.utc)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _read(body: bytes) -> Reply:
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        text = choice["message"].get("content")
        usage = answer.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise NoReplyError.foreign() from error
    counted = usage if isinstance(usage, dict) else {}
    return Reply(
        text=text if isinstance(text, str) else "",
        cut=choice.get("finish_reason") == "length",
        request_tokens=_count(counted.get("prompt_tokens")),
        answer_tokens=_count(counted.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
