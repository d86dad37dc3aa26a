"""Send requests to a language model through the `openai` client.

Importing `openai` takes about a second, so only runs that use a language model import this module.
"""

import json
import math
import time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai

from datahub_hyperjoin.model.config import LanguageModelConfig
from datahub_hyperjoin.model.llm.errors import FailureKind, NoReplyError, Reply
from datahub_hyperjoin.model.llm.prompt import Form, Prompt
from datahub_hyperjoin.visible import redact

_MAX_BYTES = 1 << 20  # maximum size of an answer
_FAILURE_KINDS: dict[int, FailureKind] = {
    **dict.fromkeys((400, 422), FailureKind.UNSUPPORTED),
    **dict.fromkeys((401, 402, 403, 404), FailureKind.REFUSED),
    **dict.fromkeys((408, 409, 425, 429), FailureKind.BUSY),
}
"""Why each HTTP status ends a request; any other below 500 is `INVALID`."""


class Client:
    """A thread-safe client for a language model."""

    def __init__(self, config: LanguageModelConfig) -> None:
        self._config = config
        # Without a key in the recipe the client would send the environment's key, which may be
        # meant for another endpoint. Its own retries are off, so that the budget counts each try.
        try:
            self._api = openai.OpenAI(
                api_key=config.api_key.get_secret_value() if config.api_key else "none",
                base_url=config.base_url,
                timeout=config.timeout,
                max_retries=0,
            )
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
            raise NoReplyError.of_kind(FailureKind.REFUSED, redact(str(error))) from error

    def close(self) -> None:
        """Close all connections."""
        self._api.close()

    def send(self, prompt: Prompt, form: Form) -> Reply:
        """Send a request without retries, and return the language model's reply."""
        try:
            return _read(self._post(prompt, form))
        except openai.APIStatusError as error:
            raise _refused(error.response) from error
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise self._classify(error) from error

    def _classify(self, error: Exception) -> NoReplyError:
        """Convert a connection error to the matching `NoReplyError`."""
        # `openai` wraps only errors that occur before the answer's first byte.
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            return NoReplyError.of_kind(FailureKind.BUSY, "no connection")
        if isinstance(cause, httpx2.TimeoutException):
            return self._timed_out()
        return NoReplyError.of_kind(FailureKind.LOST, "connection lost")

    def _timed_out(self) -> NoReplyError:
        message = f"no complete answer within {self._config.timeout:g} s"
        return NoReplyError.of_kind(FailureKind.LOST, message)

    def _post(self, prompt: Prompt, form: Form) -> bytes:
        """Send a request, and return the bytes of the response."""
        options: dict[str, Any] = {
            "model": self._config.model,
            "messages": prompt.messages,
            form.limit: prompt.answer_tokens,
        }
        if response_format := form.response_format(prompt):
            options["response_format"] = response_format
        # The client's timeout is that of a single read; an answer in drops could last for hours.
        deadline = time.monotonic() + self._config.timeout
        body = bytearray()
        with self._api.chat.completions.with_streaming_response.create(**options) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > _MAX_BYTES:
                    message = f"answer larger than {_MAX_BYTES} bytes"
                    raise NoReplyError.of_kind(FailureKind.INVALID, message)
                if time.monotonic() > deadline:
                    raise self._timed_out()
        return bytes(body)


def _refused(response: httpx2.Response) -> NoReplyError:
    status, wait = response.status_code, read_wait(response.headers.get("retry-after", ""))
    default = FailureKind.BUSY if response.is_server_error else FailureKind.INVALID
    return NoReplyError.from_status(status, kind=_FAILURE_KINDS.get(status, default), wait=wait)


def read_wait(header: str) -> float | None:
    """Return the waiting time that a `Retry-After` header asks for.

    >>> read_wait("2.5"), read_wait("-1"), read_wait("soon"), read_wait("nan")
    (2.5, 0.0, None, None)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return None
        # A date with the zone `-0000`, which is UTC, is parsed as one without a zone.
        aware = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        seconds = (aware - datetime.now(timezone.utc)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _read(body: bytes) -> Reply:
    """Parse a chat completion from the body of a response."""
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        text = choice["message"].get("content")
        usage = answer.get("usage")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        message = "answer is not a chat completion"
        raise NoReplyError.of_kind(FailureKind.INVALID, message) from error
    counts = usage if isinstance(usage, dict) else {}
    return Reply(
        text=text if isinstance(text, str) else "",
        cut_off=choice.get("finish_reason") == "length",
        request_tokens=_count(counts.get("prompt_tokens")),
        answer_tokens=_count(counts.get("completion_tokens")),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
