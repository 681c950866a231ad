"""Commands for guilds, channels, permissions, channel invites, users, relationships and avatars (spec/rpc.md#6).

Most responses come from the cached state.
"""

import base64
from typing import Any, Final

import aiohttp

from hubbub.agent import views
from hubbub.agent.commands.registry import handles_command, require_allowed
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import boolean, number, one_of, parse_arguments, snowflake
from hubbub.protocol.enums import THREAD_TYPES, Scope
from hubbub.protocol.errors import ApiError
from hubbub.protocol.images import DEFAULT_AVATAR_COUNT
from hubbub.protocol.permissions import base_permissions, channel_permissions, thread_permissions
from hubbub.protocol.resources.invites import (
    CREATE_CHANNEL_INVITE,
    INVITE_AGE_SECONDS_MAX,
    INVITE_USES_MAX,
    CreateChannelInvite,
)
from hubbub.protocol.resources.messages import LIST_MESSAGES, ListMessages
from hubbub.protocol.resources.users import GET_USER
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand
from hubbub.sdk.daemon_threads import new_session

WAIT_SECONDS_MAX: Final = 60
"""Upper limit of the argument `timeout`, in seconds."""
MESSAGES_MAX: Final = 50
"""Maximum number of messages in the view of a channel."""
IMAGE_BYTES_MAX: Final = 8 << 20
IMAGE_TIMEOUT_SECONDS: Final = 10.0
PRIVATE_CHANNEL_SCOPES: Final = frozenset({Scope.RPC.value, Scope.DM_CHANNELS_READ.value})
"""Scopes that allow access to private channels; one of them is enough."""

INVALID_GUILD: Final = (RpcErrorCode.INVALID_GUILD, "Invalid guild id")
INVALID_CHANNEL: Final = (RpcErrorCode.INVALID_CHANNEL, "Invalid channel id")
INVALID_USER: Final = (RpcErrorCode.INVALID_USER, "Invalid user id")


