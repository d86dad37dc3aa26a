"""Run Microsoft's SemPy, which suggests many-to-one relationships between tables.

Its dependencies conflict with ours, so another interpreter runs it.
"""

import csv
import io
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_SCRIPT = """
import csv, logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from pathlib import Path
import pandas as pd
from sempy.relationships import find_relationships
tables = {}
for path in sorted(Path(sys.argv[1]).glob("*.csv")):
    try:
        tables[path.stem] = pd.read_csv(path)
    except (ValueError, UnicodeDecodeError):
        continue
found = find_relationships(tables)
columns = ["From Table", "From Column", "To Table", "To Column"]
found[columns].to_csv(sys.argv[2], index=False)
"""


def find_relationships(folder: Path, python: Path) -> list[tuple[ColumnName, ColumnName]]:
    """Run SemPy with its default thresholds, and return the relationships.

    Args:
        folder: A folder of CSV files.
        python: An interpreter with the package `semantic-link-sempy`.

    Returns:
        The referring and the referenced column of each relationship.
    """
    with TemporaryDirectory() as temporary:
        output = Path(temporary) / "relationships.csv"
        subprocess.run([python, "-c", _SCRIPT, folder, output], check=True)
        # Version 0.14.3 calls the table that refers "To", and the table with the key "From".
        rows = csv.DictReader(io.StringIO(output.read_text(encoding="utf-8")))
        return [
            (
                ColumnName(row["To Table"], row["To Column"]),
                ColumnName(row["From Table"], row["From Column"]),
            )
            for row in rows
        ]
