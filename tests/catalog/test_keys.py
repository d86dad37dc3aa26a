from datahub_hyperjoin.catalog.datasets import Dataset, ForeignKey
from datahub_hyperjoin.catalog.keys import declared_pairs, unique_columns
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of

ORDERS, LINES = TableId("postgres", "shop.orders"), TableId("postgres", "shop.lines")
ORDER = pair_of(ColumnId(ORDERS, "id"), ColumnId(LINES, "order"))
TENANT = pair_of(ColumnId(ORDERS, "tenant"), ColumnId(LINES, "tenant"))


def dataset(
    table: TableId, *columns: str, key: tuple[str, ...] = (), keys: tuple[ForeignKey, ...] = ()
) -> Dataset:
    return Dataset(
        table=table,
        title=table.name,
        columns=tuple((column, f"[version=2.0].[type=string].{column}") for column in columns),
        primary_key=key,
        foreign_keys=keys,
    )


def lines(*keys: ForeignKey) -> Dataset:
    return dataset(LINES, "order", "tenant", keys=keys)


def test_a_key_of_one_column_is_unique_and_the_parts_of_another_are_not() -> None:
    datasets = [
        dataset(ORDERS, "id", "tenant", key=("id",)),
        dataset(LINES, "order", "tenant", key=("order", "tenant")),
    ]
    assert unique_columns(datasets) == {ColumnId(ORDERS, "id")}


def test_a_key_outside_the_schema_is_ignored() -> None:
    assert unique_columns([dataset(ORDERS, "id", key=("number",))]) == frozenset()
    assert unique_columns([dataset(ORDERS, "id", key=("id", "number"))]) == frozenset()


def test_parts_of_a_composite_key_are_numbered() -> None:
    key = ForeignKey(name="fk_order", pairs=(TENANT, ORDER))
    assert declared_pairs([dataset(ORDERS, "id", "tenant"), lines(key)]) == {
        TENANT: "fk_order (part 1 of 2)",
        ORDER: "fk_order (part 2 of 2)",
    }


def test_a_whole_key_names_a_pair_before_a_part_of_another() -> None:
    part = ForeignKey(name="a_wide", pairs=(TENANT, ORDER))
    whole = ForeignKey(name="b_narrow", pairs=(ORDER,))
    declared = declared_pairs([dataset(ORDERS, "id", "tenant"), lines(part, whole)])
    assert declared == {ORDER: "b_narrow", TENANT: "a_wide (part 1 of 2)"}


def test_a_key_without_a_name_still_declares_its_pair() -> None:
    key = ForeignKey(name="", pairs=(ORDER,))
    assert declared_pairs([dataset(ORDERS, "id"), lines(key)]) == {ORDER: "without a name"}


def test_a_key_to_an_unknown_column_is_ignored() -> None:
    key = ForeignKey(name="fk_order", pairs=(ORDER,))
    assert declared_pairs([lines(key)]) == {}
    assert declared_pairs([dataset(ORDERS, "number"), lines(key)]) == {}


def test_a_composite_key_with_an_unknown_part_is_ignored() -> None:
    key = ForeignKey(name="fk_order", pairs=(TENANT, ORDER))
    assert declared_pairs([dataset(ORDERS, "id"), lines(key)]) == {}


def test_a_table_may_refer_to_itself_and_a_column_may_not() -> None:
    parent = pair_of(ColumnId(ORDERS, "id"), ColumnId(ORDERS, "parent"))
    tenant = ColumnId(ORDERS, "tenant")
    key = ForeignKey(name="fk_parent", pairs=((tenant, tenant), parent))
    datasets = [dataset(ORDERS, "id", "parent", "tenant", keys=(key,))]
    assert declared_pairs(datasets) == {parent: "fk_parent (part 2 of 2)"}
