"""Test that tables and columns keep the spelling that DataHub's own connectors gave them."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    DataPlatformInstanceClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    StatusClass,
    TagAssociationClass,
)

from datahub_hyperjoin.metadata.relationships import columns_urn
from datahub_hyperjoin.metadata.urns import REJECTED, column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from engines.servers import Server, serving
from gms import Gms
from lakes.lake import describe

COLUMNS = {
    "Customer": ("CustomerId", "Name"),
    "SalesOrder": ("OrderId", "customerID", "total"),
    "Region": ("Region", "Manager"),
}
LAYERS = dict.fromkeys(("queries", "documents", "lineage", "glossary_terms"), True)
STATELESS = {"enabled": False}
Run = Callable[..., str]


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        yield server


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as found:
        rows: dict[str, Sequence[tuple[object, ...]]] = {
            "Customer": [(at, f"'name {at} {at * 7919}'") for at in range(7001, 7101)],
            "SalesOrder": [(at, 7001 + at * 37 % 100, at * 13 % 500) for at in range(1, 301)],
            "Region": [(f"'R{at}'", 7001 + at * 3) for at in range(30)],
        }
        for table, columns in COLUMNS.items():
            types = ("VARCHAR(30)" if isinstance(each, str) else "INT" for each in rows[table][0])
            listed = ", ".join(
                f"{found.quote(column)} {kind}" for column, kind in zip(columns, types, strict=True)
            )
            found.run(f"CREATE TABLE {found.quote(table)} ({listed})")
            values = ", ".join(f"({', '.join(map(str, row))})" for row in rows[table])
            found.run(f"INSERT INTO {found.quote(table)} VALUES {values}")
        customer = found.quote("Customer")
        found.run(f"ALTER TABLE {customer} ADD PRIMARY KEY ({found.quote('CustomerId')})")
        yield found


def name_of(server: Server, table: str) -> TableId:
    """Return the table as DataHub's connector names it."""
    if server.kind == "postgresql":
        return TableId("postgres", f"test.{server.schema}.{table}")
    return TableId("mariadb", f"{server.schema}.{table}")


def describe_all(
    gms: Gms, server: Server, spell: Callable[[str], str], columns: Callable[[str], str] = str
) -> dict[str, TableId]:
    """Put all tables into the catalog, with their names spelled by `spell`."""
    tables = {}
    for table, own in COLUMNS.items():
        named = name_of(server, table)
        tables[table] = TableId(named.platform, spell(named.name))
        describe(gms, tables[table].name, map(columns, own), platform=named.platform)
    return tables


def connection(server: Server, **config: object) -> list[dict[str, object]]:
    schemas = {"allow": [f"^{re.escape(server.schema)}$"]}
    return [{"database": {"url": server.url}, "schemas": schemas, **config}]


def joined(gms: Gms) -> set[frozenset[str]]:
    """Return the ends of all visible relationships, as URNs of columns."""
    found = set()
    for urn in gms.urns("erModelRelationship"):
        aspect, status = gms.get(urn, ERModelRelationshipPropertiesClass), gms.get(urn, StatusClass)
        if aspect and not (status and status.removed):
            for mapping in aspect.relationshipFieldMappings:
                ends = (
                    (aspect.source, mapping.sourceField),
                    (aspect.destination, mapping.destinationField),
                )
                found.add(
                    frozenset(f"urn:li:schemaField:({dataset},{path})" for dataset, path in ends)
                )
    return found


def unfolded(output: str) -> str:
    """Return the output of a run with its texts in one line each, as they were before printing."""
    return re.sub(r"""['"]\s*\n\s*['"]""", "", output)


def written(gms: Gms, start: int = 0) -> set[str]:
    kinds = {"dataset", "schemaField"}
    return {each.urn for each in gms.writes[start:] if each.entity in kinds and each.by != "other"}


@pytest.mark.parametrize(
    ("spell", "columns"),
    [(str.lower, str), (str.lower, str.lower), (str.upper, str.upper)],
    ids=["lower", "lower columns", "capitals"],
)
def test_all_that_is_written_has_the_spelling_of_the_catalog(
    gms: Gms,
    server: Server,
    run: Run,
    spell: Callable[[str], str],
    columns: Callable[[str], str],
) -> None:
    tables = describe_all(gms, server, spell, columns)
    begin = len(gms.writes)
    config = {"catalog": {}, "connections": connection(server), "emit": LAYERS}
    run(gms, "--no-default-report", **config)
    customer = ColumnId(tables["Customer"], columns("CustomerId"))
    order = ColumnId(tables["SalesOrder"], columns("customerID"))
    reference = frozenset(map(column_urn, (customer, order)))
    assert reference in joined(gms)
    known = set(map(dataset_urn, tables.values()))
    known |= {
        column_urn(ColumnId(tables[table], columns(path)))
        for table, paths in COLUMNS.items()
        for path in paths
    }
    ours = written(gms, begin)
    assert ours
    assert ours <= known
    text = "".join(str(write.body) for write in gms.writes[begin:])
    assert dataset_urn(name_of(server, "Customer")) not in text

    before = len(gms.writes)
    run(gms, "--no-default-report", **config)
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


