"""Calls of pages on a platform of several processes, whose voice server is a process of its own."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, GatewayConfig
from tests.journeys.processes import running_server
from tests.third_party_files import needs_call_files
from tests.web.calls import call_button, join_call, tone_microphone_script, wait_call, wait_tone, wait_video
from tests.web.chat import ChatPlatform
from tests.web.conftest import open_pages_in
from tests.world import World

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(300), needs_call_files]


async def test_two_pages_exchange_audio_and_video_over_the_voice_server_of_another_process(
    browser: Any, tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    certificate_files = certificates.issue(tmp_path / "voice", [])
    shared_flags = ["--database-url", postgres_database, "--nats-url", nats_url, "--data", str(tmp_path / "data")]
    voice_flags = [
        "--roles",
        "voice",
        "--voice-certificate-file",
        str(certificate_files.certificate_path),
        "--voice-key-file",
        str(certificate_files.key_path),
    ]
    app = App(
        Config(
            database_url=postgres_database,
            nats_url=nats_url,
            rate_limits="off",
            port=0,
            roles=frozenset({"api", "gateway", "worker"}),
            gateway=GatewayConfig(drain_ms=0, max_concurrency=100),
        )
    )
    await app.start()
    try:
        async with (
            running_server(tmp_path, "serve", *voice_flags, "--worker", "1", *shared_flags) as voice_server,
            aiohttp.ClientSession() as client,
        ):
            world = World(app, client)
            # The certificate of the voice server is from a test authority that Chromium does not know.
            platform = ChatPlatform(world, None, open_pages_in(browser, ignore_https_errors=True))
            nora, tom = await world.user("nora"), await world.user("tom")
            guild = await world.guild(nora, tom)
            lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
            path = f"/app/channels/{guild.id}/{lounge_id}"
            async with (
                platform.open_window(nora, path, init_script=tone_microphone_script(440)) as nora_window,
                platform.open_window(tom, path, init_script=tone_microphone_script(880)) as tom_window,
            ):
                # Pages try the web listener first, which has no voice gateway here.
                nora_window.expected_errors = tom_window.expected_errors = ("Unexpected response code: 404",)
                endpoint = f"wss://{voice_server.document['voice']['endpoint']}/"
                sockets: list[str] = []
                nora_window.page.on("websocket", lambda socket: sockets.append(socket.url))
                await join_call(nora_window)
                await join_call(tom_window)
                nora_call, tom_call = await wait_call(nora_window, tom.id), await wait_call(tom_window, nora.id)
                assert nora_call["privacyCode"] == tom_call["privacyCode"]
                assert any(url.startswith(endpoint) for url in sockets)
                await wait_tone(nora_window, tom.id, 880)
                await wait_tone(tom_window, nora.id, 440)
                # The other process learns over NATS that Tom loses the permission.
                await call_button(tom_window, "Share screen").click()
                await wait_video(nora_window, tom.id, "Screen of tom")
                overwrite = {"type": OverwriteType.MEMBER, "deny": str(int(Permissions.STREAM))}
                (await nora.put(f"/channels/{lounge_id}/permissions/{tom.id}", json=overwrite)).ok()
                await nora_window.page.get_by_label("Screen of tom").wait_for(state="detached")
                await tom_window.page.get_by_text("Your video stopped").wait_for()
            await world.close()
    finally:
        await app.stop()
