"""Write the texts that several export formats share."""

from typing import Any

import yaml

from datahub_hyperjoin.visible import visible, visible_lines


class _Dumper(yaml.SafeDumper):  # type: ignore[misc] # the library has no types
    """Writes texts between double quotes if a character in them would not be seen."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if visible(text) == text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


def write_yaml(document: dict[str, Any]) -> str:
    """Write a document as YAML, where control, direction and invisible characters are escapes."""
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    # Such characters stand only between double quotes, where YAML reads these escapes.
    return visible_lines(text)
