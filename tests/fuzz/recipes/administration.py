"""Recipes for the operations of operators, and for announcements, registration invites and documents of users."""

from hubbub.protocol import codec
from hubbub.protocol.ids import UserId
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.identity import registration
from tests.contract.prepared_guild import HOUR_MS
from tests.fuzz.platform import Platform
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.media import png
from tests.oauth import create_application
from tests.server.identity.accounts import create_user_with_password, enable_totp
from tests.server.identity.operators import grant_role
from tests.server.identity.test_administration_queues import create_jobs
from tests.world import NOW_MS

REASON = {"reason": "test"}


@recipe(
    "list_announcements",
    "list_decisions",
    "list_report_cases",
    "search_applications",
    "get_administered_application",
    "list_operator_actions",
    "list_administered_features",
    "list_files",
    "list_sessions",
    "search_guilds",
    "get_administered_guild",
    "get_guild_storage",
    "list_jobs",
    "list_operators",
    "list_registration_invites",
    "list_registrations",
    "get_my_operator",
    "list_job_queues",
    "get_storage",
    "search_users",
    "get_administered_user",
    "list_exported_messages",
    "get_user_storage",
)
async def _read_as_operator(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator)


@recipe("create_announcement")
async def _announcement(platform: Platform) -> ValidRequest:
    ends_at = codec.timestamp(platform.world.clock.now_ms() + HOUR_MS)
    return ValidRequest(platform.operator, body={"content": "Maintenance", "ends_at": ends_at})


async def _create_announcement(platform: Platform) -> str:
    body = (await _announcement(platform)).body
    return str((await platform.operator.post("/admin/announcements", json=body)).ok()["id"])


@recipe("end_announcement")
async def _ended_announcement(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, {"announcement_id": await _create_announcement(platform)}, {})


@recipe("dismiss_announcement")
async def _dismissed_announcement(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.owner, {"announcement_id": await _create_announcement(platform)})


@recipe("disable_application", "administratively_delete_application")
async def _application(platform: Platform) -> ValidRequest:
    application = await create_application(platform.world)
    return ValidRequest(platform.operator, {"application_id": application.id}, REASON)


@recipe("enable_application")
async def _disabled_application(platform: Platform) -> ValidRequest:
    request = await _application(platform)
    (await platform.operator.post(f"/admin/applications/{request.values['application_id']}/disable", json=REASON)).ok()
    return ValidRequest(platform.operator, request.values, {})


@recipe("restore_application")
async def _deleted_application(platform: Platform) -> ValidRequest:
    request = await _application(platform)
    (await platform.operator.post(f"/admin/applications/{request.values['application_id']}/delete", json=REASON)).ok()
    return ValidRequest(platform.operator, request.values, {})


@recipe("set_feature")
async def _feature(platform: Platform) -> ValidRequest:
    name = (await platform.operator.get("/admin/features")).ok()[0]["name"]
    return ValidRequest(platform.operator, {"feature_name": name}, {"enabled": True})


@recipe("administratively_delete_file")
async def _file(platform: Platform) -> ValidRequest:
    attachment_id, _ = await upload_file(platform)
    return ValidRequest(platform.operator, {"attachment_id": attachment_id}, REASON)


async def upload_file(platform: Platform) -> tuple[str, str]:
    """Create a message with a file as the owner; return ID and URL of the attachment."""
    import aiohttp

    form = aiohttp.FormData()
    form.add_field("payload_json", "{}", content_type="application/json")
    form.add_field("files[0]", png(), filename="a.png", content_type="image/png")
    path = f"/channels/{platform.guild.general}/messages"
    [attachment] = (await platform.owner.post(path, data=form)).ok()["attachments"]
    return attachment["id"], attachment["url"]


@recipe("suspend_guild", "administratively_delete_guild")
async def _guild(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, {"guild_id": (await platform.world.guild()).id}, REASON)


@recipe("unsuspend_guild")
async def _suspended_guild(platform: Platform) -> ValidRequest:
    values = {"guild_id": (await platform.world.guild()).id}
    (await platform.operator.post(f"/admin/guilds/{values['guild_id']}/suspend", json=REASON)).ok()
    return ValidRequest(platform.operator, values, {})


@recipe("restore_guild")
async def _deleted_guild(platform: Platform) -> ValidRequest:
    values = {"guild_id": (await platform.world.guild()).id}
    body = REASON | {"grace_days": 7}
    (await platform.operator.post(f"/admin/guilds/{values['guild_id']}/delete", json=body)).ok()
    return ValidRequest(platform.operator, values, {})


@recipe("transfer_guild")
async def _transferred_guild(platform: Platform) -> ValidRequest:
    guild = await platform.world.guild()
    return ValidRequest(platform.operator, {"guild_id": guild.id}, {"owner_id": str((await guild.member()).id)})


