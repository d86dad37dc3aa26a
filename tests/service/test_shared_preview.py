"""Test in a real browser that people who signed in to DataHub can decide in its Preview tab."""

from pathlib import Path
from urllib.parse import quote

import pytest

from browser import chromium
from browser.browsers import ADA, PEOPLE
from browser.previews import free_port, preview_tab, serving
from datahub_hyperjoin.cli.connect import frontend_connector
from datahub_hyperjoin.graphql import find_join
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.app import create_service
from lakes.shop import Shop, table
from services.frontend import serve_frontend

pytestmark = pytest.mark.skipif(
    chromium.PATH is None, reason="no chromium or google-chrome is on the PATH"
)
ACCEPT = "document.querySelector('[data-decision=accepted]')"


def test_who_has_signed_in_to_datahub_decides_in_the_preview_tab(
    shop: Shop, tmp_path: Path
) -> None:
    join = shop.suggest("orders.customer", "customers.id", 0.93)
    port, datahub = free_port(), free_port()
    pages = f"http://localhost:{datahub}"
    page = f"http://localhost:{port}/dataset?urn={quote(dataset_urn(table('orders')), safe='')}"
    with serve_frontend(shop.gms.url, PEOPLE) as frontend:
        service = create_service(
            frontend_connector(frontend.url),
            Address.of("127.0.0.1", port),
            frames=pages,
            shared_with=pages,
        )
        signed, actor = frontend.cookie(ADA).split("; ")
        with (
            preview_tab(datahub, lambda: page, [f"{signed}; HttpOnly", actor]),
            serving(service, port),
            chromium.browse(tmp_path) as tab,
        ):
            tab.open(page)
            tab.wait("document.title === 'Sign in' && document.readyState === 'complete'")
            assert tab.run("document.querySelector('.sign-in a').href") == f"{pages}/"
            tab.open(f"{pages}/")
            tab.wait(f"!!{ACCEPT}", framed=True)
            assert tab.run("document.querySelector('.person b').textContent", framed=True) == "ada"
            shop.gms.requests.clear()
            tab.run(f"{ACCEPT}.click()", framed=True)
            tab.wait(f"{ACCEPT}.textContent === 'Accepted'", framed=True)
            tab.run(
                "document.getElementById('path-end').value = 'customers'; "
                "document.querySelector('#path button').click()",
                framed=True,
            )
            tab.wait("document.querySelectorAll('#path-answer li').length === 1", framed=True)
            assert {request.token for request in shop.gms.requests} == {ADA}
    assert find_join(shop.graph, join).verdict is Verdict.ACCEPTED