@handles_command(RpcCommand.GET_GUILDS)
async def get_guilds(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """List the user's guilds."""
    account = context.account
    return {"guilds": [views.guild(account.web_url, guild) for guild in account.state.guilds.values()]}


@handles_command(RpcCommand.GET_GUILD)
async def get_guild(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Get a guild, waiting up to `timeout` seconds if it is still loading."""
    args = parse_arguments(
        request.args, {"guild_id": snowflake, "timeout": number(0, WAIT_SECONDS_MAX, is_whole=False)}, "guild_id"
    )
    guild_id, state = args["guild_id"], context.account.state
    if guild_id in state.pending_guilds and not await context.account.wait_until(
        lambda: guild_id not in context.account.state.pending_guilds, args.get("timeout", 0)
    ):
        raise RpcError(RpcErrorCode.GET_GUILD_TIMED_OUT, "The guild did not load in time")
    guild = state.guilds.get(guild_id)
    if guild is None:
        raise RpcError(*INVALID_GUILD)
    # The field `members` is deprecated and always empty.
    return views.guild(context.account.web_url, guild) | {"members": []}


@handles_command(RpcCommand.GET_CHANNELS)
async def get_channels(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """List the channels of a guild."""
    guild_id = parse_arguments(request.args, {"guild_id": snowflake}, "guild_id")["guild_id"]
    state = context.account.state
    if guild_id not in state.guilds:
        raise RpcError(*INVALID_GUILD)
    channels = [channel for channel in state.channels.values() if channel.get("guild_id") == guild_id]
    channels.sort(key=lambda channel: (channel.get("position") or 0, int(channel["id"])))
    return {
        "channels": [
            {"id": channel["id"], "name": channel.get("name") or "", "type": channel["type"]} for channel in channels
        ]
    }


def require_channel(context: AgentContext, connection: ProgramConnection, channel_id: str) -> dict[str, Any]:
    """Return a channel that the program may access; raise RpcError INVALID_CHANNEL or INVALID_PERMISSIONS otherwise."""
    channel = context.account.state.channels.get(channel_id)
    if channel is None:
        raise RpcError(*INVALID_CHANNEL)
    if not channel.get("guild_id"):
        require_allowed(not PRIVATE_CHANNEL_SCOPES.isdisjoint(connection.scopes))
    return channel


async def build_channel_view(
    context: AgentContext, connection: ProgramConnection, channel: dict[str, Any]
) -> dict[str, Any]:
    """Build the view of a channel, with its newest messages if the program may read them."""
    messages: list[dict[str, Any]] = []
    if Scope.MESSAGES_READ.value in connection.scopes or channel.get("application_id") == connection.application_id:
        try:
            messages = await context.account.forward(
                LIST_MESSAGES, query=ListMessages(limit=MESSAGES_MAX), channel_id=channel["id"]
            )
        except ApiError:
            # The channel type has no messages, or the user may not read them.
            messages = []
    return views.channel(context.account.state, context.voice, channel, messages)


@handles_command(RpcCommand.GET_CHANNEL)
async def get_channel(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Get a channel, with its newest messages if the program may read them."""
    channel_id = parse_arguments(request.args, {"channel_id": snowflake}, "channel_id")["channel_id"]
    return await build_channel_view(context, connection, require_channel(context, connection, channel_id))


@handles_command(RpcCommand.GET_CHANNEL_PERMISSIONS)
async def get_channel_permissions(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> dict[str, str]:
    """Get the user's permissions in a guild channel."""
    channel_id = parse_arguments(request.args, {"channel_id": snowflake}, "channel_id")["channel_id"]
    state = context.account.state
    channel = state.channels.get(channel_id)
    guild = state.guilds.get(str((channel or {}).get("guild_id")))
    if channel is None or guild is None:
        raise RpcError(*INVALID_CHANNEL)
    return {"permissions": str(compute_permissions(guild, channel, state.members.get(guild["id"], {}), state.user_id))}


def compute_permissions(guild: dict[str, Any], channel: dict[str, Any], member: dict[str, Any], user_id: str) -> int:
    """Compute the permissions of a member in a channel."""
    bits_by_role = {role["id"]: int(role["permissions"]) for role in guild.get("roles", [])}
    role_ids = member.get("roles", [])
    base = base_permissions(
        guild.get("owner_id") == user_id,
        bits_by_role.get(guild["id"], 0),
        (bits_by_role.get(role_id, 0) for role_id in role_ids),
    )
    overwrites = {
        overwrite["id"]: (int(overwrite["allow"]), int(overwrite["deny"]))
        for overwrite in channel.get("permission_overwrites", [])
    }
    permissions = channel_permissions(
        base,
        overwrites.get(guild["id"]),
        [overwrites[role_id] for role_id in role_ids if role_id in overwrites],
        overwrites.get(user_id),
    )
    return thread_permissions(permissions) if channel["type"] in THREAD_TYPES else permissions


@handles_command(RpcCommand.CREATE_CHANNEL_INVITE)
async def create_channel_invite(context: AgentContext, connection: ProgramConnection, request: Request) -> Any:
    """Create an invite to a channel as the user."""
    args = parse_arguments(
        request.args,
        {
            "channel_id": snowflake,
            "max_age": number(0, INVITE_AGE_SECONDS_MAX),
            "max_uses": number(0, INVITE_USES_MAX),
            "temporary": boolean,
            "unique": boolean,
        },
        "channel_id",
    )
    require_channel(context, connection, args["channel_id"])
    body = CreateChannelInvite(**{name: value for name, value in args.items() if name != "channel_id"})
    try:
        return await context.account.forward(CREATE_CHANNEL_INVITE, body=body, channel_id=args["channel_id"])
    except ApiError as error:
        code = RpcErrorCode.INVALID_PERMISSIONS if error.status == 403 else RpcErrorCode.INVALID_INVITE
        raise RpcError(code, str(error)) from None


@handles_command(RpcCommand.GET_USER)
async def get_user(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Get a user from the cached state or from the platform."""
    return views.user(await require_user(context, parse_arguments(request.args, {"id": snowflake}, "id")["id"]))


async def require_user(context: AgentContext, user_id: str) -> dict[str, Any]:
    """Return a user from the cached state or from the platform; raise RpcError INVALID_USER if neither has the user."""
    cached_user = context.account.state.users.get(user_id)
    if cached_user is not None:
        return cached_user
    try:
        user: dict[str, Any] = await context.account.forward(GET_USER, user_id=user_id)
    except ApiError:
        raise RpcError(*INVALID_USER) from None
    return user


@handles_command(RpcCommand.GET_RELATIONSHIPS)
async def get_relationships(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """List the user's relationships."""
    state = context.account.state
    return {"relationships": [views.relationship(state, relationship) for relationship in state.relationships.values()]}


@handles_command(RpcCommand.GET_IMAGE)
async def get_image(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, str]:
    """Get the avatar image of a user as a data URI. `format` and `size` do not apply to a default avatar."""
    args = parse_arguments(
        request.args,
        {
            "type": one_of("user"),
            "id": snowflake,
            "format": one_of("png", "webp", "jpg"),
            "size": one_of(16, 32, 64, 128, 256, 512, 1024),
        },
        "type",
        "id",
    )
    user = await require_user(context, args["id"])
    image_format = args.get("format", "png")
    if user.get("avatar"):
        path = f"/cdn/avatars/{user['id']}/{user['avatar']}.{image_format}?size={args.get('size', 128)}"
    else:
        path = f"/cdn/embed/avatars/{(int(user['id']) >> 22) % DEFAULT_AVATAR_COUNT}.png"
    content_type, image = await fetch_image(f"{context.account.web_url}{path}")
    return {"data_url": f"data:{content_type};base64,{base64.b64encode(image).decode()}"}


async def fetch_image(url: str) -> tuple[str, bytes]:
    """Return the media type and the content of an image; raise RpcError if it cannot be fetched."""
    try:
        async with (
            new_session() as session,
            session.get(url, timeout=aiohttp.ClientTimeout(total=IMAGE_TIMEOUT_SECONDS)) as response,
        ):
            if response.status != 200:
                raise RpcError(RpcErrorCode.UNKNOWN, "The image does not exist")
            image = bytearray()
            async for chunk in response.content.iter_any():
                image += chunk
                if len(image) > IMAGE_BYTES_MAX:
                    raise RpcError(RpcErrorCode.UNKNOWN, "The image is too large")
            return response.content_type, bytes(image)
    except (aiohttp.ClientError, OSError):
        raise RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, "The image could not be fetched") from None
