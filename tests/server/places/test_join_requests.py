"""Member verification: the form, join requests, and their review."""

from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import members
from tests.world import NOW_MS, Actor, Guild, World

TERMS_FIELD = {"field_type": "TERMS", "label": "Rules", "required": True, "values": ["be kind"]}
TEXT_FIELD = {"field_type": "TEXT_INPUT", "label": "Why?", "required": True}
PARAGRAPH_FIELD = {"field_type": "PARAGRAPH", "label": "Tell us", "required": False, "placeholder": "..."}
CHOICE_FIELD = {"field_type": "MULTIPLE_CHOICE", "label": "Which?", "required": True, "choices": ["a", "b"]}


async def enable_form(guild: Guild, *fields: dict[str, Any], **settings: Any) -> Any:
    """Enable the verification form with these fields, and return the form."""
    body = {"enabled": True, "form_fields": list(fields), **settings}
    return (await guild.owner.patch(f"/guilds/{guild.id}/member-verification", json=body)).ok()


async def submit_form(actor: Actor, guild: Guild, form: Any, *responses: Any) -> Any:
    fields = [
        field | ({} if response is None else {"response": response})
        for field, response in zip(form["form_fields"], responses, strict=True)
    ]
    body = {"version": form["version"], "form_fields": fields}
    return await actor.put(f"/guilds/{guild.id}/requests/@me", json=body)


async def is_pending(guild: Guild, actor: Actor) -> bool:
    """Return whether a member has not passed member verification yet."""
    is_member_pending: bool = (await guild.owner.get(f"/guilds/{guild.id}/members/{actor.id}")).ok()["pending"]
    return is_member_pending


async def test_the_form_is_updated_and_read(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()
    path = f"/guilds/{guild.id}/member-verification"
    (await guild.owner.get(path)).rejected(404, 10068)
    form = await enable_form(guild, TERMS_FIELD, TEXT_FIELD, PARAGRAPH_FIELD, CHOICE_FIELD, description="read this")
    assert form == {
        "version": codec.timestamp(NOW_MS),
        "form_fields": [TERMS_FIELD, TEXT_FIELD, PARAGRAPH_FIELD, CHOICE_FIELD],
        "description": "read this",
    }
    assert (await guild.owner.get(path)).ok() == form
    assert "MEMBER_VERIFICATION_GATE_ENABLED" in (await session.next("GUILD_UPDATE"))["features"]
    audit_entries = (
        await guild.owner.get(
            f"/guilds/{guild.id}/audit-logs?action_type={AuditLogAction.MEMBER_VERIFICATION_UPDATE:d}"
        )
    ).ok()["audit_log_entries"]
    assert {change["key"] for change in audit_entries[0]["changes"]} == {"form_fields", "description"}
    world.clock.advance(1000)
    changed_form = (await guild.owner.patch(path, json={"form_fields": [TERMS_FIELD]})).ok()
    assert changed_form["version"] == codec.timestamp(NOW_MS + 1000)
    bob, stranger = await guild.invited_member(), await world.user()
    assert (await bob.get(path)).ok() == changed_form
    (await bob.patch(path, json={})).rejected(403, 50013)
    (await stranger.get(path)).rejected(403, 50001)
    (await stranger.patch(path, json={})).rejected(403, 50001)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("fields", "error_path"),
    [
        ([{"field_type": "TERMS"}], "form_fields.0.values"),
        ([{"field_type": "MULTIPLE_CHOICE", "label": "x"}], "form_fields.0.choices"),
        ([{"field_type": "TEXT_INPUT"}], "form_fields.0.label"),
        ([{"field_type": "OTHER"}], "form_fields.0.field_type"),
        ([TERMS_FIELD, TERMS_FIELD], "form_fields"),
        ([TEXT_FIELD] * 6, "form_fields"),
    ],
)
async def test_an_invalid_form_names_the_invalid_field(world: World, fields: list[Any], error_path: str) -> None:
    guild = await world.guild()
    path = f"/guilds/{guild.id}/member-verification"
    assert (await guild.owner.patch(path, json={"form_fields": fields})).errors(error_path)


