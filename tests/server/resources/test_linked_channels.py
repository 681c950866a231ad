"""Lobbies linked to channels: who may link, what flows between them, and the way into the guild (sdk.md 12.6)."""

from typing import Any

from hubbub.protocol.permissions import Permissions
from tests.game import Game, Player, game
from tests.receiver import Receiver, subscribe
from tests.world import Guild, World

LINKER = Permissions.MANAGE_CHANNELS | Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES


async def linked(world: World) -> tuple[Game, Guild, Player, Player, str]:
    """A game with two players in a lobby that is linked to the general channel of a guild, which the first of them owns."""
    played = await game(world)
    owner = await world.user()
    guild = await world.guild(owner)
    alice, bob = await played.player(owner), await played.player()
    members = [{"id": str(alice.id), "flags": 1}, {"id": str(bob.id)}]
    lobby_id = (await played.backend.post("/lobbies", json={"members": members})).ok()["id"]
    (await alice.patch(f"/lobbies/{lobby_id}/channel-linking", json={"channel_id": str(guild.general)})).ok()
    return played, guild, alice, bob, lobby_id


async def test_a_member_with_the_flag_links_a_channel_they_manage(world: World) -> None:
    played = await game(world)
    owner = await world.user()
    guild = await world.guild(owner)
    alice = await played.player(owner)
    made = (await played.backend.post("/lobbies", json={"members": [{"id": str(alice.id), "flags": 1}]})).ok()
    session, chat = await alice.play(), await owner.connect()

    body = {"channel_id": str(guild.general)}
    after = (await alice.patch(f"/lobbies/{made['id']}/channel-linking", json=body)).ok()

    assert after["linked_channel"]["id"] == str(guild.general)
    assert (await session.next("LOBBY_UPDATE"))["linked_channel"]["id"] == str(guild.general)
    shown = await chat.next("CHANNEL_UPDATE")
    assert shown["linked_lobby"]["lobby_id"] == made["id"]
    assert shown["linked_lobby"]["linked_by"] == str(alice.id)
    assert (await chat.next("MESSAGE_CREATE"))["type"] == 49


async def test_linking_needs_the_flag_and_the_channel(world: World) -> None:
    played, guild, alice, bob, lobby_id = await linked(world)
    other = await guild.channel("other")
    voice = await guild.channel("voice", type=2)
    path = f"/lobbies/{lobby_id}/channel-linking"

    (await bob.patch(path, json={"channel_id": str(other)})).refused(403, 50013)
    (await alice.patch(path, json={"channel_id": "1"})).refused(404, 10003)
    assert (await alice.patch(path, json={"channel_id": str(voice)})).errors("channel_id") == ["CHANNEL_NOT_LINKABLE"]
    await played.backend.put(f"/lobbies/{lobby_id}/members/{bob.id}", json={"flags": 1})
    (await bob.patch(path, json={"channel_id": str(other)})).refused(403, 50001)

    second = (await played.backend.post("/lobbies", json={"members": [{"id": str(alice.id), "flags": 1}]})).ok()
    body = {"channel_id": str(guild.general)}
    taken = await alice.patch(f"/lobbies/{second['id']}/channel-linking", json=body)
    assert taken.errors("channel_id") == ["CHANNEL_ALREADY_LINKED"]


async def test_a_lobby_made_by_a_secret_cannot_be_linked(world: World) -> None:
    played, guild, alice, _, _ = await linked(world)
    other = await guild.channel("other")
    made = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()
    await played.backend.put(f"/lobbies/{made['id']}/members/{alice.id}", json={"flags": 1})

    answer = await alice.patch(f"/lobbies/{made['id']}/channel-linking", json={"channel_id": str(other)})
    assert answer.errors("channel_id") == ["LOBBY_NOT_LINKABLE"]