def test_decisions_hold_in_the_spelling_of_the_catalog_and_of_the_database(
    gms: Gms, server: Server, run: Run, tmp_path: Path
) -> None:
    tables = describe_all(gms, server, str.lower, str.lower)
    state = {"enabled": True, "fail_safe_threshold": 100}  # the rejected join is the only one
    config = {"catalog": {}, "connections": connection(server), "stateful_ingestion": state}
    run(gms, "--no-default-report", **config)
    customer = ColumnId(tables["Customer"], "customerid")
    order = ColumnId(tables["SalesOrder"], "customerid")
    reference = frozenset(map(column_urn, (customer, order)))
    assert reference in joined(gms)
    urn = columns_urn([(customer, order)])
    gms.put(urn, GlobalTagsClass(tags=[TagAssociationClass(tag=REJECTED)]))
    run(gms, "--no-default-report", **config)
    assert reference not in joined(gms)
    gms.put(urn, GlobalTagsClass(tags=[]))
    file = tmp_path / "decisions.csv"
    names = [name_of(server, table).name for table in ("Customer", "SalesOrder")]
    file.write_text(
        "left_table,left_column,right_table,right_column,decision\n"
        f"{names[0]},CustomerId,{names[1]},customerID,rejected\n"
    )
    output = run(gms, "--no-default-report", **config, decisions=str(file))
    assert reference not in joined(gms)
    assert "Decision about an unknown" not in output


def test_the_same_spelling_comes_first_and_two_are_not_guessed(
    gms: Gms, server: Server, run: Run
) -> None:
    tables = describe_all(gms, server, str)
    for spell in (str.lower, str.upper):
        lower = name_of(server, "Customer")
        describe(gms, spell(lower.name), ["CustomerId", "Name"], platform=lower.platform)
    begin = len(gms.writes)
    config = {"catalog": {}, "connections": connection(server), "stateful_ingestion": STATELESS}
    run(gms, **config)
    assert dataset_urn(tables["Customer"]) in written(gms, begin)
    assert dataset_urn(TableId(lower.platform, lower.name.lower())) not in written(gms, begin)
    gms.put(dataset_urn(tables["Customer"]), StatusClass(removed=True))
    output = run(gms, **config)
    assert "Dataset of a table unclear" in output
    start = f"{lower.name} may be {lower.name.upper()}, {lower.name.lower()}"
    assert start in unfolded(output)


def describe_in(gms: Gms, server: Server, instance: str, tables: Sequence[str], env: str) -> None:
    for table in tables:
        named = name_of(server, table)
        name = f"{instance}.{named.name}".lstrip(".")
        urn = dataset_urn(TableId(named.platform, name, env))
        describe(gms, name, COLUMNS[table], platform=named.platform, env=env)
        if instance:
            platform = f"urn:li:dataPlatform:{named.platform}"
            whole = f"urn:li:dataPlatformInstance:({platform},{instance})"
            gms.put(urn, DataPlatformInstanceClass(platform=platform, instance=whole))


PLACES = {
    "instance": (
        ({}, "north", "PROD"),
        "in the platform instance 'north': set `connections[0].platform_instance: north`",
    ),
    "env": (({}, "", "DEV"), "in env 'DEV': set `connections[0].env: DEV`"),
    "no instance": (
        ({"platform_instance": "south"}, "", "PROD"),
        "without a platform instance: remove `connections[0].platform_instance`",
    ),
    "both": (
        ({}, "north", "DEV"),
        (
            "in the platform instance 'north' in env 'DEV': set "
            "`connections[0].platform_instance: north` and set `connections[0].env: DEV`"
        ),
    ),
}


@pytest.mark.parametrize(("place", "hint"), PLACES.values(), ids=PLACES)
def test_the_place_that_has_the_tables_is_named_with_its_key(
    gms: Gms, server: Server, run: Run, place: tuple[dict[str, str], str, str], hint: str
) -> None:
    config, instance, env = place
    describe_in(gms, server, instance, [*COLUMNS], env)
    recipe = {
        "catalog": {},
        "connections": connection(server, **config),
        "stateful_ingestion": STATELESS,
    }
    output = unfolded(run(gms, fails=True, **recipe))
    assert "DataHub knows none of the tables" in output
    assert hint in output
    # Of a part of the tables, the same is a warning.
    for table in ("SalesOrder", "Region"):
        own = name_of(server, table)
        start = f"{config['platform_instance']}." if config else ""
        describe(gms, f"{start}{own.name}", COLUMNS[table], platform=own.platform)
    output = unfolded(run(gms, **recipe))
    assert "Tables not in the catalog" in output
    assert hint in output
