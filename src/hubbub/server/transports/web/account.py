"""A person's own account: name, password, second factor, sessions, a copy of what is kept, and the way out."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote, urlencode

from aiohttp import web

from hubbub.protocol import wire as json
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import accounts, harvests, users
from hubbub.server.transports.web.visits import Visit, page

HERE: Final = "/settings/account"
SECOND_FACTOR: Final = f"{HERE}/second-factor"
DELETE: Final = f"{HERE}/delete"
SECRET_BYTES: Final = 20
"""RFC 4226 4: 160 bits."""


async def _show(visit: Visit, error: ApiError | None = None, **how: Any) -> web.Response:
    context: dict[str, Any] = {"me": await visit.me(), "sessions": await visit.ask(accounts.LIST_AUTH_SESSIONS)}
    if error is None:
        return visit.show("account.html", **context)
    return visit.refuse("account.html", error, **how, **context)


@page("GET", HERE)
async def show_account(visit: Visit) -> web.Response:
    """All of it on one page."""
    return await _show(visit)


@page("POST", f"{HERE}/profile")
async def change_profile(visit: Visit) -> web.Response:
    """Another display name."""
    try:
        await visit.ask(users.UPDATE_MY_USER, body={"global_name": visit.form.optional("global_name")})
    except ApiError as error:
        return await _show(visit, error, fields=("global_name",))
    return visit.go(HERE, say="Your display name is changed.")


@page("POST", f"{HERE}/password")
async def change_password(visit: Visit) -> web.Response:
    """Another password; everywhere else one is signed out."""
    form = visit.form
    body = {"password": form.text("password"), "new_password": form.text("new_password")}
    try:
        await visit.ask(accounts.CHANGE_PASSWORD, body=body)
    except ApiError as error:
        return await _show(visit, error, fields=("password", "new_password"))
    return visit.go(HERE, say="Your password is changed. Everywhere else you are logged out.")


# Sessions


@page("POST", HERE + r"/sessions/{session_id:\d+}/end")
async def end_session(visit: Visit) -> web.Response:
    """Log out somewhere else."""
    try:
        await visit.ask(accounts.DELETE_AUTH_SESSION, visit.path("session_id"))
    except ApiError as error:
        if error.status != 404:
            raise
    return visit.go(HERE, say="That session is ended.")


@page("POST", f"{HERE}/sessions/end-others")
async def end_other_sessions(visit: Visit) -> web.Response:
    """Log out everywhere else."""
    await visit.ask(accounts.DELETE_OTHER_AUTH_SESSIONS)
    return visit.go(HERE, say="You are logged out everywhere else.")


# The second factor


@page("GET", SECOND_FACTOR)
async def show_second_factor(visit: Visit) -> web.Response:
    """A new secret, or the way to do without."""
    me = await visit.me()
    if me.mfa_enabled:
        return visit.show("second_factor_off.html")
    return _show_secret(visit, me, base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode())


def _show_secret(visit: Visit, me: users.MyUser, secret: str, error: ApiError | None = None) -> web.Response:
    host = visit.config.web_url.partition("://")[2]
    label = quote(f"Hubbub:{me.username}", safe="")
    query = urlencode({"secret": secret, "issuer": f"Hubbub ({host})", "digits": 6, "period": 30}, quote_via=quote)
    context: dict[str, Any] = {
        "secret": secret,
        "grouped": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        "otpauth": f"otpauth://totp/{label}?{query}",
    }
    if error is None:
        return visit.show("second_factor_on.html", **context)
    return visit.refuse("second_factor_on.html", error, fields=("password", "code"), **context)


@page("POST", SECOND_FACTOR)
async def enable_second_factor(visit: Visit) -> web.Response:
    """Ask for a code from now on; the backup codes are shown this once."""
    form = visit.form
    secret = form.line("secret")
    body = {"password": form.text("password"), "secret": secret, "code": form.line("code").replace(" ", "")}
    try:
        made = await visit.ask(accounts.ENABLE_TOTP, body=body)
    except ApiError as error:
        return _show_secret(visit, await visit.me(), secret, error)
    return visit.show("backup_codes.html", codes=made.backup_codes)


@page("POST", f"{SECOND_FACTOR}/off")
async def disable_second_factor(visit: Visit) -> web.Response:
    """Ask for no code from now on."""
    form = visit.form
    body = {"password": form.text("password"), "code": form.line("code").replace(" ", "")}
    try:
        await visit.ask(accounts.DISABLE_TOTP, body=body)
    except ApiError as error:
        return visit.refuse("second_factor_off.html", error, fields=("password", "code"))
    return visit.go(HERE, say="Logging in takes only your password again.")


# A copy


@page("GET", f"{HERE}/export")
async def download_copy(visit: Visit) -> web.Response:
    """All that is kept of a person as one JSON file, written while it is read: however much they wrote, we hold one page of it."""
    kept = await visit.ask(accounts.HARVEST)
    headers = {
        "Content-Type": "application/json",
        "Content-Disposition": 'attachment; filename="hubbub-account.json"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return web.Response(body=_copy(visit, json.encode(kept)), headers=headers)


async def _copy(visit: Visit, kept: bytes) -> AsyncIterator[bytes]:
    yield kept.removesuffix(b"}") + b',"messages":[\n'
    after, first = 0, True
    while True:
        query = {"after": [str(after)], "limit": [str(harvests.PAGE_MAX)]}
        try:
            some = await visit.ask(harvests.LIST_HARVESTED_MESSAGES, query=query)
        except ApiError as error:
            if error.status != 429:
                raise
            await asyncio.sleep(float(error.extra.get("retry_after", 1)))
            continue
        if some:
            yield (b"" if first else b",\n") + b",\n".join(json.encode(each) for each in some)
            after, first = int(some[-1].id), False
        if len(some) < harvests.PAGE_MAX:
            break
    yield b"\n]}\n"


# The way out


@page("GET", DELETE)
async def show_delete(visit: Visit) -> web.Response:
    """What deleting means, and the last question."""
    return visit.show("delete_account.html", me=await visit.me())


@page("POST", DELETE)
async def delete_account(visit: Visit) -> web.Response:
    """Be gone."""
    form = visit.form
    body = {"password": form.text("password")}
    if form.line("code"):
        body["code"] = form.line("code").replace(" ", "")
    try:
        await visit.ask(accounts.DELETE_ACCOUNT, body=body)
    except ApiError as error:
        return visit.refuse("delete_account.html", error, fields=("password", "code"), me=await visit.me())
    visit.session.sign_out()
    visit.actor = None
    return visit.go("/login", say="Your account is deleted. Farewell, and thank you for being here.")
