"""Correct the scores of possible references by trees that see each pair beside its rivals.

The scores of `pair_scores` and `context` add up clues with weights set by hand. The trees were
trained on the declared keys of other databases. They read the same clues of the few best keys of
each column, what competes with each pair, the statistics of both columns, and how the two tables
and the tables around them are named and linked.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int, Shaped
from scipy.sparse import csr_array, eye_array

from datahub_hyperjoin.arrow_bytes import starts_run
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.pair_scores import (
    MAX_SCORE,
    ReferenceScorer,
    normalise,
    split_pairs,
)
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    PairFloats,
    PairInts,
    find_among,
    number_distinct,
    number_pairs,
    ranks_in_runs,
)
from datahub_hyperjoin.model.signals.sketches import row_products
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble, shipped_trees

SHIPPED_TREES = Path(__file__).with_name("reference_trees.safetensors")
"""File of the package with the trees; `reference_trees.md` describes them."""

_LEAST = -12.0
"""Minimum score that is corrected: no correction makes a reference probable that has less."""
_ALL = 0.98
"""Minimum containment at which a key is assumed to hold all values of a column."""
_LINKED = 0.2
"""Minimum probability of a reference that links two tables."""

_MOST_STANDING = 10
"""Greatest rank of a column in its table that makes a difference."""
_PLAIN, _WITH_ID, _AS_TABLE, _OTHER = range(4)
"""Ways to call a key: `id`, as `loan_id` in `loans`, as `loan` or `loan_no` there, or else."""
_NUMBER, _HUMP = re.compile(r"_?\d+$"), re.compile("[a-z][A-Z]")

_TableFloats = Float[np.ndarray, "table style"]
_PairStyles = Float[np.ndarray, "pair style"]
_Features = dict[str, Shaped[np.ndarray, " pair"]]
"""Numbers or marks of each pair, by the name of the feature."""


@dataclass(frozen=True)
class BestCandidates:
    """The best keys of each column, and what tells how many others there are."""

    at: PairInts  # the position of each pair among all candidates
    pairs: ReferenceCandidates
    number: ColumnInts  # the number of candidates of each column
    holders: ColumnInts  # the number of keys that hold all values of each column

    @classmethod
    def of(
        cls, candidates: ReferenceCandidates, scores: PairFloats, columns: int, most: int
    ) -> "BestCandidates":
        """Select the candidates with the best scores."""
        column = candidates.referring
        likely = np.flatnonzero(scores >= _LEAST)
        order = likely[np.lexsort((-scores[likely], column[likely]))]
        at = np.sort(order[ranks_in_runs(column[order]) < most])
        pairs = replace(
            candidates,
            referring=column[at],
            referenced=candidates.referenced[at],
            containment=candidates.containment[at],
            chance=candidates.chance[at],
        )
        full = column[candidates.containment >= _ALL]
        counts = (np.bincount(each, minlength=columns) for each in (column, full))
        return cls(at, pairs, *counts)


@dataclass(frozen=True)
class DescribedCandidates:
    """Candidates with all that the trees see of them."""

    pairs: ReferenceCandidates
    scores: PairFloats  # log-odds that are to be corrected
    features: tuple[str, ...]  # the name of each feature
    rows: Float32[np.ndarray, "pair feature"]

    @classmethod
    def of(
        cls, lake: Lake, scorer: ReferenceScorer, best: BestCandidates, scores: PairFloats
    ) -> "DescribedCandidates":
        """Describe the best candidates of each column; there must be some."""
        clipped = np.clip(scores, -MAX_SCORE, MAX_SCORE)
        probability = normalise(best.pairs.referring, clipped)
        context = _describe_rivals(lake, best, clipped)
        context |= _describe_ends(lake, scorer.uniqueness, best.pairs)
        context |= _describe_tables(lake, best.pairs, probability)
        parts = list[Float32[np.ndarray, "pair feature"]]()
        features = tuple[str, ...]()
        for some in split_pairs(len(scores)):
            part = best.pairs.part(some)
            clues = scorer.clues(part, scorer.compare_tables(part))
            described = {**clues, **{name: values[some] for name, values in context.items()}}
            parts.append(np.stack([*described.values()], axis=1, dtype=np.float32))
            features = tuple(described)
        return cls(best.pairs, scores, features, np.concatenate(parts))


Correction = Callable[[DescribedCandidates], PairFloats]
"""A function that returns what to add to the score of each candidate."""


def correct_by_trees(candidates: DescribedCandidates) -> PairFloats:
    """Return the corrections by the trees that come with the package."""
    return correct(shipped_trees(SHIPPED_TREES), candidates.features, candidates.rows)


def correct(
    trees: TreeEnsemble, features: Sequence[str], rows: Float32[np.ndarray, "pair feature"]
) -> PairFloats:
    """Return the corrections by some trees; 0 for keys of texts."""
    # The databases that taught the trees hardly refer by texts, such as codes of airports.
    is_text = rows[:, features.index("is_text_of_key")] > 0
    return np.where(is_text, 0.0, trees(rows))


def _describe_rivals(lake: Lake, best: BestCandidates, scores: PairFloats) -> _Features:
    """Describe what competes with each pair."""
    column, key = best.pairs.referring, best.pairs.referenced
    count = len(lake)
    numbers = number_pairs(column, key, count)
    at, found = find_among(numbers, number_pairs(key, column, count))
    first, second = np.sort(lake.table_of[np.stack([column, key])], axis=0)
    rival = best_of_others(column, scores)
    probability = normalise(column, scores)
    return {
        "score": scores,
        "rival": rival,
        "lead": scores - rival,
        "reverse": np.where(found, scores[at], _LEAST),
        "other_of_tables": best_of_others(number_pairs(first, second, len(lake.titles)), scores),
        "holders": np.log1p(best.holders[column]),
        "candidates": np.log1p(best.number[column]),
        "referrers": np.log1p(np.bincount(key, probability)[key] - probability),
    }


def best_of_others(group: PairInts, scores: PairFloats) -> PairFloats:
    """For each pair, return the best score of the others in its group; at least `_LEAST`."""
    order = np.lexsort((-scores, group))
    is_first = starts_run(group[order])
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(order))
    best = np.repeat(scores[order[starts]], sizes)
    second = np.full(len(starts), _LEAST)
    second[sizes > 1] = scores[order[starts[sizes > 1] + 1]]
    others = np.empty(len(order))
    others[order] = np.where(is_first, np.repeat(second, sizes), best)
    return np.maximum(others, _LEAST)


def _describe_ends(lake: Lake, uniqueness: ColumnFloats, pairs: ReferenceCandidates) -> _Features:
    """Describe both columns of each pair."""
    profiles = lake.profiles
    columns = {
        "distinct": np.log1p(lake.distinct),
        "density": lake.density,
        "uniqueness": uniqueness,
        "is_text": lake.is_text,
        "is_whole": lake.is_whole,
        "standing": np.minimum(lake.standing, _MOST_STANDING),
        "length": np.array([profile.lengths.mean for profile in profiles]),
        "completeness": np.array([profile.completeness for profile in profiles]),
    }
    ends = {"column": pairs.referring, "key": pairs.referenced}
    return {
        f"{name}_of_{end}": values[at]
        for end, at in ends.items()
        for name, values in columns.items()
    }


def _describe_tables(lake: Lake, pairs: ReferenceCandidates, probability: PairFloats) -> _Features:
    """Describe how the two tables, and those around them, are named and linked.

    Tables of one database are mostly written in one style, call their keys alike, and refer to the
    same tables.
    """
    left, right = lake.table_of[pairs.referring], lake.table_of[pairs.referenced]
    titles = [_NUMBER.sub("", title.rpartition("/")[2]) for title in lake.titles]
    styles = np.array([_title_style(title) for title in titles], dtype=np.float64)
    spellings, keys = _describe_columns(lake, titles)
    names = number_distinct(map(str.casefold, titles))[1]
    count = len(titles)
    likely = np.flatnonzero((probability > _LINKED) & (left != right))
    ends = left[likely], right[likely]
    links = csr_array((probability[likely], ends), (count, count))
    links.data = np.minimum(links.data, 1.0)
    links = links.maximum(links.T).tocsr()
    link = row_products(links, eye_array(count, format="csr"), left, right)
    degree = np.asarray(links.sum(axis=1)).ravel()
    others = np.maximum(degree[left] - link, 0.0)
    return {
        "title_styles": _distance(styles[left], styles[right]),
        "column_styles": _distance(spellings[left], spellings[right]),
        "keys_alike": keys[left] == keys[right],
        "key_is_id": keys[left] == _PLAIN,
        "other_key_is_id": keys[right] == _PLAIN,
        "namesakes": np.log1p(np.bincount(names)[names][right]),
        "styles_around": _around(links, link, others, styles, left, right),
        "columns_around": _around(links, link, others, spellings, left, right),
        "linked_alike": np.log1p(row_products(links, links, left, right)),
        "links": np.log1p(others),
        "links_of_other": np.log1p(np.maximum(degree[right] - link, 0.0)),
    }


def _distance(left: _PairStyles, right: _PairStyles) -> PairFloats:
    return np.abs(left - right).sum(axis=1)


def _around(
    links: csr_array,
    link: PairFloats,
    others: PairFloats,
    described: _TableFloats,
    left: PairInts,
    right: PairInts,
) -> PairFloats:
    """Compare the right table with those that the left one is linked to; -1 if there are none."""
    total = (links @ described)[left] - link[:, None] * described[right]
    mean = total / np.maximum(others, _LINKED)[:, None]
    return np.where(others > _LINKED, _distance(mean, described[right]), -1.0)


def _title_style(title: str) -> tuple[bool, ...]:
    letters = re.sub("[^A-Za-z]", "", title)
    return (
        letters.isupper() and len(letters) > 1,
        letters.islower(),
        bool(_HUMP.search(title)),
        title[:1].isupper() and not letters.isupper(),
        "_" in title,
        " " in title,
        title.casefold().endswith("s"),
    )


def _column_style(name: str) -> tuple[bool, ...]:
    return (
        name.isupper(),
        name.islower(),
        bool(_HUMP.search(name)),
        "_" in name,
        " " in name,
        name[:1].isupper(),
    )


def _describe_columns(
    lake: Lake, titles: Sequence[str]
) -> tuple[_TableFloats, Int[np.ndarray, " table"]]:
    """For each table, return the share of its columns in each style, and how its key is called."""
    styles = np.array([_column_style(path) for path in lake.paths], dtype=np.float64)
    count = len(titles)
    total = np.zeros((count, styles.shape[1]))
    np.add.at(total, lake.table_of, styles)
    sizes = np.bincount(lake.table_of, minlength=count)
    keys = np.full(count, _OTHER)
    first = np.flatnonzero(lake.standing == 0)
    owners: list[int] = lake.table_of[first].tolist()
    for column, table in zip(first.tolist(), owners, strict=True):
        keys[table] = _call_key(titles[table], lake.paths[column])
    return total / np.maximum(sizes, 1)[:, None], keys


def _call_key(title: str, name: str) -> int:
    """Return in which way a key is called: `id`, after its table with or without `id`, or else."""
    key, table = (re.sub("[^a-z]", "", word.casefold()) for word in (name, title))
    if key == "id":
        return _PLAIN
    if not (table := table.rstrip("s")) or table not in key:
        return _OTHER
    return _WITH_ID if key.endswith("id") else _AS_TABLE
