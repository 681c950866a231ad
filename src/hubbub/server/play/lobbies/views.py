"""Build the wire models of lobbies, their members and messages."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.ids import ApplicationId, ChannelId, LobbyId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import Channel
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.protocol.resources.message_parts import MessageLobbyMember
from hubbub.protocol.resources.messages import DispatchedMessage, Message
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, game_sessions, identities, users
from hubbub.server.places import channels, voice_regions, voice_states
from hubbub.server.places.voice_states.connections.calls import VoiceCallParticipantRow
from hubbub.server.play.lobbies import store
from hubbub.server.play.lobbies.store import LobbyMemberRow, LobbyMessageRow, LobbyRow, decode_metadata
from hubbub.server.talk import messages

Profiles = Mapping[str, list[UserApplicationProfile]]
"""Application profiles by user ID."""


def lobby(call: Call, row: LobbyRow) -> wire.Lobby:
    """Return a lobby for an HTTP response.

    The webhook URL is included only for the application's bot."""
    tx = call.tx
    view = wire.Lobby(
        id=LobbyId(row.id),
        application_id=ApplicationId(row.application_id),
        metadata=decode_metadata(row.metadata),
        members=[member(member_row) for member_row in store.list_members(tx, row.id)],
        flags=row.flags,
        linked_channel=_linked_channels(tx, (row,)).get(row.id, UNSET),
    )
    if row.override_event_webhooks_url is not None and call.actor.is_bot:
        view.override_event_webhooks_url = row.override_event_webhooks_url
    return view


def member(row: LobbyMemberRow) -> wire.LobbyMember:
    """Return a member for an HTTP response."""
    return wire.LobbyMember(
        id=UserId(row.user_id),
        metadata=decode_metadata(row.metadata),
        flags=row.flags,
        additional_name=UNSET if row.additional_name is None else row.additional_name,
    )


def gateway_lobbies(tx: Tx, rows: Sequence[LobbyRow], *, includes_profiles: bool = False) -> list[wire.GatewayLobby]:
    """Return gateway views of an application's lobbies, in a fixed number of queries.

    With `includes_profiles`, members include their application profiles, for recipients who have not received them yet."""
    if not rows:
        return []
    members_by_lobby = store.list_members_by_lobby(tx, [row.id for row in rows])
    member_ids = {member_row.user_id for members in members_by_lobby.values() for member_row in members}
    users_by_id = users.find_many(tx, member_ids)
    connected_ids = game_sessions.filter_connected(tx, rows[0].application_id, member_ids)
    linked_channels = _linked_channels(tx, rows)
    voice_states_by_lobby = voice_states.calls.find_participants(tx, [row.id for row in rows])
    profiles = _profiles(tx, rows[0].application_id, member_ids) if includes_profiles else {}
    return [
        wire.GatewayLobby(
            id=LobbyId(row.id),
            application_id=ApplicationId(row.application_id),
            metadata=decode_metadata(row.metadata),
            members=[
                _gateway_member(
                    member_row,
                    users.user_view(users_by_id[member_row.user_id]),
                    member_row.user_id in connected_ids,
                    profiles,
                )
                for member_row in members_by_lobby[row.id]
                if member_row.user_id in users_by_id
            ],
            flags=row.flags,
            voice_states=[voice_state(call_state) for call_state in voice_states_by_lobby.get(row.id, ())],
            # spec/voice.md#1: the region of the call, while there is one.
            region=voice_regions.REGIONS[0].id if row.id in voice_states_by_lobby else None,
            linked_channel=linked_channels.get(row.id, UNSET),
        )
        for row in rows
    ]


def voice_state(row: VoiceCallParticipantRow, *, has_left: bool = False) -> wire.LobbyVoiceState:
    """Return a participant's voice state in a lobby call; with `has_left` it shows that they left the call."""
    return wire.LobbyVoiceState(
        lobby_id=LobbyId(row.voice_call_id),
        channel_id=None if has_left else ChannelId(row.voice_call_id),
        user_id=UserId(row.user_id),
        session_id=row.session_id,
        self_mute=bool(row.self_mute),
        self_deaf=bool(row.self_deaf),
        self_video=bool(row.self_video),
    )


def _profiles(tx: Tx, application_id: int, user_ids: Iterable[int]) -> Profiles:
    return identities.profiles(tx, applications.families.read_family_id(tx, application_id), user_ids)


def member_changes_in_lobby(
    tx: Tx, row: LobbyRow, members: Iterable[LobbyMemberRow], *, includes_profiles: bool = False
) -> dict[int, wire.LobbyMemberChange]:
    """Return the payloads of member events of a lobby, by user ID; deleted users are omitted.

    With `includes_profiles`, members include their application profiles."""
    member_rows = list(members)
    users_by_id = users.find_many(tx, [member_row.user_id for member_row in member_rows])
    connected_ids = game_sessions.filter_connected(tx, row.application_id, users_by_id)
    profiles = _profiles(tx, row.application_id, users_by_id) if includes_profiles else {}
    return {
        member_row.user_id: wire.LobbyMemberChange(
            member=_gateway_member(
                member_row,
                users.user_view(users_by_id[member_row.user_id]),
                member_row.user_id in connected_ids,
                profiles,
            ),
            lobby_id=LobbyId(row.id),
            application_id=ApplicationId(row.application_id),
        )
        for member_row in member_rows
        if member_row.user_id in users_by_id
    }


