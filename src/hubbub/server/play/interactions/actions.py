"""Deliver interactions to applications and apply their responses: write to the database and publish events."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import AllowedMentionType, CommandOptionType, InteractionCallbackType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, GuildId, InteractionId, MessageId, Snowflake
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.messages import (
    AllowedMentions,
    CreateMessage,
    Message,
    MessageReference,
    UpdateMessage,
)
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.places.standing import ChannelRef
from hubbub.server.play import commands
from hubbub.server.play.interactions import (
    activity_launch,
    endpoints,
    invocations,
    related_views,
    responders,
    rules,
    store,
    timeouts,
    views,
)
from hubbub.server.play.interactions.invocations import Invocation, PreparedInteraction
from hubbub.server.play.interactions.responders import Responder
from hubbub.server.play.interactions.store import (
    InteractionApplication,
    InteractionRow,
    Modal,
    PendingInteraction,
    ResponseState,
)
from hubbub.server.talk import messages
from hubbub.server.talk.messages import InteractionResponse, MessageRow

INVALID_RESPONSE: Final = 1
"""Reason code of INTERACTION_FAILURE: the response was invalid."""
TIMED_OUT: Final = 2
"""Reason code of INTERACTION_FAILURE: the application did not respond in time."""

_SETTABLE_FLAGS: Final = MessageFlags.SETTABLE
_DEFERRED_FLAGS: Final = MessageFlags.LOADING


# Delivery


def deliver(invocation: Invocation, prepared: PreparedInteraction) -> None:
    """Store an interaction, deliver it to the application and publish its ID to the invoking user."""
    call, application, channel_access = invocation.call, invocation.application, invocation.channel_access
    token = store.new_token(invocation.interaction_id)
    row = InteractionRow(
        id=invocation.interaction_id,
        application_id=application.id,
        type=prepared.type,
        user_id=call.user_id,
        channel_id=channel_access.channel.id,
        guild_id=channel_access.channel.guild_id,
        asked=codec.encode(prepared.state).decode(),
    )
    store.insert(call.tx, row, token, call.now_ms)
    result_payload = _result_payload(row, prepared.state)
    _notify_user(call, row, prepared.state, wire.INTERACTION_CREATE, result_payload)
    if prepared.launches_activity:
        # spec/webhooks-and-interactions.md#5.1: the platform launches the activity itself and does not contact the app.
        _launch_activity(call, row, prepared.state, application)
        return
    view = views.interaction(invocation, prepared, token)
    if not invocation.timeout_scheduled:
        timeouts.schedule(call)
    if endpoints.has_endpoint(application):
        endpoints.enqueue_delivery(call, row, token, view)
        return
    bot_id = int(application.bot_id or 0)
    # Only the bot's session on the guild's shard receives the interaction (spec/gateway.md#4.2), so the guild's audience
    # is not consulted.
    shard_guild_id = channel_access.channel.guild_id if invocation.bot_access is not None else None
    call.tx.emit(wire.INTERACTION_CREATE, view, UserAudience.of(bot_id, shard_guild_id=shard_guild_id))


def _launch_activity(
    call: Call, row: InteractionRow, state: ResponseState, application: InteractionApplication
) -> None:
    """Launch the activity of an entry point command and announce it; on failure, publish the reason to the user."""
    responder = responders.follow_up_responder(call, application, row)
    try:
        if not state.ephemeral:
            responders.require_unlocked(responder.channel_access)
        activity_launch.launch(call, row, state, application)
    except errors.ApiError as error:
        store.record_response(call.tx, row.id, store.FAILED, None)
        _publish_failure(call, row, activity_launch.failure_reason(error))
        return
    message = _create_response(call, row, state, responder, activity_launch.announcement(row, application)).message
    callback_type = InteractionCallbackType.LAUNCH_ACTIVITY
    store.record_response(call.tx, row.id, callback_type, None if message is None else message.id)
    _notify_user(call, row, state, wire.INTERACTION_SUCCESS, _result_payload(row, state))


def fail_unanswered(call: Call, created_before_ms: int) -> None:
    """Fail the unanswered interactions that were created before `created_before_ms`, and publish the failures."""
    # IDs may run slightly ahead of the clock that scheduled the job.
    since_ms = created_before_ms - 4 * timeouts.GRANULARITY_MS
    for row in store.fail_range(call.tx, Snowflake.at(since_ms), Snowflake.at(created_before_ms)):
        _publish_failure(call, row, TIMED_OUT)


def fail(call: Call, interaction_id: int, problem: str, reason_code: int) -> None:
    """Fail an interaction whose HTTP endpoint returned an error, an invalid response, or none.

    `problem` is the error text that the application's developers see; `reason_code` is INVALID_RESPONSE or TIMED_OUT."""
    row = store.find(call.tx, interaction_id)
    if row is not None and store.fail_one(call.tx, interaction_id, problem):
        _publish_failure(call, row, reason_code)


