"""A lobby, its members and its messages as they go over the wire, to backends and to players."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId, ChannelId, LobbyId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import lobbies as wire
from hubbub.protocol.resources.channels import Channel
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.protocol.resources.messages import DispatchedMessage, Message, MessageLobbyMember
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import (
    applications,
    channels,
    game_sessions,
    identities,
    messages,
    users,
    voice_regions,
    voice_states,
)
from hubbub.server.resources.lobbies import store
from hubbub.server.resources.lobbies.store import LobbyRow, MemberRow, MessageRow, words
from hubbub.server.resources.voice_states import CallStateRow

Profiles = Mapping[str, list[UserApplicationProfile]]
"""By the user's id."""


def lobby(call: Call, row: LobbyRow) -> wire.Lobby:
    """A lobby for its application's backend, and as the answer to a player, who does not learn where the backend listens."""
    tx = call.tx
    shown = wire.Lobby(
        id=LobbyId(row.id),
        application_id=ApplicationId(row.application_id),
        metadata=words(row.metadata),
        members=[member(each) for each in store.members(tx, row.id)],
        flags=row.flags,
        linked_channel=_linked_channels(tx, (row,)).get(row.id, UNSET),
    )
    if row.override_event_webhooks_url is not None and call.actor.is_bot:
        shown.override_event_webhooks_url = row.override_event_webhooks_url
    return shown


def member(row: MemberRow) -> wire.LobbyMember:
    """A member for the backend."""
    return wire.LobbyMember(
        id=UserId(row.user_id),
        metadata=words(row.metadata),
        flags=row.flags,
        additional_name=UNSET if row.additional_name is None else row.additional_name,
    )


def gateway_lobbies(tx: Tx, rows: Sequence[LobbyRow], *, profiled: bool = False) -> list[wire.GatewayLobby]:
    """Lobbies of one application for players, in a fixed number of queries; `profiled` for those who meet the members here."""
    if not rows:
        return []
    inside = store.members_of(tx, [row.id for row in rows])
    everybody = {each.user_id for members in inside.values() for each in members}
    people = users.find_many(tx, everybody)
    present = game_sessions.connected(tx, rows[0].application_id, everybody)
    linked = _linked_channels(tx, rows)
    calls = voice_states.calls.callers(tx, [row.id for row in rows])
    known = _profiles(tx, rows[0].application_id, everybody) if profiled else {}
    return [
        wire.GatewayLobby(
            id=LobbyId(row.id),
            application_id=ApplicationId(row.application_id),
            metadata=words(row.metadata),
            members=[
                _gateway_member(each, users.user(people[each.user_id]), each.user_id in present, known)
                for each in inside[row.id]
                if each.user_id in people
            ],
            flags=row.flags,
            voice_states=[voice_state(each) for each in calls.get(row.id, ())],
            # voice.md 1: where the call is, while there is one.
            region=voice_regions.REGIONS[0].id if row.id in calls else None,
            linked_channel=linked.get(row.id, UNSET),
        )
        for row in rows
    ]


def voice_state(row: CallStateRow, *, left: bool = False) -> wire.LobbyVoiceState:
    """How somebody is in a lobby's call; `left` shows that they are not any more."""
    return wire.LobbyVoiceState(
        lobby_id=LobbyId(row.call_id),
        channel_id=None if left else ChannelId(row.call_id),
        user_id=UserId(row.user_id),
        session_id=row.session_id,
        self_mute=bool(row.self_mute),
        self_deaf=bool(row.self_deaf),
        self_video=bool(row.self_video),
    )


def _profiles(tx: Tx, application_id: int, user_ids: Iterable[int]) -> Profiles:
    return identities.profiles(tx, applications.family_id(tx, application_id), user_ids)


def member_changes(
    tx: Tx, row: LobbyRow, members: Iterable[MemberRow], *, profiled: bool = False
) -> dict[int, wire.LobbyMemberChange]:
    """What players hear of some members of a lobby, by user; `profiled` where they meet them here."""
    some = list(members)
    people = users.find_many(tx, [each.user_id for each in some])
    present = game_sessions.connected(tx, row.application_id, people)
    known = _profiles(tx, row.application_id, people) if profiled else {}
    return {
        each.user_id: wire.LobbyMemberChange(
            member=_gateway_member(each, users.user(people[each.user_id]), each.user_id in present, known),
            lobby_id=LobbyId(row.id),
            application_id=ApplicationId(row.application_id),
        )
        for each in some
        if each.user_id in people
    }


