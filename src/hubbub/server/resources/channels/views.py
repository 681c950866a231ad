"""A channel as it goes over the wire: a guild's, a thread, a private one, and the form it has for those who cannot see it."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes
from hubbub.protocol import wire as json
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, MessageId, Snowflake, TagId, Timestamp, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels as wire
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.users import User
from hubbub.server.resources.channels.store import ChannelRow, OverwriteRow, ThreadMemberRow

THREADS: Final = frozenset({ChannelType.ANNOUNCEMENT_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD})
VOICES: Final = frozenset({ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE})
FORUMS: Final = frozenset({ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA})
PRIVATE: Final = frozenset({ChannelType.DM, ChannelType.GROUP_DM})

HIDDEN_NAME: Final = "___hidden___"


def any_channel(
    row: ChannelRow,
    *,
    overwrites: Iterable[OverwriteRow] = (),
    member: wire.ThreadMember | UnsetType = UNSET,
    recipients: Iterable[User] = (),
) -> wire.AnyChannel:
    """A channel of any kind, with what its kind shows."""
    if row.type in THREADS:
        return thread(row, member=member)
    if row.guild_id is None:
        return private(row, recipients)
    return channel(row, overwrites)


def channel(row: ChannelRow, overwrites: Iterable[OverwriteRow]) -> wire.Channel:
    """A guild channel that the viewer can see (or, over HTTP before the date, any)."""
    shown = _bare(row, row.name or "", [overwrite(each) for each in overwrites], row.flags)
    if row.type == ChannelType.GUILD_CATEGORY:
        return shown
    shown.nsfw = bool(row.nsfw)
    shown.rate_limit_per_user = row.rate_limit_per_user
    shown.last_message_id = None if row.last_message_id is None else MessageId(row.last_message_id)
    if row.type not in FORUMS:
        shown.last_pin_timestamp = _moment(row.last_pin_ms)
    if row.type in VOICES:
        shown.bitrate = wire.BITRATE_DEFAULT if row.bitrate is None else row.bitrate
        shown.user_limit = row.user_limit or 0
        shown.rtc_region = row.rtc_region
        if row.video_quality_mode is not None:
            shown.video_quality_mode = row.video_quality_mode
        if row.type == ChannelType.GUILD_STAGE_VOICE:
            shown.topic = row.topic
        return shown
    shown.topic = row.topic
    if row.linked_lobby is not None:
        shown.linked_lobby = json.decode(row.linked_lobby, wire.LinkedLobby)
    if row.default_auto_archive_duration is not None:
        shown.default_auto_archive_duration = row.default_auto_archive_duration
    shown.default_thread_rate_limit_per_user = row.default_thread_rate_limit_per_user or 0
    if row.type in FORUMS:
        shown.available_tags = tags(row)
        shown.default_reaction_emoji = default_reaction(row)
        shown.default_sort_order = row.default_sort_order
        shown.default_forum_layout = row.default_forum_layout or 0
        shown.default_tag_setting = row.default_tag_setting
    return shown


def hidden(row: ChannelRow) -> wire.Channel:
    """A guild channel for a gateway session that cannot see it (gateway.md 9)."""
    guild_id = row.guild_id or 0
    deny = wire.Overwrite(
        id=Snowflake(guild_id), type=0, allow=Permissions(0), deny=Permissions(Permissions.VIEW_CHANNEL)
    )
    shown = _bare(row, HIDDEN_NAME, [deny], ChannelFlags.CHANNEL_OBFUSCATED)
    shown.application_id = UNSET
    if row.type == ChannelType.GUILD_CATEGORY:
        return shown
    shown.nsfw = False
    shown.rate_limit_per_user = 0
    shown.last_message_id = None
    if row.type not in FORUMS:
        shown.last_pin_timestamp = None
    if row.type in VOICES:
        shown.bitrate = wire.BITRATE_DEFAULT
        shown.user_limit = 0
        shown.rtc_region = None
        if row.type == ChannelType.GUILD_STAGE_VOICE:
            shown.topic = None
        return shown
    shown.topic = None
    shown.default_thread_rate_limit_per_user = 0
    if row.type in FORUMS:
        shown.available_tags = []
        shown.default_reaction_emoji = None
        shown.default_sort_order = None
        shown.default_forum_layout = 0
    return shown


def thread(row: ChannelRow, *, member: wire.ThreadMember | UnsetType = UNSET) -> wire.Thread:
    """A thread or a forum post, with the viewer's own membership when they have one."""
    shown = wire.Thread(**_thread_keys(row))
    shown.member = member
    return shown


