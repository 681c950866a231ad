"""Role connections, linked roles of guilds, application attachments, and unknown activity instances."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.enums import RoleConnectionMetadataType as MetadataType
from hubbub.protocol.permissions import Permissions
from hubbub.server.places.role_connections import rules
from tests.media import png
from tests.world import NOW_MS, Actor, ApiResponse, Guild, World

LEVEL_RECORD = {
    "type": int(MetadataType.INTEGER_GREATER_THAN_EQUAL),
    "key": "level",
    "name": "Level",
    "description": "At least this level",
}
SINCE_RECORD = {
    "type": int(MetadataType.DATETIME_GREATER_THAN_EQUAL),
    "key": "since",
    "name": "Since",
    "description": "Plays for this many days",
}
PAID_RECORD = {
    "type": int(MetadataType.BOOLEAN_EQUAL),
    "key": "paid",
    "name": "Paid",
    "description": "Has bought the game",
}


class ConnectedUser:
    """A user with an access token of an application, and the path of the user's role connection."""

    def __init__(self, world: World, user: Actor, bot: Actor, token: str) -> None:
        self.world = world
        self.user = user
        self.path = f"/users/@me/applications/{bot.application_id}/role-connection"
        self.headers = {"Authorization": f"Bearer {token}"}

    async def request(self, method: str, path: str | None = None, **options: Any) -> ApiResponse:
        """Send a request with the access token, by default to the path of the role connection."""
        return await self.world.request(method, path or self.path, headers=self.headers, **options)


async def connect_user(world: World, user: Actor, bot: Actor, *scopes: str) -> ConnectedUser:
    """Issue an access token of a user to a bot's application, by default with the scope role_connections.write."""
    token = await world.access_token(user, bot.application_id, *(scopes or ("role_connections.write",)))
    return ConnectedUser(world, user, bot, token)


def metadata_path(bot: Actor) -> str:
    """Return the path of the metadata records of a bot's application."""
    return f"/applications/{bot.application_id}/role-connections/metadata"


async def test_an_application_replaces_its_metadata_records(world: World) -> None:
    bot = await world.bot()
    path = metadata_path(bot)
    assert (await bot.get(path)).ok() == []

    localized_record = LEVEL_RECORD | {"name_localizations": {"de": "Stufe"}, "description_localizations": None}
    assert (await bot.put(path, json=[localized_record, PAID_RECORD])).ok() == [localized_record, PAID_RECORD]
    assert (await bot.get(path)).ok() == [localized_record, PAID_RECORD]
    assert (await bot.put(path, json=[SINCE_RECORD])).ok() == [SINCE_RECORD]
    assert (await bot.get(path)).ok() == [SINCE_RECORD]
    assert (await bot.put(path, json=[])).ok() == []


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("record", "path"),
    [
        (LEVEL_RECORD | {"type": 9}, "0.type"),
        (LEVEL_RECORD | {"key": "Level"}, "0.key"),
        (LEVEL_RECORD | {"key": "k" * 51}, "0.key"),
        (LEVEL_RECORD | {"name": ""}, "0.name"),
        (LEVEL_RECORD | {"name": "n" * 101}, "0.name"),
        (LEVEL_RECORD | {"description": "d" * 201}, "0.description"),
        (LEVEL_RECORD | {"name_localizations": {"xx": "?"}}, "0.name_localizations.xx"),
        (LEVEL_RECORD | {"description_localizations": {"de": ""}}, "0.description_localizations.de"),
    ],
)
async def test_invalid_metadata_records_are_rejected(world: World, record: dict[str, Any], path: str) -> None:
    bot = await world.bot()

    response = await bot.put(metadata_path(bot), json=[record])

    assert response.errors(path)
    assert (await bot.get(metadata_path(bot))).ok() == []


async def test_excess_and_duplicate_records_are_rejected(world: World) -> None:
    bot = await world.bot()
    records = [LEVEL_RECORD | {"key": f"level_{number}"} for number in range(6)]

    assert (await bot.put(metadata_path(bot), json=records)).errors("")
    assert (await bot.put(metadata_path(bot), json=[LEVEL_RECORD, LEVEL_RECORD])).errors("1.key")
    assert len((await bot.put(metadata_path(bot), json=records[:5])).ok()) == 5


