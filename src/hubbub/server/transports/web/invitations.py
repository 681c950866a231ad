"""The page behind an invite link, where a user previews and accepts the invite."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import GuildFeature, InviteType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import channels, guilds, invites
from hubbub.protocol.resources.invites import Invite
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.conversations import PATH as CONVERSATIONS_PATH
from hubbub.server.transports.web.conversations import conversation_path
from hubbub.server.transports.web.message_views import display_name
from hubbub.server.transports.web.page_requests import PageRequest, page

INVITE_PATH: Final = "/invite/{code}"

EXPIRED_TEXT: Final = gettext_noop("This invite has expired, was revoked, or is for another account.")

ERROR_TEXTS: Final = {
    errors.UNKNOWN_INVITE: EXPIRED_TEXT,
    errors.USER_BANNED: gettext_noop("You are banned from this guild. Only its moderators can lift the ban."),
    errors.FEATURE_DISABLED: gettext_noop("This guild is not accepting new members right now. Try again later."),
    errors.MAX_GUILDS: gettext_noop("You have reached the maximum number of guilds. Leave a guild first."),
    errors.MAX_MEMBERS: gettext_noop("This guild is full."),
    errors.MAX_RECIPIENTS: gettext_noop("This group is full."),
    errors.UNKNOWN_GUILD: gettext_noop("This guild was deleted."),
    errors.UNKNOWN_CHANNEL: gettext_noop("This group was deleted."),
}
"""Texts for invites that cannot be accepted."""


@page("GET", INVITE_PATH, is_public=True)
async def show_invite(request: PageRequest) -> web.Response:
    """Show the preview of an invite."""
    return await _show_preview(request)


@page("POST", INVITE_PATH)
async def accept(request: PageRequest) -> web.Response:
    """Accept an invite."""
    try:
        invite = await request.call(invites.ACCEPT_INVITE, request.path_parameter("code"), body={})
    except ApiError as error:
        return await _show_preview(
            request, error.kind(message=gettext(ERROR_TEXTS[error.kind])) if error.kind in ERROR_TEXTS else error
        )
    return request.redirect(await _channel_path(request, invite), notice=_joined_notice(invite))


async def _show_preview(request: PageRequest, error: ApiError | None = None) -> web.Response:
    try:
        invite = await request.call(
            invites.INVITE_RESOLVE, request.path_parameter("code"), query=_invite_query(request)
        )
    except ApiError as load_error:
        if load_error.kind is not errors.UNKNOWN_INVITE:
            raise
        # A targeted invite is visible only after a login, so the page offers a login.
        return request.render("invite_gone.html", status=404, text=gettext(EXPIRED_TEXT))
    context: dict[str, Any] = {
        "invite": invite,
        "is_group": invite.type == InviteType.GROUP_DM,
        "inviter": display_name(invite.inviter) if invite.inviter else None,
        "name": _target_name(invite),
        "joined_path": await _joined_path(request, invite),
    }
    if error is None:
        return request.render("invite.html", **context)
    return request.render_errors("invite.html", error, **context)


def _invite_query(request: PageRequest) -> dict[str, list[str]]:
    event = request.query_parameter("event")
    query = {"with_counts": ["true"]}
    if event.isascii() and event.isdigit() and len(event) <= 19:
        query["guild_scheduled_event_id"] = [event]
    return query


def _target_name(invite: Invite) -> str:
    """Return the name of the guild or group that the invite leads to."""
    if invite.guild:
        return invite.guild.name
    if invite.channel is None:
        return gettext("Conversation")
    names = ", ".join(user.username for user in invite.channel.recipients or ())
    return invite.channel.name or names or gettext("Unnamed group")


async def _joined_path(request: PageRequest, invite: Invite) -> str | None:
    """Return the path of the conversation if the user is already a member, else None."""
    if request.actor is None or invite.channel is None:
        return None
    if not invite.guild:
        recipient_ids = {int(item.id) for item in invite.channel.recipients or ()}
        return (
            f"{CONVERSATIONS_PATH}/channels/@me/{int(invite.channel.id)}"
            if request.actor.user_id in recipient_ids
            else None
        )
    # Start the page just before this guild's ID, so that one result is enough.
    bounds = {"after": [str(int(invite.guild.id) - 1)], "limit": ["1"]}
    my_guilds = await request.call(guilds.LIST_MY_GUILDS, query=bounds)
    return await _channel_path(request, invite) if [item.id for item in my_guilds] == [invite.guild.id] else None


async def _channel_path(request: PageRequest, invite: Invite) -> str:
    """Return the path of the invite's channel, or of the guild when the channel is not visible."""
    if invite.channel is not None:
        try:
            return conversation_path(await request.call(channels.GET_CHANNEL, invite.channel.id))
        except ApiError as error:
            if error.kind not in (errors.MISSING_ACCESS, errors.UNKNOWN_CHANNEL):
                raise
    return f"{CONVERSATIONS_PATH}/channels/{int(invite.guild.id)}" if invite.guild else CONVERSATIONS_PATH


def _joined_notice(invite: Invite) -> str:
    notice = (
        gettext("You joined {name}.", name=_target_name(invite)) if invite.guild else gettext("You joined the group.")
    )
    if invite.guild and GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED in invite.guild.features:
        notice += " " + gettext("Accept its rules in the chat client before you send messages.")
    return notice
