"""Forum posts created by webhooks."""

from collections.abc import Iterable

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, TagId
from hubbub.protocol.resources.channels import CHANNEL_NAME_MAX
from hubbub.server.core.call import Call
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.talk.threads import actions, rules


def create_post_without_member(
    call: Call, forum_id: int, name: str, tags: Iterable[TagId], *, owner_id: int
) -> ChannelRow:
    """Create a forum post without members. `owner_id` is the ID of the webhook."""
    forum = channels.find(call.tx, forum_id)
    if forum is None:
        raise errors.UNKNOWN_CHANNEL()
    name = name.strip()
    if not name:
        raise errors.invalid("thread_name", *errors.bad_length(1, CHANNEL_NAME_MAX))
    applied_tags = rules.require_tags(forum, tags, (), is_moderator=False)
    rules.require_active_thread_quota(call, forum.guild_id or 0, ChannelType.PUBLIC_THREAD)
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
        auto_archive_duration=forum.default_auto_archive_duration or rules.AUTO_ARCHIVE_MINUTES_DEFAULT,
        created_ms=call.now_ms,
        applied_tags=codec.encode(applied_tags).decode(),
    )
    return actions.create_without_member(call, row)
