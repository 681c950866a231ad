"""Channels linked to a lobby in the chat client: the badge, messages of players, and authorization of the game."""

from typing import Any

import pytest

from hubbub.protocol.flags import LobbyFlags, LobbyMemberFlags
from tests.sdk.players import Player, create_game, create_player
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import accessibility_problems
from tests.world import Guild

expect = pytest.importorskip("playwright.async_api").expect


async def create_linked_channel(platform: ChatPlatform, **lobby: Any) -> tuple[Guild, Player, int]:
    """Create a guild whose #general is linked to a lobby of Puddle; return the guild, a player in the lobby, and its ID."""
    guild, (mary,), lobby_id = await create_lobby_with_players(platform, "mary", **lobby)
    return guild, mary, lobby_id


async def create_lobby_with_players(
    platform: ChatPlatform, *names: str, **lobby: Any
) -> tuple[Guild, list[Player], int]:
    """Create a guild whose #general is linked to a lobby of Puddle; return the guild, the players in the lobby, and its ID."""
    world = platform.world
    game = await create_game(world)
    players = [await create_player(world, game, name) for name in names]
    nora = await world.user("nora")
    guild = await world.guild(nora)
    nora_in_game = await world.bearer(nora, game.id, "openid sdk.social_layer")
    members = [
        {"id": str(nora.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY},
        *({"id": str(player.id)} for player in players),
    ]
    assert game.bot is not None
    lobby_id = (await game.bot.post("/lobbies", json={"members": members, **lobby})).ok()["id"]
    link = {"channel_id": str(guild.general)}
    (await nora_in_game.patch(f"/lobbies/{lobby_id}/channel-linking", json=link)).ok()
    return guild, players, int(lobby_id)


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_linked_channel_has_a_badge_and_marks_messages_of_players(platform: ChatPlatform, width: int) -> None:
    guild, mary, lobby_id = await create_linked_channel(platform)
    received_events = mary.record_event("message_created")

    async with platform.open_window(guild.owner, general_path(guild), width=width) as window:
        page = window.page
        await mary.client.send_lobby_message(lobby_id, "hello from the game")
        message = await window.wait_message("hello from the game")
        await expect(message.locator(".game-tag")).to_have_text("From Puddle")
        await window.send("hello from the chat")
        await expect(window.message("hello from the chat").locator(".game-tag")).to_have_count(0)
        await received_events.next(lambda message_id: _content(mary, message_id) == "hello from the chat")

        badge_button = page.locator(".view-title").get_by_role("button", name="Shared with Puddle")
        await badge_button.press("Enter")
        dialog = page.get_by_role("dialog", name="Shared with Puddle")
        await expect(dialog).to_contain_text("Messages of #general also appear in a lobby of Puddle.")
        await expect(dialog).to_contain_text("Linked by nora")
        assert await accessibility_problems(window) == []
        await page.keyboard.press("Escape")
        await expect(badge_button).to_be_focused()

        await badge_button.click()
        await dialog.get_by_role("button", name="Unlink").click()
        await (
            page.get_by_role("dialog", name="Unlink #general from Puddle?").get_by_role("button", name="Unlink").click()
        )
        await expect(badge_button).to_have_count(0)
        await expect(page.locator(".side").get_by_role("img", name="shared with a game")).to_have_count(0)
    await mary.client.close()


def _content(player: Player, message_id: int) -> str | None:
    message = player.client.get_message_handle(message_id)
    return None if message is None else message.content


@pytest.mark.parametrize("answer", ["Authorize", "Cancel"])
async def test_writing_in_a_linked_channel_can_require_the_authorization_of_the_game(
    platform: ChatPlatform, answer: str
) -> None:
    guild, mary, _ = await create_linked_channel(platform, flags=LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION)
    omar = await guild.member()

    async with platform.open_window(omar, general_path(guild)) as window:
        page = window.page
        notice = page.locator(".composer-closed")
        await expect(notice).to_contain_text("This channel is shared with Puddle. Connect it to your account")
        assert await accessibility_problems(window) == []
        await notice.get_by_role("link", name="Connect").press("Enter")
        await expect(page.get_by_role("heading", name="Puddle wants to access your account")).to_be_visible()
        await expect(page.locator(".card")).to_contain_text("You will be redirected to the chat.")
        await page.get_by_role("button", name=answer).click()
        await page.wait_for_url(platform.url + general_path(guild))
        if answer == "Cancel":
            await expect(notice).to_contain_text("Connect it to your account")
        else:
            await expect(window.composer).to_be_visible()
            await window.send("connected")
            await window.wait_message("connected")
            (authorization,) = (await omar.get("/oauth2/tokens")).ok()
            assert authorization["scopes"] == ["identify"]
            (await omar.delete(f"/oauth2/tokens/{authorization['id']}")).ok()
            await expect(notice).to_contain_text("Connect it to your account")
    await mary.client.close()
