"""Conversation pages for browsers without script; with script the chat client replaces them (decisions/0055, 0057)."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.errors import ApiError, ErrorCode
from hubbub.protocol.resources import channels, direct_messages, guilds, messages, roles, threads
from hubbub.protocol.resources.channels import AnyChannel, Channel
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.message_views import MessageRenderer, display_name
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/app"
GUILD_PATH: Final = PATH + r"/channels/{guild_segment:\d{1,19}}"
CONVERSATION_PATH: Final = PATH + r"/channels/{guild_segment:@me|\d{1,19}}/{channel_id:\d{1,19}}"
MESSAGE_PATH: Final = CONVERSATION_PATH + r"/{message_id:\d{1,19}}"

PAGE_SIZE: Final = 50
"""Number of messages on one page."""
EXPANDED_GUILDS_MAX: Final = 10
"""Maximum number of guilds whose channels the first page lists. Each costs one of a user's 50 operations per second."""

_FORUM_TYPES: Final = (ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA)
_PRIVATE_TYPES: Final = (ChannelType.DM, ChannelType.GROUP_DM, ChannelType.EPHEMERAL_DM)
_TYPES_WITHOUT_MESSAGES: Final = (ChannelType.GUILD_CATEGORY, ChannelType.GUILD_DIRECTORY)

OPEN_ERROR_TEXTS: Final[Mapping[ErrorCode, str]] = {
    errors.UNKNOWN_CHANNEL: gettext_noop("This conversation does not exist or was deleted."),
    errors.UNKNOWN_GUILD: gettext_noop("This guild does not exist, or you are not a member."),
    errors.MISSING_ACCESS: gettext_noop("Your account does not have access to this conversation."),
    errors.MISSING_PERMISSIONS: gettext_noop("Your account does not have access to this conversation."),
    errors.CANNOT_SEND_IN_CHANNEL: gettext_noop("Channels of this type have no messages."),
}
"""Texts for conversations that cannot be opened."""

SEND_ERROR_TEXTS: Final[Mapping[ErrorCode, str]] = {
    errors.EMPTY_MESSAGE: gettext_noop("Enter a message first."),
    errors.MISSING_ACCESS: gettext_noop("You do not have permission to send messages in this channel."),
    errors.MISSING_PERMISSIONS: gettext_noop("You do not have permission to send messages in this channel."),
    errors.CANNOT_SEND_IN_CHANNEL: gettext_noop("You cannot send messages in channels of this type."),
    errors.CANNOT_SEND_IN_FORUM: gettext_noop("Open a post to send messages in this forum."),
    errors.CANNOT_MESSAGE_USER: gettext_noop("This user does not accept messages from you."),
    errors.NO_MUTUAL_GUILDS: gettext_noop("You no longer share a guild with this user."),
    errors.VERIFICATION_LEVEL_TOO_HIGH: gettext_noop("Your account does not meet this guild's verification level."),
    errors.THREAD_ARCHIVED: gettext_noop("This thread is archived."),
    errors.THREAD_LOCKED: gettext_noop("This thread is locked."),
    errors.AUTO_MODERATION_BLOCKED_MESSAGE: gettext_noop("Your message was blocked by this guild's moderation rules."),
}
"""Texts for messages that cannot be sent."""


@page("GET", PATH)
async def show_conversations(request: PageRequest) -> web.Response:
    """List the direct messages, guilds and channels of the user."""
    private_channels = await request.call(direct_messages.LIST_MY_CHANNELS)
    my_guilds = await request.call(guilds.LIST_MY_GUILDS)
    expanded_guilds = [
        (guild, _channel_sections(await _list_channels(request, guild.id))) for guild in my_guilds[:EXPANDED_GUILDS_MAX]
    ]
    return request.render(
        "conversations.html",
        loads_client=True,
        private=[
            (conversation_path(channel), conversation_title(channel), list(channel.recipients))
            for channel in sorted(
                private_channels, key=lambda channel: int(channel.last_message_id or channel.id), reverse=True
            )
        ],
        expanded=expanded_guilds,
        other_guilds=my_guilds[EXPANDED_GUILDS_MAX:],
    )


@page("GET", f"{PATH}/channels/@me")
async def show_private(request: PageRequest) -> web.Response:
    """Redirect to the list of conversations."""
    return request.redirect(PATH)


