"""Activities of games on a machine, seen by a friend of the user (spec/rpc.md#8)."""

import asyncio
import sys
from typing import Any

import pytest

from hubbub.protocol import changes
from tests import oauth
from tests.machine import FRAME, Machine, NewMachine, Program
from tests.oauth import Client
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, Session, World, befriend

PUDDLE = {
    "details": "Jumping",
    "state": "In a puddle",
    "timestamps": {"start": 1_794_999_000},
    "assets": {"large_image": "boots", "large_text": "Boots"},
    "party": {"id": "party-1", "size": [1, 4]},
    "buttons": [{"label": "Watch", "url": "https://puddle.example/watch"}],
    "instance": True,
    "created_at": 5,
}


class Scene:
    """Mary's machine with a game on it, and her friend Zoe, who receives Mary's presence."""

    def __init__(self, world: World, machine: Machine, game: Client, mary: Actor, zoe: Actor, friend: Session) -> None:
        self.world, self.machine, self.game = world, machine, game
        self.mary, self.zoe, self.friend = mary, zoe, friend

    async def program(self) -> Program:
        """Connect as the game."""
        return await self.machine.connect_program(self.game.id)

    async def seen(self, matches: Any = lambda activities: True) -> list[dict[str, Any]]:
        """Wait for a presence of Mary that Zoe receives, and return its activities."""
        presence = await self.friend.next(
            "PRESENCE_UPDATE",
            lambda data: data["user"]["id"] == str(self.mary.id) and matches(data["activities"]),
        )
        activities: list[dict[str, Any]] = presence["activities"]
        return activities


async def create_scene(world: World, new_machine: NewMachine, **settings: Any) -> Scene:
    """The initial state of most tests."""
    mary, zoe = await world.user("mary"), await world.user("zoe")
    await befriend(mary, zoe)
    game = await oauth.create_application(world, name="Puddle")
    friend = await zoe.connect()
    machine = await new_machine(mary, started=False, **settings)
    machine.presence_seconds = 0.01
    await machine.start()
    return Scene(world, machine, game, mary, zoe, friend)


def names(activities: list[dict[str, Any]]) -> list[str]:
    return [activity["name"] for activity in activities]


