"""Links between lobbies and guild channels, and invites to the guilds of linked channels (spec/sdk.md#12.6)."""

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import InviteTargetType, MessageType
from hubbub.protocol.flags import LobbyFlags, UserFlags
from hubbub.protocol.ids import ApplicationId, LobbyId, UserId
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import Channel, LinkedLobby
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import users
from hubbub.server.places import channels, invites
from hubbub.server.places.channels.signals import ChannelsDeleting, LinkedChannelRenamed
from hubbub.server.places.invites import InviteRow, TargetList
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.play.lobbies import actions, store
from hubbub.server.play.lobbies.store import LobbyRow
from hubbub.server.talk import messages


def link(call: Call, row: LobbyRow, channel: ChannelRef) -> LobbyRow:
    """Link a lobby to a channel, so that they share their messages, and post a system message in the channel."""
    if channel.id == row.linked_channel_id:
        return row
    if row.linked_channel_id is not None:
        channels.usage.link_lobby(call, row.linked_channel_id, None)
    linked_row = store_link(call, row, channel.id, call.user_id)
    messages.system_messages.create_system_message(call, channel, MessageType.CHANNEL_LINKED_TO_LOBBY, call.user_id)
    return linked_row


def store_link(call: Call, row: LobbyRow, channel_id: int, linking_user_id: int) -> LobbyRow:
    """Store the link in both the lobby and the channel."""
    channels.usage.link_lobby(call, channel_id, _linked_lobby(call, row, linking_user_id))
    return actions.update(call, row, row._replace(linked_channel_id=channel_id))


def _linked_lobby(call: Call, row: LobbyRow, linking_user_id: int) -> LinkedLobby:
    return LinkedLobby(
        application_id=ApplicationId(row.application_id),
        lobby_id=LobbyId(row.id),
        linked_by=UserId(linking_user_id),
        linked_at=codec.timestamp(call.now_ms),
        require_application_authorization=bool(row.flags & LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION),
    )


def update_channel_link(call: Call, row: LobbyRow) -> None:
    """Update the channel's copy of the link after the lobby's flags changed."""
    channel = None if row.linked_channel_id is None else channels.find(call.tx, row.linked_channel_id)
    if channel is None or channel.linked_lobby is None:
        return
    linked_lobby = codec.decode(channel.linked_lobby, LinkedLobby)
    linked_lobby.require_application_authorization = bool(row.flags & LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION)
    channels.usage.link_lobby(call, channel.id, linked_lobby)


def unlink(call: Call, row: LobbyRow) -> tuple[LobbyRow, Channel | None]:
    """Unlink a lobby from its channel; return the lobby and the channel, or None for it if the lobby was not linked.

    If no member is connected, the idle timeout starts now."""
    if row.linked_channel_id is None:
        return row, None
    channel = channels.usage.link_lobby(call, row.linked_channel_id, None)
    return _clear_link(call, row), channel


def _clear_link(call: Call, row: LobbyRow) -> LobbyRow:
    idle_since_ms = None if row.idle_ms is None else call.now_ms
    return actions.update(call, row, row._replace(linked_channel_id=None, idle_ms=idle_since_ms))


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """Unlink lobbies from deleted channels."""
    for row in store.list_linked_lobbies(call.tx, signal.channel_ids):
        _clear_link(call, row)


def on_linked_channel_renamed(call: Call, signal: LinkedChannelRenamed) -> None:
    """Publish a lobby whose linked channel was renamed."""
    for row in store.list_linked_lobbies(call.tx, (signal.channel_id,)):
        actions.publish_update(call, row)


def create_invite(call: Call, row: LobbyRow, user_id: int) -> wire.LobbyInvite:
    """Create a single-use invite to the linked channel's guild for one lobby member, valid for an hour."""
    channel = None if row.linked_channel_id is None else access.find_channel(call.tx, row.linked_channel_id)
    if channel is None or channel.guild_id is None:
        raise errors.UNKNOWN_CHANNEL()
    user = users.find(call.tx, user_id)
    if user is None or user.flags & UserFlags.PROVISIONAL_ACCOUNT:
        # spec/sdk.md#8.1: provisional accounts cannot join guilds; their users must link an account first.
        raise PermissionDenied(
            Denial(
                user_id=user_id, reason="{user} has a provisional account, and provisional accounts cannot join guilds."
            )
        )
    invite_row = InviteRow(
        code="",
        guild_id=channel.guild_id,
        channel_id=channel.id,
        inviter_id=call.user_id,
        created_ms=call.now_ms,
        expires_ms=call.now_ms + wire.LOBBY_INVITE_LIFETIME_SECONDS * 1000,
        max_age=wire.LOBBY_INVITE_LIFETIME_SECONDS,
        max_uses=1,
        target_type=InviteTargetType.LOBBY,
    )
    return wire.LobbyInvite(code=invites.create(call, invite_row, TargetList([UserId(user_id)], None)).code)
