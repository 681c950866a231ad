"""Permission checks of every operation on a guild or one of its channels.

Each operation is called by a member without permissions, a member with exactly the required permissions, the owner, an
outsider, and the owner of another guild, with objects of this one. The matrix runs once with users and once with bots;
a bot with ADMINISTRATOR replaces the owner. Operations of applications and of group DMs have their own tests.

The required permissions are the operation's `needs`, which the dispatcher checks, and `HANDLER_PERMISSIONS`, which
handlers check, after the rows of spec/http.md#4. A rejection is 403 with 50013 (missing permissions) or 50001 (missing
access); it is 50001 if the member cannot see the channel."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.operation import Auth
from hubbub.protocol.permissions import Permissions
from hubbub.server.composition import SLICES
from hubbub.server.control.causes import Causes
from hubbub.server.core.endpoints import Endpoint, EndpointTable
from tests.contract.prepared_guild import PreparedGuild, prepare_guild
from tests.contract.request_builder import PREPARATIONS, Request, RequestBuilder
from tests.world import Actor, ApiResponse, Guild, World

HANDLER_PERMISSIONS = {
    # Permissions that spec/http.md#4 requires beyond `needs`; for objects of other users where own objects require less.
    "create_message": Permissions.SEND_MESSAGES,
    "trigger_typing_indicator": Permissions.SEND_MESSAGES,
    "delete_message": Permissions.MANAGE_MESSAGES,
    "crosspost_message": Permissions.MANAGE_MESSAGES,
    "delete_all_message_reactions": Permissions.MANAGE_MESSAGES,
    "delete_all_message_reactions_by_emoji": Permissions.MANAGE_MESSAGES,
    "delete_user_message_reaction": Permissions.MANAGE_MESSAGES,
    "add_my_message_reaction": Permissions.ADD_REACTIONS,
    "create_pin": Permissions.PIN_MESSAGES,
    "delete_pin": Permissions.PIN_MESSAGES,
    "deprecated_create_pin": Permissions.PIN_MESSAGES,
    "deprecated_delete_pin": Permissions.PIN_MESSAGES,
    "create_thread": Permissions.CREATE_PUBLIC_THREADS,
    "add_thread_member": Permissions.SEND_MESSAGES_IN_THREADS,
    "delete_thread_member": Permissions.MANAGE_THREADS,
    "follow_channel": Permissions.MANAGE_WEBHOOKS,
    "update_channel": Permissions.MANAGE_CHANNELS,
    "delete_channel": Permissions.MANAGE_CHANNELS,
    "update_voice_channel_status": Permissions.MANAGE_CHANNELS,
    "create_guild_emoji": Permissions.CREATE_GUILD_EXPRESSIONS,
    "update_guild_emoji": Permissions.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_emoji": Permissions.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_soundboard_sound": Permissions.CREATE_GUILD_EXPRESSIONS,
    "update_guild_soundboard_sound": Permissions.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_soundboard_sound": Permissions.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_sticker": Permissions.CREATE_GUILD_EXPRESSIONS,
    "update_guild_sticker": Permissions.MANAGE_GUILD_EXPRESSIONS,
    "delete_guild_sticker": Permissions.MANAGE_GUILD_EXPRESSIONS,
    "create_guild_scheduled_event": Permissions.CREATE_EVENTS,
    "update_guild_scheduled_event": Permissions.MANAGE_EVENTS,
    "delete_guild_scheduled_event": Permissions.MANAGE_EVENTS,
    "create_guild_scheduled_event_exception": Permissions.MANAGE_EVENTS,
    "update_guild_scheduled_event_exception": Permissions.MANAGE_EVENTS,
    "delete_guild_scheduled_event_exception": Permissions.MANAGE_EVENTS,
    "list_guild_invites": Permissions.MANAGE_GUILD,
    "set_guild_new_member_welcome": Permissions.VIEW_CHANNEL,
    "preview_prune_guild": Permissions.MANAGE_GUILD,
    "prune_guild": Permissions.MANAGE_GUILD,
    "get_guild_join_requests": Permissions.KICK_MEMBERS,
    "guild_search": Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    "update_guild_member": Permissions.MANAGE_NICKNAMES,
    "update_my_guild_member": Permissions.CHANGE_NICKNAME,
    "get_voice_state": Permissions.VIEW_CHANNEL | Permissions.CONNECT,
    "update_self_voice_state": Permissions.VIEW_CHANNEL,
    "update_voice_state": Permissions.VIEW_CHANNEL | Permissions.CONNECT | Permissions.MUTE_MEMBERS,
    "create_stage_instance": (
        Permissions.VIEW_CHANNEL | Permissions.MANAGE_CHANNELS | Permissions.MUTE_MEMBERS | Permissions.MOVE_MEMBERS
    ),
    "get_webhook": Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS,
    "update_webhook": Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS,
    "delete_webhook": Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS,
    "invite_revoke": Permissions.MANAGE_GUILD,
    "get_invite_target_users": Permissions.VIEW_AUDIT_LOG,
    "get_invite_target_users_job_status": Permissions.VIEW_AUDIT_LOG,
    "update_invite_target_users": Permissions.MANAGE_GUILD,
    "authorize_oauth2_application": Permissions.MANAGE_GUILD,
    "create_interaction": Permissions.VIEW_CHANNEL | Permissions.USE_APPLICATION_COMMANDS,
    "launch_activity": Permissions.USE_EMBEDDED_ACTIVITIES,
}

OWNER_OPERATIONS = {"delete_guild", "set_guild_mfa_level"}
"""Operations that only the owner may call."""

PUBLIC_OPERATIONS = {
    # Public by design (spec/http.md#4.4, 4.5): guild preview, widget, welcome screen and join requests.
    "get_guild_preview",
    "get_guild_widget",
    "get_guild_widget_png",
    "get_guild_welcome_screen",
    "get_guild_member_verification",
    "get_my_guild_join_request",
    "create_guild_join_request",
    "delete_my_guild_join_request",
}
"""Operations that outsiders may call, or that hide the guild's existence."""

