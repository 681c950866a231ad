"""Friends, requests and blocks, on the platform and in games."""

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.intents import Intents
from hubbub.server.core.call import Call
from hubbub.server.resources import identities, oauth2, relationships, users
from tests.oauth import application, edit, refused
from tests.players import token_of
from tests.world import Actor, World, befriend

FRIEND, BLOCKED, INCOMING, OUTGOING = (
    RelationshipType.FRIEND,
    RelationshipType.BLOCKED,
    RelationshipType.PENDING_INCOMING,
    RelationshipType.PENDING_OUTGOING,
)
PLATFORM, GAME = "/users/@me/relationships", "/users/@me/game-relationships"


async def types(actor: Actor, path: str = PLATFORM) -> dict[int, int]:
    """What others are to somebody."""
    return {int(each["id"]): each["type"] for each in (await actor.get(path)).ok()}


async def people(world: World, count: int = 2) -> list[Actor]:
    return [await world.user() for _ in range(count)]


# On the platform


async def test_a_request_waits_on_both_sides_and_is_told_to_both(world: World) -> None:
    alice, bob = await people(world)
    hers, his = await alice.connect(), await bob.connect()

    answer = await alice.post(PLATFORM, json={"username": bob.name, "discriminator": None})

    assert answer.status == 204
    assert (await types(alice), await types(bob)) == ({bob.id: OUTGOING}, {alice.id: INCOMING})
    asked, asks = await hers.next("RELATIONSHIP_ADD"), await his.next("RELATIONSHIP_ADD")
    assert (asked["id"], asked["type"], asked["user"]["username"]) == (str(bob.id), OUTGOING, bob.name)
    assert "should_notify" not in asked
    assert (asks["id"], asks["type"], asks["should_notify"]) == (str(alice.id), INCOMING, True)
    assert "has_played_game" not in asks


async def test_accepting_makes_friends_and_shows_each_to_the_other(world: World) -> None:
    alice, bob = await people(world)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={})).ok()
    hers, his = await alice.connect(), await bob.connect()

    (await bob.put(f"{PLATFORM}/{alice.id}")).ok()

    assert (await types(alice), await types(bob)) == ({bob.id: FRIEND}, {alice.id: FRIEND})
    now = await hers.next("RELATIONSHIP_ADD")
    assert (now["type"], now["should_notify"]) == (FRIEND, True)
    assert (await hers.next("PRESENCE_UPDATE"))["user"]["id"] == str(bob.id)
    assert (await his.next("RELATIONSHIP_ADD"))["type"] == FRIEND
    seen = await his.next("PRESENCE_UPDATE")
    assert (seen["user"]["id"], seen["status"]) == (str(alice.id), "online")
    assert "guild_id" not in seen


async def test_requests_that_cross_make_friends(world: World) -> None:
    alice, bob = await people(world)
    (await alice.post(PLATFORM, json={"username": bob.name})).ok()

    (await bob.post(PLATFORM, json={"username": alice.name.upper()})).ok()

    assert await types(alice) == {bob.id: FRIEND}


async def test_asking_twice_changes_nothing(world: World) -> None:
    alice, bob = await people(world)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": -1})).ok()
    his = await bob.connect()

    (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": 1})).ok()

    assert await types(alice) == {bob.id: OUTGOING}
    await his.none_of("RELATIONSHIP_ADD")


@pytest.mark.parametrize("who", ["asked", "asker"])
async def test_a_request_is_rejected_or_cancelled_for_both(world: World, who: str) -> None:
    alice, bob = await people(world)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={})).ok()
    hers, his = await alice.connect(), await bob.connect()

    one, other = (bob, alice) if who == "asked" else (alice, bob)
    assert (await one.delete(f"{PLATFORM}/{other.id}")).status == 204

    assert (await types(alice), await types(bob)) == ({}, {})
    assert (await hers.next("RELATIONSHIP_REMOVE"))["type"] == OUTGOING
    assert (await his.next("RELATIONSHIP_REMOVE")) == {"id": str(alice.id), "type": INCOMING, "nickname": None}


async def test_a_friend_is_removed_on_both_sides_and_again_does_no_harm(world: World) -> None:
    alice, bob = await people(world)
    await befriend(alice, bob)

    (await alice.delete(f"{PLATFORM}/{bob.id}")).ok()
    (await alice.delete(f"{PLATFORM}/{bob.id}")).ok()

    assert (await types(alice), await types(bob)) == ({}, {})
    (await alice.delete(f"{PLATFORM}/1")).refused(404, 10013)


