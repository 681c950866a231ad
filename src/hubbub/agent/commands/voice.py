"""Commands for voice channels, voice settings and the soundboard (spec/rpc.md#6, spec/rpc.md#9)."""

from typing import Any, Final

from hubbub.agent.commands.directory import WAIT_SECONDS_MAX, build_channel_view, require_channel
from hubbub.agent.commands.registry import handles_command
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import boolean, fields, items, number, one_of, parse_arguments, snowflake, text
from hubbub.agent.voice import SETTINGS_CHECKS, USER_SETTINGS_CHECKS
from hubbub.protocol.enums import VOICE_TYPES
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import GuildId, SoundId
from hubbub.protocol.resources.soundboard import GET_SOUNDBOARD_DEFAULT_SOUNDS, SEND_SOUNDBOARD_SOUND, SendSound
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand

SELECT_TIMEOUT_SECONDS: Final = 10.0
DEVICES_MAX: Final = 100

_NAME_AND_URL_CHECK: Final = fields({"name": text(1, 128), "url": text(1, 512)}, required=("name", "url"))
_DEVICE_CHECK: Final = fields(
    {
        "type": one_of("audioinput", "audiooutput", "videoinput"),
        "id": text(1, 256),
        "vendor": _NAME_AND_URL_CHECK,
        "model": _NAME_AND_URL_CHECK,
        "related": items(text(1, 256), 0, DEVICES_MAX),
        "echo_cancellation": boolean,
        "noise_suppression": boolean,
        "automatic_gain_control": boolean,
        "hardware_mute": boolean,
    },
    required=("type", "id"),
)


