"""Define the weight of each clue for or against a reference."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class ReferenceWeights:
    """The weight of each clue, such as identical names, for or against a reference."""

    prior: float = -4.5
    """A column refers to a given key."""

    containment: float = 0.8
    """For each factor e by which the share of unmatched values falls."""

    rarity: float = 1.0
    """For each factor e by which fewer keys hold the column's values."""

    words: float = 2.0
    """The key holds many values of a column of text; words hardly ever match by chance."""

    column_in_key: float = 2.0
    key_in_column: float = 3.0
    table_in_column: float = 1.5
    names_table: float = 1.5
    continues_table: float = 2.0
    same_name: float = 0.5
    other_word: float = -1.0

    unmarked: float = -1.5
    """Only the key's name marks an identifier; the column's numbers are few of the key's, and are
    named after something else, as those of a measure are."""

    leading_column: float = -2.5
    """The referring column is unique and the first of its table, and is not a part of a key of the
    same name, as in a table that extends another one."""

    own_key: float = -2.0
    """It is also called `id` or named after its own table."""

    uniqueness: float = -2.0
    """The referring column repeats no value."""

    density: float = -1.0
    """The referring column holds consecutive numbers."""

    leading_key: float = 1.0
    """The key is unique and the first column of its table."""

    other_key: float = -1.0
    """The key's table has another key before it, and neither is the column named after the table,
    nor the key."""

    other_table: float = -3.0
    """The referring column is named after another table than its own, and the key is not in it."""

    style: float = -0.7
    own_table: float = -6.0
    """The key is in the column's own table, where all names and habits are alike."""

    parent_in_table: float = 5.0
    """The key is there, and the column is called `parent`, `manager` or the like."""

    elsewhere: float = -1.5
    """The tables are in different folders or schemas."""

    same_number: float = 0.5
    same_prefix: float = 1.0
    vocabulary: float = 1.0

    other_group: float = -1.5
    """The tables belong to two groups that hardly refer to each other."""

    catalog: float = 16.0
    """The catalog or a person connects the pair."""

    reads_names: bool = True
    """Whether names of tables and columns count."""

    def without_names(self) -> "ReferenceWeights":
        """Return weights that ignore the names of columns and tables."""
        # Without names, those of any two tables end in the same number: none.
        return replace(self, reads_names=False, same_number=0.0)


DEFAULT_WEIGHTS = ReferenceWeights()
"""Round numbers, chosen on the development lakes; results are flat near them."""
