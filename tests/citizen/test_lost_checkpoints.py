"""Test that joins deleted by people do not come back, even if all checkpoints are lost."""

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    StructuredPropertiesClass,
)

from datahub_hyperjoin.metadata.urns import DELETED_JOINS, property_urn
from gms import Gms
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of


def forget(gms: Gms) -> None:
    """Delete the checkpoints of all pipelines."""
    for job in gms.urns("dataJob"):
        gms.delete(job)


def test_a_deletion_holds_without_checkpoints(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    gms.delete(urn_of(PLANE))
    quick(ALL)
    forget(gms)
    quick(ALL)
    assert shown(gms) == {CARRIER, ORIGIN}


def test_a_deletion_that_no_run_has_seen_holds_without_checkpoints(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    gms.delete(urn_of(PLANE))
    forget(gms)
    quick(ALL)
    assert shown(gms) == {CARRIER, ORIGIN}


def test_a_deletion_that_is_undone_is_no_longer_listed(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    restored = gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass)
    assert restored is not None
    gms.delete(urn_of(PLANE))
    quick(ALL)
    (holder,) = listing(gms)
    gms.put(urn_of(PLANE), restored)
    quick(ALL)
    assert listing(gms) == []
    assert gms.get(holder, StructuredPropertiesClass)
    assert shown(gms) == set(ALL)


HIDE = "mutation($urns: [String!]!) { batchUpdateSoftDeleted(input: {urns: $urns, deleted: true}) }"


def test_what_a_run_withdrew_comes_back_without_checkpoints(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    quick([CARRIER, ORIGIN])
    forget(gms)
    quick([CARRIER, ORIGIN])
    assert shown(gms) == {CARRIER, ORIGIN}
    forget(gms)
    report = quick(ALL)
    assert shown(gms) == set(ALL)
    assert (report.joins_rejected, listing(gms)) == (0, [])


def test_what_a_run_withdrew_is_told_from_what_a_person_hid(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    quick([CARRIER, ORIGIN])
    quick(ALL)
    gms.graphql(HIDE, urns=[urn_of(PLANE)])
    forget(gms)
    quick(ALL)
    assert shown(gms) == {CARRIER, ORIGIN}


def test_the_mark_of_a_withdrawal_goes_with_it(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    before = gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass)
    quick([CARRIER, ORIGIN])
    hidden = gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass)
    assert hidden is not None
    assert hidden.customProperties["withdrawn_by"] == "run 2"
    quick(ALL)
    assert gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass) == before


def listing(gms: Gms) -> list[str]:
    """Return the URNs of the columns whose metadata lists deleted joins."""
    wanted = property_urn("io.datahub.hyperjoin", DELETED_JOINS)
    held = {urn: gms.get(urn, StructuredPropertiesClass) for urn in gms.urns("schemaField")}
    return [
        urn
        for urn, found in held.items()
        if wanted in {one.propertyUrn for one in (found.properties if found else [])}
    ]
