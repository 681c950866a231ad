"""Addresses of browsers: forged connectivity checks do not redirect media, and a browser that moves is followed."""

import asyncio
from typing import Any

import pytest

from hubbub.server.transports.voice.webrtc import browsers
from hubbub.server.transports.voice.webrtc.browsers import ADDRESSES_MAX
from tests.server.voice.caller import Caller, DatagramQueue, fake_encrypted_frame
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.webrtc.browser import (
    BINDING_REQUEST,
    BINDING_RESPONSE,
    ICE_PASSWORD,
    Browser,
    binding_response,
    is_rtcp,
    is_rtp,
)
from tests.server.voice.webrtc.conftest import MakeBrowser
from tests.time_bounds import time_bound
from tests.world import Guild, World

MARK, MARK_RESPONSE = b"\x13\x37\xca\xfemark", b"\x13\x37\xf0\x0dmark"
MOVE_SECONDS_MAX = 1.0
"""Time in seconds in which the server follows a browser after its first check from another address."""


class Attacker:
    """A UDP socket of a host that observes the packets of a browser."""

    def __init__(self) -> None:
        self.datagrams = DatagramQueue()
        self.transport: Any = None

    async def open(self, browser: Browser) -> "Attacker":
        """Open a socket to the server of a browser."""
        ip, port = browser.described_attribute("candidate").split()[4:6]
        self.transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: self.datagrams, remote_addr=(ip, int(port))
        )
        return self

    @property
    def address(self) -> tuple[str, int]:
        """The address that the server sees."""
        address: tuple[str, int] = self.transport.get_extra_info("sockname")
        return address

    async def receive_earlier(self) -> list[bytes]:
        """Return the datagrams received before the response to a ping; the server has then read all earlier packets."""
        self.transport.sendto(MARK)
        earlier: list[bytes] = []
        while (data := await self.datagrams.received.get()) != MARK_RESPONSE:
            earlier.append(data)
        return earlier


def transport_of(world: World, browser: Browser) -> Any:
    """Return the transport of a browser on the server."""
    assert world.app.voice is not None
    transport = world.app.voice.calls._sessions[browser.caller.guild.id, browser.caller.actor.id].peer.browser
    assert transport is not None
    return transport


async def connect_native_and_browser(
    make_caller: MakeCaller, make_browser: MakeBrowser, guild: Guild
) -> tuple[Caller, Browser]:
    """Connect a native client and a browser to one channel."""
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.join_and_connect(guild.channels["Lounge"])
    return native, browser


async def assert_browser_receives(native: Caller, browser: Browser, text: str) -> None:
    """Send a frame and assert that it is the next one that the browser receives."""
    native.send_frame(fake_encrypted_frame(text))
    assert (await browser.receive_media())[1] == fake_encrypted_frame(text)


