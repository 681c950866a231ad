"""End-to-end encryption over the voice gateway, with davey as the client implementation."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import davey
import pytest

from hubbub.protocol import changes
from tests.server.voice.caller import SILENCE, Caller
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.test_resume import last_seq, resume_payload
from tests.server.voice.test_tickets import abort_connection, wait_connection_lost
from tests.world import Guild, World

PATIENCE = 60.0
"""Seconds to wait for a group. Many clients at once take long on a busy machine."""


class Member:
    """A caller that reads its socket continuously, as voice libraries do, and maintains its MLS group."""

    def __init__(self, caller: Caller, channel: int) -> None:
        self.caller = caller
        self.channel = channel
        self.dave = davey.DaveSession(1, caller.actor.id, channel)
        self.version = 0
        self.executed: list[int] = []
        self.key_packages_sent = 0
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self, **identify: Any) -> None:
        """Join the call."""
        await self.caller.join_and_connect(self.channel, **identify)
        await self.start()

    async def start(self) -> None:
        """Send a key package if the call is encrypted, and start reading."""
        self.version = self.caller.description["dave_protocol_version"]
        if self.version:
            await self._offer()
        self.read()

    def read(self) -> None:
        """Start reading the socket."""
        self._task = asyncio.create_task(self._read())

    async def stop(self) -> None:
        """Stop reading the socket."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _offer(self) -> None:
        self.key_packages_sent += 1
        await self.caller.socket.send_bytes(b"\x1a" + self.dave.get_serialized_key_package())

    async def _read(self) -> None:
        # Start with the frames that the caller received before.
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
            result = self.dave.process_proposals(kind, data[1:])
            if result is not None:
                await self.caller.socket.send_bytes(b"\x1c" + result.commit + (result.welcome or b""))
        elif op in (29, 30):
            transition = int.from_bytes(data[:2], "big")
            (self.dave.process_commit if op == 29 else self.dave.process_welcome)(data[2:])
            if transition:
                await self.caller.send_json(23, {"transition_id": transition})
        elif op == 21:
            if data["transition_id"]:
                await self.caller.send_json(23, {"transition_id": data["transition_id"]})
            self.version = data["protocol_version"]
        elif op == 22:
            self.executed.append(data["transition_id"])
        elif op == 24:
            self.version = data["protocol_version"]
            self.dave.reinit(1, self.caller.actor.id, self.channel)
            await self._offer()

    async def wait_group(self, *members: "Member") -> None:
        """Wait until the MLS group has exactly these members."""
        expected = {member.caller.actor.id for member in members}
        async with asyncio.timeout(PATIENCE):
            while not (self.dave.ready and {int(user) for user in self.dave.get_user_ids() or ()} == expected):
                self._moved.clear()
                await self._moved.wait()

    async def until(self, condition: Any) -> None:
        """Wait until a condition holds; it is checked after each frame."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._moved.clear()
                await self._moved.wait()

    async def require_decrypts(self, other: "Member", text: bytes) -> None:
        """Assert that an encrypted frame of another member arrives and can be decrypted."""
        other.caller.send(bytes(other.dave.encrypt_opus(text)))
        ssrc, frame = await self.caller.receive_media()
        assert ssrc == other.caller.ready["ssrc"]
        assert text not in frame
        assert bytes(self.dave.decrypt(other.caller.actor.id, davey.MediaType.audio, frame)) == text


MakeMember = Callable[..., Coroutine[Any, Any, Member]]


@pytest.fixture
async def members(call: MakeCaller, guild: Guild) -> AsyncIterator[MakeMember]:
    """Factory of members, by default in the lounge."""
    created: list[Member] = []

    async def create(channel: int | None = None) -> Member:
        member = Member(await call(), channel or guild.channels["Lounge"])
        created.append(member)
        return member

    yield create
    for member in created:
        if member._task is not None:
            await member.stop()


async def test_members_decrypt_each_other_while_others_join_and_leave(members: MakeMember) -> None:
    alice, bob, carol = await members(), await members(), await members()
    await alice.enter()
    await bob.enter()
    for one, other in ((alice, bob), (bob, alice)):
        await one.wait_group(alice, bob)
        await one.require_decrypts(other, b"two of us")
    await carol.enter()
    for member in (alice, bob, carol):
        await member.wait_group(alice, bob, carol)
    assert alice.dave.voice_privacy_code == bob.dave.voice_privacy_code == carol.dave.voice_privacy_code
    alice.caller.send(bytes(alice.dave.encrypt_opus(b"all of us")))
    for member in (bob, carol):
        _, frame = await member.caller.receive_media()
        assert bytes(member.dave.decrypt(alice.caller.actor.id, davey.MediaType.audio, frame)) == b"all of us"
    # The external sender is sent once, after the session description.
    ops = alice.caller.ops()
    assert ops.index(4) < ops.index(25)
    assert ops.count(25) == 1
    await carol.stop()
    await carol.caller.socket.close(code=1000)
    for one, other in ((alice, bob), (bob, alice)):
        await one.wait_group(alice, bob)
        await one.require_decrypts(other, b"two again")


async def test_no_plain_frame_is_forwarded_before_the_group_is_ready(world: World, members: MakeMember) -> None:
    alice, bob = await members(), await members()
    for member in (alice, bob):
        await member.caller.join_and_connect(member.channel)
    alice.caller.send(b"plain")
    alice.caller.send(SILENCE)
    assert await bob.caller.receive_media() == (alice.caller.ready["ssrc"], SILENCE)
    for member in (alice, bob):
        await member.start()
    for member in (alice, bob):
        await member.wait_group(alice, bob)
    await bob.require_decrypts(alice, b"secret")


async def test_a_resumed_member_catches_up_with_the_group(world: World, members: MakeMember) -> None:
    alice, bob, carol = await members(), await members(), await members()
    for member in (alice, bob):
        await member.enter()
    for member in (alice, bob):
        await member.wait_group(alice, bob)
        await member.until(lambda member=member: member.executed)
    await bob.stop()
    seq = last_seq(bob.caller)
    abort_connection(bob.caller)
    await wait_connection_lost(world, bob.caller)
    await carol.enter()
    await alice.wait_group(alice, bob, carol)
    await bob.caller.open()
    await bob.caller.send_json(7, resume_payload(bob.caller, seq_ack=seq))
    await bob.caller.next(9)
    bob.read()
    await bob.wait_group(alice, bob, carol)
    await bob.require_decrypts(carol, b"welcome back")
    await carol.require_decrypts(bob, b"thank you")


async def test_a_client_without_encryption_disables_it_until_it_leaves(
    world: World, guild: Guild, members: MakeMember
) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    alice, bob, old = await members(), await members(), await members()
    for member in (alice, bob):
        await member.enter()
    for member in (alice, bob):
        await member.wait_group(alice, bob)
    await old.caller.join_and_connect(old.channel, max_dave_protocol_version=0)
    assert old.caller.description["dave_protocol_version"] == 0
    for member in (alice, bob):
        await member.until(lambda member=member: member.version == 0)
    alice.caller.send(b"in the clear")
    assert await old.caller.receive_media() == (alice.caller.ready["ssrc"], b"in the clear")
    assert await bob.caller.receive_media() == (alice.caller.ready["ssrc"], b"in the clear")
    begins = [member.key_packages_sent for member in (alice, bob)]
    await old.caller.socket.close(code=1000)
    for member, before in zip((alice, bob), begins, strict=True):
        await member.until(lambda member=member, before=before: member.key_packages_sent > before)
        await member.wait_group(alice, bob)
    await bob.require_decrypts(alice, b"secret again")


async def test_invalid_group_messages_have_no_effect(members: MakeMember) -> None:
    alice, bob = await members(), await members()
    for member in (alice, bob):
        await member.enter()
    for member in (alice, bob):
        await member.wait_group(alice, bob)
    for frame in (b"\x1a", b"\x1c", b"\x1a" + b"\xff" * 500, b"\x1c" + bytes(1000)):
        await alice.caller.socket.send_bytes(frame)
    await alice.caller.send_json(23, {"transition_id": 4711})
    await bob.require_decrypts(alice, b"still here")
    await alice.require_decrypts(bob, b"me too")


async def test_many_members_join_at_once(members: MakeMember) -> None:
    everyone = [await members() for _ in range(8)]
    for member in everyone:
        await member.caller.join(member.channel)

    async def join(member: Member) -> None:
        await member.caller.open()
        await member.caller.identify()
        await member.caller.discover()
        await member.caller.select()
        await member.caller.send_json(5, {"speaking": 1, "delay": 0, "ssrc": member.caller.ready["ssrc"]})
        await member.start()

    await asyncio.gather(*(join(member) for member in everyone))
    # Two leave while the group is still being created.
    leaving, staying = everyone[:2], everyone[2:]
    for member in leaving:
        await member.stop()
        await member.caller.socket.close(code=1000)
    for member in staying:
        await member.wait_group(*staying)
    staying[0].caller.send(bytes(staying[0].dave.encrypt_opus(b"still here?")))
    for member in staying[1:]:
        _, frame = await member.caller.receive_media()
        assert bytes(member.dave.decrypt(staying[0].caller.actor.id, davey.MediaType.audio, frame)) == b"still here?"
