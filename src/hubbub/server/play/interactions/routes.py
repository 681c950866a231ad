"""HTTP handlers for interactions."""

from msgspec import UNSET

from hubbub.protocol.enums import InteractionCallbackType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, InteractionId, MessageId, WebhookId
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources import webhooks
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import applications
from hubbub.server.places.standing import access
from hubbub.server.play.interactions import actions, command_index, follow_ups, invocations, rules, store, views
from hubbub.server.play.interactions.store import InteractionRow


@handles(wire.GET_CHANNEL_APPLICATION_COMMAND_INDEX)
def get_channel_application_command_index(call: Call, channel_id: ChannelId) -> wire.CommandIndex:
    """Get the commands available in a channel.

    The list contains only commands that the caller may use in the channel."""
    return command_index.channel_command_index(call, access.get_channel_standing(call, channel_id))


@handles(wire.CREATE_INTERACTION, quick=True)
def create_interaction(call: Call, body: wire.AnyInteractionRequest) -> None:
    """Create an interaction.

    The interaction runs a command, requests autocomplete choices, uses a component or submits a modal."""
    invocation = invocations.build_invocation(call, rules.require_invocation_access(call, body))
    if isinstance(body, wire.UseComponent):
        prepared = invocations.use_component(invocation, body)
    elif isinstance(body, wire.SubmitModal):
        prepared = invocations.submit_modal(invocation, body)
    else:
        prepared = invocations.run_command(invocation, body)
    actions.deliver(invocation, prepared)


@handles(wire.CREATE_INTERACTION_RESPONSE, quick=True)
def create_interaction_response(
    call: Call,
    interaction_id: InteractionId,
    interaction_token: str,
    body: wire.Callback,
    query: wire.CallbackQuery,
) -> wire.CallbackResponse | Response:
    """Create an interaction response.

    The application must respond within three seconds of the interaction's creation."""
    pending = rules.require_pending(call, interaction_id, interaction_token)
    state = store.decode_response_state(pending.row)
    callback_type = int(body.__struct_config__.tag)  # type: ignore[arg-type]
    rules.require_callback_type(call, pending.row, state, callback_type, pending.application)
    result = actions.respond(call, pending, state, body)
    return _callback_response(pending.row, callback_type, result) if query.with_response else Response(204)


def _callback_response(
    row: InteractionRow, callback_type: int, result: actions.ResponseResult
) -> wire.CallbackResponse:
    response = wire.CallbackResponse(
        interaction=wire.CallbackInteraction(
            id=InteractionId(row.id), type=row.type, channel_id=ChannelId(row.channel_id)
        )
    )
    if row.guild_id is not None:
        response.interaction.guild_id = GuildId(row.guild_id)
    if result.message is not None:
        response.interaction.response_message_id = MessageId(result.message.id)
        response.interaction.response_message_loading = bool(result.message.flags & MessageFlags.LOADING)
        response.interaction.response_message_ephemeral = result.ephemeral
        # spec/webhooks-and-interactions.md#3: only these two response types include the message itself.
        if callback_type in (
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE,
            InteractionCallbackType.UPDATE_MESSAGE,
        ):
            response.resource = wire.CallbackResource(type=callback_type, message=result.message)
    if result.activity_id is not None:
        response.interaction.activity_instance_id = result.activity_id
        response.resource = wire.CallbackResource(
            type=callback_type, activity_instance=wire.CallbackActivity(id=result.activity_id)
        )
    return response


@handles(wire.LIST_FAILED_INTERACTIONS)
def list_failed_interactions(
    call: Call, application_id: ApplicationId, query: wire.ListFailedInteractions
) -> list[wire.FailedInteraction]:
    """List failed interactions.

    The list contains interactions of the last 15 minutes that the application's endpoint did not answer, oldest
    first."""
    applications.require_manager(call, application_id)
    after = 0 if query.after is UNSET else query.after
    return [views.failed_interaction(row) for row in store.list_failed(call.tx, application_id, after, query.limit)]


@handles(wire.GET_ORIGINAL_WEBHOOK_MESSAGE)
def get_original_webhook_message(
    call: Call, webhook_id: WebhookId, webhook_token: str, query: webhooks.WebhookQuery
) -> Message:
    """Get the original interaction response."""
    return follow_ups.require_by_token(call, webhook_id, webhook_token).get_original(call)


@handles(wire.UPDATE_ORIGINAL_WEBHOOK_MESSAGE)
def update_original_webhook_message(
    call: Call,
    webhook_id: WebhookId,
    webhook_token: str,
    body: webhooks.UpdateWebhookMessage,
    query: webhooks.UpdateMessageQuery,
) -> Message:
    """Update the original interaction response.

    If the response was deferred, the update completes it."""
    return follow_ups.require_by_token(call, webhook_id, webhook_token).update_original(call, body)


@handles(wire.DELETE_ORIGINAL_WEBHOOK_MESSAGE)
def delete_original_webhook_message(
    call: Call, webhook_id: WebhookId, webhook_token: str, query: webhooks.WebhookQuery
) -> None:
    """Delete the original interaction response."""
    follow_ups.require_by_token(call, webhook_id, webhook_token).delete_original(call)
