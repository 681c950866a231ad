"""Account deletion: the user first transfers or deletes each guild that they own, then deletes the account."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import accounts, guilds, members
from hubbub.protocol.resources.guilds import MyGuild
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/settings/account/delete"
OWNED_GUILD_PATH: Final = PATH + r"/guilds/{guild_id:\d{1,19}}"
SEARCH_MAX: Final = 10
"""Maximum number of search results that are compared with the username that the user typed."""


async def _list_owned_guilds(request: PageRequest) -> list[MyGuild]:
    return [guild for guild in await request.call(guilds.LIST_MY_GUILDS) if guild.owner]


async def _show(request: PageRequest, error: ApiError | None = None) -> web.Response:
    """Show the first guild that the user owns, or the form that deletes the account; `error` is shown beside its field."""
    context: dict[str, Any] = {"me": await request.current_user(), "owned": await _list_owned_guilds(request)}
    if error is None:
        return request.render("delete_account.html", **context)
    return request.render_errors(
        "delete_account.html", error, fields=("password", "code", "new_owner", "guild_name"), **context
    )


@page("GET", PATH)
async def show_delete(request: PageRequest) -> web.Response:
    """Show the next step of account deletion."""
    return await _show(request)


@page("POST", f"{OWNED_GUILD_PATH}/transfer")
async def transfer_guild(request: PageRequest) -> web.Response:
    """Transfer a guild to the member with the username that the user typed."""
    guild_id = request.path_parameter("guild_id")
    username = request.form.trimmed("new_owner").removeprefix("@").lower()
    try:
        new_owner = await _require_member(request, guild_id, username)
        await request.call(guilds.UPDATE_GUILD, guild_id, body={"owner_id": str(int(new_owner.id))})
    except ApiError as error:
        return await _show(request, error)
    return request.redirect(
        PATH, notice=gettext("{name} owns the guild now.", name=new_owner.global_name or new_owner.username)
    )


async def _require_member(request: PageRequest, guild_id: str, username: str) -> Any:
    query = {"query": [username], "limit": [str(SEARCH_MAX)]}
    matching_members = await request.call(members.SEARCH_GUILD_MEMBERS, guild_id, query=query) if username else []
    for member in matching_members:
        if member.user.username == username and member.user.bot is not True:
            if member.user.id == request.required_actor.user_id:
                raise errors.invalid("new_owner", "NEW_OWNER_INVALID", gettext("Enter the username of another member."))
            return member.user
    raise errors.invalid("new_owner", "NEW_OWNER_UNKNOWN", gettext("No member of this guild has this username."))


@page("POST", f"{OWNED_GUILD_PATH}/delete")
async def delete_guild(request: PageRequest) -> web.Response:
    """Delete a guild after the user typed its name."""
    guild_id = request.path_parameter("guild_id")
    guild = next((guild for guild in await _list_owned_guilds(request) if str(int(guild.id)) == guild_id), None)
    if guild is None:
        return request.redirect(PATH)
    try:
        if request.form.trimmed("guild_name") != guild.name:
            raise errors.invalid(
                "guild_name", "GUILD_NAME_MISMATCH", gettext("Type the name of the guild: {name}", name=guild.name)
            )
        await request.call(guilds.DELETE_GUILD, guild_id)
    except ApiError as error:
        return await _show(request, error)
    return request.redirect(PATH, notice=gettext("{name} was deleted.", name=guild.name))


@page("POST", PATH)
async def delete_account(request: PageRequest) -> web.Response:
    """Delete the account and log the user out."""
    form = request.form
    body = {"password": form.text("password")}
    if form.trimmed("code"):
        body["code"] = form.trimmed("code").replace(" ", "")
    try:
        await request.call(accounts.DELETE_ACCOUNT, body=body)
    except ApiError as error:
        return await _show(request, error)
    request.session.sign_out()
    request.actor = None
    return request.redirect("/login", notice=gettext("Your account was deleted."))
