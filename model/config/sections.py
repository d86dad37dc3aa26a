"""The section `model` of a recipe, with a class for each subsection."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from datahub_hyperjoin.bounds import (
    Amount,
    FewAtOnce,
    Large,
    MaxCost,
    Mebibytes,
    PerColumn,
    Price,
    Rate,
    Seconds,
    Seed,
    Share,
    Weight,
    Width,
)
from datahub_hyperjoin.errors import MissingExtraError
from datahub_hyperjoin.model.config.method import OURS, PAPER, Setting


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
    """Whether requests contain up to five values of each column that is asked about and of its
    possible keys, except personal columns. By default, they contain names only."""

    concurrency: FewAtOnce = 4
    """Number of requests at the same time."""

    timeout: Seconds = 60.0
    """Time limit of a request, in seconds."""

    answer_tokens: PerColumn = 100
    """Maximum number of answer tokens for each column that is asked about. Reasoning models need
    more tokens."""

    max_tokens: Large = 2_000_000
    """Maximum number of tokens in all requests and answers of a run. Once it is reached, no more
    is asked; the most uncertain columns come first."""

    max_cost: MaxCost | None = None
    """Maximum cost of a run, in the currency of the prices. Needs both prices."""

    input_price: Price | None = None
    """Price of a million tokens of requests."""

    output_price: Price | None = None
    """Price of a million tokens of answers."""

    cache: Path | None = None
    """Folder that keeps answers, so that no run repeats a request. It contains names, numbers and
    no values."""

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


class Reuse(str, Enum):
    """The condition for using a saved model instead of training a new one."""

    # A saved model is used if it was trained on the same data with the same settings.
    EXACT = "exact"
    # A saved model is used for any data, and encodes new or changed tables without training.
    ALWAYS = "always"
    NEVER = "never"  # never: every run trains a new model


class Scoring(str, Enum):
    """The signals from which the score of a pair of columns is computed."""

    # Values, cells, names and references. No network is trained.
    SIGNALS = "signals"
    BLEND = "blend"  # the signals and the cosine of a network that is trained on the lake
    HIN = "hin"  # the cosine of the network's embeddings alone, as in the paper


class Precision(str, Enum):
    """The number format of matrix products.

    Sums, norms and weights are always float32.
    """

    AUTO = "auto"  # `bfloat16` on a GPU, `float32` on a CPU
    FLOAT32 = "float32"  # single precision
    # Floating-point numbers of 16 bits, for devices that multiply them faster.
    BFLOAT16 = "bfloat16"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyConfig:
    """Conditions for key columns.

    Only key columns get suggestions.
    """

    min_completeness: Share = 0.3
    """Minimum share of rows with a value, in [0, 1]. A column whose values are unique is
    exempt. Lower it to get suggestions for sparse columns too."""

    min_uniqueness: Share = 0.9
    """Minimum number of distinct values per filled row, in [0, 1]. It applies to columns with few
    values, and to whole-number columns whose name is not that of an identifier."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureConfig:
    """The inputs of the model: word vectors, names and values."""

    vectors: Path | None = None
    """File of a pretrained fastText model (.bin). Without it, word vectors are trained on the
    lake."""

    names: bool = True
    """Whether the network and the blend read names of tables and columns."""

    values: bool = True
    """Whether values are compared. Otherwise names, types, counts and lengths of values decide."""

    def __post_init__(self) -> None:
        """Reject a configuration that reads neither names nor values."""
        if not (self.names or self.values):
            message = "`names` and `values` are both false; read at least one of them"
            raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class HypergraphConfig:
    """Conditions for hyperedges between columns of several tables."""

    min_containment: Share = 0.8
    """Minimum estimated containment above chance, in [0, 1], for an edge of the join graph.
    Columns whose names are variants need half of it. Raise it if the report names a value domain of
    unrelated columns."""

    max_size: Amount = 64
    """Maximum number of columns in a hyperedge across tables. Edges are taken strongest first; an
    edge that would exceed the maximum is skipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkConfig:
    """The size and the precision of the network (paper, section 4.2)."""

    width: Width = 512
    """Length of an embedding, d; a multiple of 8. Memory and time grow with it."""

    precision: Precision = Precision.AUTO
    """Number format of matrix products."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """Settings for training the network (paper, section 4.2)."""

    epochs: PerColumn = 30
    """Maximum number of passes over the key columns. Training may stop earlier."""

    batch_size: Amount = 64
    """Number of key columns in a training step. Lower it if memory runs out."""

    learning_rate: Rate = 4e-4
    """Adam's step size. Lower it if the loss becomes infinite or undefined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingConfig:
    """Settings for ranking candidates (paper, section 5)."""

    top_k: PerColumn = 5
    """Maximum number of suggestions for each key column (K)."""

    coherence: Weight = 0.5
    """Weight of agreement among the suggestions for one column (lambda); 0 ranks by joinability
    alone."""

    scoring: Scoring = Scoring.SIGNALS
    """The signals that score a pair: `signals`, `blend` or `hin`. The last two train a network,
    which takes minutes and improves no ranking that was measured."""

    min_joinability: Share = 0.5
    """Minimum score of a suggestion, in [0, 1]. Lower it for more suggestions, raise it for more
    reliable ones."""

    min_containment: Share = 0.1
    """Minimum share of the values on one side of a join that also occur on the other side, in
    [0, 1]. 0 also keeps suggestions without shared values."""

    list_all: bool = False
    """Whether to list and write also joins that follow from others, such as those between two
    columns that refer to one key, between files of two years, or of dates."""

    max_key_columns: FewAtOnce = 4
    """Maximum number of columns of a composite key in the search; 1 disables the search. Declared
    keys of any width are used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """The section `model` of a recipe."""

    setting: Setting = OURS
    """The method and the defaults of the other keys: this project's (`ours`) or the HyperJoin
    paper's (`paper`). With `paper`, every key column gets up to `ranking.top_k` suggestions,
    however weak."""

    seed: Seed = 0
    """Seed of all randomness."""

    path: Path | None = None
    """Folder of the saved model, which a dry run writes, too. Without a folder, the model is not
    saved."""

    reuse: Reuse = Reuse.EXACT
    """When the saved model is used instead of training: `exact`, `always` or `never`."""

    start: Path | None = None
    """Folder of a saved model. Training starts from this model, with its vocabulary and word
    vectors. With `reuse: always`, the model in `start` is used without training while `path` holds
    none."""

    max_memory: Mebibytes | None = None
    """Maximum memory of the run's own process in MiB, without Java. After profiling, the run
    estimates its memory, and stops if the estimate exceeds this limit. By default, the limit is the
    memory that the container or the machine has left. To go on in spite of the estimate, set a
    higher limit."""

    keys: KeyConfig = field(default_factory=KeyConfig)
    """Conditions that a key column must meet. Only key columns get suggestions."""

    features: FeatureConfig = field(default_factory=FeatureConfig)
    """The inputs of the model: word vectors, names and values."""

    llm: LanguageModelConfig | None = None
    """A language model, which is asked about each column whose key is uncertain, and, where a
    network is trained, for one name variant of each key column. By default, nothing is sent."""

    hypergraph: HypergraphConfig = field(default_factory=HypergraphConfig)
    """The conditions under which columns share a hyperedge across tables."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    """Size and precision of the network."""

    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Number of epochs, batch size and learning rate of training."""

    ranking: RankingConfig = field(default_factory=RankingConfig)
    """Number of candidates and suggestions, and how candidates are scored and ordered."""

    @property
    def asks_for_variants(self) -> bool:
        """Whether a language model is asked for name variants, which only a network learns from."""
        return bool(self.llm) and self.uses_variants and self.ranking.scoring is not Scoring.SIGNALS

    @property
    def uses_variants(self) -> bool:
        """Whether the method uses name variants and the model reads names."""
        return self.setting.name_variants and self.features.names


