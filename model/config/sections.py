"""Hyper-parameters of the model, one frozen dataclass for each part of it."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from datahub_hyperjoin.model.config.bounds import PositiveFloat, PositiveInt, Share
from datahub_hyperjoin.model.config.language_model import VariantConfig


class Setting(str, Enum):
    """Where the defaults of all other keys come from."""

    OURS = "ours"
    """What this project found to work best."""

    PAPER = "paper"
    """What the paper describes, departures of ours switched off; keys that are written win."""


class Edges(str, Enum):
    """What makes two key columns an edge of the join graph."""

    CONTAINMENT = "containment"
    """Values of one that the other contains beyond chance; fewer where names are variants."""

    VARIANTS = "variants"
    """Names that are variants of one another, and any value in common, as in the paper."""


class Positions(str, Enum):
    """What tells where a column stands."""

    WALKS = "walks"
    """Chances that random walks return, beside the table's vector."""

    LAPLACIAN = "laplacian"
    """Smallest eigenvectors of each component's Laplacian, as in the paper, beside the same."""

    NONE = "none"
    """Nothing, and no table's vector either."""


class EpochSelection(str, Enum):
    """How the best epoch is chosen."""

    RECALL = "recall"
    """By recall on key columns held out."""

    LOSS = "loss"
    """By training loss."""


class Loss(str, Enum):
    """What training minimises."""

    TRIPLET = "triplet"
    """The paper's margin ranking loss with the hardest negative of the batch."""

    SEMI_HARD = "semi-hard"
    """The same with the hardest negative that is farther away than the positive, which doesn't
    collapse where the hardest of all makes every column the same."""

    INFONCE = "infonce"
    """Softmax over every negative of the batch."""


class Reuse(str, Enum):
    """When a saved model is used again instead of training."""

    EXACT = "exact"
    """If it was made from the same data with the same settings."""

    ALWAYS = "always"
    """Whatever the tables: it encodes new and changed ones as they are."""

    NEVER = "never"
    """Train anew in every run."""


class Scoring(str, Enum):
    """What weighs a pair of columns in the ranking."""

    HIN = "hin"
    """The network's cosine alone, as in the paper."""

    BLEND = "blend"
    """The network's cosine, values, cells and names together."""

    SIGNALS = "signals"
    """The blend without the network, which is not trained; candidates come from values and names
    alone."""