async def test_a_friend_sees_an_activity_until_it_is_cleared(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    program = await stage.program()

    stored = await program.call("SET_ACTIVITY", {"pid": 0, "activity": PUDDLE})

    assert (stored["application_id"], stored["name"], stored["type"]) == (str(stage.game.id), "Puddle", 0)
    assert stored["timestamps"] == {"start": 1_794_999_000_000}
    assert (stored["buttons"], stored["metadata"]) == (["Watch"], {"button_urls": ["https://puddle.example/watch"]})
    assert stored["flags"] == 1
    assert "created_at" not in stored
    (activity,) = await stage.seen(bool)
    assert (activity["name"], activity["details"], activity["state"]) == ("Puddle", "Jumping", "In a puddle")
    assert (activity["timestamps"], activity["party"]) == (stored["timestamps"], PUDDLE["party"])
    assert (activity["assets"], activity["buttons"]) == (PUDDLE["assets"], ["Watch"])
    assert activity["application_id"] == str(stage.game.id)
    assert "metadata" not in activity

    assert await program.call("SET_ACTIVITY", {"pid": 0}) is None
    await stage.seen(lambda activities: not activities)


async def test_an_activity_ends_with_the_connection(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    program = await stage.program()
    await program.call("SET_ACTIVITY", {"activity": {"state": "here"}})
    await stage.seen(bool)

    program.close()

    await stage.seen(lambda activities: not activities)


@pytest.mark.skipif(sys.platform != "linux", reason="another system tells of it later")
async def test_an_activity_ends_with_its_process(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    program = await stage.program()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    await program.call("SET_ACTIVITY", {"pid": process.pid, "activity": {"state": "here"}})
    await stage.seen(bool)

    process.kill()
    await process.wait()

    await stage.seen(lambda activities: not activities)
    assert await program.call("SET_ACTIVITY", {"activity": {"state": "still connected"}})


async def test_several_activities_are_listed_newest_first(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    other = await oauth.create_application(world, name="Ladder")
    puddle, ladder = await stage.program(), await stage.machine.connect_program(other.id)

    await puddle.call("SET_ACTIVITY", {"activity": {"state": "first"}})
    await ladder.call("SET_ACTIVITY", {"activity": {"state": "second"}})
    assert names(await stage.seen(lambda activities: len(activities) == 2)) == ["Ladder", "Puddle"]
    await puddle.call("SET_ACTIVITY", {"activity": {"state": "again", "name": "Puddle 2"}})

    assert names(await stage.seen(lambda activities: "Puddle 2" in names(activities))) == ["Puddle 2", "Ladder"]


async def test_an_activity_is_sent_again_in_a_new_session(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    program = await stage.program()
    await program.call("SET_ACTIVITY", {"activity": {"state": "before"}})
    await stage.seen(bool)
    account = stage.machine.agent.account

    await account._gateway.restart_session()

    await stage.seen(lambda activities: not activities)
    assert [each["state"] for each in await stage.seen(bool)] == ["before"]
    await program.call("SET_ACTIVITY", {"activity": {"state": "after"}})
    await stage.seen(lambda activities: activities and activities[0]["state"] == "after")


async def test_an_activity_set_while_disconnected_is_sent_after_resume(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    program, account = await stage.program(), stage.machine.agent.account
    await program.call("SET_ACTIVITY", {"activity": {"state": "before"}})
    await stage.seen(bool)
    session_id, gateway = account.state.session_id, account._gateway
    back = asyncio.Event()

    async def wait(_: float) -> None:
        await back.wait()

    gateway.sleep = wait
    assert gateway._socket is not None
    await gateway._socket.close(code=4000)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while account.is_ready:
            await asyncio.sleep(0.01)
    assert (await program.call("SET_ACTIVITY", {"activity": {"state": "meanwhile"}}))["state"] == "meanwhile"
    back.set()

    await stage.seen(lambda activities: activities and activities[0]["state"] == "meanwhile")
    assert (account.state.session_id, gateway.session_id) == (session_id, session_id)


async def test_rapid_updates_send_only_the_latest_activity(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine, activity_window_seconds=3.0)
    program = await stage.program()

    for number in range(12):
        program.write(
            FRAME, {"cmd": "SET_ACTIVITY", "nonce": number, "args": {"activity": {"state": f"step {number}"}}}
        )
    for number in range(12):
        _, reply = await program.read()
        assert (reply["nonce"], reply["data"]["state"]) == (number, f"step {number}")

    await stage.seen(lambda activities: activities and activities[0]["state"] == "step 11")
    states = [
        each["d"]["activities"][0]["state"]
        for each in stage.friend.dispatches
        if each["t"] == "PRESENCE_UPDATE" and each["d"]["activities"]
    ]
    assert set(states) <= {"step 0", "step 1", "step 2", "step 3", "step 4", "step 11"}


@pytest.mark.dated(changes.SET_ACTIVITY_TYPES)
async def test_other_activity_types_are_accepted_from_25_july_2024(world: World, new_machine: NewMachine) -> None:
    stage = await create_scene(world, new_machine)
    now = world.clock.now_ms()
    world.clock.set(changes.SET_ACTIVITY_TYPES.at_ms - 1)
    before = await stage.program()

    assert await before.call_error("SET_ACTIVITY", {"activity": {"type": 2, "state": "a song"}}) == (
        4000,
        'child "activity" fails because [child "type" fails because ["type" must be one of [0]]]',
    )
    assert (await before.call("SET_ACTIVITY", {"activity": {"type": 0, "state": "a game"}}))["type"] == 0

    world.clock.set(changes.SET_ACTIVITY_TYPES.at_ms)
    after = await stage.program()
    for kind in (2, 3, 5):
        assert (await after.call("SET_ACTIVITY", {"activity": {"type": kind, "state": "a song"}}))["type"] == kind
    assert (await after.call_error("SET_ACTIVITY", {"activity": {"type": 1}}))[0] == 4000
    world.clock.set(now)