async def test_words_flow_both_ways(world: World) -> None:
    played, guild, alice, bob, lobby_id = await linked(world)
    chat, session = await guild.owner.connect(), await alice.play()

    said = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "from the game"})).ok()
    heard = await chat.next("MESSAGE_CREATE")
    assert (heard["id"], heard["content"], heard["author"]["id"]) == (said["id"], "from the game", str(bob.id))
    assert (heard["application_id"], heard["flags"]) == (str(played.id), 1 << 16)
    assert said["channel_id"] == str(guild.general)
    inside = await session.next("LOBBY_MESSAGE_CREATE")
    assert (inside["id"], inside["lobby_id"]) == (said["id"], lobby_id)

    answer = await guild.say(guild.owner, "from the guild", embeds=[{"title": "a picture"}])
    inside = await session.next("LOBBY_MESSAGE_CREATE")
    assert (inside["id"], inside["content"], inside["embeds"][0]["title"]) == (
        answer["id"],
        "from the guild",
        "a picture",
    )
    history = (await bob.get(f"/lobbies/{lobby_id}/messages")).ok()
    assert [each["content"] for each in history] == ["from the guild", "from the game"]


async def test_what_is_said_once_in_a_linked_lobby_is_said_once_in_its_channel(world: World) -> None:
    _played, guild, alice, bob, lobby_id = await linked(world)
    body = {"nonce": "n1", "enforce_nonce": True}

    first = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "one", **body})).ok()
    again = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "two", **body})).ok()

    assert again == first
    assert [each["content"] for each in (await alice.get(f"/lobbies/{lobby_id}/messages")).ok()] == ["one"]
    inside = (await guild.owner.get(f"/channels/{guild.general}/messages?limit=1")).ok()
    assert [each["id"] for each in inside] == [first["id"]]
    # Once it is gone, the same may be said again.
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{first['id']}")).ok()
    anew = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "three", **body})).ok()
    assert anew["content"] == "three"


async def test_a_reply_is_a_reply_in_the_lobby_too(world: World) -> None:
    _played, _guild, alice, bob, lobby_id = await linked(world)
    path, session = f"/lobbies/{lobby_id}/messages", await alice.play()
    first = (await bob.post(path, json={"content": "one"})).ok()
    await session.next("LOBBY_MESSAGE_CREATE")

    said = (await alice.post(path, json={"content": "two", "message_reference": {"message_id": first["id"]}})).ok()

    assert (first["type"], said["type"]) == (0, 19)
    assert (await session.next("LOBBY_MESSAGE_CREATE"))["type"] == 19
    assert [each["type"] for each in (await bob.get(path)).ok()] == [19, 0]


async def test_what_a_webhook_says_is_in_the_lobbys_history_and_can_be_moderated(world: World) -> None:
    played, guild, _alice, bob, lobby_id = await linked(world)
    hook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "hook"})).ok()
    session = await bob.play()
    path = f"/webhooks/{hook['id']}/{hook['token']}?wait=true"

    for name in ("Herald", "Crier"):
        said = (await world.request("POST", path, json={"content": "hear", "username": name})).ok()
        assert (await session.next("LOBBY_MESSAGE_CREATE"))["author"]["username"] == name

    history = (await bob.get(f"/lobbies/{lobby_id}/messages")).ok()
    assert [each["author"]["username"] for each in history] == ["Crier", "Herald"]
    assert {each["author"]["id"] for each in history} == {hook["id"]}
    moderation = f"/lobbies/{lobby_id}/messages/{said['id']}/moderation-metadata"
    assert (await played.backend.put(moderation, json={"verdict": "fine"})).status == 204
    assert (await session.next("LOBBY_MESSAGE_UPDATE"))["moderation_metadata"] == {"verdict": "fine"}