JOIN_REQUEST_OPERATIONS = {
    "get_my_guild_join_request",
    "create_guild_join_request",
    "delete_my_guild_join_request",
}
"""Join request operations, which fail for members (tests/server/places/test_join_requests.py)."""

OPERATIONS_WITHOUT_MESSAGE_LOOKUP = {"ack_message"}
"""Operations that store a message ID without looking up the message (decisions/0057)."""

TARGETED_INVITE_OPERATIONS = {
    "get_invite_target_users",
    "get_invite_target_users_job_status",
    "update_invite_target_users",
}
"""Operations on a targeted invite, which other users see as unknown without a permission (spec/http.md#4.5)."""

CALLER_STATE_OPERATIONS = {"assign_guild_role_connection", "update_self_voice_state"}
"""Operations that depend on the caller's account or voice state rather than on permissions."""

GROUP_REASON = "a group DM has recipients, not permissions: tested below"
LOBBY_REASON = "a lobby belongs to an application, not to a guild: tests/server/play/test_lobbies.py"
TEAM_REASON = "members of the team: tests/server/identity/test_teams.py"
LINKED_CHANNEL_REASON = "a lobby's linked channel: tests/server/play/test_linked_channels.py"
INVOKER_REASON = "uses the permissions of the invoking user: tests/server/play/test_interaction_responses.py"
TOKEN_REASON = "the token in the path authorizes: tests/server/talk/test_webhooks.py"
INTEGRATION_REASON = (
    "only applications are integrations, so no call succeeds: tests/server/places/test_guild_onboarding_and_widgets.py"
)
CALL_REASON = "calls exist only in private channels: tests/server/voice/test_private_calls.py"
DIRECT_MESSAGE_REASON = "between two users: tests/server/play/test_user_messages.py"
OPERATOR_REASON = "operators act on every guild: tests/server/places/test_guild_administration.py"
SUSPENSION_REASON = "only a suspended guild is rejected: tests/server/places/test_guild_administration.py"
EXEMPT_OPERATIONS = {
    "get_administered_guild": OPERATOR_REASON,
    "suspend_guild": OPERATOR_REASON,
    "unsuspend_guild": OPERATOR_REASON,
    "administratively_delete_guild": OPERATOR_REASON,
    "restore_guild": OPERATOR_REASON,
    "transfer_guild": OPERATOR_REASON,
    "get_guild_storage": OPERATOR_REASON,
    "set_guild_quota": OPERATOR_REASON,
    "create_report": "only visible objects can be reported: tests/server/talk/test_reports.py",
    "accept_invite": SUSPENSION_REASON,
    "add_group_dm_user": GROUP_REASON,
    "delete_group_dm_user": GROUP_REASON,
    "channel_search": "searches private channels only: tests/server/talk/test_private_search.py",
    "get_call": CALL_REASON,
    "ring_call": CALL_REASON,
    "stop_ringing_call": CALL_REASON,
    "batch_set_guild_application_command_permissions": "disabled for every caller (spec/http.md#5)",
    "create_guild_integration": INTEGRATION_REASON,
    "update_guild_integration": INTEGRATION_REASON,
    "sync_guild_integration": INTEGRATION_REASON,
    "create_dm_by_user": "only for the caller's own ID: tests/server/talk/test_direct_messages.py",
    "execute_webhook": TOKEN_REASON,
    "execute_slack_compatible_webhook": TOKEN_REASON,
    "execute_github_compatible_webhook": TOKEN_REASON,
    "get_webhook_message": TOKEN_REASON,
    "delete_webhook_message": TOKEN_REASON,
    "update_webhook_message": INVOKER_REASON,
    "update_original_webhook_message": INVOKER_REASON,
    "get_original_webhook_message": INVOKER_REASON,
    "delete_original_webhook_message": INVOKER_REASON,
    "create_interaction_response": "the token in the path authorizes: tests/server/play/test_interactions.py",
    "create_purchase": "buys for a guild of the caller: tests/server/play/test_entitlements.py",
    "update_team": TEAM_REASON,
    "delete_team": TEAM_REASON,
    "add_team_member": TEAM_REASON,
    "update_team_member": TEAM_REASON,
    "delete_team_member": TEAM_REASON,
    "transfer_team": TEAM_REASON,
    "create_lobby": LOBBY_REASON,
    "get_lobby": LOBBY_REASON,
    "edit_lobby": LOBBY_REASON,
    "delete_lobby": LOBBY_REASON,
    "add_lobby_member": LOBBY_REASON,
    "delete_lobby_member": LOBBY_REASON,
    "bulk_update_lobby_members": LOBBY_REASON,
    "leave_lobby": LOBBY_REASON,
    "create_lobby_message": LOBBY_REASON,
    "get_lobby_messages": LOBBY_REASON,
    "update_lobby_message_external_moderation_metadata": LOBBY_REASON,
    "create_linked_lobby_guild_invite_for_user": LINKED_CHANNEL_REASON,
    "create_linked_lobby_guild_invite_for_self": LINKED_CHANNEL_REASON,
    "edit_lobby_channel_link": LINKED_CHANNEL_REASON,
    "delete_user_message": DIRECT_MESSAGE_REASON,
    "update_user_message_external_moderation_metadata": DIRECT_MESSAGE_REASON,
    "get_disclosures": DIRECT_MESSAGE_REASON,
    "acknowledge_disclosures": DIRECT_MESSAGE_REASON,
    "get_activity_join_secret": "another user's activity: tests/server/play/test_user_messages.py",
    "get_activity_metadata": "another user's activity: tests/server/play/test_user_messages.py",
}
"""Operations that raise the same codes for other reasons than guild permissions, with the reason."""

