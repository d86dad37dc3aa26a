"""The ways to compare the columns of a join in SQL, simplest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from datahub_hyperjoin.sql.dialects import SqlDialect
from datahub_hyperjoin.value_forms import Notation, ValueForm

Notations = tuple[Notation | None, Notation | None]
"""The notations of the first and the second column of a pair; None for values in normal form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One way to compare the columns of a join in SQL."""

    words: str
    """The form to which values are converted for the comparison, in words; empty if none is."""

    templates: tuple[tuple[str, str], ...]
    """For each pair of columns, the expressions that replace the first and the second column; `{x}`
    stands for the column itself."""

    dialect: SqlDialect
    """The dialect of the expressions."""

    def expressions(
        self, columns: Sequence[tuple[exp.Condition, exp.Condition]]
    ) -> list[tuple[exp.Condition, exp.Condition]]:
        """For each pair of columns, return the two SQL expressions to compare.

        Args:
            columns: For each pair, the first and the second column.
        """
        return [
            (self.dialect.fill(templates[0], first), self.dialect.fill(templates[1], second))
            for templates, (first, second) in zip(self.templates, columns, strict=True)
        ]


def comparisons(
    dialect: SqlDialect, notations: Sequence[Notations], form: ValueForm | None
) -> Iterator[Comparison]:
    """Yield the ways to compare the columns of a join in a `ValueForm`, simplest first.

    Args:
        notations: The notations of the columns of each pair.
        form: The form in which the values are equal; None for the normal form.

    Yields:
        A plain `=` first. None of the others changes values that are equal in the form.
    """
    same = [("", "{x}"), ("text", dialect.text)]
    if form is None:
        same += [
            ("text in lower case, without spaces around it", "NULLIF({t}, '')"),
            ("text in lower case, with one spelling of spaces, numbers and times", dialect.spelled),
            ("numbers", ValueForm.NUMBERS.sql(dialect)),
        ]
    for words, template in same:
        templates = tuple((template, template) for _ in notations)
        yield Comparison(words=words, templates=templates, dialect=dialect)
    if form is None:
        return
    own = tuple(
        (_template(dialect, first, form), _template(dialect, second, form))
        for first, second in notations
    )
    yield Comparison(words=form.value, templates=own, dialect=dialect)


def _template(dialect: SqlDialect, notation: Notation | None, form: ValueForm) -> str:
    """Return a SQL template that converts a column's values to a `ValueForm`.

    If the column's notation belongs to another form, the values are read as if they were in normal
    form.
    """
    is_own = notation is not None and notation.form is form
    return notation.rules.sql(dialect) if notation and is_own else form.sql(dialect)
