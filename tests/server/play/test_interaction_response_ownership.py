"""A bot edits and deletes its interaction responses as its own messages after the interaction token expired."""

from typing import Any

import pytest

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources.interactions import TOKEN_LIFETIME_MS
from tests.server.play.test_interaction_responses import create_global_command
from tests.server.play.test_interactions import InteractionSetup, ReceivedInteraction
from tests.world import ApiResponse, World

POLL = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}


@pytest.fixture(params=["guild", "dm"])
async def stage(world: World, request: pytest.FixtureRequest) -> InteractionSetup:
    """Create a user and an app, in a guild or in their direct message channel."""
    user = await world.user("asker")
    guild = await world.guild(None, user)
    bot = await world.bot(guild, name="answerer")
    result = InteractionSetup(world, guild, user, bot)
    if request.param == "dm":
        dm = (await user.post("/users/@me/channels", json={"recipient_id": str(bot.id)})).ok()
        result.channel = int(dm["id"])
    result.app_session, result.user_session = await bot.connect(), await user.connect()
    return result


async def expired_response(
    stage: InteractionSetup, callback_type: int = 4, **data: Any
) -> tuple[str, ReceivedInteraction]:
    """Respond to an interaction, let its token expire, and return the message's path and the interaction."""
    interaction = await stage.run_command(await create_global_command(stage))
    message_id = (await interaction.respond(callback_type, data or None)).ok()["interaction"]["response_message_id"]
    stage.world.clock.advance(TOKEN_LIFETIME_MS + 60_000)
    return f"/channels/{stage.channel}/messages/{message_id}", interaction


async def test_a_bot_edits_its_response(stage: InteractionSetup) -> None:
    path, interaction = await expired_response(stage, content="before")
    (await interaction.webhook_request("PATCH", "/messages/@original", json={"content": "too late"})).rejected(
        404, 10015
    )

    changed = (await stage.bot.patch(path, json={"content": "after"})).ok()

    assert (changed["content"], changed["author"]["id"]) == ("after", str(stage.bot.id))
    assert changed["webhook_id"] == str(stage.application_id)
    assert changed["edited_timestamp"] is not None
    event = await stage.user_session.next("MESSAGE_UPDATE")
    assert (event["content"], event["interaction"]["name"]) == ("after", "hi")
    (await stage.user.patch(path, json={"content": "mine"})).rejected(403, 50005)


async def test_a_bot_deletes_its_response(stage: InteractionSetup) -> None:
    path, _ = await expired_response(stage, content="hello")
    (await stage.user.delete(path)).rejected(*((403, 50013) if stage.channel == stage.guild.general else (400, 50003)))

    (await stage.bot.delete(path)).ok()

    assert (await stage.user_session.next("MESSAGE_DELETE"))["id"] == path.rpartition("/")[2]
    (await stage.bot.get(path)).rejected(404, 10008)


async def test_a_bot_ends_the_poll_of_its_response(stage: InteractionSetup) -> None:
    interaction = await stage.run_command(await create_global_command(stage))
    message = await interaction.respond_with_message(poll=POLL)
    stage.world.clock.advance(TOKEN_LIFETIME_MS + 60_000)

    async def end_poll(actor: Any) -> ApiResponse:
        response: ApiResponse = await actor.post(f"/channels/{stage.channel}/polls/{message['id']}/expire")
        return response

    (await end_poll(stage.user)).rejected(403, 50005)
    assert (await end_poll(stage.bot)).ok()["poll"]["results"]["is_finalized"]
    result = await stage.user_session.next("MESSAGE_CREATE", lambda data: data["type"] == 46)
    assert result["author"]["id"] == str(stage.bot.id)


async def test_a_bot_completes_a_deferred_response_after_the_token_expired(stage: InteractionSetup) -> None:
    path, _ = await expired_response(stage, kind=5)
    (await stage.bot.patch(path, json={"flags": int(MessageFlags.SUPPRESS_EMBEDS)})).rejected(400, 50006)

    edited = (await stage.bot.patch(path, json={"content": "at last"})).ok()

    # The message is complete only now, so it is not marked as edited (the same as with the token).
    assert (edited["content"], edited["flags"], edited["edited_timestamp"]) == ("at last", 0, None)
    assert (await stage.user_session.next("MESSAGE_UPDATE"))["flags"] == 0
    edited_again = (await stage.bot.patch(path, json={"content": "better"})).ok()
    assert edited_again["edited_timestamp"] is not None


async def test_a_reaction_event_names_the_responding_bot(stage: InteractionSetup) -> None:
    path, _ = await expired_response(stage, content="react to me")

    (await stage.user.put(f"{path}/reactions/🔥/@me")).ok()

    assert (await stage.app_session.next("MESSAGE_REACTION_ADD"))["message_author_id"] == str(stage.bot.id)
