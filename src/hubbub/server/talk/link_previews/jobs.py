"""Jobs that fetch the links of messages, add their previews and trim the cache of previews (decisions/0142)."""

from typing import Final
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.operation import RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.features import Feature
from hubbub.server.core import quotas
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.config import Config
from hubbub.server.core.jobs import Job, enqueue_once
from hubbub.server.identity import features
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.link_previews import preview_requests, store
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.messages.signals import MessageChanged, MessageCreated

FETCH_JOB: Final = "link_previews.fetch"
"""Kind of the job that fetches a link of a message."""
TRIM_JOB: Final = "link_previews.trim"
"""Kind of the job that deletes expired and surplus previews from the cache."""
PREVIEW_LIFETIME_MS: Final = 3_600_000
"""Time in milliseconds for which a preview is reused."""
FAILURE_LIFETIME_MS: Final = 600_000
"""Time in milliseconds for which a link without a preview is not fetched again."""
CACHE_ROWS_MAX: Final = 10_000
"""Maximum number of previews in the cache after it was trimmed."""
TRIM_INTERVAL_MS: Final = 3_600_000
"""Time in milliseconds between two trims of the cache."""
USER_FETCH_LIMIT: Final = RateLimit(20, 60)
"""Number of links of one author that the server fetches per minute; links in the cache do not count."""
GUILD_FETCH_LIMIT: Final = RateLimit(60, 60)
"""Number of links in one guild that the server fetches per minute; links in the cache do not count."""

_QUOTA_NAME: Final = "link_previews"
_PREVIEWED_TYPES: Final = frozenset(
    {MessageType.DEFAULT, MessageType.REPLY, MessageType.CHAT_INPUT_COMMAND, MessageType.CONTEXT_MENU_COMMAND}
)
# A copy of a crossposted message gets the previews of its source.
_UNPREVIEWED_FLAGS: Final = (
    MessageFlags.SUPPRESS_EMBEDS | MessageFlags.EPHEMERAL | MessageFlags.LOADING | MessageFlags.IS_CROSSPOST
)


class MessageLink(msgspec.Struct, frozen=True):
    """The payload of a fetch job: a link of a message."""

    channel_id: ChannelId
    message_id: MessageId
    link: str


def on_message_changed(call: Call, signal: MessageCreated | MessageChanged) -> None:
    """Enqueue a fetch of each link of a message that has no preview yet."""
    row = signal.row
    if not call.config.link_previews.enabled or "://" not in row.content:
        return
    if row.type not in _PREVIEWED_TYPES or row.flags & _UNPREVIEWED_FLAGS:
        return
    if isinstance(signal, MessageChanged) and signal.are_previews_current:
        return
    _, previews = messages.content.split_previews(messages.views.embeds(row))
    for link in messages.content.find_links(row.content):
        host = urlsplit(link).hostname or ""
        if (
            link in previews
            or _is_on_this_server(call.config, link)
            or not call.config.link_previews.is_host_allowed(host)
        ):
            continue
        payload = MessageLink(ChannelId(row.channel_id), MessageId(row.id), link)
        # Jobs of the same key run one after the other, so concurrent messages with a link share one fetch. The host is the
        # concurrency group of the job, which limits the number of concurrent requests to it.
        call.tx.enqueue(FETCH_JOB, payload, key=f"{FETCH_JOB}/{host}/{store.hash_link(link)}")


def _is_on_this_server(config: Config, link: str) -> bool:
    """Return whether a link leads to this server; clients show invites and messages in their own way."""
    return urlsplit(link).netloc.lower() == urlsplit(config.web_url).netloc.lower()


async def fetch_link(operation: AsyncOperation, job: Job) -> None:
    """Add the preview of a link to its message, from the cache or from the linked page."""
    payload = job.decode(MessageLink)
    config = await operation.write(lambda call: _prepare_fetch(call, payload))
    if config is None:
        return
    embed = await preview_requests.fetch_preview(operation, config, payload.link)
    await operation.write(lambda call: _store_result(call, payload, embed))