async def test_records_belong_to_their_application(world: World) -> None:
    bot, other_bot = await world.bot(), await world.bot()

    (await other_bot.get(metadata_path(bot))).rejected(403, 20012)
    (await other_bot.put(metadata_path(bot), json=[LEVEL_RECORD])).rejected(403, 20012)
    (await other_bot.get("/applications/1/role-connections/metadata")).rejected(404, 10002)


async def test_an_application_sets_and_deletes_a_users_role_connection(world: World) -> None:
    alice, bot = await world.user(), await world.bot()
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD, SINCE_RECORD, PAID_RECORD])).ok()
    connected_user = await connect_user(world, alice, bot)
    assert (await connected_user.request("GET")).ok() == {"platform_username": None, "metadata": {}}

    connection = {
        "platform_name": "The Game",
        "platform_username": "alice77",
        "metadata": {"level": "12", "since": "2026-01-01T00:00:00Z", "paid": "1"},
    }
    assert (await connected_user.request("PUT", json=connection)).ok() == connection
    assert (await connected_user.request("GET")).ok() == connection
    # Omitted fields are cleared.
    cleared_connection = {"platform_username": None, "metadata": {"level": "13"}}
    assert (await connected_user.request("PUT", json={"metadata": {"level": "13"}})).ok() == cleared_connection
    assert (await connected_user.request("DELETE")).status == 204
    assert (await connected_user.request("GET")).ok() == {"platform_username": None, "metadata": {}}
    assert (await connected_user.request("DELETE")).status == 204


async def test_numbers_and_booleans_are_stored_as_text(world: World) -> None:
    alice, bot = await world.user(), await world.bot()
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD, PAID_RECORD])).ok()
    connected_user = await connect_user(world, alice, bot)

    async def store_metadata(**metadata: Any) -> Any:
        return (await connected_user.request("PUT", json={"metadata": metadata})).ok()["metadata"]

    assert await store_metadata(level=1483, paid=True) == {"level": "1483", "paid": "1"}
    assert (await connected_user.request("GET")).ok()["metadata"] == {"level": "1483", "paid": "1"}
    assert await store_metadata(level=-2.0, paid=False) == {"level": "-2", "paid": "0"}
    assert await store_metadata(level=0, paid=0) == {"level": "0", "paid": "0"}


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"metadata": {"level": 1.5}}, "metadata.level"),
        ({"metadata": {"level": 10**18}}, "metadata.level"),
        ({"metadata": {"level": 1e300}}, "metadata.level"),
        ({"metadata": {"level": None}}, "metadata.level"),
        ({"metadata": {"level": [1]}}, "metadata.level"),
        ({"metadata": {"since": 1_700_000_000}}, "metadata.since"),
        ({"metadata": {"since": True}}, "metadata.since"),
        ({"metadata": {"paid": 2}}, "metadata.paid"),
        ({"platform_name": "p" * 51}, "platform_name"),
        ({"platform_username": "p" * 101}, "platform_username"),
        ({"metadata": {"unknown": "1"}}, "metadata.unknown"),
        ({"metadata": {"level": "high"}}, "metadata.level"),
        ({"metadata": {"level": "1.5"}}, "metadata.level"),
        ({"metadata": {"since": "yesterday"}}, "metadata.since"),
        ({"metadata": {"paid": "2"}}, "metadata.paid"),
        ({"metadata": {"level": ""}}, "metadata.level"),
        ({"metadata": {"level": "1" * 101}}, "metadata.level"),
        ({"metadata": {f"key{number}": "1" for number in range(6)}}, "metadata"),
    ],
)
async def test_invalid_role_connection_values_are_rejected_with_their_path(
    world: World, body: dict[str, Any], path: str
) -> None:
    alice, bot = await world.user(), await world.bot()
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD, SINCE_RECORD, PAID_RECORD])).ok()
    connected_user = await connect_user(world, alice, bot)

    assert (await connected_user.request("PUT", json=body)).errors(path)


