"""Calls of lobbies in the chat client of a player: joined from the linked channel or from the list of conversations."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from hubbub.protocol.enums import ChannelType
from hubbub.server.commands import certificates
from hubbub.server.core.config import VoiceConfig
from tests.sdk.audio import AudioRecorder, Tone
from tests.sdk.players import Player
from tests.third_party_files import HAS_CALL_FILES, MISSING_REASON
from tests.web.calls import call_button, inspect_call, tone_microphone_script, wait_call, wait_tone
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import OpenPage, run_platform
from tests.web.settings import accessibility_problems
from tests.web.test_chat_linked_channels import create_linked_channel
from tests.world import small_config

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]

PAGE_HERTZ, GAME_HERTZ = 440, 1000


@pytest_asyncio.fixture(loop_scope="session")
async def call_platform(open_page: OpenPage, tmp_path: Path) -> AsyncIterator[ChatPlatform]:
    """A platform whose voice server has a certificate that games verify."""
    if not HAS_CALL_FILES:
        pytest.skip(MISSING_REASON)
    issued = certificates.issue(tmp_path / "voice", [])
    voice = VoiceConfig(
        certificate_file=str(issued.certificate), key_file=str(issued.key), ca_file=str(issued.authority)
    )
    async with run_platform(open_page, small_config(voice=voice)) as platform:
        yield platform


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
    call_platform: ChatPlatform, width: int
) -> None:
    guild, mary, lobby_id = await create_linked_channel(call_platform)
    nora = guild.owner
    script = tone_microphone_script(PAGE_HERTZ)
    async with call_platform.open_window(nora, general_path(guild), init_script=script, width=width) as window:
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


async def test_a_player_starts_the_call_and_changes_to_a_voice_channel(call_platform: ChatPlatform) -> None:
    guild, mary, lobby_id = await create_linked_channel(call_platform)
    await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    changes = mary.record_event("voice_participant_changed")
    script = tone_microphone_script(PAGE_HERTZ)
    async with call_platform.open_window(guild.owner, general_path(guild), init_script=script) as window:
        page = window.page
        await page.get_by_role("button", name="Start or join the call of the game").click()
        assert await changes.next() == (lobby_id, guild.owner.id, True)
        await expect(page.locator(".side .call-bar").get_by_text("Voice connected")).to_be_visible()
        # A worker that is loading its files when the call ends reports an error.
        assert await inspect_call(window) is not None
        await page.locator(".side").get_by_role("link", name="lounge").click()
        assert await changes.next() == (lobby_id, guild.owner.id, False)
        await expect(page.locator("hubbub-call-view .tile")).to_have_count(1)
        await expect(page.locator(".side .call-bar")).to_contain_text("lounge")
        await expect(page.locator(".side .call-bar").get_by_text("Voice connected")).to_be_visible()
        assert await inspect_call(window) is not None
    await mary.client.close()


async def test_guild_members_without_a_place_in_the_lobby_see_no_call(call_platform: ChatPlatform) -> None:
    guild, mary, lobby_id = await create_linked_channel(call_platform)
    member = await guild.member()
    async with (
        call_platform.open_window(member, general_path(guild)) as window,
        call_in_game(mary, lobby_id),
    ):
        await window.send("hello")
        await expect(window.page.locator("hubbub-call-view")).to_be_hidden()
        await expect(window.page.get_by_role("button", name="Start or join the call of the game")).to_have_count(0)
    await mary.client.close()


async def test_the_call_of_a_lobby_without_a_channel_is_joined_from_the_conversations(
    call_platform: ChatPlatform,
) -> None:
    guild, mary, lobby_id = await create_linked_channel(call_platform)
    (await guild.owner.delete(f"/channels/{guild.general}/linked-lobby")).ok()
    script = tone_microphone_script(PAGE_HERTZ)
    async with (
        call_platform.open_window(guild.owner, "/app", init_script=script) as window,
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
