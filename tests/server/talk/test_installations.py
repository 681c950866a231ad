"""Applications that are installed in guilds or for users through OAuth2: installation, lists, removal and webhooks."""

from typing import Any

import pytest

from hubbub.protocol.enums import ApplicationIntegrationType, AuditLogAction
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.identity import oauth2
from hubbub.server.identity.oauth2 import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.places import members
from tests.oauth import Client, assert_oauth2_error, create_application, set_application_columns, url_parameters
from tests.server.identity.operators import create_operator
from tests.world import ApiResponse, Guild, World


async def install(
    client: Client, guild: Guild, scope: str | None = "bot", *, body: Any = None, **query: Any
) -> ApiResponse:
    """Install an application as the guild's owner."""
    fields = {"response_type": None, "redirect_uri": None} | query
    return await client.authorize(guild.owner, scope, body={"guild_id": str(guild.id), **(body or {})}, **fields)


async def find_installation(
    world: World, client: Client, target: int, integration_type: int = ApplicationIntegrationType.GUILD_INSTALL
) -> Any | None:
    """Return the stored installation, or None."""
    return await world.app.database.read(
        lambda tx: oauth2.installations.find_installation(tx, client.id, integration_type, target)
    )


def record_signals(world: World) -> list[Any]:
    """Return a list that collects the signals about authorized and deauthorized applications."""
    return world.record_signals(ApplicationAuthorized, ApplicationDeauthorized)


async def test_an_installed_bot_joins_with_a_managed_role(world: World) -> None:
    client = await create_application(world)
    guild = await world.guild()
    assert client.bot is not None
    owner_session, bot_session = await guild.owner.connect(), await client.bot.connect(Intents.GUILDS)
    permissions = Permissions.SEND_MESSAGES | Permissions.KICK_MEMBERS
    signals = record_signals(world)

    url = (await install(client, guild, permissions=permissions)).ok()["url"]

    assert url == f"{world.url}/oauth2/authorized"
    role = (await owner_session.next("GUILD_ROLE_CREATE"))["role"]
    assert (role["managed"], role["permissions"], role["tags"]["bot_id"]) == (
        True,
        str(permissions),
        str(client.bot.id),
    )
    assert (await owner_session.next("GUILD_MEMBER_ADD"))["user"]["id"] == str(client.bot.id)
    assert (await bot_session.next("GUILD_CREATE"))["id"] == str(guild.id)
    entries = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()["audit_log_entries"]
    assert {AuditLogAction.BOT_ADD, AuditLogAction.INTEGRATION_CREATE} <= {entry["action_type"] for entry in entries}
    assert (await find_installation(world, client, guild.id)).scopes == "bot applications.commands"
    [signal] = signals
    assert (signal.integration_type, signal.guild_id, signal.user_id) == (0, guild.id, guild.owner.id)
    assert signal.scopes == ("bot", "applications.commands")


async def test_a_bot_without_permissions_gets_no_role(world: World) -> None:
    client, guild = await create_application(world), await world.guild()
    assert client.bot is not None

    (await install(client, guild)).ok()

    assert (await guild.owner.get(f"/guilds/{guild.id}/members/{client.bot.id}")).ok()["roles"] == []


async def test_the_installer_grants_at_most_their_own_permissions(world: World) -> None:
    moderator = await world.user()
    client, guild = await create_application(world), await world.guild(None, moderator)
    await guild.allow_permissions(moderator, Permissions.MANAGE_GUILD | Permissions.KICK_MEMBERS)
    permissions = Permissions.ADMINISTRATOR | Permissions.KICK_MEMBERS | Permissions.MANAGE_GUILD
    body = {"guild_id": str(guild.id), "permissions": str(Permissions.ADMINISTRATOR | Permissions.KICK_MEMBERS)}
    assert client.bot is not None

    (await client.authorize(moderator, "bot", body=body, response_type=None, permissions=permissions)).ok()

    [role] = (await guild.owner.get(f"/guilds/{guild.id}/members/{client.bot.id}")).ok()["roles"]
    assert (await guild.owner.get(f"/guilds/{guild.id}/roles/{role}")).ok()["permissions"] == str(
        Permissions.KICK_MEMBERS
    )


