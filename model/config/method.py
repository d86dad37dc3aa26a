"""The two methods that a recipe can select: this project's and the HyperJoin paper's.

A recipe selects a method as a whole with `model.setting`. Code that measures a single departure
derives a method of its own: `dataclasses.replace(OURS, loss=Loss.TRIPLET)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError


class Edges(str, Enum):
    """The rule that decides which pairs of key columns are edges in the join graph."""

    # One column contains enough values of the other, beyond chance; fewer suffice if the names are
    # variants of each other.
    CONTAINMENT = "containment"
    # The names of both columns are variants of each other, and the columns share a value, as in the
    # paper.
    VARIANTS = "variants"


class Positions(str, Enum):
    """A kind of positional encoding for columns."""

    # The table's vector, and the probabilities that random walks on the join graph return to the
    # column.
    WALKS = "walks"
    # The table's vector, and the smallest Laplacian eigenvectors of each component. The paper uses
    # these.
    LAPLACIAN = "laplacian"
    NONE = "none"  # neither a positional encoding nor the table's vector


class EpochSelection(str, Enum):
    """The measure by which training chooses its best epoch."""

    RECALL = "recall"  # highest recall on held-out key columns
    LOSS = "loss"  # lowest training loss


class Loss(str, Enum):
    """A loss function for training."""

    TRIPLET = "triplet"  # the paper's margin ranking loss with the hardest negative of the batch

    INFONCE = "infonce"  # softmax of the positive against every negative of the batch


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """The settings that define a method, such as its loss function.

    The defaults are this project's own method.
    """

    dimension: int = 100
    """Length of word vectors trained on the lake."""

    vocabulary: int = 1500
    """Number of name tokens with an embedding of their own."""

    entity_kinds: bool = True
    """Whether pair scoring recognises standard codes and names, such as those of countries."""

    value_forms: bool = True
    """Whether values that differ only in form, such as `007` and `7`, count as shared."""

    roles: bool = True
    """Whether references between columns are found, ranked first and given a direction."""

    tree_correction: bool = True
    """Whether trees that were trained on other lakes correct the scores of pairs."""

    network_correction: bool = True
    """Whether the pair network, trained on other lakes, also corrects the scores of pairs."""

    decision_effects: bool = True
    """Whether a decision about one pair also changes the scores of similar pairs."""

    edges: Edges = Edges.CONTAINMENT
    """The rule for edges of the join graph."""

    name_variants: bool = True
    """Whether name variants add edges to the join graph, and names to the training data."""

    within_tables: bool = True
    """Whether there are hyperedges within tables."""

    across_tables: bool = True
    """Whether there are hyperedges across tables."""

    hyperedges_at_inference: bool = True
    """Whether the trained network encodes columns with their hyperedges."""

    walk_length: int = 16
    """Length of the positional encoding, k: steps of random walks, or number of eigenvectors."""

    heads: int = 8
    """Attention heads of a mixer layer."""

    node_layers: int = 2
    """Number of transformations of each column before pooling (L in the paper)."""

    mixer_layers: int = 2
    """Number of layers that mix information between all hyperedges."""

    dropout: float = 0.05
    """Share of activations dropped in training."""

    position_weight: float = 0.1
    """Initial weight of both positional encodings, alpha and beta."""

    structure_weight: float = 0.5
    """Initial weight of shared columns in attention (lambda in the paper)."""

    positions: Positions = Positions.WALKS
    """The positional encoding of a column."""

    name_vectors: bool = True
    """Whether the network reads a name's word vector beside its tokens. Without it, tokens outside
    the vocabulary carry no information."""

    warmup_epochs: int = 3
    """Epochs over which the learning rate rises to its full value."""

    loss: Loss = Loss.INFONCE
    """The training objective."""

    margin: float = 1.0
    """Margin of the triplet loss, as a cosine."""

    temperature: float = 0.07
    """Temperature of InfoNCE."""

    gradient_clip: float = 1.0
    """Maximum norm of the gradient."""

    held_out: float = 0.1
    """Share of the key columns held out for selecting the best epoch, in [0, 1]."""

    patience: int = 20
    """Epochs without improvement after which training stops."""

    selection: EpochSelection = EpochSelection.RECALL
    """The criterion for the best epoch."""

    corruption: bool = True
    """Whether the second view rewrites values, and some names, as another publisher would."""

    table_swap_rate: float = 0.5
    """Share of the positive columns that move into another table of the batch, in [0, 1]."""

    context_dropout_rate: float = 0.5
    """Probability that a view hides a table's vector, a value domain or a column's position, in
    [0, 1]. Of two joinable columns, one may have a context that the other lacks."""

    exclude_similar_negatives: bool = True
    """Whether columns that may be joinable with the query are excluded from its negatives."""

    candidates: int = 50
    """Number of candidates of each query that are found by embeddings (B in the paper). As many are
    found by names, and as many by cells."""

    defer_duplicates: bool = True
    """Whether a second copy of a column is selected only after all other candidates."""


OURS = Method()
"""The choices that work best in the measurements of this project."""

PAPER = Method(
    dimension=300,
    entity_kinds=False,
    value_forms=False,
    roles=False,
    tree_correction=False,
    network_correction=False,
    decision_effects=False,
    edges=Edges.VARIANTS,
    positions=Positions.LAPLACIAN,
    name_vectors=False,
    loss=Loss.TRIPLET,
    # The paper does not name its criterion. Its code holds nothing out and keeps the epoch of
    # least training loss.
    held_out=0.0,
    patience=30,
    selection=EpochSelection.LOSS,
    corruption=False,
    table_swap_rate=0.0,
    context_dropout_rate=0.0,
    exclude_similar_negatives=False,
    defer_duplicates=False,
)
"""The paper's choices (sections 4 to 6). Corrections of defects cannot be switched off: names are
split on case changes too, and a supervised pair never shares a hyperedge."""

METHODS: Mapping[str, Method] = {"ours": OURS, "paper": PAPER}
"""The methods that a recipe can select, by name."""


def find_method(setting: object) -> Method:
    """Return the method that a recipe selects in `model.setting`.

    Args:
        setting: A name in `METHODS`, or a method that code has made.
    """
    if isinstance(setting, Method):
        return setting
    if isinstance(setting, str) and setting in METHODS:
        return METHODS[setting]
    error, message = "setting", "Input should be 'ours' or 'paper'"
    raise PydanticCustomError(error, message)


def name_method(method: Method) -> str:
    """Return the name that selects a method in `model.setting`.

    Args:
        method: One of `METHODS`, or a method that code has made.

    Returns:
        Its name; "custom" for a method that no recipe can select.
    """
    return next((name for name, named in METHODS.items() if named == method), "custom")


Setting = Annotated[
    Method,
    PlainValidator(find_method),
    PlainSerializer(name_method, return_type=str),
    WithJsonSchema({"enum": [*METHODS], "type": "string"}),
    Field(json_schema_extra={"default": "ours"}),
]
"""A recipe's `model.setting`: written as a name, read as a method."""