@page("GET", GUILD_PATH)
async def show_guild(request: PageRequest) -> web.Response:
    """List the channels of a guild."""
    try:
        guild = await request.call(guilds.GET_GUILD, request.path_parameter("guild_segment"))
        sections = _channel_sections(await _list_channels(request, guild.id))
    except ApiError as error:
        return request.error_page(_with_text(error, OPEN_ERROR_TEXTS))
    return request.render("guild_channels.html", loads_client=True, guild=guild, sections=sections)


@page("GET", CONVERSATION_PATH)
async def show_conversation(request: PageRequest) -> web.Response:
    """Show the newest messages, or the messages before or after a message."""
    return await _open_conversation(request)


@page("GET", MESSAGE_PATH)
async def show_message(request: PageRequest) -> web.Response:
    """Show a highlighted message and the messages around it."""
    return await _open_conversation(request)


@page("POST", CONVERSATION_PATH)
async def send_message(request: PageRequest) -> web.Response:
    """Send a message and show it, or show the error with the newest messages."""
    try:
        channel = await request.call(channels.GET_CHANNEL, request.path_parameter("channel_id"))
    except ApiError as error:
        return request.error_page(_with_text(error, OPEN_ERROR_TEXTS))
    content = request.form.text("content")
    body = {"content": content, "nonce": _message_nonce(request.form.text("nonce"), content), "enforce_nonce": True}
    try:
        message = await request.call(messages.CREATE_MESSAGE, channel.id, body=body)
    except ApiError as error:
        return await _show_channel(request, channel, _with_text(error, SEND_ERROR_TEXTS))
    return request.redirect(f"{conversation_path(channel)}/{int(message.id)}#message-{int(message.id)}")


def _message_nonce(form_nonce: str, content: str) -> str:
    """Derive a nonce from the form's nonce and the content, so that submitting a form twice sends one message."""
    return hashlib.blake2s(f"{form_nonce}\n{content}".encode("utf-8", "replace"), digest_size=12).hexdigest()


async def _open_conversation(request: PageRequest) -> web.Response:
    """Show the conversation in the path, or redirect to its canonical path."""
    try:
        channel = await request.call(channels.GET_CHANNEL, request.path_parameter("channel_id"))
        canonical_path = conversation_path(channel)
        requested_path = request.http_request.path
        if requested_path != canonical_path and not requested_path.startswith(f"{canonical_path}/"):
            # The link names a guild other than the channel's.
            message_id = request.http_request.match_info.get("message_id")
            return request.redirect(canonical_path if message_id is None else f"{canonical_path}/{message_id}")
        if channel.type in _TYPES_WITHOUT_MESSAGES:
            return request.redirect(f"{PATH}/channels/{request.path_parameter('guild_segment')}")
        return await _show_channel(request, channel)
    except ApiError as error:
        return request.error_page(_with_text(error, OPEN_ERROR_TEXTS))


async def _show_channel(request: PageRequest, channel: AnyChannel, error: ApiError | None = None) -> web.Response:
    """Show the posts of a forum, or a page of messages.

    With `error`, show an error page for a forum, or the newest messages and the error.
    """
    path = conversation_path(channel)
    guild: guilds.Guild | None = None
    if channel.guild_id:
        guild = await request.call(guilds.GET_GUILD, channel.guild_id)
    context: dict[str, Any] = {
        "channel": channel,
        "guild": guild,
        "channel_path": path,
        "title": conversation_title(channel),
    }
    context["recipients"] = list(channel.recipients or ())
    if channel.type in _FORUM_TYPES and guild is not None:
        if error is not None:
            return request.error_page(error)
        active_threads = (await request.call(threads.GET_ACTIVE_GUILD_THREADS, guild.id)).threads
        posts = [thread for thread in active_threads if thread.parent_id == channel.id]
        return request.render(
            "forum.html",
            loads_client=True,
            posts=sorted(posts, key=lambda thread: int(thread.id), reverse=True),
            **context,
        )
    query = {} if error is not None else _history_query(request)
    page_messages = await request.call(
        messages.LIST_MESSAGES, channel.id, query={**query, "limit": [str(PAGE_SIZE + 1)]}
    )
    page_messages, older_bound, newer_bound = _paginate(page_messages, query, channel)
    highlighted_id = int(query["around"][0]) if "around" in query else None
    role_names: dict[int, str] = {}
    if guild is not None and any(message.mention_roles for message in page_messages):
        role_names = {int(role.id): role.name for role in await request.call(roles.LIST_GUILD_ROLES, guild.id)}
    guild_segment = "@me" if guild is None else str(int(guild.id))
    renderer = MessageRenderer(
        web_url=request.config.web_url,
        conversation_path=path,
        guild_segment=guild_segment,
        roles=role_names,
        highlighted_id=highlighted_id,
    )
    thread_metadata = channel.thread_metadata or None
    context |= {
        "messages": [renderer.build(message) for message in reversed(page_messages)],
        "older_bound": older_bound,
        "newer_bound": newer_bound,
        "is_newest": not query,
        "is_missing": highlighted_id is not None
        and highlighted_id not in {int(message.id) for message in page_messages},
        "parent": f"{PATH}/channels/{guild_segment}/{int(channel.parent_id)}"
        if thread_metadata and channel.parent_id
        else None,
        "is_locked": thread_metadata is not None and thread_metadata.locked,
        "nonce": secrets.token_hex(10),
        "content_max": messages.CONTENT_MAX,
    }
    if error is None:
        return request.render("conversation.html", loads_client=True, **context)
    return request.render_errors("conversation.html", error, loads_client=True, fields=("content",), **context)


