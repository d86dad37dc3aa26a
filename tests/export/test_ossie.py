"""Test that exported semantic models follow the Ossie specification."""

import json
from collections.abc import Mapping

import jsonschema
import yaml

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join

TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}
EXTENSION = {"vendor_name": TEXT, "data": TEXT}


def record(required: Mapping[str, object], **optional: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": [*required],
        "additionalProperties": False,
    }


EXPRESSION = record(
    {"dialects": {"type": "array", "items": record({"dialect": TEXT, "expression": TEXT})}}
)
DATASET = record(
    {"name": TEXT, "source": TEXT},
    primary_key=TEXTS,
    unique_keys={"type": "array", "items": TEXTS},
    fields={
        "type": "array",
        "items": record({"name": TEXT, "expression": EXPRESSION}, datatype=TEXT),
    },
)
RELATIONSHIP = record(
    {"name": TEXT, "from": TEXT, "to": TEXT, "from_columns": TEXTS, "to_columns": TEXTS},
    ai_context=record({"instructions": TEXT}),
    custom_extensions={"type": "array", "items": record(EXTENSION)},
)
MODEL = record(
    {"name": TEXT, "datasets": {"type": "array", "items": DATASET, "minItems": 1}},
    description=TEXT,
    relationships={"type": "array", "items": RELATIONSHIP},
)
DOCUMENT = record(
    {"version": {"const": "0.2.0.dev0"}, "semantic_model": {"type": "array", "items": MODEL}}
)


def test_relationships_lead_from_many_to_one_with_their_evidence(
    joins: list[Join], declared: DeclaredColumns
) -> None:
    document = yaml.safe_load(export_joins(joins, ExportFormat.OSSIE, declared=declared).text)
    jsonschema.validate(document, DOCUMENT)
    (model,) = document["semantic_model"]
    keys = {
        each["name"]: [each.get("primary_key"), *each.get("unique_keys", [])]
        for each in model["datasets"]
    }
    relationships = {each["name"]: each for each in model["relationships"]}
    assert len(relationships) == len(joins)
    for each in relationships.values():
        assert each["to_columns"] in keys[each["to"]]
    payer = relationships["orders_payer_to_customers"]
    (extension,) = payer["custom_extensions"]
    assert json.loads(extension["data"])["containment"] == 0.97
    assert "97% of the values match" in payer["ai_context"]["instructions"]
    assert payer["ai_context"]["instructions"].endswith(
        "Use a left join: rows without a match may exist. Call customers customers_payer in it."
    )
