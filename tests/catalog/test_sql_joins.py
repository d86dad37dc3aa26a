import pytest

from datahub_hyperjoin.catalog.usage import TableLookup, list_joined_pairs
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of

COLUMNS = {
    "orders": ["id", "customer_id", "region", "placed", "address.city"],
    "customers": ["id", "region", "referrer_id", "Since"],
    "lines": ["order_id", "sku", "region"],
}


def lookup(platform: str = "postgres", prefix: str = "shop.public.") -> TableLookup:
    return TableLookup({TableId(platform, prefix + name): paths for name, paths in COLUMNS.items()})


def pair(one: str, other: str, *, platform: str = "postgres", prefix: str = "shop.public.") -> Pair:
    ends = []
    for end in (one, other):
        table, _, path = end.partition(".")
        ends.append(ColumnId(TableId(platform, prefix + table), path))
    return pair_of(*ends)


ON_CUSTOMER = pair("orders.customer_id", "customers.id")
ON_REGION = pair("orders.region", "customers.region")
ON_LINE = pair("lines.order_id", "orders.id")


def joins(
    statement: str,
    *,
    platform: str = "postgres",
    tables: TableLookup | None = None,
    subjects: frozenset[TableId] = frozenset(),
) -> set[Pair] | None:
    found = list_joined_pairs(
        statement, platform=platform, tables=tables or lookup(platform), subjects=subjects
    )
    return None if found is None else set(found)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM orders o JOIN customers c ON o.customer_id = c.id",
        "SELECT 1 FROM shop.public.orders AS o LEFT JOIN public.customers c ON c.id = customer_id",
        "SELECT placed FROM orders JOIN customers ON customer_id = customers.id",
        "SELECT 1 FROM orders o, customers c WHERE o.customer_id = c.id AND o.region = 'north'",
        "SELECT 1 FROM orders CROSS JOIN customers c WHERE (placed > since AND customer_id = c.id)",
        "SELECT * FROM orders WHERE customer_id IN (SELECT id FROM customers)",
        "SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE id = o.customer_id)",
        "SELECT 1 FROM orders JOIN customers c ON customer_id::text = lower(c.id) AND since = 'x'",
        "CREATE TABLE wide AS SELECT o.id FROM orders o JOIN customers c ON o.customer_id = c.id",
        "INSERT INTO wide SELECT o.id FROM orders o JOIN customers c ON o.customer_id = c.id",
        "SELECT * FROM orders o JOIN (SELECT id AS who FROM customers) c ON o.customer_id = c.who",
        "SELECT 1 FROM orders JOIN customers c ON customer_id = c.id JOIN now() f ON true",
        "SELECT 1 FROM orders o JOIN customers c ON o.customer_id = c.id UNION ALL SELECT 2",
    ],
)
def test_a_join_is_found(statement: str) -> None:
    assert joins(statement) == {ON_CUSTOMER}


def test_each_part_of_a_composite_key_is_a_pair() -> None:
    plain = (
        "SELECT 1 FROM orders o JOIN customers c ON o.customer_id = c.id AND o.region = c.region"
    )
    assert joins(plain) == {ON_CUSTOMER, ON_REGION}
    renamed = (
        "WITH c AS (SELECT id AS who, region AS area FROM customers) "
        "SELECT * FROM orders o JOIN c ON region = area AND who = o.customer_id"
    )
    assert joins(renamed) == {ON_CUSTOMER, ON_REGION}


def test_columns_may_be_joined_by_using() -> None:
    on_id = pair("orders.id", "customers.id")
    assert joins("SELECT * FROM orders JOIN customers USING (id)") == {on_id}
    assert joins("SELECT * FROM orders JOIN customers USING (id, region)") == {on_id, ON_REGION}


def test_several_joins_of_a_statement_are_found() -> None:
    statement = (
        "WITH big AS (SELECT o.id, o.customer_id FROM orders o JOIN lines l ON l.order_id = o.id) "
        "SELECT * FROM big JOIN customers c ON big.customer_id = c.id"
    )
    assert joins(statement) == {ON_LINE, ON_CUSTOMER}


def test_a_common_table_expression_hides_the_table_of_its_name() -> None:
    refined = "WITH orders AS (SELECT id, customer_id AS region FROM orders) "
    statement = "SELECT * FROM orders JOIN customers ON orders.region = customers.id"
    assert joins(refined + statement) == {ON_CUSTOMER}
    made = "WITH orders AS (SELECT 1 AS customer_id) "
    statement = "SELECT * FROM orders JOIN customers ON orders.customer_id = customers.id"
    assert joins(made + statement) == set()


def test_columns_may_be_named_in_full() -> None:
    statement = (
        "SELECT 1 FROM public.orders JOIN shop.public.customers "
        "ON public.orders.customer_id = shop.public.customers.id"
    )
    assert joins(statement) == {ON_CUSTOMER}


