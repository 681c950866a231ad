"""Unmodified voice clients in end-to-end encrypted calls through the voice server: each receives the other's frames."""

import asyncio

import pytest

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import Permissions
from tests.clients.client_setup import TIMEOUT_SECONDS, ClientSetup
from tests.clients.discord_js_bot import JS_FOLDER, NODE, run_js_bot
from tests.clients.voice_calls import FRAME_COUNT, authority_path, run_voice_bots, sent_frames, sort_frames

VERIFICATION_CODE_DIGITS = 30

pytestmark = pytest.mark.timeout(300)


async def test_two_discord_py_bots_receive_each_others_audio_also_after_a_move(setup: ClientSetup) -> None:
    second_bot = await setup.world.bot(setup.guild, name="echo", permissions=Permissions.ADMINISTRATOR)
    den_channel_id = await setup.guild.channel("Den", type=ChannelType.GUILD_VOICE)
    lounge_id = setup.guild.channels["General"]
    user_ids, code = [setup.bot.id, second_bot.id], ""
    async with run_voice_bots(setup, setup.bot, second_bot) as voice_bots:
        for index in range(2):
            await voice_bots.run_step(index, "join", channel_id=lounge_id)
        for channel_id in (lounge_id, den_channel_id):
            if channel_id == den_channel_id:
                for index, user_id in enumerate(user_ids):
                    path = f"/guilds/{setup.guild.id}/members/{user_id}"
                    (await setup.alice.patch(path, json={"channel_id": str(den_channel_id)})).ok()
                    # The bots are moved one after the other, because the library's reader fails if its socket closes
                    # while it handles the departure of the other bot.
                    await voice_bots.run_step(index, "wait_moved")
            code = await voice_bots.wait_same_code(channel_id, code)
            assert len(code) == VERIFICATION_CODE_DIGITS
            for sender, receiver in ((0, 1), (1, 0)):
                assert (
                    await voice_bots.run_step(sender, "send_frames", count=FRAME_COUNT)
                    == "aead_xchacha20_poly1305_rtpsize"
                )
                received_frames = await voice_bots.run_step(
                    receiver, "receive_frames", user_id=user_ids[sender], count=FRAME_COUNT
                )
                assert sort_frames(received_frames) == sent_frames(voice_bots.bots[sender])
        for index in range(2):
            await voice_bots.run_step(index, "leave")
    assert (await setup.alice.get(f"/guilds/{setup.guild.id}/voice-states/{second_bot.id}")).status == 404


@pytest.mark.skipif(
    NODE is None or not (JS_FOLDER / "node_modules" / "@discordjs" / "voice").is_dir(),
    reason="@discordjs/voice is not installed: make client-deps",
)
async def test_discord_py_and_discord_js_receive_each_others_audio(setup: ClientSetup) -> None:
    second_bot = await setup.world.bot(setup.guild, name="echo", permissions=Permissions.ADMINISTRATOR)
    lounge_id = setup.guild.channels["General"]
    environment = {"NODE_EXTRA_CA_CERTS": authority_path(setup)}
    async with (
        run_voice_bots(setup, setup.bot) as voice_bots,
        run_js_bot(setup, second_bot.token, environment) as js_bot,
    ):
        await js_bot.wait_event("clientReady")
        await voice_bots.run_step(0, "join", channel_id=lounge_id)
        await js_bot.run_step("joinCall", guild=str(setup.guild.id), channel=str(lounge_id))
        code = await voice_bots.run_step(
            0, "wait_encrypted", channel_id=lounge_id, user_ids=[setup.bot.id, second_bot.id]
        )
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await js_bot.run_step("verificationCode") != code:
                await asyncio.sleep(0.05)
        await js_bot.run_step("recordFrames", user=str(setup.bot.id))
        await voice_bots.run_step(0, "send_frames", count=FRAME_COUNT)
        received_frames = await js_bot.run_step("receiveFrames", user=str(setup.bot.id), count=FRAME_COUNT)
        assert sort_frames(received_frames) == sent_frames(setup.bot)
        await js_bot.run_step("sendFrames", count=FRAME_COUNT)
        received_frames = await voice_bots.run_step(0, "receive_frames", user_id=second_bot.id, count=FRAME_COUNT)
        assert sort_frames(received_frames) == sent_frames(second_bot)
        await js_bot.run_step("leaveCall")
        await voice_bots.run_step(0, "leave")
