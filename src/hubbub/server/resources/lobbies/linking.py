"""Linking a lobby to a channel of a guild, and the invites into that guild (sdk.md 12.6)."""

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import InviteTargetType, MessageType
from hubbub.protocol.flags import LobbyFlags, UserFlags
from hubbub.protocol.ids import ApplicationId, LobbyId, UserId
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import Channel, LinkedLobby
from hubbub.server.core import access
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, invites, messages, users
from hubbub.server.resources.channels import ChannelsDeleted, LinkedChannelChanged
from hubbub.server.resources.invites import InviteRow, Listed
from hubbub.server.resources.lobbies import actions, store
from hubbub.server.resources.lobbies.store import LobbyRow


def link(call: Call, row: LobbyRow, channel: ChannelRef) -> LobbyRow:
    """Let a lobby and a channel share what is said; the channel says so."""
    if channel.id == row.linked_channel_id:
        return row
    if row.linked_channel_id is not None:
        channels.link_lobby(call, row.linked_channel_id, None)
    after = join(call, row, channel.id, call.user_id)
    messages.system(call, channel, MessageType.CHANNEL_LINKED_TO_LOBBY, call.user_id)
    return after


def join(call: Call, row: LobbyRow, channel_id: int, linked_by: int) -> LobbyRow:
    """Let a lobby and a channel know of each other."""
    channels.link_lobby(call, channel_id, _linked(call, row, linked_by))
    return actions.change(call, row, row._replace(linked_channel_id=channel_id))


def _linked(call: Call, row: LobbyRow, linked_by: int) -> LinkedLobby:
    return LinkedLobby(
        application_id=ApplicationId(row.application_id),
        lobby_id=LobbyId(row.id),
        linked_by=UserId(linked_by),
        linked_at=json.timestamp(call.now),
        require_application_authorization=bool(row.flags & LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION),
    )


def refresh(call: Call, row: LobbyRow) -> None:
    """Let the channel know that the lobby asks something else of its speakers now."""
    known = None if row.linked_channel_id is None else channels.find(call.tx, row.linked_channel_id)
    if known is None or known.linked_lobby is None:
        return
    linked = json.decode(known.linked_lobby, LinkedLobby)
    linked.require_application_authorization = bool(row.flags & LobbyFlags.REQUIRE_APPLICATION_AUTHORIZATION)
    channels.link_lobby(call, known.id, linked)


def unlink(call: Call, row: LobbyRow) -> tuple[LobbyRow, Channel | None]:
    """Part a lobby from its channel; the channel as it is now. A lobby with nobody in it is idle from now on."""
    if row.linked_channel_id is None:
        return row, None
    shown = channels.link_lobby(call, row.linked_channel_id, None)
    return _parted(call, row), shown


def _parted(call: Call, row: LobbyRow) -> LobbyRow:
    idle_ms = None if row.idle_ms is None else call.now
    return actions.change(call, row, row._replace(linked_channel_id=None, idle_ms=idle_ms))


def channels_deleted(call: Call, fact: ChannelsDeleted) -> None:
    """Channels are going; lobbies linked to them go on alone."""
    for row in store.list_of_channels(call.tx, fact.channel_ids):
        _parted(call, row)


def channel_changed(call: Call, fact: LinkedChannelChanged) -> None:
    """A channel has another name; the lobby linked to it shows that."""
    for row in store.list_of_channels(call.tx, (fact.channel_id,)):
        actions.tell_updated(call, row)


def invite(call: Call, row: LobbyRow, user_id: int) -> wire.LobbyInvite:
    """A way into the linked channel's guild for one member of the lobby, once, within the hour."""
    ref = None if row.linked_channel_id is None else access.find_channel(call.tx, row.linked_channel_id)
    if ref is None or ref.guild_id is None:
        raise errors.UNKNOWN_CHANNEL()
    person = users.find(call.tx, user_id)
    if person is None or person.flags & UserFlags.PROVISIONAL_ACCOUNT:
        # sdk.md 8.1: provisional accounts do not join guilds; they are asked to link first.
        raise errors.MISSING_PERMISSIONS()
    wanted = InviteRow(
        code="",
        guild_id=ref.guild_id,
        channel_id=ref.id,
        inviter_id=call.user_id,
        created_ms=call.now,
        expires_ms=call.now + wire.LOBBY_INVITE_SECONDS * 1000,
        max_age=wire.LOBBY_INVITE_SECONDS,
        max_uses=1,
        target_type=InviteTargetType.LOBBY,
    )
    return wire.LobbyInvite(code=invites.create(call, wanted, Listed([UserId(user_id)], None)).code)
