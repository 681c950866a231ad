"""Account settings: profile, password, sessions, authenticator, backup codes, passkeys and data export."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import accounts, data_exports, login_providers, moderation_decisions, passkeys, users
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web import data_export_responses
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/settings/account"
SECOND_FACTOR_PATH: Final = f"{PATH}/second-factor"
DECISION_TEXTS: Final = {
    "warn": gettext_noop("Warning"),
    "delete_message": gettext_noop("Deleted message"),
    "suspend_user": gettext_noop("Suspension of your account"),
    "suspend_guild": gettext_noop("Suspension of your guild"),
}
"""Texts of the actions of moderation decisions against the user, by the values of `ModerationDecision.action`."""
REMOVE_PASSKEY_PATH: Final = PATH + r"/passkeys/{passkey_id:\d{1,19}}/remove"


async def show_settings(request: PageRequest, error: ApiError | None = None, **options: Any) -> web.Response:
    """Show the account settings, with the errors of a form if there are any."""
    context: dict[str, Any] = {
        "me": await request.current_user(),
        "sessions": await request.call(accounts.LIST_AUTH_SESSIONS),
        "passkeys": await request.call(passkeys.LIST_PASSKEYS),
        "login_methods": await request.call(login_providers.GET_LOGIN_METHODS),
        "decisions": await request.call(moderation_decisions.LIST_MY_DECISIONS),
        "decision_texts": DECISION_TEXTS,
    }
    if error is None:
        return request.render("account.html", **context)
    return request.render_errors("account.html", error, **options, **context)


@page("GET", PATH)
async def show_account(request: PageRequest) -> web.Response:
    """Show the account settings."""
    return await show_settings(request)


@page("POST", f"{PATH}/profile")
async def change_profile(request: PageRequest) -> web.Response:
    """Update the display name."""
    try:
        await request.call(users.UPDATE_MY_USER, body={"global_name": request.form.optional("global_name")})
    except ApiError as error:
        return await show_settings(request, error, fields=("global_name",))
    return request.redirect(PATH, notice=gettext("Display name updated."))


@page("POST", f"{PATH}/password")
async def change_password(request: PageRequest) -> web.Response:
    """Change the password. All other login sessions of the user end."""
    form = request.form
    body = {"password": form.text("password"), "new_password": form.text("new_password")}
    try:
        await request.call(accounts.CHANGE_PASSWORD, body=body)
    except ApiError as error:
        return await show_settings(request, error, fields=("password", "new_password"))
    return request.redirect(PATH, notice=gettext("Password changed. All your other sessions were logged out."))


@page("POST", f"{PATH}/new-password")
async def set_password(request: PageRequest) -> web.Response:
    """Set the first password of an account. All other login sessions of the user end."""
    try:
        await request.call(accounts.SET_PASSWORD, body={"new_password": request.form.text("new_password")})
    except ApiError as error:
        return await show_settings(request, error, fields=("new_password",))
    return request.redirect(PATH, notice=gettext("Password set. All your other sessions were logged out."))


# Sessions


@page("POST", PATH + r"/sessions/{session_id:\d+}/end")
async def end_session(request: PageRequest) -> web.Response:
    """End another login session of the user."""
    try:
        await request.call(accounts.DELETE_AUTH_SESSION, request.path_parameter("session_id"))
    except ApiError as error:
        if error.status != 404:
            raise
    return request.redirect(PATH, notice=gettext("Session logged out."))


@page("POST", f"{PATH}/sessions/end-others")
async def end_other_sessions(request: PageRequest) -> web.Response:
    """End all login sessions of the user except the current one."""
    await request.call(accounts.DELETE_OTHER_AUTH_SESSIONS)
    return request.redirect(PATH, notice=gettext("All your other sessions were logged out."))


# Two-factor authentication


@page("GET", SECOND_FACTOR_PATH)
async def show_second_factor(request: PageRequest) -> web.Response:
    """Show a new authenticator secret, or the form that turns the authenticator off."""
    if (await request.current_user()).mfa_enabled:
        return request.render("second_factor_off.html")
    return request.render("second_factor_on.html", totp=await request.call(accounts.CREATE_TOTP_SECRET))


@page("POST", SECOND_FACTOR_PATH)
async def enable_second_factor(request: PageRequest) -> web.Response:
    """Turn the authenticator on and show the backup codes once."""
    form = request.form
    secret = form.trimmed("secret")
    body = {"password": form.text("password"), "secret": secret, "code": form.trimmed("code").replace(" ", "")}
    try:
        enabled_totp = await request.call(accounts.ENABLE_TOTP, body=body)
    except ApiError as error:
        # The authenticator already has this secret, so the page keeps it, without the QR code.
        totp = {"secret": secret, "otpauth_url": None, "qr_code": None}
        return request.render_errors("second_factor_on.html", error, fields=("password", "code"), totp=totp)
    return request.render("backup_codes.html", codes=enabled_totp.backup_codes)


@page("POST", f"{SECOND_FACTOR_PATH}/off")
async def disable_second_factor(request: PageRequest) -> web.Response:
    """Turn the authenticator off."""
    form = request.form
    body = {"password": form.text("password"), "code": form.trimmed("code").replace(" ", "")}
    try:
        await request.call(accounts.DISABLE_TOTP, body=body)
    except ApiError as error:
        return request.render_errors("second_factor_off.html", error, fields=("password", "code"))
    return request.redirect(PATH, notice=gettext("Two-factor authentication is off."))


@page("GET", f"{SECOND_FACTOR_PATH}/backup-codes")
async def show_backup_codes(request: PageRequest) -> web.Response:
    """Show the form that replaces the backup codes."""
    return await _show_backup_codes(request)


@page("POST", f"{SECOND_FACTOR_PATH}/backup-codes")
async def replace_backup_codes(request: PageRequest) -> web.Response:
    """Replace the backup codes and show the new ones once."""
    form = request.form
    body = {"password": form.text("password"), "code": form.trimmed("code").replace(" ", "")}
    try:
        new_codes = await request.call(accounts.REPLACE_BACKUP_CODES, body=body)
    except ApiError as error:
        return await _show_backup_codes(request, error)
    return request.render("backup_codes.html", codes=new_codes.backup_codes)


async def _show_backup_codes(request: PageRequest, error: ApiError | None = None) -> web.Response:
    methods = await request.call(login_providers.GET_LOGIN_METHODS)
    context: dict[str, Any] = {"backup_code_count": methods.backup_code_count}
    if error is None:
        return request.render("replace_backup_codes.html", **context)
    return request.render_errors("replace_backup_codes.html", error, fields=("password", "code"), **context)


# Passkeys


@page("GET", REMOVE_PASSKEY_PATH)
async def show_remove_passkey(request: PageRequest) -> web.Response:
    """Show the form that removes a passkey."""
    return await _show_passkey(request)


@page("POST", REMOVE_PASSKEY_PATH)
async def remove_passkey(request: PageRequest) -> web.Response:
    """Remove a passkey; the form contains the password."""
    body = {"password": request.form.text("password")}
    try:
        await request.call(passkeys.DELETE_PASSKEY, request.path_parameter("passkey_id"), body=body)
    except ApiError as error:
        return await _show_passkey(request, error)
    return request.redirect(PATH, notice=gettext("Passkey removed."))


async def _show_passkey(request: PageRequest, error: ApiError | None = None) -> web.Response:
    passkey_id = request.path_parameter("passkey_id")
    matching_passkeys = [
        passkey for passkey in await request.call(passkeys.LIST_PASSKEYS) if str(int(passkey.id)) == passkey_id
    ]
    if not matching_passkeys:
        return request.redirect(PATH)
    if error is None:
        return request.render("remove_passkey.html", passkey=matching_passkeys[0])
    return request.render_errors("remove_passkey.html", error, fields=("password",), passkey=matching_passkeys[0])


# Data export


@page("GET", f"{PATH}/export")
async def export_account(request: PageRequest) -> web.Response:
    """Export the account as one JSON file.

    The file is streamed, so the server holds one page of messages at a time.
    """
    account = await request.call(accounts.EXPORT_MY_DATA)
    return data_export_responses.build_response(
        account, lambda query: request.call(data_exports.LIST_MY_EXPORTED_MESSAGES, query=query)
    )
