"""Conversations to read and to speak in, where links into them lead, for those without script: with it, the chat client takes over
(decisions/0055, 0057)."""

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
from hubbub.server.transports.web.spoken import Reader, name_of
from hubbub.server.transports.web.visits import Visit, page

HERE: Final = "/app"
GUILD: Final = HERE + r"/channels/{place:\d{1,19}}"
CONVERSATION: Final = HERE + r"/channels/{place:@me|\d{1,19}}/{channel_id:\d{1,19}}"
MESSAGE: Final = CONVERSATION + r"/{message_id:\d{1,19}}"

AT_ONCE: Final = 50
"""Messages on one page."""
GUILDS_OPEN: Final = 10
"""Guilds whose channels stand on the first page; each costs an operation, and a person has fifty of those a second."""

_FORUMS: Final = (ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA)
_PRIVATE: Final = (ChannelType.DM, ChannelType.GROUP_DM, ChannelType.EPHEMERAL_DM)
_NOT_SPOKEN_IN: Final = (ChannelType.GUILD_CATEGORY, ChannelType.GUILD_DIRECTORY)

CLOSED: Final[Mapping[ErrorCode, str]] = {
    errors.UNKNOWN_CHANNEL: "There is no such conversation, or not any more.",
    errors.UNKNOWN_GUILD: "There is no such guild, or you are not in it.",
    errors.MISSING_ACCESS: "This conversation is not open to the account that you are logged in with.",
    errors.MISSING_PERMISSIONS: "This conversation is not open to the account that you are logged in with.",
    errors.CANNOT_SEND_IN_CHANNEL: "Nothing is said in channels of this kind.",
}
"""Why there is nothing to see."""

SILENT: Final[Mapping[ErrorCode, str]] = {
    errors.EMPTY_MESSAGE: "Write something first.",
    errors.MISSING_ACCESS: "You may read here, but not write.",
    errors.MISSING_PERMISSIONS: "You may read here, but not write.",
    errors.CANNOT_SEND_IN_CHANNEL: "Nothing is said in channels of this kind.",
    errors.CANNOT_SEND_IN_FORUM: "A forum holds posts: write in one of them.",
    errors.CANNOT_MESSAGE_USER: "They do not take messages from you.",
    errors.NO_MUTUAL_GUILDS: "You share no guild with them any more.",
    errors.VERIFICATION_LEVEL_TOO_HIGH: "This guild asks more of an account before it may write: how much, its people can tell.",
    errors.THREAD_ARCHIVED: "This thread is over.",
    errors.THREAD_LOCKED: "This thread is locked.",
    errors.AUTO_MODERATION_BLOCKED_MESSAGE: "The guild does not allow words like these.",
}
"""Why something was not said."""


@page("GET", HERE)
async def show_conversations(visit: Visit) -> web.Response:
    """All that a person can read: who they talk with, and their guilds."""
    private = await visit.ask(direct_messages.LIST_MY_CHANNELS)
    mine = await visit.ask(guilds.LIST_MY_GUILDS)
    opened = [(guild, _sections(await _channels(visit, guild.id))) for guild in mine[:GUILDS_OPEN]]
    return visit.show(
        "conversations.html",
        client=True,
        private=[
            (path_of(each), title_of(each), list(each.recipients))
            for each in sorted(private, key=lambda each: int(each.last_message_id or each.id), reverse=True)
        ],
        opened=opened,
        more=mine[GUILDS_OPEN:],
    )


@page("GET", f"{HERE}/channels/@me")
async def show_private(visit: Visit) -> web.Response:
    """The same: the list has everything."""
    return visit.go(HERE)


@page("GET", GUILD)
async def show_guild(visit: Visit) -> web.Response:
    """The channels of one guild."""
    try:
        guild = await visit.ask(guilds.GET_GUILD, visit.path("place"))
        sections = _sections(await _channels(visit, guild.id))
    except ApiError as error:
        return visit.problem(_told(error, CLOSED))
    return visit.show("guild_channels.html", client=True, guild=guild, sections=sections)


@page("GET", CONVERSATION)
async def show_conversation(visit: Visit) -> web.Response:
    """The newest messages, or those before or after one."""
    return await _open(visit)


@page("GET", MESSAGE)
async def show_message(visit: Visit) -> web.Response:
    """One message, marked, among those around it."""
    return await _open(visit)


@page("POST", CONVERSATION)
async def say(visit: Visit) -> web.Response:
    """Say something."""
    try:
        channel = await visit.ask(channels.GET_CHANNEL, visit.path("channel_id"))
    except ApiError as error:
        return visit.problem(_told(error, CLOSED))
    content = visit.form.text("content")
    body = {"content": content, "nonce": _nonce(visit.form.text("nonce"), content), "enforce_nonce": True}
    try:
        said = await visit.ask(messages.CREATE_MESSAGE, channel.id, body=body)
    except ApiError as error:
        return await _show(visit, channel, _told(error, SILENT))
    return visit.go(f"{path_of(channel)}/{int(said.id)}#message-{int(said.id)}")


def _nonce(form: str, content: str) -> str:
    """The same form with the same words is the same message, so that pressed twice is said once; with other words it is another."""
    return hashlib.blake2s(f"{form}\n{content}".encode("utf-8", "replace"), digest_size=12).hexdigest()


