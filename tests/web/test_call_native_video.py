"""Video between a page and a native client in an end-to-end encrypted call."""

import asyncio

import pytest

from hubbub.protocol.enums import ChannelType
from tests.server.voice.caller import Caller
from tests.server.voice.encrypted_caller import EncryptedCaller
from tests.web.calls import TIMEOUT_SECONDS, call_button, inspect_call, join_call, wait_call, wait_video
from tests.web.chat import ChatPlatform
from tests.web.native_video import BLUE, GREEN, RED, NativeVideo

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300)]

PICTURE_COUNT = 10


async def test_a_page_and_a_native_client_show_each_others_video(call_platform: ChatPlatform) -> None:
    world = call_platform.world
    nora, tom = await world.user("nora"), await world.user("tom")
    guild = await world.guild(nora, tom)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    caller = Caller(world, await tom.connect(), guild)
    native = EncryptedCaller(caller, lounge_id)
    await native.join_and_connect()
    async with call_platform.open_window(nora, f"/app/channels/{guild.id}/{lounge_id}") as window:
        await join_call(window)
        await wait_call(window, tom.id)
        video = NativeVideo(native)
        await video.announce()
        sending_task = asyncio.create_task(video.send())
        try:
            await wait_video(window, tom.id, "Camera of tom")
            await call_button(window, "Turn on camera").click()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                pixels = await video.receive_pictures(nora.id, PICTURE_COUNT)
            await wait_video(window, tom.id, "Camera of tom")
        finally:
            sending_task.cancel()
            await asyncio.gather(sending_task, return_exceptions=True)
        # The fake camera of Chromium shows a green picture.
        assert all(pixel[GREEN] > 40 and pixel[GREEN] > max(pixel[RED], pixel[BLUE]) for pixel in pixels), pixels
        state = await inspect_call(window)
        assert state is not None
        assert state["frames"]["failed"] == 0
    await native.stop()
    await caller.close()
