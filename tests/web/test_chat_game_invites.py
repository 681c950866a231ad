"""Game invites and join requests in the chat client, with the SDK as the game and the agent on the user's machine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hubbub.protocol import rpc
from hubbub.protocol.resources.user_messages import ACTIVITY_INVITE_LIFETIME_MS
from hubbub.sdk import ActivityAssets, ActivityParty, ActivityPartyPrivacy, AuthorizationTokenType, Client
from tests import oauth
from tests.machine import Machine
from tests.media import data_uri, png
from tests.sdk.players import CallbackRecorder, Player, create_game, create_player, joinable_activity, new_client
from tests.web.chat import ChatPlatform, ChatWindow
from tests.web.settings import accessibility_problems
from tests.world import Actor, befriend, wait_until

expect = pytest.importorskip("playwright.async_api").expect
REFUSED_CONNECTION_ERROR = "WebSocket connection to 'ws://127.0.0.1"
"""Prefix of the console error for a port without an agent, or with an agent that rejects the page."""


async def create_friends_with_game(platform: ChatPlatform) -> tuple[oauth.Client, Player, Actor]:
    """Create the game Puddle with a cover image, Mary, who plays it, and her friend Nora."""
    game = await create_game(platform.world)
    image = data_uri(png(320, 120, "teal"))
    (await game.owner.post(f"/oauth2/applications/{game.id}/assets", json={"name": "cover", "image": image})).ok()
    mary = await create_player(platform.world, game, "mary")
    nora = await platform.world.user("nora")
    await befriend(nora, mary.user)
    return game, mary, nora


def cover_activity(**overrides: object) -> Any:
    """Return a joinable activity with a cover image for invites."""
    return joinable_activity(assets=ActivityAssets(invite_cover_image="cover"), **overrides)


async def dm_path(user: Actor, other_id: int) -> str:
    """Open the conversation of two users and return its path in the chat client."""
    channel = (await user.post("/users/@me/channels", json={"recipient_id": str(other_id)})).ok()
    return f"/app/channels/@me/{channel['id']}"


def invite_cards(window: ChatWindow) -> Any:
    """Return the locator of the cards of game invites."""
    return window.page.get_by_role("region", name="Game invite: Puddle")


@asynccontextmanager
async def open_game(
    platform: ChatPlatform, user: Actor, game: oauth.Client, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Machine, CallbackRecorder]]:
    """Start the agent and the game on a user's machine; yield the machine and the recorder of the game's join secrets."""
    machine = Machine(platform.world, user, directory)
    machine.agent_options["websocket_ports"] = rpc.WEBSOCKET_PORTS
    await machine.start()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    client: Client = new_client(platform.world)
    client.set_application_id(game.id)
    join_recorder = CallbackRecorder()
    client.set_activity_join_callback(join_recorder)
    connections = machine.agent.context.connections
    await wait_until(lambda: any(connection.subscriptions for connection in connections))
    try:
        yield machine, join_recorder
    finally:
        await client.close()
        await machine.stop()


@pytest.mark.parametrize("width", [1280, 390])
async def test_joining_from_an_invite_reaches_the_game_on_this_computer(
    platform: ChatPlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    game, mary, nora = await create_friends_with_game(platform)
    await mary.client.update_rich_presence(cover_activity())

    async with (
        open_game(platform, nora, game, tmp_path, monkeypatch) as (_, join_secrets),
        platform.open_window(nora, await dm_path(nora, mary.id), width=width) as window,
    ):
        # Agents of other tests may use the first ports; they reject pages of this platform.
        window.expected_errors = (REFUSED_CONNECTION_ERROR,)
        await mary.client.send_activity_invite(nora.id, "")
        card = invite_cards(window)
        await expect(card).to_contain_text("mary invited you to play.")
        await expect(card).to_contain_text("Jumping · In a puddle")
        await expect(card).to_contain_text("Party: 1 of 4")
        await expect(card.locator(".game-invite-cover")).to_be_visible()
        assert await accessibility_problems(window) == []

        await card.get_by_role("button", name="Join").press("Enter")
        assert await join_secrets.next() == "let-me-in"
        await expect(window.page.get_by_role("status").filter(has_text="Joining in Puddle.")).to_be_visible()

        full_party = ActivityParty(id="party-1", current_size=4, max_size=4)
        await mary.client.update_rich_presence(cover_activity(party=full_party))
        await expect(card).to_contain_text("The party is full.")
        await expect(card.get_by_role("button", name="Join")).to_be_disabled()
        mary.client.clear_rich_presence()
        await expect(card).to_contain_text("The party has ended.")
        await expect(card.get_by_role("button", name="Join")).to_have_count(0)
    await mary.client.close()


async def test_an_invite_expires_after_six_hours(platform: ChatPlatform) -> None:
    _, mary, nora = await create_friends_with_game(platform)
    await mary.client.update_rich_presence(cover_activity())
    await mary.client.send_activity_invite(nora.id, "come and jump")

    async with platform.open_window(nora, await dm_path(nora, mary.id)) as window:
        await expect(invite_cards(window).get_by_role("button", name="Join")).to_be_visible()
        # Stop a minute before the invite expires, because the page's estimate of the server's clock runs on.
        platform.world.clock.advance(ACTIVITY_INVITE_LIFETIME_MS - 60_000)
        await window.page.reload()
        await expect(invite_cards(window).get_by_role("button", name="Join")).to_be_visible()

        platform.world.clock.advance(60_000)
        await window.page.reload()
        await expect(invite_cards(window)).to_contain_text("This invite has expired.")
        await expect(invite_cards(window).get_by_role("button", name="Join")).to_have_count(0)
    await mary.client.close()


async def test_a_connected_game_gets_the_accepted_invite_without_an_agent(platform: ChatPlatform) -> None:
    game, mary, nora = await create_friends_with_game(platform)
    await mary.client.update_rich_presence(cover_activity())
    path = await dm_path(nora, mary.id)

    async with platform.open_window(nora, path) as window:
        window.expected_errors = (REFUSED_CONNECTION_ERROR,)
        await mary.client.send_activity_invite(nora.id, "")
        await invite_cards(window).get_by_role("button", name="Join").click()
        dialog = window.page.get_by_role("dialog", name="Join in Puddle")
        await expect(dialog).to_contain_text("hubbub agent --websocket")
        await dialog.get_by_role("button", name="Close", exact=True).last.click()

        tokens = await game.request_tokens(nora, "openid sdk.social_layer")
        client, invites = new_client(platform.world), CallbackRecorder()
        client.set_activity_invite_created_callback(invites)
        await client.update_token(AuthorizationTokenType.BEARER, tokens["access_token"])
        await client.connect()
        pending_invite = await invites.next()
        await wait_until(lambda: platform.world.app.presences.is_playing(nora.id, game.id))
        await invite_cards(window).get_by_role("button", name="Join").click()
        accepted_invite = await invites.next()
        assert accepted_invite.message_id == pending_invite.message_id
        notice = window.page.get_by_role("status").filter(has_text="Puddle has received the invite.")
        await expect(notice).to_be_visible()
        await client.close()
    await mary.client.close()


async def test_a_join_request_is_accepted_in_the_chat_client(
    platform: ChatPlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, mary, nora = await create_friends_with_game(platform)
    await mary.client.update_rich_presence(cover_activity())
    path, mary_path = await dm_path(nora, mary.id), await dm_path(mary.user, nora.id)

    async with (
        open_game(platform, nora, game, tmp_path, monkeypatch) as (_, join_secrets),
        platform.open_window(nora, path) as guest,
        platform.open_window(mary.user, mary_path) as host,
    ):
        guest.expected_errors = (REFUSED_CONNECTION_ERROR,)
        await guest.page.locator(".view-title").get_by_role("button", name="Playing Puddle").click()
        await guest.page.get_by_role("dialog").get_by_role("button", name="Ask to join").click()
        await expect(invite_cards(guest)).to_contain_text("You asked to join.")

        request = invite_cards(host).first
        await expect(request).to_contain_text("nora asks to join your party.")
        await request.get_by_role("button", name="Accept").press("Enter")
        await expect(request).to_contain_text("You invited nora.")
        await expect(invite_cards(host).last).to_contain_text("You sent an invite to your party.")
        await guest.page.keyboard.press("Escape")
        await invite_cards(guest).get_by_role("button", name="Join").click()
        assert await join_secrets.next() == "let-me-in"
    await mary.client.close()


async def test_a_join_request_is_declined_or_waits_for_a_party(platform: ChatPlatform) -> None:
    _, mary, nora = await create_friends_with_game(platform)
    await mary.client.update_rich_presence(cover_activity())
    path, mary_path = await dm_path(nora, mary.id), await dm_path(mary.user, nora.id)

    async with platform.open_window(nora, path) as guest, platform.open_window(mary.user, mary_path) as host:
        await guest.page.locator(".view-title").get_by_role("button", name="Playing Puddle").click()
        await guest.page.get_by_role("dialog").get_by_role("button", name="Ask to join").click()
        request = invite_cards(host)
        await expect(request.get_by_role("button", name="Accept")).to_be_enabled()
        mary.client.clear_rich_presence()
        await expect(request).to_contain_text("Open a party in Puddle to accept.")
        await expect(request.get_by_role("button", name="Accept")).to_be_disabled()
        assert await accessibility_problems(host) == []
        await request.get_by_role("button", name="Decline").press("Enter")
        await expect(request).to_contain_text("You declined the request of nora.")
    await mary.client.close()


async def test_friends_join_an_open_party_and_are_invited_from_the_profile(
    platform: ChatPlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, mary, nora = await create_friends_with_game(platform)
    (await mary.user.patch("/users/@me/settings", json={"allow_activity_party_privacy_friends": True})).ok()
    party = ActivityParty(id="party-1", current_size=1, max_size=4, privacy=ActivityPartyPrivacy.PUBLIC)
    await mary.client.update_rich_presence(cover_activity(party=party))
    path = await dm_path(nora, mary.id)

    async with (
        open_game(platform, nora, game, tmp_path, monkeypatch) as (_, join_secrets),
        platform.open_window(nora, path) as guest,
        platform.open_window(mary.user, "/app") as host,
    ):
        guest.expected_errors = (REFUSED_CONNECTION_ERROR,)
        await guest.page.locator(".view-title").get_by_role("button", name="Playing Puddle").click()
        await guest.page.get_by_role("dialog").get_by_role("button", name="Join").click()
        assert await join_secrets.next() == "let-me-in"

        await host.page.locator(".user-button").filter(has_text="nora").click()
        await host.page.get_by_role("dialog", name="nora").get_by_role("button", name="Invite to Puddle").click()
        await expect(invite_cards(guest)).to_contain_text("mary invited you to play.")
    await mary.client.close()
