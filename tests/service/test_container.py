"""Test that the Dockerfile and the Compose file use options and addresses that exist."""

import json
import re
from pathlib import Path

import yaml

from datahub_hyperjoin.cli.serve import serve_people
from datahub_hyperjoin.service.address import Address

RECIPES = Path(__file__).parents[2] / "docs" / "service"
DOCKERFILE = (RECIPES / "Dockerfile").read_text(encoding="utf-8")


def entry_point() -> list[str]:
    found = re.search(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert found
    words: list[str] = json.loads(found[1])
    return words


def test_the_container_starts_the_command_as_nobody_special() -> None:
    command, name, *options = entry_point()
    assert (command, name) == ("hyperjoin", serve_people.name)
    assert options == ["--host", "0.0.0.0"]  # noqa: S104 - in a container
    assert re.search(r"^USER hyperjoin$", DOCKERFILE, re.MULTILINE)


def test_the_service_beside_the_quick_start_gets_datahubs_cookies() -> None:
    composed = yaml.safe_load((RECIPES / "compose.yml").read_text(encoding="utf-8"))
    service = composed["services"]["hyperjoin"]
    options = serve_people.make_context("serve", [*entry_point()[2:], *service["command"]]).params
    address = Address.of(options["host"], options["port"], options["url"])
    assert address.beside(options["datahub_url"]) == "http://localhost:8766"
    assert options["frontend_url"] == "http://datahub-frontend-react:9002"
    # Only this machine reaches it.
    assert service["ports"] == ["127.0.0.1:8766:8766"]
    assert composed["networks"].keys() == {*service["networks"]}
