"""The hosts and origins that a rehearsal accepts."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from hubbub.server import cli
from hubbub.server.app import App
from hubbub.server.core import config as settings
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import ActivitiesConfig, ConfigError, HttpConfig
from tests.world import NOW_MS, Actor, World, small_config

FOREIGN_ORIGIN = "https://evil.example"
ALLOWED_ORIGIN = "https://game.example"


@pytest.fixture
async def dev_world() -> AsyncIterator[World]:
    """A platform with the origin policy of `hubbub dev` and one allowed origin."""
    config = small_config(
        http=HttpConfig(allowed_origins=(ALLOWED_ORIGIN,)),
        activities=ActivitiesConfig(proxy_host="activities.localhost"),
    )
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def request_status(actor: Actor, **headers: str) -> int:
    """Return the status of a request of an actor with these headers."""
    return (await actor.get("/users/@me", headers=headers)).status


async def test_requests_without_an_origin_or_with_a_local_or_allowed_one_are_accepted(dev_world: World) -> None:
    alice = await dev_world.user("alice")
    port = dev_world.url.rpartition(":")[2]
    assert await request_status(alice) == 200
    assert await request_status(alice, Origin=dev_world.url) == 200
    assert await request_status(alice, Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 200
    assert await request_status(alice, Host="192.0.2.7", Origin="http://192.0.2.7") == 200
    assert await request_status(alice, Host="[::1]:80", Origin="http://[::1]") == 200
    assert await request_status(alice, Host="game.example", Origin=ALLOWED_ORIGIN) == 200
    assert await request_status(alice, Origin="http://localhost:5173") == 200
    for host in ("alice.localhost", "alice.people.localhost"):
        assert await request_status(alice, Host=host, Origin=f"http://{host}") == 200


@pytest.mark.parametrize(
    "origin",
    [
        FOREIGN_ORIGIN,
        "null",
        "http://localhost.evil.example",
        "http://1.activities.localhost",
        "http://[bad",
        "file://",
        "",
    ],
)
async def test_pages_of_other_origins_cannot_use_a_token(dev_world: World, origin: str) -> None:
    alice = await dev_world.user("alice")
    response = await alice.get("/users/@me", headers={"Origin": origin})
    response.rejected(403, 0)
    assert "Access-Control-Allow-Origin" not in response.headers
    login = await dev_world.request("POST", "/auth/login", json={}, headers={"Origin": origin})
    login.rejected(403, 0)
    with pytest.raises(aiohttp.WSServerHandshakeError) as handshake:
        await dev_world.client.ws_connect(dev_world.gateway, headers={"Origin": origin})
    assert handshake.value.status == 403


async def test_applications_call_the_api_from_their_origin_with_an_access_token(dev_world: World) -> None:
    bot = await dev_world.bot()
    alice = await dev_world.user("alice")
    player = await dev_world.bearer(alice, bot.application_id, "identify")
    for origin in (FOREIGN_ORIGIN, f"http://{bot.application_id}.activities.localhost"):
        response = await player.get("/users/@me", headers={"Origin": origin})
        assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (200, "*")
        preflight = await dev_world.request("OPTIONS", "/users/@me", headers={"Origin": origin})
        assert preflight.status == 204


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "x.y.localhost", "localhost@evil", "[bad"])
async def test_unknown_host_names_are_rejected(dev_world: World, host: str) -> None:
    alice = await dev_world.user("alice")
    assert await request_status(alice, Host=host, Origin=f"http://{host}") == 403
    assert await request_status(alice, Host=host) == 403
    assert (await dev_world.request("GET", f"{dev_world.url}/login", headers={"Host": host})).status == 403


async def test_the_policy_does_not_apply_to_files_and_activities(dev_world: World) -> None:
    # The file and the activity do not exist, so the status is 404; the policy would respond with 403.
    file = await dev_world.request("GET", f"{dev_world.url}/cdn/icons/1/a.png", headers={"Origin": FOREIGN_ORIGIN})
    assert file.status == 404
    activity = await dev_world.request("GET", f"{dev_world.url}/", headers={"Host": "1.activities.localhost"})
    assert activity.status == 404


def test_only_a_rehearsal_restricts_origins_by_default() -> None:
    assert settings.load(defaults=cli.SERVE_DEFAULTS).http.allowed_origins == ("*",)
    assert settings.load(defaults=cli.DEV_DEFAULTS).http.allowed_origins == ()
    flags = {"http.allowed_origins": "https://a.example, http://b.example:81"}
    loaded_config = settings.load(flags, defaults=cli.DEV_DEFAULTS)
    assert loaded_config.http.allowed_origins == ("https://a.example", "http://b.example:81")
    for invalid_origin in ("a.example", "https://a.example/", "ftp://a.example", "https://"):
        with pytest.raises(ConfigError, match="allowed_origins"):
            settings.load({"http.allowed_origins": invalid_origin})
