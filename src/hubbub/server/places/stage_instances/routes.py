"""HTTP handlers for stage instances."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType, StagePrivacyLevel
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import stage_instances as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.stage_instances import actions, store, views
from hubbub.server.places.stage_instances.store import StageInstanceRow
from hubbub.server.places.standing import access


@handles(wire.CREATE_STAGE_INSTANCE)
def create_stage_instance(call: Call, body: wire.CreateStageInstance) -> wire.StageInstance:
    """Create a stage instance.

    The stage becomes live. `send_start_notification` requires MENTION_EVERYONE.

    The caller needs MANAGE_CHANNELS, MUTE_MEMBERS and MOVE_MEMBERS in the channel.
    """
    channel_access = access.get_channel_standing(call, body.channel_id)
    if channel_access.channel.type != ChannelType.GUILD_STAGE_VOICE:
        raise errors.WRONG_CHANNEL_TYPE()
    access.require_channel(call, body.channel_id, wire.STAGE_MODERATOR_PERMISSIONS)
    if body.send_start_notification is True:
        channel_access.require(Permissions.MENTION_EVERYONE)
    if store.find(call.tx, body.channel_id) is not None:
        raise errors.STAGE_ALREADY_OPEN()
    row = actions.create(
        call,
        channel_access.guild_id,
        body.channel_id,
        body.topic,
        privacy_level=int(body.privacy_level or StagePrivacyLevel.GUILD_ONLY),
        scheduled_event_id=body.guild_scheduled_event_id or None,
        mentions_everyone=body.send_start_notification is True,
    )
    actions.start_event(call, row)
    return views.stage_instance(row)


@handles(wire.GET_STAGE_INSTANCE)
def get_stage_instance(call: Call, channel_id: ChannelId) -> wire.StageInstance:
    """Get the stage instance of a channel."""
    access.get_channel_standing(call, channel_id)
    return views.stage_instance(_require_stage_instance(call, channel_id))


@handles(wire.UPDATE_STAGE_INSTANCE)
def update_stage_instance(call: Call, channel_id: ChannelId, body: wire.UpdateStageInstance) -> wire.StageInstance:
    """Update a stage instance."""
    before = _require_stage_instance(call, channel_id)
    after = before
    if body.topic is not UNSET:
        after = after._replace(topic=body.topic)
    if body.privacy_level is not UNSET:
        after = after._replace(privacy_level=int(body.privacy_level))
    actions.update(call, before, after)
    return views.stage_instance(after)


@handles(wire.DELETE_STAGE_INSTANCE)
def delete_stage_instance(call: Call, channel_id: ChannelId) -> None:
    """Delete a stage instance.

    The stage is no longer live."""
    actions.close(call, _require_stage_instance(call, channel_id))


def _require_stage_instance(call: Call, channel_id: ChannelId) -> StageInstanceRow:
    row = store.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_STAGE_INSTANCE()
    return row