APPLICATION_GUILDS_PREFIX = "/applications/{application_id}/guilds/"
"""Path prefix of an application's own operations in a guild, which its token authorizes, not guild permissions."""

REJECTED_OUTCOMES = ((403, 50013), (403, 50001))
"""Outcomes of a call without the required permissions or access."""
ALL_BUT_ADMINISTRATOR = Permissions.ALL & ~Permissions.ADMINISTRATOR
SHARED_PARAMETERS = {"guild_id", "channel_id", "user_id", "emoji_name", "overwrite_id", "answer_id", "application_id"}
"""Path parameters that name the guild or channel itself, or an object that does not belong to one guild."""


@cache
def guild_endpoints() -> list[Endpoint]:
    """Return every operation with a guild or a channel in its path."""
    return [
        endpoint
        for endpoint in EndpointTable(SLICES)
        if {"guild_id", "channel_id"} & set(endpoint.operation.parameters)
    ]


@cache
def checked_endpoints() -> list[Endpoint]:
    """Return the operations of `guild_endpoints`, and all others that declare a missing access or permissions error.

    The list is complete: the `response_monitor` fixture checks every response of every test against the operation's `raises`."""
    codes = {errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS}
    declared_endpoints = [
        endpoint
        for endpoint in EndpointTable(SLICES)
        if endpoint.operation.needs or codes & set(endpoint.operation.raises)
    ]
    return [
        *guild_endpoints(),
        *(
            endpoint
            for endpoint in declared_endpoints
            if endpoint.name not in {other.name for other in guild_endpoints()}
        ),
    ]


