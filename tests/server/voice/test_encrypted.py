"""End-to-end encryption through the voice gateway, with davey on the clients' side."""

import asyncio
from typing import Any

import davey
import pytest

from hubbub.protocol import changes
from tests.server.voice.caller import SILENCE, Caller
from tests.server.voice.conftest import Call
from tests.server.voice.test_resume import last_seq, resume_payload
from tests.server.voice.test_tickets import cut, lost
from tests.world import Guild, World

PATIENCE = 60.0
"""Many members at once cost a busy machine its time, most of it on the clients' side."""


class Member:
    """A caller whose socket is read all the time, as libraries do, and whose group follows what comes."""

    def __init__(self, caller: Caller, channel: int) -> None:
        self.caller = caller
        self.channel = channel
        self.dave = davey.DaveSession(1, caller.actor.id, channel)
        self.version = 0
        self.executed: list[int] = []
        self.begins = 0
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self, **identify: Any) -> None:
        """Come into the call."""
        await self.caller.enter(self.channel, **identify)
        await self.begin()

    async def begin(self) -> None:
        """The key is there."""
        self.version = self.caller.description["dave_protocol_version"]
        if self.version:
            await self._offer()
        self.read()

    def read(self) -> None:
        """Begin to read."""
        self._task = asyncio.create_task(self._read())

    async def stop(self) -> None:
        """Read no more."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _offer(self) -> None:
        self.begins += 1
        await self.caller.socket.send_bytes(b"\x1a" + self.dave.get_serialized_key_package())

    async def _read(self) -> None:
        # What came while the helper waited for something else.
        position = self.caller.position
        while True:
            while position < len(self.caller.frames):
                await self._take(self.caller.frames[position])
                position += 1
                self._moved.set()
            await self.caller.frame()

    async def _take(self, frame: Any) -> None:
        op, data = (frame[1], frame[2]) if isinstance(frame, tuple) else (frame["op"], frame["d"])
        if op == 25:
            self.dave.set_external_sender(data)
        elif op == 27:
            kind = davey.ProposalsOperationType.append if data[0] == 0 else davey.ProposalsOperationType.revoke
            made = self.dave.process_proposals(kind, data[1:])
            if made is not None:
                await self.caller.socket.send_bytes(b"\x1c" + made.commit + (made.welcome or b""))
        elif op in (29, 30):
            transition = int.from_bytes(data[:2], "big")
            (self.dave.process_commit if op == 29 else self.dave.process_welcome)(data[2:])
            if transition:
                await self.caller.say(23, {"transition_id": transition})
        elif op == 21:
            if data["transition_id"]:
                await self.caller.say(23, {"transition_id": data["transition_id"]})
            self.version = data["protocol_version"]
        elif op == 22:
            self.executed.append(data["transition_id"])
        elif op == 24:
            self.version = data["protocol_version"]
            self.dave.reinit(1, self.caller.actor.id, self.channel)
            await self._offer()

    async def secured(self, *people: "Member") -> None:
        """Wait until one group has exactly these."""
        wanted = {member.caller.actor.id for member in people}
        async with asyncio.timeout(PATIENCE):
            while not (self.dave.ready and {int(user) for user in self.dave.get_user_ids() or ()} == wanted):
                self._moved.clear()
                await self._moved.wait()

    async def until(self, what: Any) -> None:
        """Wait for something that a frame brings about."""
        async with asyncio.timeout(PATIENCE):
            while not what():
                self._moved.clear()
                await self._moved.wait()

    async def hears(self, other: "Member", text: bytes) -> None:
        """What another says arrives, and can be opened."""
        other.caller.send(bytes(other.dave.encrypt_opus(text)))
        ssrc, frame = await self.caller.hear()
        assert ssrc == other.caller.ready["ssrc"]
        assert text not in frame
        assert bytes(self.dave.decrypt(other.caller.actor.id, davey.MediaType.audio, frame)) == text


@pytest.fixture
async def members(call: Call, guild: Guild) -> Any:
    """Makes members of the call in the lounge."""
    made: list[Member] = []

    async def make(channel: int | None = None) -> Member:
        member = Member(await call(), channel or guild.channels["Lounge"])
        made.append(member)
        return member

    yield make
    for member in made:
        if member._task is not None:
            await member.stop()


async def test_members_come_and_go_and_those_there_hear_each_other(members: Any) -> None:
    alice, bob, carol = await members(), await members(), await members()
    await alice.enter()
    await bob.enter()
    for one, other in ((alice, bob), (bob, alice)):
        await one.secured(alice, bob)
        await one.hears(other, b"two of us")
    await carol.enter()
    for member in (alice, bob, carol):
        await member.secured(alice, bob, carol)
    assert alice.dave.voice_privacy_code == bob.dave.voice_privacy_code == carol.dave.voice_privacy_code
    alice.caller.send(bytes(alice.dave.encrypt_opus(b"all of us")))
    for member in (bob, carol):
        _, frame = await member.caller.hear()
        assert bytes(member.dave.decrypt(alice.caller.actor.id, davey.MediaType.audio, frame)) == b"all of us"
    # Each was told of the newcomer before the group was.
    ops = alice.caller.ops()
    assert ops.index(4) < ops.index(25)
    assert ops.count(25) == 1
    await carol.stop()
    await carol.caller.socket.close(code=1000)
    for one, other in ((alice, bob), (bob, alice)):
        await one.secured(alice, bob)
        await one.hears(other, b"two again")


async def test_before_the_group_is_ready_nothing_plain_is_forwarded(world: World, members: Any) -> None:
    alice, bob = await members(), await members()
    for member in (alice, bob):
        await member.caller.enter(member.channel)
    alice.caller.send(b"plain")
    alice.caller.send(SILENCE)
    assert await bob.caller.hear() == (alice.caller.ready["ssrc"], SILENCE)
    for member in (alice, bob):
        await member.begin()
    for member in (alice, bob):
        await member.secured(alice, bob)
    await bob.hears(alice, b"secret")


async def test_who_is_away_for_a_moment_follows_the_group(world: World, members: Any) -> None:
    alice, bob, carol = await members(), await members(), await members()
    for member in (alice, bob):
        await member.enter()
    for member in (alice, bob):
        await member.secured(alice, bob)
        await member.until(lambda member=member: member.executed)
    await bob.stop()
    seen = last_seq(bob.caller)
    cut(bob.caller)
    await lost(world, bob.caller)
    await carol.enter()
    await alice.secured(alice, bob, carol)
    await bob.caller.open()
    await bob.caller.say(7, resume_payload(bob.caller, seq_ack=seen))
    await bob.caller.next(9)
    bob.read()
    await bob.secured(alice, bob, carol)
    await bob.hears(carol, b"welcome back")
    await carol.hears(bob, b"thank you")


async def test_a_client_without_it_turns_it_off_and_on_again(world: World, guild: Guild, members: Any) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    alice, bob, old = await members(), await members(), await members()
    for member in (alice, bob):
        await member.enter()
    for member in (alice, bob):
        await member.secured(alice, bob)
    await old.caller.enter(old.channel, max_dave_protocol_version=0)
    assert old.caller.description["dave_protocol_version"] == 0
    for member in (alice, bob):
        await member.until(lambda member=member: member.version == 0)
    alice.caller.send(b"in the clear")
    assert await old.caller.hear() == (alice.caller.ready["ssrc"], b"in the clear")
    assert await bob.caller.hear() == (alice.caller.ready["ssrc"], b"in the clear")
    begun = [member.begins for member in (alice, bob)]
    await old.caller.socket.close(code=1000)
    for member, before in zip((alice, bob), begun, strict=True):
        await member.until(lambda member=member, before=before: member.begins > before)
        await member.secured(alice, bob)
    await bob.hears(alice, b"secret again")


async def test_nonsense_about_the_group_changes_nothing(members: Any) -> None:
    alice, bob = await members(), await members()
    for member in (alice, bob):
        await member.enter()
    for member in (alice, bob):
        await member.secured(alice, bob)
    for frame in (b"\x1a", b"\x1c", b"\x1a" + b"\xff" * 500, b"\x1c" + bytes(1000)):
        await alice.caller.socket.send_bytes(frame)
    await alice.caller.say(23, {"transition_id": 4711})
    await bob.hears(alice, b"still here")
    await alice.hears(bob, b"me too")


async def test_many_at_once(members: Any) -> None:
    people = [await members() for _ in range(8)]
    for member in people:
        await member.caller.get_ticket(member.channel)

    async def come(member: Member) -> None:
        await member.caller.open()
        await member.caller.identify()
        await member.caller.discover()
        await member.caller.select()
        await member.caller.say(5, {"speaking": 1, "delay": 0, "ssrc": member.caller.ready["ssrc"]})
        await member.begin()

    await asyncio.gather(*(come(member) for member in people))
    # Two leave while the others are still finding each other.
    gone, stay = people[:2], people[2:]
    for member in gone:
        await member.stop()
        await member.caller.socket.close(code=1000)
    for member in stay:
        await member.secured(*stay)
    stay[0].caller.send(bytes(stay[0].dave.encrypt_opus(b"who is there?")))
    for member in stay[1:]:
        _, frame = await member.caller.hear()
        assert bytes(member.dave.decrypt(stay[0].caller.actor.id, davey.MediaType.audio, frame)) == b"who is there?"
