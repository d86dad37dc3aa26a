"""Build the answers that agents get about joins.

An answer first says whether a safe join is known. It never offers a guess.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from datahub_hyperjoin.agents.limit import Answer, add_entries
from datahub_hyperjoin.agents.statement import write_path_sql
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.safety import reasons_unsafe
from datahub_hyperjoin.graphql.words import Phrases, describe_join, summarize_join
from datahub_hyperjoin.tables import TableId

NO_SAFE_JOIN = "no safe join known"
CHOOSE = "choose one"

ASK = "Do not join them on a guess: ask the user, or a person who may accept a join"
_CHOOSE = "Joins marked `choose` give other rows than each other. Ask the user which one is meant"
_SQL_IS_TESTED = "tested: it returned the expected rows when a run wrote it"
_SQL_IS_WRITTEN = (
    "not run: check its number of rows, because values may differ in case, spaces or type"
)
_NO_SQL = "none: the values must be converted, or the datasets are in several systems"

Statements = Mapping[str, str]
"""Tested SQL, by the URN of the join."""


def list_joins_of(
    name: str, joins: Sequence[CatalogJoin], *, min_score: float, skip: int = 0
) -> Answer:
    """Build the answer that lists a dataset's joins, safe joins first.

    Args:
        joins: Its joins, best first, with the dataset on the left.
    """
    ordered = sorted(
        list_with_reasons(joins, min_score=min_score), key=lambda words: "unsafe" in words
    )
    safe = sum("unsafe" not in words for words in ordered)
    answer: Answer = {
        "answer": _count(safe),
        "of": name,
        "unsafe": len(joins) - safe,
    }
    return add_entries(answer, "joins", ordered, skip=skip)


def _count(safe: int) -> str:
    return {0: NO_SAFE_JOIN, 1: "1 safe join"}.get(safe, f"{safe} safe joins")


def list_with_reasons(joins: Sequence[CatalogJoin], *, min_score: float) -> list[Phrases]:
    """Summarise each join, with any reasons why it is not safe."""
    return [_listed(join, reasons_unsafe(join, min_score=min_score)) for join in joins]


def _listed(join: CatalogJoin, reasons: Sequence[str]) -> Phrases:
    return {**summarize_join(join), **({"unsafe": "; ".join(reasons)} if reasons else {})}


def suggest_safe_joins(
    name: str, safe: Sequence[CatalogJoin], statements: Statements, *, skip: int = 0
) -> Answer:
    """Build the answer that describes a dataset's safe joins, with their SQL.

    Args:
        safe: Safe joins, best first, with the dataset on the left.
    """
    rivals = Counter(map(_ends, safe))
    answer: Answer = {"answer": _count(len(safe)), "of": name}
    if max(rivals.values()) > 1:
        is_only_question = len(rivals) == 1
        answer |= {"answer": CHOOSE if is_only_question else answer["answer"], "next": _CHOOSE}
    entries = [_detailed(join, statements, rivals[_ends(join)]) for join in safe]
    return add_entries(answer, "joins", entries, skip=skip)


def _ends(join: CatalogJoin) -> tuple[TableId, bool]:
    """Return a join's right table, and whether each left row matches at most one right row.

    A person has to choose among safe joins that agree in both.
    """
    return join.right.table, join.to_one


def _detailed(join: CatalogJoin, statements: Statements, rivals: int) -> Answer:
    choice = {"choose": f"{rivals} safe joins with this dataset"} if rivals > 1 else {}
    return {**describe_join(join), **choice, **sql_of([join], statements)}


def sql_of(joins: Sequence[CatalogJoin], statements: Statements) -> Answer:
    """Return the SQL of a path of joins, and say whether that SQL was tested.

    Returns:
        One tested statement for each join. If the catalog does not hold all of them, one statement
        for the path that was not run, or none.
    """
    tested = [statements[join.urn] for join in joins if join.urn in statements]
    if len(tested) == len(joins):
        return {"sql": tested, "sql_is": _SQL_IS_TESTED}
    written = write_path_sql(joins)
    return {"sql": written, "sql_is": _SQL_IS_WRITTEN} if written else {"sql_is": _NO_SQL}


def answer_none_safe(name: str, joins: Sequence[CatalogJoin], *, min_score: float) -> Answer:
    """Build the answer that none of the joins is safe, with the reasons."""
    answer: Answer = {"answer": NO_SAFE_JOIN, "of": name, "next": ASK}
    return add_entries(answer, "unsafe", list_with_reasons(joins, min_score=min_score))


def assess_join(join: CatalogJoin, statements: Statements, *, min_score: float) -> Answer:
    """Build the answer about one join: its safety and its description."""
    reasons = reasons_unsafe(join, min_score=min_score)
    if reasons:
        verdict = {"answer": "not safe", "unsafe": "; ".join(reasons), "next": ASK}
        return {**verdict, **describe_join(join), "urn": join.urn}
    return {"answer": "safe", **describe_join(join), **sql_of([join], statements), "urn": join.urn}
