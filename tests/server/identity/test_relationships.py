"""Friends, friend requests and blocks, on the platform and in games.

The last tests are about merged, unmerged and deleted accounts, the data export, and queries by other slices."""

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources.relationships import ACCEPT_OR_REQUEST_TYPE
from hubbub.server.core.call import Call
from hubbub.server.identity import identities, oauth2, relationships, users
from hubbub.server.identity.relationships import store as relationship_store
from tests.oauth import assert_oauth2_error, create_application, set_application_columns
from tests.players import create_provisional_player
from tests.world import Actor, World, befriend

FRIEND, BLOCKED, INCOMING, OUTGOING = (
    RelationshipType.FRIEND,
    RelationshipType.BLOCKED,
    RelationshipType.PENDING_INCOMING,
    RelationshipType.PENDING_OUTGOING,
)
PLATFORM_PATH, GAME_PATH = "/users/@me/relationships", "/users/@me/game-relationships"


async def relationship_types(actor: Actor, path: str = PLATFORM_PATH) -> dict[int, int]:
    """Return the types of an actor's relationships, by the other user's ID."""
    return {int(relationship["id"]): relationship["type"] for relationship in (await actor.get(path)).ok()}


async def create_users(world: World, count: int = 2) -> list[Actor]:
    return [await world.user() for _ in range(count)]


# Platform relationships


async def test_a_friend_request_is_pending_for_both_users_and_notifies_both(world: World) -> None:
    alice, bob = await create_users(world)
    alice_session, bob_session = await alice.connect(), await bob.connect()

    response = await alice.post(PLATFORM_PATH, json={"username": bob.name, "discriminator": None})

    assert response.status == 204
    assert (await relationship_types(alice), await relationship_types(bob)) == (
        {bob.id: OUTGOING},
        {alice.id: INCOMING},
    )
    outgoing, incoming = await alice_session.next("RELATIONSHIP_ADD"), await bob_session.next("RELATIONSHIP_ADD")
    assert (outgoing["id"], outgoing["type"], outgoing["user"]["username"]) == (str(bob.id), OUTGOING, bob.name)
    assert "should_notify" not in outgoing
    assert (incoming["id"], incoming["type"], incoming["should_notify"]) == (str(alice.id), INCOMING, True)
    assert "has_played_game" not in incoming


async def test_accepting_makes_friends_and_shares_presences(world: World) -> None:
    alice, bob = await create_users(world)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={})).ok()
    alice_session, bob_session = await alice.connect(), await bob.connect()

    (await bob.put(f"{PLATFORM_PATH}/{alice.id}")).ok()

    assert (await relationship_types(alice), await relationship_types(bob)) == ({bob.id: FRIEND}, {alice.id: FRIEND})
    relationship_add = await alice_session.next("RELATIONSHIP_ADD")
    assert (relationship_add["type"], relationship_add["should_notify"]) == (FRIEND, True)
    assert (await alice_session.next("PRESENCE_UPDATE"))["user"]["id"] == str(bob.id)
    assert (await bob_session.next("RELATIONSHIP_ADD"))["type"] == FRIEND
    presence = await bob_session.next("PRESENCE_UPDATE")
    assert (presence["user"]["id"], presence["status"]) == (str(alice.id), "online")
    assert "guild_id" not in presence


async def test_requests_in_both_directions_make_friends(world: World) -> None:
    alice, bob = await create_users(world)
    (await alice.post(PLATFORM_PATH, json={"username": bob.name})).ok()

    (await bob.post(PLATFORM_PATH, json={"username": alice.name.upper()})).ok()

    assert await relationship_types(alice) == {bob.id: FRIEND}


async def test_sending_a_request_twice_changes_nothing(world: World) -> None:
    alice, bob = await create_users(world)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": ACCEPT_OR_REQUEST_TYPE})).ok()
    bob_session = await bob.connect()

    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": FRIEND})).ok()

    assert await relationship_types(alice) == {bob.id: OUTGOING}
    await bob_session.assert_not_received("RELATIONSHIP_ADD")