async def test_a_block_ends_both_kinds_and_unblocking_restores_nothing(world: World) -> None:
    alice, bob = await people(world)
    game = await application(world)
    alice_plays, bob_plays = await world.player(alice, game.id), await world.player(bob, game.id)
    await befriend(alice, bob)
    await befriend(alice_plays, bob_plays, GAME)
    his = await bob.connect()

    (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": 2})).ok()

    assert (await types(alice), await types(bob)) == ({bob.id: BLOCKED}, {})
    assert (await types(alice_plays, GAME), await types(bob_plays, GAME)) == ({}, {})
    assert (await his.next("GAME_RELATIONSHIP_REMOVE"))["id"] == str(alice.id)
    assert (await his.next("RELATIONSHIP_REMOVE"))["type"] == FRIEND
    (await bob.put(f"{PLATFORM}/{alice.id}", json={})).refused(400, 80001)
    (await bob_plays.put(f"{GAME}/{alice.id}", json={})).refused(400, 80001)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={})).refused(400, 80001)

    (await alice.delete(f"{PLATFORM}/{bob.id}")).ok()

    assert (await types(alice), await types(bob)) == ({}, {})


async def test_two_may_block_each_other_and_unblocking_frees_only_one(world: World) -> None:
    alice, bob = await people(world)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": 2})).ok()
    (await bob.put(f"{PLATFORM}/{alice.id}", json={"type": 2})).ok()
    (await bob.put(f"{PLATFORM}/{alice.id}", json={"type": 2})).ok()

    (await alice.delete(f"{PLATFORM}/{bob.id}")).ok()

    assert (await types(alice), await types(bob)) == ({}, {alice.id: BLOCKED})


