"""Find the simplest SQL that returns a join's expected number of rows, or write it unrun."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice, product, zip_longest
from re import findall

from sqlglot import exp
from typing_extensions import assert_never

from datahub_hyperjoin.cell_parts import CellParts, PartKind
from datahub_hyperjoin.form_parts import ENTITY
from datahub_hyperjoin.joins import CrosswalkJoin, Join, Statement
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.counting.texts import NULL_WORDS, is_usual_marker
from datahub_hyperjoin.sql.duckdb_engine import FileAddresses
from datahub_hyperjoin.sql.engines import SqlEngine
from datahub_hyperjoin.sql.errors import NoStatementError, StatementRefusedError
from datahub_hyperjoin.sql.write import (
    JoinInSql,
    Notations,
    TableInSql,
    columns_in_order,
    comparisons,
    part_comparisons,
    sides_of,
)
from datahub_hyperjoin.tables import (
    NUMBERS,
    ColumnId,
    ColumnProfile,
    DataType,
    Table,
    TableId,
    TableProfile,
)
from datahub_hyperjoin.value_forms import ValueForm
from datahub_hyperjoin.written_in import WITH_CERTAIN, notation_of, readable_share, readings_in

_NO_NOTATIONS: Notations = ((), ())
_PLAIN, _TEXT, _FOLDED, _SPELLED = range(4)
"""The places of ways to compare columns among `comparisons`."""
_FORM = 2
"""The place of the way that converts values to a form, if they are equal in this form only; codes
are first compared with all their zeros."""
_PARTS = {
    PartKind.ELEMENTS: 1,
    PartKind.NUMBER: 0,
    PartKind.NUMBERS: 0,
    PartKind.TEXT: 0,
    PartKind.JOINED: 1,
    PartKind.OF_TYPE: 0,
}
"""The place of the way that takes cells apart, whatever brackets or letters they have."""
_ENTITIES = frozenset(f"&{name};" for name in ("amp", "lt", "gt", "quot", "nbsp", "#39", "apos"))
_TOLERANCE = 0.02
"""Maximum difference between counted and expected rows, as a share of the expected rows."""


@dataclass(frozen=True, kw_only=True)
class LakeInSql:
    """The tables to join in SQL, and the profiles of their columns."""

    tables: Mapping[TableId, Table]
    columns: Mapping[ColumnId, ColumnProfile] = field(default_factory=dict)
    """Profiles of columns, whose samples show how values are written."""

    addresses: FileAddresses | None = None
    """The addresses by which SQL names files; None if people run it in the folder of the tables."""

    @classmethod
    def of(
        cls, profiles: Collection[TableProfile], addresses: FileAddresses | None = None
    ) -> "LakeInSql":
        """Collect the tables of a run and the profiles of their columns."""
        columns = (column for profile in profiles for column in profile.columns)
        return cls(
            tables={profile.table.id: profile.table for profile in profiles},
            columns={column.id: column for column in columns},
            addresses=addresses,
        )

    def notations(self, left: ColumnId, right: ColumnId, form: ValueForm) -> Notations:
        """Return the notations in which values of each column are written, as their samples show.

        There are none for a column whose values are in normal form.
        """
        profiles = [self.columns.get(column) for column in (left, right)]
        samples = [{*map(normal_form, each.sample)} if each else set() for each in profiles]
        known = [
            (each.notation or notation_of(sample)) if each else None
            for each, sample in zip(profiles, samples, strict=True)
        ]
        read = readings_in(form, *known)
        first, second = (
            tuple(
                read
                for read in (WITH_CERTAIN[each] if each else ())
                if read is each or readable_share(sample, read)
            )
            for each, sample in zip(read, samples, strict=True)
        )
        return first, second

    def comparison_of(self, left: ColumnId, right: ColumnId) -> int:
        """Return the place of the plainest way to compare two columns that suits their samples."""
        # Columns of text are compared as text: a database has kinds of text, such as enumerations
        # and texts of other collations, that it does not compare with each other otherwise.
        first, second = self.columns.get(left), self.columns.get(right)
        if first is None or second is None:
            return _SPELLED
        if first.type is second.type is not DataType.TEXT or {first.type, second.type} <= NUMBERS:
            return _PLAIN
        written = [{normal_form(value): value for value in each.sample} for each in (first, second)]
        both = [(written[0][form], written[1][form]) for form in written[0].keys() & written[1]]
        if not both or any(_fold(one) != _fold(other) for one, other in both):
            return _SPELLED
        # An empty text is as much without a value as a null. The samples of personal columns are
        # hashes, which do not show how the values are written.
        may_differ = (first.nulls and second.nulls) or first.personal or second.personal
        return _FOLDED if may_differ or any(one != other for one, other in both) else _TEXT

    def characters(self, columns: Iterable[ColumnId]) -> frozenset[str]:
        """Return the characters of the samples of some columns."""
        known = (self.columns[column] for column in columns if column in self.columns)
        return frozenset(chain.from_iterable(value for each in known for value in each.sample))

    def entities(self, columns: Iterable[ColumnId]) -> frozenset[str]:
        """Return the usual entities of HTML, and those of the samples of some columns."""
        known = (self.columns[column] for column in columns if column in self.columns)
        samples = " ".join(chain.from_iterable(each.sample for each in known))
        return _ENTITIES.union(findall(ENTITY, samples.lower()))

    def missing(
        self, column: ColumnId, other: ColumnId, named: Collection[str]
    ) -> tuple[exp.Expr, ...]:
        """Return those of the `named` values that stand for a missing key in a column."""
        profile, beside = self.columns.get(column), self.columns.get(other)
        if profile is None or beside is None:
            return ()
        shared = sorted({*profile.markers} & {*beside.markers})
        texts = [text for text in (*profile.placeholders, *shared) if text in named]
        if profile.type not in NUMBERS:
            return tuple(map(exp.Literal.string, texts))
        # A column of numbers can hold `nan`, but no other word.
        is_nan = {text: normal_form(text) == "nan" for text in texts}
        return tuple(
            exp.Literal.string(text) if is_nan[text] else exp.Literal.number(text)
            for text in texts
            if is_nan[text] or normal_form(text) not in NULL_WORDS
        )

    def single_keys(self, columns: Iterable[ColumnId]) -> list[tuple[bool, ...]]:
        """List for which columns SQL may demand keys that are in one row of their table.

        Where all but placeholders are, that leaves out placeholders in any spelling, and those that
        may be secret.
        """
        known = [
            self.columns[column].placeholders if column in self.columns else ()
            for column in columns
        ]
        are_named = all(map(is_usual_marker, chain.from_iterable(known)))
        return [*([()] if are_named else []), *([tuple(map(bool, known))] if any(known) else [])]


def _fold(value: str) -> str:
    return value.strip().lower()


def agrees(counted: int, expected: int) -> bool:
    """Return whether a row count is within the tolerance of the expected count.

    >>> agrees(98, 100), agrees(97, 100), agrees(10, 9), agrees(0, 0)
    (True, False, False, True)
    """
    return abs(counted - expected) <= _TOLERANCE * expected


def find_statement(join: Join | CrosswalkJoin, lake: LakeInSql, engine: SqlEngine) -> Statement:
    """Return the first statement whose rows agree with the evidence, or why there is none."""
    search = _Search(engine, join.measured.rows)
    try:
        for candidate in _candidates(join, lake, engine):
            if statement := search.attempt(candidate):
                return statement
    except NoStatementError as error:
        return error.as_statement
    # Without any count, no statement has run; the next run may succeed.
    return Statement(reason=search.reason, untested=search.closest is None)


def write_statement(join: Join | CrosswalkJoin, lake: LakeInSql, engine: SqlEngine) -> Statement:
    """Write the SQL of a join without running it."""
    form = join.measured.compared_as
    if parts := CellParts.read(form):
        place = _PARTS[parts.kind]
    else:
        place = _FORM if form else max(lake.comparison_of(*pair) for pair in join.pairs)
        place += form == ValueForm.CODES
    try:
        candidate = next(islice(_candidates(join, lake, engine), place, None))
    except NoStatementError as error:
        return error.as_statement
    return replace(_statement(candidate, engine, 0), was_run=False)


@dataclass(slots=True)
class _Search:
    """A search for a join's SQL statement."""

    engine: SqlEngine
    expected: int
    closest: int | None = None
    refusal: str = ""
    """Why a statement did not run; empty if every statement ran."""

    @property
    def reason(self) -> str:
        """The reason why no statement was found."""
        if self.closest is None:
            return self.refusal
        return str(NoStatementError.for_differing_rows(self.expected, self.closest))

    def attempt(self, candidate: JoinInSql) -> Statement | None:
        """Run a candidate statement; return it if its row count agrees with the evidence."""
        engine = self.engine
        try:
            counted = _number(engine.fetch(engine.dialect.write(candidate.count())))
            if agrees(counted, self.expected):
                # The statement itself, as people run it.
                engine.execute(engine.dialect.write(candidate.statement(shown=False)))
                return _statement(candidate, engine, counted)
        except StatementRefusedError as error:
            self.refusal = str(error)
            return None
        if self.closest is None or self._misses(counted) < self._misses(self.closest):
            self.closest = counted
        return None

    def _misses(self, counted: int) -> int:
        return abs(counted - self.expected)