async def test_installing_requires_manage_guild(world: World) -> None:
    alice, stranger, client = await world.user(), await world.user(), await create_application(world)
    guild = await world.guild(None, alice)
    body = {"guild_id": str(guild.id)}

    (await client.authorize(alice, "bot", response_type=None, body=body)).rejected(403, 50013)
    (await client.authorize(stranger, "bot", response_type=None, body=body)).rejected(403, 50001)
    (await client.authorize(stranger, "bot", response_type=None, body={"guild_id": "1"})).rejected(404, 10004)
    assert (await client.authorize(alice, "bot", response_type=None)).errors("guild_id") == ["BASE_TYPE_REQUIRED"]
    assert await find_installation(world, client, guild.id) is None


async def test_the_preview_lists_the_guilds_that_the_user_manages(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    managed_guild = await world.guild(alice)
    await world.guild(None, alice, name="Not managed")

    preview = (await alice.get(client.authorize_path("bot", response_type=None, permissions=8))).ok()

    assert [guild["id"] for guild in preview["guilds"]] == [str(managed_guild.id)]
    assert (preview["integration_type"], preview["permissions"]) == (0, "8")


async def test_a_guild_with_two_factor_requires_it_of_the_applications_owner(world: World) -> None:
    client, guild = await create_application(world), await world.guild()

    await world.write(lambda call: call.tx.run("UPDATE guilds SET mfa_level = 1 WHERE id = ?", guild.id))
    await world.write(lambda call: call.tx.run("UPDATE users SET mfa_enabled = 1 WHERE id = ?", guild.owner.id))

    (await install(client, guild, permissions=Permissions.BAN_MEMBERS)).rejected(401, 60003)
    (await install(client, guild, permissions=Permissions.SEND_MESSAGES)).ok()


async def test_a_bot_that_requires_the_code_grant_joins_after_the_exchange(world: World) -> None:
    client, guild = await create_application(world), await world.guild()
    await set_application_columns(world, client, bot_require_code_grant=1)
    assert client.bot is not None
    member_path = f"/guilds/{guild.id}/members/{client.bot.id}"
    signals = record_signals(world)

    assert_oauth2_error(await install(client, guild), "invalid_request")
    response = await install(client, guild, response_type="code", redirect_uri=client.redirect_uri, permissions=8)
    fields = url_parameters(response.ok()["url"])
    assert (fields["guild_id"], fields["permissions"]) == (str(guild.id), "8")
    (await guild.owner.get(member_path)).rejected(404, 10007)
    assert signals == []
    tokens = (await client.exchange(fields["code"])).ok()

    assert tokens["guild"]["id"] == str(guild.id)
    # The roles contain their permissions in both fields.
    assert tokens["guild"]["roles"]
    for role in tokens["guild"]["roles"]:
        assert role["permissions_new"] == role["permissions"]
    assert len((await guild.owner.get(member_path)).ok()["roles"]) == 1
    assert [signal.guild_id for signal in signals] == [guild.id]


async def test_exchanging_the_code_fails_once_the_installer_lost_permission(world: World) -> None:
    moderator = await world.user()
    client, guild = await create_application(world), await world.guild(None, moderator)
    await set_application_columns(world, client, bot_require_code_grant=1)
    role_id = await guild.role("mod", Permissions.MANAGE_GUILD)
    await guild.add_role(moderator, role_id)
    code = await client.request_code(moderator, "bot", body={"guild_id": str(guild.id)})

    (await guild.owner.delete(f"/guilds/{guild.id}/members/{moderator.id}/roles/{role_id}")).ok()

    assert_oauth2_error(await client.exchange(code), "invalid_grant")
    assert await find_installation(world, client, guild.id) is None


async def test_the_token_response_of_a_bot_installation_contains_the_guild(world: World) -> None:
    client, guild = await create_application(world), await world.guild()

    code = await client.request_code(guild.owner, "bot identify", body={"guild_id": str(guild.id)})

    assert (await client.exchange(code)).ok()["guild"]["id"] == str(guild.id)


async def test_commands_can_be_installed_without_a_bot(world: World) -> None:
    client, guild = await create_application(world), await world.guild()
    assert client.bot is not None
    session = await guild.owner.connect()

    (
        await install(client, guild, "applications.commands", integration_type=ApplicationIntegrationType.GUILD_INSTALL)
    ).ok()
    (
        await install(client, guild, "applications.commands", integration_type=ApplicationIntegrationType.GUILD_INSTALL)
    ).ok()

    integration = await session.next("INTEGRATION_CREATE")
    assert (integration["id"], integration["scopes"]) == (str(client.id), ["applications.commands"])
    await session.next("GUILD_INTEGRATIONS_UPDATE")
    await session.assert_not_received("INTEGRATION_CREATE", "GUILD_MEMBER_ADD")
    (await guild.owner.get(f"/guilds/{guild.id}/members/{client.bot.id}")).rejected(404, 10007)


async def test_a_commands_only_installation_is_listed_and_removed(world: World) -> None:
    client, other_bot, guild = await create_application(world), await world.bot(), await world.guild()
    (
        await install(client, guild, "applications.commands", integration_type=ApplicationIntegrationType.GUILD_INSTALL)
    ).ok()
    await world.write(lambda call: members.membership.add(call, guild.id, other_bot.id), actor=guild.owner.id)
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/integrations"

    listed_integrations = (await guild.owner.get(path)).ok()
    response = await guild.owner.delete(f"{path}/{client.id}")

    assert [integration["id"] for integration in listed_integrations] == [str(other_bot.application_id), str(client.id)]
    assert [integration["scopes"] for integration in listed_integrations] == [
        ["applications.commands", "bot"],
        ["applications.commands"],
    ]
    assert ["bot" in integration["application"] for integration in listed_integrations] == [True, False]
    assert response.status == 204
    assert (await session.next("INTEGRATION_DELETE"))["application_id"] == str(client.id)
    await session.next("GUILD_INTEGRATIONS_UPDATE")
    [entry, *_] = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()["audit_log_entries"]
    assert (entry["action_type"], entry["target_id"]) == (AuditLogAction.INTEGRATION_DELETE, str(client.id))
    assert await find_installation(world, client, guild.id) is None
    (await guild.owner.delete(f"{path}/{client.id}")).rejected(404, 10005)
    assert [integration["id"] for integration in (await guild.owner.get(path)).ok()] == [str(other_bot.application_id)]


async def test_a_user_installs_and_removes_an_application_for_themselves(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    signals = record_signals(world)

    (
        await client.authorize(
            alice, "applications.commands", integration_type=ApplicationIntegrationType.USER_INSTALL, response_type=None
        )
    ).ok()
    assert (
        await find_installation(world, client, alice.id, ApplicationIntegrationType.USER_INSTALL)
    ).user_id == alice.id
    [token] = (await alice.get("/oauth2/tokens")).ok()
    (await alice.delete(f"/oauth2/tokens/{token['id']}")).ok()

    assert await find_installation(world, client, alice.id, ApplicationIntegrationType.USER_INSTALL) is None
    assert [type(signal) for signal in signals] == [ApplicationAuthorized, ApplicationDeauthorized]
    assert signals[0].integration_type == ApplicationIntegrationType.USER_INSTALL


async def test_without_a_scope_the_default_install_settings_apply(world: World) -> None:
    client, guild = await create_application(world), await world.guild()
    assert client.bot is not None

    (await install(client, guild, None)).ok()
    preview = (
        await guild.owner.get(
            client.authorize_path(None, response_type=None, integration_type=ApplicationIntegrationType.USER_INSTALL)
        )
    ).ok()

    (await guild.owner.get(f"/guilds/{guild.id}/members/{client.bot.id}")).ok()
    assert [scope["name"] for scope in preview["scopes"]] == ["applications.commands"]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"scope": "bot", "integration_type": ApplicationIntegrationType.USER_INSTALL}, "invalid_scope"),
        ({"scope": "bot identify"}, "invalid_request"),
    ],
)
async def test_an_inconsistent_installation_is_rejected(world: World, query: dict[str, Any], error: str) -> None:
    client, guild = await create_application(world), await world.guild()

    assert_oauth2_error(await install(client, guild, **query), error)