@pytest.mark.parametrize("removed_by", ["recipient", "sender"])
async def test_rejecting_or_canceling_a_request_removes_it_for_both(world: World, removed_by: str) -> None:
    alice, bob = await create_users(world)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={})).ok()
    alice_session, bob_session = await alice.connect(), await bob.connect()

    remover, other_user = (bob, alice) if removed_by == "recipient" else (alice, bob)
    assert (await remover.delete(f"{PLATFORM_PATH}/{other_user.id}")).status == 204

    assert (await relationship_types(alice), await relationship_types(bob)) == ({}, {})
    assert (await alice_session.next("RELATIONSHIP_REMOVE"))["type"] == OUTGOING
    assert (await bob_session.next("RELATIONSHIP_REMOVE")) == {"id": str(alice.id), "type": INCOMING, "nickname": None}


async def test_removing_a_friend_is_mutual_and_idempotent(world: World) -> None:
    alice, bob = await create_users(world)
    await befriend(alice, bob)

    (await alice.delete(f"{PLATFORM_PATH}/{bob.id}")).ok()
    (await alice.delete(f"{PLATFORM_PATH}/{bob.id}")).ok()

    assert (await relationship_types(alice), await relationship_types(bob)) == ({}, {})
    (await alice.delete(f"{PLATFORM_PATH}/1")).rejected(404, 10013)


async def test_a_block_ends_platform_and_game_friendships_permanently(world: World) -> None:
    alice, bob = await create_users(world)
    game = await create_application(world)
    alice_bearer, bob_bearer = await world.bearer(alice, game.id), await world.bearer(bob, game.id)
    await befriend(alice, bob)
    await befriend(alice_bearer, bob_bearer, GAME_PATH)
    bob_session = await bob.connect()

    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": BLOCKED})).ok()

    assert (await relationship_types(alice), await relationship_types(bob)) == ({bob.id: BLOCKED}, {})
    assert (await relationship_types(alice_bearer, GAME_PATH), await relationship_types(bob_bearer, GAME_PATH)) == (
        {},
        {},
    )
    assert (await bob_session.next("GAME_RELATIONSHIP_REMOVE"))["id"] == str(alice.id)
    assert (await bob_session.next("RELATIONSHIP_REMOVE"))["type"] == FRIEND
    (await bob.put(f"{PLATFORM_PATH}/{alice.id}", json={})).rejected(400, 80001)
    (await bob_bearer.put(f"{GAME_PATH}/{alice.id}", json={})).rejected(400, 80001)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={})).rejected(400, 80001)

    (await alice.delete(f"{PLATFORM_PATH}/{bob.id}")).ok()

    assert (await relationship_types(alice), await relationship_types(bob)) == ({}, {})


async def test_blocks_in_both_directions_are_independent(world: World) -> None:
    alice, bob = await create_users(world)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": BLOCKED})).ok()
    (await bob.put(f"{PLATFORM_PATH}/{alice.id}", json={"type": BLOCKED})).ok()
    (await bob.put(f"{PLATFORM_PATH}/{alice.id}", json={"type": BLOCKED})).ok()

    (await alice.delete(f"{PLATFORM_PATH}/{bob.id}")).ok()

    assert (await relationship_types(alice), await relationship_types(bob)) == ({}, {alice.id: BLOCKED})


async def test_the_blocked_user_receives_no_event(world: World) -> None:
    alice, bob = await create_users(world)
    bob_session = await bob.connect()

    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": BLOCKED})).ok()

    await bob_session.assert_not_received("RELATIONSHIP_ADD", "RELATIONSHIP_REMOVE")


async def test_invalid_friend_requests_are_rejected(world: World) -> None:
    alice, bob = await create_users(world)
    bot = await world.bot()
    (await alice.put(f"{PLATFORM_PATH}/1", json={})).rejected(404, 10013)
    (await alice.post(PLATFORM_PATH, json={"username": "unknown-username"})).rejected(400, 80004)
    (await alice.post(PLATFORM_PATH, json={"username": bob.name, "discriminator": "1234"})).rejected(400, 80004)
    (await alice.put(f"{PLATFORM_PATH}/{alice.id}", json={})).rejected(400, 80003)
    (await alice.post(PLATFORM_PATH, json={"username": alice.name})).rejected(400, 80003)
    (await alice.put(f"{PLATFORM_PATH}/{alice.id}", json={"type": BLOCKED})).rejected(400, 80003)
    (await alice.put(f"{PLATFORM_PATH}/{bot.id}", json={})).rejected(400, 80002)
    await befriend(alice, bob)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={})).rejected(400, 80007)
    assert (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": INCOMING})).errors("type") == [
        "BASE_TYPE_CHOICES"
    ]
    assert (await alice.post(PLATFORM_PATH, json={})).errors("username") == ["BASE_TYPE_REQUIRED"]
    assert (await bot.get(PLATFORM_PATH)).status == 403
    assert (await relationship_types(alice)) == {bob.id: FRIEND}


