"""Activities that games set through the agent, as a friend of the user receives them (spec/rpc.md#8)."""

import asyncio
import sys
from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ActivityType, CloseCode
from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.rpc import RpcErrorCode
from tests import oauth
from tests.agent.setups import create_presence_setup
from tests.machine import FRAME, NewMachine
from tests.world import WAIT_TIMEOUT_SECONDS, World

ACTIVITY = {
    "details": "Jumping",
    "state": "In a puddle",
    "timestamps": {"start": 1_794_999_000},
    "assets": {"large_image": "boots", "large_text": "Boots"},
    "party": {"id": "party-1", "size": [1, 4]},
    "buttons": [{"label": "Watch", "url": "https://puddle.example/watch"}],
    "instance": True,
    "created_at": 5,
}


def activity_names(activities: list[dict[str, Any]]) -> list[str]:
    return [activity["name"] for activity in activities]


async def test_a_friend_sees_an_activity_until_it_is_cleared(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    program = await setup.connect_program()

    stored_activity = await program.call("SET_ACTIVITY", {"pid": 0, "activity": ACTIVITY})

    assert (stored_activity["application_id"], stored_activity["name"], stored_activity["type"]) == (
        str(setup.game.id),
        "Puddle",
        ActivityType.PLAYING,
    )
    assert stored_activity["timestamps"] == {"start": 1_794_999_000_000}
    assert (stored_activity["buttons"], stored_activity["metadata"]) == (
        ["Watch"],
        {"button_urls": ["https://puddle.example/watch"]},
    )
    assert stored_activity["flags"] == ActivityFlags.INSTANCE
    assert "created_at" not in stored_activity
    (activity,) = await setup.wait_activities(bool)
    assert (activity["name"], activity["details"], activity["state"]) == ("Puddle", "Jumping", "In a puddle")
    assert (activity["timestamps"], activity["party"]) == (stored_activity["timestamps"], ACTIVITY["party"])
    assert (activity["assets"], activity["buttons"]) == (ACTIVITY["assets"], ["Watch"])
    assert activity["application_id"] == str(setup.game.id)
    assert "metadata" not in activity

    assert await program.call("SET_ACTIVITY", {"pid": 0}) is None
    await setup.wait_activities(lambda activities: not activities)


async def test_an_activity_ends_with_the_connection(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    program = await setup.connect_program()
    await program.call("SET_ACTIVITY", {"activity": {"state": "here"}})
    await setup.wait_activities(bool)

    program.close()

    await setup.wait_activities(lambda activities: not activities)


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="requires Linux: other systems have no pidfd, so the agent notices the end of a process late",
)
async def test_an_activity_ends_with_its_process(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    program = await setup.connect_program()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    await program.call("SET_ACTIVITY", {"pid": process.pid, "activity": {"state": "here"}})
    await setup.wait_activities(bool)

    process.kill()
    await process.wait()

    await setup.wait_activities(lambda activities: not activities)
    assert await program.call("SET_ACTIVITY", {"activity": {"state": "still connected"}})


async def test_several_activities_are_listed_newest_first(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    ladder_game = await oauth.create_application(world, name="Ladder")
    puddle_program, ladder_program = await setup.connect_program(), await setup.machine.connect_program(ladder_game.id)

    await puddle_program.call("SET_ACTIVITY", {"activity": {"state": "first"}})
    await ladder_program.call("SET_ACTIVITY", {"activity": {"state": "second"}})
    assert activity_names(await setup.wait_activities(lambda activities: len(activities) == 2)) == ["Ladder", "Puddle"]
    await puddle_program.call("SET_ACTIVITY", {"activity": {"state": "again", "name": "Puddle 2"}})

    assert activity_names(await setup.wait_activities(lambda activities: "Puddle 2" in activity_names(activities))) == [
        "Puddle 2",
        "Ladder",
    ]


async def test_an_activity_is_sent_again_in_a_new_session(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    program = await setup.connect_program()
    await program.call("SET_ACTIVITY", {"activity": {"state": "before"}})
    await setup.wait_activities(bool)
    account = setup.machine.agent.account

    await account._gateway.restart_session()

    await setup.wait_activities(lambda activities: not activities)
    assert [activity["state"] for activity in await setup.wait_activities(bool)] == ["before"]
    await program.call("SET_ACTIVITY", {"activity": {"state": "after"}})
    await setup.wait_activities(lambda activities: activities and activities[0]["state"] == "after")


async def test_an_activity_set_while_disconnected_is_sent_after_resume(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    program, account = await setup.connect_program(), setup.machine.agent.account
    await program.call("SET_ACTIVITY", {"activity": {"state": "before"}})
    await setup.wait_activities(bool)
    session_id, gateway = account.state.session_id, account._gateway
    reconnect_event = asyncio.Event()

    async def wait_before_reconnect(_: float) -> None:
        await reconnect_event.wait()

    gateway.sleep = wait_before_reconnect
    assert gateway._socket is not None
    await gateway._socket.close(code=CloseCode.UNKNOWN_ERROR)
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while account.is_ready:
            await asyncio.sleep(0.01)
    assert (await program.call("SET_ACTIVITY", {"activity": {"state": "meanwhile"}}))["state"] == "meanwhile"
    reconnect_event.set()

    await setup.wait_activities(lambda activities: activities and activities[0]["state"] == "meanwhile")
    assert (account.state.session_id, gateway.session_id) == (session_id, session_id)


async def test_rapid_updates_send_only_the_latest_activity(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine, activity_window_seconds=3.0)
    program = await setup.connect_program()

    for number in range(12):
        program.write(
            FRAME, {"cmd": "SET_ACTIVITY", "nonce": number, "args": {"activity": {"state": f"step {number}"}}}
        )
    for number in range(12):
        _, reply = await program.read()
        assert (reply["nonce"], reply["data"]["state"]) == (number, f"step {number}")

    await setup.wait_activities(lambda activities: activities and activities[0]["state"] == "step 11")
    states = [
        dispatch["d"]["activities"][0]["state"]
        for dispatch in setup.zoe_session.dispatches
        if dispatch["t"] == "PRESENCE_UPDATE" and dispatch["d"]["activities"]
    ]
    assert set(states) <= {"step 0", "step 1", "step 2", "step 3", "step 4", "step 11"}


@pytest.mark.dated(changes.SET_ACTIVITY_TYPES)
async def test_other_activity_types_are_accepted_from_25_july_2024(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    original_now_ms = world.clock.now_ms()
    world.clock.set(changes.SET_ACTIVITY_TYPES.at_ms - 1)
    program_before = await setup.connect_program()

    assert await program_before.call_error(
        "SET_ACTIVITY", {"activity": {"type": ActivityType.LISTENING, "state": "a song"}}
    ) == (
        RpcErrorCode.INVALID_PAYLOAD,
        'child "activity" fails because [child "type" fails because ["type" must be one of [0]]]',
    )
    assert (await program_before.call("SET_ACTIVITY", {"activity": {"type": ActivityType.PLAYING, "state": "a game"}}))[
        "type"
    ] == ActivityType.PLAYING

    world.clock.set(changes.SET_ACTIVITY_TYPES.at_ms)
    program_after = await setup.connect_program()
    for activity_type in (ActivityType.LISTENING, ActivityType.WATCHING, ActivityType.COMPETING):
        assert (await program_after.call("SET_ACTIVITY", {"activity": {"type": activity_type, "state": "a song"}}))[
            "type"
        ] == activity_type
    code, _ = await program_after.call_error("SET_ACTIVITY", {"activity": {"type": ActivityType.STREAMING}})
    assert code == RpcErrorCode.INVALID_PAYLOAD
    world.clock.set(original_now_ms)
