"""Events that a gateway process missed: sessions that start at the same time use the current state of their guilds."""

import asyncio

from tests.world import World


async def test_a_session_after_lost_events_receives_messages_of_a_channel_that_it_missed(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    await alice.connect()
    bus, database = world.app.bus, world.app.database

    # A second session is starting: it waits for the bus after it has joined its guild.
    flush, flush_count = bus.flush, 0
    wait_event, continue_event = asyncio.Event(), asyncio.Event()

    async def flush_and_wait() -> None:
        nonlocal flush_count
        flush_count += 1
        if flush_count == 2:
            wait_event.set()
            await continue_event.wait()
        await flush()

    bus.flush = flush_and_wait  # type: ignore[method-assign]
    starting_task = asyncio.create_task(bob.connect())
    await wait_event.wait()

    # The event of a new channel is lost, and the bus reports the gap.
    publish = database.on_commit
    database.on_commit = lambda dispatches: None
    body = {"name": "missed"}
    channel_id = (await alice.post(f"/guilds/{guild.id}/channels", json=body)).ok()["id"]
    database.on_commit = publish
    bus.notify_gap()

    session = await alice.connect()
    continue_event.set()
    starting_task.cancel()
    await asyncio.gather(starting_task, return_exceptions=True)
    await alice.post(f"/channels/{channel_id}/messages", json={"content": "hello"})
    await session.wait_delivered()
    assert [frame["d"]["content"] for frame in session.dispatches if frame["t"] == "MESSAGE_CREATE"] == ["hello"]
