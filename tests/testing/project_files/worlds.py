"""Tests of separate worlds: isolation, configuration, rate limits, the clock and faults.

`test_plugin.py` runs this file in a separate project."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hubbub.protocol.control.snapshots import LIST_FORKS
from hubbub.testing import EventNotReceived, Platform, RequestRejected
from hubbub.testing.process import PlatformProcess

SHARED_STATE: dict[str, Any] = {}
"""Values of one test that a later test compares with its own."""


def test_a_first_test_changes_its_world(hubbub: Platform) -> None:
    alice = hubbub.users["alice"]
    alice.send_message("general", "from a")
    alice.join_voice("Lounge")
    hubbub.add_user("dora")
    hubbub.clock.advance(days=30)
    hubbub.clock.freeze()
    hubbub.faults.fail("GET", "/users/@me", 503, times=None)
    with pytest.raises(RequestRejected, match="503"):
        alice.request("GET", "/users/@me")
    SHARED_STATE.update(web=hubbub.web, token=alice.token, general=hubbub.guilds["Town Square"].channels["general"])


def test_b_second_test_gets_a_fresh_world(hubbub: Platform) -> None:
    alice = hubbub.users["alice"]
    assert hubbub.web != SHARED_STATE["web"]
    # The world has the same IDs and tokens as that of the first test, but none of its changes.
    assert (alice.token, hubbub.guilds["Town Square"].channels["general"]) == (
        SHARED_STATE["token"],
        SHARED_STATE["general"],
    )
    assert list(hubbub.users) == ["alice", "bob", "carol"]
    assert alice.read("general") == []
    assert alice.request("GET", "/users/@me")["username"] == "alice"
    hubbub.bots["demo-bot"].connect()
    [guild] = [event.data for event in hubbub.bots["demo-bot"].received_events if event.name == "GUILD_CREATE"]
    assert guild["voice_states"] == []
    clock = hubbub.clock.get()
    assert clock["running"]
    assert abs(clock["now_ms"] / 1000 - datetime.now(UTC).timestamp()) < 60
    events = hubbub.trace()["events"]
    assert not [event for event in events if event["event"] == "MESSAGE_CREATE"]


def test_platforms_of_earlier_tests_are_closed(hubbub: Platform, request: pytest.FixtureRequest) -> None:
    process: PlatformProcess = request.getfixturevalue("_hubbub_process")
    urls = [fork.web for fork in process.background.run_and_wait(process.control.call(LIST_FORKS))]
    assert hubbub.web in urls
    assert SHARED_STATE["web"] not in urls


@pytest.mark.hubbub(world="village.toml", now="2031-05-01T12:00:00Z", seed=7)
def test_a_world_file_a_time_and_a_seed(hubbub: Platform) -> None:
    assert list(hubbub.users) == ["ann", "ben"]
    assert hubbub.users["ann"].send_message("hall", "hello")["timestamp"].startswith("2031-05-01T12:00:")
    SHARED_STATE["ann"] = hubbub.users["ann"].id


@pytest.mark.hubbub(world="village.toml", seed=8)
def test_another_seed_gives_other_ids(hubbub: Platform) -> None:
    assert hubbub.users["ann"].id != SHARED_STATE["ann"]
    with pytest.raises(
        AssertionError, match=r"'porch' is a channel of Home \(\d+\) and of Away \(\d+\); use its ID instead"
    ):
        hubbub.users["ann"].send_message("porch", "which one?")


@pytest.mark.hubbub(world={"users": {"zoe": {"global_name": "Zoë"}}})
def test_a_world_can_be_defined_inline(hubbub: Platform) -> None:
    assert hubbub.users["zoe"].request("GET", "/users/@me")["global_name"] == "Zoë"


@pytest.mark.hubbub(rate_limits="real")
def test_rate_limits_can_be_enforced(hubbub: Platform) -> None:
    alice = hubbub.users["alice"]
    hubbub.clock.freeze()

    def send_messages() -> None:
        for number in range(60):
            alice.send_message("general", str(number))

    with pytest.raises(RequestRejected, match="retry after") as error:
        send_messages()
    assert error.value.status == 429
    [rejection] = hubbub.rate_limits()["refusals"]
    assert rejection["refused"]
    hubbub.clock.advance(minutes=1)
    alice.send_message("general", "again")


def test_rate_limits_are_only_reported_by_default(hubbub: Platform) -> None:
    hubbub.clock.freeze()
    for number in range(60):
        hubbub.users["alice"].send_message("general", str(number))
    assert hubbub.rate_limits()["refusals"][0]["refused"] is False


def test_an_invite_expires_by_the_controlled_clock(hubbub: Platform) -> None:
    alice, general_channel_id = hubbub.users["alice"], hubbub.guilds["Town Square"].channels["general"]
    hubbub.add_user("dora")
    invite = alice.request("POST", f"/channels/{general_channel_id}/invites", {"max_age": 1800})
    hubbub.clock.set("2031-01-01")
    with pytest.raises(RequestRejected, match="Unknown Invite"):
        hubbub.users["dora"].join(invite)


def test_faults_can_be_injected(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    alice.connect()
    assert hubbub.faults.close_session(alice, code=4001)["affected_sessions"] == 1
    assert hubbub.faults.drop_session(alice)["affected_sessions"] == 1
    with pytest.raises(TypeError, match="Unexpected keyword argument 'tims'"):
        hubbub.faults.fail("GET", "/users/@me", tims=3)
    # No event is missed, since the client resumes.
    bob.send_message("general", "still there?")
    alice.expect("MESSAGE_CREATE", content="still there?")
    alice.expect("RESUMED")
    hubbub.faults.invalidate_session(alice)
    alice.expect("READY")
    hubbub.faults.reject_identify(bob, code=4004)
    hubbub.faults.drop_session(bob)
    with pytest.raises(EventNotReceived, match="bob cannot receive MESSAGE_CREATE: the session was closed with 4004"):
        bob.expect("MESSAGE_CREATE")
    # A user who acts is online again.
    bob.send_message("general", "here I am")
    bob.disconnect()
    assert bob.received_events == []
    hubbub.faults.drop("POST", "/channels/{channel_id}/messages", user=alice, moment="after")
    with pytest.raises(RuntimeError, match="the platform did not respond"):
        alice.send_message("general", "did you hear me?")
    assert alice.read("general")[0]["content"] == "did you hear me?"
    hubbub.faults.fail("POST", "/channels/{channel_id}/messages", 503, times=None)
    hubbub.faults.clear()
    alice.send_message("general", "all is well")
    hubbub.faults.rate_limit("POST", "/channels/{channel_id}/messages", 2.5)
    with pytest.raises(RequestRejected, match=r"retry after 2\.5 s"):
        alice.send_message("general", "hello?")
    with pytest.raises(RequestRejected, match="No operation has this path"):
        hubbub.faults.fail("POST", "/no/such/route")
