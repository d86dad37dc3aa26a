"""Test how the tables of a run are matched with datasets whose names differ in case."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import SecretStr

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.errors import UnknownDatasetsError
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.known_tables import KnownTables, Places, find_datasets, select_known
from datahub_hyperjoin.catalog.scope import FolderNames, PlatformInstance
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.tables import Table, TableId

Warnings = list[tuple[str, str, str]]
Warn = Callable[[str, str, str], None]
DATABASE = Database(url=SecretStr("postgresql+psycopg2://reader@host/shop"))


def table(name: str, instance: str = "") -> Table:
    place = Relation(database=DATABASE, connection="connections[0]", schema="public", name=name)
    return Table(
        id=TableId("postgres", name),
        title=name,
        location=place,
        size=0,
        instance=instance,
        chosen_by="connections[0].tables",
    )


def known(tables: Sequence[str], datasets: Sequence[str]) -> KnownTables:
    return find_datasets([table(name) for name in tables], of(datasets), names=None, earlier=())


def of(names: Sequence[str]) -> dict[TableId, Dataset]:
    ids = [TableId("postgres", name) for name in names]
    return {each: Dataset(table=each, title=each.name, columns=()) for each in ids}


@pytest.mark.parametrize("dataset", ["lake/sales/2024.csv", "lake/sales"])
def test_the_dataset_of_several_files_is_that_of_the_newest_or_of_all(
    tmp_path: Path, dataset: str
) -> None:
    folder = tmp_path / "lake"
    (folder / "sales").mkdir(parents=True)
    for year in (2023, 2024):
        (folder / f"sales/{year}.csv").write_text(f"day,amount\n{year}-01-01,5\n")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    selection = TableSelection(platform="file", env="PROD")
    tables = scan_folder(folder, selection, warn=lambda *_: None)
    instance = PlatformInstance(platform="file", env="PROD")
    id_ = TableId("file", dataset)
    own = Dataset(table=id_, title="sales", columns=(("day", "date"), ("amount", "number")))
    names = FolderNames(instance=instance, folder=folder)
    found = find_datasets(tables, {id_: own}, names=names, earlier=())
    assert [table.id.name for table in found.tables] == ["other.csv", dataset]
    older = ("lake/sales/2023.csv",) if dataset.endswith(".csv") else ()
    assert tuple(member.name for member in found.tables[1].members) == older


def nowhere(_: Sequence[Table]) -> Places:
    return {}


@pytest.mark.parametrize(
    ("tables", "datasets", "found"),
    [
        (["public.Customer"], ["public.customer"], ["public.customer"]),
        (["public.customer"], ["PUBLIC.CUSTOMER"], ["PUBLIC.CUSTOMER"]),
        (["Sales.a", "b"], ["sales.A", "b"], ["sales.A", "b"]),
        # Equal spelling comes first.
        (["Customer"], ["customer", "Customer"], ["Customer"]),
        (["customer", "Customer"], ["customer"], ["customer", "Customer"]),
    ],
)
def test_a_dataset_may_be_spelled_in_another_case(
    tables: Sequence[str], datasets: Sequence[str], found: Sequence[str]
) -> None:
    matched = known(tables, datasets)
    assert [each.id.name for each in matched.tables] == found
    assert not matched.alike


@pytest.mark.parametrize(
    ("tables", "datasets", "told"),
    [
        (["Customer"], ["customer", "CUSTOMER"], "Customer may be CUSTOMER, customer"),
        (
            ["Customer", "CUSTOMER"],
            ["customer"],
            "CUSTOMER may be customer, Customer may be customer",
        ),
        # By elimination, it would be a guess.
        (["Customer", "customer"], ["CUSTOMER", "customer"], "Customer may be CUSTOMER"),
    ],
)
def test_of_several_none_is_guessed(
    tables: Sequence[str],
    datasets: Sequence[str],
    told: str,
    warn: Warn,
    warnings: Warnings,
) -> None:
    datasets = [*datasets, "other"]
    matched = known([*tables, "other"], datasets)
    kept = select_known(matched, of(datasets), filtered=False, elsewhere=nowhere, warn=warn)
    assert {each.id.name for each in kept.tables} == {*tables} & {*datasets} | {"other"}
    assert [(title, context) for title, _, context in warnings] == [
        ("Dataset of a table unclear", told)
    ]


def test_if_nothing_else_is_known_the_run_ends(warn: Warn) -> None:
    names = ["customer", "CUSTOMER"]
    matched = known(["Customer"], names)
    with pytest.raises(
        UnknownDatasetsError,
        match=r"the names of the tables in another case, and more than one table or dataset .*: "
        r"Customer may be CUSTOMER, customer$",
    ):
        select_known(matched, of(names), filtered=False, elsewhere=nowhere, warn=warn)


def test_each_place_of_a_missing_table_is_named(warn: Warn, warnings: Warnings) -> None:
    def elsewhere(missing: Sequence[Table]) -> Places:
        north, dev = (
            PlatformInstance(platform="postgres", env=env, instance=instance)
            for env, instance in (("PROD", "north"), ("DEV", None))
        )
        return {each.id: [north, dev][: len(each.id.name)] for each in missing if each.id.name}

    matched = known(["a", "bb", "c", "other"], ["other"])
    select_known(matched, of(["other"]), filtered=False, elsewhere=elsewhere, warn=warn)
    [(title, _, context)] = warnings
    north = "in the platform instance 'north': set `connections[0].platform_instance: north`"
    assert (title, context) == (
        "Tables not in the catalog",
        (
            f"a, bb, c. DataHub has a, c {north}. DataHub has bb {north} or in env 'DEV': set "
            "`connections[0].env: DEV`."
        ),
    )
