"""HTTP handlers that open and list private channels and change the recipients of groups.

The threads slice handles PATCH and DELETE of every channel, which also update groups and close private channels."""

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.resources import direct_messages as wire
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import users
from hubbub.server.places import channels
from hubbub.server.talk.direct_messages import actions, rules, views


@handles(wire.CREATE_DM)
def create_dm(call: Call, body: wire.CreateDm) -> PrivateChannel:
    """Create a DM.

    Open a direct message channel with one user, or create a group. Bots add group members by OAuth2 access tokens,
    users by user IDs."""
    if body.recipient_id:
        return actions.open_direct_channel(call, rules.require_recipient(call, body.recipient_id))
    if call.actor.is_bot:
        if not body.access_tokens:
            raise errors.invalid("recipient_id", *errors.required())
        rules.require_group_size(len(body.access_tokens) + 1)
        other_ids = list(dict.fromkeys(rules.require_consent(call, token) for token in body.access_tokens))
    else:
        if not body.recipients:
            raise errors.invalid("recipient_id", *errors.required())
        other_ids = [user_id for user_id in dict.fromkeys(body.recipients) if user_id != call.user_id]
        if len(other_ids) <= 1:
            return actions.open_direct_channel(
                call, rules.require_recipient(call, other_ids[0] if other_ids else call.user_id)
            )
        rules.require_group_members(call, other_ids)
    rules.require_group_size(len(other_ids) + 1)
    rules.require_group_capacity(call)
    return actions.open_group(call, other_ids, _nicks_by_user(body))


@handles(wire.CREATE_DM_BY_USER)
def create_dm_by_user(call: Call, user_id: UserId, body: wire.CreateDm) -> PrivateChannel:
    """Create a DM with your own user ID in the path.

    Other user IDs are rejected."""
    if user_id != call.user_id:
        raise errors.MISSING_ACCESS()
    return create_dm(call, body)


def _nicks_by_user(body: wire.CreateDm) -> dict[int, str | None]:
    return {
        int(user_id): rules.require_valid_nick(nick or "", f"nicks.{user_id}")
        for user_id, nick in (body.nicks or {}).items()
        if user_id.isascii() and user_id.isdigit() and len(user_id) <= 20
    }


@handles(wire.LIST_MY_CHANNELS)
def list_my_channels(call: Call) -> list[PrivateChannel]:
    """List the private channels of the current user."""
    return views.private_channels(call)


@handles(wire.ADD_GROUP_DM_USER)
def add_group_dm_user(call: Call, channel_id: ChannelId, user_id: UserId, body: wire.AddGroupDmUser) -> Response:
    """Add a user to a group DM.

    The response is 201 with the group, or 204 if the user is already in it.

    Every recipient may add users, except to a group of an application, to which only the application adds users.
    """
    group = rules.require_group(call, channel_id)
    rules.require_can_add(call, group)
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    if call.actor.is_bot:
        if not body.access_token:
            raise errors.invalid("access_token", *errors.required())
        if rules.require_consent(call, body.access_token) != user_id:
            raise errors.INVALID_OAUTH2_ACCESS_TOKEN()
    elif user_id != call.user_id:
        rules.require_group_members(call, [user_id])
    nick = rules.require_valid_nick(body.nick, "nick") if body.nick else None
    if not actions.add_to_group(call, group, user, nick):
        return Response(204)
    return Response(201, channels.private_channels.private_channel_for(call, group, call.user_id))


@handles(wire.DELETE_GROUP_DM_USER)
def delete_group_dm_user(call: Call, channel_id: ChannelId, user_id: UserId) -> None:
    """Remove a user from a group DM, or leave it.

    Only the owner of the group may remove other users.
    """
    group = rules.require_group(call, channel_id)
    rules.require_can_remove(call, group, user_id)
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    actions.remove_from_group(call, group, user)