async def test_a_role_connection_requires_its_application_and_scope(world: World) -> None:
    alice, bot, other_bot = await world.user(), await world.bot(), await world.bot()
    connected_user = await connect_user(world, alice, bot)
    other_path = f"/users/@me/applications/{other_bot.application_id}/role-connection"

    (await connected_user.request("GET", other_path)).rejected(403, 20012)
    (await connected_user.request("PUT", other_path, json={})).rejected(403, 20012)
    (await connected_user.request("DELETE", other_path)).rejected(403, 20012)
    (await connected_user.request("GET", "/users/@me/applications/1/role-connection")).rejected(404, 10002)
    bearer_without_scope = await connect_user(world, alice, bot, "identify")
    (await bearer_without_scope.request("PUT", json={})).rejected(403, 50026)
    (await bot.get(connected_user.path)).rejected(403, 20001)
    (await alice.get(connected_user.path)).rejected(403, 20002)


# Linked roles


async def link_role(guild: Guild, role_id: int, *alternatives: list[dict[str, Any]]) -> ApiResponse:
    """Set the requirements of a linked role as the owner of the guild."""
    return await guild.owner.put(
        f"/guilds/{guild.id}/roles/{role_id}/connections/configuration", json=list(alternatives)
    )


def requirement(bot: Actor, key: str | None = None, value: str | None = None) -> dict[str, Any]:
    """Return a requirement of a linked role; without a key, any role connection of the application meets it."""
    return {"application_id": str(bot.application_id), "connection_metadata_field": key, "value": value}


async def test_linked_roles_follow_the_role_connection(world: World) -> None:
    alice, bot = await world.user(), await world.bot()
    guild = await world.guild(None, alice)
    observer_bot = await world.bot(guild)
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD])).ok()
    role_id = await guild.role("veterans")
    session = await observer_bot.connect()

    (await link_role(guild, role_id, [requirement(bot, "level", "10")])).ok()

    assert (await session.next("GUILD_ROLE_UPDATE"))["role"]["tags"] == {"guild_connections": None}
    connected_user = await connect_user(world, alice, bot)
    (await connected_user.request("PUT", json={"metadata": {"level": "9"}})).ok()
    (await connected_user.request("PUT", json={"metadata": {"level": "10"}})).ok()
    member = await session.next("GUILD_MEMBER_UPDATE")
    assert (member["user"]["id"], member["roles"]) == (str(alice.id), [str(role_id)])
    (await connected_user.request("PUT", json={"metadata": {"level": "1"}})).ok()
    assert (await session.next("GUILD_MEMBER_UPDATE"))["roles"] == []
    (await connected_user.request("PUT", json={"metadata": {"level": "11"}})).ok()
    assert (await session.next("GUILD_MEMBER_UPDATE"))["roles"] == [str(role_id)]
    (await connected_user.request("DELETE")).ok()
    assert (await session.next("GUILD_MEMBER_UPDATE"))["roles"] == []
    log = (
        await guild.owner.get(
            f"/guilds/{guild.id}/audit-logs", params={"action_type": int(AuditLogAction.MEMBER_ROLE_UPDATE)}
        )
    ).ok()
    assert log["audit_log_entries"] == []


async def test_removing_linked_roles_keeps_other_roles(world: World) -> None:
    alice, bot = await world.user(), await world.bot()
    guild = await world.guild(None, alice)
    unlinked_role_id, role_id = await guild.role("plain"), await guild.role("linked")
    await guild.add_role(alice, unlinked_role_id)
    (await link_role(guild, role_id, [requirement(bot)])).ok()
    connected_user = await connect_user(world, alice, bot)

    (await connected_user.request("PUT", json={})).ok()
    roles = (await guild.owner.get(f"/guilds/{guild.id}/members/{alice.id}")).ok()["roles"]
    assert roles == [str(unlinked_role_id), str(role_id)]
    (await connected_user.request("DELETE")).ok()
    assert (await guild.owner.get(f"/guilds/{guild.id}/members/{alice.id}")).ok()["roles"] == [str(unlinked_role_id)]


async def test_a_qualified_member_assigns_and_unassigns_a_linked_role(world: World) -> None:
    alice, bob, bot = await world.user(), await world.user(), await world.bot()
    guild = await world.guild(None, alice, bob)
    role_id, unlinked_role_id = await guild.role("linked"), await guild.role("plain")
    connected_user = await connect_user(world, alice, bot)
    (await connected_user.request("PUT", json={})).ok()
    (await link_role(guild, role_id, [requirement(bot)])).ok()
    path = f"/guilds/{guild.id}/roles/{role_id}/connections"

    assert (await alice.post(f"{path}/assign")).status == 204
    assert (await guild.owner.get(f"/guilds/{guild.id}/members/{alice.id}")).ok()["roles"] == [str(role_id)]
    assert (await alice.post(f"{path}/unassign")).status == 204
    assert (await guild.owner.get(f"/guilds/{guild.id}/members/{alice.id}")).ok()["roles"] == []
    (await bob.post(f"{path}/assign")).rejected(403, 50013)
    (await alice.post(f"/guilds/{guild.id}/roles/{unlinked_role_id}/connections/assign")).rejected(400, 50028)
    stranger = await world.user()
    (await stranger.post(f"{path}/assign")).rejected(403, 50001)


