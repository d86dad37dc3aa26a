"""Write the SQL of joins: statements that return their rows, and queries that count them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice, pairwise
from unicodedata import combining

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from datahub_hyperjoin.cell_parts import BRACKETS, QUOTES, CellParts, PartKind
from datahub_hyperjoin.form_parts import ACCENTED, SEPARATORS, without_accents
from datahub_hyperjoin.joins import (
    ROW_LIMIT,
    Cardinality,
    CrosswalkJoin,
    Join,
    Statement,
    reference,
)
from datahub_hyperjoin.normal_form import plain_spelling
from datahub_hyperjoin.sql.dialects import SqlDialect, write_sql
from datahub_hyperjoin.tables import ColumnId
from datahub_hyperjoin.value_forms import Notation, ValueForm

_WIDE = frozenset(map(chr, range(0xFF01, 0xFF5F)))
"""The characters of ASCII in full width."""


def _sum_of_products(aliases: Sequence[str]) -> exp.Select:
    """Build a `SELECT` clause that counts a join's rows from the sizes of its `_count_groups`."""
    # It multiplies the counts of matching groups and sums the products.
    sizes: list[exp.Condition] = [exp.column("n", alias) for alias in aliases]
    rows, *others = sizes
    for other in others:
        rows = exp.Mul(this=rows, expression=other)
    # The sum of no rows is NULL.
    return exp.select(exp.func("COALESCE", exp.Sum(this=rows), exp.Literal.number(0)))


def _count_groups(
    source: exp.Table, alias: str, values: Sequence[exp.Condition], dialect: SqlDialect
) -> exp.Subquery:
    """Build a subquery that counts rows for each combination of compared values."""
    # A collation may treat values as equal that the join distinguishes. So the rows are also
    # grouped by an exact form.
    exact = [dialect.fill(dialect.exact, value) for value in values]
    return (
        exp.select(
            *(exp.alias_(value, f"k{at}") for at, value in enumerate(values)),
            exp.alias_(exp.Count(this=exp.Star()), "n"),
        )
        .from_(_with_alias(source, alias))
        .group_by(*dict.fromkeys([*values, *exact]))
        .subquery(alias)
    )


