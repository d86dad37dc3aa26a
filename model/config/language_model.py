"""Configuration of the language model that suggests name variants."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from datahub_hyperjoin.bounds import FewAtOnce, Large, MaxCost, PerColumn, Price, Seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageModelConfig:
    """Access to a language model through an OpenAI-compatible API."""

    model: str
    """The model's name, as the endpoint knows it."""

    base_url: str = "https://api.openai.com/v1"
    """URL of the endpoint, without `/chat/completions`."""

    api_key: SecretStr | None = None
    """Key for the endpoint. Write `${OPENAI_API_KEY}` and keep the key in the environment. Servers
    of your own may need none."""

    send_values: bool = False
    """Whether requests contain up to five values of each key column, except personal columns. By
    default, they contain names only."""

    concurrency: FewAtOnce = 4
    """Number of requests at the same time."""

    timeout: Seconds = 60.0
    """Time limit of a request, in seconds."""

    answer_tokens: PerColumn = 100
    """Maximum number of answer tokens for each column in a request. Reasoning models need more
    tokens."""

    max_tokens: Large = 2_000_000
    """Maximum number of tokens in all requests and answers of a run. Once it is reached, built-in
    rules provide the remaining name variants."""

    max_cost: MaxCost | None = None
    """Maximum cost of a run, in the currency of the prices. Needs both prices."""

    input_price: Price | None = None
    """Price of a million tokens of requests."""

    output_price: Price | None = None
    """Price of a million tokens of answers."""

    cache: Path | None = None
    """Folder that keeps answers, so that no run repeats a request. It contains names and no
    values."""

    def __post_init__(self) -> None:
        """Reject invalid values.

        Error messages do not repeat them, because they may be secret.
        """
        address = urlsplit(self.base_url)
        if address.scheme not in {"http", "https"} or not address.hostname or address.port == 0:
            message = "`base_url` must begin with http:// or https:// and name a host"
            raise ValueError(message)
        if address.username or address.password:
            message = "`base_url` must not contain a user or password. Set `api_key` instead"
            raise ValueError(message)
        key = self.api_key.get_secret_value() if self.api_key else "none"
        if not (key.isascii() and key.isprintable()) or " " in key:
            message = "`api_key` contains spaces or other characters that no key has. Correct it"
            raise ValueError(message)
        if self.max_cost is not None and None in {self.input_price, self.output_price}:
            message = "`max_cost` needs `input_price` and `output_price`. Set both"
            raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantConfig:
    """Settings for name variants from a language model."""

    llm: LanguageModelConfig | None = None
    """A language model that suggests one name variant of each key column. By default, nothing is
    sent, and rules alone provide variants."""
