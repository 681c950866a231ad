"""Create an interaction from a user's request."""

from hubbub.protocol import codec
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.call import Call
from hubbub.server.play.interactions import actions, responses, store
from hubbub.server.play.interactions.delivery import timeouts
from hubbub.server.play.interactions.requests import invocations, views
from hubbub.server.play.interactions.requests.invocations import Invocation, PreparedInteraction
from hubbub.server.play.interactions.store import InteractionRow


def create(call: Call, body: wire.AnyInteractionRequest) -> None:
    """Validate a user's request, store the interaction and deliver it to the application."""
    invocation = invocations.build_invocation(call, body)
    if isinstance(body, wire.UseComponent):
        prepared_interaction = invocations.prepare_component_use(invocation, body)
    elif isinstance(body, wire.SubmitModal):
        prepared_interaction = invocations.prepare_modal_submission(invocation, body)
    else:
        prepared_interaction = invocations.prepare_command(invocation, body)
    _store_and_deliver(invocation, prepared_interaction)


def _store_and_deliver(invocation: Invocation, prepared_interaction: PreparedInteraction) -> None:
    """Store the interaction, then deliver it to the application, or launch the activity of the command."""
    call, application, channel = invocation.call, invocation.application, invocation.channel_access.channel
    token = store.new_token(invocation.interaction_id)
    row = InteractionRow(
        id=invocation.interaction_id,
        application_id=application.id,
        type=prepared_interaction.type,
        user_id=call.user_id,
        channel_id=channel.id,
        guild_id=channel.guild_id,
        request_state=codec.encode(prepared_interaction.state).decode(),
    )
    actions.create(call, row, prepared_interaction.state, token)
    if prepared_interaction.launches_activity:
        # spec/webhooks-and-interactions.md#5.1: the platform launches the activity itself and does not contact the app.
        responses.launch_activity(call, row, prepared_interaction.state, application)
        return
    view = views.interaction(invocation, prepared_interaction, token)
    if not invocation.is_timeout_scheduled:
        timeouts.schedule(call)
    # Without its bot in the guild, the application receives the interaction on shard 0.
    shard_guild_id = channel.guild_id if invocation.bot_access is not None else None
    actions.deliver(call, row, application, token, view, shard_guild_id)
