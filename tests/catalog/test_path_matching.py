"""Test that files are matched with datasets by the ends of their paths."""

from collections.abc import Iterable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.catalog.known_tables import (
    DatasetPath,
    FilePath,
    count_common,
    match_paths,
)

ORDERS = frozenset({"id", "customer_id", "amount"})
LAKE = "tmp/lake"


def match(
    files: Iterable[str],
    datasets: Iterable[str],
    *,
    columns: Mapping[str, Iterable[str]] = {},
    earlier: Iterable[str] = (),
    lake: str = LAKE,
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Match files with datasets.

    By default, both have the columns of orders.
    """
    return match_paths(
        {
            file: FilePath(
                parts=tuple(f"{lake}/{file}".split("/")),
                below=file.count("/") + 1,
                columns=lambda file=file: frozenset(columns.get(file, ORDERS)),  # type: ignore[misc]
            )
            for file in files
        },
        {
            dataset: DatasetPath(
                parts=tuple(dataset.split("/")),
                columns=frozenset(columns.get(dataset, ORDERS)),
                is_earlier=dataset in {*earlier},
            )
            for dataset in datasets
        },
    )


def test_the_whole_path_needs_no_columns() -> None:
    found = match(
        ["shop/orders.csv"],
        ["tmp/lake/shop/orders.csv", "mnt/shop/orders.csv"],
        columns={"tmp/lake/shop/orders.csv": ["other"]},
    )
    assert found[0] == {"shop/orders.csv": "tmp/lake/shop/orders.csv"}
    assert not found[1]


def test_the_longest_common_end_decides() -> None:
    found = match(["shop/orders.csv"], ["mnt/lake/shop/orders.csv", "mnt/shop/orders.csv"])
    assert found[0] == {"shop/orders.csv": "mnt/lake/shop/orders.csv"}


def test_a_dataset_may_lack_the_extension() -> None:
    found = match(["shop/orders.csv.gz"], ["mnt/shop/orders", "mnt/shop/orders.parquet"])
    assert found[0] == {"shop/orders.csv.gz": "mnt/shop/orders"}


def test_a_dataset_with_the_extension_precedes_one_without() -> None:
    found = match(["shop/orders.csv"], ["mnt/shop/orders", "srv/shop/orders.csv"])
    assert found[0] == {"shop/orders.csv": "srv/shop/orders.csv"}


def test_other_columns_make_another_table() -> None:
    found = match(
        ["shop/orders.csv"], ["mnt/shop/orders.csv"], columns={"mnt/shop/orders.csv": ["sku"]}
    )
    assert not found[0]
    assert not found[1]


def test_a_new_column_does_not_make_another_table() -> None:
    drifted = {"shop/orders.csv": [*ORDERS, "paid"]}
    found = match(["shop/orders.csv"], ["mnt/shop/orders.csv"], columns=drifted)
    assert found[0] == {"shop/orders.csv": "mnt/shop/orders.csv"}


def test_one_common_name_needs_the_same_columns() -> None:
    assert match(["orders.csv"], ["mnt/orders.csv"])[0] == {"orders.csv": "mnt/orders.csv"}
    drifted = {"orders.csv": [*ORDERS, "paid"]}
    assert not match(["orders.csv"], ["mnt/orders.csv"], columns=drifted)[0]


def test_unreadable_columns_leave_the_decision_to_the_path() -> None:
    unread: dict[str, list[str]] = {"shop/orders.csv": [], "orders.csv": []}
    found = match(
        ["shop/orders.csv", "orders.csv"],
        ["mnt/shop/orders.csv", "srv/orders.csv"],
        columns=unread,
    )
    assert found[0] == {"shop/orders.csv": "mnt/shop/orders.csv"}


def test_another_folder_of_the_same_tables_is_not_taken_but_named() -> None:
    found = match(["2023/sales.csv"], ["tmp/lake/2024/sales.csv"])
    assert not found[0]
    assert found[1] == {"2023/sales.csv": ("tmp/lake/2024/sales.csv",)}


def test_equal_candidates_are_left_to_a_person() -> None:
    found = match(["shop/orders.csv"], ["dev/shop/orders.csv", "prod/shop/orders.csv"])
    assert not found[0]
    assert {*found[1]["shop/orders.csv"]} == {"dev/shop/orders.csv", "prod/shop/orders.csv"}


def test_the_same_columns_decide_between_equal_paths() -> None:
    drifted = {"dev/shop/orders.csv": [*ORDERS, "paid"]}
    found = match(
        ["shop/orders.csv"], ["dev/shop/orders.csv", "prod/shop/orders.csv"], columns=drifted
    )
    assert found[0] == {"shop/orders.csv": "prod/shop/orders.csv"}


def test_the_dataset_of_earlier_runs_precedes_a_copy() -> None:
    names = ["dev/shop/orders.csv", "prod/shop/orders.csv"]
    found = match(["shop/orders.csv"], names, earlier=["dev/shop/orders.csv"])
    assert found[0] == {"shop/orders.csv": "dev/shop/orders.csv"}


def test_a_dataset_belongs_to_the_file_with_the_longer_common_end() -> None:
    found = match(["shop/orders.csv", "orders.csv"], ["lake/shop/orders.csv"])
    assert found[0] == {"shop/orders.csv": "lake/shop/orders.csv"}
    assert not found[1]


def test_two_files_do_not_share_a_dataset() -> None:
    found = match(["old/orders.csv", "new/orders.csv"], ["orders.csv"])
    assert not found[0]
    assert found[1].keys() == {"old/orders.csv", "new/orders.csv"}


def test_case_decides_only_between_files_that_differ_in_nothing_else() -> None:
    lowered = match(["Shop/Orders.csv"], ["tmp/lake/shop/orders.csv"])
    assert lowered[0] == {"Shop/Orders.csv": "tmp/lake/shop/orders.csv"}
    both = match(["orders.csv", "Orders.csv"], ["mnt/orders.csv"])
    assert both[0] == {"orders.csv": "mnt/orders.csv"}


_NAMES = st.sampled_from(["a", "b", "shop", "a.csv", "b.csv", "B.csv", "a.csv.gz"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_LISTS = st.lists(_PATHS, max_size=8, unique=True)
_COLUMNS = st.dictionaries(_PATHS, st.sets(st.sampled_from(["id", "amount", "sku"])), max_size=8)


@given(_LISTS, _LISTS, _COLUMNS)
def test_no_two_files_have_one_dataset_and_order_is_of_no_account(
    files: list[str], datasets: list[str], columns: dict[str, set[str]]
) -> None:
    found = match(files, datasets, columns=columns)
    assert len({*found[0].values()}) == len(found[0])
    assert not found[0].keys() & found[1].keys()
    again = match(files[::-1], datasets[::-1], columns=columns)
    assert again[0] == found[0]
    assert {file: {*some} for file, some in again[1].items()} == {
        file: {*some} for file, some in found[1].items()
    }
    for file, dataset in found[0].items():
        assert count_common(file.casefold().split("/"), dataset.casefold().split("/"))


@given(_LISTS, _LISTS, _COLUMNS)
def test_a_dataset_with_the_whole_path_is_always_taken(
    files: list[str], others: list[str], columns: dict[str, set[str]]
) -> None:
    whole = [f"{LAKE}/{file}" for file in files]
    found = match(files, {*others, *whole}, columns=columns)
    assert found[0] == dict(zip(files, whole, strict=True))


@settings(max_examples=50)
@given(_LISTS, st.sampled_from(["mnt", "data/2024", "s3-bucket/x/y"]))
def test_a_lake_seen_elsewhere_has_all_its_tables(files: list[str], elsewhere: str) -> None:
    # Same columns everywhere: only the paths tell the tables apart.
    found = match(files, [f"{elsewhere}/{file}" for file in files], lake="tmp/lake")
    wrong = {
        file: dataset for file, dataset in found[0].items() if dataset != f"{elsewhere}/{file}"
    }
    assert not wrong
    assert found[0].keys() | found[1].keys() >= {*files}
