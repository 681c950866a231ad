"""Appeals against decisions of operators: on the account page, and for suspended accounts on a separate page."""

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import moderation_decisions as wire
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.account import PATH as ACCOUNT_PATH
from hubbub.server.transports.web.account import show_settings
from hubbub.server.transports.web.login import mask_login_error
from hubbub.server.transports.web.page_requests import PageRequest, page


@page("GET", "/appeal", is_public=True)
async def show_appeal(request: PageRequest) -> web.Response:
    """Show the form of an appeal against a suspension."""
    return request.render("appeal.html", is_sent=False)


@page("POST", "/appeal", is_public=True)
async def send_appeal(request: PageRequest) -> web.Response:
    """Send an appeal against a suspension."""
    form = request.form
    body = {"login": form.trimmed("login"), "password": form.text("password"), "text": form.trimmed("text")}
    try:
        await request.call(wire.AUTH_APPEAL, body=body)
    except ApiError as error:
        fields = ("login", "password", "text")
        return request.render_errors("appeal.html", mask_login_error(error), fields=fields, is_sent=False)
    return request.render("appeal.html", is_sent=True)


@page("POST", ACCOUNT_PATH + r"/decisions/{decision_id:\d{1,19}}/appeal")
async def appeal(request: PageRequest) -> web.Response:
    """Appeal against a decision about the account of the user."""
    body = {"text": request.form.trimmed("text")}
    try:
        await request.call(wire.CREATE_APPEAL, request.path_parameter("decision_id"), body=body)
    except ApiError as error:
        return await show_settings(request, error, fields=())
    notice = gettext("Appeal sent. You receive a message when an operator has decided.")
    return request.redirect(ACCOUNT_PATH, notice=notice)
