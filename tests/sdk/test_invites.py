"""Activity invites through the SDK."""

import pytest

from hubbub.sdk import ActivityActionTypes, ActivityParty, AuthorizationTokenType, ErrorType, SdkError
from tests.sdk.players import CallbackRecorder, Player, game, new_client, player
from tests.sdk.test_presence import activity_of, friends, joinable_activity
from tests.world import World

HOUR_MS = 3_600_000


async def hosting(world: World) -> tuple[Player, Player]:
    """Create two friends; Mary has an activity that Zoe can see and join."""
    mary, zoe = await friends(world)
    changed = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await changed.next(lambda user_id: user_id == mary.id and activity_of(zoe, mary) is not None)
    return mary, zoe


async def test_an_invited_player_accepts_and_gets_the_join_secret(world: World) -> None:
    mary, zoe = await hosting(world)
    invited, messages = zoe.record_event("activity_invite_created"), zoe.record_event("message_created")
    own = mary.record_event("activity_invite_created")

    await mary.client.send_activity_invite(zoe.id, "come and jump")

    invite = await invited.next()
    assert (invite.sender_id, invite.type, invite.party_id) == (mary.id, ActivityActionTypes.JOIN, "party-1")
    assert invite.application_id == mary.client.get_application_id()
    assert invite.is_valid
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    assert (messages.all, own.all) == ([], [])
    await mary.client.close()
    await zoe.client.close()


async def test_a_players_other_devices_see_the_invite_and_its_acceptance(world: World) -> None:
    mary, zoe = await hosting(world)
    phone = new_client(world)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await phone.connect()
    here, there, messages = zoe.record_event("activity_invite_created"), CallbackRecorder(), CallbackRecorder()
    phone.set_activity_invite_created_callback(there)
    phone.set_message_created_callback(messages)

    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await here.next()
    assert await there.next() == invite
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"

    assert await there.next() == invite
    # The accepting client already knows the result. Events for both clients have reached the other one by now, and so
    # this one.
    await zoe.client.get_user_guilds()
    assert (len(here.all), len(there.all), messages.all) == (1, 2, [])
    for client in (mary.client, zoe.client, phone):
        await client.close()


async def test_an_invite_that_fails_on_one_device_can_be_accepted_on_another(world: World) -> None:
    mary, zoe = await hosting(world)
    phone = new_client(world)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await phone.connect()
    here, there = zoe.record_event("activity_invite_created"), CallbackRecorder()
    phone.set_activity_invite_created_callback(there)
    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await here.next()
    gone, back = zoe.record_event("activity_invite_updated"), CallbackRecorder()
    phone.set_activity_invite_updated_callback(back)
    mary.client.clear_rich_presence()
    await gone.next()
    with pytest.raises(SdkError):
        await zoe.client.accept_activity_invite(invite)
    await mary.client.update_rich_presence(joinable_activity())
    await back.next(lambda each: each.is_valid)

    assert await phone.accept_activity_invite(await there.next()) == "let-me-in"

    assert (await here.next()).message_id == invite.message_id
    for client in (mary.client, zoe.client, phone):
        await client.close()


async def test_an_invite_is_a_message_of_the_conversation(world: World) -> None:
    mary, zoe = await hosting(world)
    at_zoe, at_mary = zoe.record_event("message_created"), mary.record_event("message_created")
    first = await mary.client.send_user_message(zoe.id, "hello")
    invited = zoe.record_event("activity_invite_created")
    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited.next()
    last = await mary.client.send_user_message(zoe.id, "or not")
    assert await at_zoe.next(lambda message_id: message_id == last) == last
    assert await at_mary.next(lambda message_id: message_id == last) == last
    fresh = new_client(world)
    await fresh.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await fresh.connect()

    for limit, expected in ((2, [last, invite.message_id]), (3, [last, invite.message_id, first])):
        asked = await fresh.get_user_messages_with_limit(mary.id, limit)
        assert [each.id for each in asked] == expected
        fresh._core.cache.histories.clear()
        # From received events, without a request.
        for here, other in ((zoe, mary), (mary, zoe)):
            history = here.client._core.cache.histories[other.id]
            assert not history.complete
            assert history.can_serve(limit)
            fetched = await here.client.get_user_messages_with_limit(other.id, limit)
            assert [each.id for each in fetched] == expected
    handle = zoe.client.get_message_handle(invite.message_id)
    assert handle is not None
    assert handle.content == "come and jump"
    assert (invite.message_id,) not in at_zoe.all + at_mary.all
    for client in (mary.client, zoe.client, fresh):
        await client.close()


async def test_a_join_request_to_a_full_party_is_rejected(world: World) -> None:
    mary, zoe = await hosting(world)
    changed = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(
        joinable_activity(party=ActivityParty(id="party-1", current_size=4, max_size=4))
    )
    await changed.next(lambda user_id: (seen := activity_of(zoe, mary)) is not None and seen.party.current_size == 4)  # type: ignore[union-attr]

    with pytest.raises(SdkError) as caught:
        await zoe.client.send_activity_join_request(mary.id)

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_a_player_asks_to_join_and_is_invited(world: World) -> None:
    mary, zoe = await hosting(world)
    asked, invited = mary.record_event("activity_invite_created"), zoe.record_event("activity_invite_created")

    await zoe.client.send_activity_join_request(mary.id)
    request = await asked.next()
    assert (request.sender_id, request.type) == (zoe.id, ActivityActionTypes.JOIN_REQUEST)
    with pytest.raises(SdkError):
        await mary.client.accept_activity_invite(request)

    await mary.client.send_activity_join_request_reply(request)
    invite = await invited.next()
    assert invite.type is ActivityActionTypes.JOIN
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    await mary.client.close()
    await zoe.client.close()


