"""The activity proxy with targets on the internet: TLS with a test authority, and names that change their address."""

import aiohttp
import pytest
from aiohttp import web

from hubbub.protocol.flags import ApplicationFlags
from hubbub.server.core.config import ActivitiesConfig
from tests.server.activities.conftest import run_server
from tests.server.activities.upstream import PROXY_HOST, ProxiedActivity, Upstream
from tests.server.core.isolated_network import (
    LOCAL_ADDRESS,
    OTHER_PUBLIC_ADDRESS,
    PUBLIC_ADDRESS,
    Authority,
    run_scenario,
    start_name_server,
    start_web_server,
)
from tests.world import small_config

pytestmark = [pytest.mark.program("unshare"), pytest.mark.program("ip")]


def test_targets_are_called_over_verified_tls_only() -> None:
    run_scenario(__name__, "targets_over_tls")


async def targets_over_tls(authority: Authority) -> None:
    await start_name_server(
        game_example=[[PUBLIC_ADDRESS]],
        other_example=[[PUBLIC_ADDRESS]],
        forged_example=[[OTHER_PUBLIC_ADDRESS]],
        rebinding_example=[[PUBLIC_ADDRESS], [LOCAL_ADDRESS]],
        private_example=[[LOCAL_ADDRESS]],
    )
    receivers: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        receivers.append(request.transport.get_extra_info("sockname")[0])
        if request.path == "/socket":
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            await socket.send_str(await socket.receive_str())
            await socket.close()
            return socket
        response = web.Response(text=f"{request.scheme}://{request.host}{request.path}")
        response.force_close()
        return response

    await start_web_server(handle, [PUBLIC_ADDRESS], 443, authority.server_context("game.example"))
    await start_web_server(handle, [PUBLIC_ADDRESS], 8443, authority.server_context("game.example", days=-1))
    await start_web_server(handle, [PUBLIC_ADDRESS], 8080)
    await start_web_server(handle, [PUBLIC_ADDRESS], 9443, authority.server_context("rebinding.example"))
    await start_web_server(handle, [LOCAL_ADDRESS], 9443, authority.server_context("rebinding.example"))
    await start_web_server(
        handle, [OTHER_PUBLIC_ADDRESS], 443, authority.server_context("forged.example", is_self_signed=True)
    )
    config = small_config(activities=ActivitiesConfig(proxy_host=PROXY_HOST))
    async with run_server(config) as world:
        activity = ProxiedActivity(world, await world.bot(flags=ApplicationFlags.EMBEDDED), Upstream())
        await activity.set_url_map(
            ("/other", "other.example"),
            ("/forged", "forged.example"),
            ("/expired", "game.example:8443"),
            ("/plain", "game.example:8080"),
            ("/rebinding", "rebinding.example:9443"),
            ("/private", "private.example"),
            ("/", "game.example"),
        )

        response = await activity.request("/level")
        assert (response.status, response.body) == (200, b"https://game.example/level")
        async with activity.connect("/socket") as socket:
            await socket.send_str("hello")
            assert (await socket.receive()).data == "hello"
        assert (await activity.request("/rebinding")).status == 200
        assert receivers == [PUBLIC_ADDRESS] * 3
        for path in ("/other", "/forged", "/expired", "/plain", "/rebinding", "/private"):
            assert (await activity.request(path)).status == 502, path
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await activity.connect(path)
        assert receivers == [PUBLIC_ADDRESS] * 3
