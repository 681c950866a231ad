"""The optional request caps for applications without social layer approval (spec/sdk.md#16)."""

from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest

from hubbub.protocol.flags import ApplicationFlags, LobbyMemberFlags
from hubbub.protocol.operation import operations_of
from hubbub.protocol.resources import lobbies, user_messages
from hubbub.server import cli
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config
from tests.fixtures.validator import ResponseMonitor
from tests.game import create_game
from tests.world import NOW_MS, World


@pytest.fixture(params=["real", "report"])
async def capped_world(
    request: pytest.FixtureRequest, store_config: Config, response_monitor: ResponseMonitor
) -> AsyncIterator[World]:
    """A world whose caps are enforced (`real`) or only reported (`report`)."""
    config = msgspec.structs.replace(store_config, approval_caps=request.param)
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        yield World(app, client)
    await app.stop()


async def test_channel_linking_is_capped_at_twenty_requests_in_two_hours(capped_world: World) -> None:
    game = await create_game(capped_world)
    alice = await game.add_player()
    lobby = (
        await game.backend.post(
            "/lobbies", json={"members": [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]}
        )
    ).ok()
    path = f"/lobbies/{lobby['id']}/channel-linking"
    for _ in range(20):
        (await alice.patch(path, json={})).ok()

    response = await alice.patch(path, json={})

    is_enforced = capped_world.app.config.approval_caps == "real"
    assert response.status == (429 if is_enforced else 200)
    if is_enforced:
        assert (response.json["retry_after"], response.json["global"]) == (7200.0, False)
        assert (response.headers["X-RateLimit-Scope"], response.headers["Retry-After"]) == ("shared", "7200")
    (limit_report,) = [
        exceeded_limit for exceeded_limit in capped_world.app.rate_limits.report() if exceeded_limit.scope == "approval"
    ]
    assert (limit_report.name, limit_report.caller, limit_report.refused) == (
        "edit_lobby_channel_link",
        str(game.id),
        is_enforced,
    )
    capped_world.clock.advance(7_200_000)
    (await (await game.add_player()).put("/lobbies", json={"secret": "xyzzy"})).ok()
    # The first lobby has expired, so another one shows that requests are accepted again.
    lobby = (
        await game.backend.post(
            "/lobbies", json={"members": [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]}
        )
    ).ok()
    (await alice.patch(f"/lobbies/{lobby['id']}/channel-linking", json={})).ok()


def test_caps_are_off_by_default_and_reported_in_a_rehearsal() -> None:
    assert Config().approval_caps == "off"
    assert "approval_caps" not in cli.SERVE_DEFAULTS
    assert cli.DEV_DEFAULTS["approval_caps"] == "report"


def test_each_route_of_the_table_has_its_cap() -> None:
    caps_by_route = {
        (operation.method, operation.path): operation.unapproved_calls_max
        for module in (lobbies, user_messages)
        for _, operation in operations_of(module)
        if operation.unapproved_calls_max
    }

    lobby_path = "/lobbies/{lobby_id}"
    assert caps_by_route == {
        # The rows of the table in spec/sdk.md#16.
        ("POST", "/lobbies"): 100,
        ("PUT", "/lobbies"): 100,
        ("PATCH", lobby_path): 100,
        ("PUT", f"{lobby_path}/members/{{user_id}}"): 100,
        ("DELETE", f"{lobby_path}/members/{{user_id}}"): 100,
        ("POST", f"{lobby_path}/members/bulk"): 100,
        ("POST", f"{lobby_path}/members/@me/invites"): 100,
        ("POST", f"{lobby_path}/members/{{user_id}}/invites"): 100,
        ("PATCH", f"{lobby_path}/channel-linking"): 20,
        ("POST", f"{lobby_path}/messages"): 100,
        ("POST", "/users/{user_id}/messages"): 100,
    }


async def test_an_approved_application_is_not_capped(capped_world: World) -> None:
    game = await create_game(capped_world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION)
    alice = await game.add_player()
    lobby = (
        await game.backend.post(
            "/lobbies", json={"members": [{"id": str(alice.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]}
        )
    ).ok()

    for _ in range(21):
        (await alice.patch(f"/lobbies/{lobby['id']}/channel-linking", json={})).ok()
