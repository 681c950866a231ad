"""The forms of the API reference: shown on `hubbub dev` only, with tokens only for browsers on the same machine."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request

from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.control import ControlApi
from hubbub.server.control.try_it import is_local_page
from hubbub.server.core.clock import ControlledClock
from tests.contract.tables import operations
from tests.pages import Browser, PageForm
from tests.world import NOW_MS, ApiResponse, World, small_config


@pytest.fixture
async def rehearsal() -> AsyncIterator[tuple[World, ControlApi]]:
    """The demo world of `hubbub dev`, and its control API."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    control = ControlApi(app)
    await app.start()
    control.built_world = await worlds.load_initial(app, worlds.demo_world(), 0)
    async with aiohttp.ClientSession() as client:
        yield World(app, client), control
    await control.close()
    await app.stop()


async def post_callers(world: World, **headers: str) -> ApiResponse:
    return await world.request("POST", f"{world.url}/docs/callers", headers={"Origin": world.url} | headers)


def operation_forms(page_forms: list[PageForm]) -> list[PageForm]:
    return [form for form in page_forms if ("Send request", "", "") in form.buttons]


async def test_every_operation_has_a_form_on_dev(rehearsal: tuple[World, ControlApi]) -> None:
    browser = Browser(rehearsal[0])
    form_count = 0
    for path in {url for _, url in (await browser.open("/docs")).links if url.startswith("/docs/resources/")}:
        form_count += len(operation_forms((await browser.open(path)).forms))

    assert form_count == len(operations())


async def test_a_form_has_the_inputs_of_its_operation(rehearsal: tuple[World, ControlApi]) -> None:
    page = await Browser(rehearsal[0]).open("/docs/resources/messages")
    names = [endpoint.name for endpoint in rehearsal[0].app.table if endpoint.name in page.text]
    list_form = next(form for form in operation_forms(page.forms) if "around" in form.names)
    create_form = next(
        form for form in operation_forms(page.forms) if '"Hello, all of you"' in dict(form.values).get("body", "")
    )

    assert "create_message" in names
    assert list_form.names == ["caller", "Authorization", "channel_id", "around", "before", "after", "limit"]
    assert create_form.names == ["caller", "Authorization", "channel_id", "body", "files[0]"]


async def test_a_server_without_a_rehearsal_has_no_forms_and_no_callers() -> None:
    app = App(small_config(control=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            world = World(app, client)
            page = await Browser(world).open("/docs/resources/messages")
            response = await post_callers(world)
    finally:
        await app.stop()

    assert operation_forms(page.forms) == []
    assert "try_it" not in page.body
    assert "connect-src" not in page.headers["Content-Security-Policy"]
    assert response.status == 404


async def test_pages_contain_no_tokens(rehearsal: tuple[World, ControlApi]) -> None:
    world, control = rehearsal
    tokens = [user.token for user in control.built_world.users.values()]
    for path in ("/docs", "/docs/resources/messages", "/docs/resources/users"):
        page = await Browser(world).open(path)
        assert not any(token in page.body for token in tokens), path


async def test_a_page_of_this_server_receives_callers_and_ids(rehearsal: tuple[World, ControlApi]) -> None:
    world, control = rehearsal
    response = await post_callers(world, **{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"})

    body = response.ok()
    assert [caller["name"] for caller in body["callers"]] == ["alice", "bob", "carol", "demo-bot", "demo-game"]
    assert body["callers"][0] == {
        "name": "alice",
        "kind": "user",
        "authorization": control.built_world.users["alice"].token,
    }
    assert body["callers"][3]["authorization"].startswith("Bot ")
    assert body["variables"]["CHANNEL_ID"] == str(int(control.built_world.guilds["Town Square"].channels["general"]))
    assert not any("TOKEN" in name for name in body["variables"])
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in response.headers


async def test_another_world_offers_its_own_ids(rehearsal: tuple[World, ControlApi]) -> None:
    world, control = rehearsal
    control.built_world = worlds.BuiltWorld(users={"zoe": control.built_world.users["bob"]})

    body = (await post_callers(world)).ok()

    assert [caller["name"] for caller in body["callers"]] == ["zoe"]
    assert body["variables"] == {"USER_ID": str(int(control.built_world.users["zoe"].id))}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://[bad"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1.evil.example", "Origin": "http://127.0.0.1.evil.example"},
        {"Host": "1.activities.localhost", "Origin": "http://1.activities.localhost"},
        {"Host": "0.0.0.0", "Origin": "http://0.0.0.0"},
        {"Host": "[bad", "Origin": "http://[bad"},
        {"X-Forwarded-For": "203.0.113.7"},
        {"Forwarded": "for=203.0.113.7"},
        {"X-Real-IP": "203.0.113.7"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Dest": "document"},
    ],
)
async def test_other_sites_and_proxies_receive_no_tokens(
    rehearsal: tuple[World, ControlApi], headers: dict[str, str]
) -> None:
    response = await post_callers(rehearsal[0], **headers)

    assert response.status == 403
    assert "authorization" not in str(response.body)


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("192.168.1.5", False),
        ("::ffff:192.168.1.5", False),
        ("fe80::1", False),
        (None, False),
        ("", False),
    ],
)
def test_other_machines_receive_no_tokens(remote: Any, expected: bool) -> None:
    headers = {"Host": "localhost:8080", "Origin": "http://localhost:8080"}
    request = make_mocked_request("POST", "/docs/callers", headers=headers).clone(remote=remote)

    assert is_local_page(request) is expected
