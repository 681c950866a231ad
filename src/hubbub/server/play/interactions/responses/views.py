"""The HTTP response to the request that creates an initial response."""

from hubbub.protocol.enums import InteractionCallbackType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, GuildId, InteractionId, MessageId
from hubbub.protocol.resources import interaction_callbacks
from hubbub.server.play.interactions.responses.response_messages import ResponseResult
from hubbub.server.play.interactions.store import InteractionRow


def callback_response(
    row: InteractionRow, body: interaction_callbacks.Callback, result: ResponseResult
) -> interaction_callbacks.CallbackResponse:
    """Build the HTTP response to an initial response that was sent with `with_response=true`; `result` is its effect."""
    callback_type = int(body.__struct_config__.tag)  # type: ignore[arg-type]
    response = interaction_callbacks.CallbackResponse(
        interaction=interaction_callbacks.CallbackInteraction(
            id=InteractionId(row.id), type=row.type, channel_id=ChannelId(row.channel_id)
        )
    )
    if row.guild_id is not None:
        response.interaction.guild_id = GuildId(row.guild_id)
    if result.message is not None:
        response.interaction.response_message_id = MessageId(result.message.id)
        response.interaction.response_message_loading = bool(result.message.flags & MessageFlags.LOADING)
        response.interaction.response_message_ephemeral = result.is_ephemeral
        # spec/webhooks-and-interactions.md#3: only these two response types include the message itself.
        if callback_type in (
            InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE,
            InteractionCallbackType.UPDATE_MESSAGE,
        ):
            response.resource = interaction_callbacks.CallbackResource(type=callback_type, message=result.message)
    if result.activity_id is not None:
        response.interaction.activity_instance_id = result.activity_id
        response.resource = interaction_callbacks.CallbackResource(
            type=callback_type, activity_instance=interaction_callbacks.CallbackActivity(id=result.activity_id)
        )
    return response
