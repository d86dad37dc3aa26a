"""Test that dbt accepts the exported entities, and that each foreign entity has a key entity."""

from typing import Any

import yaml
from dbt_semantic_interfaces.parsing.dir_to_model import (
    parse_yaml_files_to_validation_ready_semantic_manifest,
)
from dbt_semantic_interfaces.parsing.objects import YamlConfigFile
from dbt_semantic_interfaces.validations.semantic_manifest_validator import (
    SemanticManifestValidator,
)

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.tables import ColumnId
from lakes.chains import changed

TIME_SPINE = "project_configuration: {time_spine_table_configurations: []}\n"


def parsed(text: str) -> list[str]:
    """Return the errors of dbt's validator.

    dbt itself replaces `ref` with the name of a relation.
    """
    documents = [TIME_SPINE]
    for model in yaml.safe_load(text)["semantic_models"]:
        relation = model.pop("model").removeprefix("ref('").removesuffix("')")
        model["node_relation"] = {"schema_name": "shop", "alias": relation}
        documents.append(yaml.safe_dump({"semantic_model": model}))
    file = YamlConfigFile(filepath="joins.yml", contents="---\n".join(documents), url=None)
    result = parse_yaml_files_to_validation_ready_semantic_manifest([file])
    validator: Any = SemanticManifestValidator()  # its type parameter has no type
    issues = validator.validate_semantic_manifest(result.semantic_manifest)
    return [issue.message for issue in issues.errors]


def test_dbt_accepts_the_models(joins: list[Join], declared: DeclaredColumns) -> None:
    text = export_joins(joins, ExportFormat.METRICFLOW, declared=declared).text
    assert parsed(text) == ["No metrics present in the model."]


def test_each_foreign_entity_has_one_key(joins: list[Join], declared: DeclaredColumns) -> None:
    exported = export_joins(joins, ExportFormat.METRICFLOW, declared=declared)
    models = yaml.safe_load(exported.text)["semantic_models"]
    entities = [(model["name"], entity) for model in models for entity in model["entities"]]
    keys = {
        entity["name"]: (name, entity["expr"])
        for name, entity in entities
        if "config" not in entity
    }
    joined = {
        (name, entity["expr"], *keys[entity["name"]])
        for name, entity in entities
        if "config" in entity
    }
    assert len(joined) == exported.joins
    assert ("orders", "payer", "customers", "id") in joined
    assert ("orders", "customer_code", "customers", "code") in joined


def test_reserved_words_are_quoted(reference: Join) -> None:
    order = ColumnId(reference.right.table, "order")
    join = changed(reference, pairs=((reference.left, order),), referenced=order)
    lines = export_joins([join], ExportFormat.METRICFLOW).text.splitlines()
    assert [line.strip() for line in lines if "expr" in line] == [
        "expr: '\"order\"'",
        "expr: customer",
    ]
