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
from hubbub.server.transports.web.message_views import MessageRenderer, display_name
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/app"
GUILD: Final = PATH + r"/channels/{guild_path:\d{1,19}}"
CONVERSATION: Final = PATH + r"/channels/{guild_path:@me|\d{1,19}}/{channel_id:\d{1,19}}"
MESSAGE: Final = CONVERSATION + r"/{message_id:\d{1,19}}"

PAGE_SIZE: Final = 50
"""Messages on one page."""
EXPANDED_GUILDS_MAX: Final = 10
"""Guilds whose channels the first page lists. Each costs one of a user's 50 operations per second."""

_FORUMS: Final = (ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA)
_PRIVATE: Final = (ChannelType.DM, ChannelType.GROUP_DM, ChannelType.EPHEMERAL_DM)
_WITHOUT_MESSAGES: Final = (ChannelType.GUILD_CATEGORY, ChannelType.GUILD_DIRECTORY)

OPEN_ERROR_TEXTS: Final[Mapping[ErrorCode, str]] = {
    errors.UNKNOWN_CHANNEL: "This conversation does not exist or was deleted.",
    errors.UNKNOWN_GUILD: "This guild does not exist, or you are not a member.",
    errors.MISSING_ACCESS: "Your account does not have access to this conversation.",
    errors.MISSING_PERMISSIONS: "Your account does not have access to this conversation.",
    errors.CANNOT_SEND_IN_CHANNEL: "Channels of this type have no messages.",
}
"""Texts for conversations that cannot be expanded."""

SEND_ERROR_TEXTS: Final[Mapping[ErrorCode, str]] = {
    errors.EMPTY_MESSAGE: "Enter a message first.",
    errors.MISSING_ACCESS: "You do not have permission to send messages in this channel.",
    errors.MISSING_PERMISSIONS: "You do not have permission to send messages in this channel.",
    errors.CANNOT_SEND_IN_CHANNEL: "You cannot send messages in channels of this type.",
    errors.CANNOT_SEND_IN_FORUM: "Open a post to send messages in this forum.",
    errors.CANNOT_MESSAGE_USER: "This user does not accept messages from you.",
    errors.NO_MUTUAL_GUILDS: "You no longer share a guild with this user.",
    errors.VERIFICATION_LEVEL_TOO_HIGH: "Your account does not meet this guild's verification level.",
    errors.THREAD_ARCHIVED: "This thread is archived.",
    errors.THREAD_LOCKED: "This thread is locked.",
    errors.AUTO_MODERATION_BLOCKED_MESSAGE: "Your message was blocked by this guild's moderation rules.",
}
"""Texts for messages that cannot be sent."""


@page("GET", PATH)
async def show_conversations(request: PageRequest) -> web.Response:
    """List the direct messages, guilds and channels of the user."""
    private = await request.call(direct_messages.LIST_MY_CHANNELS)
    my_guilds = await request.call(guilds.LIST_MY_GUILDS)
    expanded = [(guild, _sections(await _channels(request, guild.id))) for guild in my_guilds[:EXPANDED_GUILDS_MAX]]
    return request.render(
        "conversations.html",
        client=True,
        private=[
            (conversation_path(each), conversation_title(each), list(each.recipients))
            for each in sorted(private, key=lambda each: int(each.last_message_id or each.id), reverse=True)
        ],
        expanded=expanded,
        more=my_guilds[EXPANDED_GUILDS_MAX:],
    )


@page("GET", f"{PATH}/channels/@me")
async def show_private(request: PageRequest) -> web.Response:
    """Redirect to the list of conversations."""
    return request.redirect(PATH)


@page("GET", GUILD)
async def show_guild(request: PageRequest) -> web.Response:
    """List the channels of a guild."""
    try:
        guild = await request.call(guilds.GET_GUILD, request.path_parameter("guild_path"))
        sections = _sections(await _channels(request, guild.id))
    except ApiError as error:
        return request.error_page(_with_text(error, OPEN_ERROR_TEXTS))
    return request.render("guild_channels.html", client=True, guild=guild, sections=sections)


@page("GET", CONVERSATION)
async def show_conversation(request: PageRequest) -> web.Response:
    """Show the newest messages, or those before or after one."""
    return await _open_conversation(request)


@page("GET", MESSAGE)
async def show_message(request: PageRequest) -> web.Response:
    """Show a message, highlighted, among those around it."""
    return await _open_conversation(request)


@page("POST", CONVERSATION)
async def send_message(request: PageRequest) -> web.Response:
    """Send a message."""
    try:
        channel = await request.call(channels.GET_CHANNEL, request.path_parameter("channel_id"))
    except ApiError as error:
        return request.error_page(_with_text(error, OPEN_ERROR_TEXTS))
    content = request.form.text("content")
    body = {"content": content, "nonce": _nonce(request.form.text("nonce"), content), "enforce_nonce": True}
    try:
        message = await request.call(messages.CREATE_MESSAGE, channel.id, body=body)
    except ApiError as error:
        return await _show(request, channel, _with_text(error, SEND_ERROR_TEXTS))
    return request.redirect(f"{conversation_path(channel)}/{int(message.id)}#message-{int(message.id)}")


def _nonce(form: str, content: str) -> str:
    """Derive a nonce from the form and the content, so that submitting the same form twice sends one message."""
    return hashlib.blake2s(f"{form}\n{content}".encode("utf-8", "replace"), digest_size=12).hexdigest()