def member_changes_of_user(tx: Tx, memberships: Sequence[LobbyMemberRow]) -> list[wire.LobbyMemberChange]:
    """Return the payloads of member events about one user, one for each of the user's memberships.

    All memberships belong to lobbies of one application."""
    first_membership = memberships[0] if memberships else None
    user = None if first_membership is None else users.find(tx, first_membership.user_id)
    if first_membership is None or user is None:
        return []
    is_connected = bool(
        game_sessions.filter_connected(tx, first_membership.application_id, (first_membership.user_id,))
    )
    return [
        wire.LobbyMemberChange(
            member=_gateway_member(membership, users.user_view(user), is_connected, {}),
            lobby_id=LobbyId(membership.lobby_id),
            application_id=ApplicationId(membership.application_id),
        )
        for membership in memberships
    ]


def messages_with_authors(call: Call, rows: Sequence[LobbyMessageRow]) -> list[wire.LobbyMessage]:
    """Return messages with their authors; messages of deleted users are omitted."""
    users_by_id = users.find_many(call.tx, [row.author_id for row in rows])
    user_views_by_id = {user_id: users.user_view(user_row) for user_id, user_row in users_by_id.items()}
    webhook_authors = _webhook_authors(call, [row for row in rows if row.author_id not in user_views_by_id])
    rows_with_authors = ((row, webhook_authors.get(row.id) or user_views_by_id.get(row.author_id)) for row in rows)
    return [message(row, author) for row, author in rows_with_authors if author is not None]


def _webhook_authors(call: Call, rows: Sequence[LobbyMessageRow]) -> dict[int, User]:
    """Return the authors of webhook messages in linked channels, which have a name and avatar per message."""
    authors_by_message: dict[int, User] = {}
    for channel_id in {row.channel_id for row in rows if row.channel_id != row.lobby_id}:
        related_data = messages.views.RelatedData(call)
        stored_messages = messages.history.find_many(
            call.tx, channel_id, [row.id for row in rows if row.channel_id == channel_id]
        )
        for message_row in stored_messages.values():
            if message_row.webhook_id is not None:
                authors_by_message[message_row.id] = messages.views.build_message(
                    Message, related_data, message_row
                ).author
    return authors_by_message


def message(row: LobbyMessageRow, author: User) -> wire.LobbyMessage:
    view = wire.LobbyMessage(
        id=MessageId(row.id),
        type=row.type,
        content=row.content,
        lobby_id=LobbyId(row.lobby_id),
        channel_id=ChannelId(row.channel_id),
        author=author,
        flags=row.flags,
        lobby_member=_message_lobby_member(row),
        metadata=decode_metadata(row.metadata) or UNSET,
        moderation_metadata=decode_metadata(row.moderation_metadata) or UNSET,
        timestamp=codec.timestamp(Snowflake(row.id).created_ms),
    )
    if row.application_id is not None:
        view.application_id = ApplicationId(row.application_id)
    if row.edited_ms is not None:
        view.edited_timestamp = codec.timestamp(row.edited_ms)
    return view


def linked_message(row: LobbyMessageRow, payload: DispatchedMessage) -> wire.LinkedLobbyMessage:
    """Return a linked channel's message for lobby members, with all its fields."""
    fields = {name: getattr(payload, name) for name in payload.__struct_fields__}
    fields["lobby_member"] = _message_lobby_member(row)
    return wire.LinkedLobbyMessage(
        **fields,
        lobby_id=LobbyId(row.lobby_id),
        metadata=decode_metadata(row.metadata) or UNSET,
        moderation_metadata=decode_metadata(row.moderation_metadata) or UNSET,
    )


def _message_lobby_member(row: LobbyMessageRow) -> MessageLobbyMember | UnsetType:
    return UNSET if row.additional_name is None else MessageLobbyMember(additional_name=row.additional_name)


def _gateway_member(row: LobbyMemberRow, user: User, is_connected: bool, profiles: Profiles) -> wire.GatewayLobbyMember:
    return wire.GatewayLobbyMember(
        user_id=UserId(row.user_id),
        user=user,
        metadata=decode_metadata(row.metadata),
        flags=row.flags,
        connected=is_connected,
        additional_name=UNSET if row.additional_name is None else row.additional_name,
        user_application_profiles=profiles.get(str(int(row.user_id)), UNSET),
    )


def _linked_channels(tx: Tx, rows: Iterable[LobbyRow]) -> dict[int, Channel]:
    """Return the linked channels of lobbies, by lobby ID."""
    lobby_ids_by_channel = {row.linked_channel_id: row.id for row in rows if row.linked_channel_id is not None}
    channels_by_id = channels.find_many(tx, lobby_ids_by_channel)
    overwrites_by_channel = channels.overwrites.find_overwrites_of_channels(tx, list(channels_by_id))
    return {
        lobby_ids_by_channel[row.id]: channels.views.channel(row, overwrites_by_channel.get(row.id, []))
        for row in channels_by_id.values()
        if row.guild_id is not None
    }
