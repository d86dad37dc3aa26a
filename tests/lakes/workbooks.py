"""Write small Excel workbooks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"

Cell = str | float | None
Rows = Sequence[Sequence[Cell]]


def write_workbook(path: Path, sheets: Mapping[str, Rows]) -> Path:
    """Write rows into the sheets of a workbook.

    None leaves a cell empty.
    """
    names = "".join(
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="rId{at}"/>'
        for at, name in enumerate(sheets, 1)
    )
    relations = "".join(
        f'<Relationship Id="rId{at}" Type="{_DOCUMENT}/worksheet" Target="worksheets/{at}.xml"/>'
        for at in range(1, len(sheets) + 1)
    )
    with ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{_TYPES}"/>')
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
            f'Type="{_DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}"><sheets>{names}</sheets></workbook>',
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>',
        )
        for at, rows in enumerate(sheets.values(), 1):
            content = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
            file.writestr(
                f"xl/worksheets/{at}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>{content}</sheetData></worksheet>',
            )
    return path


def _cell(value: Cell) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"