def _publish_failure(call: Call, row: InteractionRow, reason_code: int) -> None:
    state = store.decode_response_state(row)
    payload = wire.InteractionFailed(
        id=InteractionId(row.id), nonce=UNSET if state.nonce is None else state.nonce, reason_code=reason_code
    )
    _notify_user(call, row, state, wire.INTERACTION_FAILURE, payload)


def _result_payload(row: InteractionRow, state: ResponseState) -> wire.InteractionResult:
    return wire.InteractionResult(id=InteractionId(row.id), nonce=UNSET if state.nonce is None else state.nonce)


def _notify_user(
    call: Call, row: InteractionRow, state: ResponseState, event: Event[Any], payload: wire.InteractionResult
) -> None:
    """Publish the creation or the outcome of an interaction to the session of the invoking user."""
    call.tx.emit(event, payload, UserAudience.of(row.user_id, session_id=state.session_id or None))


# Initial responses


class ResponseResult(msgspec.Struct):
    """The result of an initial response."""

    message: Message | None = None
    """The message that the response created or updated, or None."""
    ephemeral: bool = False
    """Whether only the invoking user can see the message."""
    activity_id: str | None = None
    """Instance ID of the activity that was launched, or None."""


def respond(call: Call, pending: PendingInteraction, state: ResponseState, body: wire.Callback) -> ResponseResult:
    """Apply the initial response `body` to the pending interaction `pending`."""
    row, application = pending.row, pending.application
    callback_type = int(body.__struct_config__.tag)  # type: ignore[arg-type]
    result, modal = ResponseResult(), None
    original_id: int | None = None
    outcome_event: tuple[Event[Any], wire.InteractionResult] = (wire.INTERACTION_SUCCESS, _result_payload(row, state))
    if isinstance(body, wire.MessageCallback):
        with errors.prefix_error_paths("data"):
            result = _create_response(
                call, row, state, responders.initial_responder(call, pending), body.data or wire.CallbackMessage()
            )
    elif isinstance(body, wire.DeferredMessageCallback):
        flags = (body.data.flags or 0) & MessageFlags.EPHEMERAL if body.data else 0
        responder = responders.initial_responder(call, pending)
        result = _create_response(call, row, state, responder, wire.CallbackMessage(flags=flags), flags=_DEFERRED_FLAGS)
    elif isinstance(body, wire.PremiumCallback):
        result = _create_premium_upsell(call, row, state, application)
    elif isinstance(body, wire.UpdateCallback):
        original_id = state.message_id
        with errors.prefix_error_paths("data"):
            result.message = _update_component_message(
                call, row, state, application, body.data or wire.CallbackMessage()
            )
        result.ephemeral = state.ephemeral_message
    elif isinstance(body, wire.DeferredUpdateCallback):
        original_id = state.message_id
    elif isinstance(body, wire.AutocompleteCallback):
        outcome_event = _autocomplete_event(row, state, body.data)
    elif isinstance(body, wire.ModalCallback):
        modal = _validated_modal(call, body.data)
        outcome_event = _modal_event(row, state, application, body.data)
    elif isinstance(body, wire.LaunchCallback):
        result.activity_id = activity_launch.launch(call, row, state, application)
    if result.message is not None:
        original_id = result.message.id
    if not store.record_response(call.tx, row.id, callback_type, original_id, modal):
        raise errors.INTERACTION_ALREADY_ACKNOWLEDGED()
    _notify_user(call, row, state, *outcome_event)
    return result


