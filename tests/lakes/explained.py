"""Find the joins of small lakes as a run does, with evidence from plain Python, not Spark."""

from dataclasses import dataclass

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.explain import (
    ColumnExplanation,
    PairExplanation,
    explain_column,
    explain_pair,
)
from datahub_hyperjoin.find import LakeComparison
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.encode import Encoding
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.stages.pair_evidence import confirm_pairs
from datahub_hyperjoin.stages.role_decisions import decide_joins, propose_references, rank_partners
from datahub_hyperjoin.tables import ColumnProfile, pair_of
from lakes.deciding import CONFIG, CUSTOMERS, NO_FACTS, ORDERS, TOWNS, index_of, measure
from lakes.handmade import Tables, draw, numbers, profile_lake

PROSE = [f"{number} {'is part of a long story ' * 4}" for number in range(200)]
SHOP: Tables = {
    **ORDERS,
    **CUSTOMERS,
    **TOWNS,
    "notes": {
        "id": numbers(9001, 9201),
        "text": PROSE,
        "code": [f"x-{number}" for number in range(200)],
        "flag": draw(["y", "n"], 200),
        "seats": draw(numbers(1, 9), 200),
    },
}
"""The tables of a shop: orders refer to customers, and notes join with nothing."""


@dataclass(frozen=True)
class Run:
    """The results of a run, with methods that look up profiles and explain columns and pairs."""

    comparison: LakeComparison
    facts: CatalogFacts
    config: ModelConfig

    def profile(self, name: str) -> ColumnProfile:
        tables = self.comparison.findings.profiles
        return next(one for table in tables for one in table.columns if str(one.id) == name)

    def column(self, name: str) -> ColumnExplanation:
        return explain_column(self.profile(name), self.comparison, self.config)

    def pair(self, left: str, right: str) -> PairExplanation:
        ends = self.profile(left), self.profile(right)
        return explain_pair(*ends, self.comparison, self.facts, self.config)


def run_on(
    tables: Tables = SHOP, facts: CatalogFacts = NO_FACTS, config: ModelConfig = CONFIG
) -> Run:
    """Build the index of a lake, rank its candidates and decide its joins."""
    index = index_of(tables, facts, config)
    encoding = Encoding(embeddings=index.names.vectors(), fingerprint="", trained=False)
    ranked = tuple(rank(index, encoding.embeddings, config))
    proposed = {pair_of(each.query, each.candidate) for each in ranked} | propose_references(index)
    known = measure(tables)
    measured = {pair: known[pair] for pair in sorted(proposed & known.keys())}
    confirmed = confirm_pairs(
        measured, min_containment=config.ranking.min_containment, accepted=facts.accepted
    )
    joins = decide_joins(index, ranked, confirmed, facts, config.ranking)
    findings = Findings(
        profiles=tuple(profile_lake(tables)),
        keys=tuple(index.lake.ids[key] for key in index.keys),
        suggestions=rank_partners(joins, ranked, config.ranking.top_k),
        joins=joins,
        model_version="",
    )
    return Run(
        LakeComparison(
            findings=findings, index=index, encoding=encoding, ranked=ranked, measured=measured
        ),
        facts,
        config,
    )
