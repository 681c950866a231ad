"""Portal pages for the bot of an application: token, settings and privileged intents."""

from typing import Any

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import developers
from hubbub.protocol.resources.developers import PRIVILEGED_INTENTS
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    render_secret,
    section_path,
    update_application,
)

PATH = APPLICATION_PATH + "/bot"
TOKEN_WARNING = gettext_noop(
    "This token gives full control of the bot. Do not share it or commit it to code. If it leaks, reset it."
)


@page("GET", PATH)
async def show_bot(request: PageRequest) -> web.Response:
    """Show the bot settings."""
    return render(request, "bot.html", await load_application(request), **await _bot_context(request))


@page("POST", PATH + "/add")
async def add_bot(request: PageRequest) -> web.Response:
    """Add a bot to the application and show its token."""
    created_bot = await request.call(developers.CREATE_APPLICATION_BOT, request.path_parameter("application_id"))
    return _show_token(request, await load_application(request), created_bot.token)


@page("POST", PATH + "/reset")
async def reset_token(request: PageRequest) -> web.Response:
    """Reset the bot token and show the new one once."""
    code = request.form.trimmed("code")
    try:
        new_token = await request.call(
            developers.RESET_BOT_TOKEN, request.path_parameter("application_id"), body={"code": code} if code else {}
        )
    except ApiError as error:
        return render_errors(
            request, "bot.html", error, await load_application(request), fields=("code",), **await _bot_context(request)
        )
    return _show_token(request, await load_application(request), new_token.token)


def _show_token(request: PageRequest, application: Any, token: str) -> web.Response:
    return render_secret(
        request,
        application,
        title=gettext("Bot token"),
        secrets=[(gettext("Token"), token)],
        text=gettext(TOKEN_WARNING),
        back_path=section_path(request, "/bot"),
    )


@page("POST", PATH)
async def change_bot(request: PageRequest) -> web.Response:
    """Update the bot settings: public, code grant, and obfuscation of hidden channels."""
    form = request.form
    await update_application(
        request,
        {
            "bot_public": form.checked("bot_public"),
            "bot_require_code_grant": form.checked("bot_require_code_grant"),
            "channel_obfuscation": form.checked("channel_obfuscation"),
        },
    )
    return request.redirect(section_path(request, "/bot"), notice=gettext("Saved."))


@page("POST", PATH + "/intents")
async def switch_intents(request: PageRequest) -> web.Response:
    """Turn privileged intents on or off; allowed while the bot is small."""
    application = await load_application(request)
    flags = application.flags & ~ApplicationFlags.EDITABLE
    for name in request.form.all("intent"):
        if name in PRIVILEGED_INTENTS:
            flags |= PRIVILEGED_INTENTS[name].limited_flag
    try:
        await update_application(request, {"flags": flags})
    except ApiError as error:
        return render_errors(request, "bot.html", error, application, fields=("flags",), **await _bot_context(request))
    return request.redirect(
        section_path(request, "/bot"), notice=gettext("Saved. The change applies when the bot reconnects.")
    )


@page("POST", PATH + "/review")
async def request_intent(request: PageRequest) -> web.Response:
    """Request approval of a privileged intent for a large bot."""
    form = request.form
    body = {"kind": "intent", "name": form.text("name"), "reason": form.text("reason").strip()}
    try:
        approval = await request.call(
            developers.REQUEST_APPLICATION_APPROVAL, request.path_parameter("application_id"), body=body
        )
    except ApiError as error:
        return render_errors(
            request,
            "bot.html",
            error,
            await load_application(request),
            fields=("name", "reason"),
            **await _bot_context(request),
        )
    is_granted = approval.state == "approved"
    return request.redirect(
        section_path(request, "/bot"),
        notice=gettext("Granted for one year.") if is_granted else gettext("Requested. The operator will review it."),
    )


async def _bot_context(request: PageRequest) -> dict[str, Any]:
    approvals = await request.call(developers.GET_APPLICATION_APPROVALS, request.path_parameter("application_id"))
    return {"approvals": approvals, "me": await request.current_user()}