async def test_the_number_of_friends_is_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.protocol.resources.relationships.FRIENDS_MAX", 2)
    alice, bob, carol, dave = await create_users(world, 4)
    await befriend(alice, bob)
    (await alice.put(f"{PLATFORM_PATH}/{carol.id}", json={})).ok()

    (await alice.put(f"{PLATFORM_PATH}/{dave.id}", json={})).rejected(400, 30002)
    (await dave.put(f"{PLATFORM_PATH}/{alice.id}", json={})).ok()
    (await alice.put(f"{PLATFORM_PATH}/{dave.id}", json={})).rejected(400, 30002)
    # Carol can accept, because the pending request already counts as a friend.
    (await carol.put(f"{PLATFORM_PATH}/{alice.id}", json={})).ok()


async def test_the_number_of_blocked_users_is_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.protocol.resources.relationships.BLOCKED_MAX", 1)
    alice, bob, carol = await create_users(world, 3)
    (await alice.put(f"{PLATFORM_PATH}/{bob.id}", json={"type": BLOCKED})).ok()

    error = (await alice.put(f"{PLATFORM_PATH}/{carol.id}", json={"type": BLOCKED})).rejected(400, 30002)

    assert "blocked" in error["message"]


async def test_a_friend_nickname_is_private(world: World) -> None:
    alice, bob = await create_users(world)
    await befriend(alice, bob)
    alice_session, bob_session = await alice.connect(), await bob.connect()

    (await alice.patch(f"{PLATFORM_PATH}/{bob.id}", json={"nickname": " Bobby "})).ok()

    assert (await alice_session.next("RELATIONSHIP_UPDATE"))["nickname"] == "Bobby"
    assert [relationship["nickname"] for relationship in (await alice.get(PLATFORM_PATH)).ok()] == ["Bobby"]
    await bob_session.assert_not_received("RELATIONSHIP_UPDATE")
    assert (await alice.patch(f"{PLATFORM_PATH}/{bob.id}", json={"nickname": "x" * 33})).errors("nickname") == [
        "BASE_TYPE_MAX_LENGTH"
    ]
    (await alice.patch(f"{PLATFORM_PATH}/1", json={"nickname": None})).rejected(404, 10013)


# Game relationships


async def test_game_friends_belong_to_the_family_and_not_to_the_platform(world: World) -> None:
    alice, bob = await create_users(world)
    publisher, chess_game, go_game, other_game = [await create_application(world) for _ in range(4)]
    for child in (chess_game, go_game):
        await set_application_columns(world, child, parent_id=publisher.id)
    alice_bearer, bob_bearer = await world.bearer(alice, chess_game.id), await world.bearer(bob, go_game.id)
    bob_session, other_session = (
        await bob_bearer.connect(Intents.ALL),
        await (await world.bearer(bob, other_game.id)).connect(Intents.ALL),
    )

    (await alice_bearer.post(GAME_PATH, json={"username": bob.name})).ok()

    event = await bob_session.next("GAME_RELATIONSHIP_ADD")
    assert (event["id"], event["user_id"], event["type"]) == (str(alice.id), str(bob.id), INCOMING)
    assert (event["application_id"], event["dm_access_type"]) == (str(chess_game.id), 0)
    await other_session.assert_not_received("GAME_RELATIONSHIP_ADD")
    (await bob_bearer.put(f"{GAME_PATH}/{alice.id}", json={})).ok()
    [friend] = (await bob_bearer.get(GAME_PATH)).ok()
    assert (friend["type"], "user" in friend) == (FRIEND, False)
    assert [relationship["user"]["username"] for relationship in (await bob.get(GAME_PATH)).ok()] == [alice.name]
    assert await relationship_types(bob) == {}
    assert await relationship_types(await world.bearer(bob, other_game.id), GAME_PATH) == {}
    (await alice_bearer.put(f"{GAME_PATH}/{bob.id}", json={})).rejected(400, 80007)

    (await bob_bearer.delete(f"{GAME_PATH}/{alice.id}")).ok()
    assert await relationship_types(alice_bearer, GAME_PATH) == {}


