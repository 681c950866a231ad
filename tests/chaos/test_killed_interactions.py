"""kill -9 while interactions are delivered to an endpoint: each of them succeeds or fails after the restart."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hubbub.protocol.enums import InteractionCallbackType, InteractionType
from tests.journeys.processes import Server, demo_users
from tests.journeys.test_many_processes import repeat_until_true
from tests.receiver import Receiver
from tests.world import wait_until

pytestmark = [pytest.mark.crash, pytest.mark.xdist_group("crash")]

INTERACTION_COUNT = 5


async def test_interactions_of_a_killed_process_succeed_or_fail(tmp_path: Path, receiver: Receiver) -> None:
    server = Server(tmp_path, "dev", "--data", str(tmp_path / "data"), "--rate-limits", "off")
    try:
        async with aiohttp.ClientSession() as client:
            await server.start()
            users = demo_users(client, server)
            alice, bot = users["alice"], users["demo-bot"]
            application = (await bot.get("/applications/@me")).ok()
            receiver.use_verify_key_of(application)
            endpoint = {"interactions_endpoint_url": receiver.events_url.replace("/events", "/interactions")}
            (await bot.request("PATCH", "/applications/@me", json=endpoint)).ok()
            guild = server.document["guilds"]["Town Square"]
            commands_path = f"/applications/{application['id']}/guilds/{guild['id']}/commands"
            command = (await bot.post(commands_path, {"name": "greet", "description": "says hello"})).ok()
            channel_id = guild["channels"]["general"]

            receiver.interaction_handler = receiver.never_respond
            for number in range(INTERACTION_COUNT):
                body = {
                    "type": InteractionType.APPLICATION_COMMAND,
                    "application_id": application["id"],
                    "guild_id": guild["id"],
                    "channel_id": channel_id,
                    "nonce": str(number),
                    "data": {"id": command["id"], "name": "greet"},
                }
                assert (await alice.post("/interactions", body)).status == 204
            # On a busy machine, an interaction can fail before it is delivered: an application has three seconds.
            await wait_until(lambda: receiver.interactions)
            server.kill()

            message = {"type": InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, "data": {"content": "back"}}
            receiver.interaction_handler = lambda _: web.json_response(message)
            await server.start()
            users = demo_users(client, server)

            async def list_ended_ids() -> list[str]:
                """Return the IDs of the interactions that have a response, and of those that failed."""
                path = f"/applications/{application['id']}/interactions/failed"
                failures: list[Any] = (await users["demo-bot"].get(path)).ok()
                messages: list[Any] = (await users["alice"].get(f"/channels/{channel_id}/messages")).ok()
                response_ids = [each["interaction_metadata"]["id"] for each in messages if each["content"] == "back"]
                return [*(failure["id"] for failure in failures), *response_ids]

            async def have_ended() -> bool:
                return len(await list_ended_ids()) >= INTERACTION_COUNT

            await repeat_until_true(have_ended)
            ended_ids = await list_ended_ids()
            assert len(ended_ids) == len(set(ended_ids)) == INTERACTION_COUNT
            assert {each["id"] for each in receiver.interactions} <= set(ended_ids)
    finally:
        server.stop()
