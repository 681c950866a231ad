"""Applications: reads, updates, flags, validation, and bot tokens."""

from hubbub.protocol.enums import CloseCode
from hubbub.protocol.flags import ApplicationFlags
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from tests.media import data_uri, png
from tests.world import World


async def test_a_bot_gets_its_application_at_every_path(world: World) -> None:
    bot = await world.bot(name="helper")

    application = (await bot.get("/applications/@me")).ok()

    assert application["bot"]["id"] == str(bot.id)
    assert len(bytes.fromhex(application["verify_key"])) == 32
    # The library interactions.py cannot log in if `summary` is missing.
    assert application["summary"] == ""
    assert (await bot.get("/oauth2/applications/@me")).ok() == application
    assert (await bot.get(f"/applications/{bot.application_id}")).ok() == application
    assert set(application["integration_types_config"]) == {"0", "1"}


async def test_flags_are_returned_in_both_forms(world: World) -> None:
    flags = ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED | ApplicationFlags.PARENT
    bot = await world.bot(flags=flags)

    application = (await bot.get("/applications/@me")).ok()

    # spec/http.md#3.1: `flags` has the bits 0 to 30, and `flags_new` has all bits.
    assert application["flags"] == ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED
    assert application["flags_new"] == str(flags)


async def test_only_limited_intents_can_be_changed(world: World) -> None:
    bot = await world.bot(flags=ApplicationFlags.EMBEDDED)
    requested_flags = ApplicationFlags.GATEWAY_PRESENCE_LIMITED | ApplicationFlags.GATEWAY_PRESENCE

    application = (await bot.patch("/applications/@me", json={"flags": requested_flags})).ok()

    assert application["flags"] == ApplicationFlags.EMBEDDED | ApplicationFlags.GATEWAY_PRESENCE_LIMITED


async def test_a_changed_intent_takes_effect_immediately(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    (await bot.get(f"/guilds/{guild.id}/members")).rejected(403, 50001)

    (await bot.patch("/applications/@me", json={"flags": ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED})).ok()

    (await bot.get(f"/guilds/{guild.id}/members")).ok()


async def test_updated_application_fields_are_stored(world: World) -> None:
    bot = await world.bot()
    body = {
        "description": "Helps.",
        "tags": ["help", "fun"],
        "icon": data_uri(png()),
        "custom_install_url": "https://example.org/install",
        "integration_types_config": {"0": {"oauth2_install_params": {"scopes": ["bot"], "permissions": "8"}}},
    }

    (await bot.patch("/applications/@me", json=body)).ok()

    application = (await bot.get("/applications/@me")).ok()
    assert {key: application[key] for key in body if key != "icon"} == {key: body[key] for key in body if key != "icon"}
    assert application["icon"]


async def test_urls_tags_and_the_webhook_status_are_validated(world: World) -> None:
    bot = await world.bot()

    response = await bot.patch("/applications/@me", json={"custom_install_url": "javascript:alert(1)"})
    assert response.errors("custom_install_url") == ["URL_TYPE_INVALID_SCHEME"]
    response = await bot.patch("/applications/@me", json={"interactions_endpoint_url": "http://"})
    assert response.errors("interactions_endpoint_url") == ["URL_TYPE_INVALID_URL"]
    assert (await bot.patch("/applications/@me", json={"tags": ["x"] * 6})).errors("tags")
    assert (await bot.patch("/applications/@me", json={"tags": ["x" * 21]})).errors("tags.0")
    assert (await bot.patch("/applications/@me", json={"event_webhooks_status": 3})).errors("event_webhooks_status")


async def test_other_bots_and_users_cannot_read_or_update_an_application(world: World) -> None:
    bot, other_bot, other_user = await world.bot(), await world.bot(), await world.user()

    for actor in (other_bot, other_user):
        (await actor.get(f"/applications/{bot.application_id}")).rejected(403, 20012)
        (await actor.patch(f"/applications/{bot.application_id}", json={"description": "x"})).rejected(403, 20012)
    (await other_user.get("/applications/@me")).rejected(403, 20002)
    (await bot.get("/applications/1")).rejected(404, 10002)


async def test_a_new_bot_token_ends_the_old_one(world: World) -> None:
    bot = await world.bot()
    session = await bot.connect()

    def reset(call: Call) -> str:
        row = applications.find_by_bot(call.tx, bot.id)
        assert row is not None
        return applications.management.reset_bot_token(call, row)

    token = await world.write(reset)

    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    (await bot.get("/users/@me")).rejected(401, 0)
    bot.token = token
    (await bot.get("/users/@me")).ok()


async def test_a_bot_token_starts_with_the_bots_id(world: World) -> None:
    import base64

    bot = await world.bot()

    encoded_id = bot.token.split(".")[0]
    assert base64.urlsafe_b64decode(encoded_id + "=" * (-len(encoded_id) % 4)).decode() == str(int(bot.id))


async def test_an_application_can_be_updated_by_its_id(world: World) -> None:
    bot = await world.bot()

    application = (await bot.patch(f"/applications/{bot.application_id}", json={"description": "new text"})).ok()

    assert application["description"] == "new text"
    assert (await bot.get("/applications/@me")).ok()["description"] == "new text"
