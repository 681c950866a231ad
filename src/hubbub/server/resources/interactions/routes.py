"""Interactions over HTTP: what people ask, what apps answer."""

from msgspec import UNSET

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, InteractionId, MessageId, WebhookId
from hubbub.protocol.resources import interactions as wire
from hubbub.protocol.resources import webhooks
from hubbub.protocol.resources.messages import Message
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Answer, handles
from hubbub.server.resources import applications
from hubbub.server.resources.interactions import actions, asking, index, rules, speaking, store, views
from hubbub.server.resources.interactions.store import InteractionRow


@handles(wire.GET_CHANNEL_APPLICATION_COMMAND_INDEX)
def get_channel_application_command_index(call: Call, channel_id: ChannelId) -> wire.CommandIndex:
    """The commands that the caller may use in a channel."""
    return index.of_channel(call, access.channel(call, channel_id))


@handles(wire.CREATE_INTERACTION, quick=True)
def create_interaction(call: Call, body: wire.Ask) -> None:
    """Ask something of an app."""
    scene = asking.scene(call, rules.require_meeting(call, body))
    if isinstance(body, wire.UseComponent):
        question = asking.use_component(scene, body)
    elif isinstance(body, wire.SubmitModal):
        question = asking.submit_modal(scene, body)
    else:
        question = asking.run_command(scene, body)
    actions.deliver(scene, question)


@handles(wire.CREATE_INTERACTION_RESPONSE, quick=True)
def create_interaction_response(
    call: Call,
    interaction_id: InteractionId,
    interaction_token: str,
    body: wire.Callback,
    query: wire.CallbackQuery,
) -> wire.CallbackResponse | Answer:
    """Answer an interaction."""
    found = rules.require_unanswered(call, interaction_id, interaction_token)
    asked = store.asked(found.row)
    kind = int(body.__struct_config__.tag)  # type: ignore[arg-type]
    rules.require_fitting(call, found.row, asked, kind, found.application)
    made = actions.answer(call, found, asked, body)
    return _response(found.row, kind, made) if query.with_response else Answer(204)


def _response(row: InteractionRow, kind: int, made: actions.Answered) -> wire.CallbackResponse:
    shown = wire.CallbackResponse(
        interaction=wire.CallbackInteraction(
            id=InteractionId(row.id), type=row.type, channel_id=ChannelId(row.channel_id)
        )
    )
    if row.guild_id is not None:
        shown.interaction.guild_id = GuildId(row.guild_id)
    if made.message is not None:
        shown.interaction.response_message_id = MessageId(made.message.id)
        shown.interaction.response_message_loading = bool(made.message.flags & MessageFlags.LOADING)
        shown.interaction.response_message_ephemeral = made.ephemeral
        # webhooks-and-interactions.md 3: the message itself comes only with these two.
        if kind in (4, 7):
            shown.resource = wire.CallbackResource(type=kind, message=made.message)
    if made.activity_id is not None:
        shown.interaction.activity_instance_id = made.activity_id
        shown.resource = wire.CallbackResource(type=kind, activity_instance=wire.CallbackActivity(id=made.activity_id))
    return shown


@handles(wire.LIST_FAILED_INTERACTIONS)
def list_failed_interactions(
    call: Call, application_id: ApplicationId, query: wire.ListFailedInteractions
) -> list[wire.FailedInteraction]:
    """What one's endpoint did not answer in the last quarter of an hour, the oldest first."""
    applications.require_manager(call, application_id)
    after = 0 if query.after is UNSET else query.after
    return [views.failed(row) for row in store.list_failed(call.tx, application_id, after, query.limit)]


@handles(wire.GET_ORIGINAL_WEBHOOK_MESSAGE)
def get_original_webhook_message(
    call: Call, webhook_id: WebhookId, webhook_token: str, query: webhooks.WebhookQuery
) -> Message:
    """The first answer to an interaction."""
    return speaking.require(call, webhook_id, webhook_token).get_original(call)


@handles(wire.UPDATE_ORIGINAL_WEBHOOK_MESSAGE)
def update_original_webhook_message(
    call: Call,
    webhook_id: WebhookId,
    webhook_token: str,
    body: webhooks.UpdateWebhookMessage,
    query: webhooks.UpdateMessageQuery,
) -> Message:
    """Change the first answer to an interaction, or say what was promised."""
    return speaking.require(call, webhook_id, webhook_token).change_original(call, body)


@handles(wire.DELETE_ORIGINAL_WEBHOOK_MESSAGE)
def delete_original_webhook_message(
    call: Call, webhook_id: WebhookId, webhook_token: str, query: webhooks.WebhookQuery
) -> None:
    """Take the first answer to an interaction back."""
    speaking.require(call, webhook_id, webhook_token).delete_original(call)