@recipe("set_guild_quota", "set_user_quota")
async def _quota(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, body={"bytes": 1 << 40})


@recipe("discard_job", "retry_job")
async def _job(platform: Platform) -> ValidRequest:
    [job_id] = await create_jobs(platform.world, ("failed", 9))
    return ValidRequest(platform.operator, {"job_id": job_id}, {})


@recipe("retry_job_queue")
async def _job_queue(platform: Platform) -> ValidRequest:
    await create_jobs(platform.world, ("failed", 9))
    return ValidRequest(platform.operator, {"job_kind": "test.deliver"}, {})


@recipe("set_operator")
async def _new_operator(platform: Platform) -> ValidRequest:
    user = await create_user_with_password(platform.world, platform.builder.unused_name("operator"))
    await enable_totp(platform.world, user)
    return ValidRequest(platform.operator, {"user_id": user.id}, {"role": OperatorRole.AUDITOR})


@recipe("remove_operator")
async def _existing_operator(platform: Platform) -> ValidRequest:
    user = await create_user_with_password(platform.world, platform.builder.unused_name("operator"))
    await grant_role(platform.world, user, OperatorRole.AUDITOR)
    return ValidRequest(platform.operator, {"user_id": user.id}, {})


@recipe("delete_user", "suspend_user", "end_user_sessions")
async def _user(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, {"user_id": (await platform.world.user()).id}, REASON)


@recipe("end_session")
async def _session(platform: Platform) -> ValidRequest:
    user = await create_user_with_password(platform.world, platform.builder.unused_name("visitor"))
    [session] = (await user.get("/auth/sessions")).ok()
    return ValidRequest(platform.operator, {"session_id": session["id"]}, REASON)


@recipe("unsuspend_user")
async def _suspended_user(platform: Platform) -> ValidRequest:
    values = {"user_id": (await platform.world.user()).id}
    body = REASON | {"ends_at": codec.timestamp(NOW_MS + 1000 * HOUR_MS)}
    (await platform.operator.post(f"/admin/users/{values['user_id']}/suspend", json=body)).ok()
    return ValidRequest(platform.operator, values, {})


@recipe("export_user")
async def _exported_user(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, {"user_id": (await platform.world.user()).id}, {})


@recipe("restore_user")
async def _deleted_user(platform: Platform) -> ValidRequest:
    values = {"user_id": (await platform.world.user()).id}
    body = REASON | {"grace_days": 7}
    (await platform.operator.post(f"/admin/users/{values['user_id']}/delete", json=body)).ok()
    return ValidRequest(platform.operator, values, {})


# Registration


@recipe("create_registration_invite")
async def _registration_invite(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, body={"note": "Mary", "uses_max": 2, "expires_in_days": 1, **REASON})


@recipe("delete_registration_invite")
async def _existing_registration_invite(platform: Platform) -> ValidRequest:
    invite = (await platform.operator.post("/admin/registration-invites", json={})).ok()
    return ValidRequest(platform.operator, {"registration_invite_id": invite["id"]}, REASON)


@recipe("approve_registration", "reject_registration")
async def _registration_request(platform: Platform) -> ValidRequest:
    user = await platform.world.user()
    await platform.world.write(lambda call: registration.requests.create(call, UserId(user.id), "Hello"))
    return ValidRequest(platform.operator, {"user_id": str(user.id)}, REASON)


@recipe("list_my_registration_invites")
async def _my_registration_invites(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user())


@recipe("create_my_registration_invite")
async def _my_registration_invite(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user(), body={"note": "Mary"})


@recipe("delete_my_registration_invite")
async def _my_existing_registration_invite(platform: Platform) -> ValidRequest:
    user = await platform.world.user()
    invite = await platform.world.write(
        lambda call: registration.actions.create_invite(
            call, creator_id=UserId(user.id), note="", uses_max=1, days=1, email=None
        )
    )
    return ValidRequest(user, {"registration_invite_id": str(int(invite.id))})


# Documents


@recipe("publish_document")
async def _new_document(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.operator, {"document_kind": "terms"}, {"content": "Be *kind*.", **REASON})


async def _publish_document(platform: Platform) -> int:
    response = await platform.operator.put("/admin/documents/terms", json={"content": "Be *kind*."})
    return int(response.ok()["version"])


@recipe("list_documents", "get_document")
async def _document(platform: Platform) -> ValidRequest:
    await _publish_document(platform)
    return ValidRequest(values={"document_kind": "terms"})


@recipe("list_unaccepted_documents")
async def _unaccepted_documents(platform: Platform) -> ValidRequest:
    await _publish_document(platform)
    return ValidRequest(await platform.world.user())


@recipe("accept_documents")
async def _accepted_document(platform: Platform) -> ValidRequest:
    version = await _publish_document(platform)
    return ValidRequest(await platform.world.user(), body={"accepted": {"terms": version}})
