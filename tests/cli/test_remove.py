"""Delete for good what runs wrote and withdrew, and nothing that people made."""

from click.testing import CliRunner, Result
from datahub.metadata.schema_classes import DatasetPropertiesClass

from datahub_hyperjoin.cli.commands import main
from datahub_hyperjoin.graphql import accept
from datahub_hyperjoin.metadata.urns import ACCEPTED, dataset_urn
from gms import Gms
from lakes.lake import table
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, urn_of

OFF = {"relationships": False, "properties": False, "queries": False}


def remove(*options: str) -> Result:
    done = CliRunner().invoke(main, ["remove", *options])
    assert done.exit_code == 0, done.output
    return done


def left(gms: Gms) -> set[str]:
    """Return the URNs of all that this source may have written."""
    kinds = ("erModelRelationship", "query", "tag", "structuredProperty", "glossaryNode")
    return {urn for kind in kinds for urn in gms.urns(kind)}


def test_after_a_withdrawal_nothing_of_ours_is_left(runs: Runs) -> None:
    before = left(runs.gms)
    runs(ALL)
    runs(ALL, emit=OFF)
    tried = remove()
    assert tried.output.startswith("Would delete relationships: 3, ")
    assert tried.output.endswith(". Add --yes to do so\n")
    assert urn_of(PLANE) in left(runs.gms)
    done = remove("--yes")
    assert "Deleted relationships: 3, " in done.output
    kept = {urn for urn in left(runs.gms) - before if not urn.endswith(("Joins",))}
    assert kept == set()
    assert remove("--yes").output == "Nothing to delete\n"
    assert runs.gms.urns("dataset")


def test_what_people_decided_or_see_stays(runs: Runs) -> None:
    runs(ALL)
    shown = remove("--yes")
    assert "Still shown, and left: " in shown.output
    assert "with all layers off first" in shown.output
    assert "Nothing to delete" in shown.output
    accept(runs.gms.graph(), urn_of(PLANE))
    runs(ALL, emit=OFF)
    done = remove("--yes")
    assert "Relationships left, as people decided: 1" in done.output
    assert {urn_of(PLANE), ACCEPTED} <= left(runs.gms)
    assert left(runs.gms).isdisjoint({urn_of(CARRIER), urn_of(ORIGIN)})
    flights = dataset_urn(table("flights.csv"))
    assert flights in runs.gms.urns("dataset")
    assert runs.gms.get(flights, DatasetPropertiesClass) is None