async def test_a_pending_member_cannot_act_until_they_submit_the_form(world: World) -> None:
    guild = await world.guild()
    form = await enable_form(guild, TERMS_FIELD)
    session = await guild.owner.connect()
    bob = await guild.invited_member()
    assert (await session.next("GUILD_MEMBER_ADD"))["pending"] is True
    (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).rejected(403, 50013)
    assert (await submit_form(bob, guild, form, None)).errors("form_fields.0.response") == ["BASE_TYPE_REQUIRED"]
    assert (await submit_form(bob, guild, form, False)).errors("form_fields.0.response")
    request = (await submit_form(bob, guild, form, True)).ok()
    assert (request["application_status"], request["form_responses"]) == (
        "APPROVED",
        [TERMS_FIELD | {"response": True}],
    )
    assert (await session.next("GUILD_JOIN_REQUEST_CREATE"))["status"] == "APPROVED"
    assert (await session.next("GUILD_MEMBER_UPDATE"))["pending"] is False
    (await bob.post(f"/channels/{guild.general}/messages", json={"content": "hi"})).ok()
    (await submit_form(bob, guild, form, True)).rejected(403, 50001)


async def test_a_pending_moderator_receives_no_moderation_events(world: World) -> None:
    guild = await world.guild()
    form = await enable_form(guild, TERMS_FIELD)
    bob = await guild.invited_member()
    await guild.allow_permissions(bob, Permissions.BAN_MEMBERS)
    session = await bob.connect()

    (await guild.owner.put(f"/guilds/{guild.id}/bans/{(await world.user()).id}")).ok()
    await session.assert_not_received("GUILD_BAN_ADD")

    (await submit_form(bob, guild, form, True)).ok()
    stranger = await world.user()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{stranger.id}")).ok()
    assert (await session.next("GUILD_BAN_ADD"))["user"]["id"] == str(stranger.id)


async def test_bots_and_members_with_bypass_are_not_pending(world: World) -> None:
    guild = await world.guild()
    await enable_form(guild, TERMS_FIELD)
    bot, bob = await world.bot(guild), await guild.invited_member()
    assert not await is_pending(guild, bot)
    assert await is_pending(guild, bob)
    (
        await guild.owner.patch(
            f"/guilds/{guild.id}/members/{bob.id}", json={"flags": int(MemberFlags.BYPASSES_VERIFICATION)}
        )
    ).ok()
    assert not await is_pending(guild, bob)


async def test_disabling_the_form_admits_pending_members(world: World) -> None:
    guild = await world.guild()
    await enable_form(guild, TERMS_FIELD)
    bob = await guild.invited_member()
    session = await bob.connect()
    (await guild.owner.patch(f"/guilds/{guild.id}/member-verification", json={"enabled": False})).ok()
    assert (await session.next("GUILD_MEMBER_UPDATE"))["pending"] is False
    assert not await is_pending(guild, bob)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("responses", "path"),
    [
        ((True, "", None, 0), "form_fields.1.response"),
        ((True, "x" * 151, None, 0), "form_fields.1.response"),
        ((True, 5, None, 0), "form_fields.1.response"),
        ((True, "x", "x" * 1001, 0), "form_fields.2.response"),
        ((True, "x", None, 2), "form_fields.3.response"),
        ((True, "x", None, "a"), "form_fields.3.response"),
    ],
)
async def test_an_invalid_response_names_the_invalid_field(world: World, responses: tuple[Any, ...], path: str) -> None:
    guild = await world.guild()
    form = await enable_form(guild, TERMS_FIELD, TEXT_FIELD, PARAGRAPH_FIELD, CHOICE_FIELD)
    bob = await guild.invited_member()
    assert (await submit_form(bob, guild, form, *responses)).errors(path)
    outdated_form = form | {"version": codec.timestamp(1)}
    assert (await submit_form(bob, guild, outdated_form, True, "x", None, 1)).errors("version")
    short_form = form | {"form_fields": form["form_fields"][:1]}
    assert (await submit_form(bob, guild, short_form, True)).errors("form_fields")


# Manual approval


