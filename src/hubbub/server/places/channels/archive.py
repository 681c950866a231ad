"""Channels, threads, their members and permission overwrites in the archive of a guild."""

from typing import Final

from hubbub.protocol.ids import TagId
from hubbub.protocol.resources.forum_settings import DefaultReaction, ForumTag
from hubbub.server.core.archives import (
    FLAG,
    GUILD,
    ID,
    OPTIONAL_IMAGE,
    OPTIONAL_REFERENCE,
    OPTIONAL_TIME,
    OPTIONAL_USER,
    REFERENCE,
    TIME,
    USER,
    ArchiveTable,
    number,
    optional_json,
    optional_markdown,
    optional_number,
    optional_text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="channels",
        key=("id",),
        # The linked lobby of a channel and the application of a thread are left out: they belong to games of the server.
        columns={
            "id": ID,
            "guild_id": GUILD,
            "type": number(16),
            "name": optional_text(100),
            "topic": optional_markdown(4096),
            "position": number(1 << 30),
            "parent_id": OPTIONAL_REFERENCE,
            "nsfw": FLAG,
            "rate_limit_per_user": number(21_600),
            "bitrate": optional_number(1 << 30),
            "user_limit": optional_number(10_000),
            "rtc_region": optional_text(64),
            "video_quality_mode": optional_number(2),
            "default_auto_archive_duration": optional_number(1 << 30),
            "default_thread_rate_limit_per_user": optional_number(21_600),
            "default_sort_order": optional_number(1),
            "default_forum_layout": optional_number(2),
            "default_tag_setting": optional_text(32),
            "default_reaction_emoji": optional_json(DefaultReaction),
            "available_tags": optional_json(list[ForumTag]),
            "flags": number(),
            "icon": OPTIONAL_IMAGE,
            "owner_id": OPTIONAL_USER,
            "last_pin_ms": OPTIONAL_TIME,
            "archived": FLAG,
            "archive_changed_ms": OPTIONAL_TIME,
            "auto_archive_duration": optional_number(1 << 30),
            "locked": FLAG,
            "invitable": optional_number(1),
            "message_count": number(1 << 30),
            "total_message_sent": number(1 << 30),
            "member_count": number(1 << 30),
            "applied_tags": optional_json(list[TagId]),
            "created_ms": OPTIONAL_TIME,
        },
    ),
    ArchiveTable(
        name="overwrites",
        parent="channels",
        parent_column="channel_id",
        key=("channel_id", "target_id"),
        columns={
            "channel_id": REFERENCE,
            # A role or a user, by `type`.
            "target_id": USER,
            "type": number(1),
            "allow": number(),
            "deny": number(),
        },
    ),
    ArchiveTable(
        name="thread_members",
        parent="channels",
        parent_column="thread_id",
        key=("thread_id", "user_id"),
        columns={"thread_id": REFERENCE, "user_id": USER, "joined_ms": TIME, "flags": number(1 << 30)},
    ),
)
