"""HTTP handlers for lobbies: operations of backends (bot tokens) and of users (OAuth2 tokens)."""

from collections.abc import Callable

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.flags import LobbyFlags, LobbyMemberFlags
from hubbub.protocol.ids import ChannelId, LobbyId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import Channel
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.play.lobbies import actions, rules, store, views
from hubbub.server.play.lobbies.linked_channels import channel_links, lobby_messages
from hubbub.server.play.lobbies.store import LobbyMemberRow, LobbyRow, encode_metadata

# Operations of backends


@handles(wire.CREATE_LOBBY)
async def create_lobby(operation: AsyncOperation, body: wire.CreateLobby) -> wire.Lobby:
    """Create a lobby."""

    def check(call: Call) -> int:
        _check_body(body)
        assert call.actor.application_id is not None
        return call.actor.application_id

    await _require_webhook_url(operation, body, check)
    return await operation.write(lambda call: _store_new_lobby(call, check(call), body))


def _check_body(body: wire.CreateLobby) -> None:
    form = FormErrors()
    rules.check_lobby(form, body)
    form.raise_if_any()


async def _require_webhook_url(
    operation: AsyncOperation, body: wire.CreateLobby, check_request: Callable[[Call], int]
) -> None:
    """Raise an error if the lobby's own webhook URL, if it has one, fails the check of application webhook URLs.

    `check_request` validates the rest of the request and returns the application ID."""
    if url := body.override_event_webhooks_url:
        await applications.settings.require_event_endpoint(operation, "override_event_webhooks_url", url, check_request)


def _store_new_lobby(call: Call, application_id: int, body: wire.CreateLobby) -> wire.Lobby:
    row = actions.create(
        call,
        application_id,
        metadata=encode_metadata(body.metadata or None),
        flags=body.flags or 0,
        idle_timeout_seconds=body.idle_timeout_seconds or wire.LOBBY_IDLE_SECONDS_DEFAULT,
        override_event_webhooks_url=body.override_event_webhooks_url or None,
    )
    actions.update_members(call, row, _requested_members(call, row, body.members or ()))
    return views.lobby(call, row)


@handles(wire.GET_LOBBY)
def get_lobby(call: Call, lobby_id: LobbyId) -> wire.Lobby:
    """Get a lobby of the bot's application."""
    return views.lobby(call, rules.require_lobby(call, lobby_id))


@handles(wire.EDIT_LOBBY)
async def edit_lobby(operation: AsyncOperation, lobby_id: LobbyId, body: wire.UpdateLobby) -> wire.Lobby:
    """Update a lobby.

    If `members` is given, it replaces all current members."""

    def check(call: Call) -> int:
        row = rules.require_lobby(call, lobby_id)
        _check_body(body)
        return row.application_id

    await _require_webhook_url(operation, body, check)
    return await operation.write(lambda call: _store_lobby_changes(call, lobby_id, body))


def _store_lobby_changes(call: Call, lobby_id: LobbyId, body: wire.UpdateLobby) -> wire.Lobby:
    row = rules.require_lobby(call, lobby_id)
    _check_body(body)
    changed_row = row
    if body.metadata is not UNSET:
        changed_row = changed_row._replace(metadata=encode_metadata(body.metadata))
    if isinstance(body.flags, int):
        changed_row = changed_row._replace(flags=body.flags)
    if isinstance(body.idle_timeout_seconds, int):
        changed_row = changed_row._replace(idle_timeout_seconds=body.idle_timeout_seconds)
    if body.override_event_webhooks_url is not UNSET:
        changed_row = changed_row._replace(override_event_webhooks_url=body.override_event_webhooks_url)
    if changed_row.flags != row.flags:
        channel_links.update_channel_link(call, changed_row)
    changed_row = actions.update(call, row, changed_row)
    if isinstance(body.members, list):
        memberships = _requested_members(call, changed_row, body.members)
        retained_ids = {member.user_id for member in memberships}
        removed_ids = [user_id for user_id in store.list_member_ids(call.tx, row.id) if user_id not in retained_ids]
        actions.update_members(call, changed_row, memberships, removed_ids)
    return views.lobby(call, changed_row)