def test_a_table_may_be_joined_with_itself() -> None:
    statement = "SELECT * FROM customers a JOIN customers b ON a.referrer_id = b.id"
    assert joins(statement) == {pair("customers.referrer_id", "customers.id")}
    assert joins("SELECT * FROM customers a JOIN customers b ON a.id = b.id") == set()


@pytest.mark.parametrize(
    "condition",
    [
        "o.placed > c.since",
        "o.customer_id = c.id OR o.region = c.region",
        "o.id + o.customer_id = c.id",
        "o.customer_id = 7",
        "o.customer_id = c.unheard_of",
    ],
)
def test_other_conditions_are_no_joins(condition: str) -> None:
    ways = (
        "SELECT 1 FROM orders o JOIN customers c ON",
        "SELECT 1 FROM orders o, customers c WHERE",
    )
    for way in ways:
        assert joins(f"{way} {condition}") == set()


def test_unknown_tables_join_nothing() -> None:
    assert joins("SELECT * FROM orders o JOIN elsewhere e ON o.id = e.id") == set()
    other = "SELECT * FROM other.orders o JOIN other.customers c ON o.customer_id = c.id"
    assert joins(other) == set()


@pytest.mark.parametrize(
    ("platform", "prefix", "statement"),
    [
        (
            "snowflake",
            "shop.public.",
            "SELECT * FROM SHOP.PUBLIC.ORDERS o JOIN CUSTOMERS C ON o.CUSTOMER_ID = c.Id",
        ),
        (
            "snowflake",
            "prod.SHOP.PUBLIC.",
            'SELECT * FROM "SHOP".PUBLIC."orders" o JOIN customers c ON o."customer_id" = c.id',
        ),
        (
            "mysql",
            "shop.",
            "SELECT * FROM `shop`.`orders` STRAIGHT_JOIN `customers` c ON `customer_id` = c.`id`",
        ),
        (
            "bigquery",
            "project-1.shop.",
            "SELECT * FROM `project-1.shop.orders` o JOIN shop.customers c ON o.customer_id = c.id",
        ),
        (
            "mssql",
            "shop.dbo.",
            "SELECT TOP 5 1 FROM shop.[dbo].[Orders] JOIN dbo.Customers c ON [Customer_ID] = c.ID",
        ),
        (
            "iceberg",
            "shop.",
            "SELECT * FROM shop.orders o JOIN shop.customers c ON o.customer_id = c.id",
        ),
        (
            "hive",
            "shop.",
            "SELECT * FROM spark_catalog.shop.orders JOIN shop.customers c ON customer_id = c.id",
        ),
    ],
)
def test_dialects_write_names_differently(platform: str, prefix: str, statement: str) -> None:
    expected = pair("orders.customer_id", "customers.id", platform=platform, prefix=prefix)
    assert joins(statement, platform=platform, tables=lookup(platform, prefix)) == {expected}


def test_columns_have_the_catalogs_spelling() -> None:
    statement = "SELECT * FROM orders o JOIN customers c ON o.placed = c.SINCE"
    for platform in ("postgres", "snowflake"):
        expected = pair("orders.placed", "customers.Since", platform=platform)
        assert joins(statement, platform=platform) == {expected}


def test_subjects_decide_between_tables_of_one_name() -> None:
    orders = [TableId("postgres", f"{schema}.orders") for schema in ("shop.public", "old.public")]
    customers = TableId("postgres", "shop.public.customers")
    tables = TableLookup({table: ["id", "customer_id"] for table in [*orders, customers]})
    statement = "SELECT * FROM orders o JOIN customers c ON o.customer_id = c.id"
    assert joins(statement, tables=tables) == set()
    expected = pair_of(ColumnId(orders[1], "customer_id"), ColumnId(customers, "id"))
    assert joins(statement, tables=tables, subjects=frozenset([orders[1]])) == {expected}


def test_an_exact_name_precedes_one_of_another_case() -> None:
    lower, upper = (TableId("postgres", f"shop.public.{name}") for name in ("orders", "ORDERS"))
    tables = TableLookup({lower: ["id"], upper: ["id", "ID", "Id"]})
    statement = 'SELECT * FROM orders o JOIN "ORDERS" p ON o.id = p.id'
    expected = pair_of(ColumnId(lower, "id"), ColumnId(upper, "id"))
    assert joins(statement, tables=tables) == {expected}


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "SELECT foo(",
        "not SQL at all",
        "SELECT * FROM orders o JOIN {{ ref('customers') }} c ON 1",
        "VACUUM orders",
        "(" * 3_000,
    ],
)
def test_other_text_cannot_be_parsed(statement: str) -> None:
    assert joins(statement) is None
