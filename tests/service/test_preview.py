"""Test in a real browser that people can accept or reject joins in DataHub's Preview tab."""

from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import EmbedClass

from browser import chromium
from browser.previews import free_port, preview_tab, serving
from datahub_hyperjoin.graphql import find_join
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.app import create_service
from gms import Gms
from lakes.lake import describe_folder, table, write_flights
from lakes.quick_runs import CARRIER, ORIGIN, Runs, shown, urn_of

pytestmark = pytest.mark.skipif(
    chromium.PATH is None, reason="no chromium or google-chrome is on the PATH"
)
AIRLINES = dataset_urn(table("airlines.csv"))
ACCEPT = "document.querySelector('[data-decision=accepted]')"
UNDO = "document.querySelector('[data-decision=undone]')"


def embed_of_airlines(gms: Gms) -> str:
    embed = gms.get(AIRLINES, EmbedClass)
    return (embed.renderUrl or "") if embed else ""


def serving_joins(gms: Gms, port: int, datahub: int) -> AbstractContextManager[None]:
    service = create_service(
        lambda token: gms.graph(token=token or None),
        Address.of("127.0.0.1", port),
        frames=f"http://localhost:{datahub}",
    )
    return serving(service, port)


def test_a_decision_in_the_preview_tab_is_kept_by_the_next_run(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    write_flights(folder)
    datahub, port = free_port(), free_port()
    emit = {"embed": f"http://localhost:{port}"}
    with (
        Gms() as gms,
        preview_tab(datahub, partial(embed_of_airlines, gms)),
        serving_joins(gms, port, datahub),
    ):
        describe_folder(gms, folder)
        run = Runs(gms, folder)
        run([CARRIER, ORIGIN], emit=emit)
        with chromium.browse(tmp_path / "browser") as tab:
            tab.open(f"http://localhost:{datahub}/")
            button = "document.querySelector('#sign-in button')"
            tab.wait(f"!!{button} && document.readyState === 'complete'", framed=True)
            tab.run(f"{button}.click()", framed=True)
            tab.wait(f"!!{ACCEPT}", framed=True)
            assert tab.run("document.title", framed=True) == "Joins of airlines.csv"
            tab.run("document.querySelector('.line').click()", framed=True)
            sentence = tab.run("document.querySelector('.sentence').textContent", framed=True)
            assert sentence.startswith("Each airline with a value matches ")
            tab.run(f"{ACCEPT}.click()", framed=True)
            tab.wait(f"{ACCEPT}.textContent === 'Accepted' && !{UNDO}.hidden", framed=True)
            tab.run(f"{UNDO}.click()", framed=True)
            tab.wait(f"{ACCEPT}.textContent === 'Accept' && {UNDO}.hidden", framed=True)
            tab.run(f"{ACCEPT}.click()", framed=True)
            tab.wait(f"{ACCEPT}.textContent === 'Accepted'", framed=True)
            tab.run(
                "document.getElementById('path-end').value = 'flights.csv'; "
                "document.querySelector('#path button').click()",
                framed=True,
            )
            tab.wait("document.querySelectorAll('#path-answer li').length === 1", framed=True)
            tab.wait("document.querySelectorAll('#canvas .box').length > 1", framed=True)
            refused = [text for text in tab.log if "Content Security Policy" in text]
            assert refused == []
        assert find_join(gms.graph(), urn_of(CARRIER)).verdict is Verdict.ACCEPTED
        # The next run finds neither join. It keeps the one that the person accepted.
        run([], emit=emit)
        assert shown(gms) == {CARRIER}


def test_no_other_site_shows_the_page_in_a_frame(tmp_path: Path) -> None:
    with Gms() as gms:
        datahub, port = free_port(), free_port()
        gms.put(AIRLINES, EmbedClass(renderUrl=f"http://localhost:{port}/"))
        with (
            preview_tab(datahub, partial(embed_of_airlines, gms)),
            serving_joins(gms, port, free_port()),
            chromium.browse(tmp_path) as tab,
        ):
            tab.open(f"http://localhost:{datahub}/")
            tab.wait("document.readyState === 'complete' && window.length === 1")
            tab.wait_for_log("frame-ancestors")
            assert tab.run("!!document.getElementById('sign-in')", framed=True) is not True