def endpoints_for(kind: Auth) -> list[Endpoint]:
    """Return the operations for callers of a kind; leaving and deleting the guild come last."""
    endpoints = [
        endpoint
        for endpoint in checked_endpoints()
        if kind in endpoint.operation.auth
        and endpoint.name not in EXEMPT_OPERATIONS
        and not endpoint.operation.path.startswith(APPLICATION_GUILDS_PREFIX)
    ]
    return sorted(endpoints, key=lambda endpoint: (endpoint.name == "delete_guild", endpoint.name == "leave_guild"))


def oauth2_endpoints() -> list[Endpoint]:
    """Return the operations of `guild_endpoints` that OAuth2 tokens may call, except those of `EXEMPT_OPERATIONS`."""
    return [
        endpoint
        for endpoint in guild_endpoints()
        if Auth.BEARER in endpoint.operation.auth and endpoint.name not in EXEMPT_OPERATIONS
    ]


def required_permissions(endpoint: Endpoint) -> int:
    """Return the permission bits that an operation requires."""
    permissions = endpoint.operation.needs | HANDLER_PERMISSIONS.get(endpoint.name, 0)
    if "channel_id" in endpoint.operation.parameters:
        permissions |= Permissions.VIEW_CHANNEL
    # spec/http.md#2.2: in a voice channel, a member without CONNECT has no other permission.
    voice_paths = ("/voice-status", "/stage-instances", "/send-soundboard-sound")
    if endpoint.operation.method == "GET":
        return permissions
    return (
        permissions | Permissions.CONNECT
        if any(part in endpoint.operation.path for part in voice_paths)
        else permissions
    )


class Matrix:
    """The callers of the matrix and the objects that they act on."""

    def __init__(
        self, prepared_guild: PreparedGuild, callers: Iterable[Actor], role_id: int, other_ids: tuple[int, int]
    ) -> None:
        self.prepared_guild = prepared_guild
        self.builder = RequestBuilder(prepared_guild)
        self.unprivileged, self.able, self.outsider, self.other_owner, self.owner = callers
        self.role_id, self._able_permissions = role_id, 0
        self.other_guild_id, self.other_channel_id = other_ids

    async def set_able_permissions(self, permissions: int) -> None:
        """Set the permissions of the `able` caller to exactly these bits."""
        if permissions == self._able_permissions:
            return
        guild, self._able_permissions = self.prepared_guild.guild, permissions
        (
            await guild.owner.patch(f"/guilds/{guild.id}/roles/{self.role_id}", json={"permissions": str(permissions)})
        ).ok()

    async def request(self, endpoint: Endpoint, caller: Actor) -> Request:
        """Build a request that succeeds with the required permissions.

        The preparation may act as the caller, for example to create a message, so `able` gets all permissions first."""
        if caller is self.able and endpoint.name in PREPARATIONS:
            await self.set_able_permissions(ALL_BUT_ADMINISTRATOR)
        return await self.builder.request(endpoint, caller)

    @property
    def world(self) -> World:
        """The platform."""
        return self.prepared_guild.guild.owner.world

    async def list_unexplained_rejections(self) -> list[str]:
        """Return the requests since the latest call that were rejected with 50013, and whose cause a rehearsal cannot name."""
        app = self.world.app
        rejected_requests = app.trace.find_rejected()
        app.trace.clear()
        causes = Causes(lambda _: None)
        explained_requests = await app.database.read(
            lambda tx: causes.explain_all(tx, app.clock.now_ms(), rejected_requests)
        )
        return [
            f"{request.method} {request.route}: no cause"
            for request in explained_requests
            if request.cause is None and codec.decode_any(bytes(request.body))["code"] == 50013
        ]

    def in_other_guild(self, request: Request) -> Request:
        """Return a copy of the request that names the same objects in the other guild."""
        ids = {"guild_id": str(self.other_guild_id), "channel_id": str(self.other_channel_id)}
        return replace(request, values={key: ids.get(key, value) for key, value in request.values.items()})