async def test_members_list_the_applications_that_linked_roles_can_require(world: World) -> None:
    alice, outside_bot = await world.user(), await world.bot()
    guild = await world.guild(None, alice)
    bot, _ = await world.bot(guild), await world.bot(guild)
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD])).ok()
    url = "https://game.example/connect"
    (await bot.patch("/applications/@me", json={"role_connections_verification_url": url})).ok()
    (await link_role(guild, await guild.role("linked"), [requirement(outside_bot)])).ok()
    connected_user = await connect_user(world, alice, bot)
    (await connected_user.request("PUT", json={"platform_username": "alice7", "metadata": {"level": "7"}})).ok()
    path = f"/guilds/{guild.id}/role-connections/applications"

    applications = (await alice.get(path)).ok()

    assert {application["id"]: application["metadata"] for application in applications} == {
        str(bot.application_id): [LEVEL_RECORD],
        str(outside_bot.application_id): [],
    }
    [application] = [item for item in applications if item["id"] == str(bot.application_id)]
    assert application["role_connections_verification_url"] == url
    assert application["connection"] == {"platform_username": "alice7", "metadata": {"level": "7"}}
    assert [item["connection"] for item in (await guild.owner.get(path)).ok()] == [None, None]
    (await (await world.user()).get(path)).rejected(403, 50001)


async def test_one_alternative_with_all_its_requirements_suffices(world: World) -> None:
    alice, bot = await world.user(), await world.bot()
    guild = await world.guild(None, alice)
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD, PAID_RECORD])).ok()
    role_id = await guild.role("linked")
    (
        await link_role(
            guild,
            role_id,
            [requirement(bot, "level", "50")],
            [requirement(bot, "level", "5"), requirement(bot, "paid", "1")],
        )
    ).ok()
    connected_user = await connect_user(world, alice, bot)

    for metadata, qualifies in (
        ({"level": "5"}, False),
        ({"level": "5", "paid": "1"}, True),
        ({"level": "4", "paid": "1"}, False),
        ({"level": "50", "paid": "0"}, True),
    ):
        (await connected_user.request("PUT", json={"metadata": metadata})).ok()
        roles = (await guild.owner.get(f"/guilds/{guild.id}/members/{alice.id}")).ok()["roles"]
        assert (roles == [str(role_id)]) is qualifies, metadata


async def test_linking_a_role_requires_permissions_and_valid_requirements(world: World) -> None:
    alice, bot = await world.user(), await world.bot()
    guild = await world.guild(None, alice)
    (await bot.put(metadata_path(bot), json=[LEVEL_RECORD])).ok()
    manager_role_id, role_id = await guild.role("managers", Permissions.MANAGE_ROLES), await guild.role("linked")
    path = f"/guilds/{guild.id}/roles/{role_id}/connections/configuration"
    body = [[requirement(bot)]]

    (await alice.put(path, json=body)).rejected(403, 50013)
    await guild.add_role(alice, manager_role_id)
    (await alice.put(f"/guilds/{guild.id}/roles/{manager_role_id}/connections/configuration", json=body)).rejected(
        403, 50013
    )
    assert (await alice.put(path, json=[[requirement(bot, "speed", "1")]])).errors("0.0.connection_metadata_field")
    assert (await alice.put(path, json=[[requirement(bot, "level")]])).errors("0.0.value") == ["BASE_TYPE_REQUIRED"]
    assert (await alice.put(path, json=[[requirement(bot, "level", "x")]])).errors("0.0.value")
    (await alice.put(path, json=[[{"application_id": "1"}]])).rejected(404, 10002)
    (await alice.put(f"/guilds/{guild.id}/roles/{guild.id}/connections/configuration", json=body)).rejected(400, 50028)
    (await alice.put(f"/guilds/{guild.id}/roles/1/connections/configuration", json=body)).rejected(404, 10011)
    stored_connection = (await alice.put(path, json=body)).ok()
    assert (await alice.get(path)).ok() == stored_connection
    assert stored_connection[0][0]["application_id"] == str(bot.application_id)
    (await alice.put(path, json=[])).ok()
    assert (await alice.get(path)).ok() == []
    assert "tags" not in (await alice.get(f"/guilds/{guild.id}/roles/{role_id}")).ok()
    (await link_role(guild, role_id, [requirement(bot)])).ok()
    (await guild.owner.delete(f"/guilds/{guild.id}/roles/{role_id}")).ok()
    assert await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM linked_roles")) == 0