def _history_query(request: PageRequest) -> dict[str, list[str]]:
    """Return the part of the history that the URL requests; invalid parameters request the newest messages."""
    message_id = request.http_request.match_info.get("message_id")
    if message_id is not None:
        return {"around": [message_id]}
    for bound in ("before", "after"):
        message_id_text = request.query_parameter(bound)
        if message_id_text.isascii() and message_id_text.isdigit() and len(message_id_text) <= 19:
            return {bound: [message_id_text]}
    return {}


def _paginate(
    page_messages: list[Message], query: Mapping[str, Sequence[str]], channel: AnyChannel
) -> tuple[list[Message], int | None, int | None]:
    """Return a page of messages, newest first, and the message IDs that bound the older and newer pages, or None."""
    has_more = len(page_messages) > PAGE_SIZE
    if "after" in query:
        page_messages = page_messages[-PAGE_SIZE:]
    elif "around" not in query:
        page_messages = page_messages[:PAGE_SIZE]
    if not page_messages:
        return page_messages, None, None
    oldest_id, newest_id = int(page_messages[-1].id), int(page_messages[0].id)
    if "around" in query:
        older_count = sum(int(message.id) < int(query["around"][0]) for message in page_messages)
        has_older = older_count >= PAGE_SIZE // 2
        has_newer = int(channel.last_message_id or 0) > newest_id
    else:
        has_older = has_more if "after" not in query else True
        has_newer = has_more if "after" in query else "before" in query
    return page_messages, oldest_id if has_older else None, newest_id if has_newer else None


def conversation_path(channel: AnyChannel) -> str:
    guild_segment = int(channel.guild_id) if channel.guild_id else "@me"
    return f"{PATH}/channels/{guild_segment}/{int(channel.id)}"


def conversation_title(channel: AnyChannel) -> str:
    if channel.type not in _PRIVATE_TYPES:
        return f"#{channel.name}" if channel.name else gettext("Unnamed channel")
    names = ", ".join(display_name(user) for user in channel.recipients or ())
    return channel.name or names or gettext("Empty group")


async def _list_channels(request: PageRequest, guild_id: int) -> list[Channel]:
    return await request.call(channels.LIST_GUILD_CHANNELS, guild_id)


def _channel_sections(guild_channels: Sequence[Channel]) -> list[tuple[str, list[Channel]]]:
    """Group the channels by category; channels without a category come first."""
    categories = [channel for channel in guild_channels if channel.type == ChannelType.GUILD_CATEGORY]
    ordered_categories: list[Channel | None] = [None, *sorted(categories, key=_channel_position)]
    sections = []
    for category in ordered_categories:
        category_id = None if category is None else category.id
        section_channels = [
            channel
            for channel in guild_channels
            if channel.parent_id == category_id and channel.type not in _TYPES_WITHOUT_MESSAGES
        ]
        if section_channels:
            sections.append(
                ("" if category is None else category.name, sorted(section_channels, key=_channel_position))
            )
    return sections


def _channel_position(channel: Channel) -> tuple[int, int]:
    return channel.position, int(channel.id)


def _with_text(error: ApiError, texts: Mapping[ErrorCode, str]) -> ApiError:
    """Replace the error message by the text for users, if `texts` has one."""
    return error.kind(message=gettext(texts[error.kind])) if error.kind in texts else error