@pytest.fixture(params=[Auth.USER, Auth.BOT], ids=["users", "bots"])
async def matrix(request: pytest.FixtureRequest, small_world: World) -> Matrix:
    world, uses_bots = small_world, request.param is Auth.BOT
    callers = [await world.bot() if uses_bots else await world.user() for _ in range(4)]
    prepared_guild = await prepare_guild(world, *callers[:2])
    guild = prepared_guild.guild
    other_guild = await world.guild(None if uses_bots else callers[3], *([callers[3]] if uses_bots else []))
    owner = guild.owner
    if uses_bots:
        owner = await world.bot(guild)
        highest_role_id = await guild.role("highest", Permissions.ADMINISTRATOR)
        await guild.add_role(owner, highest_role_id)
        (await guild.owner.patch(f"/guilds/{guild.id}/roles", json=[{"id": str(highest_role_id), "position": 20}])).ok()
        await other_guild.allow_permissions(callers[3], Permissions.ADMINISTRATOR)
    return await _grant_matrix_roles(prepared_guild, [*callers, owner], other_guild)


async def _grant_matrix_roles(prepared_guild: PreparedGuild, callers: list[Actor], other_guild: Guild) -> Matrix:
    guild = prepared_guild.guild
    role_id = await guild.role("able")
    await guild.add_role(callers[1], role_id)
    roles_path = f"/guilds/{guild.id}/roles"
    (await guild.owner.patch(roles_path, json=[{"id": str(role_id), "position": 9}])).ok()
    (await guild.owner.patch(f"{roles_path}/{guild.id}", json={"permissions": "0"})).ok()
    return Matrix(prepared_guild, callers, role_id, (other_guild.id, other_guild.general))


def outcome(response: ApiResponse) -> tuple[int, int]:
    """Return the status and the error code of a response."""
    body = response.json if response.status >= 400 else None
    return response.status, body.get("code", 0) if isinstance(body, dict) else 0


def single_bits(permissions: int) -> list[int]:
    """Split a bit set into single bits."""
    return [1 << position for position in range(permissions.bit_length()) if permissions >> position & 1]


