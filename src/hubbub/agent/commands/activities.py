"""Commands for activities, activity invites and join requests (spec/rpc.md#8, spec/sdk.md#15)."""

import asyncio
import os
from typing import Any, Final

from hubbub.agent import activities
from hubbub.agent.commands.registry import handles_command
from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import number, one_of, parse_arguments, snowflake, text
from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId
from hubbub.protocol.resources.user_messages import (
    GET_ACTIVITY_JOIN_SECRET,
    SEND_USER_MESSAGE,
    GetActivityJoinSecret,
    SendActivity,
    SendUserMessage,
)
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand

INVITE_CONTENT_MAX: Final = 1024
PROCESS_ID_CHECK: Final = number(0, (1 << 31) - 1)
ATTEMPT_DELAYS_SECONDS: Final = (0.0, 0.1, 0.2, 0.4, 0.8)
"""Delays in seconds before the attempts to send an invite; the platform may not have processed the activity yet."""


@handles_command(RpcCommand.SET_ACTIVITY)
async def set_activity(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any] | None:
    """Set the activity of a process; without an activity in the arguments, remove it."""
    args = parse_arguments(request.args, {"pid": PROCESS_ID_CHECK})
    # Activities are stored by process ID; if that of the program is not known, the agent's own stands for it.
    pid = args.get("pid") or connection.pid or os.getpid()
    activity_value = (request.args or {}).get("activity")
    if activity_value is None:
        context.set_activity(connection, pid, None)
        return None
    activity = activities.parse_activity(
        activity_value,
        application_id=connection.application_id,
        name=connection.application.name,
        types=connection.application.activity_types,
        now_ms=context.activities.clock(),
    )
    context.set_activity(connection, pid, activity)
    return activity


@handles_command(RpcCommand.ACTIVITY_INVITE_USER)
async def activity_invite_user(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Invite a user to the activity of a process of this application."""
    # The SDK sends an empty content for an invite without text, which counts as absent.
    nonempty_args = {name: value for name, value in (request.args or {}).items() if value != ""}
    checks = {
        "user_id": snowflake,
        "type": one_of(ActivityActionType.JOIN),
        "content": text(1, INVITE_CONTENT_MAX),
        "pid": PROCESS_ID_CHECK,
    }
    args = parse_arguments(nonempty_args, checks, "user_id")
    await _send_invite(context, connection, args["user_id"], args.get("pid"), args.get("content", ""))


@handles_command(RpcCommand.SEND_ACTIVITY_JOIN_INVITE)
async def send_activity_join_invite(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Accept a user's join request by sending an invite."""
    args = parse_arguments(request.args, {"user_id": snowflake, "pid": PROCESS_ID_CHECK}, "user_id")
    _require_join_request(context, connection, args["user_id"])
    await _send_invite(context, connection, args["user_id"], args.get("pid"), "")
    context.join_requests.discard((connection.application_id, args["user_id"]))


@handles_command(RpcCommand.CLOSE_ACTIVITY_REQUEST, RpcCommand.CLOSE_ACTIVITY_JOIN_REQUEST)
async def close_activity_request(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Dismiss a user's join request without a response."""
    args = parse_arguments(request.args, {"user_id": snowflake}, "user_id")
    _require_join_request(context, connection, args["user_id"])
    context.join_requests.discard((connection.application_id, args["user_id"]))


@handles_command(RpcCommand.ACCEPT_ACTIVITY_INVITE)
async def accept_activity_invite(context: AgentContext, connection: ProgramConnection, request: Request) -> None:
    """Accept an invite, and send the join secret to the programs of its application, launching one if needed."""
    args = parse_arguments(
        request.args,
        {
            "type": one_of(ActivityActionType.JOIN),
            "user_id": snowflake,
            "session_id": text(1, 128),
            "channel_id": snowflake,
            "message_id": snowflake,
            "application_id": snowflake,
        },
        "user_id",
    )
    application_id = args.get("application_id", connection.application_id)
    activity = context.account.state.find_activity(args["user_id"], application_id) or {}
    session_id = args.get("session_id") or activity.get("session_id")
    if not session_id:
        raise RpcError(RpcErrorCode.NO_ELIGIBLE_ACTIVITY, "The user has no joinable activity")
    query = GetActivityJoinSecret()
    if "channel_id" in args:
        query.channel_id = ChannelId(args["channel_id"])
    if "message_id" in args:
        query.message_id = MessageId(args["message_id"])
    if not await join_session(context, args["user_id"], session_id, application_id, query):
        raise RpcError(RpcErrorCode.SERVICE_UNAVAILABLE, "The game is not running and has no launch command")


async def join_session(
    context: AgentContext, user_id: str, session_id: str, application_id: str, query: GetActivityJoinSecret
) -> bool:
    """Send the join secret of a user's session to the programs of an application, launching one if needed.

    `query` identifies the invite message. Return False if no program runs or can be launched."""
    try:
        response = await context.account.call(
            GET_ACTIVITY_JOIN_SECRET,
            query=query,
            user_id=user_id,
            session_id=session_id,
            application_id=application_id,
        )
    except ApiError as error:
        raise RpcError(RpcErrorCode.INVALID_ACTIVITY_SECRET, str(error)) from None
    return await context.join_game(application_id, response.secret)


def _require_join_request(context: AgentContext, connection: ProgramConnection, user_id: str) -> None:
    if (connection.application_id, user_id) not in context.join_requests:
        raise RpcError(RpcErrorCode.INVALID_ACTIVITY_JOIN_REQUEST, "The user has not requested to join")


async def _send_invite(
    context: AgentContext, connection: ProgramConnection, user_id: str, pid: int | None, content: str
) -> None:
    activity = context.activities.find(connection.application_id, pid or None)
    party_id = (activity or {}).get("party", {}).get("id")
    if activity is None or not party_id or "join" not in activity.get("secrets", {}):
        raise RpcError(RpcErrorCode.NO_ELIGIBLE_ACTIVITY, "The game has no activity with a joinable party")
    body = SendUserMessage(
        application_id=ApplicationId(connection.application_id),
        activity=SendActivity(
            type=ActivityActionType.JOIN, session_id=context.account.state.session_id, party_id=party_id
        ),
    )
    if content:
        body.content = content
    for delay_seconds in ATTEMPT_DELAYS_SECONDS:
        await asyncio.sleep(delay_seconds)
        try:
            await context.account.call(SEND_USER_MESSAGE, body=body, user_id=user_id)
            return
        except ApiError as error:
            failure = error
            if error.kind is not errors.INVALID_ACTIVITY_ACTION:
                break
    if failure.kind is errors.INVALID_ACTIVITY_ACTION:
        raise RpcError(RpcErrorCode.NO_ELIGIBLE_ACTIVITY, str(failure))
    raise RpcError(RpcErrorCode.INVALID_USER, str(failure))
