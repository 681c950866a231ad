"""Unmodified pypresence, `Presence` and `Client`, against the agent (spec/rpc.md#11)."""

import asyncio
from typing import Any

import pypresence
import pytest

from tests.agent.setups import create_presence_setup
from tests.machine import NewMachine
from tests.world import WAIT_TIMEOUT_SECONDS, World

pytestmark = pytest.mark.clients


async def test_a_friend_sees_the_activity_set_by_pypresence(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = await create_presence_setup(world, new_machine)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(setup.machine.directory))
    replies: list[Any] = []
    activity_seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run_library() -> None:
        presence = pypresence.Presence(str(setup.game.id))
        presence.connect()
        replies.append(
            presence.update(
                state="In a puddle",
                details="Jumping",
                start=1_794_999_000,
                large_image="boots",
                large_text="Boots",
                party_id="party-1",
                party_size=[1, 4],
                buttons=[{"label": "Watch", "url": "https://puddle.example"}],
            )
        )
        asyncio.run_coroutine_threadsafe(activity_seen.wait(), loop).result(30)
        replies.append(presence.clear())
        presence.close()

    library_task = asyncio.create_task(asyncio.to_thread(run_library))
    (activity,) = await setup.wait_activities(bool)
    activity_seen.set()
    await setup.wait_activities(lambda activities: not activities)
    await library_task

    assert (activity["name"], activity["state"], activity["details"]) == ("Puddle", "In a puddle", "Jumping")
    assert (activity["party"], activity["buttons"]) == ({"id": "party-1", "size": [1, 4]}, ["Watch"])
    assert activity["timestamps"] == {"start": 1_794_999_000_000}
    assert replies[0]["data"]["application_id"] == str(setup.game.id)
    assert replies[1]["data"] is None


async def test_pypresence_raises_the_agents_errors(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = await create_presence_setup(world, new_machine)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(setup.machine.directory))

    def connect_unknown_application() -> None:
        pypresence.Presence("5").connect()

    def set_short_state() -> None:
        presence = pypresence.Presence(str(setup.game.id))
        presence.connect()
        try:
            presence.update(state="x")
        finally:
            presence.close()

    with pytest.raises(pypresence.exceptions.InvalidID):
        await asyncio.to_thread(connect_unknown_application)
    with pytest.raises(pypresence.exceptions.ServerError, match="length must be at least 2 characters long"):
        await asyncio.to_thread(set_short_state)


async def test_the_pypresence_client_authorizes_and_reads_guilds(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = await create_presence_setup(world, new_machine)
    guild = await world.guild(setup.mary, name="Town Square")
    account = setup.machine.agent.account
    assert await account.wait_until(lambda: str(guild.id) in account.state.guilds, WAIT_TIMEOUT_SECONDS)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(setup.machine.directory))
    await world.write(
        lambda call: call.tx.run("INSERT INTO approved_scopes (application_id, scope) VALUES (?, 'rpc')", setup.game.id)
    )
    loop = asyncio.get_running_loop()

    def exchange(code: str) -> str:
        exchange_future = asyncio.run_coroutine_threadsafe(setup.game.exchange(code), loop)
        token: str = exchange_future.result(30).ok()["access_token"]
        return token

    def run_library() -> list[Any]:
        client = pypresence.Client(str(setup.game.id))
        client.start()
        code = client.authorize(str(setup.game.id), ["rpc", "identify"])["data"]["code"]
        authentication = client.authenticate(exchange(code))["data"]
        guilds = client.get_guilds()["data"]["guilds"]
        channels = client.get_channels(str(guild.id))["data"]["channels"]
        general = client.get_channel(str(guild.general))["data"]
        client.subscribe("GUILD_STATUS", {"guild_id": str(guild.id)})
        activity = client.set_activity(state="looking around")["data"]
        client.close()
        return [authentication, guilds, channels, general, activity]

    authentication, guilds, channels, general, activity = await asyncio.to_thread(run_library)

    assert authentication["user"]["id"] == str(setup.mary.id)
    assert set(authentication["scopes"]) == {"rpc", "identify"}
    assert [(view["id"], view["name"]) for view in guilds] == [(str(guild.id), "Town Square")]
    assert str(guild.general) in [channel["id"] for channel in channels]
    assert (general["name"], general["guild_id"]) == ("general", str(guild.id))
    assert activity["state"] == "looking around"