async def test_an_invite_is_valid_while_its_sender_plays(world: World) -> None:
    mary, zoe = await hosting(world)
    invited, updated = zoe.record_event("activity_invite_created"), zoe.record_event("activity_invite_updated")
    await mary.client.send_activity_invite(zoe.id, "")
    await invited.next()

    mary.client.clear_rich_presence()
    assert not (await updated.next()).is_valid
    await mary.client.update_rich_presence(joinable_activity())
    assert (await updated.next()).is_valid
    world.clock.advance(7 * HOUR_MS)
    # Any response gives Zoe's client the platform's time.
    await zoe.client.get_user_guilds()
    assert not (await updated.next()).is_valid
    changed = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity(details="Still jumping"))
    await changed.next(lambda user_id: user_id == mary.id)
    assert len(updated.all) == 3
    await mary.client.close()
    await zoe.client.close()


async def test_inviting_needs_a_joinable_activity(world: World) -> None:
    mary = await player(world, await game(world))
    await mary.client.update_rich_presence(joinable_activity(secrets=None))

    for operation in (mary.client.send_activity_invite(5, ""), mary.client.send_activity_join_request(5)):
        with pytest.raises(SdkError) as caught:
            await operation
        assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()


async def test_an_invite_with_presence_scopes_has_no_content(world: World) -> None:
    application = await game(world)
    mary = await player(world, application, "mary", scopes="openid sdk.social_layer_presence")
    zoe = await player(world, application, "zoe", scopes="openid sdk.social_layer_presence")
    from tests.sdk.test_presence import befriend

    await befriend(mary, zoe)
    changed, invited = zoe.record_event("user_updated"), zoe.record_event("activity_invite_created")
    await mary.client.update_rich_presence(joinable_activity())
    await changed.next(lambda user_id: user_id == mary.id and activity_of(zoe, mary) is not None)

    await mary.client.send_activity_invite(zoe.id, "words that are dropped")

    invite = await invited.next()
    assert (invite.sender_id, invite.type) == (mary.id, ActivityActionTypes.JOIN)
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    await mary.client.close()
    await zoe.client.close()


async def test_invites_wait_for_a_disconnected_player(world: World) -> None:
    mary, zoe = await hosting(world)
    invited = zoe.record_event("activity_invite_created")
    await zoe.client.disconnect()
    await mary.client.send_activity_invite(zoe.id, "come and jump")

    await zoe.client.connect()

    invite = await invited.next()
    assert (invite.sender_id, invite.type, invite.party_id) == (mary.id, ActivityActionTypes.JOIN, "party-1")
    assert invite.is_valid
    # This client already knows the invite and is not notified again; another client is, until the invite is accepted.
    await zoe.client.disconnect()
    await zoe.client.connect()
    phone, there = new_client(world), CallbackRecorder()
    phone.set_activity_invite_created_callback(there)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await phone.connect()
    assert await there.next() == invite
    assert await phone.accept_activity_invite(invite) == "let-me-in"
    assert await invited.next() == invite
    assert len(invited.all) == 2
    for client in (mary.client, zoe.client, phone):
        await client.close()


@pytest.mark.parametrize("over", ["accepted", "old", "taken back", "blocked"])
async def test_an_expired_invite_is_not_delivered_on_connect(world: World, over: str) -> None:
    mary, zoe = await hosting(world)
    invited = zoe.record_event("activity_invite_created")
    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited.next()
    if over == "accepted":
        await zoe.client.accept_activity_invite(invite)
    elif over == "old":
        world.clock.advance(6 * HOUR_MS + 1)
    elif over == "taken back":
        await mary.client.delete_user_message(zoe.id, invite.message_id)
    else:
        await zoe.client.block_user(mary.id)
    phone, there = new_client(world), CallbackRecorder()
    phone.set_activity_invite_created_callback(there)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])

    await phone.connect()

    # Events of the connection's start arrived before the response to this.
    await phone.get_user_guilds()
    assert there.all == []
    for client in (mary.client, zoe.client, phone):
        await client.close()


async def test_an_invite_expires_after_six_hours_without_any_response(world: World) -> None:
    mary, zoe = await hosting(world)
    invited, updated = zoe.record_event("activity_invite_created"), zoe.record_event("activity_invite_updated")
    # Zoe's client receives the invite when it is almost six hours old, and no later response changes the clock.
    clock, passed_s = zoe.client._core.clock, 6 * 3600 - 0.2
    clock.update_from_headers = lambda headers: None  # type: ignore[method-assign]
    clock._offset_ms, clock.monotonic = world.clock.now_ms(), lambda: passed_s

    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited.next()
    assert invite.is_valid
    passed_s += 3600

    later = await updated.next()
    assert (later.message_id, later.is_valid) == (invite.message_id, False)
    assert updated.all == [(later,)]
    await mary.client.close()
    await zoe.client.close()
