"""Pages for email addresses: forgotten password, password reset, confirmation and change of the address."""

from typing import Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import account_emails as emails
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page

FORGOT_PATH: Final = "/forgot-password"
RESET_PATH: Final = "/reset-password"
CONFIRM_PATH: Final = "/confirm-email"
EMAIL_PATH: Final = "/settings/account/email"
ACCOUNT_PATH: Final = "/settings/account"


@page("GET", FORGOT_PATH, is_public=True)
async def show_forgot_password(request: PageRequest) -> web.Response:
    """Show the form that requests a reset link, or explain that the server sends no mail."""
    return request.render("forgot_password.html", is_sent=False)


@page("POST", FORGOT_PATH, is_public=True)
async def forgot_password(request: PageRequest) -> web.Response:
    """Request a reset link. The page is the same whether or not an account has the address."""
    try:
        await request.call(emails.FORGOT_PASSWORD, body={"email": request.form.trimmed("email")})
    except ApiError as error:
        return request.render_errors("forgot_password.html", error, fields=("email",), is_sent=False)
    return request.render("forgot_password.html", is_sent=True)


@page("GET", RESET_PATH, is_public=True)
async def show_reset_password(request: PageRequest) -> web.Response:
    """Show the form for a new password."""
    return request.render("reset_password.html", token=request.query_parameter("token"))


@page("POST", RESET_PATH, is_public=True)
async def reset_password(request: PageRequest) -> web.Response:
    """Set the new password. All login sessions of the user end, also that of this browser."""
    form = request.form
    token = form.text("token")
    try:
        await request.call(emails.RESET_PASSWORD, body={"token": token, "password": form.text("password")})
    except ApiError as error:
        return request.render_errors("reset_password.html", error, fields=("password",), token=token)
    if request.actor is not None:
        request.session.sign_out()
        request.actor = None
    return request.redirect("/login", notice=gettext("Your password was changed. Log in with the new password."))


@page("GET", CONFIRM_PATH, is_public=True)
async def show_confirm_email(request: PageRequest) -> web.Response:
    """Show a button that confirms the address: programs that scan mail open links, but do not submit forms."""
    return request.render("confirm_email.html", token=request.query_parameter("token"))


@page("POST", CONFIRM_PATH, is_public=True)
async def confirm_email(request: PageRequest) -> web.Response:
    """Confirm the address."""
    token = request.form.text("token")
    try:
        await request.call(emails.CONFIRM_EMAIL, body={"token": token})
    except ApiError as error:
        return request.render_errors("confirm_email.html", error, token=token)
    target = "/login" if request.actor is None else ACCOUNT_PATH
    return request.redirect(target, notice=gettext("Your email address is confirmed."))


@page("GET", EMAIL_PATH)
async def show_email(request: PageRequest) -> web.Response:
    """Show the address of the account and the form that changes it."""
    return request.render("email.html", settings=await request.call(emails.GET_EMAIL))


@page("POST", EMAIL_PATH)
async def change_email(request: PageRequest) -> web.Response:
    """Change the address."""
    form = request.form
    body = {"password": form.text("password"), "email": form.trimmed("email")}
    try:
        settings = await request.call(emails.CHANGE_EMAIL, body=body)
    except ApiError as error:
        return request.render_errors(
            "email.html", error, fields=("email", "password"), settings=await request.call(emails.GET_EMAIL)
        )
    if settings.pending_email is None:
        return request.redirect(EMAIL_PATH, notice=gettext("Email address updated."))
    return request.redirect(
        EMAIL_PATH, notice=gettext("Open the link that was sent to {email}.", email=settings.pending_email or "")
    )


@page("POST", f"{EMAIL_PATH}/resend")
async def resend_confirmation(request: PageRequest) -> web.Response:
    """Send the confirmation link again."""
    try:
        await request.call(emails.RESEND_CONFIRMATION)
    except ApiError as error:
        return request.render_errors("email.html", error, settings=await request.call(emails.GET_EMAIL))
    return request.redirect(EMAIL_PATH, notice=gettext("The link was sent again."))
