"""Permission changes that pass through the store, because the bus does not confirm them."""

import asyncio

from hubbub.server.core.auth import ACTOR_CHANGED
from hubbub.server.core.bus import LocalBus
from hubbub.server.core.change_relay import GUILD_GAP, STORED_CHANGES_MAX, ChangeRelay
from hubbub.server.core.event_dispatch import NODES_SUBJECT, Dispatch, GuildAudience, UserAudience
from hubbub.server.core.store import Database

ROLE_UPDATE = Dispatch(event="GUILD_ROLE_UPDATE", body=b"{}", audience=GuildAudience(7), refresh="guild")
LOGOUT = Dispatch(event=ACTOR_CHANGED.name, body=b'{"user_id":"3","revoked":[4]}', audience=UserAudience.of(3))
MESSAGE = Dispatch(event="MESSAGE_CREATE", body=b"{}", audience=GuildAudience(7, channel_id=8))


def make_relay(database: Database, bus: LocalBus[Dispatch]) -> ChangeRelay:
    return ChangeRelay(database, bus, poll_seconds=0.01, stale_seconds=0.2, confirm_seconds=0.01)


class SilentBus(LocalBus[Dispatch]):
    """A bus that cannot reach other processes."""

    is_healthy = False

    async def flush(self) -> None:
        await asyncio.Event().wait()


async def test_other_processes_handle_a_stored_change_before_it_is_settled(database: Database) -> None:
    disconnected_relay, other_bus = make_relay(database, SilentBus()), LocalBus[Dispatch]()
    other_relay = make_relay(database, other_bus)
    received: list[Dispatch] = []
    for subject in ("guild.7", "user.3", NODES_SUBJECT):
        other_bus.subscribe(subject, received.append)
    await other_relay.start()
    await disconnected_relay.start()
    try:
        for dispatch in (MESSAGE, ROLE_UPDATE, ROLE_UPDATE, LOGOUT):
            disconnected_relay.record(dispatch)
        await disconnected_relay.settle()
        # The guild has one gap, the internal event arrives on each of its subjects, and the message is not relayed.
        assert [dispatch.event for dispatch in received] == [GUILD_GAP, ACTOR_CHANGED.name, ACTOR_CHANGED.name]
        assert received[1].body == LOGOUT.body
        received.clear()
        await disconnected_relay.settle()
        assert received == []
    finally:
        await disconnected_relay.close()
        await other_relay.close()


async def test_a_process_that_missed_too_many_changes_reports_a_gap(database: Database) -> None:
    disconnected_relay, other_bus = make_relay(database, SilentBus()), LocalBus[Dispatch]()
    gap = asyncio.Event()
    other_bus.on_gap(gap.set)
    other_relay = make_relay(database, other_bus)
    await other_relay.start()
    try:
        for number in range(STORED_CHANGES_MAX + 1):
            disconnected_relay.record(Dispatch(event="_TEST", body=b"null", audience=UserAudience.of(number)))
        await disconnected_relay.settle()
        async with asyncio.timeout(30):
            await gap.wait()
    finally:
        await other_relay.close()


async def test_cached_permissions_are_not_used_while_the_store_cannot_be_read(database: Database) -> None:
    relay = make_relay(database, LocalBus())
    await relay.start()
    try:
        assert relay.is_current
        await database.close()
        async with asyncio.timeout(30):
            while relay.is_current:
                await asyncio.sleep(0.01)
    finally:
        await relay.close()
