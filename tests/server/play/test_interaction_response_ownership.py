"""Interaction responses as messages of the bot after the token expired: edits, deletion, polls and reactions."""

from typing import Any

import pytest

from hubbub.protocol.enums import InteractionCallbackType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources.interactions import TOKEN_LIFETIME_MS
from tests.server.play.interaction_setup import (
    InteractionSetup,
    ReceivedInteraction,
    create_global_command,
    create_interaction_setup,
)
from tests.world import ApiResponse, World

POLL = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}


@pytest.fixture(params=["guild", "dm"])
async def setup(world: World, request: pytest.FixtureRequest) -> InteractionSetup:
    """A user and an app, in a guild or in their direct message channel."""
    setup = await create_interaction_setup(world)
    if request.param == "dm":
        dm = (await setup.user.post("/users/@me/channels", json={"recipient_id": str(setup.bot.id)})).ok()
        setup.channel_id = int(dm["id"])
    return setup


async def create_expired_response(
    setup: InteractionSetup, callback_type: int = InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE, **data: Any
) -> tuple[str, ReceivedInteraction]:
    """Respond to an interaction, let its token expire, and return the message's path and the interaction."""
    interaction = await setup.run_command(await create_global_command(setup))
    message_id = (await interaction.respond(callback_type, data or None)).ok()["interaction"]["response_message_id"]
    setup.world.clock.advance(TOKEN_LIFETIME_MS + 60_000)
    return f"/channels/{setup.channel_id}/messages/{message_id}", interaction


async def test_a_bot_edits_its_response(setup: InteractionSetup) -> None:
    path, interaction = await create_expired_response(setup, content="before")
    (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "too late"})).rejected(
        404, 10015
    )

    edited_message = (await setup.bot.patch(path, json={"content": "after"})).ok()

    assert (edited_message["content"], edited_message["author"]["id"]) == ("after", str(setup.bot.id))
    assert edited_message["webhook_id"] == str(setup.application_id)
    assert edited_message["edited_timestamp"] is not None
    event = await setup.user_session.next("MESSAGE_UPDATE")
    assert (event["content"], event["interaction"]["name"]) == ("after", "hi")
    (await setup.user.patch(path, json={"content": "mine"})).rejected(403, 50005)


async def test_a_bot_deletes_its_response(setup: InteractionSetup) -> None:
    path, _ = await create_expired_response(setup, content="hello")
    (await setup.user.delete(path)).rejected(
        *((403, 50013) if setup.channel_id == setup.guild.general else (400, 50003))
    )

    (await setup.bot.delete(path)).ok()

    assert (await setup.user_session.next("MESSAGE_DELETE"))["id"] == path.rpartition("/")[2]
    (await setup.bot.get(path)).rejected(404, 10008)


async def test_a_bot_ends_the_poll_of_its_response(setup: InteractionSetup) -> None:
    interaction = await setup.run_command(await create_global_command(setup))
    message = await interaction.respond_with_message(poll=POLL)
    setup.world.clock.advance(TOKEN_LIFETIME_MS + 60_000)

    async def end_poll(actor: Any) -> ApiResponse:
        response: ApiResponse = await actor.post(f"/channels/{setup.channel_id}/polls/{message['id']}/expire")
        return response

    (await end_poll(setup.user)).rejected(403, 50005)
    assert (await end_poll(setup.bot)).ok()["poll"]["results"]["is_finalized"]
    result_message = await setup.user_session.next(
        "MESSAGE_CREATE", lambda data: data["type"] == MessageType.POLL_RESULT
    )
    assert result_message["author"]["id"] == str(setup.bot.id)


async def test_a_bot_completes_a_deferred_response_after_the_token_expired(setup: InteractionSetup) -> None:
    path, _ = await create_expired_response(
        setup, callback_type=InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE
    )
    (await setup.bot.patch(path, json={"flags": int(MessageFlags.SUPPRESS_EMBEDS)})).rejected(400, 50006)

    edited_message = (await setup.bot.patch(path, json={"content": "at last"})).ok()

    # The first edit completes the deferred message, so it is not marked as edited, as with the interaction token.
    assert (edited_message["content"], edited_message["flags"], edited_message["edited_timestamp"]) == (
        "at last",
        0,
        None,
    )
    assert (await setup.user_session.next("MESSAGE_UPDATE"))["flags"] == 0
    edited_again = (await setup.bot.patch(path, json={"content": "better"})).ok()
    assert edited_again["edited_timestamp"] is not None


async def test_a_reaction_event_names_the_responding_bot(setup: InteractionSetup) -> None:
    path, _ = await create_expired_response(setup, content="react to me")

    (await setup.user.put(f"{path}/reactions/🔥/@me")).ok()

    assert (await setup.app_session.next("MESSAGE_REACTION_ADD"))["message_author_id"] == str(setup.bot.id)