@handles(wire.DELETE_LOBBY)
def delete_lobby(call: Call, lobby_id: LobbyId) -> None:
    """Delete a lobby.

    The request also succeeds if the lobby does not exist."""
    if store.find(call.tx, lobby_id) is not None:
        actions.delete(call, rules.require_lobby(call, lobby_id))


def _requested_members(
    call: Call, row: LobbyRow, member_requests: "list[wire.LobbyMemberRequest] | tuple[()]"
) -> list[LobbyMemberRow]:
    """Return the memberships of a request body; raise an error if a user may not be added."""
    members_by_id = {member.user_id: member for member in store.list_members(call.tx, row.id)}
    new_user_ids = [request.id for request in member_requests if request.id not in members_by_id]
    if new_user_ids:
        _require_admissible(call, row, new_user_ids)
    return [
        actions.build_member_row(
            call, row, request.id, members_by_id.get(request.id), metadata=request.metadata, flags=request.flags
        )
        for request in member_requests
    ]


def _require_admissible(call: Call, row: LobbyRow, user_ids: list[UserId]) -> None:
    allowed_ids, full_ids = actions.resolve_admissible_users(call, row, user_ids)
    if len(allowed_ids) < len(set(user_ids)):
        raise errors.MISSING_ACCESS()
    if full_ids:
        raise errors.MAX_LOBBIES()


@handles(wire.ADD_LOBBY_MEMBER)
def add_lobby_member(call: Call, lobby_id: LobbyId, user_id: UserId, body: wire.AddLobbyMember) -> wire.LobbyMember:
    """Add a lobby member.

    The request updates the membership if the user is already a member."""
    row = rules.require_lobby(call, lobby_id)
    form = FormErrors()
    rules.check_member(form, (), body)
    form.raise_if_any()
    existing_member = store.find_member(call.tx, row.id, user_id)
    if existing_member is None:
        _require_admissible(call, row, [user_id])
    upserted_member = _updated_member(call, row, user_id, existing_member, body)
    actions.update_members(call, row, [upserted_member])
    return views.member(upserted_member)


def _updated_member(
    call: Call, row: LobbyRow, user_id: int, existing_member: LobbyMemberRow | None, body: wire.AddLobbyMember
) -> LobbyMemberRow:
    additional_name = body.additional_name if changes.LOBBY_ADDITIONAL_NAME.is_active(call.now_ms) else UNSET
    return actions.build_member_row(
        call, row, user_id, existing_member, metadata=body.metadata, flags=body.flags, additional_name=additional_name
    )


@handles(wire.DELETE_LOBBY_MEMBER)
def delete_lobby_member(call: Call, lobby_id: LobbyId, user_id: UserId) -> None:
    """Remove a lobby member.

    The request also succeeds if the user is not a member."""
    actions.update_members(call, rules.require_lobby(call, lobby_id), removed_ids=[user_id])


@handles(wire.BULK_UPDATE_LOBBY_MEMBERS)
def bulk_update_lobby_members(call: Call, lobby_id: LobbyId, body: wire.BulkLobbyMembers) -> list[wire.LobbyMember]:
    """Update lobby members in bulk.

    The request adds, updates and removes members. Users who may not be added, or are in too many lobbies, are skipped."""
    row = rules.require_lobby(call, lobby_id)
    if not changes.BULK_LOBBY_MEMBERS.is_active(call.now_ms):
        raise errors.NOT_FOUND()
    form = FormErrors()
    for index, request in enumerate(body):
        rules.check_member(form, (index,), request)
        if any(request.id == earlier_request.id for earlier_request in body[:index]):
            form.add((index, "id"), *errors.duplicate())
    form.raise_if_any()
    members_by_id = {member.user_id: member for member in store.list_members(call.tx, row.id)}
    removed_ids = [request.id for request in body if request.remove_member is True]
    remaining_requests = [request for request in body if request.remove_member is not True]
    authorized_ids, ids_at_lobby_limit = actions.resolve_admissible_users(
        call, row, [request.id for request in remaining_requests]
    )
    upserted_members = [
        _updated_member(call, row, request.id, members_by_id.get(request.id), request)
        for request in remaining_requests
        if request.id in members_by_id or (request.id in authorized_ids and request.id not in ids_at_lobby_limit)
    ]
    actions.update_members(call, row, upserted_members, removed_ids)
    return [views.member(member) for member in upserted_members]