async def test_an_edit_clears_what_moderation_said_and_a_deletion_reaches_players(world: World) -> None:
    played, guild, alice, _, lobby_id = await linked(world)
    session = await alice.play()
    said = await guild.say(guild.owner, "rude")
    moderation = f"/lobbies/{lobby_id}/messages/{said['id']}/moderation-metadata"
    assert (await played.backend.put(moderation, json={"verdict": "hide"})).status == 204
    await session.next("LOBBY_MESSAGE_UPDATE")

    (await guild.owner.patch(f"/channels/{guild.general}/messages/{said['id']}", json={"content": "kind"})).ok()
    heard = await session.next("LOBBY_MESSAGE_UPDATE")
    assert (heard["content"], heard["moderation_metadata"]) == ("kind", {})
    (await guild.owner.delete(f"/channels/{guild.general}/messages/{said['id']}")).ok()
    assert await session.next("LOBBY_MESSAGE_DELETE") == {"id": said["id"], "lobby_id": lobby_id}


async def test_what_moderation_blocks_in_the_guild_still_reaches_the_lobby(world: World) -> None:
    _, guild, alice, bob, lobby_id = await linked(world)
    rule = {
        "name": "no foo",
        "event_type": 1,
        "trigger_type": 1,
        "trigger_metadata": {"keyword_filter": ["foo"]},
        "actions": [{"type": 1}],
        "enabled": True,
    }
    (await guild.owner.post(f"/guilds/{guild.id}/auto-moderation/rules", json=rule)).ok()
    chat, session = await guild.owner.connect(), await alice.play()

    said = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "foo"})).ok()

    assert said["channel_id"] == lobby_id
    assert (await session.next("LOBBY_MESSAGE_CREATE"))["content"] == "foo"
    await chat.next("AUTO_MODERATION_ACTION_EXECUTION")
    await chat.none_of("MESSAGE_CREATE")


async def test_a_lobby_may_ask_that_speakers_of_the_channel_let_the_game_in(world: World) -> None:
    played, guild, _, _, lobby_id = await linked(world)
    stranger = await world.user()
    (await stranger.post(f"/invites/{await invite_to(guild)}", json={})).ok()
    (await played.backend.patch(f"/lobbies/{lobby_id}", json={"flags": 1})).ok()

    path = f"/channels/{guild.general}/messages"
    (await stranger.post(path, json={"content": "hi"})).refused(403, 50013)
    await played.player(stranger)
    (await stranger.post(path, json={"content": "hi"})).ok()


async def invite_to(guild: Guild) -> str:
    """A way into a guild."""
    code: str = (await guild.owner.post(f"/channels/{guild.general}/invites", json={})).ok()["code"]
    return code


async def test_who_manages_the_channel_parts_it_from_the_lobby(world: World) -> None:
    _, guild, alice, bob, _lobby_id = await linked(world)
    session = await alice.play()

    shown = (await guild.owner.delete(f"/channels/{guild.general}/linked-lobby")).ok()

    assert "linked_lobby" not in shown
    assert "linked_channel" not in await session.next("LOBBY_UPDATE")
    (await guild.owner.delete(f"/channels/{guild.general}/linked-lobby")).refused(404, 10031)
    (await bob.delete(f"/channels/{guild.general}/linked-lobby")).refused(401, 0)


async def test_a_lobby_outlives_its_channel_and_ends_idle_only_when_unlinked(world: World) -> None:
    played, guild, _alice, _, lobby_id = await linked(world)
    assert world.app.worker is not None
    world.clock.advance(3_600_000)
    await world.app.worker.run_due()
    assert (await played.backend.get(f"/lobbies/{lobby_id}")).status == 200

    (await guild.owner.delete(f"/channels/{guild.general}")).ok()
    assert "linked_channel" not in (await played.backend.get(f"/lobbies/{lobby_id}")).ok()
    world.clock.advance(301_000)
    await world.app.worker.run_due()
    (await played.backend.get(f"/lobbies/{lobby_id}")).refused(404, 10031)


