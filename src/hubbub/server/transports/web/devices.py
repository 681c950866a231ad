"""A device without a browser shows a code; here it is typed in, and what the device asks for is answered (RFC 8628)."""

from typing import Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import oauth2
from hubbub.server.transports.web.visits import Visit, page

HERE: Final = "/activate"
FIELDS: Final = ("user_code",)


@page("GET", HERE)
async def show_code(visit: Visit) -> web.Response:
    """Where the code is typed in. One that came with the address is still looked at by a person (RFC 8628 5.4)."""
    return visit.show("activate.html", user_code=visit.query("user_code")[:32], me=await visit.me())


@page("POST", HERE)
async def look_up_code(visit: Visit) -> web.Response:
    """What the device with this code asks for."""
    code = visit.form.line("user_code")
    try:
        asked = await visit.ask(oauth2.VERIFY_OAUTH2_DEVICE, body={"user_code": code})
    except ApiError as error:
        return visit.refuse("activate.html", error, fields=FIELDS, user_code=code, me=await visit.me())
    return visit.show("device.html", asked=asked, user_code=code, me=await visit.me())


@page("POST", HERE + "/answer")
async def answer_device(visit: Visit) -> web.Response:
    """Yes or no."""
    code = visit.form.line("user_code")
    granted = visit.form.text("answer") == "allow"
    body = {"user_code": code, "result": "granted" if granted else "denied"}
    try:
        await visit.ask(oauth2.FINISH_OAUTH2_DEVICE, body=body)
    except ApiError as error:
        return visit.refuse("activate.html", error, fields=FIELDS, user_code=code, me=await visit.me())
    return visit.go(f"{HERE}/done?{'granted' if granted else 'denied'}")


@page("GET", HERE + "/done", anyone=True)
async def show_done(visit: Visit) -> web.Response:
    """The rest happens on the device."""
    return visit.show("device_done.html", granted=visit.request.query_string == "granted")