async def create_guild_with_approval(world: World) -> tuple[Guild, Any, Actor]:
    """Create a guild with manual approval; return the guild, its form, and a moderator."""
    guild = await world.guild()
    form = await enable_form(guild, TEXT_FIELD, manual_approval=True)
    moderator = await world.user()
    await world.write(
        lambda call: members.membership.add(call, guild.id, moderator.id, is_pending=False), actor=guild.owner.id
    )
    await guild.allow_permissions(moderator, Permissions.KICK_MEMBERS)
    return guild, form, moderator


async def test_a_request_is_approved(world: World) -> None:
    guild, form, moderator = await create_guild_with_approval(world)
    session = await moderator.connect()
    bob = await guild.invited_member()
    request = (await submit_form(bob, guild, form, "chess")).ok()
    assert (request["application_status"], request["reviewed_at"], request["user_id"]) == (
        "SUBMITTED",
        None,
        str(bob.id),
    )
    event = await session.next("GUILD_JOIN_REQUEST_CREATE")
    assert event == {"guild_id": str(guild.id), "request": request, "status": "SUBMITTED"}
    assert (await bob.get(f"/guilds/{guild.id}/requests/@me")).ok() == request
    page = (await moderator.get(f"/guilds/{guild.id}/requests")).ok()
    assert page == {"total": 1, "guild_join_requests": [request]}
    assert await is_pending(guild, bob)
    path = f"/guilds/{guild.id}/requests/{request['id']}"
    approved_request = (await moderator.patch(path, json={"action": "APPROVED"})).ok()
    assert (approved_request["application_status"], approved_request["actioned_by_user"]["id"]) == (
        "APPROVED",
        str(moderator.id),
    )
    assert (await session.next("GUILD_JOIN_REQUEST_UPDATE"))["request"] == approved_request
    assert (await session.next("GUILD_MEMBER_UPDATE"))["pending"] is False
    assert (await moderator.patch(path, json={"action": "REJECTED"})).errors("action") == ["JOIN_REQUEST_NOT_SUBMITTED"]
    assert (await moderator.get(f"/guilds/{guild.id}/requests?status=APPROVED")).ok()["total"] == 1
    assert (await moderator.get(f"/guilds/{guild.id}/requests")).ok()["total"] == 0


async def test_a_rejected_user_is_removed_from_the_guild(world: World) -> None:
    guild, form, moderator = await create_guild_with_approval(world)
    bob = await guild.invited_member()
    session = await bob.connect()
    request = (await submit_form(bob, guild, form, "chess")).ok()
    path = f"/guilds/{guild.id}/requests/{request['id']}"
    assert (await moderator.patch(path, json={"action": "REJECTED", "rejection_reason": "x" * 161})).errors(
        "rejection_reason"
    )
    rejected_request = (await moderator.patch(path, json={"action": "REJECTED", "rejection_reason": "no"})).ok()
    assert (rejected_request["application_status"], rejected_request["rejection_reason"]) == ("REJECTED", "no")
    assert (await session.next("GUILD_DELETE"))["id"] == str(guild.id)
    assert (await bob.get(f"/guilds/{guild.id}/requests/@me")).ok()["application_status"] == "REJECTED"


async def test_a_request_is_deleted_when_the_user_withdraws_it_or_leaves(world: World) -> None:
    guild, form, moderator = await create_guild_with_approval(world)
    session = await moderator.connect()
    bob = await guild.invited_member()
    request = (await submit_form(bob, guild, form, "chess")).ok()
    own_path = f"/guilds/{guild.id}/requests/@me"
    deletion_payload = {"id": request["id"], "user_id": str(bob.id), "guild_id": str(guild.id)}
    assert (await bob.delete(own_path)).status == 204
    assert await session.next("GUILD_JOIN_REQUEST_DELETE") == deletion_payload
    (await bob.get(own_path)).rejected(404, 0)
    (await bob.delete(own_path)).rejected(404, 0)
    second_request = (await submit_form(bob, guild, form, "go")).ok()
    (await bob.delete(f"/users/@me/guilds/{guild.id}")).ok()
    assert (await session.next("GUILD_JOIN_REQUEST_DELETE"))["id"] == second_request["id"]