async def test_a_game_friend_must_have_authorized_the_game(world: World) -> None:
    alice, bob = await create_users(world)
    game = await create_application(world)
    alice_bearer = await world.bearer(alice, game.id)
    (await alice_bearer.put(f"{GAME_PATH}/{bob.id}", json={})).rejected(400, 80000)

    await game.request_tokens(bob, "identify")

    (await alice_bearer.put(f"{GAME_PATH}/{bob.id}", json={})).ok()
    assert (await alice_bearer.put(f"{GAME_PATH}/{bob.id}", json={"type": BLOCKED})).errors("type") == [
        "BASE_TYPE_CHOICES"
    ]
    (await alice_bearer.put(f"{GAME_PATH}/{alice.id}", json={})).rejected(400, 80003)
    (await alice_bearer.put(f"{GAME_PATH}/1", json={})).rejected(404, 10013)


async def test_a_provisional_account_has_friends_of_both_kinds(world: World) -> None:
    alice = await world.user()
    game = await create_application(world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION)
    provisional_player = await create_provisional_player(game, "provisional-1")
    alice_bearer = await world.bearer(alice, game.id)

    await befriend(alice_bearer, provisional_player)
    await befriend(provisional_player, alice_bearer, GAME_PATH)

    assert await relationship_types(provisional_player) == {alice.id: FRIEND}
    session = await alice_bearer.connect(Intents.ALL)
    [profile] = session.ready["user_application_profiles"][str(provisional_player.id)]
    assert profile["external_id"]["provider_issued_user_id"] == "provisional-1"
    assert [relationship["has_played_game"] for relationship in session.ready["relationships"]] == [True]


async def test_platform_and_game_friendships_are_independent(world: World) -> None:
    alice, bob = await create_users(world)
    game = await create_application(world)
    alice_bearer, bob_bearer = await world.bearer(alice, game.id), await world.bearer(bob, game.id)
    await befriend(alice_bearer, bob_bearer, GAME_PATH)

    (await alice_bearer.put(f"{PLATFORM_PATH}/{bob.id}", json={})).ok()

    assert (await relationship_types(alice_bearer, GAME_PATH), await relationship_types(alice)) == (
        {bob.id: FRIEND},
        {bob.id: OUTGOING},
    )
    # A request with an access token of a game lists only friends (spec/sdk.md#9.6).
    assert await relationship_types(alice_bearer) == {}


async def test_a_game_receives_which_friends_play_it(world: World) -> None:
    alice, bob, carol = await create_users(world, 3)
    game = await create_application(world)
    alice_bearer = await world.bearer(alice, game.id)
    await world.bearer(bob, game.id)
    session = await alice_bearer.connect(Intents.ALL)
    await befriend(alice, bob)
    await befriend(alice, carol)

    relationships_by_name = {
        relationship["user"]["username"]: relationship for relationship in (await alice_bearer.get(PLATFORM_PATH)).ok()
    }

    assert (
        relationships_by_name[bob.name]["has_played_game"],
        relationships_by_name[carol.name]["has_played_game"],
    ) == (True, False)
    events = [
        await session.next("RELATIONSHIP_ADD", lambda relationship: relationship["type"] == FRIEND) for _ in range(2)
    ]
    assert {relationship["id"]: relationship["has_played_game"] for relationship in events} == {
        str(bob.id): True,
        str(carol.id): False,
    }


@pytest.mark.parametrize(
    ("scopes", "can_read", "can_write"),
    [("relationships.read", True, False), ("relationships.write", False, True), ("identify", False, False)],
)
async def test_a_game_requires_the_relationship_scopes(
    world: World, scopes: str, can_read: bool, can_write: bool
) -> None:
    alice, bob = await create_users(world)
    game = await create_application(world)
    await world.bearer(bob, game.id)
    alice_bearer = await world.bearer(alice, game.id, scopes)
    for path in (PLATFORM_PATH, GAME_PATH):
        assert (await alice_bearer.get(path)).status == (200 if can_read else 403)
        assert (await alice_bearer.put(f"{path}/{bob.id}", json={})).status == (204 if can_write else 403)
        assert (await alice_bearer.delete(f"{path}/{bob.id}")).status == (204 if can_write else 403)


async def test_a_user_token_cannot_add_game_friends(world: World) -> None:
    alice, bob = await create_users(world)

    (await alice.put(f"{GAME_PATH}/{bob.id}", json={})).rejected(403, 20002)


