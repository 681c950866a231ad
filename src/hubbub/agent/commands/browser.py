"""Commands that open pages of the platform in the user's browser, and commands that the agent always rejects (spec/rpc.md#6)."""

from typing import Any, Final
from urllib.parse import quote

from hubbub.agent.commands.directory import WAIT_SECONDS_MAX, build_channel_view, require_channel
from hubbub.agent.commands.registry import handles_command
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import fields, number, parse_arguments, snowflake, text
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.invites import INVITE_RESOLVE
from hubbub.protocol.resources.templates import GET_GUILD_TEMPLATE
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import DeepLinkType, RpcCommand

_CODE_CHECK: Final = text(1, 128)
_DEEP_LINK_PARAMS_CHECK: Final = fields(
    {"code": _CODE_CHECK, "section": text(1, 64), "guildId": snowflake, "channelId": snowflake, "skuId": snowflake}
)


def _quoted_parameter(params: dict[str, Any], name: str) -> str:
    """Return a required parameter, quoted for use in a path; raise RpcError if it is missing."""
    if name not in params:
        message = f'child "params" fails because [child "{name}" fails because ["{name}" is required]]'
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, message)
    return quote(str(params[name]), safe="")


@handles_command(RpcCommand.DEEP_LINK)
async def deep_link(context: AgentContext, connection: ProgramConnection, request: Request) -> bool:
    """Open the page of the platform that `type` and `params` name."""
    args = parse_arguments(request.args, {"type": text(1, 64), "params": _DEEP_LINK_PARAMS_CHECK}, "type")
    params, page_type = args.get("params", {}), args["type"]
    if page_type == DeepLinkType.USER_SETTINGS:
        shows_apps = params.get("section") in ("connected-games", "authorized-apps")
        path = "/settings/apps" if shows_apps else "/settings/account"
    elif page_type in (DeepLinkType.INVITE, DeepLinkType.INVITE_BROWSER):
        path = f"/invite/{_quoted_parameter(params, 'code')}"
    elif page_type == DeepLinkType.CHANNEL:
        path = _channel_path(params.get("guildId"), _quoted_parameter(params, "channelId"))
    elif page_type in (DeepLinkType.APP_DIRECTORY, DeepLinkType.STORE):
        path = f"/application-directory/{connection.application_id}/store"
        path += f"/{params['skuId']}" if "skuId" in params else ""
    elif page_type == DeepLinkType.ACTIVATE_DEVICE:
        path = "/activate"
    else:
        raise RpcError(
            RpcErrorCode.INVALID_PAYLOAD, 'child "type" fails because ["type" is not a page of this platform]'
        )
    await context.open_page(path)
    return True


def _channel_path(guild_id: str | None, channel_id: str, message_id: str | None = None) -> str:
    path = f"/app/channels/{guild_id or '@me'}/{channel_id}"
    return path if message_id is None else f"{path}/{message_id}"


@handles_command(RpcCommand.OPEN_MESSAGE)
async def open_message(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Open a message in its channel; raise RpcError INVALID_CHANNEL if the user cannot see the channel."""
    args = parse_arguments(
        request.args,
        {"guild_id": snowflake, "channel_id": snowflake, "message_id": snowflake},
        "channel_id",
        "message_id",
    )
    channel = context.account.state.channels.get(args["channel_id"])
    if channel is None:
        raise RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id")
    await context.open_page(_channel_path(channel.get("guild_id"), channel["id"], args["message_id"]))


@handles_command(RpcCommand.SELECT_TEXT_CHANNEL)
async def select_text_channel(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> dict[str, Any] | None:
    """Open a text channel, or the start page without a channel ID."""
    args = parse_arguments(
        request.args, {"channel_id": snowflake, "timeout": number(0, WAIT_SECONDS_MAX, is_whole=False)}
    )
    if "channel_id" not in args:
        await context.open_page("/app")
        return None
    channel = require_channel(context, connection, args["channel_id"])
    await context.open_page(_channel_path(channel.get("guild_id"), channel["id"]))
    return await build_channel_view(context, connection, channel)


# Commands sent by the platform's web pages


@handles_command(RpcCommand.INVITE_BROWSER)
async def invite_browser(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Open the page of an invite and return the invite."""
    code = parse_arguments(request.args, {"code": _CODE_CHECK}, "code")["code"]
    try:
        invite = await context.account.forward(INVITE_RESOLVE, code=code)
    except ApiError as error:
        raise RpcError(RpcErrorCode.INVALID_INVITE, str(error)) from None
    await context.open_page(f"/invite/{quote(invite['code'], safe='')}")
    return {"invite": invite, "code": invite["code"]}


@handles_command(RpcCommand.GUILD_TEMPLATE_BROWSER)
async def guild_template_browser(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> dict[str, Any]:
    """Open the page of a guild template and return the template."""
    code = parse_arguments(request.args, {"code": _CODE_CHECK}, "code")["code"]
    try:
        template = await context.account.forward(GET_GUILD_TEMPLATE, code=code)
    except ApiError as error:
        raise RpcError(RpcErrorCode.INVALID_GUILD_TEMPLATE, str(error)) from None
    await context.open_page(f"/template/{quote(template['code'], safe='')}")
    return {"guildTemplate": template, "code": template["code"]}


@handles_command(RpcCommand.GIFT_CODE_BROWSER)
async def gift_code_browser(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Reject a gift code, because the platform has no gifts."""
    parse_arguments(request.args, {"code": _CODE_CHECK}, "code")
    raise RpcError(RpcErrorCode.INVALID_GIFT_CODE, "Invalid gift code")


@handles_command(RpcCommand.CONNECTIONS_CALLBACK)
async def connections_callback(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Reject the callback of an external account, because such accounts are connected on the platform's own pages."""
    parse_arguments(request.args, {"providerType": text(1, 64), "code": text(1, 2048)}, "providerType")
    raise RpcError(RpcErrorCode.INVALID_CONNECTION_CALLBACK_STATE, "No connection is waiting for this callback")


# Commands that the agent does not support


@handles_command(
    RpcCommand.OVERLAY,
    RpcCommand.SET_OVERLAY_LOCKED,
    RpcCommand.OPEN_OVERLAY_ACTIVITY_INVITE,
    RpcCommand.OPEN_OVERLAY_GUILD_INVITE,
    RpcCommand.OPEN_OVERLAY_VOICE_SETTINGS,
    RpcCommand.TOGGLE_VIDEO,
    RpcCommand.TOGGLE_SCREENSHARE,
    RpcCommand.INITIATE_IMAGE_UPLOAD,
    RpcCommand.GET_ENTITLEMENT_TICKET,
    RpcCommand.GET_APPLICATION_TICKET,
)
async def reject_unsupported(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Reject a command that the agent does not support."""
    raise RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, f"This agent does not support {request.cmd}")


@handles_command(RpcCommand.OPEN_INVITE_DIALOG)
async def open_invite_dialog(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Reject the invite dialog, which is available only to activities embedded in a channel."""
    raise RpcError(RpcErrorCode.NO_ELIGIBLE_ACTIVITY, "This program is not embedded in a channel")
