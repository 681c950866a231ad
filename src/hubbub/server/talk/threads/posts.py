"""Forum posts created by webhooks."""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, TagId
from hubbub.server.core.call import Call
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.talk.threads import actions, rules

AUTO_ARCHIVE_MINUTES_DEFAULT: Final = 1440
"""Inactivity in minutes after which a post is archived, if the forum has no default."""


def create_without_member(call: Call, forum_id: int, name: str, tags: Iterable[TagId], *, owner_id: int) -> ChannelRow:
    """Create a forum post without members. `owner_id` is the ID of a user or a webhook."""
    forum = channels.find(call.tx, forum_id)
    if forum is None:
        raise errors.UNKNOWN_CHANNEL()
    name = name.strip()
    if not name:
        raise errors.invalid("thread_name", *errors.bad_length(1, 100))
    applied_tags = rules.require_tags(forum, tags, (), is_moderator=False)
    rules.require_active_below_max(call, forum.guild_id or 0, ChannelType.PUBLIC_THREAD)
    row = ChannelRow(
        id=call.new_id(ChannelId),
        type=ChannelType.PUBLIC_THREAD,
        guild_id=forum.guild_id,
        name=name,
        parent_id=forum.id,
        nsfw=forum.nsfw,
        rate_limit_per_user=forum.default_thread_rate_limit_per_user or 0,
        owner_id=owner_id,
        archive_changed_ms=call.now_ms,
        auto_archive_duration=forum.default_auto_archive_duration or AUTO_ARCHIVE_MINUTES_DEFAULT,
        created_ms=call.now_ms,
        applied_tags=codec.encode(applied_tags).decode(),
    )
    return actions.create_without_member(call, row)
