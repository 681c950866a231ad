"""Deletion of accounts, and export of a user's data."""

from typing import Any

from hubbub.protocol.enums import CloseCode
from hubbub.server.identity import connections
from hubbub.server.identity.accounts.credentials import totp
from tests.oauth import create_application
from tests.server.identity.accounts import PASSWORD, delete_account, register_user
from tests.world import Actor, World

TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


async def add_member(world: World, guild: Any, user: Actor) -> None:
    from hubbub.server.places import members

    await world.write(lambda call: members.membership.add(call, guild.id, user.id), actor=guild.owner.id)


async def test_a_deleted_user_leaves_their_guilds_and_their_messages_stay(world: World) -> None:
    mary = await register_user(world)
    guild = await world.guild()
    await add_member(world, guild, mary)
    message = await guild.send_message(mary, "remember me")
    owner_session = await guild.owner.connect()

    await delete_account(mary)

    assert (await owner_session.next("GUILD_MEMBER_REMOVE"))["user"]["id"] == str(mary.id)
    (await guild.owner.get(f"/guilds/{guild.id}/members/{mary.id}")).rejected(404, 10007)
    stored_message = (await guild.owner.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert (stored_message["content"], stored_message["author"]["username"]) == ("remember me", "Deleted User")
    assert stored_message["author"]["id"] == str(mary.id)


async def test_deleting_an_account_revokes_every_token(world: World) -> None:
    mary, client = await register_user(world), await create_application(world)
    tokens = await client.request_tokens(mary)
    bearer = client.bearer(mary, tokens["access_token"])
    session = await mary.connect()

    await delete_account(mary)

    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
    (await mary.get("/users/@me")).rejected(401, 0)
    (await bearer.get("/users/@me")).rejected(401, 0)
    response = await client.refresh(tokens["refresh_token"])
    assert (response.status, response.json["error"]) == (400, "invalid_grant")
    (await client.owner.get(f"/users/{mary.id}")).rejected(404, 10013)


async def test_deleting_an_account_frees_the_username_and_disables_the_login(world: World) -> None:
    mary = await register_user(world)
    await delete_account(mary)

    response = await world.request("POST", "/auth/login", json={"login": "mary", "password": PASSWORD})
    assert response.errors("login") == ["INVALID_LOGIN"]
    assert (await register_user(world)).id != mary.id


async def test_deleting_an_account_requires_the_password_and_the_code(world: World) -> None:
    mary = await register_user(world)
    time_step = world.app.clock.now_ms() // 30_000
    body = {"password": PASSWORD, "secret": TOTP_SECRET, "code": totp.code_at(TOTP_SECRET, time_step)}
    (await mary.post("/users/@me/mfa/totp/enable", json=body)).ok()

    wrong_password = await mary.post("/users/@me/delete", json={"password": "not this one"})
    assert wrong_password.errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    response_without_code = await mary.post("/users/@me/delete", json={"password": PASSWORD})
    assert response_without_code.errors("code") == ["BASE_TYPE_REQUIRED"]
    wrong_code = await mary.post("/users/@me/delete", json={"password": PASSWORD, "code": "000000"})
    assert wrong_code.errors("code") == ["MFA_INVALID_CODE"]
    await delete_account(mary, code=totp.code_at(TOTP_SECRET, time_step + 1))
    (await mary.get("/users/@me")).rejected(401, 0)


async def test_an_owner_of_guilds_or_applications_cannot_delete_their_account(world: World) -> None:
    mary, nora = await register_user(world), await world.user()
    guild = await world.guild(mary, nora)

    (await mary.post("/users/@me/delete", json={"password": PASSWORD})).rejected(400, 40011)
    (await mary.patch(f"/guilds/{guild.id}", json={"owner_id": str(nora.id)})).ok()
    await delete_account(mary)

    oleg = await register_user(world, "oleg")
    await create_application(world, oleg)
    response = await oleg.post("/users/@me/delete", json={"password": PASSWORD})
    assert "applications" in response.rejected(400, 40011)["message"]
    (await oleg.get("/users/@me")).ok()


async def test_a_direct_message_channel_stays_with_the_other_user(world: World) -> None:
    mary, nora = await register_user(world), await world.user("nora")
    await world.guild(nora, mary)
    channel_id = (await nora.post("/users/@me/channels", json={"recipient_id": str(mary.id)})).ok()["id"]
    (await mary.post(f"/channels/{channel_id}/messages", json={"content": "hello"})).ok()

    await delete_account(mary)

    channel_view = (await nora.get(f"/channels/{channel_id}")).ok()
    assert [(recipient["id"], recipient["username"]) for recipient in channel_view["recipients"]] == [
        (str(mary.id), "Deleted User")
    ]
    channels = (await nora.get("/users/@me/channels")).ok()
    assert channels[0]["recipients"][0]["username"] == "Deleted User"
    messages = (await nora.get(f"/channels/{channel_id}/messages")).ok()
    assert messages[0]["author"]["username"] == "Deleted User"


async def test_a_group_stays_without_the_deleted_user(world: World) -> None:
    mary, nora, oleg = await register_user(world), await world.user("nora"), await world.user("oleg")
    await world.guild(nora, mary, oleg)
    recipients = {"recipients": [str(nora.id), str(oleg.id)]}
    group_id = (await mary.post("/users/@me/channels", json=recipients)).ok()["id"]
    session = await nora.connect()

    await delete_account(mary)

    removal_event = await session.next("CHANNEL_RECIPIENT_REMOVE")
    assert (removal_event["channel_id"], removal_event["user"]["id"]) == (group_id, str(mary.id))
    assert (await session.next("CHANNEL_UPDATE"))["owner_id"] in (str(nora.id), str(oleg.id))
    group_view = (await nora.get(f"/channels/{group_id}")).ok()
    assert [recipient["id"] for recipient in group_view["recipients"]] == [str(oleg.id)]


async def test_bots_and_applications_cannot_delete_or_export_an_account(world: World) -> None:
    client = await create_application(world)
    assert client.bot is not None
    mary = await register_user(world)
    bearer = client.bearer(mary, (await client.request_tokens(mary))["access_token"])

    (await client.bot.post("/users/@me/delete", json={"password": PASSWORD})).rejected(403, 20001)
    (await bearer.post("/users/@me/delete", json={"password": PASSWORD})).rejected(401, 0)
    (await bearer.get("/users/@me/harvest")).rejected(401, 0)


async def test_a_data_export_contains_the_records_of_a_user(world: World) -> None:
    mary, client = await register_user(world), await create_application(world)
    await client.request_tokens(mary, "identify guilds")
    guild = await world.guild()
    await add_member(world, guild, mary)
    await world.write(lambda call: connections.add(call, mary.id, "github", "7", name="mary"), actor=mary.id)

    export = (await mary.get("/users/@me/harvest")).ok()

    assert export["user"]["username"] == "mary"
    assert [session["current"] for session in export["sessions"]] == [True]
    records = export["records"]
    assert [record["application_id"] for record in records["authorizations"]] == [str(client.id)]
    assert [(record["id"], record["name"]) for record in records["guilds"]] == [(str(guild.id), "Guild")]
    assert [record["type"] for record in records["connections"]] == ["github"]
    assert records["relationships"] == []
    assert records["identities"] == []


async def test_exported_messages_are_paged_across_all_channels(world: World) -> None:
    mary = await register_user(world)
    guild = await world.guild()
    await add_member(world, guild, mary)
    message_ids = [(await guild.send_message(mary, f"number {number}"))["id"] for number in range(5)]
    await guild.send_message(guild.owner, "message of another user")
    (await mary.delete(f"/users/@me/guilds/{guild.id}")).ok()

    first_page = (await mary.get("/users/@me/harvest/messages?limit=3")).ok()
    second_page = (await mary.get(f"/users/@me/harvest/messages?limit=3&after={first_page[-1]['id']}")).ok()

    assert [message["id"] for message in first_page + second_page] == message_ids
    assert {message["guild_id"] for message in first_page} == {str(guild.id)}
    assert (await mary.get("/users/@me/harvest/messages?limit=501")).errors("limit") == ["NUMBER_TYPE_MAX"]
