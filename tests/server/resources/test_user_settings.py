"""What people decide about who may reach them, and that it holds (sdk.md 9.3, 10.3, 11.3)."""

from typing import Any

import pytest

from tests.game import game
from tests.server.resources.test_user_messages import host
from tests.world import Actor, World, befriend

PATH = "/users/@me/settings"
DEFAULTS: dict[str, Any] = {
    "friend_source_flags": {"all": True, "mutual_friends": True, "mutual_guilds": True},
    "restricted_guilds": [],
    "allow_activity_party_privacy_friends": True,
    "allow_activity_party_privacy_voice_channel": True,
    "allow_game_friend_dms_in_platform": True,
    "slayer_sdk_receive_dms_in_game": 0,
}


async def decide(person: Actor, **settings: Any) -> Any:
    """A person decides."""
    return (await person.patch(PATH, json=settings)).ok()


async def test_who_decided_nothing_is_open_and_decisions_are_told_to_ones_own_clients(world: World) -> None:
    alice = await world.user()
    played = await game(world)
    client, playing = await alice.connect(), await (await played.player(alice)).play()
    assert client.ready["user_settings"] == (await alice.get(PATH)).ok() == DEFAULTS
    assert playing.ready["user_settings"] == {}

    after = await decide(alice, friend_source_flags={"mutual_guilds": True}, slayer_sdk_receive_dms_in_game=2)

    flags = {"all": False, "mutual_friends": False, "mutual_guilds": True}
    assert after == DEFAULTS | {"friend_source_flags": flags, "slayer_sdk_receive_dms_in_game": 2}
    assert await client.next("USER_SETTINGS_UPDATE") == after == (await alice.get(PATH)).ok()
    await playing.none_of("USER_SETTINGS_UPDATE")
    assert (await alice.connect()).ready["user_settings"] == after
    await decide(alice, slayer_sdk_receive_dms_in_game=2)
    await client.none_of("USER_SETTINGS_UPDATE")
    assert (await decide(alice, friend_source_flags={"all": True}))["friend_source_flags"] == flags | {
        "all": True,
        "mutual_friends": True,
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"friend_source_flags": {"all": "yes"}}, "friend_source_flags.all"),
        ({"friend_source_flags": None}, "friend_source_flags"),
        ({"restricted_guilds": ["here"]}, "restricted_guilds.0"),
        ({"restricted_guilds": [str(each) for each in range(201)]}, "restricted_guilds"),
        ({"slayer_sdk_receive_dms_in_game": 4}, "slayer_sdk_receive_dms_in_game"),
    ],
)
async def test_what_cannot_be_decided_is_refused_by_its_field(world: World, body: Any, path: str) -> None:
    alice = await world.user()

    assert (await alice.patch(PATH, json=body)).errors(path)


