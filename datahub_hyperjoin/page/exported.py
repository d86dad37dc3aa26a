"""Choose the joins that the page exports to dbt and Mermaid.

`hyperjoin export` follows the same rules.

The browser filters the joins and writes the files. Which joins repeat no rows, and why others are
left out, is decided here, by the rules of `datahub_hyperjoin.export`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from datahub_hyperjoin.export.formats import ExportFormat, reason_left_out
from datahub_hyperjoin.export.quoting import dialect_of, needs_quotes, quoted_name
from datahub_hyperjoin.export.safe_joins import LeftOut, SafeJoin, examine
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.tables import ColumnId

_FORMATS = {"dbt": ExportFormat.DBT_TESTS, "mermaid": ExportFormat.MERMAID}
"""The export formats that contain safe joins only, by their names in the page's script."""

_REASONS = tuple(LeftOut)
_SAFE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChoices:
    """The joins that the page exports in each format, and the reasons to leave out the others."""

    reasons: tuple[str, ...]
    """The reasons to leave a join out, in words; rejection comes first."""

    ways: tuple[int, ...]
    """For each join, 1 if its left column refers to the right one, -1 for the reverse, and 0 if no
    format exports the join."""

    undecided: Mapping[str, tuple[int, ...]]
    """For each format, one index per join: the reason to leave the join out, or -1 if the join is
    exported. The indices apply to joins about which nobody has decided on the page."""

    accepted: Mapping[str, Mapping[int, int]]
    """For each format, the entries of `undecided` that change once people accept their joins. Maps
    the position of each such join to its new index."""

    quoted: Mapping[int, tuple[str, str]]
    """The columns of joins as SQL writes them, by the number of the join, of joins with a column
    that needs quotes; empty for the other column if it needs none."""


def choose_exports(joins: Sequence[CatalogJoin]) -> ExportChoices:
    """Choose the joins that the page exports.

    A rejection is left to the page, whose readers may change it.
    """
    undecided = [examine(_without_rejection(join)) for join in joins]
    # An acceptance only helps a join that the data did not verify.
    accepted = {
        number: examine(replace(join, verdicts=(Verdict.ACCEPTED,), removed=False))
        for number, join in enumerate(joins)
        if undecided[number] is LeftOut.UNVERIFIED
    }
    quoted = {number: tuple(map(_quoted, join.pairs[0])) for number, join in enumerate(joins)}
    return ExportChoices(
        quoted={number: (left, right) for number, (left, right) in quoted.items() if left or right},
        reasons=tuple(reason.value for reason in _REASONS),
        ways=tuple(
            _way(join, accepted.get(number, undecided[number])) for number, join in enumerate(joins)
        ),
        undecided={
            name: tuple(_reason(each, export_format) for each in undecided)
            for name, export_format in _FORMATS.items()
        },
        accepted={
            name: {
                number: _reason(each, export_format)
                for number, each in accepted.items()
                if each is not LeftOut.UNVERIFIED
            }
            for name, export_format in _FORMATS.items()
        },
    )


def _without_rejection(join: CatalogJoin) -> CatalogJoin:
    verdicts = tuple(each for each in join.verdicts if each is not Verdict.REJECTED)
    return replace(join, verdicts=verdicts, removed=False)


def _reason(examined: SafeJoin | LeftOut, export_format: ExportFormat) -> int:
    """Return the index of the reason why an export omits a join; -1 if the export contains it."""
    reason = (
        examined if isinstance(examined, LeftOut) else reason_left_out(examined, export_format, {})
    )
    return _REASONS.index(reason) if reason else _SAFE


def _quoted(column: ColumnId) -> str:
    if not needs_quotes(column.path):
        return ""
    return quoted_name(column.path, dialect_of(column.table))


def _way(join: CatalogJoin, examined: SafeJoin | LeftOut) -> int:
    if isinstance(examined, LeftOut):
        return 0
    is_forward = (
        examined.referring == join.left.table
        and (join.left.path, join.right.path) in examined.columns
    )
    return 1 if is_forward else -1
