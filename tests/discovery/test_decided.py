"""Test that people can decide about a result's joins, and that later runs keep the decisions."""

import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pandas as pd
import pytest
from datahub.ingestion.run.pipeline import Pipeline

from datahub_hyperjoin import FoundJoins, find_joins
from datahub_hyperjoin.decision_file import WrittenDecision, read_decision_file
from datahub_hyperjoin.discovery.errors import UnknownTableError
from datahub_hyperjoin.errors import FaultyDecisionsError
from datahub_hyperjoin.explain.errors import UnknownColumnError
from datahub_hyperjoin.joins import Join, Verdict
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.tables import ColumnId, TableId

HEADER = "left_table,left_column,right_table,right_column,decision,by,reason\n"
TIMED = HEADER.replace("\n", ",when\n")
CUSTOMER = "customers.csv,id,orders.csv,customer"
REGION = "customers.csv,region,regions.csv,code"

pytestmark = pytest.mark.usefixtures("without_spark")


def to_customers(found: FoundJoins) -> Join:
    return next(join for join in found if "customer" in str(join.referring))


def names(found: FoundJoins) -> list[str]:
    return [str(join.referring) for join in found]


def read(file: Path) -> str:
    """Read a file of decisions, with `now` for the times of today."""
    today = datetime.now(timezone.utc).date().isoformat()
    return re.sub(rf"{today}T\d\d:\d\d:\d\d\+00:00", "now", file.read_text())


def ingest(folder: Path, file: Path) -> HyperJoinReport:
    recipe = {
        "source": {
            "type": "hyperjoin",
            "config": {"catalog": {"folder": str(folder)}, "decisions": str(file)},
        },
        "sink": {"type": "file", "config": {"filename": str(folder.parent / "out.json")}},
    }
    pipeline = Pipeline.create(recipe)
    pipeline.run()
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    assert not report.failures
    return report


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_later_runs_keep_to_what_is_written(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    found = find_joins(folder, decisions=file, sql=False)
    shown = found._repr_html_()
    join = to_customers(found)
    found.reject(join, by="Ann", reason="old, and odd")
    [region] = [each for each in found if each is not join]
    found.accept(region)
    assert read(file) == (
        f'{TIMED}{CUSTOMER},rejected,Ann,"old, and odd",now\n{REGION},accepted,,,now\n'
    )
    assert len(found) == 2
    assert found._repr_html_() == shown
    assert '"old, and odd"' in found.to_html()

    report = ingest(folder, file)
    assert (report.joins_accepted, report.joins_rejected) == (1, 1)
    again = find_joins(folder, decisions=str(file), sql=False)
    assert names(again) == ["customers.csv.region"]
    assert again.joins[0].catalog.verdict is Verdict.ACCEPTED

    # No run finds a rejected join, but its decision can be undone.
    again.undo(next(each for each in again.decisions if each.verdict is Verdict.REJECTED))
    again.undo(again.joins[0])
    assert read(file) == TIMED
    assert sorted(names(find_joins(folder, decisions=file, sql=False))) == sorted(names(found))


def test_without_a_file_the_result_keeps_decisions(frames: dict[str, pd.DataFrame]) -> None:
    found = find_joins(frames, sql=False)
    join = to_customers(found)
    found.accept(join)
    found.reject(join)
    [decision] = found.decisions
    assert replace(decision, when="") == WrittenDecision(
        left_table="customers",
        left_columns=("id",),
        right_table="orders",
        right_columns=("customer",),
        verdict=Verdict.REJECTED,
    )
    assert '"rejected"' in found.to_html()
    unknown = replace(decision, left_table="gone")
    later = find_joins(frames, sql=False, decisions=[decision, unknown])
    assert names(later) == ["customers.region"]
    assert [each.context.partition(".")[0] for each in later.warnings] == ["decision 2: gone"]
    later.undo(unknown)
    assert [replace(each, place="") for each in later.decisions] == [decision]
    assert [each.words for each in later.undo(decision)] == ["rejected"]
    assert later.undo(decision) == ()
    assert later.decisions == ()


def test_a_decision_replaces_those_in_the_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    others = "x.csv,a,y.csv,b,rejected,Bo,\n", f"{REGION},accepted,,\n"
    found = find_joins(folder, decisions=file, sql=False)
    # People have changed the file since the run; the second line has the sides swapped.
    urn = '"urn:li:dataset:(urn:li:dataPlatform:file,orders.csv,PROD)"'
    swapped = f"{urn},customer,customers.csv,id,accepted,Cy,sure\n"
    file.write_text(f"{HEADER}{others[0]}{swapped}{others[1]}{CUSTOMER},rejected,,\n")
    found.accept(to_customers(found), by="Di")
    kept = [line.replace("\n", ",\n") for line in others]
    assert read(file) == f"{TIMED}{kept[0]}{CUSTOMER},accepted,Di,,now\n{kept[1]}"
    [undone] = found.undo(to_customers(found))
    assert undone.words == "accepted by Di"
    assert read(file) == TIMED + "".join(kept)
    file.write_text("left,right\n")
    with pytest.raises(FaultyDecisionsError, match="unknown column `left`"):
        found.accept(to_customers(found))
    assert file.read_text() == "left,right\n"


def test_columns_are_found_in_any_case(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "decisions.csv"
    file.write_text(f"{HEADER}customers.csv,ID,orders.csv,CUSTOMER,rejected,Bo,\n")
    found = find_joins(folder, sql=False)
    join = to_customers(found)
    found.file = file
    loud = replace(join, left=replace(join.left, path=join.left.path.upper()))
    found.accept(loud, by="Di")
    assert read(file) == f"{TIMED}{CUSTOMER},accepted,Di,,now\n"
    wrong = replace(join, left=replace(join.left, path="idd"))
    with pytest.raises(UnknownColumnError, match=r"has no column 'idd'\. Did you mean 'id'\?"):
        found.reject(wrong)
    assert len(found.undo(loud)) == 1


def test_a_composite_key_is_decided_as_a_whole(tmp_path: Path) -> None:
    keys = [(f"{org}{at}", year) for at in range(40) for org in "AB" for year in range(2000, 2006)]
    amounts = pd.DataFrame(keys, columns=["org", "year"]).assign(amount=range(len(keys)))
    staff = pd.DataFrame(keys, columns=["org", "year"]).assign(people=range(500, 500 + len(keys)))
    frames = {"amounts": amounts, "staff": staff}
    found = find_joins(frames, sql=False, decisions=tmp_path / "d.json")
    composite = next(join for join in found if join.further)
    found.reject(composite)
    [decision] = read_decision_file(tmp_path / "d.json")
    assert sorted(decision.left_columns) == ["org", "year"]
    later = find_joins(frames, sql=False, decisions=tmp_path / "d.json")
    assert not [join for join in later if join.further]
    later.undo(composite)
    assert read_decision_file(tmp_path / "d.json") == ()


def test_a_join_of_another_run_is_refused(frames: dict[str, pd.DataFrame]) -> None:
    found = find_joins(frames, sql=False)
    other = ColumnId(TableId("dataframe", "order"), "id")
    with pytest.raises(
        UnknownTableError, match=r"no table is named 'order'\. Did you mean 'orders'"
    ):
        found.accept(replace(to_customers(found), left=other))