def _prepare_fetch(call: Call, payload: MessageLink) -> Config | None:
    """Return the settings for a fetch, or None if no fetch is needed or allowed. Add a preview that is in the cache."""
    channel_and_row = _find_message(call, payload)
    if channel_and_row is None:
        return None
    channel, row = channel_and_row
    if payload.link in store.find_many(call.tx, [payload.link], call.now_ms):
        _add_previews(call, channel, row)
        return None
    return call.config if _consume_quotas(call, channel, row) else None


def _find_message(call: Call, payload: MessageLink) -> tuple[ChannelRef, MessageRow] | None:
    """Return a message with its channel, or None if its link is not to be previewed any more."""
    channel = access.find_channel(call.tx, payload.channel_id)
    row = messages.history.find(call.tx, payload.channel_id, payload.message_id)
    if channel is None or row is None or row.flags & _UNPREVIEWED_FLAGS:
        return None
    if payload.link not in messages.content.find_links(row.content):
        return None
    if not features.is_enabled(call, Feature.LINK_PREVIEWS) or not _can_embed_links(call, channel, row):
        return None
    return channel, row


def _can_embed_links(call: Call, channel: ChannelRef, row: MessageRow) -> bool:
    """Return whether the author has EMBED_LINKS, which messages of webhooks and in private channels do not need."""
    if channel.guild_id is None or row.webhook_id is not None:
        return True
    author = Actor(user_id=UserId(row.author_id), kind="user")
    try:
        return access.get_channel_standing(call.acting_as(author), channel.id).can(Permissions.EMBED_LINKS)
    except errors.ApiError:
        # The author left the guild.
        return False


def _consume_quotas(call: Call, channel: ChannelRef, row: MessageRow) -> bool:
    """Count a fetch of an author and a guild; return False if there were too many."""
    try:
        quotas.consume_quota(call, _QUOTA_NAME, row.author_id, USER_FETCH_LIMIT)
        if channel.guild_id is not None:
            quotas.consume_quota(call, _QUOTA_NAME, channel.guild_id, GUILD_FETCH_LIMIT)
    except errors.ApiError:
        return False
    return True


def _store_result(call: Call, payload: MessageLink, embed: Embed | None) -> None:
    """Store the result of a fetch in the cache, and add the preview to the message."""
    lifetime_ms = FAILURE_LIFETIME_MS if embed is None else PREVIEW_LIFETIME_MS
    store.replace(call.tx, payload.link, embed, call.now_ms + lifetime_ms)
    enqueue_once(call.tx, TRIM_JOB, {}, due_ms=call.now_ms + TRIM_INTERVAL_MS, key=TRIM_JOB)
    channel_and_row = _find_message(call, payload)
    if channel_and_row is not None and embed is not None:
        _add_previews(call, *channel_and_row)


def _add_previews(call: Call, channel: ChannelRef, row: MessageRow) -> None:
    """Add the cached previews of a message's links; previews that the message has already stay as they are."""
    links = messages.content.find_links(row.content)
    _, previews = messages.content.split_previews(messages.views.embeds(row))
    cached_previews = store.find_many(call.tx, links, call.now_ms)
    embeds = []
    for link in links:
        embed = previews.get(link) or cached_previews.get(link)
        if embed is not None:
            embed.url = link
            embeds.append(embed)
    messages.changes.set_link_previews(call, channel, row, embeds)


def trim_cache(call: Call, job: Job) -> None:
    """Delete expired previews from the cache, and the ones that expire first if there are too many.

    Schedule the next trim if any previews are left."""
    if store.trim(call.tx, call.now_ms, CACHE_ROWS_MAX):
        call.tx.enqueue(TRIM_JOB, {}, due_ms=call.now_ms + TRIM_INTERVAL_MS, key=TRIM_JOB)
