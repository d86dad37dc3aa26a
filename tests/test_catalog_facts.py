from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys, ForeignKey, declared_pairs
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of

ORDERS, LINES = TableId("postgres", "shop.orders"), TableId("postgres", "shop.lines")
ORDER = ColumnId(LINES, "order"), ColumnId(ORDERS, "id")
TENANT = ColumnId(LINES, "tenant"), ColumnId(ORDERS, "tenant")


def test_a_composite_key_declares_no_pair() -> None:
    key = ForeignKey(name="fk_order", pairs=(TENANT, ORDER))
    assert declared_pairs([key]) == {}
    assert declared_pairs([key, ForeignKey(name="", pairs=(ORDER,))]) == {
        pair_of(*ORDER): "without a name"
    }


def test_a_column_that_refers_to_itself_declares_nothing() -> None:
    assert declared_pairs([ForeignKey(name="fk_self", pairs=((ORDER[0], ORDER[0]),))]) == {}


def test_keys_of_a_database_join_those_of_the_catalog() -> None:
    queried = CatalogEvidence(queries=3)
    facts = CatalogFacts(
        pairs={pair_of(*ORDER): queried},
        keys=DeclaredKeys(
            unique=frozenset([TENANT[1]]),
            foreign=(ForeignKey(name="fk_catalog", pairs=(TENANT, ORDER)),),
        ),
    )
    keys = DeclaredKeys(
        unique=frozenset([ORDER[1]]),
        composite=frozenset([(TENANT[1], ORDER[1])]),
        foreign=(
            ForeignKey(name="fk_database", pairs=(ORDER, TENANT)),
            ForeignKey(name="fk_order", pairs=(ORDER,)),
        ),
    )
    both = facts.declaring(keys)
    assert both.pairs == {pair_of(*ORDER): CatalogEvidence(declared="fk_order", queries=3)}
    assert both.keys.unique == {TENANT[1], ORDER[1]}
    assert both.keys.composite == {(TENANT[1], ORDER[1])}
    # Both declare the composite key, in another order of its columns.
    assert [key.name for key in both.keys.foreign] == ["fk_order", "fk_catalog"]


def test_the_catalogs_name_of_a_key_is_kept() -> None:
    facts = CatalogFacts(pairs={pair_of(*ORDER): CatalogEvidence(declared="fk_catalog")})
    keys = DeclaredKeys(foreign=(ForeignKey(name="fk_database", pairs=(ORDER,)),))
    assert facts.declaring(keys).of(pair_of(*ORDER)).declared == "fk_catalog"