@pytest.mark.dated(changes.RELATIONSHIPS_FOR_ACTIVITIES)
async def test_an_activity_reads_relationships_without_approval_since_the_release_date(world: World) -> None:
    alice = await world.user()
    flags = ApplicationFlags.EMBEDDED | ApplicationFlags.SOCIAL_LAYER_INTEGRATION
    activity = await create_application(world, flags=flags)
    since_ms = changes.RELATIONSHIPS_FOR_ACTIVITIES.at_ms
    world.clock.set(since_ms - 1)
    assert_oauth2_error(await activity.authorize(alice, "identify relationships.read"), "invalid_scope")
    await world.write(lambda call: oauth2.approve_scopes(call, activity.id, ["relationships.read"]))
    (await activity.authorize(alice, "identify relationships.read")).ok()
    other_activity = await create_application(world, flags=flags)

    world.clock.set(since_ms)

    (await other_activity.authorize(alice, "identify relationships.read")).ok()


# Merged, unmerged and deleted accounts


async def test_a_merge_moves_friends_requests_and_blocks(world: World) -> None:
    full_user, provisional_users, friend, blocker, requester, game_friend = await create_users(world, 6)
    game = await create_application(world)
    bearers_by_user_id = {
        user.id: await world.bearer(user, game.id) for user in (full_user, provisional_users, game_friend)
    }
    await befriend(provisional_users, friend)
    await befriend(bearers_by_user_id[provisional_users.id], bearers_by_user_id[game_friend.id], GAME_PATH)
    (await blocker.put(f"{PLATFORM_PATH}/{provisional_users.id}", json={"type": BLOCKED})).ok()
    await befriend(full_user, provisional_users)
    # The provisional account sent a request to the requester, who sent one to the full account: they match after the merge.
    (await provisional_users.put(f"{PLATFORM_PATH}/{requester.id}", json={})).ok()
    (await requester.put(f"{PLATFORM_PATH}/{full_user.id}", json={})).ok()
    friend_session = await friend.connect()

    await world.write(
        lambda call: call.notify(
            identities.AccountsMerged(
                family_id=ApplicationId(game.id), source_id=UserId(provisional_users.id), user_id=UserId(full_user.id)
            )
        )
    )

    assert await relationship_types(full_user) == {friend.id: FRIEND, requester.id: FRIEND}
    assert await relationship_types(blocker) == {full_user.id: BLOCKED}
    assert await relationship_types(bearers_by_user_id[full_user.id], GAME_PATH) == {game_friend.id: FRIEND}
    assert await relationship_types(bearers_by_user_id[game_friend.id], GAME_PATH) == {full_user.id: FRIEND}
    assert (await relationship_types(provisional_users), await relationship_types(requester)) == (
        {},
        {full_user.id: FRIEND},
    )
    assert (await friend_session.next("RELATIONSHIP_REMOVE"))["id"] == str(provisional_users.id)
    assert (await friend_session.next("RELATIONSHIP_ADD"))["id"] == str(full_user.id)


async def test_a_moved_block_ends_friendships_of_the_full_account(world: World) -> None:
    full_user, provisional_users, other_user = await create_users(world, 3)
    game = await create_application(world)
    full_bearer, other_bearer = await world.bearer(full_user, game.id), await world.bearer(other_user, game.id)
    await befriend(full_user, other_user)
    await befriend(full_bearer, other_bearer, GAME_PATH)
    (await other_user.put(f"{PLATFORM_PATH}/{provisional_users.id}", json={"type": BLOCKED})).ok()

    await world.write(
        lambda call: call.notify(
            identities.AccountsMerged(
                family_id=ApplicationId(game.id), source_id=UserId(provisional_users.id), user_id=UserId(full_user.id)
            )
        )
    )

    assert (await relationship_types(full_user), await relationship_types(other_user)) == ({}, {full_user.id: BLOCKED})
    assert (await relationship_types(full_bearer, GAME_PATH), await relationship_types(other_bearer, GAME_PATH)) == (
        {},
        {},
    )