@handles(wire.CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_USER)
def create_linked_lobby_guild_invite_for_user(call: Call, lobby_id: LobbyId, user_id: UserId) -> wire.LobbyInvite:
    """Create an invite to the linked channel's guild for a lobby member.

    Users with a provisional account cannot join guilds.
    """
    row = rules.require_lobby(call, lobby_id)
    if store.find_member(call.tx, row.id, user_id) is None:
        raise errors.UNKNOWN_MEMBER()
    return channel_links.create_invite(call, row, user_id)


@handles(wire.UPDATE_LOBBY_MESSAGE_EXTERNAL_MODERATION_METADATA)
def update_lobby_message_external_moderation_metadata(
    call: Call, lobby_id: LobbyId, message_id: MessageId, body: wire.ModerationMetadata
) -> None:
    """Update the moderation metadata of a lobby message.

    The new metadata replaces any earlier metadata."""
    if not changes.MODERATION_METADATA.is_active(call.now_ms):
        raise errors.NOT_FOUND()
    row = rules.require_lobby(call, lobby_id)
    message = store.find_message(call.tx, row.id, message_id)
    if message is None:
        raise errors.UNKNOWN_MESSAGE()
    lobby_messages.set_moderation_metadata(call, row, message, body)


# Operations of users


@handles(wire.CREATE_OR_JOIN_LOBBY)
def create_or_join_lobby(call: Call, body: wire.CreateOrJoinLobby) -> wire.Lobby:
    """Create or join a lobby.

    The caller joins the lobby with the given secret. If there is none, the request creates it."""
    form = FormErrors()
    rules.check_metadata(form, "lobby_metadata", body.lobby_metadata)
    rules.check_metadata(form, "member_metadata", body.member_metadata)
    rules.check_flags(form, "flags", body.flags, LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION)
    form.raise_if_any()
    row = _find_or_create(call, body)
    changed_row = row
    if body.lobby_metadata is not UNSET:
        changed_row = changed_row._replace(metadata=encode_metadata(body.lobby_metadata))
    if isinstance(body.idle_timeout_seconds, int):
        changed_row = changed_row._replace(idle_timeout_seconds=body.idle_timeout_seconds)
    if isinstance(body.flags, int):
        changed_row = changed_row._replace(flags=body.flags)
    changed_row = actions.update(call, row, changed_row)
    existing_member = store.find_member(call.tx, row.id, call.user_id)
    if existing_member is None:
        lobby_counts = store.count_lobbies(call.tx, row.application_id, (call.user_id,))
        if lobby_counts.get(call.user_id, 0) >= wire.LOBBIES_PER_USER_MAX:
            raise errors.MAX_LOBBIES()
    membership = actions.build_member_row(call, row, call.user_id, existing_member, metadata=body.member_metadata)
    actions.update_members(call, changed_row, [membership])
    return views.lobby(call, changed_row)