@pytest.mark.timeout(600)
async def test_every_operation_requires_the_documented_permissions(matrix: Matrix) -> None:
    problems: list[str] = []

    def expect(endpoint: Endpoint, caller: str, response: ApiResponse, is_expected: bool) -> None:
        if not is_expected or response.status >= 500:
            problems.append(f"{endpoint.name}, {caller}: {response.status} {response.body[:200]!r}")

    kind = Auth.BOT if matrix.unprivileged.is_bot else Auth.USER
    matrix.world.app.trace.is_enabled = True
    for endpoint in endpoints_for(kind):
        problems += await matrix.list_unexplained_rejections()
        name, request, permissions = (
            endpoint.name,
            await matrix.request(endpoint, matrix.able),
            required_permissions(endpoint),
        )
        is_in_channel, is_in_guild = "channel_id" in request.values, endpoint in guild_endpoints()

        response = await request.send(endpoint, matrix.outsider)
        if endpoint.operation.needs:
            expect(endpoint, "outsider", response, outcome(response) == (403, 50001))
        elif name not in PUBLIC_OPERATIONS:
            rejections = ((403, 50001), (404, 10004)) if is_in_guild else REJECTED_OUTCOMES
            rejections = ((404, 10006),) if name in TARGETED_INVITE_OPERATIONS else rejections
            expect(endpoint, "outsider", response, outcome(response) in rejections)

        if name != "leave_guild":
            response = await request.send(endpoint, matrix.unprivileged)
            if is_in_channel:
                expect(endpoint, "without permissions", response, outcome(response) == (403, 50001))
            elif endpoint.operation.needs or name in OWNER_OPERATIONS:
                expect(endpoint, "without permissions", response, outcome(response) == (403, 50013))
            elif permissions and name not in CALLER_STATE_OPERATIONS:
                rejections = ((404, 10006),) if name in TARGETED_INVITE_OPERATIONS else REJECTED_OUTCOMES
                expect(endpoint, "without permissions", response, outcome(response) in rejections)
            else:
                is_allowed = (
                    outcome(response) not in REJECTED_OUTCOMES or name in PUBLIC_OPERATIONS | CALLER_STATE_OPERATIONS
                )
                expect(endpoint, "without permissions", response, is_allowed)

        if name not in OPERATIONS_WITHOUT_MESSAGE_LOOKUP and (
            set(request.values) - SHARED_PARAMETERS or not is_in_guild
        ):
            response = await matrix.in_other_guild(request).send(endpoint, matrix.other_owner)
            # The other channel may have another type, or the guild may lack a feature: these checks come first.
            rejections = ((403, 50001), (400, 50024)) if is_in_guild else REJECTED_OUTCOMES
            expect(endpoint, "wrong guild", response, response.status == 404 or outcome(response) in rejections)

        needed_permissions = permissions & ~Permissions.VIEW_CHANNEL if is_in_guild else permissions
        for bit in single_bits(needed_permissions):
            # Without one of the bits the caller is rejected; in a visible channel, for missing permissions.
            await matrix.set_able_permissions(permissions & ~bit)
            response = await request.send(endpoint, matrix.able)
            rejections = ((403, 50013),) if is_in_channel and bit != Permissions.CONNECT else REJECTED_OUTCOMES
            expect(endpoint, f"all but {bit:#x}", response, outcome(response) in rejections)

        await matrix.set_able_permissions(permissions)
        response = await request.send(endpoint, matrix.able)
        if name in OWNER_OPERATIONS:
            # By the time the guild is deleted, the caller has left it.
            expect(endpoint, "able", response, outcome(response) in REJECTED_OUTCOMES)
        elif name not in JOIN_REQUEST_OPERATIONS:
            expect(endpoint, "able", response, response.status < 300)

        if matrix.owner.is_bot and name in OWNER_OPERATIONS:
            continue
        request = await matrix.request(endpoint, matrix.owner)
        response = await request.send(endpoint, matrix.owner)
        if name == "leave_guild" and not matrix.owner.is_bot:
            expect(endpoint, "owner", response, outcome(response) == (400, 50055))
        elif name not in JOIN_REQUEST_OPERATIONS:
            expect(endpoint, "owner", response, response.status < 300)

    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("matrix", [Auth.USER], ids=["users"], indirect=True)
async def test_elevated_permissions_require_mfa_if_the_guild_does(matrix: Matrix) -> None:
    """spec/http.md#2.1: with mfa_level 1 the acting user, or the owner of the bot, needs two-factor authentication."""
    problems: list[str] = []
    await matrix.builder.enable_mfa(matrix.prepared_guild.guild.owner)
    await matrix.set_able_permissions(ALL_BUT_ADMINISTRATOR)
    for endpoint in endpoints_for(Auth.BOT if matrix.unprivileged.is_bot else Auth.USER):
        if endpoint.name in OWNER_OPERATIONS or endpoint.name in ("leave_guild", "list_placeholders"):
            # The caller lacks ADMINISTRATOR, which listing placeholders requires.
            continue
        request = await matrix.builder.request(endpoint, matrix.able)
        await matrix.builder.set_mfa_level(1)
        response = await request.send(endpoint, matrix.able)
        await matrix.builder.set_mfa_level(0)
        if (outcome(response) == (401, 60003)) is not bool(required_permissions(endpoint) & Permissions.ELEVATED):
            problems.append(f"{endpoint.name}: {response.status} {response.body[:200]!r}")

    assert not problems, "\n".join(problems)