async def test_an_application_without_a_bot_cannot_request_the_bot_scope(world: World) -> None:
    client, guild = await create_application(world, has_bot=False), await world.guild()

    assert_oauth2_error(await install(client, guild), "invalid_scope")


async def test_a_banned_bot_cannot_be_installed(world: World) -> None:
    client, guild = await create_application(world), await world.guild()
    assert client.bot is not None
    (await install(client, guild)).ok()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{client.bot.id}", json={})).ok()

    assert await find_installation(world, client, guild.id) is None
    (await install(client, guild)).rejected(403, 40007)


async def test_an_installation_ends_with_the_bot_membership_and_the_guild(world: World) -> None:
    client, guild, other_guild = await create_application(world), await world.guild(), await world.guild()
    assert client.bot is not None
    (await install(client, guild)).ok()
    (await install(client, other_guild)).ok()

    (await guild.owner.delete(f"/guilds/{guild.id}/members/{client.bot.id}")).ok()
    (await other_guild.owner.delete(f"/guilds/{other_guild.id}")).ok()

    assert await find_installation(world, client, guild.id) is None
    assert await find_installation(world, client, other_guild.id) is None


async def test_webhook_incoming_creates_a_new_webhook_each_time(world: World) -> None:
    client, guild = await create_application(world, name="Bridge"), await world.guild()
    body = {"webhook_channel_id": str(guild.general)}

    webhooks: list[Any] = []
    for _ in range(2):
        code = await client.request_code(guild.owner, "webhook.incoming", body=body)
        # The exchange creates the webhook, not the authorization.
        assert (await guild.owner.get(f"/channels/{guild.general}/webhooks")).ok() == [] or webhooks
        webhooks.append((await client.exchange(code)).ok()["webhook"])

    assert webhooks[0]["id"] != webhooks[1]["id"]
    assert (webhooks[0]["name"], webhooks[0]["channel_id"]) == ("Bridge", str(guild.general))
    assert webhooks[0]["application_id"] == str(client.id)
    assert (await world.request("POST", webhooks[0]["url"], json={"content": "hello"})).status == 204