def _with_alias(source: exp.Table, alias: str) -> exp.Table:
    """Give a table an alias in the `FROM` clause."""
    return exp.Table(this=source.this.copy(), alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _column_in_sql(members: tuple[str, ...], alias: str) -> exp.Condition:
    """Return the SQL expression for a column or a struct member."""
    first, *inner = (exp.to_identifier(name, quoted=True) for name in members)
    value: exp.Condition = exp.Column(this=first, table=exp.to_identifier(alias))
    for name in inner:
        value = exp.Dot(this=value, expression=name)
    return value


_Equal = tuple[exp.Condition, exp.Condition]


Notations = tuple[tuple[Notation, ...], tuple[Notation, ...]]
"""The notations of values of the first and the second column of a pair; none for values in normal
form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One way to compare the columns of a join in SQL."""

    words: str
    """The form to which values are converted for the comparison, in words; empty if none is."""

    templates: tuple[tuple[str, str], ...]
    """For each pair of columns, the expressions that replace the first and the second column; `{x}`
    stands for the column itself."""

    dialect: SqlDialect

    def expressions(self, columns: Sequence[_Equal]) -> list[_Equal]:
        """For each pair of columns, return the two SQL expressions to compare."""
        return [
            (self.dialect.fill(templates[0], first), self.dialect.fill(templates[1], second))
            for templates, (first, second) in zip(self.templates, columns, strict=True)
        ]

    def condition(self, pairs: Sequence[_Equal]) -> exp.Condition:
        """Return the condition that the two expressions of each pair are equal."""
        return exp.and_(*(exp.EQ(this=first, expression=second) for first, second in pairs))


class ListComparison(Comparison):
    """A way to compare lists, the first columns, with their elements."""

    def condition(self, pairs: Sequence[_Equal]) -> exp.Condition:
        """Return the condition that the first expression of each pair contains the second one."""
        places = (exp.StrPosition(this=first, substr=second) for first, second in pairs)
        return exp.and_(*(exp.GT(this=at, expression=exp.Literal.number(0)) for at in places))


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedComparison(Comparison):
    """A way to compare a column with several others that it holds, with a mark between them."""

    mark: str

    def expressions(self, columns: Sequence[_Equal]) -> list[_Equal]:
        """Return the column and the others put together, each on its side."""
        sides = [[*side] for side in zip(*columns, strict=True)]
        mark = exp.Literal.string(self.mark)
        whole, glued = (
            side[0]
            if side[0] == side[-1]
            else exp.func("CONCAT", *[each for value in side for each in (mark, value)][1:])
            for side in sides
        )
        [template] = {*self.templates}
        return [(self.dialect.fill(template[0], whole), self.dialect.fill(template[1], glued))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOfType(Comparison):
    """A way to compare ids with a key in the rows of one type."""

    type: str
    """The type, as it is written."""

    def expressions(self, columns: Sequence[_Equal]) -> list[_Equal]:
        """Return the ids in the rows of the type, which are null in others, and the key."""
        (first, second), (kind, _) = columns
        [template] = self.templates
        of_type = exp.EQ(this=kind, expression=exp.Literal.string(self.type))
        ids = exp.Case().when(of_type, self.dialect.fill(template[0], first))
        return [(ids, self.dialect.fill(template[1], second))]

    def condition(self, pairs: Sequence[_Equal]) -> exp.Condition:
        """Return the condition that the ids are of the type and equal to the key."""
        [(ids, key)] = pairs
        if isinstance(ids, exp.Case):
            [when] = ids.args["ifs"]
            return exp.and_(when.this, exp.EQ(this=when.args["true"], expression=key))
        # Counted groups are of the type already.
        return exp.EQ(this=ids, expression=key)


def part_comparisons(
    dialect: SqlDialect, parts: CellParts, *, is_first: bool, pairs: int
) -> Iterator[Comparison]:
    """Yield the ways to compare parts of cells, simplest first.

    `is_first` tells whether the column that is taken apart is the first of each pair.
    """
    words = parts.words
    match parts.kind:
        case PartKind.ELEMENTS:
            own = _quoted(dialect, parts.mark)
            for text, element in (
                ("{x}", "{x}"),
                (_without_brackets(dialect, parts.mark), "NULLIF({t}, '')"),
            ):
                templates = f"CONCAT({own}, {text}, {own})", f"CONCAT({own}, {element}, {own})"
                yield ListComparison(words=words, templates=(templates,), dialect=dialect)
        case PartKind.NUMBER | PartKind.NUMBERS | PartKind.TEXT:
            own, its = _behind(dialect, parts)
            templates = (own, its) if is_first else (its, own)
            yield Comparison(words=words, templates=(templates,), dialect=dialect)
        case PartKind.JOINED:
            for same in ("{x}", "NULLIF({t}, '')", dialect.spelled):
                yield JoinedComparison(
                    words=words,
                    templates=((same, same),) * pairs,
                    dialect=dialect,
                    mark=parts.mark,
                )
        case PartKind.OF_TYPE:
            for same in ("{x}", dialect.text, "NULLIF({t}, '')", dialect.spelled):
                yield ComparisonOfType(
                    words=words, templates=((same, same),), dialect=dialect, type=parts.mark
                )


def _behind(dialect: SqlDialect, parts: CellParts) -> tuple[str, str]:
    """Return templates of what is behind a prefix, and of the other column."""
    if parts.kind is PartKind.NUMBERS:
        own, its = (_behind(dialect, side)[0] for side in parts.sides(""))
        return own, its
    start, length = _quoted(dialect, parts.mark), len(parts.mark)
    is_number = parts.kind is PartKind.NUMBER
    plain = dialect.without_zeros if is_number else "NULLIF({t}, '')"
    rest = plain.replace("{t}", f"SUBSTR({{t}}, {length + 1})")
    # Some cells may have their number without the prefix.
    other = f" ELSE {plain}" if is_number else ""
    return f"CASE WHEN SUBSTR({{t}}, 1, {length}) = {start} THEN {rest}{other} END", plain


def _quoted(dialect: SqlDialect, text: str) -> str:
    """Write a text as a part of a template."""
    return dialect.write(exp.Literal.string(text)).replace("{", "{{").replace("}", "}}")


def _without_brackets(dialect: SqlDialect, mark: str) -> str:
    """Return a template of a list without brackets, quotes, and spaces beside its marks."""
    own = _quoted(dialect, mark)
    text = dialect.without(BRACKETS + QUOTES).removeprefix("NULLIF(").removesuffix(", '')")
    for spaced in (f"{mark} ", f" {mark}"):
        text = f"REPLACE({text}, {_quoted(dialect, spaced)}, {own})"
    return text


def comparisons(
    dialect: SqlDialect,
    notations: Sequence[Notations],
    form: ValueForm | None,
    characters: AbstractSet[str] = frozenset(),
) -> Iterator[Comparison]:
    """Yield the ways to compare the columns of a join in a `ValueForm`, simplest first.

    `characters` are those of the columns' samples, and entities of HTML in them.
    """
    same = [("", "{x}"), ("text", dialect.text)]
    plain = _with_plain(dialect, characters, form)
    if form is ValueForm.DATES and ":" in characters:
        plain = dialect.without_midnight.replace("{t}", plain or "{t}")
    if form is None:
        same += [
            ("text in lower case, without spaces around it", "NULLIF({t}, '')"),
            ("text in lower case, with one spelling of spaces, numbers and times", dialect.spelled),
            ("numbers", ValueForm.NUMBERS.sql(dialect)),
        ]
        if plain:
            words = "text in lower case, with one spelling of characters"
            same.append((words, f"NULLIF({plain}, '')"))
            same.append((words, dialect.spelled.replace("{t}", plain)))
    for words, template in same:
        templates = tuple((template, template) for _ in notations)
        yield Comparison(words=words, templates=templates, dialect=dialect)
    if form is None:
        return
    # Columns may have further separators than their samples, and then only all of them agree.
    shown = "".join(each for each in SEPARATORS if each in characters)
    is_code = form is ValueForm.CODES
    narrowed = replace(dialect, separators=shown)
    ways = (replace(narrowed, unpadded="{t}"), narrowed, dialect) if is_code else (dialect,)
    for parts in ways:
        own = tuple(
            (_template(parts, first, form, plain), _template(parts, second, form, plain))
            for first, second in notations
        )
        yield Comparison(words=form.value, templates=own, dialect=dialect)


def _with_plain(dialect: SqlDialect, characters: AbstractSet[str], form: ValueForm | None) -> str:
    """Return a SQL template in which some characters are plain or gone; empty if all are plain."""
    # The samples may lack some letters of a wide alphabet.
    spelled = characters | _WIDE if characters & _WIDE else characters
    if form is ValueForm.ACCENTS and dialect.translates:
        spelled |= {*ACCENTED}
    spellings = {each.lower(): plain_spelling(unescape(each)) for each in sorted(spelled)}
    if form is ValueForm.ACCENTS:
        spellings = {each: without_accents(plain) for each, plain in spellings.items()}
    special = {each: plain for each, plain in spellings.items() if each != plain}
    if not special and not any(combining(each) for each in characters if len(each) == 1):
        return ""
    text = dialect.composed
    single = {each: plain for each, plain in special.items() if len(each) == len(plain) == 1}
    if dialect.translates and len(single) > 1:
        both = map("".join, zip(*single.items(), strict=True))
        text = f"TRANSLATE({text}, {', '.join(_quoted(dialect, each) for each in both)})"
        special = {each: plain for each, plain in special.items() if each not in single}
    for each, plain in special.items():
        text = f"REPLACE({text}, {_quoted(dialect, each)}, {_quoted(dialect, plain)})"
    # Unusual spaces may stand around a value, too.
    return f"TRIM({text})" if " " in spellings.values() else text


def _template(
    dialect: SqlDialect, notations: Sequence[Notation], form: ValueForm, plain: str
) -> str:
    """Return a SQL template that converts a column's values to a `ValueForm`."""
    # Without any notation of the form, the values are read as if they were in normal form.
    ways = dict.fromkeys(each.rules.sql(dialect) for each in notations) or [form.sql(dialect)]
    first, *others = ways
    template = f"COALESCE({', '.join(ways)})" if others else first
    return template.replace("{t}", plain) if plain else template


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInSql:
    """The names of a table and its columns in SQL, in one of the ways to read the table."""

    shown: exp.Table
    """The table in a `FROM` clause of the SQL that is shown to people."""

    run: exp.Table
    """The table in a `FROM` clause of the SQL that this package runs."""

    members: Mapping[str, tuple[str, ...]]
    """Maps each path to its parts: the name of a column, then those of nested struct members."""

    binary: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    """The paths of columns of network addresses, which casts to text write with their masks."""

    texts: frozenset[str] = frozenset()
    """The paths of columns of text in a database, whatever they hold."""

    listed: tuple[str, ...] = ()
    """The columns that a statement selects; empty for `*`, which selects all of them."""

    def selected(self, alias: str, dialect: SqlDialect) -> list[exp.Expr]:
        """Return the expressions that select the columns."""
        return [
            exp.alias_(dialect.fill(dialect.digits, column), name, quoted=True)
            if name in self.binary
            else column
            for name in self.listed
            for column in [_column_in_sql((name,), alias)]
        ] or [exp.Column(this=exp.Star(), table=exp.to_identifier(alias))]


@dataclass(frozen=True, slots=True)
class JoinInSql:
    """A builder for the SQL of a join between two tables, directly or through a crosswalk."""

    tables: tuple[TableInSql, ...]
    """The first table, the crosswalk if there is one, and the last table."""

    steps: tuple[tuple[tuple[str, str], ...], ...]
    """For each table and the one after it, the paths of the columns that must be equal."""

    comparison: Comparison

    missing: tuple[tuple[tuple[exp.Expr, ...], ...], ...] = ()
    """For each pair of columns, the values of both that stand for a missing key."""

    single: tuple[bool, ...] = ()
    """For the columns of a single pair, whether only values count that are in one of their rows."""

    @property
    def _aliases(self) -> str:
        return "ab" if len(self.tables) == len("ab") else "acb"

    def statement(self, *, shown: bool) -> exp.Select:
        """Build a `SELECT` of the first and the last table, of at most `ROW_LIMIT` rows."""
        dialect, aliases = self.comparison.dialect, self._aliases
        ends = ((self.tables[0], "a"), (self.tables[-1], "b"))
        first, *others = (
            _with_alias(table.shown if shown else table.run, alias)
            for table, alias in zip(self.tables, aliases, strict=True)
        )
        select = exp.select(
            *(column for table, alias in ends for column in table.selected(alias, dialect))
        ).from_(first)
        for table, equal in zip(others, self._equal(), strict=True):
            single = self._single(equal[0], shown=shown)
            select = select.join(table, on=exp.and_(self.comparison.condition(equal), *single))
        return select.limit(ROW_LIMIT)

    def _single(self, equal: _Equal, *, shown: bool) -> Iterator[exp.Condition]:
        """Yield the conditions that compared values are in one row of their tables."""
        for value, table, is_single in zip(equal, self.tables, self.single, strict=False):
            if is_single:
                inner = value.copy()
                for column in inner.find_all(exp.Column):
                    column.set("table", exp.to_identifier("k"))
                repeated = (
                    exp.select(inner)
                    .from_(_with_alias(table.shown if shown else table.run, "k"))
                    .group_by(inner.copy())
                    .having(
                        exp.GT(this=exp.Count(this=inner.copy()), expression=exp.Literal.number(1))
                    )
                )
                yield exp.Not(this=exp.In(this=value.copy(), query=repeated.subquery()))

    def count(self) -> exp.Select:
        """Build the query that counts the rows of the join."""
        # Each table is grouped by the compared values first, so that a join that multiplies rows
        # costs no more than reading the tables.
        aliases = self._aliases
        values: dict[str, list[exp.Condition]] = {alias: [] for alias in aliases}
        keys: list[list[_Equal]] = []
        for (left, right), equal in zip(pairwise(aliases), self._equal(), strict=True):
            before, after = len(values[left]), len(values[right])
            keys.append(
                [
                    (exp.column(f"k{before + at}", left), exp.column(f"k{after + at}", right))
                    for at in range(len(equal))
                ]
            )
            values[left] += [first for first, _ in equal]
            values[right] += [second for _, second in equal]
        first_groups, *others = (
            _count_groups(table.run, alias, values[alias], self.comparison.dialect)
            for table, alias in zip(self.tables, aliases, strict=True)
        )
        select = _sum_of_products(aliases).from_(first_groups)
        one = exp.Literal.number(1)
        single = [
            exp.EQ(this=exp.column("n", alias), expression=one.copy())
            for alias, is_single in zip(aliases, self.single, strict=False)
            if is_single
        ]
        for groups, equal in zip(others, keys, strict=True):
            select = select.join(groups, on=exp.and_(self.comparison.condition(equal), *single))
        return select

    def _equal(self) -> list[list[_Equal]]:
        """Return the expressions that must be equal in each step."""
        dialect, ends = self.comparison.dialect, [*zip(self.tables, self._aliases, strict=True)]
        compared = [
            ((left, first, one), (right, second, other))
            for ((left, one), (right, other)), pairs in zip(pairwise(ends), self.steps, strict=True)
            for first, second in pairs
        ]
        columns = [_compared_columns(*sides, dialect) for sides in compared]
        for at, sides in enumerate(self.missing):
            are_texts = not dialect.mixes_types and any(
                path in table.texts for table, path, _ in compared[at]
            )
            first, second = (
                _without(column, map(_as_text, missing) if are_texts else missing)
                for column, missing in zip(columns[at], sides, strict=True)
            )
            columns[at] = first, second
        expressions = iter(self.comparison.expressions(columns))
        return [[*islice(expressions, len(pairs))] for pairs in self.steps]


def _as_text(literal: exp.Expr) -> exp.Expr:
    return literal if literal.is_string else exp.Literal.string(literal.sql())


def _without(column: exp.Condition, missing: Iterable[exp.Expr]) -> exp.Condition:
    """Return an expression that is null where a value stands for a missing key."""
    for value in missing:
        column = exp.Nullif(this=column, expression=value.copy())
    return column


_End = tuple[TableInSql, str, str]


def _compared_columns(first: _End, second: _End, dialect: SqlDialect) -> _Equal:
    """Return the expressions of two columns, as text that was read if their types differ."""
    return _compared(first, second, dialect), _compared(second, first, dialect)


def _compared(end: _End, other: _End, dialect: SqlDialect) -> exp.Condition:
    table, path, alias = end
    written = "{x}"
    if path in table.binary and other[1] not in other[0].binary:
        written = dialect.digits
    elif path in table.addresses and other[1] not in other[0].addresses:
        written = dialect.address
    elif not dialect.mixes_types and other[1] in other[0].texts and path not in table.texts:
        written = dialect.text
    return dialect.fill(written, _column_in_sql(table.members[path], alias))


def sides_of(join: Join) -> tuple[tuple[ColumnId, ...], tuple[ColumnId, ...]]:
    """Return the joined columns of both tables, with the referring table's columns first."""
    lefts, rights = (tuple(side) for side in zip(*join.pairs, strict=True))
    first, _ = reference(join) or (join.left, join.right)
    return (lefts, rights) if first == join.left else (rights, lefts)


def name_in_sql(*parts: str) -> exp.Table:
    """Build a quoted table name from its parts, such as schema and table."""
    first, *others = (exp.to_identifier(part, quoted=True) for part in parts)
    return exp.Table(this=exp.Dot.build([first, *others]) if others else first)


def columns_in_order(join: CrosswalkJoin) -> tuple[ColumnId, ColumnId, ColumnId, ColumnId]:
    """Return the four columns of a crosswalk join in the order in which the SQL joins them."""
    bridge = join.bridge
    first, into, out, second = bridge.left, bridge.left_via, bridge.right_via, bridge.right
    if join.evidence.cardinality is Cardinality.ONE_MANY:
        return second, out, into, first
    return first, into, out, second


def write_anti_join(statement: Statement, *, only_with_value: bool = False) -> str:
    """Write the SQL that returns the rows of table a of a join that have no partner."""
    # These are also the rows without a value, unless `only_with_value`: `NOT EXISTS` returns them,
    # as no value equals a null. Values are compared as in the join. Nobody has run the SQL.
    tree = parse_statement(statement)
    joins = tree.args.get("joins") if tree else None
    if tree is None or not joins:
        return ""
    first, *others = joins
    matching = exp.select("1").from_(first.this).where(first.args["on"])
    for other in others:
        matching = matching.join(other.this, on=other.args["on"])
    # The user may not be allowed to select all columns.
    shown = (
        each
        for each in tree.expressions
        if any(column.table == "a" for column in each.find_all(exp.Column))
    )
    lonely = (
        exp.select(*shown)
        .from_(tree.args["from_"].this)
        .where(exp.Not(this=exp.Exists(this=matching)))
        .limit(ROW_LIMIT)
    )
    if only_with_value:
        lonely = lonely.where(*_has_values(first.args["on"]))
    return write_sql(lonely, statement.dialect, pretty=True)


def _has_values(condition: exp.Expr) -> Iterator[exp.Condition]:
    """Yield the conditions that rows of table a have all values that a join compares."""
    for part in condition.flatten() if isinstance(condition, exp.And) else (condition,):
        if isinstance(equal := part.unnest(), exp.EQ):
            for side in (equal.this, equal.expression):
                if {column.table for column in side.find_all(exp.Column)} == {"a"}:
                    yield exp.Not(this=exp.Is(this=side, expression=exp.null()))


def parse_statement(statement: Statement) -> exp.Select | None:
    """Parse the SQL of a join; return None for SQL of another form."""
    try:
        tree, *others = parse(statement.sql, dialect=statement.dialect)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if others or not isinstance(tree, exp.Select):
        return None
    joins = tree.args.get("joins") or ()
    return tree if all("on" in join.args for join in joins) else None
