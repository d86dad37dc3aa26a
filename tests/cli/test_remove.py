"""Delete for good what runs wrote and withdrew, and nothing that people made."""

from click.testing import CliRunner, Result
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    DocumentationAssociationClass,
    DocumentationClass,
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.cli.commands import main
from datahub_hyperjoin.emit.patches import assign_property
from datahub_hyperjoin.graphql import accept
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    CONFIRMED_JOINS,
    NAMESPACE,
    REJECTED_JOINS,
    column_urn,
    dataset_urn,
    property_urn,
)
from gms import Gms
from lakes.lake import table
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, urn_of

EVERY = {
    **dict.fromkeys(("queries", "documents", "ai_context", "glossary_terms"), True),
    "lineage": "dashed",
    "embed": "http://localhost:8766",
    "watch": "safe",
    "semantic_models": "safe",
}
OFF = {"relationships": False, "properties": False, "queries": False}


def remove(*options: str) -> Result:
    done = CliRunner().invoke(main, ["remove", *options])
    assert done.exit_code == 0, done.output
    return done


def left(gms: Gms) -> set[str]:
    """Return the URNs of all that this source may have written."""
    return {urn for urn, _ in gms.all_aspects()}


def test_after_a_withdrawal_of_every_layer_no_aspect_of_ours_is_left(runs: Runs) -> None:
    before = runs.gms.all_aspects()
    runs(ALL, emit=EVERY)
    written = runs.gms.all_aspects()
    assert len(written) > len(before) + 100
    runs(ALL, emit=OFF)
    tried = remove()
    assert tried.output.startswith("Would delete relationships: 3, ")
    assert tried.output.endswith(
        "checkpoints: 2, columns and datasets with empty aspects: 10. Add --yes to do so\n"
    )
    assert urn_of(PLANE) in left(runs.gms)
    done = remove("--yes")
    assert "Deleted relationships: 3, " in done.output
    assert runs.gms.all_aspects() == before
    assert remove("--yes").output == "Nothing to delete\n"


def test_what_others_have_at_the_same_columns_and_datasets_stays(runs: Runs) -> None:
    column, dataset = map(str, (column_urn(CARRIER[0]), dataset_urn(table("flights.csv"))))
    empty = UpstreamLineageClass(upstreams=[])
    runs.gms.put(dataset, empty, pipeline="a connector")
    runs(ALL, emit=EVERY)
    note = DocumentationClass([DocumentationAssociationClass("a person's")])
    runs.gms.put(column, note)
    runs(ALL, emit=OFF)
    remove("--yes")
    assert {aspect for urn, aspect in runs.gms.all_aspects() if urn == column} == {
        "schemaFieldKey",
        "documentation",
    }
    assert runs.gms.get(dataset, UpstreamLineageClass) is not None
    assert runs.gms.get(dataset, StructuredPropertiesClass) is None


def test_as_long_as_a_pipeline_shows_values_nothing_is_deleted(runs: Runs) -> None:
    runs(ALL)
    runs(ALL, emit={"relationships": False})
    done = remove("--yes")
    assert "Still shown, and left: " in done.output
    properties = [urn for urn in runs.gms.urns("structuredProperty") if "joinableWith" in urn]
    assert len(properties) == 1


def test_properties_with_decisions_of_people_stay(runs: Runs) -> None:
    runs(ALL)
    column = column_urn(CARRIER[0])
    urns = {name: property_urn(NAMESPACE, name) for name in (CONFIRMED_JOINS, REJECTED_JOINS)}
    partner = column_urn(PLANE[0])
    assigned = StructuredPropertyValueAssignmentClass(urns[CONFIRMED_JOINS], [partner])
    runs.gms.graph().emit(assign_property(column, assigned).metadata)
    runs(ALL, emit=OFF)
    remove("--yes")
    assert runs.gms.urns("structuredProperty") == [urns[CONFIRMED_JOINS]]
    kept = runs.gms.get(column, StructuredPropertiesClass)
    assert kept
    assert [each.values for each in kept.properties] == [[partner]]


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
