"""Pages where a user enters the code shown by a device and authorizes it (RFC 8628)."""

from typing import Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import oauth2
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/activate"
FIELDS: Final = ("user_code",)


@page("GET", PATH)
async def show_code(request: PageRequest) -> web.Response:
    """Show the form for the code. A code in the URL is prefilled but must still be confirmed (RFC 8628 5.4)."""
    return request.render(
        "activate.html", user_code=request.query_parameter("user_code")[:32], me=await request.current_user()
    )


@page("POST", PATH)
async def look_up_code(request: PageRequest) -> web.Response:
    """Show the authorization request of a device."""
    code = request.form.trimmed("user_code")
    try:
        verification = await request.call(oauth2.VERIFY_OAUTH2_DEVICE, body={"user_code": code})
    except ApiError as error:
        return request.render_errors(
            "activate.html", error, fields=FIELDS, user_code=code, me=await request.current_user()
        )
    return request.render("device.html", verification=verification, user_code=code, me=await request.current_user())


@page("POST", PATH + "/answer")
async def answer_device(request: PageRequest) -> web.Response:
    """Authorize or deny a device."""
    code = request.form.trimmed("user_code")
    is_granted = request.form.text("answer") == "allow"
    body = {"user_code": code, "result": "granted" if is_granted else "denied"}
    try:
        await request.call(oauth2.FINISH_OAUTH2_DEVICE, body=body)
    except ApiError as error:
        return request.render_errors(
            "activate.html", error, fields=FIELDS, user_code=code, me=await request.current_user()
        )
    return request.redirect(f"{PATH}/done?{'granted' if is_granted else 'denied'}")


@page("GET", PATH + "/done", is_public=True)
async def show_done(request: PageRequest) -> web.Response:
    """Show the result; the flow continues on the device."""
    return request.render("device_done.html", granted=request.http_request.query_string == "granted")
