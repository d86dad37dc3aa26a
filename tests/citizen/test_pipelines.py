"""Several pipelines write to one catalog, and pipelines get new names."""

from datahub.metadata.schema_classes import StructuredPropertiesClass
from quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

from datahub_hyperjoin.urns import JOINABLE_WITH, column_urn, property_urn
from gms import Gms
from lake import column

NAMESPACE = "io.datahub.hyperjoin"


def beside(gms: Gms, path: str) -> set[object]:
    """The columns that a person sees as joinable with a column."""
    found = gms.get(column_urn(column(path)), StructuredPropertiesClass)
    wanted = property_urn(NAMESPACE, JOINABLE_WITH)
    given = found.properties if found else []
    return {value for one in given for value in one.values if one.propertyUrn == wanted}


def test_a_deletion_holds_for_a_pipeline_of_another_name(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    gms.delete(urn_of(PLANE))
    report = quick(ALL, pipeline="renamed")
    assert shown(gms) == {CARRIER, ORIGIN}
    assert list(report.deleted_suggestions) == ["flights.csv.tailnum = planes.csv.tailnum"]
    quick(ALL, pipeline="renamed again")
    assert shown(gms) == {CARRIER, ORIGIN}


def test_two_pipelines_do_not_undo_each_other(gms: Gms, quick: Runs) -> None:
    quick(ALL, pipeline="first")
    quick([CARRIER, PLANE], pipeline="second")
    quick([CARRIER], pipeline="second")  # what the first one still finds stays
    assert shown(gms) == set(ALL)
    assert beside(gms, "planes.csv.tailnum") == {column_urn(column("flights.csv.tailnum"))}
    quick(ALL, pipeline="first")
    quick([CARRIER], pipeline="first")
    assert shown(gms) == {CARRIER}
    quick(ALL, pipeline="second")  # what only a run took back is no person's decision
    assert shown(gms) == set(ALL)
    assert not quick.reports[-1].joins_rejected
