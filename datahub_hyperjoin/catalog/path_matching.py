"""Match files with datasets by the ends of their paths.

DataHub's connectors name the dataset of a file by its whole path, as in
`data/lake/shop/orders.csv`. The connector may have read the lake in another folder than this run.
Some connectors omit the file's extension.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from datahub_hyperjoin.catalog.files import split_name

_File = TypeVar("_File", bound=Hashable)
_Dataset = TypeVar("_Dataset", bound=Hashable)

_SIMILAR = 0.5
"""Minimum share of columns that a file and a dataset must have in common. It is below 1, because a
table may have changed since its connector read it."""
_Rank = tuple[int, int, bool, bool, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePath:
    """The path of a table's file or folder, and the table's columns."""

    parts: tuple[str, ...]
    """Names of the folders and of the file, without the root."""

    below: int
    """Number of names in `parts` that are below the recipe's folder."""

    columns: Callable[[], frozenset[str]]
    """A function that reads the names of the table's columns, or returns none if that fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPath:
    """The name of a dataset as a path, and the dataset's columns."""

    parts: tuple[str, ...]
    """The names between the slashes of the path."""

    columns: frozenset[str]
    """Names of the dataset's columns."""

    is_earlier: bool = False
    """Whether an earlier run has written suggestions for this dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches(Generic[_File, _Dataset]):
    """The dataset of each matched file, and the possible datasets of each ambiguous file."""

    datasets: Mapping[_File, _Dataset]
    """The dataset of each file that has one. No two files have the same dataset."""

    unclear: Mapping[_File, Sequence[_Dataset]]
    """For each file whose dataset a person has to choose, the possible datasets."""


@dataclass(frozen=True, slots=True)
class _Candidate(Generic[_Dataset]):
    dataset: _Dataset
    rank: _Rank
    is_likely: bool = True


def match_paths(
    files: Mapping[_File, FilePath], datasets: Mapping[_Dataset, DatasetPath]
) -> Matches[_File, _Dataset]:
    """Match files with datasets by the ends of their paths and by their columns.

    If a dataset's name is the file's whole path, it is the dataset of that file. Otherwise the
    longest common end decides. It must contain all names below the recipe's folder, or the
    dataset's whole name; `2023/sales.csv` is not `2024/sales.csv`. The columns must be similar. If
    only one name is common, the columns must be the same.

    Returns:
        The matches, which depend neither on the order of files nor on that of datasets.
    """
    by_title: dict[str, list[_Dataset]] = defaultdict(list)
    for dataset, path in datasets.items():
        if path.parts:
            by_title[_title(path.parts[-1])].append(dataset)
    found = {
        file: _candidates(path, {one: datasets[one] for one in by_title[_title(path.parts[-1])]})
        for file, path in files.items()
    }
    likely = {file: _best(one for one in some if one.is_likely) for file, some in found.items()}
    matched, contested = _assign(likely)
    taken = {*matched.values()}
    unclear = {
        file: tuple(
            one.dataset for one in (contested.get(file) or found[file]) if one.dataset not in taken
        )
        for file in files
        if file not in matched
    }
    return Matches(
        datasets=matched,
        unclear={file: some for file, some in unclear.items() if some},
    )


def count_common(path: Sequence[str], name: Sequence[str]) -> int:
    """Count the trailing components that two paths share.

    Args:
        name: The name of a dataset, which may lack the extension of the file.

    >>> count_common(("lake", "shop", "a.csv"), ("data", "shop", "a.csv"))
    2
    >>> count_common(("lake", "shop", "a.csv.gz"), ("data", "shop", "a"))
    2
    >>> count_common(("shop", "a.csv"), ("shop", "a.parquet"))
    0
    """
    if not path or not name or name[-1] not in {path[-1], split_name(path[-1])[0]}:
        return 0
    folders = zip(reversed(path[:-1]), reversed(name[:-1]), strict=False)
    return 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], folders))


def _title(name: str) -> str:
    return split_name(name)[0].casefold()


def _candidates(
    file: FilePath, datasets: Mapping[_Dataset, DatasetPath]
) -> list[_Candidate[_Dataset]]:
    own = [one for one, path in datasets.items() if path.parts == file.parts]
    if own:
        return [_Candidate(own[0], (len(file.parts), 0, True, True, True))]
    folded = _folded(file.parts)
    commons = {
        one: common
        for one, path in datasets.items()
        if (common := count_common(folded, _folded(path.parts)))
    }
    columns = _folded(file.columns()) if commons else ()
    candidates = (
        _candidate(file, one, datasets[one], common, {*columns}) for one, common in commons.items()
    )
    return [one for one in candidates if one]


def _candidate(
    file: FilePath, key: _Dataset, dataset: DatasetPath, common: int, columns: set[str]
) -> _Candidate[_Dataset] | None:
    described = {*_folded(dataset.columns)}
    is_same = columns == described
    union = columns | described
    is_similar = bool(union) and len(columns & described) / len(union) >= _SIMILAR
    if columns and not is_similar:
        return None
    is_whole = common >= min(file.below, len(dataset.parts))
    # Nothing but the path vouches for a file whose columns cannot be read.
    is_likely = is_whole and (is_same or common > 1)
    if not is_likely and not is_same:
        return None
    exact = count_common(file.parts, dataset.parts)
    with_extension = file.parts[-1] == dataset.parts[-1]
    rank = (common, exact, with_extension, is_same, dataset.is_earlier)
    return _Candidate(key, rank, is_likely=is_likely)


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.casefold() for name in names)


def _best(candidates: Iterable[_Candidate[_Dataset]]) -> list[_Candidate[_Dataset]]:
    candidates = list(candidates)
    best = max((one.rank for one in candidates), default=None)
    return [one for one in candidates if one.rank == best]


def _assign(
    candidates: Mapping[_File, Sequence[_Candidate[_Dataset]]],
) -> tuple[dict[_File, _Dataset], dict[_File, list[_Candidate[_Dataset]]]]:
    """Assign each dataset to the file that matches it best; also return ambiguous files.

    Returns:
        The datasets of files, and the equally good candidates of the files that have several or
        that share one.
    """
    levels: dict[_Rank, list[_File]] = defaultdict(list)
    for file, some in candidates.items():
        if some:
            levels[some[0].rank].append(file)
    matched: dict[_File, _Dataset] = {}
    contested: dict[_File, list[_Candidate[_Dataset]]] = {}
    taken: set[_Dataset] = set()
    for rank in sorted(levels, reverse=True):
        free = {
            file: [one for one in candidates[file] if one.dataset not in taken]
            for file in levels[rank]
        }
        wanted = Counter(one.dataset for some in free.values() for one in some)
        for file, some in free.items():
            if len(some) == 1 and wanted[some[0].dataset] == 1:
                matched[file] = some[0].dataset
            elif some:
                contested[file] = some
        taken |= wanted.keys()
    return matched, contested
