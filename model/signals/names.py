"""Names of tables and columns as tokens, the unit that the text encoders read."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy import sparse

IDENTIFIER_WORDS = frozenset(
    ["id", "ids", "identifier", "key", "code", "no", "nr", "nbr", "num", "number", "uuid", "guid"]
)
"""Tokens that say that a column identifies something, and not what."""

_PROJECTED = 256
"""Length of a name's vector of trigrams."""
_WORD = re.compile(r"[^\W_]+")


def _starts_token(word: str, at: int) -> bool:
    before, here = word[at - 1], word[at]
    if before.isdigit() != here.isdigit():
        return True
    ends_acronym = before.isupper() and word[at + 1 : at + 2].islower()
    return here.isupper() and (before.islower() or ends_acronym)


def _parts(word: str) -> Iterator[str]:
    start = 0
    for at in range(1, len(word)):
        if _starts_token(word, at):
            yield word[start:at]
            start = at
    yield word[start:]


def tokens(name: str) -> tuple[str, ...]:
    """Splits a name on separators, case changes and digits, and lower-cases its parts.

    Args:
        name: A name as the catalog has it.

    Returns:
        Its tokens in order; empty for a name without letters or digits.

    >>> tokens("CustomerID"), tokens("customer_id"), tokens("HTTPStatus2")
    (('customer', 'id'), ('customer', 'id'), ('http', 'status', '2'))
    >>> tokens("park.key"), tokens("__")
    (('park', 'key'), ())
    """
    return tuple(part.lower() for word in _WORD.findall(name) for part in _parts(word))


def trigrams(name: str) -> frozenset[str]:
    """The three-letter windows of a name's tokens, padded at each end of a token.

    >>> sorted(trigrams("Id"))
    ['$id', 'id$']
    """
    return frozenset(
        padded[start : start + 3]
        for token in tokens(name)
        for padded in (f"${token}$",)
        for start in range(max(len(padded) - 2, 1))
    )


def qualify(table: str, name: str) -> str:
    """A name as it would be in another table: an identifier has its own table's in front.

    Args:
        table: The table's name.
        name: The column's.

    Returns:
        Both, if the column's only says that it identifies something; else the column's.

    >>> qualify("customer", "id"), qualify("sales", "customer_id")
    ('customer id', 'customer_id')
    """
    words = tokens(name)
    return f"{table} {name}" if words and IDENTIFIER_WORDS.issuperset(words) else name


class NameSimilarity:
    """How alike names are written: Dice's coefficient of their trigrams.

    Args:
        names: One name a column.

    >>> alike = NameSimilarity(["customer id", "CUSTOMER_ID", "tailnum"])
    >>> alike.of(np.array([0, 0]), np.array([1, 2])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, names: Sequence[str]) -> None:
        spellings, self._spelling = np.unique(np.asarray(names, dtype=object), return_inverse=True)
        windows = [sorted(trigrams(str(spelling))) for spelling in spellings]
        known = {window: place for place, window in enumerate(sorted(set(chain(*windows))))}
        columns = np.array([known[window] for name in windows for window in name], dtype=np.int64)
        rows = np.repeat(np.arange(len(windows)), [len(name) for name in windows])
        ones = np.ones(len(rows), dtype=np.float32)
        self._holds = sparse.csr_array((ones, (rows, columns)), (len(windows), max(len(known), 1)))
        self._sizes = np.array([len(name) for name in windows])

    def vectors(self) -> Float32[np.ndarray, "column 256"]:
        """Unit vectors whose cosines are about those of the names' trigrams.

        A random projection keeps them within about 0.1 (Johnson and Lindenstrauss, 1984).

        Returns:
            One row a column; zeros for a name without trigrams.
        """
        random = np.random.default_rng(0)
        projection = random.standard_normal((self._holds.shape[1], _PROJECTED), dtype=np.float32)
        vectors = self._holds @ projection
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(lengths, 1e-12))[self._spelling].astype(np.float32)

    def of(
        self, left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Similarity of given pairs.

        Args:
            left: Columns.
            right: Columns, as many.

        Returns:
            1 for names with the same tokens, 0 for names that share no trigram.
        """
        left, right = self._spelling[left], self._spelling[right]
        count = len(self._sizes)
        pairs = left * count + right
        asked, place = np.unique(pairs, return_inverse=True)
        one, other = asked // count, asked % count
        common: Float[np.ndarray, " asked"] = (
            self._holds[one].multiply(self._holds[other]).sum(axis=1)
        )
        alike = 2 * common / np.maximum(self._sizes[one] + self._sizes[other], 1)
        return alike[place].reshape(left.shape)