def _create_response(
    call: Call,
    row: InteractionRow,
    state: ResponseState,
    responder: Responder,
    body: wire.CallbackMessage,
    *,
    flags: int = 0,
) -> ResponseResult:
    """Create a response message, or the placeholder of a deferred one.

    `flags` are MessageFlags that the platform adds to those of the body."""
    channel_access, author = responder.channel_access, responder.author
    # Only the platform may set LOADING, the flag of a deferred response.
    message_flags = (body.flags or 0) & MessageFlags.EPHEMERAL | flags
    if state.ephemeral:
        message_flags |= MessageFlags.EPHEMERAL
    if not message_flags & MessageFlags.EPHEMERAL:
        responders.require_unlocked(channel_access)
    response = InteractionResponse(
        interaction=state.interacted,
        message_type=state.kind,
        reference=_message_reference(channel_access.channel, state.refers_to),
        flags=message_flags,
        seen_by=(row.user_id, author.user.id) if author.is_bot_response else (row.user_id,),
        invoker=responder.invoker,
        invoker_role_ids=responder.invoker_role_ids,
    )
    message = messages.create(call, channel_access, _create_message_body(body), author=author, response=response)
    return ResponseResult(message=message, ephemeral=bool(message_flags & MessageFlags.EPHEMERAL))


def _create_premium_upsell(
    call: Call, row: InteractionRow, state: ResponseState, application: InteractionApplication
) -> ResponseResult:
    """Create the ephemeral response that says that the feature requires a purchase."""
    channel_access = responders.response_access(call, application, row)
    response = InteractionResponse(
        interaction=state.interacted,
        message_type=int(MessageType.INTERACTION_PREMIUM_UPSELL),
        flags=MessageFlags.EPHEMERAL,
        seen_by=_seen_by(row, application),
    )
    author = responders.author(call, application, row, channel_access.channel)
    return ResponseResult(
        message=messages.create(call, channel_access, CreateMessage(), author=author, response=response), ephemeral=True
    )


def _update_component_message(
    call: Call,
    row: InteractionRow,
    state: ResponseState,
    application: InteractionApplication,
    body: wire.CallbackMessage,
) -> Message:
    """Edit the message whose component was used."""
    if body.poll:
        raise errors.POLL_CANNOT_EDIT()
    message = invocations.require_message(call, row.channel_id, state.message_id or 0)
    change = UpdateMessage(
        content=body.content,
        embeds=body.embeds,
        flags=body.flags,
        allowed_mentions=body.allowed_mentions,
        components=body.components,
        attachments=body.attachments,
    )
    return _edit_message(call, row, application, message, change)


def _edit_message(
    call: Call, row: InteractionRow, application: InteractionApplication, message: MessageRow, change: UpdateMessage
) -> Message:
    channel_access = responders.response_access(call, application, row)
    responders.require_editable(channel_access, message)
    if message.flags & MessageFlags.IS_VOICE_MESSAGE:
        raise errors.VOICE_MESSAGE_CANNOT_EDIT()
    if messages.views.extra(message).poll is not None:
        raise errors.POLL_CANNOT_EDIT()
    if not change.allowed_mentions and (change.content is not UNSET or change.components is not UNSET):
        change.allowed_mentions = _default_allowed_mentions()
    return messages.edit(
        call, channel_access, responders.author(call, application, row, channel_access.channel), message, change
    )


def _autocomplete_event(
    row: InteractionRow, state: ResponseState, body: wire.CallbackChoices
) -> tuple[Event[Any], wire.InteractionResult]:
    form_errors = errors.FormErrors()
    choices = body.choices or []
    value_types = {
        CommandOptionType.STRING: str,
        CommandOptionType.INTEGER: int,
        CommandOptionType.NUMBER: (int, float),
    }
    value_type = value_types[CommandOptionType(state.kind)] if state.kind in value_types else (str, int, float)
    for index, choice in enumerate(choices):
        path = ("data", "choices", index, "value")
        choice.value = commands.normalize_value(choice.value, state.kind)
        if not isinstance(choice.value, value_type):  # type: ignore[arg-type]
            problem = errors.not_string(choice.value) if value_type is str else errors.not_number(choice.value)
            form_errors.add(path, *problem)
        elif isinstance(choice.value, str) and len(choice.value) > wire.AUTOCOMPLETE_VALUE_MAX:
            form_errors.add(path, *errors.max_length(wire.AUTOCOMPLETE_VALUE_MAX))
    form_errors.raise_if_any()
    payload = wire.AutocompleteResponse(
        id=InteractionId(row.id), nonce=UNSET if state.nonce is None else state.nonce, choices=choices
    )
    return wire.APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE, payload


