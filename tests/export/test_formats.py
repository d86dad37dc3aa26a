"""Test each export format against a file that people have reviewed."""

import os
from collections import Counter
from pathlib import Path

import pytest

from datahub_hyperjoin.export import (
    DeclaredColumns,
    ExportFormat,
    export_joins,
    precede_with_checksum,
)
from datahub_hyperjoin.export.errors import NoSafeJoinError
from datahub_hyperjoin.graphql import catalog_join
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role
from datahub_hyperjoin.joins.semantic_layers import LeftOut
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed

GOLDEN = Path(__file__).parent / "golden"
LEFT_OUT = {
    ExportFormat.DBT_TESTS: {LeftOut.COMPOSITE: 1},
    ExportFormat.METRICFLOW: {LeftOut.COMPOSITE: 1, LeftOut.SELF_REFERENCE: 1},
    ExportFormat.DATABRICKS_CONSTRAINTS: {LeftOut.SECOND_KEY: 3},
}


@pytest.mark.parametrize("export_format", ExportFormat, ids=lambda each: each.value)
def test_a_format_writes_what_was_reviewed(
    joins: list[Join], declared: DeclaredColumns, export_format: ExportFormat
) -> None:
    exported = export_joins(joins, export_format, declared=declared)
    shown, file = (
        precede_with_checksum(exported, export_format),
        GOLDEN / f"{export_format.value}.txt",
    )
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        file.write_text(shown, "utf-8")
    assert shown == file.read_text("utf-8")
    assert exported.left_out == LEFT_OUT.get(export_format, {})
    assert exported.joins == len(joins) - exported.left_out.total()


@pytest.mark.parametrize("export_format", ExportFormat, ids=lambda each: each.value)
def test_the_order_of_the_joins_and_what_is_left_out_change_nothing(
    joins: list[Join], export_format: ExportFormat
) -> None:
    sibling = changed(joins[0], role=Role.SIBLING, referenced=None, urn="urn:2")
    some = export_joins(joins, export_format)
    more = export_joins([sibling, *joins[::-1]], export_format)
    assert more.text == some.text
    assert more.left_out == some.left_out + Counter({LeftOut.WITHOUT_KEY: 1})


def test_a_join_of_a_run_is_exported_without_a_server() -> None:
    left, right = (ColumnId(TableId("file", f"{name}.csv"), "id") for name in ("a", "b"))
    join = Join(
        left=left,
        right=right,
        joinability=0.9,
        evidence=Evidence(
            shared=3,
            left_containment=1.0,
            right_containment=1.0,
            cardinality=Cardinality.MANY_ONE,
            left_fan_out=1.0,
            right_fan_out=2.0,
        ),
        role=Role.REFERENCE,
        referenced=right,
    )
    exported = export_joins([catalog_join(join)], ExportFormat.MERMAID)
    assert exported.text.splitlines()[-1] == '    t_a }o--|| t_b : "id = id"'


def test_without_a_safe_join_nothing_is_written(reference: Join) -> None:
    unsafe = changed(reference, cardinality=Cardinality.MANY_MANY)
    with pytest.raises(
        NoSafeJoinError,
        match=r"^no safe join is known to export as dbml. Left out: 1 to values that repeat. "
        r"List the joins with `hyperjoin joins --dataset`, and accept those "
        r"that lead to a key$",
    ):
        export_joins([unsafe], ExportFormat.DBML)
    with pytest.raises(NoSafeJoinError, match=r"as dbml. List the joins"):
        export_joins([], ExportFormat.DBML)
