"""Calls of lobbies in the chat client of a player: joined from the linked channel or from the list of conversations."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.sdk import CallStatus
from tests.sdk.audio import AudioRecorder, CallParticipant, Tone, wait_for_mutual_audio
from tests.sdk.players import Player
from tests.web.calls import (
    call_button,
    inspect_call,
    tone_microphone_script,
    wait_call,
    wait_tone,
    wait_until_worker_loaded,
)
from tests.web.chat import ChatPlatform, general_path
from tests.web.settings import accessibility_problems
from tests.web.test_chat_linked_channels import create_linked_channel, create_lobby_with_players

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300)]

PAGE_HERTZ, GAME_HERTZ = 440, 1000


@asynccontextmanager
async def call_in_game(player: Player, lobby_id: int) -> AsyncIterator[AudioRecorder]:
    """Start the call of a lobby in a game whose microphone is a tone; yield the recorder of what the player hears."""
    recorder = AudioRecorder()
    call = player.client.start_call_with_audio_callbacks(lobby_id, recorder, Tone(GAME_HERTZ))
    assert call is not None
    try:
        yield recorder
    finally:
        await player.client.end_call(lobby_id)


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_player_joins_the_call_of_a_lobby_in_the_linked_channel(
    certified_call_platform: ChatPlatform, width: int
) -> None:
    guild, mary, lobby_id = await create_linked_channel(certified_call_platform)
    nora = guild.owner
    script = tone_microphone_script(PAGE_HERTZ)
    async with certified_call_platform.open_window(
        nora, general_path(guild), init_script=script, width=width
    ) as window:
        view = window.page.locator("hubbub-call-view")
        await expect(view).to_be_hidden()
        async with call_in_game(mary, lobby_id) as recorder:
            await expect(view.get_by_text("mary")).to_be_visible()
            await expect(view).to_contain_text("This is the call of your lobby in the game.")
            assert await accessibility_problems(window) == []
            await view.get_by_role("button", name="Join", exact=True).click()
            call = await wait_call(window, mary.id)
            await wait_tone(window, mary.id, GAME_HERTZ)
            await recorder.wait_for_tone(nora.id, PAGE_HERTZ)
            assert call["privacyCode"]
            last_state = await inspect_call(window)
            assert last_state is not None
            assert last_state["frames"]["failed"] == 0
            await expect(view.locator(".tile")).to_have_count(2)
            await call_button(window, "Leave voice").click()
            await expect(view.locator(".tile")).to_have_count(1)
        await expect(view).to_be_hidden()
    await mary.client.close()


async def test_a_player_starts_the_call_and_changes_to_a_voice_channel(certified_call_platform: ChatPlatform) -> None:
    guild, mary, lobby_id = await create_linked_channel(certified_call_platform)
    await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    changed_events = mary.record_event("voice_participant_changed")
    script = tone_microphone_script(PAGE_HERTZ)
    async with certified_call_platform.open_window(guild.owner, general_path(guild), init_script=script) as window:
        page = window.page
        await page.get_by_role("button", name="Start or join the call of the game").click()
        assert await changed_events.next() == (lobby_id, guild.owner.id, True)
        await expect(page.locator(".side .call-bar").get_by_text("Voice connected")).to_be_visible()
        await wait_until_worker_loaded(window)
        await page.locator(".side").get_by_role("link", name="lounge").click()
        assert await changed_events.next() == (lobby_id, guild.owner.id, False)
        await expect(page.locator("hubbub-call-view .tile")).to_have_count(1)
        await expect(page.locator(".side .call-bar")).to_contain_text("lounge")
        await expect(page.locator(".side .call-bar").get_by_text("Voice connected")).to_be_visible()
        await wait_until_worker_loaded(window)
    await mary.client.close()


async def test_guild_members_without_a_place_in_the_lobby_see_no_call(certified_call_platform: ChatPlatform) -> None:
    guild, mary, lobby_id = await create_linked_channel(certified_call_platform)
    member = await guild.member()
    async with (
        certified_call_platform.open_window(member, general_path(guild)) as window,
        call_in_game(mary, lobby_id),
    ):
        await window.send("hello")
        await expect(window.page.locator("hubbub-call-view")).to_be_hidden()
        await expect(window.page.get_by_role("button", name="Start or join the call of the game")).to_have_count(0)
    await mary.client.close()


async def test_the_call_of_a_lobby_without_a_channel_is_joined_from_the_conversations(
    certified_call_platform: ChatPlatform,
) -> None:
    guild, mary, lobby_id = await create_linked_channel(certified_call_platform)
    (await guild.owner.delete(f"/channels/{guild.general}/linked-lobby")).ok()
    script = tone_microphone_script(PAGE_HERTZ)
    async with (
        certified_call_platform.open_window(guild.owner, "/app", init_script=script) as window,
        call_in_game(mary, lobby_id) as recorder,
    ):
        button = window.page.locator(".side").get_by_role("button", name="Call in Puddle")
        await button.click()
        await wait_call(window, mary.id)
        await recorder.wait_for_tone(guild.owner.id, PAGE_HERTZ)
        await wait_tone(window, mary.id, GAME_HERTZ)
        bar = window.page.locator(".side .call-bar")
        await expect(bar).to_contain_text("Puddle")
        await bar.get_by_role("button", name="Leave voice").click()
        await expect(button).to_be_enabled()
    await mary.client.close()


async def test_a_page_and_five_players_hear_each_other(certified_call_platform: ChatPlatform) -> None:
    names = ("mary", "ann", "zoe", "eve", "ida")
    guild, players, lobby_id = await create_lobby_with_players(certified_call_platform, *names)
    nora = guild.owner
    script = tone_microphone_script(PAGE_HERTZ)
    async with certified_call_platform.open_window(nora, general_path(guild), init_script=script) as window:
        participants = [
            CallParticipant(player, lobby_id, GAME_HERTZ + 200 * number) for number, player in enumerate(players)
        ]
        for participant in participants:
            await participant.wait_for_status(CallStatus.CONNECTED)
        await window.page.locator("hubbub-call-view").get_by_role("button", name="Join", exact=True).click()
        before = await wait_call(window, *(participant.id for participant in participants))
        for participant in participants:
            await wait_tone(window, participant.id, int(participant.tone.hertz))
            await participant.recorder.wait_for_tone(nora.id, PAGE_HERTZ)
        await wait_for_mutual_audio(*participants)
        after = await inspect_call(window)
        assert after is not None
        assert after["frames"]["failed"] == before["frames"]["failed"]
        for player in players:
            await player.client.end_call(lobby_id)
    for player in players:
        await player.client.close()