def find_unused_keys(config: ModelConfig) -> tuple[str, ...]:
    """Return the keys in the recipe that the run ignores because it trains no network.

    Returns:
        Keys such as `model.path`, in the order of the section; empty if a network is trained.
    """
    if config.ranking.scoring is not Scoring.SIGNALS:
        return ()
    is_set = {
        "model.path": config.path is not None,
        "model.start": config.start is not None,
        "model.features.vectors": config.features.vectors is not None,
        "model.network": config.network != NetworkConfig(),
        "model.training": config.training != TrainingConfig(),
    }
    return tuple(key for key, given in is_set.items() if given)


_UNBOUNDED = 10**9
"""A hyperedge size that no lake reaches."""


def paper() -> ModelConfig:
    """Return the configuration of the HyperJoin paper (sections 4 to 6)."""
    return ModelConfig(
        setting=PAPER,
        hypergraph=HypergraphConfig(max_size=_UNBOUNDED),
        ranking=RankingConfig(
            top_k=25,
            coherence=1.0,
            scoring=Scoring.HIN,
            min_joinability=0.0,
            min_containment=0.0,
            list_all=True,
            max_key_columns=1,
        ),
    )


def _lay_beneath(
    defaults: Mapping[str, object], written: Mapping[str, object]
) -> dict[str, object]:
    filled = {**defaults, **written}
    for key, default in defaults.items():
        value = filled[key]
        if isinstance(default, Mapping) and isinstance(value, Mapping):
            filled[key] = _lay_beneath(default, value)
    return filled


def fill(written: Mapping[str, object]) -> dict[str, object]:
    """Add the paper's defaults to the section `model` if the section contains `setting: paper`.

    Returns:
        The same keys, which override the defaults.

    >>> filled = fill({"setting": "paper", "ranking": {"top_k": 5}})
    >>> filled["ranking"]["top_k"], filled["ranking"]["scoring"].value
    (5, 'hin')
    """
    if written.get("setting") not in ("paper", PAPER):
        return dict(written)
    return _lay_beneath(asdict(paper()), written)


_PACKAGES = {"hin": ("torch", "fasttext"), "llm": ("openai", "httpx2")}


def require_extras(config: ModelConfig) -> None:
    """Refuse a configuration whose packages are missing.

    Raises:
        MissingExtraError: A package of an extra is not installed.
    """
    scoring, needed = config.ranking.scoring, dict[str, str]()
    if scoring is not Scoring.SIGNALS:
        needed["hin"] = f"model.ranking.scoring: {scoring.value}"
    if config.llm:
        needed["llm"] = "model.llm"
    for extra, option in needed.items():
        for package in _PACKAGES[extra]:
            if find_spec(package) is None:
                raise MissingExtraError.named(extra=extra, option=option, package=package)