def _candidates(
    join: Join | CrosswalkJoin, lake: LakeInSql, engine: SqlEngine
) -> Iterator[JoinInSql]:
    match join:
        case Join():
            return _in_one_step(join, lake, engine)
        case CrosswalkJoin():
            return _in_two_steps(join, lake, engine)
    assert_never(join)


def _in_one_step(join: Join, lake: LakeInSql, engine: SqlEngine) -> Iterator[JoinInSql]:
    """List the ways to write the SQL of a join, simplest first."""
    # The ways differ in how they read the tables and how they compare the columns.
    ends = [*zip(*sides_of(join), strict=True)]
    pairs = tuple((first.path, second.path) for first, second in ends)
    parts = CellParts.read(join.measured.compared_as)
    form = ValueForm(join.measured.compared_as) if join.measured.compared_as and not parts else None
    # Values that match in normal form need no notation.
    notations = [lake.notations(*each, form) if form else _NO_NOTATIONS for each in ends]
    characters = lake.characters(chain.from_iterable(ends))
    if form is ValueForm.MARKUP:
        characters |= lake.entities(chain.from_iterable(ends))
    named = join.measured.missing
    missing = tuple(
        (lake.missing(first, second, named), lake.missing(second, first, named))
        for first, second in ends
    )
    ways_to_leave_out = lake.single_keys(ends[0]) if named else [()]
    tables = [lake.tables[end.table] for end in ends[0]]
    for first, second in _read_all(*(engine.readings(table) for table in tables)):
        ways = comparisons(engine.dialect, notations, form, characters)
        if parts:
            is_first = parts.column == str(ends[0][0])
            ways = part_comparisons(engine.dialect, parts, is_first=is_first, pairs=len(pairs))
        for single, comparison in product(ways_to_leave_out, [*ways]):
            yield JoinInSql((first, second), (pairs,), comparison, missing, single)


