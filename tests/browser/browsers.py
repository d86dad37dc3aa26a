"""Define a browser that talks to the web service, and two people who use it."""

import json
import re
from typing import Any

from starlette.testclient import TestClient

from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.app import Connect, create_service
from lakes.shop import Shop

ADA, BOB = "token-of-ada", "token-of-bob"
PEOPLE = {ADA: "urn:li:corpuser:ada", BOB: "urn:li:corpuser:bob"}
ORIGIN = "http://127.0.0.1:8766"


class Browser:
    """A browser of one person."""

    def __init__(
        self, shop: Shop, *, url: str = "", connect: Connect | None = None, shared_with: str = ""
    ) -> None:
        service = create_service(
            connect or (lambda token: shop.gms.graph(retry_max_times=0, token=token)),
            Address.of("127.0.0.1", 8766, url),
            frames="http://localhost:9002",
            shared_with=shared_with,
        )
        self.origin = url or ORIGIN
        self.client = TestClient(service, base_url=self.origin, raise_server_exceptions=False)
        self.csrf = ""

    def sign_in(self, token: str, **headers: str) -> int:
        """Send a token, and return the status of the answer."""
        answer = self.client.post(
            "/sign-in", json={"token": token}, headers={"Origin": self.origin, **headers}
        )
        status: int = answer.status_code
        return status

    def data(self, path: str = "/", name: str = "data") -> Any:  # noqa: ANN401 - JSON
        """Return the JSON data that is embedded in a page."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        found = re.search(
            rf'<script type="application/json" id="{name}">(.*?)</script>', answer.text
        )
        assert found
        return json.loads(found[1])

    def decide(self, join: str, decision: str, **headers: str | None) -> tuple[int, Any]:
        """Send a decision as the page does, and return the status and content of the answer."""
        csrf = self.csrf or self.data(name="served")["csrf"]
        sent = {"Origin": self.origin, "X-CSRF-Token": csrf, **headers}
        answer = self.client.post(
            "/decide",
            json={"join": join, "decision": decision},
            headers={name: value for name, value in sent.items() if value is not None},
        )
        return answer.status_code, answer.json()