def _validated_modal(call: Call, body: wire.CallbackModal) -> Modal:
    form_errors = errors.FormErrors()
    emojis = messages.validate_modal_components(body.components, form_errors, now_ms=call.now_ms, path=("data",))
    messages.require_emojis(call, emojis, form_errors)
    form_errors.raise_if_any()
    return Modal(custom_id=body.custom_id, components=body.components)


def _modal_event(
    row: InteractionRow, state: ResponseState, application: InteractionApplication, body: wire.CallbackModal
) -> tuple[Event[Any], wire.InteractionResult]:
    payload = wire.ModalCreated(
        id=InteractionId(row.id),
        nonce=UNSET if state.nonce is None else state.nonce,
        channel_id=ChannelId(row.channel_id),
        application=related_views.application(application),
        custom_id=body.custom_id,
        title=body.title,
        components=body.components,
    )
    return wire.INTERACTION_MODAL_CREATE, payload


# Follow-ups


def create_follow_up(
    call: Call, row: InteractionRow, application: InteractionApplication, body: wire.CallbackMessage
) -> Message:
    """Create a follow-up message.

    If the initial response was deferred and is still pending, the follow-up completes it."""
    state = store.decode_response_state(row)
    original = find_original(call, row)
    if original is not None and original.flags & MessageFlags.LOADING:
        return complete_deferred(call, row, application, original, body)
    rules.require_follow_up(call, row, state)
    store.count_follow_up(call.tx, row.id)
    state.ephemeral = state.ephemeral or rules.is_ephemeral_only_now(call, row, state.interacted.owners)
    state.interacted.name = None
    state.interacted.original_id = None if row.original_id is None else MessageId(row.original_id)
    state.kind, state.refers_to = int(MessageType.DEFAULT), None
    if original is not None and not original.is_ephemeral:
        state.kind, state.refers_to = int(MessageType.REPLY), MessageId(original.id)
    result = _create_response(call, row, state, responders.follow_up_responder(call, application, row), body)
    assert result.message is not None
    return result.message


def complete_deferred(
    call: Call,
    row: InteractionRow,
    application: InteractionApplication,
    message: MessageRow,
    body: wire.CallbackMessage,
) -> Message:
    """Replace the placeholder of a deferred response with its content."""
    channel_access = responders.response_access(call, application, row)
    responders.require_editable(channel_access, message)
    return messages.complete_deferred(
        call,
        channel_access,
        responders.author(call, application, row, channel_access.channel),
        message,
        _create_message_body(body),
    )


def update_message(
    call: Call, row: InteractionRow, application: InteractionApplication, message: MessageRow, change: UpdateMessage
) -> Message:
    """Edit a response message."""
    return _edit_message(call, row, application, message, change)


def delete_message(call: Call, row: InteractionRow, application: InteractionApplication, message: MessageRow) -> None:
    """Delete a response message."""
    channel_access = responders.response_access(call, application, row)
    responders.require_unarchived(channel_access, message)
    messages.delete(call, channel_access, message)
    if message.id == row.original_id:
        store.clear_original(call.tx, row.id)


def find_original(call: Call, row: InteractionRow) -> MessageRow | None:
    """Return the message that the initial response created or updated, or None."""
    if row.original_id is None:
        return None
    message = messages.find(call.tx, row.channel_id, row.original_id)
    return message or messages.find_ephemeral(call.tx, row.channel_id, row.original_id, call.now_ms)


def _create_message_body(body: wire.CallbackMessage) -> CreateMessage:
    return CreateMessage(
        content=body.content,
        embeds=body.embeds,
        allowed_mentions=body.allowed_mentions or _default_allowed_mentions(),
        components=body.components,
        attachments=body.attachments,
        flags=(body.flags or 0) & _SETTABLE_FLAGS,
        poll=body.poll,
        tts=body.tts,
    )


def _default_allowed_mentions() -> AllowedMentions:
    """Return the default allowed mentions of responses: users only (spec/http.md#3.4)."""
    return AllowedMentions(parse=[AllowedMentionType.USERS])


def _message_reference(channel: ChannelRef, message_id: int | None) -> MessageReference | None:
    if message_id is None:
        return None
    return MessageReference(
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message_id),
        guild_id=UNSET if channel.guild_id is None else GuildId(channel.guild_id),
    )


def _seen_by(row: InteractionRow, application: InteractionApplication) -> tuple[int, ...]:
    return (row.user_id, *(() if application.bot_id is None else (int(application.bot_id),)))
