"""Which language model is asked for other names of key columns, and what it may see and cost."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from datahub_hyperjoin.model.config.bounds import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageModelConfig:
    """A language model behind an endpoint that speaks OpenAI's protocol."""

    model: str
    """The model's name, as the endpoint knows it."""

    base_url: str = "https://api.openai.com/v1"
    """Where the endpoint is; `/chat/completions` is added to it."""

    api_key: SecretStr | None = None
    """What the endpoint knows you by; write `${OPENAI_API_KEY}` and keep it in the environment.
    Servers of your own may need none."""

    send_values: bool = False
    """Whether up to five values of each key column are sent, too; else only names leave."""

    columns_per_request: PositiveInt = 25
    """Key columns that one request asks about."""

    concurrency: PositiveInt = 4
    """Requests at once."""

    timeout: PositiveFloat = 60.0
    """Seconds that a request may take."""

    retries: NonNegativeInt = 4
    """Further tries of a request when the endpoint is busy, fails or does not answer."""

    answer_tokens: PositiveInt = 100
    """Most tokens that an answer may have for each column; a model that reasons needs more."""

    max_tokens: PositiveInt = 2_000_000
    """Most tokens of all requests and answers of a run; rules give the rest of the names."""

    max_cost: PositiveFloat | None = None
    """Most money that a run may cost, in the currency of the prices."""

    input_price: NonNegativeFloat | None = None
    """Price of a million tokens of requests."""

    output_price: NonNegativeFloat | None = None
    """Price of a million tokens of answers."""

    cache: Path | None = None
    """Folder of the answers, so that nothing is asked twice; it holds names and no values."""

    def __post_init__(self) -> None:
        """Refuse what could not work, without repeating what may be secret."""
        address = urlsplit(self.base_url)
        if address.scheme not in {"http", "https"} or not address.hostname or address.port == 0:
            message = "`base_url` must begin with http:// or https:// and name a host"
            raise ValueError(message)
        if address.username or address.password:
            message = "`base_url` must not hold a user or password; give `api_key`"
            raise ValueError(message)
        key = self.api_key.get_secret_value() if self.api_key else "none"
        if not (key.isascii() and key.isprintable()) or " " in key:
            message = "`api_key` has spaces or other characters that no key has"
            raise ValueError(message)
        if self.max_cost is not None and None in {self.input_price, self.output_price}:
            message = "`max_cost` needs `input_price` and `output_price`"
            raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantConfig:
    """Where other names of key columns come from."""

    llm: LanguageModelConfig | None = None
    """A language model that is asked for one more name of each key column; without it nothing
    leaves, and rules alone say how a column could be called."""
