"""HTTP handlers for interactions, their responses and failures, and the commands available in a channel."""

from msgspec import UNSET

from hubbub.protocol.ids import ApplicationId, ChannelId, InteractionId, WebhookId
from hubbub.protocol.resources import interaction_callbacks, webhooks
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import applications
from hubbub.server.places.standing import access
from hubbub.server.play.interactions import follow_ups, requests, responses, store, views


@handles(wire.GET_CHANNEL_APPLICATION_COMMAND_INDEX)
def get_channel_application_command_index(call: Call, channel_id: ChannelId) -> wire.CommandIndex:
    """Get the commands available in a channel.

    The list contains only commands that the caller may use in the channel."""
    return requests.channel_command_index(call, access.get_channel_standing(call, channel_id))


@handles(wire.CREATE_INTERACTION, quick=True, has_updates=True)
def create_interaction(call: Call, body: wire.AnyInteractionRequest) -> None:
    """Create an interaction.

    The interaction runs a command, requests autocomplete choices, uses a component or submits a modal.

    A command in a guild requires USE_APPLICATION_COMMANDS and the permissions that are set for the command.
    """
    requests.create(call, body)


@handles(wire.CREATE_INTERACTION_RESPONSE, quick=True, has_updates=True)
def create_interaction_response(
    call: Call,
    interaction_id: InteractionId,
    interaction_token: str,
    body: interaction_callbacks.Callback,
    query: interaction_callbacks.CallbackQuery,
) -> interaction_callbacks.CallbackResponse | Response:
    """Create an interaction response.

    The application must respond within three seconds of the interaction's creation."""
    pending_interaction = responses.require_pending(call, interaction_id, interaction_token)
    result = responses.respond(call, pending_interaction, body)
    return responses.callback_response(pending_interaction.row, body, result) if query.with_response else Response(204)


@handles(wire.LIST_FAILED_INTERACTIONS)
def list_failed_interactions(
    call: Call, application_id: ApplicationId, query: wire.ListFailedInteractions
) -> list[wire.FailedInteraction]:
    """List failed interactions.

    The list contains interactions that the application's endpoint did not answer with a valid response, oldest first. An
    interaction is listed for at least 15 minutes."""
    applications.access.require_manager(call, application_id)
    after_id = 0 if query.after is UNSET else query.after
    return [views.failed_interaction(row) for row in store.list_failed(call.tx, application_id, after_id, query.limit)]


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