async def test_guilds_are_restricted_by_who_is_in_them_and_stay_so(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    left, here, strange = await world.guild(bob, alice), await world.guild(alice), await world.guild(bob)
    await decide(alice, restricted_guilds=[str(left.id)])
    (await alice.delete(f"/users/@me/guilds/{left.id}")).ok()

    wrong = await alice.patch(PATH, json={"restricted_guilds": [str(here.id), str(strange.id), str(left.id), "1"]})
    kept = await decide(alice, restricted_guilds=[str(here.id), str(left.id)])

    assert wrong.errors("restricted_guilds.1") == ["GUILD_UNKNOWN"] == wrong.errors("restricted_guilds.3")
    assert set(wrong.json["errors"]["restricted_guilds"]) == {"1", "3"}
    assert set(kept["restricted_guilds"]) == {str(left.id), str(here.id)}
    # Once let go, it is a guild like any other that one is not in.
    await decide(alice, restricted_guilds=[])
    assert (await alice.patch(PATH, json={"restricted_guilds": [str(left.id)]})).errors("restricted_guilds.0")


async def test_what_is_no_setting_is_ignored(world: World) -> None:
    alice = await world.user()
    client = await alice.connect()

    assert await decide(alice, theme="dark") == DEFAULTS
    await client.none_of("USER_SETTINGS_UPDATE")


async def test_games_and_bots_have_no_settings(world: World) -> None:
    played = await game(world)
    player = await played.player()

    for caller in (player, played.backend):
        for method in ("GET", "PATCH"):
            assert (await caller.request(method, PATH, json={} if method == "PATCH" else None)).status in (401, 403)


# Friend requests


async def test_who_wants_no_requests_gets_none_of_either_kind_but_answers_their_own(world: World) -> None:
    played = await game(world)
    alice, bob = await world.user(), await world.user()
    asking = await played.player(bob)
    await played.player(alice)
    await decide(alice, friend_source_flags={})

    (await bob.put(f"/users/@me/relationships/{alice.id}")).refused(400, 80000)
    (await bob.post("/users/@me/relationships", json={"username": alice.name})).refused(400, 80000)
    (await asking.put(f"/users/@me/game-relationships/{alice.id}")).refused(400, 80000)
    assert (await alice.put(f"/users/@me/relationships/{bob.id}")).status == 204
    assert (await bob.put(f"/users/@me/relationships/{alice.id}")).status == 204
    assert [each["type"] for each in (await alice.get("/users/@me/relationships")).ok()] == [1]


async def test_friends_of_friends_may_be_the_only_ones_to_ask(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await decide(alice, friend_source_flags={"mutual_friends": True})
    await world.guild(alice, bob)
    (await bob.put(f"/users/@me/relationships/{alice.id}")).refused(400, 80000)

    await befriend(alice, carol)
    (await bob.put(f"/users/@me/relationships/{alice.id}")).refused(400, 80000)
    await befriend(bob, carol)

    assert (await bob.put(f"/users/@me/relationships/{alice.id}")).status == 204


async def test_friends_of_game_friends_count_in_their_game_only(world: World) -> None:
    played = await game(world)
    people = [await world.user() for _ in range(3)]
    alice, bob, carol = [await played.player(person) for person in people]
    for one, other in ((alice, carol), (carol, alice), (bob, carol), (carol, bob)):
        (await one.put(f"/users/@me/game-relationships/{other.id}")).ok()
    await decide(people[0], friend_source_flags={"mutual_friends": True})

    (await bob.put(f"/users/@me/relationships/{alice.id}")).refused(400, 80000)
    assert (await bob.put(f"/users/@me/game-relationships/{alice.id}")).status == 204


async def test_members_of_ones_guilds_may_be_the_only_ones_to_ask(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await decide(alice, friend_source_flags={"mutual_guilds": True})
    await world.guild(alice, bob)

    assert (await bob.put(f"/users/@me/relationships/{alice.id}")).status == 204
    (await carol.put(f"/users/@me/relationships/{alice.id}")).refused(400, 80000)


# Messages


async def test_members_of_a_restricted_guild_do_not_write_unless_they_are_friends_or_share_another(
    world: World,
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    await decide(alice, restricted_guilds=[str(guild.id)])
    channels = {}
    for who in (bob, bot):
        channels[who.id] = (await who.post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"]
        (await who.post(f"/channels/{channels[who.id]}/messages", json={"content": "hi"})).refused(403, 50007)

    await world.guild(bob, alice)
    (await bob.post(f"/channels/{channels[bob.id]}/messages", json={"content": "hi"})).ok()
    # The other way nothing is restricted.
    (await alice.post(f"/channels/{channels[bob.id]}/messages", json={"content": "hi"})).ok()


async def test_a_restricted_guild_is_no_reason_to_write_from_a_game_either(world: World) -> None:
    played = await game(world)
    people = [await world.user() for _ in range(2)]
    alice, bob = [await played.player(person) for person in people]
    guild = await world.guild(*people)
    channel = (await people[1].post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"]
    (await people[1].post(f"/channels/{channel}/messages", json={"content": "hi"})).ok()
    path = f"/users/{alice.id}/messages"
    (await bob.post(path, json={"content": "hi"})).ok()

    await decide(people[0], restricted_guilds=[str(guild.id)])

    (await bob.post(path, json={"content": "hi"})).refused(403, 50007)


async def test_who_keeps_game_friends_inside_the_game_gets_nothing_of_them_in_the_chat_client(world: World) -> None:
    played = await game(world)
    person = await world.user()
    alice, bob = await played.player(person), await played.player()
    for one, other in ((alice, bob), (bob, alice)):
        (await one.put(f"/users/@me/game-relationships/{other.id}")).ok()
    await decide(person, allow_game_friend_dms_in_platform=False)
    path = f"/users/{alice.id}/messages"

    (await bob.post(path, json={"content": "hi"})).refused(403, 50007)
    client, playing = await person.connect(), await alice.play()
    await bob.play()
    assert (await bob.post(path, json={"content": "hi"})).ok()["channel_id"] == str(alice.id)
    assert (await playing.next("MESSAGE_CREATE"))["content"] == "hi"
    await client.none_of("MESSAGE_CREATE")


@pytest.mark.parametrize(
    ("decided", "friend_plays", "heard"), [(1, False, True), (2, False, False), (2, True, True), (3, True, False)]
)
async def test_whose_messages_games_show(world: World, decided: int, friend_plays: bool, heard: bool) -> None:
    played = await game(world)
    person, friend = await world.user(), await world.user()
    await befriend(person, friend)
    playing = await (await played.player(person)).play()
    if friend_plays:
        await played.player(friend)
    client = await person.connect()
    await decide(person, slayer_sdk_receive_dms_in_game=decided)
    channel = (await friend.post("/users/@me/channels", json={"recipient_id": str(person.id)})).ok()["id"]

    said = (await friend.post(f"/channels/{channel}/messages", json={"content": "hi"})).ok()
    (await friend.patch(f"/channels/{channel}/messages/{said['id']}", json={"content": "hello"})).ok()

    assert (await client.next("MESSAGE_UPDATE"))["content"] == "hello"
    if heard:
        assert (await playing.next("MESSAGE_UPDATE"))["content"] == "hello"
    else:
        await playing.none_of("MESSAGE_CREATE", "MESSAGE_UPDATE")


async def test_who_wants_no_messages_in_games_is_not_written_to_there_and_is_still_invited(world: World) -> None:
    played = await game(world)
    person = await world.user()
    alice, bob = await played.player(person), await played.player()
    theirs = await alice.play()
    activity = await host(bob, await bob.play())
    await decide(person, slayer_sdk_receive_dms_in_game=3)

    (await bob.post(f"/users/{alice.id}/messages", json={"content": "hi"})).refused(403, 50007)
    (await bob.post(f"/users/{alice.id}/messages", json={"activity": activity})).ok()
    assert (await theirs.next("MESSAGE_CREATE"))["activity"]["party_id"] == "party"
    await befriend(alice, bob)
    (await bob.post(f"/users/{alice.id}/messages", json={"activity": activity})).ok()
    assert (await theirs.next("MESSAGE_CREATE"))["activity"]["party_id"] == "party"


# Parties


async def test_a_public_party_is_joined_without_asking_only_where_its_host_lets_friends(world: World) -> None:
    played = await game(world)
    person = await world.user()
    alice, bob = await played.player(person), await played.player()
    await befriend(alice, bob)
    mine = await alice.play()
    activity = {"name": "Game", "type": 0, "party": {"id": "party", "privacy": 1}, "secrets": {"join": "open sesame"}}
    await mine.send(3, {"status": "online", "activities": [activity], "since": None, "afk": False})
    await mine.obeyed()
    path = f"/users/{alice.id}/sessions/{mine.ready['session_id']}/activities/{played.id}/1"
    (await bob.get(path)).ok()

    await decide(person, allow_activity_party_privacy_friends=False)

    (await bob.get(path)).refused(403, 50001)


async def test_they_are_in_ones_copy_and_go_with_the_account(world: World) -> None:
    alice = await world.user()
    after = await decide(alice, friend_source_flags={})

    assert (await alice.get("/users/@me/harvest")).ok()["records"]["settings"] == after