async def test_conditional_elevated_permissions_require_mfa(matrix: Matrix) -> None:
    builder, able = matrix.builder, matrix.able
    member, message, role_id = (
        await builder.guild.member(),
        await builder.create_message(),
        str(await builder.guild.role()),
    )
    await builder.enable_mfa(builder.owner)
    await matrix.set_able_permissions(ALL_BUT_ADMINISTRATOR)
    await builder.set_mfa_level(1)

    for path, body in (
        (f"{builder.guild_path}/members/{member.id}", {"roles": [role_id]}),
        (f"{builder.general_path}/messages/{message}", {"flags": MessageFlags.SUPPRESS_EMBEDS}),
        (f"/channels/{builder.prepared_guild.thread_id}", {"locked": True}),
    ):
        assert outcome(await able.patch(path, json=body)) == (401, 60003), path
    assert outcome(await able.post(f"{builder.general_path}/invites", json={"role_ids": [role_id]})) == (401, 60003)
    assert (await able.patch(f"{builder.guild_path}/members/{member.id}", json={"nick": "bob"})).status == 200


def test_the_tables_name_only_existing_operations() -> None:
    names = {endpoint.name for endpoint in EndpointTable(SLICES)}

    assert {
        *HANDLER_PERMISSIONS,
        *OWNER_OPERATIONS,
        *PUBLIC_OPERATIONS,
        *JOIN_REQUEST_OPERATIONS,
        *TARGETED_INVITE_OPERATIONS,
        *CALLER_STATE_OPERATIONS,
        *EXEMPT_OPERATIONS,
        *OPERATIONS_WITHOUT_MESSAGE_LOOKUP,
    } - names == set()
    assert set(PREPARATIONS) - names == set()


def test_every_operation_with_a_permission_check_is_covered() -> None:
    covered_names = {
        endpoint.name for endpoint in (*endpoints_for(Auth.USER), *endpoints_for(Auth.BOT), *oauth2_endpoints())
    }
    application_operations = {
        endpoint.name for endpoint in guild_endpoints() if endpoint.operation.path.startswith(APPLICATION_GUILDS_PREFIX)
    }

    assert {endpoint.name for endpoint in checked_endpoints()} - covered_names - (
        application_operations - set(EXEMPT_OPERATIONS)
    ) == set(EXEMPT_OPERATIONS)
    assert {name for method, name in GROUP_ROWS} <= set(EXEMPT_OPERATIONS)


# Operations of applications and of OAuth2 tokens


