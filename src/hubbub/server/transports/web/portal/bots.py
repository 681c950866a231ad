"""The bot of an application: its token, who may add it, and what it hears."""

from typing import Any

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import developers
from hubbub.protocol.resources.developers import PRIVILEGED_INTENTS
from hubbub.server.transports.web.portal.common import ONE, address, change, load, refuse, show, show_secret
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/bot"
TOKEN = "It opens everything the bot may do. Keep it out of code and chats; if it leaks, reset it here."


@page("GET", HERE)
async def show_bot(visit: Visit) -> web.Response:
    """All of it."""
    return show(visit, "bot.html", await load(visit), **await _bot(visit))


@page("POST", HERE + "/add")
async def add_bot(visit: Visit) -> web.Response:
    """Give the application a bot, and show its token."""
    made = await visit.ask(developers.CREATE_APPLICATION_BOT, visit.path("application_id"))
    return _show_token(visit, await load(visit), made.token)


@page("POST", HERE + "/reset")
async def reset_token(visit: Visit) -> web.Response:
    """Another token, shown once."""
    code = visit.form.line("code")
    try:
        made = await visit.ask(
            developers.RESET_BOT_TOKEN, visit.path("application_id"), body={"code": code} if code else {}
        )
    except ApiError as error:
        return refuse(visit, "bot.html", error, await load(visit), fields=("code",), **await _bot(visit))
    return _show_token(visit, await load(visit), made.token)


def _show_token(visit: Visit, application: Any, token: str) -> web.Response:
    return show_secret(
        visit, application, title="Bot token", secrets=[("Token", token)], words=TOKEN, back=address(visit, "/bot")
    )


@page("POST", HERE)
async def change_bot(visit: Visit) -> web.Response:
    """Who may add it, and how."""
    form = visit.form
    await change(
        visit,
        {
            "bot_public": form.ticked("bot_public"),
            "bot_require_code_grant": form.ticked("bot_require_code_grant"),
            "channel_obfuscation": form.ticked("channel_obfuscation"),
        },
    )
    return visit.go(address(visit, "/bot"), say="Saved.")


@page("POST", HERE + "/intents")
async def switch_intents(visit: Visit) -> web.Response:
    """Switch what a small bot may switch itself."""
    application = await load(visit)
    flags = application.flags & ~ApplicationFlags.EDITABLE
    for name in visit.form.all("intent"):
        if name in PRIVILEGED_INTENTS:
            flags |= PRIVILEGED_INTENTS[name].limited
    try:
        await change(visit, {"flags": flags})
    except ApiError as error:
        return refuse(visit, "bot.html", error, application, fields=("flags",), **await _bot(visit))
    return visit.go(address(visit, "/bot"), say="Saved. The bot hears it when it connects again.")


@page("POST", HERE + "/review")
async def ask_for_intent(visit: Visit) -> web.Response:
    """Ask the operator for an intent of a large bot."""
    form = visit.form
    body = {"kind": "intent", "name": form.text("name"), "reason": form.text("reason").strip()}
    try:
        made = await visit.ask(developers.REQUEST_APPLICATION_APPROVAL, visit.path("application_id"), body=body)
    except ApiError as error:
        return refuse(visit, "bot.html", error, await load(visit), fields=("name", "reason"), **await _bot(visit))
    granted = made.state == "approved"
    return visit.go(address(visit, "/bot"), say="Granted for a year." if granted else "Asked. The operator decides.")


async def _bot(visit: Visit) -> dict[str, Any]:
    approvals = await visit.ask(developers.GET_APPLICATION_APPROVALS, visit.path("application_id"))
    return {"approvals": approvals, "me": await visit.me()}