def connections(tx: Tx, members: Sequence[MemberRow]) -> list[wire.LobbyMemberChange]:
    """What players hear of one user who comes or goes, for each lobby of an application that they are in."""
    mine = members[0] if members else None
    person = None if mine is None else users.find(tx, mine.user_id)
    if mine is None or person is None:
        return []
    present = bool(game_sessions.connected(tx, mine.application_id, (mine.user_id,)))
    return [
        wire.LobbyMemberChange(
            member=_gateway_member(each, users.user(person), present, {}),
            lobby_id=LobbyId(each.lobby_id),
            application_id=ApplicationId(each.application_id),
        )
        for each in members
    ]


def said(call: Call, rows: Sequence[MessageRow]) -> list[wire.LobbyMessage]:
    """What was said, with its authors; who is gone since is left out."""
    found = users.find_many(call.tx, [row.author_id for row in rows])
    people = {user_id: users.user(each) for user_id, each in found.items()}
    hooks = _webhooks(call, [row for row in rows if row.author_id not in people])
    told = ((row, hooks.get(row.id) or people.get(row.author_id)) for row in rows)
    return [message(row, author) for row, author in told if author is not None]


def _webhooks(call: Call, rows: Sequence[MessageRow]) -> dict[int, User]:
    """Who said what no user said in a linked channel: a webhook has another name and face each time."""
    told: dict[int, User] = {}
    for channel_id in {row.channel_id for row in rows if row.channel_id != row.lobby_id}:
        around = messages.views.Around(call)
        kept = messages.find_many(call.tx, channel_id, [row.id for row in rows if row.channel_id == channel_id])
        for each in kept.values():
            if each.webhook_id is not None:
                told[each.id] = messages.views.show(Message, around, each).author
    return told


def message(row: MessageRow, author: User) -> wire.LobbyMessage:
    """What somebody said in a lobby."""
    shown = wire.LobbyMessage(
        id=MessageId(row.id),
        type=row.type,
        content=row.content,
        lobby_id=LobbyId(row.lobby_id),
        channel_id=ChannelId(row.channel_id),
        author=author,
        flags=row.flags,
        lobby_member=_called(row),
        metadata=words(row.metadata) or UNSET,
        moderation_metadata=words(row.moderation_metadata) or UNSET,
        timestamp=json.timestamp(Snowflake(row.id).created_ms),
    )
    if row.application_id is not None:
        shown.application_id = ApplicationId(row.application_id)
    if row.edited_ms is not None:
        shown.edited_timestamp = json.timestamp(row.edited_ms)
    return shown


def linked_message(row: MessageRow, whole: DispatchedMessage) -> wire.LinkedLobbyMessage:
    """What was said in the linked channel, for players: their game may show all of it."""
    keys = {name: getattr(whole, name) for name in whole.__struct_fields__}
    keys["lobby_member"] = _called(row)
    return wire.LinkedLobbyMessage(
        **keys,
        lobby_id=LobbyId(row.lobby_id),
        metadata=words(row.metadata) or UNSET,
        moderation_metadata=words(row.moderation_metadata) or UNSET,
    )


def _called(row: MessageRow) -> MessageLobbyMember | UnsetType:
    return UNSET if row.additional_name is None else MessageLobbyMember(additional_name=row.additional_name)


def _gateway_member(row: MemberRow, user: User, connected: bool, known: Profiles) -> wire.GatewayLobbyMember:
    return wire.GatewayLobbyMember(
        user_id=UserId(row.user_id),
        user=user,
        metadata=words(row.metadata),
        flags=row.flags,
        connected=connected,
        additional_name=UNSET if row.additional_name is None else row.additional_name,
        user_application_profiles=known.get(str(int(row.user_id)), UNSET),
    )


def _linked_channels(tx: Tx, rows: Iterable[LobbyRow]) -> dict[int, Channel]:
    wanted = {row.linked_channel_id: row.id for row in rows if row.linked_channel_id is not None}
    found = channels.find_many(tx, wanted)
    overwrites = channels.overwrites_of_many(tx, list(found))
    return {
        wanted[row.id]: channels.channel(row, overwrites.get(row.id, []))
        for row in found.values()
        if row.guild_id is not None
    }