def _find_or_create(call: Call, body: wire.CreateOrJoinLobby) -> LobbyRow:
    """Return the lobby with the secret of the request; create one if there is none or its secret has expired."""
    application_id = call.actor.application_id
    assert application_id is not None
    row = store.find_by_secret(call.tx, application_id, body.secret)
    if row is not None and (row.secret_expires_ms or 0) <= call.now_ms:
        # The lobby with the expired secret remains, but the secret now creates a new lobby.
        store.clear_secret(call.tx, row.id)
        row = None
    return row or actions.create(
        call,
        application_id,
        metadata=None,
        flags=body.flags or 0,
        idle_timeout_seconds=body.idle_timeout_seconds or wire.LOBBY_IDLE_SECONDS_DEFAULT,
        by_secret=1,
        secret=body.secret,
        secret_expires_ms=call.now_ms + wire.LOBBY_SECRET_LIFETIME_MS,
    )


@handles(wire.LEAVE_LOBBY)
def leave_lobby(call: Call, lobby_id: LobbyId) -> None:
    """Leave a lobby.

    Only a lobby created with a secret can be left. The backend removes the members of other lobbies."""
    row = rules.require_lobby(call, lobby_id)
    if not row.by_secret:
        raise PermissionDenied(
            Denial(
                reason="Only a lobby that was created with a secret can be left; the backend removes the members of others."
            )
        )
    actions.update_members(call, row, removed_ids=[call.user_id])


@handles(wire.CREATE_LOBBY_MESSAGE)
def create_lobby_message(call: Call, lobby_id: LobbyId, body: wire.CreateLobbyMessage) -> wire.LobbyMessage:
    """Create a lobby message.

    The caller must be a member of the lobby."""
    row, member = rules.require_member(call, lobby_id)
    return lobby_messages.create(call, row, member, body)


@handles(wire.GET_LOBBY_MESSAGES)
def get_lobby_messages(call: Call, lobby_id: LobbyId, query: wire.ListLobbyMessages) -> list[wire.LobbyMessage]:
    """List lobby messages.

    The newest message is first; none is older than 72 hours."""
    row, _ = rules.require_member(call, lobby_id)
    since_id = Snowflake.at(call.now_ms - wire.LOBBY_HISTORY_MS)
    return views.messages_with_authors(call, store.list_newest_messages(call.tx, row.id, query.limit, since_id))


@handles(wire.CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_SELF)
def create_linked_lobby_guild_invite_for_self(call: Call, lobby_id: LobbyId) -> wire.LobbyInvite:
    """Create an invite to the linked channel's guild for the current user.

    Users with a provisional account cannot join guilds.
    """
    row, _ = rules.require_member(call, lobby_id)
    return channel_links.create_invite(call, row, call.user_id)


# Linked channels


@handles(wire.EDIT_LOBBY_CHANNEL_LINK)
def edit_lobby_channel_link(call: Call, lobby_id: LobbyId, body: wire.LinkChannel) -> wire.Lobby:
    """Link a lobby to a channel, or unlink it.

    The caller needs the CAN_LINK_LOBBY member flag or the application's bot token.

    The caller also needs VIEW_CHANNEL, SEND_MESSAGES and MANAGE_CHANNELS in the channel.
    """
    if call.actor.is_bot:
        row = rules.require_lobby(call, lobby_id)
    else:
        row, member = rules.require_member(call, lobby_id)
        if not member.flags & LobbyMemberFlags.CAN_LINK_LOBBY:
            raise PermissionDenied(Denial(reason="{caller} has no CAN_LINK_LOBBY flag in the lobby."))
    if body.channel_id:
        row = channel_links.link(call, row, rules.require_linkable(call, row, body.channel_id))
    else:
        row, _ = channel_links.unlink(call, row)
    return views.lobby(call, row)


@handles(wire.UNLINK_CHANNEL_LOBBY)
def unlink_channel_lobby(call: Call, channel_id: ChannelId) -> Channel:
    """Unlink a channel from its lobby."""
    rows = store.list_linked_lobbies(call.tx, (channel_id,))
    if not rows:
        raise errors.UNKNOWN_LOBBY()
    _, channel = channel_links.unlink(call, rows[0])
    assert channel is not None
    return channel
