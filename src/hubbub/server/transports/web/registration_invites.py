"""Page for the registration invites of a user."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import registration as wire
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/settings/registration-invites"


@page("GET", PATH)
async def show_invites(request: PageRequest) -> web.Response:
    """Show the invites of the user that can be used."""
    return request.render("registration_invites.html", **await _context(request))


@page("POST", PATH)
async def create_invite(request: PageRequest) -> web.Response:
    """Create an invite, and show its link once or send it by mail."""
    body = {"note": request.form.trimmed("note"), "email": request.form.trimmed("email") or None}
    try:
        invite = await request.call(wire.CREATE_MY_REGISTRATION_INVITE, body=body)
    except ApiError as error:
        return request.render_errors(
            "registration_invites.html", error, fields=("note", "email"), **await _context(request)
        )
    if invite.url is None:
        return request.redirect(PATH, notice=gettext("The invite is sent by mail."))
    return request.render("registration_invites.html", **await _context(request, invite))


@page("POST", PATH + r"/{invite_id:\d{1,19}}/delete")
async def delete_invite(request: PageRequest) -> web.Response:
    """Delete a registration invite of the user."""
    await request.call(wire.DELETE_MY_REGISTRATION_INVITE, request.path_parameter("invite_id"))
    return request.redirect(PATH, notice=gettext("Invite deleted."))


async def _context(request: PageRequest, invite: wire.NewRegistrationInvite | None = None) -> dict[str, Any]:
    settings = await request.call(wire.GET_REGISTRATION_SETTINGS)
    return {
        "can_create": settings.member_invites,
        "invites": await request.call(wire.LIST_MY_REGISTRATION_INVITES),
        "new_invite": invite,
    }
