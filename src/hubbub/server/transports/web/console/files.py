"""The file page of the operator console, and the forms for storage quotas of accounts and guilds."""

from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import file_administration as wire
from hubbub.protocol.resources.administration import SEARCH_TEXT_MAX, Operator
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.console.common import (
    CONSOLE_PATH,
    PAGE_SIZE,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/files"
"""Path of the page, relative to `CONSOLE_PATH`."""
MIB: Final = 1024 * 1024


@console_page("GET", PATH)
async def show_files(request: PageRequest, operator: Operator) -> web.Response:
    """Show the storage of the server and the largest files."""
    return render(request, "files.html", operator, **await _context(request))


@console_page("POST", PATH + r"/{attachment_id:\d{1,19}}/delete")
async def delete_file(request: PageRequest, operator: Operator) -> web.Response:
    """Delete an uploaded file for the reason of the form."""
    body = {"reason": request.form.trimmed("reason")}
    try:
        await request.call(wire.ADMINISTRATIVELY_DELETE_FILE, request.path_parameter("attachment_id"), body=body)
    except ApiError as error:
        return render_errors(request, "files.html", error, operator, fields=(), **await _context(request))
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("File deleted."))


@console_page("POST", r"/users/{user_id:\d{1,19}}/quota")
async def set_user_quota(request: PageRequest, operator: Operator) -> web.Response:
    """Set the storage quota of an account."""
    user_id = request.path_parameter("user_id")
    await request.call(wire.SET_USER_QUOTA, user_id, body=_quota_body(request))
    return request.redirect(f"{CONSOLE_PATH}/users/{user_id}", notice=gettext("Storage quota saved."))


@console_page("POST", r"/guilds/{guild_id:\d{1,19}}/quota")
async def set_guild_quota(request: PageRequest, operator: Operator) -> web.Response:
    """Set the storage quota of a guild."""
    guild_id = request.path_parameter("guild_id")
    await request.call(wire.SET_GUILD_QUOTA, guild_id, body=_quota_body(request))
    return request.redirect(f"{CONSOLE_PATH}/guilds/{guild_id}", notice=gettext("Storage quota saved."))


def _quota_body(request: PageRequest) -> dict[str, Any]:
    """Return the body with the quota of the form, which is in MiB; text that is not a number means the default."""
    quota_text = request.form.trimmed("quota_mib")
    quota_bytes = (
        min(int(quota_text) * MIB, wire.QUOTA_BYTES_MAX) if quota_text.isascii() and quota_text.isdigit() else None
    )
    return {"bytes": quota_bytes} | reason_body(request)


async def _context(request: PageRequest) -> dict[str, Any]:
    query = {"limit": [str(PAGE_SIZE + 1)]}
    for name in ("guild_id", "owner_id", "after"):
        id_text = request.query_parameter(name)
        if id_text.isascii() and id_text.isdigit():
            query[name] = [id_text]
    name_part = request.query_parameter("name").strip()[:SEARCH_TEXT_MAX]
    if name_part:
        query["name"] = [name_part]
    files = await request.call(wire.LIST_FILES, query=query)
    filters = {name: query[name][0] for name in ("name", "guild_id", "owner_id") if name in query}
    next_path = None
    if len(files) > PAGE_SIZE:
        parameters = filters | {"after": str(int(files[PAGE_SIZE - 1].id))}
        next_path = f"{CONSOLE_PATH}{PATH}?{urlencode(parameters)}"
    return {
        "storage": await request.call(wire.GET_STORAGE),
        "files": files[:PAGE_SIZE],
        "filters": filters,
        "is_filtered": len(query) > 1,
        "next_path": next_path,
    }