async def test_an_invite_is_for_one_member_once_and_for_an_hour(world: World) -> None:
    played, guild, alice, bob, lobby_id = await linked(world)

    code = (await bob.post(f"/lobbies/{lobby_id}/members/@me/invites")).ok()["code"]
    shown: Any = (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok()
    assert [(each["code"], each["max_uses"], each["max_age"], each["target_type"]) for each in shown] == [
        (code, 1, 3600, 5)
    ]
    # Only lobbies make invites of this kind.
    wrong = await guild.owner.post(f"/channels/{guild.general}/invites", json={"target_type": 5})
    assert wrong.errors("target_type")
    theirs = (await played.backend.post(f"/lobbies/{lobby_id}/members/{alice.id}/invites")).ok()["code"]
    assert theirs != code
    (await played.backend.post(f"/lobbies/{lobby_id}/members/1/invites")).refused(404, 10007)

    stranger = await world.user()
    assert (await stranger.post(f"/invites/{code}", json={})).status in (403, 404)
    world.clock.advance(3_601_000)
    assert (await guild.owner.get(f"/guilds/{guild.id}/invites")).ok() == []


async def test_an_unlinked_lobby_gives_no_invites(world: World) -> None:
    _played, _guild, alice, _, lobby_id = await linked(world)
    (await alice.patch(f"/lobbies/{lobby_id}/channel-linking", json={})).ok()

    (await alice.post(f"/lobbies/{lobby_id}/members/@me/invites")).refused(404, 10003)


async def test_channels_say_whether_a_lobby_can_be_linked(world: World) -> None:
    _played, guild, alice, _bob, _lobby_id = await linked(world)
    other = await guild.channel("other")
    await guild.overwrite(other, guild.id, deny=Permissions.SEND_MESSAGES, kind=0)

    shown = (await alice.get(f"/guilds/{guild.id}/channels?with_can_link_lobby=true")).ok()
    told = {
        int(each["id"]): (each["can_link_lobby"], each["is_viewable_and_writeable_by_all_members"]) for each in shown
    }
    assert told[guild.general] == (False, True)
    assert told[other] == (True, False)
    assert "can_link_lobby" not in (await alice.get(f"/guilds/{guild.id}/channels")).ok()[0]


async def test_webhooks_hear_what_is_said_in_lobbies(near_world: World, receiver: Receiver) -> None:
    played, guild, _alice, bob, lobby_id = await linked(near_world)
    await subscribe(receiver, played.backend, "LOBBY_MESSAGE_CREATE", "LOBBY_MESSAGE_UPDATE", "LOBBY_MESSAGE_DELETE")
    assert near_world.app.worker is not None

    said = (await bob.post(f"/lobbies/{lobby_id}/messages", json={"content": "one"})).ok()
    edited = await guild.say(guild.owner, "two")
    path = f"/channels/{guild.general}/messages/{edited['id']}"
    (await guild.owner.patch(path, json={"content": "three"})).ok()
    (await guild.owner.delete(path)).ok()
    await near_world.app.worker.run_due()

    first, second, changed, gone = [each["data"] for each in receiver.events]
    channel, owner = str(guild.general), str(guild.owner.id)
    assert (first["channel_id"], first["author"]["id"], first["flags"]) == (channel, str(bob.id), 1 << 16)
    assert (first["application_id"], first["lobby_id"], first["type"]) == (str(played.id), lobby_id, 0)
    assert (second["channel_id"], second["author"]["id"], second["flags"]) == (channel, owner, 0)
    assert "application_id" not in second
    assert changed.keys() >= {"timestamp", "edited_timestamp"}
    assert "moderation_metadata" not in changed
    assert gone == {"id": edited["id"], "lobby_id": lobby_id}
    told = [(each["type"], each["data"]["id"], each["data"].get("content")) for each in receiver.events]
    assert told == [
        ("LOBBY_MESSAGE_CREATE", said["id"], "one"),
        ("LOBBY_MESSAGE_CREATE", edited["id"], "two"),
        ("LOBBY_MESSAGE_UPDATE", edited["id"], "three"),
        ("LOBBY_MESSAGE_DELETE", edited["id"], None),
    ]