async def _open(visit: Visit) -> web.Response:
    try:
        channel = await visit.ask(channels.GET_CHANNEL, visit.path("channel_id"))
        right = path_of(channel)
        asked = visit.request.path
        if asked != right and not asked.startswith(f"{right}/"):
            # The link named another place than the channel's own.
            message_id = visit.request.match_info.get("message_id")
            return visit.go(right if message_id is None else f"{right}/{message_id}")
        if channel.type in _NOT_SPOKEN_IN:
            return visit.go(f"{HERE}/channels/{visit.path('place')}")
        return await _show(visit, channel)
    except ApiError as error:
        return visit.problem(_told(error, CLOSED))


async def _show(visit: Visit, channel: AnyChannel, error: ApiError | None = None) -> web.Response:
    here = path_of(channel)
    guild: guilds.Guild | None = None
    if channel.guild_id:
        guild = await visit.ask(guilds.GET_GUILD, channel.guild_id)
    context: dict[str, Any] = {"channel": channel, "guild": guild, "here": here, "title": title_of(channel)}
    context["recipients"] = list(channel.recipients or ())
    if channel.type in _FORUMS and guild is not None:
        if error is not None:
            return visit.problem(error)
        active = (await visit.ask(threads.GET_ACTIVE_GUILD_THREADS, guild.id)).threads
        posts = [each for each in active if each.parent_id == channel.id]
        return visit.show(
            "forum.html", client=True, posts=sorted(posts, key=lambda each: int(each.id), reverse=True), **context
        )
    asked = {} if error is not None else _asked(visit)
    found = await visit.ask(messages.LIST_MESSAGES, channel.id, query={**asked, "limit": [str(AT_ONCE + 1)]})
    found, older, newer = _cut(found, asked, channel)
    marked = int(asked["around"][0]) if "around" in asked else None
    named: dict[int, str] = {}
    if guild is not None and any(each.mention_roles for each in found):
        named = {int(role.id): role.name for role in await visit.ask(roles.LIST_GUILD_ROLES, guild.id)}
    place = "@me" if guild is None else str(int(guild.id))
    reader = Reader(web_url=visit.config.web_url, here=here, place=place, roles=named, marked=marked)
    metadata = channel.thread_metadata or None
    context |= {
        "said": [reader.read(each) for each in reversed(found)],
        "older": older,
        "newer": newer,
        "is_newest": not asked,
        "is_gone": marked is not None and marked not in {int(each.id) for each in found},
        "parent": f"{HERE}/channels/{place}/{int(channel.parent_id)}" if metadata and channel.parent_id else None,
        "is_closed": metadata is not None and metadata.locked,
        "nonce": secrets.token_hex(10),
        "content_max": messages.CONTENT_MAX,
    }
    if error is None:
        return visit.show("conversation.html", client=True, **context)
    return visit.refuse("conversation.html", error, client=True, fields=("content",), **context)


def _asked(visit: Visit) -> dict[str, list[str]]:
    """Which part of the history the address names; an address that somebody made up names the newest."""
    message_id = visit.request.match_info.get("message_id")
    if message_id is not None:
        return {"around": [message_id]}
    for bound in ("before", "after"):
        value = visit.query(bound)
        if value.isascii() and value.isdigit() and len(value) <= 19:
            return {bound: [value]}
    return {}


def _cut(
    found: list[Message], asked: Mapping[str, Sequence[str]], channel: AnyChannel
) -> tuple[list[Message], int | None, int | None]:
    """A page of messages, newest first, with the bounds of the pages before and after it where there are such."""
    more = len(found) > AT_ONCE
    if "after" in asked:
        found = found[-AT_ONCE:]
    elif "around" not in asked:
        found = found[:AT_ONCE]
    if not found:
        return found, None, None
    oldest, newest = int(found[-1].id), int(found[0].id)
    if "around" in asked:
        before = sum(int(each.id) < int(asked["around"][0]) for each in found)
        older = before >= AT_ONCE // 2
        newer = int(channel.last_message_id or 0) > newest
    else:
        older = more if "after" not in asked else True
        newer = more if "after" in asked else "before" in asked
    return found, oldest if older else None, newest if newer else None


def path_of(channel: AnyChannel) -> str:
    """Where a conversation stands."""
    place = int(channel.guild_id) if channel.guild_id else "@me"
    return f"{HERE}/channels/{place}/{int(channel.id)}"


def title_of(channel: AnyChannel) -> str:
    """What a conversation is called."""
    if channel.type not in _PRIVATE:
        return f"#{channel.name}" if channel.name else "A channel"
    names = ", ".join(name_of(each) for each in channel.recipients or ())
    return channel.name or names or "Nobody else"


async def _channels(visit: Visit, guild_id: int) -> list[Channel]:
    return await visit.ask(channels.LIST_GUILD_CHANNELS, guild_id)


def _sections(found: Sequence[Channel]) -> list[tuple[str, list[Channel]]]:
    """Channels that are spoken in, under their categories; those under none come first."""
    categories = [each for each in found if each.type == ChannelType.GUILD_CATEGORY]
    order: list[Channel | None] = [None, *sorted(categories, key=_position)]
    sections = []
    for category in order:
        parent = None if category is None else category.id
        inside = [each for each in found if each.parent_id == parent and each.type not in _NOT_SPOKEN_IN]
        if inside:
            sections.append(("" if category is None else category.name, sorted(inside, key=_position)))
    return sections


def _position(channel: Channel) -> tuple[int, int]:
    return channel.position, int(channel.id)


def _told(error: ApiError, words: Mapping[ErrorCode, str]) -> ApiError:
    """The same refusal in a sentence for people."""
    return error.kind(message=words[error.kind]) if error.kind in words else error