async def test_who_is_not_blocked_hears_nothing_of_being_blocked(world: World) -> None:
    alice, bob = await people(world)
    his = await bob.connect()

    (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": 2})).ok()

    await his.none_of("RELATIONSHIP_ADD", "RELATIONSHIP_REMOVE")


async def test_what_is_no_friend_is_refused(world: World) -> None:
    alice, bob = await people(world)
    bot = await world.bot()
    (await alice.put(f"{PLATFORM}/1", json={})).refused(404, 10013)
    (await alice.post(PLATFORM, json={"username": "nobody-of-that-name"})).refused(400, 80004)
    (await alice.post(PLATFORM, json={"username": bob.name, "discriminator": "1234"})).refused(400, 80004)
    (await alice.put(f"{PLATFORM}/{alice.id}", json={})).refused(400, 80003)
    (await alice.post(PLATFORM, json={"username": alice.name})).refused(400, 80003)
    (await alice.put(f"{PLATFORM}/{alice.id}", json={"type": 2})).refused(400, 80003)
    (await alice.put(f"{PLATFORM}/{bot.id}", json={})).refused(400, 80002)
    await befriend(alice, bob)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={})).refused(400, 80007)
    assert (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": 3})).errors("type") == ["BASE_TYPE_CHOICES"]
    assert (await alice.post(PLATFORM, json={})).errors("username") == ["BASE_TYPE_REQUIRED"]
    assert (await bot.get(PLATFORM)).status == 403
    assert (await types(alice)) == {bob.id: FRIEND}


async def test_a_thousand_friends_are_enough(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.protocol.resources.relationships.FRIENDS_MAX", 2)
    alice, bob, carol, dave = await people(world, 4)
    await befriend(alice, bob)
    (await alice.put(f"{PLATFORM}/{carol.id}", json={})).ok()

    (await alice.put(f"{PLATFORM}/{dave.id}", json={})).refused(400, 30002)
    (await dave.put(f"{PLATFORM}/{alice.id}", json={})).ok()
    (await alice.put(f"{PLATFORM}/{dave.id}", json={})).refused(400, 30002)
    # The one who waits for an answer has counted for it.
    (await carol.put(f"{PLATFORM}/{alice.id}", json={})).ok()


async def test_so_many_may_be_blocked_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.protocol.resources.relationships.BLOCKED_MAX", 1)
    alice, bob, carol = await people(world, 3)
    (await alice.put(f"{PLATFORM}/{bob.id}", json={"type": 2})).ok()

    refusal = (await alice.put(f"{PLATFORM}/{carol.id}", json={"type": 2})).refused(400, 30002)

    assert "blocked" in refusal["message"]


async def test_a_friend_may_have_a_name_of_ones_own(world: World) -> None:
    alice, bob = await people(world)
    await befriend(alice, bob)
    hers, his = await alice.connect(), await bob.connect()

    (await alice.patch(f"{PLATFORM}/{bob.id}", json={"nickname": " Bobby "})).ok()

    assert (await hers.next("RELATIONSHIP_UPDATE"))["nickname"] == "Bobby"
    assert [each["nickname"] for each in (await alice.get(PLATFORM)).ok()] == ["Bobby"]
    await his.none_of("RELATIONSHIP_UPDATE")
    assert (await alice.patch(f"{PLATFORM}/{bob.id}", json={"nickname": "x" * 33})).errors("nickname") == [
        "BASE_TYPE_MAX_LENGTH"
    ]
    (await alice.patch(f"{PLATFORM}/1", json={"nickname": None})).refused(404, 10013)


# In games


async def test_game_friends_are_the_familys_and_no_platform_friends(world: World) -> None:
    alice, bob = await people(world)
    publisher, chess, go, other = [await application(world) for _ in range(4)]
    for child in (chess, go):
        await edit(world, child, parent_id=publisher.id)
    alice_plays, bob_plays = await world.player(alice, chess.id), await world.player(bob, go.id)
    his, elsewhere = (
        await bob_plays.connect(Intents.ALL),
        await (await world.player(bob, other.id)).connect(Intents.ALL),
    )

    (await alice_plays.post(GAME, json={"username": bob.name})).ok()

    asked = await his.next("GAME_RELATIONSHIP_ADD")
    assert (asked["id"], asked["user_id"], asked["type"]) == (str(alice.id), str(bob.id), INCOMING)
    assert (asked["application_id"], asked["dm_access_type"]) == (str(chess.id), 0)
    await elsewhere.none_of("GAME_RELATIONSHIP_ADD")
    (await bob_plays.put(f"{GAME}/{alice.id}", json={})).ok()
    [mine] = (await bob_plays.get(GAME)).ok()
    assert (mine["type"], "user" in mine) == (FRIEND, False)
    assert [each["user"]["username"] for each in (await bob.get(GAME)).ok()] == [alice.name]
    assert await types(bob) == {}
    assert await types(await world.player(bob, other.id), GAME) == {}
    (await alice_plays.put(f"{GAME}/{bob.id}", json={})).refused(400, 80007)

    (await bob_plays.delete(f"{GAME}/{alice.id}")).ok()
    assert await types(alice_plays, GAME) == {}


async def test_a_game_friend_must_play_the_game(world: World) -> None:
    alice, bob = await people(world)
    game = await application(world)
    plays = await world.player(alice, game.id)
    (await plays.put(f"{GAME}/{bob.id}", json={})).refused(400, 80000)

    await game.tokens(bob, "identify")

    (await plays.put(f"{GAME}/{bob.id}", json={})).ok()
    assert (await plays.put(f"{GAME}/{bob.id}", json={"type": 2})).errors("type") == ["BASE_TYPE_CHOICES"]
    (await plays.put(f"{GAME}/{alice.id}", json={})).refused(400, 80003)
    (await plays.put(f"{GAME}/1", json={})).refused(404, 10013)


async def test_a_provisional_account_has_friends_of_both_kinds(world: World) -> None:
    alice = await world.user()
    game = await application(world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION)
    guest = await token_of(game, "guest-1")
    plays = await world.player(alice, game.id)

    await befriend(plays, guest)
    await befriend(guest, plays, GAME)

    assert await types(guest) == {alice.id: FRIEND}
    session = await plays.connect(Intents.ALL)
    [profile] = session.ready["user_application_profiles"][str(guest.id)]
    assert profile["external_id"]["provider_issued_user_id"] == "guest-1"
    assert [each["has_played_game"] for each in session.ready["relationships"]] == [True]


async def test_both_kinds_stand_side_by_side(world: World) -> None:
    alice, bob = await people(world)
    game = await application(world)
    alice_plays, bob_plays = await world.player(alice, game.id), await world.player(bob, game.id)
    await befriend(alice_plays, bob_plays, GAME)

    (await alice_plays.put(f"{PLATFORM}/{bob.id}", json={})).ok()

    assert (await types(alice_plays, GAME), await types(alice)) == ({bob.id: FRIEND}, {bob.id: OUTGOING})
    # With a token of a game only friends are listed (sdk.md 9.6).
    assert await types(alice_plays) == {}


async def test_a_game_sees_whether_friends_play_it(world: World) -> None:
    alice, bob, carol = await people(world, 3)
    game = await application(world)
    plays = await world.player(alice, game.id)
    await world.player(bob, game.id)
    session = await plays.connect(Intents.ALL)
    await befriend(alice, bob)
    await befriend(alice, carol)

    listed = {each["user"]["username"]: each for each in (await plays.get(PLATFORM)).ok()}

    assert (listed[bob.name]["has_played_game"], listed[carol.name]["has_played_game"]) == (True, False)
    told = [await session.next("RELATIONSHIP_ADD", lambda each: each["type"] == FRIEND) for _ in range(2)]
    assert {each["id"]: each["has_played_game"] for each in told} == {str(bob.id): True, str(carol.id): False}


@pytest.mark.parametrize(
    ("scopes", "reads", "writes"),
    [("relationships.read", True, False), ("relationships.write", False, True), ("identify", False, False)],
)
async def test_a_game_needs_the_scope(world: World, scopes: str, reads: bool, writes: bool) -> None:
    alice, bob = await people(world)
    game = await application(world)
    await world.player(bob, game.id)
    plays = await world.player(alice, game.id, scopes)
    for path in (PLATFORM, GAME):
        assert (await plays.get(path)).status == (200 if reads else 403)
        assert (await plays.put(f"{path}/{bob.id}", json={})).status == (204 if writes else 403)
        assert (await plays.delete(f"{path}/{bob.id}")).status == (204 if writes else 403)


async def test_a_person_does_not_write_game_friends_without_the_game(world: World) -> None:
    alice, bob = await people(world)

    assert (await alice.put(f"{GAME}/{bob.id}", json={})).status in (401, 403)


@pytest.mark.dated(changes.RELATIONSHIPS_FOR_ACTIVITIES)
async def test_an_activity_reads_them_without_approval_since_a_day(world: World) -> None:
    alice = await world.user()
    flags = ApplicationFlags.EMBEDDED | ApplicationFlags.SOCIAL_LAYER_INTEGRATION
    activity = await application(world, flags=flags)
    since = changes.RELATIONSHIPS_FOR_ACTIVITIES.at_ms
    world.clock.set(since - 1)
    refused(await activity.ask(alice, "identify relationships.read"), "invalid_scope")
    await world.write(lambda call: oauth2.approve_scopes(call, activity.id, ["relationships.read"]))
    (await activity.ask(alice, "identify relationships.read")).ok()
    other = await application(world, flags=flags)

    world.clock.set(since)

    (await other.ask(alice, "identify relationships.read")).ok()


# Accounts that are merged, split and deleted


async def test_a_merged_account_brings_its_friends_and_those_who_block_it(world: World) -> None:
    full, guest, friend, blocker, asked, fellow = await people(world, 6)
    game = await application(world)
    plays = {who.id: await world.player(who, game.id) for who in (full, guest, fellow)}
    await befriend(guest, friend)
    await befriend(plays[guest.id], plays[fellow.id], GAME)
    (await blocker.put(f"{PLATFORM}/{guest.id}", json={"type": 2})).ok()
    await befriend(full, guest)
    # Each asked the other, under different names.
    (await guest.put(f"{PLATFORM}/{asked.id}", json={})).ok()
    (await asked.put(f"{PLATFORM}/{full.id}", json={})).ok()
    theirs = await friend.connect()

    await world.write(
        lambda call: call.tell(
            identities.AccountsMerged(
                family_id=ApplicationId(game.id), source_id=UserId(guest.id), user_id=UserId(full.id)
            )
        )
    )

    assert await types(full) == {friend.id: FRIEND, asked.id: FRIEND}
    assert await types(blocker) == {full.id: BLOCKED}
    assert await types(plays[full.id], GAME) == {fellow.id: FRIEND}
    assert await types(plays[fellow.id], GAME) == {full.id: FRIEND}
    assert (await types(guest), await types(asked)) == ({}, {full.id: FRIEND})
    assert (await theirs.next("RELATIONSHIP_REMOVE"))["id"] == str(guest.id)
    assert (await theirs.next("RELATIONSHIP_ADD"))["id"] == str(full.id)


async def test_a_block_that_moves_ends_what_the_full_account_had(world: World) -> None:
    full, guest, other = await people(world, 3)
    game = await application(world)
    full_plays, other_plays = await world.player(full, game.id), await world.player(other, game.id)
    await befriend(full, other)
    await befriend(full_plays, other_plays, GAME)
    (await other.put(f"{PLATFORM}/{guest.id}", json={"type": 2})).ok()

    await world.write(
        lambda call: call.tell(
            identities.AccountsMerged(
                family_id=ApplicationId(game.id), source_id=UserId(guest.id), user_id=UserId(full.id)
            )
        )
    )

    assert (await types(full), await types(other)) == ({}, {full.id: BLOCKED})
    assert (await types(full_plays, GAME), await types(other_plays, GAME)) == ({}, {})


async def test_an_unmerged_account_keeps_what_is_the_games(world: World) -> None:
    full, guest, player, stranger, fellow, blocker = await people(world, 6)
    game = await application(world)
    plays = {who.id: await world.player(who, game.id) for who in (full, guest, player, fellow)}
    await befriend(full, player)
    await befriend(full, stranger)
    await befriend(plays[full.id], plays[fellow.id], GAME)
    (await blocker.put(f"{PLATFORM}/{full.id}", json={"type": 2})).ok()

    await world.write(
        lambda call: call.tell(
            identities.AccountUnmerged(
                family_id=ApplicationId(game.id),
                user_id=UserId(full.id),
                provisional_id=UserId(guest.id),
                restricted=False,
            )
        )
    )

    assert await types(guest) == {player.id: FRIEND}
    assert await types(plays[guest.id], GAME) == {fellow.id: FRIEND}
    assert await types(blocker) == {full.id: BLOCKED, guest.id: BLOCKED}
    assert await types(full) == {player.id: FRIEND, stranger.id: FRIEND}


async def test_nobody_keeps_an_account_that_is_gone(world: World) -> None:
    alice, bob = await people(world)
    await befriend(alice, bob)
    hers = await alice.connect()

    await world.write(lambda call: call.tell(users.UserDeleted(UserId(bob.id))))

    assert await types(alice) == {}
    assert (await hers.next("RELATIONSHIP_REMOVE"))["id"] == str(bob.id)


async def test_they_are_in_ones_copy_of_all_that_is_kept(world: World) -> None:
    alice, bob = await people(world)
    await befriend(alice, bob)
    asked = users.DataAsked(UserId(alice.id), {})

    await world.write(lambda call: call.tell(asked))

    [kept] = asked.records["relationships"]
    assert (kept["id"], kept["type"], kept["game"]) == (str(bob.id), FRIEND, None)


async def test_a_game_that_joins_a_publisher_loses_its_game_friends(world: World) -> None:
    alice, bob = await people(world)
    game, other = await application(world), await application(world)
    for each in (game, other):
        await befriend(await world.player(alice, each.id), await world.player(bob, each.id), GAME)
    session = await (await world.player(bob, game.id)).connect(Intents.ALL)

    fact = identities.FamilyJoined(application_id=ApplicationId(game.id), parent_id=ApplicationId(1))
    await world.write(lambda call: call.tell(fact))

    assert (await session.next("GAME_RELATIONSHIP_REMOVE"))["id"] == str(alice.id)
    assert [each["application_id"] for each in (await alice.get(GAME)).ok()] == [str(other.id)]


async def test_what_other_slices_ask(world: World) -> None:
    alice, bob, carol = await people(world, 3)
    game = await application(world)
    await befriend(await world.player(alice, game.id), await world.player(bob, game.id), GAME)
    await befriend(alice, carol)

    def ask(call: Call) -> None:
        tx = call.tx
        assert not relationships.are_friends(tx, alice.id, bob.id)
        assert relationships.are_friends(tx, alice.id, bob.id, family_id=game.id)
        assert relationships.are_friends(tx, alice.id, carol.id, family_id=game.id)
        assert relationships.friend_ids(tx, alice.id) == [carol.id]
        assert relationships.friend_ids(tx, alice.id, game.id) == sorted([bob.id, carol.id])
        assert relationships.plays(tx, bob.id, game.id)
        assert not relationships.plays(tx, carol.id, game.id)
        assert not relationships.is_blocked_between(tx, alice.id, carol.id)

    await world.write(ask)
    (await carol.put(f"{PLATFORM}/{alice.id}", json={"type": 2})).ok()

    def again(call: Call) -> None:
        assert relationships.is_blocked_between(call.tx, alice.id, carol.id)
        assert relationships.is_blocked_between(call.tx, carol.id, alice.id)
        assert relationships.blocks_among(call.tx, alice.id, [bob.id, carol.id]) == {carol.id}
        assert relationships.blocked_by(call.tx, alice.id) == [carol.id]

    await world.write(again)