def _in_two_steps(join: CrosswalkJoin, lake: LakeInSql, engine: SqlEngine) -> Iterator[JoinInSql]:
    """List the ways to write the SQL of a join through a crosswalk, simplest first."""
    first, into, out, second = columns_in_order(join)
    tables = (lake.tables[column.table] for column in (first, into, second))
    for readings in _read_all(*(engine.readings(table) for table in tables)):
        for comparison in comparisons(engine.dialect, [_NO_NOTATIONS] * 2, None):
            steps = ((first.path, into.path),), ((out.path, second.path),)
            yield JoinInSql(tuple(readings), steps, comparison)


def _read_all(*tables: Iterator[TableInSql]) -> Iterator[list[TableInSql]]:
    """Yield combinations with one way to read each table, starting with the simplest ways."""
    # A table with fewer ways than the others keeps its last way.
    current: list[TableInSql | None] = [None] * len(tables)
    for following in zip_longest(*tables):
        current = [new or old for new, old in zip(following, current, strict=True)]
        read = [table for table in current if table]
        if len(read) == len(tables):
            yield read


def _number(rows: list[tuple[object, ...]]) -> int:
    # A sum is a decimal in some databases, and a float in SQLite if it is large.
    return int(str(rows[0][0]).partition(".")[0])


def _statement(candidate: JoinInSql, engine: SqlEngine, counted: int) -> Statement:
    return Statement(
        sql=engine.dialect.write(candidate.statement(shown=True), pretty=True),
        dialect=engine.dialect.name,
        rows=counted,
        compared=candidate.comparison.words,
    )