async def test_webhook_incoming_requires_manage_webhooks(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    guild = await world.guild(None, alice)

    assert (await client.authorize(alice, "webhook.incoming")).errors("webhook_channel_id") == ["BASE_TYPE_REQUIRED"]
    body = {"webhook_channel_id": str(guild.general)}
    (await client.authorize(alice, "webhook.incoming", body=body)).rejected(403, 50013)


async def test_users_list_the_applications_that_they_added_to_guilds(world: World) -> None:
    client, guild = await create_application(world), await world.guild()
    member = await guild.member()
    (await install(client, guild)).ok()

    [added_integrations] = (await guild.owner.get("/users/@me/integrations")).ok()

    assert (
        added_integrations["guild"]["id"],
        added_integrations["guild"]["name"],
        added_integrations["can_delete"],
    ) == (str(guild.id), "Guild", True)
    assert added_integrations["integration"]["application"]["bot"]["id"] == str(client.bot.id if client.bot else None)
    assert (await member.get("/users/@me/integrations")).ok() == []
    (await guild.owner.delete(f"/guilds/{guild.id}/integrations/{client.id}")).ok()
    assert (await guild.owner.get("/users/@me/integrations")).ok() == []


async def test_added_applications_follow_the_membership_and_permissions_of_the_user(world: World) -> None:
    moderator = await world.user()
    client, guild = await create_application(world), await world.guild(None, moderator)
    role_id = await guild.role("mods", Permissions.MANAGE_GUILD)
    await guild.add_role(moderator, role_id)
    fields = {"response_type": None, "redirect_uri": None}
    (await client.authorize(moderator, "bot", body={"guild_id": str(guild.id)}, **fields)).ok()
    assert [entry["can_delete"] for entry in (await moderator.get("/users/@me/integrations")).ok()] == [True]

    (await guild.owner.delete(f"/guilds/{guild.id}/members/{moderator.id}/roles/{role_id}")).ok()
    assert [entry["can_delete"] for entry in (await moderator.get("/users/@me/integrations")).ok()] == [False]
    (await moderator.delete(f"/guilds/{guild.id}/integrations/{client.id}")).rejected(403, 50013)
    (await moderator.delete(f"/users/@me/guilds/{guild.id}")).ok()
    assert (await moderator.get("/users/@me/integrations")).ok() == []


async def test_applications_in_a_suspended_guild_are_left_out(world: World) -> None:
    client, operator = await create_application(world), await create_operator(world, "ann")
    alice = await world.user()
    suspended_guild, other_guild = await world.guild(alice), await world.guild(alice)
    for guild in (suspended_guild, other_guild):
        (await install(client, guild)).ok()
    (await operator.post(f"/admin/guilds/{suspended_guild.id}/suspend", json={"reason": "spam"})).ok()

    listed_integrations = (await alice.get("/users/@me/integrations")).ok()

    assert [entry["guild"]["id"] for entry in listed_integrations] == [str(other_guild.id)]