async def _open_conversation(request: PageRequest) -> web.Response:
    try:
        channel = await request.call(channels.GET_CHANNEL, request.path_parameter("channel_id"))
        canonical = conversation_path(channel)
        requested = request.http_request.path
        if requested != canonical and not requested.startswith(f"{canonical}/"):
            # The link names a guild other than the channel's.
            message_id = request.http_request.match_info.get("message_id")
            return request.redirect(canonical if message_id is None else f"{canonical}/{message_id}")
        if channel.type in _WITHOUT_MESSAGES:
            return request.redirect(f"{PATH}/channels/{request.path_parameter('guild_path')}")
        return await _show(request, channel)
    except ApiError as error:
        return request.error_page(_with_text(error, OPEN_ERROR_TEXTS))


async def _show(request: PageRequest, channel: AnyChannel, error: ApiError | None = None) -> web.Response:
    here = conversation_path(channel)
    guild: guilds.Guild | None = None
    if channel.guild_id:
        guild = await request.call(guilds.GET_GUILD, channel.guild_id)
    context: dict[str, Any] = {"channel": channel, "guild": guild, "here": here, "title": conversation_title(channel)}
    context["recipients"] = list(channel.recipients or ())
    if channel.type in _FORUMS and guild is not None:
        if error is not None:
            return request.error_page(error)
        active = (await request.call(threads.GET_ACTIVE_GUILD_THREADS, guild.id)).threads
        posts = [each for each in active if each.parent_id == channel.id]
        return request.render(
            "forum.html", client=True, posts=sorted(posts, key=lambda each: int(each.id), reverse=True), **context
        )
    query = {} if error is not None else _history_query(request)
    found = await request.call(messages.LIST_MESSAGES, channel.id, query={**query, "limit": [str(PAGE_SIZE + 1)]})
    found, older, newer = _paginate(found, query, channel)
    highlighted = int(query["around"][0]) if "around" in query else None
    role_names: dict[int, str] = {}
    if guild is not None and any(each.mention_roles for each in found):
        role_names = {int(role.id): role.name for role in await request.call(roles.LIST_GUILD_ROLES, guild.id)}
    guild_path = "@me" if guild is None else str(int(guild.id))
    renderer = MessageRenderer(
        web_url=request.config.web_url, here=here, guild_path=guild_path, roles=role_names, highlighted=highlighted
    )
    metadata = channel.thread_metadata or None
    context |= {
        "messages": [renderer.build(each) for each in reversed(found)],
        "older": older,
        "newer": newer,
        "is_newest": not query,
        "is_missing": highlighted is not None and highlighted not in {int(each.id) for each in found},
        "parent": f"{PATH}/channels/{guild_path}/{int(channel.parent_id)}" if metadata and channel.parent_id else None,
        "is_locked": metadata is not None and metadata.locked,
        "nonce": secrets.token_hex(10),
        "content_max": messages.CONTENT_MAX,
    }
    if error is None:
        return request.render("conversation.html", client=True, **context)
    return request.render_errors("conversation.html", error, client=True, fields=("content",), **context)


def _history_query(request: PageRequest) -> dict[str, list[str]]:
    """Return the part of the history that the URL requests; invalid parameters request the newest messages."""
    message_id = request.http_request.match_info.get("message_id")
    if message_id is not None:
        return {"around": [message_id]}
    for bound in ("before", "after"):
        value = request.query_parameter(bound)
        if value.isascii() and value.isdigit() and len(value) <= 19:
            return {bound: [value]}
    return {}


def _paginate(
    found: list[Message], query: Mapping[str, Sequence[str]], channel: AnyChannel
) -> tuple[list[Message], int | None, int | None]:
    """Return a page of messages, newest first, and the bounds of the older and newer pages where they exist."""
    more = len(found) > PAGE_SIZE
    if "after" in query:
        found = found[-PAGE_SIZE:]
    elif "around" not in query:
        found = found[:PAGE_SIZE]
    if not found:
        return found, None, None
    oldest, newest = int(found[-1].id), int(found[0].id)
    if "around" in query:
        before = sum(int(each.id) < int(query["around"][0]) for each in found)
        older = before >= PAGE_SIZE // 2
        newer = int(channel.last_message_id or 0) > newest
    else:
        older = more if "after" not in query else True
        newer = more if "after" in query else "before" in query
    return found, oldest if older else None, newest if newer else None


def conversation_path(channel: AnyChannel) -> str:
    """Return the path of a conversation."""
    guild_path = int(channel.guild_id) if channel.guild_id else "@me"
    return f"{PATH}/channels/{guild_path}/{int(channel.id)}"


def conversation_title(channel: AnyChannel) -> str:
    """Return the title of a conversation."""
    if channel.type not in _PRIVATE:
        return f"#{channel.name}" if channel.name else "Unnamed channel"
    names = ", ".join(display_name(each) for each in channel.recipients or ())
    return channel.name or names or "Empty group"


async def _channels(request: PageRequest, guild_id: int) -> list[Channel]:
    return await request.call(channels.LIST_GUILD_CHANNELS, guild_id)


def _sections(found: Sequence[Channel]) -> list[tuple[str, list[Channel]]]:
    """Group the channels by category; channels without a category come first."""
    categories = [each for each in found if each.type == ChannelType.GUILD_CATEGORY]
    order: list[Channel | None] = [None, *sorted(categories, key=_position)]
    sections = []
    for category in order:
        parent = None if category is None else category.id
        inside = [each for each in found if each.parent_id == parent and each.type not in _WITHOUT_MESSAGES]
        if inside:
            sections.append(("" if category is None else category.name, sorted(inside, key=_position)))
    return sections


def _position(channel: Channel) -> tuple[int, int]:
    return channel.position, int(channel.id)


def _with_text(error: ApiError, texts: Mapping[ErrorCode, str]) -> ApiError:
    """Replace the error message by one written for users."""
    return error.kind(message=texts[error.kind]) if error.kind in texts else error
