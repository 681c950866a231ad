"""End-to-end encryption over the voice gateway, with davey as the client implementation."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import davey
import pytest

from hubbub.protocol import changes
from hubbub.protocol.voice import VoiceOpcode
from tests.server.voice.caller import SILENCE, abort_connection, last_seq, resume_payload, wait_connection_lost
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.encrypted_caller import EncryptedCaller
from tests.world import Guild, World

MakeEncryptedCaller = Callable[..., Coroutine[Any, Any, EncryptedCaller]]


@pytest.fixture
async def make_member(make_caller: MakeCaller, guild: Guild) -> AsyncIterator[MakeEncryptedCaller]:
    """A function that creates a caller with end-to-end encryption for a channel, by default the lounge."""
    created_callers: list[EncryptedCaller] = []

    async def create(channel_id: int | None = None) -> EncryptedCaller:
        member = EncryptedCaller(await make_caller(), channel_id or guild.channels["Lounge"])
        created_callers.append(member)
        return member

    yield create
    for member in created_callers:
        if member._task is not None:
            await member.stop()


async def test_members_decrypt_each_other_while_others_join_and_leave(make_member: MakeEncryptedCaller) -> None:
    alice, bob, carol = await make_member(), await make_member(), await make_member()
    await alice.join_and_connect()
    await bob.join_and_connect()
    for receiver, sender in ((alice, bob), (bob, alice)):
        await receiver.wait_group_members(alice, bob)
        await receiver.assert_decrypts(sender, b"two of us")
    await carol.join_and_connect()
    for member in (alice, bob, carol):
        await member.wait_group_members(alice, bob, carol)
    assert (
        alice.dave_session.voice_privacy_code
        == bob.dave_session.voice_privacy_code
        == carol.dave_session.voice_privacy_code
    )
    alice.caller.send_frame(bytes(alice.dave_session.encrypt_opus(b"all of us")))
    for member in (bob, carol):
        _, frame = await member.caller.receive_media()
        assert bytes(member.dave_session.decrypt(alice.caller.actor.id, davey.MediaType.audio, frame)) == b"all of us"
    # The external sender is sent once, after the session description.
    opcodes = alice.caller.opcodes()
    assert opcodes.index(VoiceOpcode.SESSION_DESCRIPTION) < opcodes.index(VoiceOpcode.MLS_EXTERNAL_SENDER)
    assert opcodes.count(VoiceOpcode.MLS_EXTERNAL_SENDER) == 1
    await carol.stop()
    await carol.caller.socket.close(code=1000)
    for receiver, sender in ((alice, bob), (bob, alice)):
        await receiver.wait_group_members(alice, bob)
        await receiver.assert_decrypts(sender, b"two again")


async def test_no_plain_frame_is_forwarded_before_the_group_is_ready(
    world: World, make_member: MakeEncryptedCaller
) -> None:
    alice, bob = await make_member(), await make_member()
    for member in (alice, bob):
        await member.caller.join_and_connect(member.channel_id)
    alice.caller.send_frame(b"plain")
    alice.caller.send_frame(SILENCE)
    assert await bob.caller.receive_media() == (alice.caller.ready["ssrc"], SILENCE)
    for member in (alice, bob):
        await member.start_encryption()
    for member in (alice, bob):
        await member.wait_group_members(alice, bob)
    await bob.assert_decrypts(alice, b"secret")


async def test_a_resumed_member_catches_up_with_the_group(world: World, make_member: MakeEncryptedCaller) -> None:
    alice, bob, carol = await make_member(), await make_member(), await make_member()
    for member in (alice, bob):
        await member.join_and_connect()
    for member in (alice, bob):
        await member.wait_group_members(alice, bob)
        await member.wait_until(lambda member=member: member.executed_transition_ids)
    await bob.stop()
    seq = last_seq(bob.caller)
    abort_connection(bob.caller)
    await wait_connection_lost(world, bob.caller)
    await carol.join_and_connect()
    await alice.wait_group_members(alice, bob, carol)
    await bob.caller.open_socket()
    await bob.caller.send_json(VoiceOpcode.RESUME, resume_payload(bob.caller, seq_ack=seq))
    await bob.caller.next(VoiceOpcode.RESUMED)
    bob.start_reading()
    await bob.wait_group_members(alice, bob, carol)
    await bob.assert_decrypts(carol, b"welcome back")
    await carol.assert_decrypts(bob, b"thank you")


async def test_a_client_without_encryption_disables_it_until_it_leaves(
    world: World, guild: Guild, make_member: MakeEncryptedCaller
) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    alice, bob, plain_member = await make_member(), await make_member(), await make_member()
    for member in (alice, bob):
        await member.join_and_connect()
    for member in (alice, bob):
        await member.wait_group_members(alice, bob)
    await plain_member.caller.join_and_connect(plain_member.channel_id, max_dave_protocol_version=0)
    assert plain_member.caller.session_description["dave_protocol_version"] == 0
    for member in (alice, bob):
        await member.wait_until(lambda member=member: member.version == 0)
    alice.caller.send_frame(b"in the clear")
    assert await plain_member.caller.receive_media() == (alice.caller.ready["ssrc"], b"in the clear")
    assert await bob.caller.receive_media() == (alice.caller.ready["ssrc"], b"in the clear")
    packages_before = [member.key_packages_sent for member in (alice, bob)]
    await plain_member.caller.socket.close(code=1000)
    for member, before in zip((alice, bob), packages_before, strict=True):
        await member.wait_until(lambda member=member, before=before: member.key_packages_sent > before)
        await member.wait_group_members(alice, bob)
    await bob.assert_decrypts(alice, b"secret again")


async def test_invalid_group_messages_have_no_effect(make_member: MakeEncryptedCaller) -> None:
    alice, bob = await make_member(), await make_member()
    for member in (alice, bob):
        await member.join_and_connect()
    for member in (alice, bob):
        await member.wait_group_members(alice, bob)
    for frame in (b"\x1a", b"\x1c", b"\x1a" + b"\xff" * 500, b"\x1c" + bytes(1000)):
        await alice.caller.socket.send_bytes(frame)
    await alice.caller.send_json(VoiceOpcode.DAVE_TRANSITION_READY, {"transition_id": 4711})
    await bob.assert_decrypts(alice, b"still here")
    await alice.assert_decrypts(bob, b"me too")


async def test_many_members_join_in_parallel(make_member: MakeEncryptedCaller) -> None:
    members = [await make_member() for _ in range(8)]
    for member in members:
        await member.caller.join(member.channel_id)

    async def join(member: EncryptedCaller) -> None:
        await member.caller.open_socket()
        await member.caller.identify()
        await member.caller.discover_ip()
        await member.caller.select_protocol()
        await member.caller.send_json(
            VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": member.caller.ready["ssrc"]}
        )
        await member.start_encryption()

    await asyncio.gather(*(join(member) for member in members))
    # Two members leave while the group is still being created.
    leaving_members, staying_members = members[:2], members[2:]
    for member in leaving_members:
        await member.stop()
        await member.caller.socket.close(code=1000)
    for member in staying_members:
        await member.wait_group_members(*staying_members)
    staying_members[0].caller.send_frame(bytes(staying_members[0].dave_session.encrypt_opus(b"still here?")))
    for member in staying_members[1:]:
        _, frame = await member.caller.receive_media()
        assert (
            bytes(member.dave_session.decrypt(staying_members[0].caller.actor.id, davey.MediaType.audio, frame))
            == b"still here?"
        )
