"""The page behind an invite's link: who invites to what, and coming in."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import GuildFeature, InviteType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import channels, guilds, invites
from hubbub.protocol.resources.invites import Invite
from hubbub.server.transports.web.conversations import HERE as CONVERSATIONS
from hubbub.server.transports.web.conversations import path_of
from hubbub.server.transports.web.spoken import name_of
from hubbub.server.transports.web.visits import Visit, page

INVITE: Final = "/invite/{code}"

GONE: Final = "This invite is over, was taken back, or is meant for somebody else."

WORDS: Final = {
    errors.UNKNOWN_INVITE: GONE,
    errors.USER_BANNED: "You are banned from this guild.",
    errors.FEATURE_DISABLED: "This guild lets nobody in at the moment. Try again later.",
    errors.MAX_GUILDS: "You are in as many guilds as one can be in. Leave one first.",
    errors.MAX_MEMBERS: "This guild is full.",
    errors.MAX_RECIPIENTS: "This group is full.",
    errors.UNKNOWN_GUILD: "This guild is no more.",
    errors.UNKNOWN_CHANNEL: "This group is no more.",
}
"""Why somebody cannot come in."""


@page("GET", INVITE, anyone=True)
async def show_invite(visit: Visit) -> web.Response:
    """What the invite leads to."""
    return await _show(visit)


@page("POST", INVITE)
async def accept(visit: Visit) -> web.Response:
    """Come in."""
    try:
        taken = await visit.ask(invites.ACCEPT_INVITE, visit.path("code"), body={})
    except ApiError as error:
        told = error.kind(message=WORDS[error.kind]) if error.kind in WORDS else error
        return await _show(visit, told)
    return visit.go(await _way_in(visit, taken), say=_welcome(taken))


async def _show(visit: Visit, error: ApiError | None = None) -> web.Response:
    try:
        invite = await visit.ask(invites.INVITE_RESOLVE, visit.path("code"), query=_query(visit))
    except ApiError as gone:
        if gone.kind is not errors.UNKNOWN_INVITE:
            raise
        # Who comes by a link that was meant for them may only have to say who they are.
        return visit.show("invite_gone.html", status=404, words=GONE)
    context: dict[str, Any] = {
        "invite": invite,
        "is_group": invite.type == InviteType.GROUP_DM,
        "inviter": name_of(invite.inviter) if invite.inviter else None,
        "name": _name(invite),
        "inside": await _inside(visit, invite),
    }
    if error is None:
        return visit.show("invite.html", **context)
    return visit.refuse("invite.html", error, **context)


def _query(visit: Visit) -> dict[str, list[str]]:
    event = visit.query("event")
    asked = {"with_counts": ["true"]}
    if event.isascii() and event.isdigit() and len(event) <= 19:
        asked["guild_scheduled_event_id"] = [event]
    return asked


def _name(invite: Invite) -> str:
    """What one is invited to."""
    if invite.guild:
        return invite.guild.name
    if invite.channel is None:
        return "A conversation"
    people = ", ".join(each.username for each in invite.channel.recipients or ())
    return invite.channel.name or people or "A group"


async def _inside(visit: Visit, invite: Invite) -> str | None:
    """Where the conversation is, for who is in it already."""
    if visit.actor is None or invite.channel is None:
        return None
    if not invite.guild:
        there = {int(each.id) for each in invite.channel.recipients or ()}
        return f"{CONVERSATIONS}/channels/@me/{int(invite.channel.id)}" if visit.actor.user_id in there else None
    # The list from just before this guild's id holds it first, however many there are.
    bounds = {"after": [str(int(invite.guild.id) - 1)], "limit": ["1"]}
    mine = await visit.ask(guilds.LIST_MY_GUILDS, query=bounds)
    return await _way_in(visit, invite) if [each.id for each in mine] == [invite.guild.id] else None


async def _way_in(visit: Visit, invite: Invite) -> str:
    """The channel of an invite, or the guild's channels where that one is not for everybody."""
    if invite.channel is not None:
        try:
            return path_of(await visit.ask(channels.GET_CHANNEL, invite.channel.id))
        except ApiError as error:
            if error.kind not in (errors.MISSING_ACCESS, errors.UNKNOWN_CHANNEL):
                raise
    return f"{CONVERSATIONS}/channels/{int(invite.guild.id)}" if invite.guild else CONVERSATIONS


def _welcome(invite: Invite) -> str:
    told = f"You are in {_name(invite)} now." if invite.guild else "You are in the group now."
    if invite.guild and GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED in invite.guild.features:
        told += " Its rules want to be accepted in a chat client before you may speak."
    return told
