"""What people deleted stays away even if the record of earlier runs is lost."""

from quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

from gms import Gms


def forget(gms: Gms) -> None:
    """Lose the checkpoints of all pipelines."""
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