async def test_a_copied_check_from_another_address_does_not_redirect_media(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    attacker = await Attacker().open(browser)
    copied_check = browser.build_check()
    browser.send(copied_check)
    await browser.receive(lambda data: data[:2] == BINDING_RESPONSE)
    for number in range(5):
        attacker.transport.sendto(copied_check)
        received_packets = await attacker.receive_earlier()
        # The server sends at most as much as it received.
        assert sum(map(len, received_packets)) <= len(copied_check)
        for packet in received_packets:
            # The attacker does not know the password, and a copy of another response has another transaction.
            attacker.transport.sendto(binding_response(packet, "wrong password"))
        await assert_browser_receives(native, browser, f"frame {number}")
        assert not any(is_rtp(data) for data in await attacker.receive_earlier())
    assert not transport_of(world, browser).has_proven(attacker.address)


async def test_a_response_from_another_address_than_the_request_was_sent_to_proves_nothing(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    victim, attacker = await Attacker().open(browser), await Attacker().open(browser)
    victim.transport.sendto(browser.build_check())
    attacker.transport.sendto(browser.build_check())
    (victim_request,), (attacker_request,) = await victim.receive_earlier(), await attacker.receive_earlier()
    assert victim_request[:2] == attacker_request[:2] == BINDING_REQUEST
    # A member that forges the address of a victim receives only the request that was sent to its own address.
    victim.transport.sendto(binding_response(attacker_request, ICE_PASSWORD))
    attacker.transport.sendto(binding_response(victim_request, ICE_PASSWORD))
    await victim.receive_earlier()
    await attacker.receive_earlier()
    await assert_browser_receives(native, browser, "not redirected")
    transport = transport_of(world, browser)
    assert not transport.has_proven(victim.address)
    assert not transport.has_proven(attacker.address)


async def test_a_browser_that_moves_receives_at_the_new_address_after_one_round_trip(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    old_transport, old_datagrams = browser.transport, browser.datagrams
    assert old_transport is not None
    browser.datagrams = DatagramQueue()
    await browser.open_udp()
    browser.send(browser.build_check())
    request = await browser.receive(lambda data: data[:2] == BINDING_REQUEST)
    native.send_frame(fake_encrypted_frame("not yet proven"))
    while not is_rtp(packet := await old_datagrams.received.get()) or is_rtcp(packet):
        pass
    assert browser.dtls.srtp_session is not None
    assert browser.dtls.srtp_session.unprotect(packet)[12:] == fake_encrypted_frame("not yet proven")
    async with time_bound(MOVE_SECONDS_MAX):
        browser.send(binding_response(request, ICE_PASSWORD))
        browser.send(MARK)
        await browser.receive(lambda data: data == MARK_RESPONSE)
        await assert_browser_receives(native, browser, "proven")
    # The check that the server answered with a request is repeated by browsers, and gets a response.
    await browser.send_connectivity_check()
    # A copy of a check with the address that the browser has left as its source does not move the media back.
    old_transport.sendto(browser.build_check())
    await assert_browser_receives(native, browser, "still here")
    old_transport.close()


async def test_a_lost_request_is_repeated_at_a_later_check(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    old_transport = browser.transport
    assert old_transport is not None
    await browser.open_udp()
    browser.send(browser.build_check())
    await browser.receive(lambda data: data[:2] == BINDING_REQUEST)
    # Until the server may repeat the request, checks get responses.
    browser.send(browser.build_check())
    await browser.receive(lambda data: data[:2] == BINDING_RESPONSE)
    monkeypatch.setattr(browsers, "PROOF_INTERVAL_SECONDS", 0.0)
    browser.send(browser.build_check())
    request = await browser.receive(lambda data: data[:2] == BINDING_REQUEST)
    browser.send(binding_response(request, ICE_PASSWORD))
    browser.send(MARK)
    await browser.receive(lambda data: data == MARK_RESPONSE)
    await assert_browser_receives(native, browser, "after a loss")
    old_transport.close()


async def test_checks_without_nomination_move_a_browser_whose_address_is_silent(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    old_transport = browser.transport
    assert old_transport is not None
    await browser.open_udp()
    # The response shows that the server needs no proof, because it keeps the address.
    browser.send(browser.build_check(use_candidate=False))
    assert (await browser.receive(lambda data: not is_rtp(data)))[:2] == BINDING_RESPONSE
    monkeypatch.setattr(browsers, "SILENCE_SECONDS", 0.0)
    await browser.send_connectivity_check(use_candidate=False)
    await assert_browser_receives(native, browser, "moved")
    old_transport.close()


async def test_an_offer_without_password_keeps_the_address_of_the_handshake(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await make_caller(), await make_browser()
    await native.join_and_connect(guild.channels["Lounge"])
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    await browser.select_protocol(data=browser.offer().replace(f"a=ice-pwd:{ICE_PASSWORD}\r\n", ""))
    await browser.open_udp()
    await browser.send_connectivity_check()
    await browser.handshake()
    await assert_browser_receives(native, browser, "first address")
    other = await Attacker().open(browser)
    other.transport.sendto(browser.build_check())
    (response,) = await other.receive_earlier()
    assert response[:2] == BINDING_RESPONSE
    await assert_browser_receives(native, browser, "same address")


async def test_checks_from_many_addresses_are_bounded_and_do_not_displace_the_browser(
    world: World, guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    attackers = [await Attacker().open(browser) for _ in range(3 * ADDRESSES_MAX)]
    for attacker in attackers:
        attacker.transport.sendto(browser.build_check())
        await attacker.receive_earlier()
    transport = transport_of(world, browser)
    assert len(transport.addresses) == len(transport._browsers.by_address) == ADDRESSES_MAX
    assert {attacker.address for attacker in attackers[1 - ADDRESSES_MAX :]} < set(transport.addresses)
    browser.send_frame(fake_encrypted_frame("still accepted"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("still accepted")
    await assert_browser_receives(native, browser, "still sent")


async def test_a_browser_cannot_take_over_the_address_of_another_client(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, browser = await connect_native_and_browser(make_caller, make_browser, guild)
    attacker = await make_browser()
    await attacker.join_and_connect(guild.channels["Lounge"])
    # The checks of the attacker have the source addresses of the other clients.
    native.send_datagram(attacker.build_check())
    browser.send(attacker.build_check())
    await native.wait_packets_read()
    native.send_frame(fake_encrypted_frame("from the native client"))
    assert (await browser.receive_media())[1] == fake_encrypted_frame("from the native client")
    browser.send_frame(fake_encrypted_frame("from the browser"))
    assert (await native.receive_media())[1] == fake_encrypted_frame("from the browser")


async def test_a_browser_takes_back_an_address_that_another_one_has_not_proven(
    guild: Guild, make_caller: MakeCaller, make_browser: MakeBrowser
) -> None:
    native, attacker = await connect_native_and_browser(make_caller, make_browser, guild)
    browser = await make_browser()
    await browser.caller.join(guild.channels["Lounge"])
    await browser.caller.open_socket()
    await browser.caller.identify()
    await browser.select_protocol()
    await browser.open_udp()
    browser.send(attacker.build_check())
    await browser.receive(lambda data: data[:2] == BINDING_REQUEST)
    await browser.send_connectivity_check()
    await browser.handshake()
    await assert_browser_receives(native, browser, "to the owner of the address")