def created_thread(row: ChannelRow, *, member: wire.ThreadMember | UnsetType = UNSET, new: bool) -> wire.ThreadCreated:
    """A thread as THREAD_CREATE tells of it: new to all, or new to the one who was added."""
    shown = wire.ThreadCreated(**_thread_keys(row))
    shown.member = member
    if new:
        shown.newly_created = True
    return shown


def _thread_keys(row: ChannelRow) -> dict[str, Any]:
    created_ms = Snowflake(row.id).created_ms if row.created_ms is None else row.created_ms
    metadata = wire.ThreadMetadata(
        archived=bool(row.archived),
        auto_archive_duration=row.auto_archive_duration or 1440,
        archive_timestamp=json.timestamp(created_ms if row.archive_changed_ms is None else row.archive_changed_ms),
        locked=bool(row.locked),
        create_timestamp=json.timestamp(created_ms),
    )
    if row.type == ChannelType.PRIVATE_THREAD:
        metadata.invitable = row.invitable is None or bool(row.invitable)
    keys: dict[str, Any] = {
        "id": ChannelId(row.id),
        "type": row.type,
        "flags": row.flags,
        "guild_id": GuildId(row.guild_id or 0),
        "name": row.name or "",
        "parent_id": ChannelId(row.parent_id or 0),
        "owner_id": UserId(row.owner_id or 0),
        "last_message_id": None if row.last_message_id is None else MessageId(row.last_message_id),
        "last_pin_timestamp": _moment(row.last_pin_ms),
        "rate_limit_per_user": row.rate_limit_per_user,
        "thread_metadata": metadata,
        "message_count": row.message_count,
        # http.md 3.3: member_count stops at 50.
        "member_count": min(row.member_count, wire.MEMBER_COUNT_CEILING),
        "total_message_sent": row.total_message_sent,
    }
    if row.applied_tags is not None:
        keys["applied_tags"] = json.decode(row.applied_tags, list[TagId])
    return keys


def thread_member(row: ThreadMemberRow, member: Member | UnsetType = UNSET) -> wire.ThreadMember:
    """A membership in a thread."""
    return wire.ThreadMember(
        id=ChannelId(row.thread_id),
        user_id=UserId(row.user_id),
        join_timestamp=json.timestamp(row.joined_ms),
        flags=row.flags,
        member=member,
    )


def private(row: ChannelRow, recipients: Iterable[User]) -> wire.PrivateChannel:
    """A direct message channel or a group; `recipients` are the others in it."""
    shown = wire.PrivateChannel(
        id=ChannelId(row.id),
        type=row.type,
        flags=row.flags,
        recipients=list(recipients),
        last_message_id=None if row.last_message_id is None else MessageId(row.last_message_id),
        last_pin_timestamp=_moment(row.last_pin_ms),
    )
    if row.type == ChannelType.GROUP_DM:
        shown.name = row.name
        shown.icon = row.icon
        shown.owner_id = UserId(row.owner_id or 0)
        if row.application_id is not None:
            # http.md 3.2: groups made by an app carry its id, never null.
            shown.application_id = ApplicationId(row.application_id)
            shown.managed = True
    return shown


def partial(row: ChannelRow) -> wire.PartialChannel:
    """The little that invites show."""
    return wire.PartialChannel(id=ChannelId(row.id), type=row.type, name=row.name)


def overwrite(row: OverwriteRow) -> wire.Overwrite:
    """One overwrite."""
    return wire.Overwrite(
        id=Snowflake(row.target_id), type=row.type, allow=Permissions(row.allow), deny=Permissions(row.deny)
    )


def tags(row: ChannelRow) -> list[wire.ForumTag]:
    """The tags that posts of a forum can wear."""
    return [] if row.available_tags is None else json.decode(row.available_tags, list[wire.ForumTag])


def default_reaction(row: ChannelRow) -> wire.DefaultReaction | None:
    """The emoji offered on each post of a forum."""
    return None if row.default_reaction_emoji is None else json.decode(row.default_reaction_emoji, wire.DefaultReaction)


def _bare(row: ChannelRow, name: str, overwrites: list[wire.Overwrite], flags: int) -> wire.Channel:
    """What every guild channel shows."""
    return wire.Channel(
        id=ChannelId(row.id),
        type=row.type,
        flags=flags,
        guild_id=GuildId(row.guild_id or 0),
        name=name,
        position=row.position,
        permission_overwrites=overwrites,
        parent_id=None if row.parent_id is None else ChannelId(row.parent_id),
        application_id=None if _newer(row) else UNSET,
    )


def _newer(row: ChannelRow) -> bool:
    """http.md 3.2: `application_id` is left out of channels that are older than the day it may be null on."""
    return changes.CHANNEL_APPLICATION_ID_NULLABLE.active(Snowflake(row.id).created_ms)


def _moment(ms: int | None) -> Timestamp | None:
    return None if ms is None else json.timestamp(ms)