async def test_an_unmerged_account_keeps_relationships_with_players(world: World) -> None:
    full_user, provisional_users, player, nonplayer, game_friend, blocker = await create_users(world, 6)
    game = await create_application(world)
    bearers_by_user_id = {
        user.id: await world.bearer(user, game.id) for user in (full_user, provisional_users, player, game_friend)
    }
    await befriend(full_user, player)
    await befriend(full_user, nonplayer)
    await befriend(bearers_by_user_id[full_user.id], bearers_by_user_id[game_friend.id], GAME_PATH)
    (await blocker.put(f"{PLATFORM_PATH}/{full_user.id}", json={"type": BLOCKED})).ok()

    await world.write(
        lambda call: call.notify(
            identities.AccountUnmerged(
                family_id=ApplicationId(game.id),
                user_id=UserId(full_user.id),
                provisional_id=UserId(provisional_users.id),
                is_restricted=False,
            )
        )
    )

    assert await relationship_types(provisional_users) == {player.id: FRIEND}
    assert await relationship_types(bearers_by_user_id[provisional_users.id], GAME_PATH) == {game_friend.id: FRIEND}
    assert await relationship_types(blocker) == {full_user.id: BLOCKED, provisional_users.id: BLOCKED}
    assert await relationship_types(full_user) == {player.id: FRIEND, nonplayer.id: FRIEND}


async def test_a_deleted_account_is_removed_from_relationships(world: World) -> None:
    alice, bob = await create_users(world)
    await befriend(alice, bob)
    alice_session = await alice.connect()

    await world.write(lambda call: call.notify(users.signals.UserDeleting(UserId(bob.id))))

    assert await relationship_types(alice) == {}
    assert (await alice_session.next("RELATIONSHIP_REMOVE"))["id"] == str(bob.id)


async def test_relationships_are_part_of_the_data_export(world: World) -> None:
    alice, bob = await create_users(world)
    await befriend(alice, bob)

    [exported_relationship] = (await alice.get("/users/@me/harvest")).ok()["records"]["relationships"]

    assert (exported_relationship["id"], exported_relationship["type"], exported_relationship["game"]) == (
        str(bob.id),
        FRIEND,
        None,
    )


async def test_a_game_that_joins_a_publisher_loses_its_game_friends(world: World) -> None:
    alice, bob = await create_users(world)
    game, other_game = await create_application(world), await create_application(world)
    for client in (game, other_game):
        await befriend(await world.bearer(alice, client.id), await world.bearer(bob, client.id), GAME_PATH)
    session = await (await world.bearer(bob, game.id)).connect(Intents.ALL)

    signal = identities.FamilyJoined(application_id=ApplicationId(game.id), parent_id=ApplicationId(1))
    await world.write(lambda call: call.notify(signal))

    assert (await session.next("GAME_RELATIONSHIP_REMOVE"))["id"] == str(alice.id)
    assert [relationship["application_id"] for relationship in (await alice.get(GAME_PATH)).ok()] == [
        str(other_game.id)
    ]


async def test_other_slices_can_query_friends_players_and_blocks(world: World) -> None:
    alice, bob, carol = await create_users(world, 3)
    game = await create_application(world)
    await befriend(await world.bearer(alice, game.id), await world.bearer(bob, game.id), GAME_PATH)
    await befriend(alice, carol)

    def check_friends(call: Call) -> None:
        tx = call.tx
        assert not relationships.are_friends(tx, alice.id, bob.id)
        assert relationships.are_friends(tx, alice.id, bob.id, family_id=game.id)
        assert relationships.are_friends(tx, alice.id, carol.id, family_id=game.id)
        assert relationships.list_friend_ids(tx, alice.id) == [carol.id]
        assert relationships.list_friend_ids(tx, alice.id, game.id) == sorted([bob.id, carol.id])
        assert relationships.is_player(tx, bob.id, game.id)
        assert not relationships.is_player(tx, carol.id, game.id)
        assert not relationships.is_blocked_between(tx, alice.id, carol.id)

    await world.write(check_friends)
    (await carol.put(f"{PLATFORM_PATH}/{alice.id}", json={"type": BLOCKED})).ok()

    def check_blocks(call: Call) -> None:
        assert relationships.is_blocked_between(call.tx, alice.id, carol.id)
        assert relationships.is_blocked_between(call.tx, carol.id, alice.id)
        assert relationships.filter_blocked(call.tx, alice.id, [bob.id, carol.id]) == {carol.id}
        assert relationship_store.list_blocker_ids(call.tx, alice.id) == [carol.id]

    await world.write(check_blocks)