class Precision(str, Enum):
    """What matrices are multiplied in; sums, norms and weights are always float32."""

    AUTO = "auto"
    """`bfloat16` on a GPU, `float32` on a CPU."""

    FLOAT32 = "float32"
    """Single precision."""

    BFLOAT16 = "bfloat16"
    """Half precision, where the device multiplies it faster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyConfig:
    """Which columns are asked about."""

    min_completeness: Share = 0.3
    """Least share of rows that must have a value, in [0, 1]; unique values need not be many."""

    min_distinct: PositiveInt = 3
    """Least number of different values."""

    min_uniqueness: Share = 0.9
    """Least distinct values per filled row, in [0, 1], of a column with few values and of a
    whole-number column whose name is no identifier's."""

    max_length: PositiveFloat = 64.0
    """Greatest mean length, in characters: beyond it a text is prose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureConfig:
    """How names and values become vectors."""

    vectors: Path | None = None
    """A pretrained fastText model (.bin); without it vectors are trained on the lake."""

    dimension: PositiveInt = 100
    """Length of the vectors trained on the lake."""

    vocabulary: PositiveInt = 1500
    """Name tokens with a vector of their own; others are made of their subwords."""

    names: bool = True
    """Whether names of tables and columns are read, by the network and by the blend."""

    values: bool = True
    """Whether values are read, by the network and by the blend."""

    reference: bool = True
    """Whether the blend knows codes and names that everyone uses, such as those of countries."""

    def __post_init__(self) -> None:
        """Refuse to read nothing."""
        if not (self.names or self.values):
            message = "`names` and `values` are both false; read at least one of them"
            raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class HypergraphConfig:
    """What makes an edge of the join graph, and how large a hyperedge may grow."""

    min_containment: Share = 0.8
    """Least estimated containment, above chance, of an edge of the join graph, in [0, 1]."""

    min_shared: PositiveInt = 3
    """Least number of shared values of such an edge."""

    max_size: PositiveInt = 64
    """Most columns of a hyperedge across tables; weaker edges that would exceed it are left out."""

    walk_length: PositiveInt = 16
    """Steps of the random walks that tell positions on the join graph, or its eigenvectors, k."""

    edges: Edges = Edges.CONTAINMENT
    """What makes an edge of the join graph."""

    variants: bool = True
    """Whether name variants count: as edges of the join graph, and as names in training."""

    within: bool = True
    """Whether there are hyperedges within tables."""

    across: bool = True
    """Whether there are hyperedges across tables."""

    inference: bool = True
    """Whether columns are encoded with hyperedges once the network is trained."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkConfig:
    """Sizes of HIN (paper, section 4.2)."""

    width: PositiveInt = 512
    """Length of an embedding, d."""

    heads: PositiveInt = 8
    """Attention heads of a mixer layer."""

    node_layers: PositiveInt = 2
    """Transformations of each column before pooling, L."""

    mixer_layers: PositiveInt = 2
    """Global hyperedge mixing layers."""

    dropout: Share = 0.05
    """Share of activations dropped in training."""

    position_weight: float = 0.1
    """Initial weight of both positional encodings, alpha and beta."""

    structure_weight: float = 0.5
    """Initial weight of shared columns in attention, lambda."""

    positions: Positions = Positions.WALKS
    """What tells where a column stands."""

    name_vectors: bool = True
    """Whether a name's word vector is read beside its tokens; without it, tokens outside the
    vocabulary say nothing."""

    precision: Precision = Precision.AUTO
    """What matrices are multiplied in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How the network is fitted, without labels (paper, section 4.2)."""

    epochs: PositiveInt = 30
    """Most passes over the key columns."""

    warmup_epochs: Annotated[int, Ge(0)] = 3
    """Epochs over which the learning rate rises to its value."""

    batch_size: PositiveInt = 64
    """Key columns in a step."""

    learning_rate: PositiveFloat = 4e-4
    """Adam's step size."""

    loss: Loss = Loss.INFONCE
    """What is minimised."""

    margin: PositiveFloat = 1.0
    """Of both triplet losses, on cosines."""

    temperature: PositiveFloat = 0.07
    """Of InfoNCE."""

    gradient_clip: PositiveFloat = 1.0
    """Greatest norm of the gradient."""

    held_out: Share = 0.1
    """Share of the key columns kept to choose the best epoch by."""

    patience: PositiveInt = 20
    """Epochs without a better one before training stops."""

    selection: EpochSelection = EpochSelection.RECALL
    """How the best epoch is chosen."""

    corruption: bool = True
    """Whether the right view writes values, and some names, as another publisher would."""

    relocation: Share = 0.5
    """How often a positive stands in another table of the batch, as joinable columns do."""

    forgetting: Share = 0.5
    """How often a view does not know a table's vector, a value domain, or a column's place on the
    join graph: of two joinable columns, one may have what the other lacks."""

    spare_alike: bool = True
    """Whether columns that may be joinable are left out of the negatives."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingConfig:
    """From embeddings to a coherent top-K (paper, section 5)."""

    candidates: PositiveInt = 50
    """Columns taken for each query by embeddings, B, as many by names and as many by cells."""

    top_k: PositiveInt = 5
    """Suggestions for each key column, K."""

    coherence: Annotated[float, Ge(0)] = 0.5
    """Weight of agreement among suggestions, lambda; 0 ranks by joinability alone."""

    affinity: Scoring = Scoring.BLEND
    """What weighs a pair."""

    hold_copies: bool = True
    """Whether a second copy of a column waits until others are placed."""

    min_joinability: Share = 0.5
    """Least score of a suggestion, in [0, 1]."""

    min_containment: Share = 0.1
    """Least share of one side's values that the data must confirm on the other, in [0, 1]; 0
    keeps suggestions that agree in meaning only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """Everything the model is told."""

    setting: Setting = Setting.OURS
    """Where the defaults of all other keys of the model come from; `paper` is the paper's setting,
    which suggests as many columns as asked for, however weak."""

    seed: int = 0
    """Where all randomness starts."""

    path: Path | None = None
    """Folder of the saved model, which a dry run keeps too; without it the model is not kept."""

    reuse: Reuse = Reuse.EXACT
    """When the saved model is used again instead of training."""

    start: Path | None = None
    """Folder of a saved model that training starts from, with its vocabulary and word vectors; with
    `reuse: always` it encodes without training while there is no model in `path`."""

    keys: KeyConfig = field(default_factory=KeyConfig)
    """Which columns are asked about."""

    features: FeatureConfig = field(default_factory=FeatureConfig)
    """How names and values become vectors."""

    variants: VariantConfig = field(default_factory=VariantConfig)
    """Where other names of key columns come from."""

    hypergraph: HypergraphConfig = field(default_factory=HypergraphConfig)
    """What connects columns before training."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    """How large the network is."""

    training: TrainingConfig = field(default_factory=TrainingConfig)
    """How it is fitted."""

    ranking: RankingConfig = field(default_factory=RankingConfig)
    """How candidates become suggestions."""
