"""Test in two browsers how two people work through one queue."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from datahub.metadata.schema_classes import CorpUserInfoClass

from browser import chromium
from browser.browsers import ADA, BOB, PEOPLE
from browser.chromium import Tab
from browser.previews import free_port, serving
from datahub_hyperjoin.graphql import all_joins, find_join
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.service.address import Address
from datahub_hyperjoin.service.app import create_service
from lakes.shop import Shop, open_shop

pytestmark = pytest.mark.skipif(chromium.PATH is None, reason="needs Chromium")

JOINS = 300
TABLES = ("orders", "customers", "refunds")
FOCUS = (
    "[...document.querySelectorAll('.queued')].indexOf(document.activeElement.closest('.queued'))"
)
SAID = "document.getElementById('said').textContent"
COUNT = "document.getElementById('count').textContent"


@pytest.fixture
def shop() -> Iterator[Shop]:
    roles = [Role.REFERENCE] * 4 + [Role.ONE_TO_ONE, Role.SIBLING, Role.SAME_DOMAIN]
    with open_shop(PEOPLE) as opened:
        for at in range(JOINS):
            score, role = 0.99 - at / 700, roles[at % len(roles)]
            opened.suggest(f"{TABLES[at % 3]}.c{at:03}", f"regions.id{at:03}", score, role=role)
        yield opened


@pytest.fixture
def address(shop: Shop) -> Iterator[str]:
    port = free_port()
    service = create_service(
        lambda token: shop.gms.graph(token=token), Address.of("127.0.0.1", port)
    )
    with serving(service, port):
        yield f"http://127.0.0.1:{port}/queue"


@pytest.fixture(scope="module")
def tabs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tab, Tab]]:
    folder = tmp_path_factory.mktemp("browsers")
    with chromium.browse(folder / "ada") as ada, chromium.browse(folder / "bob") as bob:
        yield ada, bob


@pytest.fixture
def ada(tabs: tuple[Tab, Tab], address: str) -> Tab:
    return signed_in(tabs[0], address, ADA)


@pytest.fixture
def bob(tabs: tuple[Tab, Tab], address: str) -> Tab:
    return signed_in(tabs[1], address, BOB)


def signed_in(tab: Tab, address: str, token: str) -> Tab:
    tab.open(address)
    tab.wait("!!document.querySelector('#sign-in button') && document.readyState === 'complete'")
    tab.run(f"document.getElementById('token').value = '{token}'")
    tab.run("document.querySelector('#sign-in button').click()")
    tab.wait("document.querySelectorAll('.queued').length === 50")
    tab.log.clear()  # the first answer was 401
    return tab


def press(tab: Tab, keys: str) -> None:
    for key in keys:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" else {}
            code = ord(key.upper())
            tab.send(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text
            )


def urns(tab: Tab) -> list[str]:
    listed: list[str] = tab.run("JSON.parse(document.getElementById('served').textContent).urns")
    return listed


def undecided(shop: Shop) -> int:
    return sum(join.open and join.is_undecided for join in all_joins(shop.graph))


def test_many_joins_are_selected_decided_with_a_reason_and_undone(shop: Shop, ada: Tab) -> None:
    listed = urns(ada)
    ada.run("document.getElementById('every').click()")
    assert ada.run("document.getElementById('selected').textContent") == "50 selected"
    ada.run("document.getElementById('why').value = 'ids of one master'")
    ada.run("document.querySelector('[data-all=rejected]').click()")
    ada.wait(f"{SAID} === 'Rejected: 50 joins'")
    assert ada.run(COUNT) == "250"
    assert undecided(shop) == 250
    stored = find_join(shop.graph, listed[49])
    assert (stored.verdict, stored.description) == (Verdict.REJECTED, "ids of one master")
    # What was decided has left the queue, so the next page begins where this one did.
    assert ada.run("document.getElementById('following').search") == "?start=0"
    assert ada.run("document.getElementById('selected').textContent") == "0 selected"
    ada.run("document.getElementById('undo-last').click()")
    ada.wait(f"{SAID} === 'Undone: 50 joins'")
    assert ada.run(COUNT) == str(undecided(shop)) == "300"
    assert ada.run("document.getElementById('undo-last').disabled")
    assert ada.run("document.getElementById('following').search") == "?start=50"


def test_joins_are_reviewed_by_keys_alone(shop: Shop, ada: Tab) -> None:
    listed = urns(ada)
    ada.run("document.getElementById('review').click()")
    assert ada.run(FOCUS) == 0
    press(ada, "arja")  # one is skipped
    ada.wait(f"{COUNT} === '297'")
    assert ada.run(FOCUS) == 4
    verdicts = [find_join(shop.graph, urn).verdict for urn in listed[:4]]
    assert verdicts == [Verdict.ACCEPTED, Verdict.REJECTED, None, Verdict.ACCEPTED]
    press(ada, "xjxr")  # two at once
    ada.wait(f"{COUNT} === '295'")
    press(ada, "u")
    ada.wait(f"{COUNT} === '297'")
    press(ada, "uuu")  # what was done before, too
    ada.wait(f"{COUNT} === '300'")
    assert undecided(shop) == 300
    # In the field of the reason, letters are letters.
    ada.run("document.getElementById('why').focus()")
    press(ada, "a")
    assert ada.run("document.getElementById('why').value") == "a"
    assert ada.run(COUNT) == "300"


def test_of_two_people_the_first_is_named_and_all_other_decisions_are_stored(
    shop: Shop, ada: Tab, bob: Tab
) -> None:
    listed = urns(ada)
    rows = "[...document.querySelectorAll('.queued')].slice(0, 4)"
    bob.run(f"{rows}[1].querySelector('[data-decision=accepted]').click()")
    bob.run(f"{rows}[2].querySelector('[data-decision=rejected]').click()")
    bob.wait(f"{COUNT} === '298'")
    ada.run(f"{rows}.forEach((row) => row.querySelector('input').click())")
    ada.run("document.querySelector('[data-all=accepted]').click()")
    ada.wait(f"{SAID} === 'Accepted: 2 joins; not stored: 2 joins, for the reason in the list'")
    told = ada.run(f"{rows}.map((row) => row.querySelector('small').textContent)")
    assert told[0] == told[3] == ""
    assert told[1].startswith("bob accepted this join on 20")
    assert told[2].startswith("bob rejected this join on 20")
    assert told[2].endswith("Your decision was not stored. Decide again if it should replace that")
    pressed = "(row) => row.querySelector('[aria-pressed=true]').textContent"
    assert ada.run(f"{rows}.map({pressed})") == ["Accepted", "Accepted", "Rejected", "Accepted"]
    assert ada.run(COUNT) == str(undecided(shop)) == "296"
    # Ada undoes what she did, and nothing of Bob's.
    ada.run("document.getElementById('undo-last').click()")
    ada.wait(f"{COUNT} === '298'")
    verdicts = [find_join(shop.graph, urn).verdict for urn in listed[:4]]
    assert verdicts == [None, Verdict.ACCEPTED, Verdict.REJECTED, None]


def test_selected_joins_are_assigned(shop: Shop, ada: Tab) -> None:
    shop.gms.put("urn:li:corpuser:ada", CorpUserInfoClass(active=True))
    ada.run("document.querySelector('.assign').open = true")
    ada.run(
        "[...document.querySelectorAll('.queued input')].slice(0, 2).forEach((it) => it.click())"
    )
    ada.run("document.querySelector('[data-assign=assigned]').click()")
    ada.wait(f"{SAID} === 'Assigned: 2 joins'")
    shown = (
        "[...document.querySelectorAll('[data-owners]:not([hidden])')].map((it) => it.innerText)"
    )
    assert ada.run(shown) == ["assigned to ada"] * 2
    ada.run("document.querySelector('#assignee').value = 'ghost'")
    ada.run("document.querySelector('[data-assign=assigned]').click()")
    ada.wait(f"{SAID}.startsWith('Assigned: 0 joins. DataHub refuses own_join')")
    ada.run("document.querySelector('#filters [name=assignee]').value = 'me'")
    ada.run("document.querySelector('#filters button').click()")
    ada.wait("location.search === '?assignee=me' && document.readyState === 'complete'")
    assert ada.run(COUNT) == "2"


def test_a_join_is_suggested_by_hand(shop: Shop, ada: Tab) -> None:
    ada.run("document.querySelector('main details').open = true")
    look = "document.querySelector('#suggest button').click()"
    ada.run(f"one.value = 'orders.c000'; other.value = 'regions.od000'; {look}")
    told = "document.getElementById('suggested').innerText"
    ada.wait(f"{told}.includes(\"has no column 'od000'. Did you mean\")")
    ada.run(f"other.value = 'regions.id000'; {look}")
    ada.wait(f"{told}.startsWith('shop.public.orders.c000 → shop.public.regions.id000')")
    ada.run("document.querySelector('[data-suggested=accepted]').click()")
    ada.wait(f"{told}.includes('Accepted. The next run verifies')")
    assert find_join(shop.graph, urns(ada)[0]).verdict is Verdict.ACCEPTED


def test_filters_become_the_address(ada: Tab) -> None:
    ada.run("document.querySelector('#filters [name=table]').value = 'orders'")
    ada.run("document.querySelector('#filters [name=role]').value = 'sibling'")
    ada.run("document.querySelector('#filters button').click()")
    ada.wait(
        "location.search === '?table=orders&role=sibling' && document.readyState === 'complete'"
    )
    shown = int(ada.run(COUNT))
    assert 0 < shown == ada.run("document.querySelectorAll('.queued').length")
    assert ada.run("document.querySelector('#filters [name=table]').value") == "orders"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_queue_is_accessible(ada: Tab, width: int, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    ada.send("Emulation.setEmulatedMedia", features=features)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    ada.send("Emulation.setDeviceMetricsOverride", **size)
    ada.run("document.querySelector('.queued button').click()")
    ada.wait(f"{COUNT} === '299'")
    ada.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    ada.run("one.value = 'orders.c000'; other.value = 'regions.id000'")
    ada.run("document.querySelector('#suggest button').click()")
    ada.wait("document.querySelectorAll('[data-suggested]').length === 2")
    ada.run((files("axe_core_python") / "axe.min.js").read_text("utf-8"))
    ada.run("globalThis.found = null; axe.run().then((all) => { found = all.violations; }); 0")
    ada.wait("found !== null")
    brief = "found.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 160))])"
    assert ada.run(brief) == []
    assert ada.run("document.documentElement.scrollWidth <= innerWidth")
    assert ada.log == []
    ada.send("Emulation.clearDeviceMetricsOverride")
