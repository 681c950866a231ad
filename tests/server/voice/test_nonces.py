"""Nonces of packets: a key encrypts no two packets with the same nonce, and a session ends before its key is exhausted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.media import ciphers
from hubbub.media.ciphers import CIPHERS, NUMBER_RESERVE, PACKETS_MAX, SERVER_FIRST_NUMBERS, KeyExhausted
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.voice import ENCRYPTION_MODES
from hubbub.server.transports.voice import sfu
from hubbub.server.transports.voice.peers import Peer
from tests.server.voice.caller import Caller, encrypt_packet, fake_encrypted_frame
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.test_packets import connect_two_callers
from tests.server.voice.webrtc.test_browsers import wait_dropped
from tests.world import Guild, World

COUNTING_MODES = [mode for mode, cipher in CIPHERS.items() if cipher.packet_number_bits == 32]
HEADER = bytes.fromhex("807800010000000100000004")


def read_number(packet: bytes) -> int:
    """Return the packet number at the end of a packet."""
    return int.from_bytes(packet[-4:], "big")


@pytest.mark.parametrize("mode", COUNTING_MODES)
@pytest.mark.parametrize("is_server", [False, True])
def test_a_key_that_is_exhausted_encrypts_nothing(mode: str, is_server: bool) -> None:
    cipher = CIPHERS[mode](bytes(32), is_server=is_server)
    first_number = read_number(cipher.encrypt(HEADER, b"frame"))
    assert first_number == cipher.first_number
    assert not cipher.has_few_numbers
    cipher._sent_count = PACKETS_MAX - 3
    assert cipher.has_few_numbers
    last_numbers = [read_number(cipher.encrypt(HEADER, b"frame")) for _ in range(2)]
    last_numbers.append(read_number(cipher.encrypt_control(HEADER)))
    assert last_numbers == [(first_number + PACKETS_MAX - left) % 2**32 for left in (3, 2, 1)]
    for _ in range(3):
        with pytest.raises(KeyExhausted):
            cipher.encrypt(HEADER, b"frame")
        with pytest.raises(KeyExhausted):
            cipher.encrypt_control(HEADER)


@pytest.mark.parametrize("mode", COUNTING_MODES)
def test_the_server_starts_far_from_clients_and_each_key_starts_elsewhere(mode: str) -> None:
    first_numbers = {CIPHERS[mode](bytes(32), is_server=True).first_number for _ in range(100)}
    assert len(first_numbers) > 90
    assert min(first_numbers) > SERVER_FIRST_NUMBERS.start >= 2**30
    assert max(first_numbers) <= SERVER_FIRST_NUMBERS.stop <= 2**32 - 2**30
    assert CIPHERS[mode](bytes(32)).first_number == 1


@given(
    first=st.integers(0, 2**32 - 1),
    sent_count=st.integers(0, 40),
    offset=st.integers(-100, 100),
    length=st.integers(0, 40),
    reserve=st.integers(1, 20),
)
def test_numbers_of_both_sides_are_near_within_the_reserve(
    first: int, sent_count: int, offset: int, length: int, reserve: int
) -> None:
    cipher = CIPHERS[ENCRYPTION_MODES[0]](bytes(32), is_server=True)
    cipher.first_number, cipher._sent_count = first, sent_count
    remote = {(first + offset + step) % 2**32 for step in range(length + 1)}
    near = {(first + step) % 2**32 for step in range(-reserve, sent_count + reserve + 1)}
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(ciphers, "NUMBER_RESERVE", reserve)
        is_near = cipher.has_number_near((first + offset) % 2**32, (first + offset + length) % 2**32)
    assert is_near == bool(near & remote)


def peer_of(world: World, caller: Caller) -> Peer:
    """Return the media state of a caller on the server."""
    assert world.app.voice is not None
    return world.app.voice.calls._sessions[caller.guild.id, caller.actor.id].peer


@pytest.fixture
def _short_report_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server check its keys often, as it does with each report."""
    monkeypatch.setattr(sfu, "REPORT_INTERVAL_SECONDS", 0.05)


async def assert_new_key(sender: Caller, receiver: Caller) -> None:
    """Assert that the server ends the session of the receiver, and that it gets packets with another key."""
    assert await receiver.wait_close_code() == VoiceCloseCode.SESSION_NO_LONGER_VALID
    old_key = receiver.secret_key
    await receiver.connect_with_ticket(receiver.mode)
    await receiver.heartbeat()
    assert receiver.secret_key != old_key
    sender.send_frame(fake_encrypted_frame("with a new key"))
    assert await receiver.receive_media() == (sender.ready["ssrc"], fake_encrypted_frame("with a new key"))


@pytest.mark.usefixtures("_short_report_interval")
@pytest.mark.parametrize("mode", ENCRYPTION_MODES)
async def test_a_session_gets_a_new_key_before_the_server_has_used_its_numbers(
    world: World, guild: Guild, make_caller: MakeCaller, mode: str
) -> None:
    sender, receiver = await connect_two_callers(make_caller, guild, mode, mode)
    cipher = peer_of(world, receiver).cipher
    assert cipher is not None
    cipher._sent_count = PACKETS_MAX - NUMBER_RESERVE
    await assert_new_key(sender, receiver)


@pytest.mark.usefixtures("_short_report_interval")
@pytest.mark.parametrize("mode", ENCRYPTION_MODES)
async def test_a_session_gets_a_new_key_before_the_client_uses_numbers_of_the_server(
    world: World, guild: Guild, make_caller: MakeCaller, mode: str
) -> None:
    sender, receiver = await connect_two_callers(make_caller, guild, mode, mode)
    cipher = peer_of(world, receiver).cipher
    assert cipher is not None
    # Some libraries keep their counter when they connect again.
    receiver.last_nonce = cipher.first_number - NUMBER_RESERVE
    receiver.send_frame(fake_encrypted_frame("near the numbers of the server"))
    await assert_new_key(sender, receiver)


@pytest.mark.parametrize("mode", ENCRYPTION_MODES)
async def test_the_server_drops_packets_that_would_need_a_used_number(
    world: World, guild: Guild, make_caller: MakeCaller, mode: str
) -> None:
    sender, receiver = await connect_two_callers(make_caller, guild, mode, mode)
    cipher = peer_of(world, receiver).cipher
    assert cipher is not None
    cipher._sent_count = PACKETS_MAX - 1
    for number in range(5):
        header = HEADER[:2] + number.to_bytes(2, "big") + HEADER[4:8] + sender.ready["ssrc"].to_bytes(4, "big")
        sender.send_datagram(encrypt_packet(mode, sender.secret_key, header, fake_encrypted_frame(f"{number}"), number))
    assert (await receiver.receive_media())[1] == fake_encrypted_frame("0")
    await wait_dropped(world, "unsent", 4)