async def test_applications_use_their_own_operations_in_their_guilds(small_world: World) -> None:
    world = small_world
    prepared_guild = await prepare_guild(world)
    stranger = await world.bot(prepared_guild.guild, permissions=Permissions.ADMINISTRATOR)
    command = {"name": "greet", "description": "says hello"}
    path = f"/applications/{prepared_guild.bot.application_id}/guilds/{prepared_guild.guild.id}/commands"
    problems: list[str] = []
    # Deletions come last, so that the command exists for all others.
    guild_endpoint_names = sorted(
        (
            endpoint
            for endpoint in guild_endpoints()
            if endpoint.operation.path.startswith(APPLICATION_GUILDS_PREFIX) and endpoint.name not in EXEMPT_OPERATIONS
        ),
        key=lambda endpoint: endpoint.operation.method == "DELETE",
    )
    assert guild_endpoint_names
    for endpoint in guild_endpoint_names:
        created_command = (await prepared_guild.bot.post(path, json=command)).ok()
        values = prepared_guild.path_values(endpoint)
        if "command_id" in values:
            values["command_id"] = created_command["id"]
        body = {"bulk_set_guild_application_commands": [command], "create_guild_application_command": command}.get(
            endpoint.name, {"permissions": []} if "permissions" in endpoint.name else {}
        )

        async def send(
            caller: Actor, values: dict[str, str] = values, body: Any = body, endpoint: Any = endpoint
        ) -> ApiResponse:
            options = {} if endpoint.operation.method in ("GET", "DELETE") else {"json": body}
            return await caller.request(endpoint.operation.method, endpoint.operation.url(**values), **options)

        scope = endpoint.operation.scopes[0]
        owner = prepared_guild.guild.owner
        plain = await world.bearer(owner, prepared_guild.bot.application_id, "identify")
        foreign = await world.bearer(owner, stranger.application_id, scope)
        outcomes = {"a token without the scope": (outcome(await send(plain)), (403, 50026))}
        outcomes["a token of another application"] = (outcome(await send(foreign)), (403, 20012))
        if Auth.BOT in endpoint.operation.auth:
            outcomes["another bot"] = (outcome(await send(stranger)), (403, 20012))
            unknown_guild_values = {**values, "guild_id": "1"}
            outcomes["an unknown guild"] = (outcome(await send(prepared_guild.bot, unknown_guild_values)), (404, 10004))
        for caller_name, (actual, expected) in outcomes.items():
            if actual != expected:
                problems.append(f"{endpoint.name}, {caller_name}: {actual}")
        response = (
            await send(prepared_guild.bot)
            if Auth.BOT in endpoint.operation.auth
            else await send(await world.bearer(owner, prepared_guild.bot.application_id, scope))
        )
        # The permissions of a command are unknown until they are set.
        is_unset = endpoint.name == "get_guild_application_command_permissions"
        if outcome(response) != (404, 10066) if is_unset else response.status >= 400:
            problems.append(f"{endpoint.name}, own application: {response.status} {response.body[:200]!r}")

    assert not problems, "\n".join(problems)


OUTSIDER_OUTCOMES = {"get_my_guild_member": (404, 10004), "list_guild_channels": (403, 50001)}
"""Responses to an access token of a user who is not a member."""


@pytest.mark.parametrize(
    "name",
    sorted(
        endpoint.name for endpoint in oauth2_endpoints() if APPLICATION_GUILDS_PREFIX not in endpoint.operation.path
    ),
)
async def test_oauth2_operations_are_limited_to_the_users_guilds(small_world: World, name: str) -> None:
    world = small_world
    prepared_guild = await prepare_guild(world)
    (endpoint,) = [endpoint for endpoint in oauth2_endpoints() if endpoint.name == name]
    url, application_id = (
        endpoint.operation.url(**prepared_guild.path_values(endpoint)),
        prepared_guild.bot.application_id,
    )
    scope = endpoint.operation.scopes[0]

    async def outcome_for(user: Actor, scope: str) -> tuple[int, int]:
        caller = await world.bearer(user, application_id, scope)
        return outcome(await caller.request(endpoint.operation.method, url))

    assert await outcome_for(prepared_guild.guild.owner, scope) == (200, 0)
    assert await outcome_for(prepared_guild.guild.owner, "identify") == (403, 50026)
    assert await outcome_for(await world.user(), scope) == OUTSIDER_OUTCOMES[name]


# Group DMs

GROUP_ROWS = {("PUT", "add_group_dm_user"), ("DELETE", "delete_group_dm_user")}


async def test_only_recipients_change_a_group_dm(small_world: World) -> None:
    world = small_world
    owner, friend, newcomer, outsider = [await world.user() for _ in range(4)]
    await world.guild(owner, friend, newcomer, outsider)
    third_user = await world.user()
    await world.guild(owner, third_user)
    recipients = [str(friend.id), str(third_user.id)]
    group_id = (await owner.post("/users/@me/channels", json={"recipients": recipients})).ok()["id"]
    path = f"/channels/{group_id}/recipients"

    for method, target in (("PUT", newcomer), ("DELETE", third_user)):
        assert outcome(await outsider.request(method, f"{path}/{target.id}")) == (403, 50001)
    assert outcome(await friend.delete(f"{path}/{third_user.id}")) == (403, 50013)
    assert (await friend.put(f"{path}/{newcomer.id}")).status < 300
    assert (await owner.delete(f"{path}/{third_user.id}")).status == 204
    assert (await friend.delete(f"{path}/{friend.id}")).status == 204
    assert outcome(await owner.put(f"/channels/1/recipients/{third_user.id}")) == (404, 10003)
