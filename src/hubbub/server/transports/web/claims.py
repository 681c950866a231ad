"""The page where a user claims a placeholder account of an imported guild (decisions/0128)."""

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import placeholders as wire
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.conversations import PATH as CONVERSATIONS_PATH
from hubbub.server.transports.web.page_requests import PageRequest, page


@page("GET", "/claim")
async def show_claim(request: PageRequest) -> web.Response:
    """Show the form that claims an account."""
    return request.render("claim.html", code="")


@page("GET", "/claim/{code}")
async def show_claim_with_code(request: PageRequest) -> web.Response:
    """Show the form that claims an account, with the code of a link."""
    return request.render("claim.html", code=request.path_parameter("code")[: wire.CLAIM_CODE_MAX])


@page("POST", "/claim")
async def claim_account(request: PageRequest) -> web.Response:
    """Claim the account with the entered code, and open its guild."""
    try:
        claimed_account = await request.call(wire.CLAIM_PLACEHOLDER, body={"code": request.form.trimmed("code")})
    except ApiError as error:
        return request.render_errors("claim.html", error, fields=("code",), code="")
    notice = gettext(
        "You claimed the account {name}. Its messages become yours within a few minutes.",
        name=claimed_account.username,
    )
    return request.redirect(f"{CONVERSATIONS_PATH}/channels/{int(claimed_account.guild_id)}", notice=notice)
