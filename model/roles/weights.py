"""Define the weight of each clue for or against a reference."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class ReferenceWeights:
    """The weight of each clue, such as identical names, for or against a reference."""

    prior: float = -4.5
    """Log-odds that a column refers to a given key, before any clue is known."""

    containment: float = 0.8
    """Multiplies the negative logarithm of the share of the column's values that the key lacks."""

    rarity: float = 1.0
    """Multiplies the negative logarithm of the probability that the values match by chance."""

    words: float = 2.0
    """Weight if the key holds many values of a text column; words hardly ever match by chance."""

    column_in_key: float = 2.0
    key_in_column: float = 3.0
    table_in_column: float = 1.5
    names_table: float = 1.5
    continues_table: float = 2.0
    same_name: float = 0.5
    other_word: float = -1.0

    unmarked: float = -1.5
    """Weight if only the key is named as an identifier, and the referring column looks like a
    measure: it is not named after the key, and holds few of the key's numbers."""

    measures: float = -3.0
    """Weight if the referring column holds whole numbers and is named as a count, a measure or a
    position, such as `room_count` or `sort_order`. It refers to nothing, but its small numbers
    occur in every key of consecutive numbers."""

    labels: float = -8.0
    """Weight if the referring column holds text and is named as a label, such as `name`, and the
    key's table has another key before. Different things may have the same name."""

    leading_column: float = -2.5
    """Weight if the referring column is unique and looks most like the key of its table. The
    weight is not added if that table extends the key's table: the two columns then have the same
    name, and the key has all values of the referring column and others."""

    own_key: float = -2.0
    """Weight, added to `leading_column`, if the referring column is called `id` or named after its
    own table."""

    uniqueness: float = -2.0
    """Weight if the referring column repeats no value."""

    density: float = -1.0
    """Weight if the referring column holds consecutive numbers."""

    coverage: float = 1.0
    """Weight of a score for columns of consecutive numbers: the share of the key's values that the
    column holds, minus one half. Every counter holds 1 to 10, so this share tells keys of different
    sizes apart."""

    leading_key: float = 1.0
    """Weight if the key is unique and looks most like one."""

    other_key: float = -1.0
    """Weight if another column of the table looks more like its key, and neither this key nor the
    referring column is named after that table."""

    other_table: float = -3.0
    """Weight if the referring column is named after another table, but the key is in a third table.
    """

    style: float = -0.7
    own_table: float = -6.0
    """Weight if the key is in the column's own table, where all names and styles are alike."""

    parent_in_table: float = 5.0
    """Weight if the key is in the column's own table, and the column is called `parent`, `manager`
    or the like."""

    elsewhere: float = -1.5
    """Weight if the tables are in different folders or schemas."""

    same_number: float = 0.5
    same_prefix: float = 1.0
    vocabulary: float = 1.0

    other_group: float = -1.5
    """Weight if the tables belong to two groups that hardly refer to each other."""

    catalog: float = 16.0
    """Weight if the catalog or a person connects the pair."""

    namesake: float = 3.0
    """Weight if all known references from columns of the same name lead to this key. Known
    references are those in the same group of tables that the catalog or a person states."""

    common_key: float = 3.0
    """Weight if columns of the same name in many other folders or schemas together fit this key
    best. It is multiplied by the probability that they all refer to this key."""

    reads_names: bool = True
    """Whether the clues include the names of tables and columns."""

    def without_names(self) -> "ReferenceWeights":
        """Return weights that ignore the names of columns and tables."""
        # Without names, those of any two tables end in the same number: none.
        return replace(self, reads_names=False, same_number=0.0)


DEFAULT_WEIGHTS = ReferenceWeights()
"""The default weights: round numbers, chosen on the development lakes. Small changes of the weights
hardly affect the results."""