@pytest.mark.parametrize(
    ("metadata_type", "value", "required_value", "is_met"),
    [
        (MetadataType.INTEGER_LESS_THAN_EQUAL, "3", "3", True),
        (MetadataType.INTEGER_LESS_THAN_EQUAL, "4", "3", False),
        (MetadataType.INTEGER_GREATER_THAN_EQUAL, "4", "3", True),
        (MetadataType.INTEGER_GREATER_THAN_EQUAL, "-4", "3", False),
        (MetadataType.INTEGER_EQUAL, "3", "3", True),
        (MetadataType.INTEGER_EQUAL, "4", "3", False),
        (MetadataType.INTEGER_NOT_EQUAL, "4", "3", True),
        (MetadataType.INTEGER_NOT_EQUAL, "3", "3", False),
        (MetadataType.DATETIME_LESS_THAN_EQUAL, "2026-11-17T00:00:00+00:00", "2", True),
        (MetadataType.DATETIME_LESS_THAN_EQUAL, "2026-11-01T00:00:00", "2", False),
        (MetadataType.DATETIME_GREATER_THAN_EQUAL, "2026-11-01T00:00:00Z", "10", True),
        (MetadataType.DATETIME_GREATER_THAN_EQUAL, "2026-11-17T00:00:00Z", "10", False),
        (MetadataType.BOOLEAN_EQUAL, "true", "1", True),
        (MetadataType.BOOLEAN_EQUAL, "0", "1", False),
        (MetadataType.BOOLEAN_NOT_EQUAL, "false", "1", True),
        (MetadataType.BOOLEAN_NOT_EQUAL, "1", "1", False),
    ],
)
def test_values_are_compared_by_metadata_type(
    metadata_type: int, value: str, required_value: str, is_met: bool
) -> None:
    assert rules.is_satisfied(metadata_type, value, required_value, NOW_MS) is is_met


# Application attachments and activity instances


async def test_an_application_attachment_expires(world: World) -> None:
    alice, bot, other_bot = await world.user(), await world.bot(), await world.bot()
    path = f"/applications/{bot.application_id}/attachment"

    def form() -> aiohttp.FormData:
        form_data = aiohttp.FormData()
        form_data.add_field("file", png(), filename="pic ture.png", content_type="image/png")
        return form_data

    attachment = (await bot.post(path, data=form())).ok()["attachment"]

    assert (attachment["filename"], attachment["ephemeral"], attachment["width"]) == ("pic_ture.png", True, 8)
    async with world.client.get(attachment["url"]) as response:
        assert (response.status, await response.read()) == (200, png())
    world.clock.advance(86_400_000)
    async with world.client.get(attachment["url"]) as response:
        assert response.status == 404
    connected_user = await connect_user(world, alice, bot, "identify")
    (await connected_user.request("POST", path, data=form())).ok()
    (await other_bot.post(path, data=form())).rejected(403, 20012)
    (await bot.post("/applications/1/attachment", data=form())).rejected(404, 10002)
    empty_form = aiohttp.FormData()
    empty_form.add_field("nothing", "")
    empty_form.add_field("more", b"", filename="x")
    assert (await bot.post(path, data=empty_form)).status == 400


async def test_an_unknown_activity_instance_is_rejected(world: World) -> None:
    bot, other_bot = await world.bot(), await world.bot()
    path = f"/applications/{bot.application_id}/activity-instances/i-1-gc-2-3"

    (await bot.get(path)).rejected(404, 0)
    (await other_bot.get(path)).rejected(403, 20012)
