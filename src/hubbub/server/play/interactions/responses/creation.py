"""Apply the initial response to an interaction, or launch the activity of an entry point command."""

from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    CommandOptionType,
    InteractionCallbackType,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, InteractionId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import interaction_callbacks
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.play import commands
from hubbub.server.play.interactions import actions, responders, rules, store, views
from hubbub.server.play.interactions.responses import activity_launch, callback_rules, response_messages
from hubbub.server.play.interactions.responses.response_messages import ResponseResult
from hubbub.server.play.interactions.store import (
    InteractionApplication,
    InteractionRow,
    Modal,
    PendingInteraction,
    ResponseState,
)
from hubbub.server.talk import messages

_DEFERRED_FLAGS: Final = MessageFlags.LOADING


def respond(
    call: Call, pending_interaction: PendingInteraction, body: interaction_callbacks.Callback
) -> ResponseResult:
    """Apply the initial response `body` to the pending interaction."""
    row, application = pending_interaction.row, pending_interaction.application
    state = store.decode_response_state(row)
    callback_type = int(body.__struct_config__.tag)  # type: ignore[arg-type]
    callback_rules.require_callback_type(call, row, state, callback_type, application)
    result, modal = ResponseResult(), None
    original_id: int | None = None
    outcome_event: tuple[Event[Any], wire.InteractionResult] = (
        wire.INTERACTION_SUCCESS,
        actions.result_payload(row, state),
    )
    if isinstance(body, interaction_callbacks.MessageCallback):
        with errors.prefix_error_paths("data"):
            result = response_messages.create(
                call,
                row,
                state,
                responders.initial_responder(call, pending_interaction),
                body.data or interaction_callbacks.CallbackMessage(),
            )
    elif isinstance(body, interaction_callbacks.DeferredMessageCallback):
        flags = (body.data.flags or 0) & MessageFlags.EPHEMERAL if body.data else 0
        responder = responders.initial_responder(call, pending_interaction)
        result = response_messages.create(
            call, row, state, responder, interaction_callbacks.CallbackMessage(flags=flags), flags=_DEFERRED_FLAGS
        )
    elif isinstance(body, interaction_callbacks.PremiumCallback):
        result = response_messages.create_premium_upsell(call, row, state, application)
    elif isinstance(body, interaction_callbacks.UpdateCallback):
        original_id = state.message_id
        with errors.prefix_error_paths("data"):
            result.message = _update_component_message(
                call, row, state, application, body.data or interaction_callbacks.CallbackMessage()
            )
        result.is_ephemeral = state.ephemeral_message
    elif isinstance(body, interaction_callbacks.DeferredUpdateCallback):
        original_id = state.message_id
    elif isinstance(body, interaction_callbacks.AutocompleteCallback):
        outcome_event = _autocomplete_event(row, state, body.data)
    elif isinstance(body, interaction_callbacks.ModalCallback):
        modal = _validated_modal(call, body.data)
        outcome_event = _modal_event(row, state, application, body.data)
    elif isinstance(body, interaction_callbacks.LaunchCallback):
        result.activity_id = activity_launch.launch(call, row, state, application)
    if result.message is not None:
        original_id = result.message.id
    if not store.record_response(call.tx, row.id, callback_type, original_id, modal):
        raise errors.INTERACTION_ALREADY_ACKNOWLEDGED()
    actions.notify_user(call, row, state, *outcome_event)
    return result


def launch_activity(call: Call, row: InteractionRow, state: ResponseState, application: InteractionApplication) -> None:
    """Launch the activity of an entry point command and announce it; on failure, publish the reason to the user."""
    responder = responders.follow_up_responder(call, application, row)
    try:
        if not state.ephemeral:
            responders.require_unlocked(responder.channel_access)
        activity_launch.launch(call, row, state, application)
    except errors.ApiError as error:
        store.record_response(call.tx, row.id, store.FAILED, None)
        actions.publish_failure(call, row, activity_launch.failure_reason(error))
        return
    message = response_messages.create(
        call, row, state, responder, activity_launch.announcement(row, application)
    ).message
    callback_type = InteractionCallbackType.LAUNCH_ACTIVITY
    store.record_response(call.tx, row.id, callback_type, None if message is None else message.id)
    actions.notify_user(call, row, state, wire.INTERACTION_SUCCESS, actions.result_payload(row, state))


def _update_component_message(
    call: Call,
    row: InteractionRow,
    state: ResponseState,
    application: InteractionApplication,
    body: interaction_callbacks.CallbackMessage,
) -> Message:
    """Edit the message whose component was used."""
    message = rules.require_message(call, row.channel_id, state.message_id or 0)
    return response_messages.edit(call, row, application, message, body)


def _autocomplete_event(
    row: InteractionRow, state: ResponseState, body: interaction_callbacks.CallbackChoices
) -> tuple[Event[Any], wire.InteractionResult]:
    form = errors.FormErrors()
    choices = body.choices or []
    value_types = {
        CommandOptionType.STRING: str,
        CommandOptionType.INTEGER: int,
        CommandOptionType.NUMBER: (int, float),
    }
    option_type = state.focused_option_type
    value_type = value_types[CommandOptionType(option_type)] if option_type in value_types else (str, int, float)
    for index, choice in enumerate(choices):
        path = ("data", "choices", index, "value")
        choice.value = commands.normalize_value(choice.value, option_type)
        if not isinstance(choice.value, value_type):  # type: ignore[arg-type]
            problem = errors.not_string(choice.value) if value_type is str else errors.not_number(choice.value)
            form.add(path, *problem)
        elif isinstance(choice.value, str) and len(choice.value) > wire.AUTOCOMPLETE_VALUE_MAX:
            form.add(path, *errors.max_length(wire.AUTOCOMPLETE_VALUE_MAX))
    form.raise_if_any()
    payload = wire.AutocompleteResponse(
        id=InteractionId(row.id), nonce=UNSET if state.nonce is None else state.nonce, choices=choices
    )
    return wire.APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE, payload


def _validated_modal(call: Call, body: interaction_callbacks.CallbackModal) -> Modal:
    form = errors.FormErrors()
    references = messages.content.validate_modal_components(body.components, form, now_ms=call.now_ms, path=("data",))
    messages.validation.check_emojis(call, references, form)
    form.raise_if_any()
    return Modal(custom_id=body.custom_id, components=body.components)


def _modal_event(
    row: InteractionRow,
    state: ResponseState,
    application: InteractionApplication,
    body: interaction_callbacks.CallbackModal,
) -> tuple[Event[Any], wire.InteractionResult]:
    payload = wire.ModalCreated(
        id=InteractionId(row.id),
        nonce=UNSET if state.nonce is None else state.nonce,
        channel_id=ChannelId(row.channel_id),
        application=views.application(application),
        custom_id=body.custom_id,
        title=body.title,
        components=body.components,
    )
    return wire.INTERACTION_MODAL_CREATE, payload
