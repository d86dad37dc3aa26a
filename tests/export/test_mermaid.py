"""Test that each line of an exported diagram is valid Mermaid."""

import re

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join, RowCounts
from datahub_hyperjoin.tables import ColumnId
from lakes.chains import changed

LINES = (
    r"erDiagram",
    r"    \w+ \{",
    r"        [a-z]+ [a-z]\w*( (PK|FK|UK)(, (FK|UK))*)?( \"[^\"]+\")?",
    r"    \}",
    r"    \w+ [|}]o--(\|\||o\|) \w+ : \"[^\"]+\"",
)


def test_each_line_has_a_form_of_the_language(joins: list[Join], declared: DeclaredColumns) -> None:
    text = export_joins(joins, ExportFormat.MERMAID, declared=declared).text
    assert [
        line for line in text.splitlines() if not any(re.fullmatch(form, line) for form in LINES)
    ] == []
    assert sum("--" in line for line in text.splitlines()) == len(joins)
    assert '    orders }o--o| customers : "payer = id"' in text.splitlines()
    assert '    addresses |o--o| customers : "customer_code = code"' in text.splitlines()


def test_rows_without_a_value_refer_to_no_row(reference: Join) -> None:
    counts = RowCounts(total=10, filled=9, matched=9)
    for join, end in ((reference, "||"), (changed(reference, left_counts=counts), "o|")):
        text = export_joins([join], ExportFormat.MERMAID).text
        assert f"orders }}o--{end} customers" in text


def test_names_with_other_characters_are_comments(reference: Join) -> None:
    odd = ColumnId(reference.right.table, 'Kunden-"Nr"')
    join = changed(reference, pairs=((reference.left, odd),), referenced=odd)
    lines = export_joins([join], ExportFormat.MERMAID).text.splitlines()
    written = "Kunden-#quot;Nr#quot;"
    assert f'        unknown kunden_nr PK "{written}"' in lines
    assert lines[-1] == f'    orders }}o--|| customers : "customer = {written}"'
