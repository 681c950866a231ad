"""Rules for private channels: reachable recipients, and the members, permissions, nicknames and limits of groups."""

from collections.abc import Mapping, Sequence
from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import ChannelType, Scope
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import direct_messages as wire
from hubbub.protocol.resources.guilds import IncidentsData
from hubbub.protocol.resources.members import NICK_MAX
from hubbub.server.core import new_accounts
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import applications, relationships, user_settings, users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import access
from hubbub.server.talk import messages
from hubbub.server.talk.direct_messages import store

_NEWEST_MESSAGE_COUNT: Final = 50
"""Number of newest messages of a channel that are searched for one of the recipient, which allows a new account to respond."""


def require_recipient(call: Call, user_id: int) -> UserRow:
    """Return the recipient of a direct message, who must exist and not be the caller."""
    if user_id == call.user_id:
        raise errors.INVALID_RECIPIENTS()
    recipient = users.find(call.tx, user_id)
    if recipient is None:
        raise errors.UNKNOWN_USER()
    return recipient


def require_reachable(call: Call, recipient_id: int) -> None:
    """Reject a direct message of the caller that the recipient does not accept.

    It is rejected if either user blocks the other, if the caller's account is new (`_require_established`), or if each
    guild they share has paused direct messages (spec/http.md#4.4, incident actions) or is restricted by the recipient.
    Friends are exempt from the guild conditions, as are users who share no guild."""
    if relationships.is_blocked_between(call.tx, call.user_id, recipient_id):
        raise errors.CANNOT_MESSAGE_USER()
    _require_established(call, recipient_id)
    incidents_by_guild = store.find_shared_guilds_incidents(call.tx, call.user_id, recipient_id)
    if incidents_by_guild and not _accepts_through_guild(call, recipient_id, incidents_by_guild):
        if not relationships.are_friends(call.tx, call.user_id, recipient_id):
            raise errors.CANNOT_MESSAGE_USER()


def _require_established(call: Call, recipient_id: int) -> None:
    """Reject direct messages of a new account, except to friends, bots and users who recently wrote to the account.

    The reasons are in decisions/0138."""
    if call.config.protection.allow_new_account_dms or not new_accounts.is_limited(call):
        return
    recipient = users.find(call.tx, recipient_id)
    if recipient is None or recipient.bot or relationships.are_friends(call.tx, call.user_id, recipient_id):
        return
    channel_id = store.find_direct_channel_id(call.tx, call.user_id, recipient_id)
    if channel_id is not None:
        newest_rows = messages.history.list_newest(call.tx, channel_id, _NEWEST_MESSAGE_COUNT)
        if any(row.author_id == recipient_id for row in newest_rows):
            return
    wait_text = new_accounts.describe_wait(call)
    raise errors.CANNOT_MESSAGE_USER(message=f"A new account can send direct messages to friends only. {wait_text}")


def can_message_through_guild(call: Call, recipient_id: int) -> bool:
    """Return whether the caller shares a guild through which the recipient accepts direct messages (spec/sdk.md#11.3)."""
    return _accepts_through_guild(
        call, recipient_id, store.find_shared_guilds_incidents(call.tx, call.user_id, recipient_id)
    )


def _accepts_through_guild(call: Call, recipient_id: int, incidents_by_guild: Mapping[int, str | None]) -> bool:
    """Return whether a shared guild has not paused direct messages and is not restricted by the recipient."""
    unpaused_ids = [
        guild_id for guild_id, incidents in incidents_by_guild.items() if not _has_paused_dms(call, incidents)
    ]
    if not unpaused_ids:
        return False
    restricted_ids = set(user_settings.read(call.tx, recipient_id).restricted_guilds)
    return any(guild_id not in restricted_ids for guild_id in unpaused_ids)


def _has_paused_dms(call: Call, incidents: str | None) -> bool:
    paused_until = None if incidents is None else codec.decode(incidents, IncidentsData).dms_disabled_until
    # Both timestamps have the format of codec.timestamp, so they compare as text.
    return paused_until is not None and paused_until > codec.timestamp(call.now_ms)


def require_group_members(call: Call, user_ids: Sequence[int]) -> None:
    """Require that each user exists, is not a bot, and is a friend of the caller or shares a guild with them.

    The reasons are in decisions/0016."""
    users_by_id = users.find_many(call.tx, user_ids)
    if len(users_by_id) < len(set(user_ids)):
        raise errors.UNKNOWN_USER()
    reachable_ids = store.find_users_sharing_guild(call.tx, call.user_id, list(users_by_id))
    reachable_ids.update(relationships.list_friend_ids(call.tx, call.user_id))
    if any(row.bot or row.id not in reachable_ids for row in users_by_id.values()):
        raise errors.INVALID_RECIPIENTS()


def require_consent(call: Call, token: str) -> UserId:
    """Return the ID of the user whose access token allows the calling application to add them to groups.

    Raise INVALID_OAUTH2_ACCESS_TOKEN for an invalid token or a token of another application, and MISSING_OAUTH2_SCOPE
    for a token without the scope to join groups."""
    actor = applications.access.find_actor(call, token)
    if actor is None:
        raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    if actor.kind != "bearer" or actor.application_id != call.actor.application_id:
        raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    if Scope.GDM_JOIN not in actor.scopes:
        raise errors.MISSING_OAUTH2_SCOPE()
    return actor.user_id


def require_valid_nick(nick: str, path: str) -> str | None:
    """Return a cleaned group nickname, or None if it is empty. `path` is the field that an error names."""
    nick = users.names.clean_name(nick)
    if len(nick) > NICK_MAX:
        raise errors.invalid(path, *errors.max_length(NICK_MAX))
    return nick or None


def require_group_capacity(call: Call) -> None:
    """Reject a new group if the caller already owns ten groups (spec/http.md#8)."""
    if store.count_owned_groups(call.tx, call.user_id) >= wire.GROUPS_MAX:
        raise errors.MAX_GROUP_DMS()


def require_group_size(recipient_count: int) -> None:
    """Reject more than ten recipients in a group, including the caller (spec/http.md#8)."""
    if recipient_count > wire.GROUP_RECIPIENTS_MAX:
        raise errors.MAX_RECIPIENTS()


def require_group(call: Call, channel_id: int) -> ChannelRow:
    """Return a group that the caller is in, or raise an error."""
    channel_access = access.get_channel_standing(call, channel_id)
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    if channel_access.channel.type != ChannelType.GROUP_DM:
        raise errors.WRONG_CHANNEL_TYPE()
    return row


def require_can_add(call: Call, group: ChannelRow) -> None:
    """Raise MISSING_PERMISSIONS unless the caller may add users to a group (spec/http.md#4.2).

    Only the application may add users to its own group; in other groups any recipient may."""
    if group.application_id is not None and group.application_id != call.actor.application_id:
        raise PermissionDenied(Denial(reason="An application owns the group, and only this application can add users."))


def require_can_remove(call: Call, group: ChannelRow, user_id: int) -> None:
    """Raise MISSING_PERMISSIONS unless the caller owns the group or is the user to remove."""
    if user_id != call.user_id and group.owner_id != call.user_id:
        raise PermissionDenied(Denial(reason="{caller} does not own the group."))
