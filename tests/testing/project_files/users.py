"""Synchronous tests of users: actions, events and rejected requests. `test_plugin.py` runs this file."""

import base64
import hashlib
import re

import pytest

from hubbub.people import ogg
from hubbub.protocol import errors
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.testing import EventNotReceived, Platform, RequestRejected, UnexpectedEvent


def test_users_send_and_receive_messages(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    bob.connect()

    posted_message = alice.send_message("general", "hello")

    assert bob.expect("MESSAGE_CREATE", content="hello", author={"username": "alice"})["id"] == posted_message["id"]
    # `send_message` already consumed the sender's own event, and `expect` returns an event once.
    alice.expect_none("MESSAGE_CREATE")
    bob.expect_none("MESSAGE_CREATE")
    alice.react(posted_message, "👍")
    assert (
        bob.expect("MESSAGE_REACTION_ADD", lambda data: data["emoji"]["name"] == "👍")["message_id"]
        == posted_message["id"]
    )
    assert [message["content"] for message in bob.read("general")] == ["hello"]
    assert alice.send_message("general", files={"note.txt": b"words"})["attachments"][0]["filename"] == "note.txt"
    assert "MESSAGE_CREATE" in [event.name for event in bob.received_events]
    reply = bob.reply(posted_message["id"], "hi")
    assert alice.expect("MESSAGE_CREATE", content="hi")["message_reference"]["message_id"] == posted_message["id"]
    assert bob.edit(reply, "hi there")["content"] == "hi there"
    alice.expect("MESSAGE_UPDATE", id=reply["id"], content="hi there")
    bob.delete(reply)
    alice.expect("MESSAGE_DELETE", id=reply["id"])


def test_users_become_friends_and_join_guilds(hubbub: Platform) -> None:
    alice = hubbub.users["alice"]
    hubbub.add_user("dora", global_name="Dora")
    dora = hubbub.users["dora"]
    general_channel_id = hubbub.guilds["Town Square"].channels["general"]
    alice.connect()

    invite = alice.request("POST", f"/channels/{general_channel_id}/invites", {})
    assert dora.join(invite)["guild"]["name"] == "Town Square"
    assert alice.expect("GUILD_MEMBER_ADD", user={"id": dora.id})["user"]["global_name"] == "Dora"
    dora.befriend(alice)
    assert alice.expect("RELATIONSHIP_ADD", id=dora.id)["type"] == RelationshipType.PENDING_INCOMING
    alice.befriend(dora)
    dora.expect("RELATIONSHIP_ADD", id=alice.id, type=RelationshipType.FRIEND)
    dora.send_message(alice, "psst")
    assert "guild_id" not in alice.expect("MESSAGE_CREATE", content="psst")


def test_users_join_a_call(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    bob.connect()

    assert set(alice.join_voice("Lounge", self_mute=True)) >= {"endpoint", "token", "session_id"}

    assert bob.expect("VOICE_STATE_UPDATE", user_id=alice.id)["self_mute"] is True
    alice.leave_voice()
    assert bob.expect("VOICE_STATE_UPDATE", user_id=alice.id)["channel_id"] is None
    with pytest.raises(AssertionError, match="alice is not in a voice channel"):
        alice.leave_voice()
    packets = [b"\xfc" + bytes([number] * 100) for number in range(5)]
    for user in (alice, bob):
        user.join_voice("Lounge", audio=True)
    assert alice.play(ogg.encode_file(packets)) == {"frames": 5, "duration_ms": 100}
    recorded_audio = bob.hear(alice)
    assert (recorded_audio["user_id"], ogg.read_packets(recorded_audio["file"])) == (alice.id, packets)


def test_users_authorize_applications(hubbub: Platform) -> None:
    alice, game = hubbub.users["alice"], hubbub.applications["demo-game"]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(b"a" * 43).digest()).rstrip(b"=").decode()
    redirect = alice.authorize(
        "demo-game", "identify", state="7", code_challenge=challenge, code_challenge_method="S256"
    )
    assert (redirect["url"].partition("?")[0], redirect["state"]) == ("http://127.0.0.1/callback", "7")
    assert redirect["code"]
    challenge_query = {"code_challenge": challenge, "code_challenge_method": "S256"}
    assert alice.authorize(game, ["identify", "openid"], **challenge_query)["code"]

    hubbub.bots["demo-bot"].connect()
    created_guild = alice.request("POST", "/guilds", {"name": "Elsewhere"})
    alice.authorize("demo-bot", "bot", guild=created_guild["id"], permissions=Permissions.SEND_MESSAGES)
    assert hubbub.bots["demo-bot"].expect("GUILD_CREATE", id=created_guild["id"])["name"] == "Elsewhere"
    assert game.id != hubbub.applications["demo-bot"].id


def test_rejections_contain_the_platforms_error(hubbub: Platform) -> None:
    bob = hubbub.users["bob"]
    with pytest.raises(RequestRejected, match="Missing Access") as rejection:
        bob.send_message("staff", "let me in")
    assert rejection.value.cause == "bob lacks the permission VIEW_CHANNEL in #staff."
    assert (rejection.value.status, rejection.value.code) == (403, 50001)
    assert rejection.value.kind is errors.MISSING_ACCESS
    with pytest.raises(RequestRejected, match=r"content: Must be 2000 or fewer in length\. \(BASE_TYPE_MAX_LENGTH\)"):
        bob.send_message("general", "x" * 2001)
    with pytest.raises(AssertionError, match="no channel 'attic'; it has: general, staff, Lounge, ideas"):
        bob.send_message("attic", "hello?")
    with pytest.raises(KeyError, match="this world has no user 'dora'; it has: alice, bob, carol"):
        hubbub.users["dora"]
    with pytest.raises(AssertionError, match="command 'ping' is not available to bob there; available: none"):
        bob.run("general", "ping")


def test_a_missing_event_lists_the_received_ones(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    bob.connect()
    alice.send_message("general", "for all")
    alice.send_message("staff", "for few")
    bob.expect_none("TYPING_START")

    with pytest.raises(EventNotReceived) as caught:
        bob.expect("MESSAGE_CREATE", content="for few", within=0.1)

    text = str(caught.value)
    assert "bob did not receive MESSAGE_CREATE (content='for few') within 0.1 s. Unmatched events:" in text
    assert re.search(r'\n  MESSAGE_CREATE \{.*"for all"', text)
    assert "MESSAGE_CREATE in #staff was not delivered: missing permission: VIEW_CHANNEL in the channel" in text
    assert "content: expected 'for few', received 'for all'" in text
    with pytest.raises(AssertionError, match="no event 'MESAGE_CREATE'; did you mean 'MESSAGE_CREATE'"):
        bob.expect("MESAGE_CREATE")
    with pytest.raises(UnexpectedEvent, match="bob received unexpected MESSAGE_CREATE"):
        bob.expect_none("MESSAGE_CREATE")
    with pytest.raises(EventNotReceived, match=r"carol connected only with this expect; call `connect\(\)` earlier"):
        hubbub.users["carol"].expect("MESSAGE_CREATE", within=0.1)


def test_a_bot_can_act_like_a_user(hubbub: Platform) -> None:
    bot = hubbub.bots["demo-bot"]
    bot.connect()
    hubbub.users["alice"].send_message("general", "hello, bot")
    channel_id = bot.expect("MESSAGE_CREATE", content="hello, bot")["channel_id"]
    bot.request("POST", f"/channels/{channel_id}/messages", {"content": "hello, alice"})
    hubbub.users["alice"].expect("MESSAGE_CREATE", content="hello, alice")


@pytest.mark.hubbub(
    world={
        "users": {"ann": {}},
        "applications": {"shop": {"owner": "ann"}},
        "skus": {"Crown": {"application": "shop", "type": "durable", "price": 100}},
    }
)
def test_users_buy_skus(hubbub: Platform) -> None:
    ann = hubbub.users["ann"]
    assert ann.buy("Crown")["entitlement"]["user_id"] == ann.id
    with pytest.raises(AssertionError, match="this world has no SKU 'Crwon'; it has: Crown; did you mean 'Crown'"):
        ann.buy("Crwon")


def test_results_have_models(hubbub: Platform) -> None:
    alice, bob = hubbub.users["alice"], hubbub.users["bob"]
    assert bob.connect().model.user.id == int(bob.id)

    message = alice.send_message("general", "hello")

    assert (message.model.id, message.model.content) == (int(message["id"]), "hello")
    assert bob.expect(MESSAGE_CREATE, content="hello").model.author.username == "alice"
    assert [posted_message.content for posted_message in bob.read("general").models] == ["hello"]
    clock = hubbub.clock.freeze()
    assert clock.model.now_ms == clock["now_ms"]
    with pytest.raises(TypeError, match="no model"):
        _ = alice.delete(message).model
    with pytest.raises(EventNotReceived):
        bob.expect(MESSAGE_CREATE, content="other", within=0)
