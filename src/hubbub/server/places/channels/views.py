"""Build the wire models of channels: guild channels, threads, private channels and obfuscated channels."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import (
    FORUM_TYPES,
    THREAD_TYPES,
    VOICE_TYPES,
    AutoArchiveDuration,
    ChannelType,
    OverwriteType,
)
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, MessageId, Snowflake, TagId, Timestamp, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channel_overwrites, forum_settings, thread_membership
from hubbub.protocol.resources import channels as wire
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.users import User
from hubbub.server.places.channels.store import ChannelRow, OverwriteRow
from hubbub.server.places.channels.thread_members import ThreadMemberRow

__all__ = ["any_channel", "channel", "obfuscated_channel", "partial_channel", "tags", "thread"]
"""The interface for other slices."""

ENCODED_CHANNELS_MAX: Final = 4096
"""Maximum number of guild channels whose JSON is cached, about 2 KB each with the key."""
HIDDEN_NAME: Final = "___hidden___"
"""Name of every obfuscated channel."""


def any_channel(
    row: ChannelRow,
    *,
    overwrites: Iterable[OverwriteRow] = (),
    member: thread_membership.ThreadMember | UnsetType = UNSET,
    recipients: Iterable[User] = (),
) -> wire.AnyChannel:
    """Build a channel of any kind.

    `overwrites` are used for guild channels, `member` (the viewer's membership) for threads, and `recipients` for private
    channels."""
    if row.type in THREAD_TYPES:
        return thread(row, member=member)
    if row.guild_id is None:
        return private_channel(row, recipients)
    return channel(row, overwrites)


def channel(row: ChannelRow, overwrites: Iterable[OverwriteRow]) -> wire.Channel:
    """Build a guild channel with all its fields.

    `obfuscated_channel` builds the form for gateway sessions that cannot see the channel."""
    view = _base_channel(row, row.name or "", [overwrite(overwrite_row) for overwrite_row in overwrites], row.flags)
    if row.type == ChannelType.GUILD_CATEGORY:
        return view
    view.nsfw = bool(row.nsfw)
    view.rate_limit_per_user = row.rate_limit_per_user
    view.last_message_id = None if row.last_message_id is None else MessageId(row.last_message_id)
    if row.type not in FORUM_TYPES:
        view.last_pin_timestamp = _timestamp_or_none(row.last_pin_ms)
    if row.type in VOICE_TYPES:
        view.bitrate = wire.BITRATE_DEFAULT if row.bitrate is None else row.bitrate
        view.user_limit = row.user_limit or 0
        view.rtc_region = row.rtc_region
        if row.video_quality_mode is not None:
            view.video_quality_mode = row.video_quality_mode
        if row.type == ChannelType.GUILD_STAGE_VOICE:
            view.topic = row.topic
        return view
    view.topic = row.topic
    if row.linked_lobby is not None:
        view.linked_lobby = codec.decode(row.linked_lobby, wire.LinkedLobby)
    if row.default_auto_archive_duration is not None:
        view.default_auto_archive_duration = row.default_auto_archive_duration
    view.default_thread_rate_limit_per_user = row.default_thread_rate_limit_per_user or 0
    if row.type in FORUM_TYPES:
        view.available_tags = tags(row)
        view.default_reaction_emoji = default_reaction(row)
        view.default_sort_order = row.default_sort_order
        view.default_forum_layout = row.default_forum_layout or 0
        view.default_tag_setting = row.default_tag_setting
    return view


@lru_cache(maxsize=ENCODED_CHANNELS_MAX)
def encoded_channel(values: tuple[Any, ...], overwrites: tuple[OverwriteRow, ...]) -> bytes:
    """Return the JSON of `channel`, from the values of a `ChannelRow` and its overwrites.

    The cache cannot be outdated, because its keys contain everything that the JSON depends on."""
    return codec.encode(channel(ChannelRow(*values), overwrites))


def obfuscated_channel(row: ChannelRow) -> wire.Channel:
    """Build the obfuscated form of a guild channel, for gateway sessions that cannot see it (spec/gateway.md#9)."""
    guild_id = row.guild_id or 0
    deny_overwrite = channel_overwrites.Overwrite(
        id=Snowflake(guild_id),  # The role @everyone has the ID of the guild.
        type=OverwriteType.ROLE,
        allow=Permissions(0),
        deny=Permissions(Permissions.VIEW_CHANNEL),
    )
    view = _base_channel(row, HIDDEN_NAME, [deny_overwrite], ChannelFlags.CHANNEL_OBFUSCATED)
    view.application_id = UNSET
    if row.type == ChannelType.GUILD_CATEGORY:
        return view
    view.nsfw = False
    view.rate_limit_per_user = 0
    view.last_message_id = None
    if row.type not in FORUM_TYPES:
        view.last_pin_timestamp = None
    if row.type in VOICE_TYPES:
        view.bitrate = wire.BITRATE_DEFAULT
        view.user_limit = 0
        view.rtc_region = None
        if row.type == ChannelType.GUILD_STAGE_VOICE:
            view.topic = None
        return view
    view.topic = None
    view.default_thread_rate_limit_per_user = 0
    if row.type in FORUM_TYPES:
        view.available_tags = []
        view.default_reaction_emoji = None
        view.default_sort_order = None
        view.default_forum_layout = 0
    return view


def thread(row: ChannelRow, *, member: thread_membership.ThreadMember | UnsetType = UNSET) -> wire.Thread:
    """Build a thread or forum post. `member` is the viewer's own membership; UNSET omits it."""
    view = wire.Thread(**_thread_fields(row))
    view.member = member
    return view


def thread_create_payload(
    row: ChannelRow, *, member: thread_membership.ThreadMember | UnsetType = UNSET, is_new: bool
) -> wire.ThreadCreated:
    """Build the payload of THREAD_CREATE. `is_new` is False if the thread already existed and the recipient was added to it."""
    view = wire.ThreadCreated(**_thread_fields(row))
    view.member = member
    if is_new:
        view.newly_created = True
    return view


def _thread_fields(row: ChannelRow) -> dict[str, Any]:
    created_ms = Snowflake(row.id).created_ms if row.created_ms is None else row.created_ms
    metadata = wire.ThreadMetadata(
        archived=bool(row.archived),
        auto_archive_duration=row.auto_archive_duration or int(AutoArchiveDuration.ONE_DAY),
        archive_timestamp=codec.timestamp(created_ms if row.archive_changed_ms is None else row.archive_changed_ms),
        locked=bool(row.locked),
        create_timestamp=codec.timestamp(created_ms),
    )
    if row.type == ChannelType.PRIVATE_THREAD:
        metadata.invitable = row.invitable is None or bool(row.invitable)
    fields: dict[str, Any] = {
        "id": ChannelId(row.id),
        "type": row.type,
        "flags": row.flags,
        "guild_id": GuildId(row.guild_id or 0),
        "name": row.name or "",
        "parent_id": ChannelId(row.parent_id or 0),
        "owner_id": UserId(row.owner_id or 0),
        "last_message_id": None if row.last_message_id is None else MessageId(row.last_message_id),
        "last_pin_timestamp": _timestamp_or_none(row.last_pin_ms),
        "rate_limit_per_user": row.rate_limit_per_user,
        "thread_metadata": metadata,
        "message_count": row.message_count,
        # spec/http.md#3.3: member_count stops at 50.
        "member_count": min(row.member_count, wire.THREAD_MEMBER_COUNT_MAX),
        "total_message_sent": row.total_message_sent,
    }
    if row.applied_tags is not None:
        fields["applied_tags"] = codec.decode(row.applied_tags, list[TagId])
    return fields


def thread_member(row: ThreadMemberRow, member: Member | UnsetType = UNSET) -> thread_membership.ThreadMember:
    """Build a thread membership. `member` is the guild member; UNSET omits it."""
    return thread_membership.ThreadMember(
        id=ChannelId(row.thread_id),
        user_id=UserId(row.user_id),
        join_timestamp=codec.timestamp(row.joined_ms),
        flags=row.flags,
        member=member,
    )


def private_channel(row: ChannelRow, recipients: Iterable[User]) -> wire.PrivateChannel:
    """Build a direct message channel or a group. `recipients` are the other users in it."""
    view = wire.PrivateChannel(
        id=ChannelId(row.id),
        type=row.type,
        flags=row.flags,
        recipients=list(recipients),
        last_message_id=None if row.last_message_id is None else MessageId(row.last_message_id),
        last_pin_timestamp=_timestamp_or_none(row.last_pin_ms),
    )
    if row.type == ChannelType.GROUP_DM:
        view.name = row.name
        view.icon = row.icon
        view.owner_id = UserId(row.owner_id or 0)
        if row.application_id is not None:
            # spec/http.md#3.2: groups created by an application have its ID; in others the field is absent, never null.
            view.application_id = ApplicationId(row.application_id)
            view.managed = True
    return view


def partial_channel(row: ChannelRow) -> wire.PartialChannel:
    """Build the partial channel that invites contain."""
    return wire.PartialChannel(id=ChannelId(row.id), type=row.type, name=row.name)


def overwrite(row: OverwriteRow) -> channel_overwrites.Overwrite:
    return channel_overwrites.Overwrite(
        id=Snowflake(row.target_id), type=row.type, allow=Permissions(row.allow), deny=Permissions(row.deny)
    )


def tags(row: ChannelRow) -> list[forum_settings.ForumTag]:
    return [] if row.available_tags is None else codec.decode(row.available_tags, list[forum_settings.ForumTag])


def default_reaction(row: ChannelRow) -> forum_settings.DefaultReaction | None:
    """Return the default reaction emoji of a forum, or None."""
    return (
        None
        if row.default_reaction_emoji is None
        else codec.decode(row.default_reaction_emoji, forum_settings.DefaultReaction)
    )


def _base_channel(
    row: ChannelRow, name: str, overwrites: list[channel_overwrites.Overwrite], flags: int
) -> wire.Channel:
    """Build a guild channel with the fields that all types have."""
    return wire.Channel(
        id=ChannelId(row.id),
        type=row.type,
        flags=flags,
        guild_id=GuildId(row.guild_id or 0),
        name=name,
        position=row.position,
        permission_overwrites=overwrites,
        parent_id=None if row.parent_id is None else ChannelId(row.parent_id),
        application_id=None if _includes_application_id(row) else UNSET,
    )


def _includes_application_id(row: ChannelRow) -> bool:
    """Return whether the channel is new enough to have `application_id`; older channels omit it (spec/http.md#3.2)."""
    return changes.CHANNEL_APPLICATION_ID_NULLABLE.is_active(Snowflake(row.id).created_ms)


def _timestamp_or_none(time_ms: int | None) -> Timestamp | None:
    return None if time_ms is None else codec.timestamp(time_ms)
