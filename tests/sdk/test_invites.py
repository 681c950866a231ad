"""Activity invites through the SDK."""

import pytest

from hubbub.sdk import ActivityActionTypes, ActivityParty, AuthorizationTokenType, ErrorType, SdkError
from tests.sdk.players import (
    CallbackRecorder,
    Player,
    befriend_players,
    create_friends,
    create_game,
    create_player,
    joinable_activity,
    new_client,
    visible_activity,
)
from tests.world import World

HOUR_MS = 3_600_000


async def create_host_and_guest(world: World) -> tuple[Player, Player]:
    """Create two friends; Mary has an activity that Zoe can see and join."""
    mary, zoe = await create_friends(world)
    changed_events = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)
    return mary, zoe


async def test_an_invited_player_accepts_and_gets_the_join_secret(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    invited_events, message_events = zoe.record_event("activity_invite_created"), zoe.record_event("message_created")
    own_invited_events = mary.record_event("activity_invite_created")

    await mary.client.send_activity_invite(zoe.id, "come and jump")

    invite = await invited_events.next()
    assert (invite.sender_id, invite.type, invite.party_id) == (mary.id, ActivityActionTypes.JOIN, "party-1")
    assert invite.application_id == mary.client.get_application_id()
    assert invite.is_valid
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    assert (message_events.calls, own_invited_events.calls) == ([], [])
    await mary.client.close()
    await zoe.client.close()


async def test_a_players_other_devices_see_the_invite_and_its_acceptance(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    phone = new_client(world)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await phone.connect()
    invites, phone_invites, messages = (
        zoe.record_event("activity_invite_created"),
        CallbackRecorder(),
        CallbackRecorder(),
    )
    phone.set_activity_invite_created_callback(phone_invites)
    phone.set_message_created_callback(messages)

    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invites.next()
    assert await phone_invites.next() == invite
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"

    assert await phone_invites.next() == invite
    # The accepting client receives no event. The event has reached the phone, so an event for the accepting client
    # would arrive before the response to this request.
    await zoe.client.get_user_guilds()
    assert (len(invites.calls), len(phone_invites.calls), messages.calls) == (1, 2, [])
    for client in (mary.client, zoe.client, phone):
        await client.close()


async def test_an_invite_that_fails_on_one_device_can_be_accepted_on_another(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    phone = new_client(world)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await phone.connect()
    invited_events, phone_invited_events = zoe.record_event("activity_invite_created"), CallbackRecorder()
    phone.set_activity_invite_created_callback(phone_invited_events)
    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited_events.next()
    updated_events, phone_updated_events = zoe.record_event("activity_invite_updated"), CallbackRecorder()
    phone.set_activity_invite_updated_callback(phone_updated_events)
    mary.client.clear_rich_presence()
    await updated_events.next()
    with pytest.raises(SdkError):
        await zoe.client.accept_activity_invite(invite)
    await mary.client.update_rich_presence(joinable_activity())
    await phone_updated_events.next(lambda updated_invite: updated_invite.is_valid)

    assert await phone.accept_activity_invite(await phone_invited_events.next()) == "let-me-in"

    assert (await invited_events.next()).message_id == invite.message_id
    for client in (mary.client, zoe.client, phone):
        await client.close()


async def test_an_invite_is_a_message_of_the_conversation(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    zoe_message_events, mary_message_events = zoe.record_event("message_created"), mary.record_event("message_created")
    first_id = await mary.client.send_user_message(zoe.id, "hello")
    invited_events = zoe.record_event("activity_invite_created")
    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited_events.next()
    last_id = await mary.client.send_user_message(zoe.id, "or not")
    assert await zoe_message_events.next(lambda message_id: message_id == last_id) == last_id
    assert await mary_message_events.next(lambda message_id: message_id == last_id) == last_id
    new_zoe_client = new_client(world)
    await new_zoe_client.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await new_zoe_client.connect()

    for limit, expected in ((2, [last_id, invite.message_id]), (3, [last_id, invite.message_id, first_id])):
        fetched_messages = await new_zoe_client.get_user_messages_with_limit(mary.id, limit)
        assert [message.id for message in fetched_messages] == expected
        new_zoe_client._core.cache.histories.clear()
        # The connected clients return the messages from received events, without a request.
        for reader, other in ((zoe, mary), (mary, zoe)):
            history = reader.client._core.cache.histories[other.id]
            assert not history.is_complete
            assert history.can_serve(limit)
            cached_messages = await reader.client.get_user_messages_with_limit(other.id, limit)
            assert [message.id for message in cached_messages] == expected
    handle = zoe.client.get_message_handle(invite.message_id)
    assert handle is not None
    assert handle.content == "come and jump"
    assert (invite.message_id,) not in zoe_message_events.calls + mary_message_events.calls
    for client in (mary.client, zoe.client, new_zoe_client):
        await client.close()


async def test_a_join_request_to_a_full_party_is_rejected(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    changed_events = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(
        joinable_activity(party=ActivityParty(id="party-1", current_size=4, max_size=4))
    )
    await changed_events.next(
        lambda user_id: (activity := visible_activity(zoe, mary)) is not None and activity.party.current_size == 4
    )  # type: ignore[union-attr]

    with pytest.raises(SdkError) as caught:
        await zoe.client.send_activity_join_request(mary.id)

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_a_player_asks_to_join_and_is_invited(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    join_requests, invited_events = (
        mary.record_event("activity_invite_created"),
        zoe.record_event("activity_invite_created"),
    )

    await zoe.client.send_activity_join_request(mary.id)
    request = await join_requests.next()
    assert (request.sender_id, request.type) == (zoe.id, ActivityActionTypes.JOIN_REQUEST)
    with pytest.raises(SdkError):
        await mary.client.accept_activity_invite(request)

    await mary.client.send_activity_join_request_reply(request)
    invite = await invited_events.next()
    assert invite.type is ActivityActionTypes.JOIN
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    await mary.client.close()
    await zoe.client.close()


async def test_an_invite_is_valid_while_its_sender_plays(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    invited_events, updated_events = (
        zoe.record_event("activity_invite_created"),
        zoe.record_event("activity_invite_updated"),
    )
    await mary.client.send_activity_invite(zoe.id, "")
    await invited_events.next()

    mary.client.clear_rich_presence()
    assert not (await updated_events.next()).is_valid
    await mary.client.update_rich_presence(joinable_activity())
    assert (await updated_events.next()).is_valid
    world.clock.advance(7 * HOUR_MS)
    # Any response gives Zoe's client the platform's time.
    await zoe.client.get_user_guilds()
    assert not (await updated_events.next()).is_valid
    changed_events = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity(details="Still jumping"))
    await changed_events.next(lambda user_id: user_id == mary.id)
    assert len(updated_events.calls) == 3
    await mary.client.close()
    await zoe.client.close()


async def test_inviting_needs_a_joinable_activity(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    await mary.client.update_rich_presence(joinable_activity(secrets=None))

    for operation in (mary.client.send_activity_invite(5, ""), mary.client.send_activity_join_request(5)):
        with pytest.raises(SdkError) as caught:
            await operation
        assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()


async def test_presence_scopes_are_enough_to_invite_and_to_accept(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary", scopes="openid sdk.social_layer_presence")
    zoe = await create_player(world, application, "zoe", scopes="openid sdk.social_layer_presence")
    await befriend_players(mary, zoe)
    changed_events, invited_events = zoe.record_event("user_updated"), zoe.record_event("activity_invite_created")
    await mary.client.update_rich_presence(joinable_activity())
    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)

    await mary.client.send_activity_invite(zoe.id, "come and jump")

    invite = await invited_events.next()
    assert (invite.sender_id, invite.type) == (mary.id, ActivityActionTypes.JOIN)
    assert await zoe.client.accept_activity_invite(invite) == "let-me-in"
    await mary.client.close()
    await zoe.client.close()


async def test_an_invite_to_a_disconnected_player_is_delivered_on_connect(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    invited_events = zoe.record_event("activity_invite_created")
    await zoe.client.disconnect()
    await mary.client.send_activity_invite(zoe.id, "come and jump")

    await zoe.client.connect()

    invite = await invited_events.next()
    assert (invite.sender_id, invite.type, invite.party_id) == (mary.id, ActivityActionTypes.JOIN, "party-1")
    assert invite.is_valid
    # This client already knows the invite and is not notified again; another client is, until the invite is accepted.
    await zoe.client.disconnect()
    await zoe.client.connect()
    phone, phone_invites = new_client(world), CallbackRecorder()
    phone.set_activity_invite_created_callback(phone_invites)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])
    await phone.connect()
    assert await phone_invites.next() == invite
    assert await phone.accept_activity_invite(invite) == "let-me-in"
    assert await invited_events.next() == invite
    assert len(invited_events.calls) == 2
    for client in (mary.client, zoe.client, phone):
        await client.close()


@pytest.mark.parametrize("cause", ["accepted", "expired", "deleted", "blocked"])
async def test_an_invite_that_is_no_longer_valid_is_not_delivered_on_connect(world: World, cause: str) -> None:
    mary, zoe = await create_host_and_guest(world)
    invited_events = zoe.record_event("activity_invite_created")
    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited_events.next()
    if cause == "accepted":
        await zoe.client.accept_activity_invite(invite)
    elif cause == "expired":
        world.clock.advance(6 * HOUR_MS + 1)
    elif cause == "deleted":
        await mary.client.delete_user_message(zoe.id, invite.message_id)
    else:
        await zoe.client.block_user(mary.id)
    phone, phone_invites = new_client(world), CallbackRecorder()
    phone.set_activity_invite_created_callback(phone_invites)
    await phone.update_token(AuthorizationTokenType.BEARER, zoe.tokens["access_token"])

    await phone.connect()

    # The events at the start of a connection arrive before the response to this request.
    await phone.get_user_guilds()
    assert phone_invites.calls == []
    for client in (mary.client, zoe.client, phone):
        await client.close()


async def test_an_invite_expires_after_six_hours_without_any_response(world: World) -> None:
    mary, zoe = await create_host_and_guest(world)
    invited_events, updated_events = (
        zoe.record_event("activity_invite_created"),
        zoe.record_event("activity_invite_updated"),
    )
    # Zoe's client receives the invite when it is almost six hours old, and no later response changes the clock.
    clock, elapsed_seconds = zoe.client._core.clock, 6 * 3600 - 0.2
    clock.update_from_headers = lambda headers: None  # type: ignore[method-assign]
    clock._offset_ms, clock.monotonic = world.clock.now_ms(), lambda: elapsed_seconds

    await mary.client.send_activity_invite(zoe.id, "come and jump")
    invite = await invited_events.next()
    assert invite.is_valid
    elapsed_seconds += 3600

    updated_invite = await updated_events.next()
    assert (updated_invite.message_id, updated_invite.is_valid) == (invite.message_id, False)
    assert updated_events.calls == [(updated_invite,)]
    await mary.client.close()
    await zoe.client.close()