async def test_users_can_request_to_join_a_discoverable_guild(world: World) -> None:
    guild, form, moderator = await create_guild_with_approval(world)
    bob = await world.user()
    (await submit_form(bob, guild, form, "chess")).rejected(403, 50001)
    features = '["DISCOVERABLE","MEMBER_VERIFICATION_GATE_ENABLED","MEMBER_VERIFICATION_MANUAL_APPROVAL"]'
    await world.write(lambda call: call.tx.run("UPDATE guilds SET features = ? WHERE id = ?", features, guild.id))
    assert (await bob.get(f"/guilds/{guild.id}/member-verification")).ok() == form
    request = (await submit_form(bob, guild, form, "chess")).ok()
    session = await moderator.connect()
    (await moderator.patch(f"/guilds/{guild.id}/requests/{request['id']}", json={"action": "APPROVED"})).ok()
    assert (await session.next("GUILD_MEMBER_ADD"))["pending"] is False
    banned_user = await world.user()
    (await guild.owner.put(f"/guilds/{guild.id}/bans/{banned_user.id}", json={})).ok()
    (await submit_form(banned_user, guild, form, "chess")).rejected(403, 40007)


async def test_requests_are_paged(world: World) -> None:
    guild, form, moderator = await create_guild_with_approval(world)
    request_ids = []
    for _ in range(3):
        request_ids.append((await submit_form(await guild.invited_member(), guild, form, "x")).ok()["id"])
        world.clock.advance(1000)
    path = f"/guilds/{guild.id}/requests"

    async def list_ids(query: str) -> list[str]:
        return [request["id"] for request in (await moderator.get(f"{path}?{query}")).ok()["guild_join_requests"]]

    assert await list_ids("") == request_ids[::-1]
    assert await list_ids("limit=1") == request_ids[2:]
    assert await list_ids(f"before={request_ids[1]}") == request_ids[:1]
    assert await list_ids(f"after={request_ids[1]}&before={request_ids[1]}") == request_ids[2:]
    for request_id in (request_ids[2], request_ids[0]):
        (await moderator.patch(f"{path}/{request_id}", json={"action": "APPROVED"})).ok()
        world.clock.advance(1000)
    assert await list_ids("status=APPROVED") == [request_ids[0], request_ids[2]]
    assert (await moderator.get(f"{path}?limit=101")).errors("limit")
    assert (await moderator.get(f"{path}?status=OTHER")).errors("status")


async def test_reading_and_reviewing_requests_requires_permissions(world: World) -> None:
    guild, form, moderator = await create_guild_with_approval(world)
    request = (await submit_form(await guild.invited_member(), guild, form, "x")).ok()
    path = f"/guilds/{guild.id}/requests"
    manager = await world.bot(guild, permissions=Permissions.MANAGE_GUILD)
    session = await manager.connect()
    assert (await manager.get(path)).ok() == {"total": 1}
    (await manager.patch(f"{path}/{request['id']}", json={"action": "APPROVED"})).rejected(403, 50013)
    member, stranger = await world.bot(guild), await world.user()
    (await member.get(path)).rejected(403, 50013)
    (await stranger.get(path)).rejected(403, 50001)
    (await stranger.patch(f"{path}/{request['id']}", json={"action": "APPROVED"})).rejected(403, 50001)
    (await moderator.patch(f"{path}/1", json={"action": "APPROVED"})).rejected(404, 0)
    assert (await moderator.patch(f"{path}/{request['id']}", json={})).errors("action") == ["BASE_TYPE_REQUIRED"]
    assert (await moderator.patch(f"{path}/{request['id']}", json={"action": "STARTED"})).errors("action")
    (await moderator.patch(f"{path}/{request['id']}", json={"action": "APPROVED"})).ok()
    await session.assert_not_received("GUILD_JOIN_REQUEST_UPDATE")
    (await member.put(f"{path}/@me", json={"version": form["version"], "form_fields": []})).rejected(403, 20001)
    form_path = f"/guilds/{guild.id}/member-verification"
    (await guild.owner.patch(form_path, json={"manual_approval": False})).ok()
    (await moderator.get(path)).rejected(403, 50001)
    (await moderator.patch(f"{path}/{request['id']}", json={"action": "APPROVED"})).rejected(403, 50001)