@handles_command(RpcCommand.GET_VOICE_SETTINGS)
async def get_voice_settings(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Get the user's voice settings, including the changes of the program that controls them."""
    await context.refresh_devices()
    return context.voice.get_settings()


@handles_command(RpcCommand.SET_VOICE_SETTINGS, RpcCommand.SET_VOICE_SETTINGS_2)
async def set_voice_settings(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Update the user's voice settings, which are reset when the program disconnects, and return all of them."""
    settings = parse_arguments(request.args, SETTINGS_CHECKS)
    if not settings:
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, '"args" must contain at least one setting')
    if any("device_id" in settings.get(name, {}) for name in ("input", "output")):
        await context.refresh_devices()
        context.voice.require_available_devices(settings)
    context.voice.update(connection, settings)
    return context.voice.get_settings()


@handles_command(RpcCommand.SET_USER_VOICE_SETTINGS, RpcCommand.SET_USER_VOICE_SETTINGS_2)
async def set_user_voice_settings(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> dict[str, Any]:
    """Update the volume, pan or mute of another user in the same voice channel."""
    args = parse_arguments(request.args, {"user_id": snowflake, **USER_SETTINGS_CHECKS}, "user_id")
    user_id = args.pop("user_id")
    channel = context.account.state.find_voice_channel()
    present_user_ids = (
        []
        if channel is None
        else [voice_state["user_id"] for voice_state in context.account.state.list_voice_states(channel["id"])]
    )
    if user_id not in present_user_ids:
        raise RpcError(RpcErrorCode.INVALID_USER, "The user is not in the same voice channel")
    context.voice.update_user(connection, user_id, args)
    return {"user_id": user_id} | context.voice.get_user_settings(user_id)


@handles_command(RpcCommand.PUSH_TO_TALK)
async def push_to_talk(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Press or release the push-to-talk key."""
    args = parse_arguments(request.args, {"active": boolean}, "active")
    context.set_push_to_talk(connection, args["active"])


@handles_command(RpcCommand.SET_CERTIFIED_DEVICES)
async def set_certified_devices(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Store the certified devices of a hardware vendor in place of the previous ones.

    The voice settings show their vendor and model, and processing that a certified microphone does itself is disabled."""
    args = parse_arguments(request.args, {"devices": items(_DEVICE_CHECK, 0, DEVICES_MAX)}, "devices")
    context.voice.devices = args["devices"]
    context.apply_voice_settings()
    context.publish_voice_settings()


@handles_command(RpcCommand.GET_SELECTED_VOICE_CHANNEL)
async def get_selected_voice_channel(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> dict[str, Any] | None:
    """Get the voice channel that the user is in, whichever client the user joined it with; null if none."""
    channel = context.account.state.find_voice_channel()
    return None if channel is None else await build_channel_view(context, connection, channel)


@handles_command(RpcCommand.SELECT_VOICE_CHANNEL)
async def select_voice_channel(
    context: AgentContext, connection: ProgramConnection, request: Request
) -> dict[str, Any] | None:
    """Move the user to a voice channel; without a channel ID, disconnect the user."""
    args = parse_arguments(
        request.args,
        {
            "channel_id": snowflake,
            "timeout": number(0, WAIT_SECONDS_MAX, is_whole=False),
            "force": boolean,
            "navigate": boolean,
        },
    )
    state, timeout_seconds = context.account.state, args.get("timeout", SELECT_TIMEOUT_SECONDS)
    previous_channel = state.find_voice_channel()
    if "channel_id" not in args:
        if previous_channel is not None:
            await context.set_voice_channel(None, previous_channel.get("guild_id"))
            await _wait_for_channel(context, None, timeout_seconds)
        return None
    channel = require_channel(context, connection, args["channel_id"])
    if channel["type"] not in VOICE_TYPES:
        raise RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id")
    if previous_channel is not None and previous_channel["id"] != channel["id"] and not args.get("force"):
        raise RpcError(RpcErrorCode.SELECT_VOICE_FORCE_REQUIRED, "The user is in another voice channel")
    if previous_channel is None or previous_channel["id"] != channel["id"]:
        try:
            await context.set_voice_channel(channel)
            await _wait_for_channel(context, channel["id"], timeout_seconds)
        except RpcError:
            await context.leave_call()
            raise
    return await build_channel_view(context, connection, channel)


async def _wait_for_channel(context: AgentContext, channel_id: str | None, timeout_seconds: float) -> None:
    """Wait until the user is in the voice channel, or in none if `channel_id` is None.

    The platform does not report a rejected move, so raise RpcError SELECT_CHANNEL_TIMED_OUT after the timeout."""
    account = context.account
    if not await account.wait_until(
        lambda: (account.state.find_voice_channel() or {}).get("id") == channel_id, timeout_seconds
    ):
        raise RpcError(RpcErrorCode.SELECT_CHANNEL_TIMED_OUT, "The platform did not move the user in time")


@handles_command(RpcCommand.GET_SOUNDBOARD_SOUNDS)
async def get_soundboard_sounds(context: AgentContext, connection: ProgramConnection, request: Request) -> list[Any]:
    """List the sounds that the user can play: the default sounds and those of the user's guilds."""
    sounds: list[Any] = await context.account.forward(GET_SOUNDBOARD_DEFAULT_SOUNDS)
    for guild in context.account.state.guilds.values():
        sounds += guild.get("soundboard_sounds", [])
    return sounds


@handles_command(RpcCommand.PLAY_SOUNDBOARD_SOUND)
async def play_soundboard_sound(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Play a sound in the user's voice channel."""
    args = parse_arguments(request.args, {"sound_id": snowflake, "guild_id": snowflake}, "sound_id")
    channel = context.account.state.find_voice_channel()
    if channel is None:
        raise RpcError(RpcErrorCode.INVALID_CHANNEL, "The user is not in a voice channel")
    body = SendSound(sound_id=SoundId(args["sound_id"]))
    if args.get("guild_id"):
        body.source_guild_id = GuildId(args["guild_id"])
    try:
        await context.account.call(SEND_SOUNDBOARD_SOUND, body=body, channel_id=channel["id"])
    except ApiError as error:
        code = RpcErrorCode.INVALID_PERMISSIONS if error.status == 403 else RpcErrorCode.INVALID_SOUND
        raise RpcError(code, str(error)) from None
