"""HTTP handlers for messages between players, join secrets and metadata of activities, and disclosures."""

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType, DisclosureType, Scope
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import user_messages as wire
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.protocol.resources.lobbies import ModerationMetadata
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.presence import ActivityMetadata
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications, relationships, users
from hubbub.server.places import channels
from hubbub.server.play.user_messages import actions, rules, store, views
from hubbub.server.talk import direct_messages, messages


@handles(wire.SEND_USER_MESSAGE)
def send_user_message(call: Call, user_id: UserId, body: wire.SendUserMessage) -> wire.UserMessage:
    """Send a message to another player.

    The message may contain an invite to join the sender's activity, or a request to join the recipient's. Without an
    activity the `dm_channels.messages.write` scope is required."""
    if call.actor.kind == "user":
        call = rules.act_as_game(call, body)
    if not body.activity and Scope.DM_CHANNELS_MESSAGES_WRITE not in call.actor.scopes:
        raise errors.MISSING_OAUTH2_SCOPE()
    return actions.send(call, rules.require_recipient(call, user_id), body)


@handles(wire.EDIT_USER_MESSAGE)
def edit_user_message(
    call: Call, user_id: UserId, message_id: MessageId, body: wire.EditUserMessage
) -> wire.UserMessage:
    """Edit a message to another player."""
    return actions.edit(call, rules.require_recipient(call, user_id), message_id, body.content)


@handles(wire.DELETE_USER_MESSAGE)
def delete_user_message(call: Call, user_id: UserId, message_id: MessageId) -> None:
    """Delete a message to another player.

    Only the author may delete the message.
    """
    actions.delete(call, rules.require_recipient(call, user_id), message_id)


@handles(wire.LIST_USER_MESSAGES)
def list_user_messages(call: Call, user_id: UserId, query: wire.ListUserMessages) -> list[wire.UserMessage]:
    """List the messages between two players.

    The newest message is first; none is older than 72 hours."""
    other_player = rules.require_recipient(call, user_id)
    family_id = rules.family_id_of(call)
    channel_id = direct_messages.find_direct_channel_id(call.tx, call.user_id, other_player.id)
    if channel_id is None or not relationships.is_player(call.tx, other_player.id, family_id):
        raise errors.UNKNOWN_CHANNEL()
    since_id = Snowflake.at(call.now_ms - wire.USER_MESSAGE_HISTORY_MS)
    rows = [row for row in messages.history.list_newest(call.tx, channel_id, query.limit) if row.id > since_id]
    channel_row = channels.find(call.tx, channel_id)
    assert channel_row is not None
    channel = channels.private_channels.private_channel(channel_row, [users.user_view(other_player)])
    metadata_by_message = store.find_moderation_metadata(call.tx, family_id, [row.id for row in rows])
    related_data = messages.views.RelatedData(call)
    related_data.load(rows, call.user_id)
    return [
        views.stored_message(
            messages.views.build_message(Message, related_data, row),
            row,
            channel,
            other_player.id,
            metadata_by_message.get(row.id, {}),
        )
        for row in rows
    ]


@handles(wire.LIST_USER_MESSAGE_SUMMARIES)
def list_user_message_summaries(call: Call) -> list[wire.UserMessageSummary]:
    """List the players who have exchanged messages with the current user.

    The player with the most recent message is first."""
    return [
        wire.UserMessageSummary(user_id=channel.recipients[0].id, last_message_id=channel.last_message_id)
        for channel in direct_messages.private_channels(call)
        if channel.type == ChannelType.DM and len(channel.recipients) == 1 and channel.last_message_id is not None
    ]


@handles(wire.GET_USER_DM)
def get_user_dm(call: Call, user_id: UserId) -> PrivateChannel:
    """Get the direct message channel with a user.

    The request fails if the channel does not exist."""
    channel_id = direct_messages.find_direct_channel_id(call.tx, call.user_id, user_id)
    row = None if channel_id is None else channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return channels.private_channels.private_channel_for(call, row, call.user_id)


@handles(wire.UPDATE_USER_MESSAGE_EXTERNAL_MODERATION_METADATA)
def update_user_message_external_moderation_metadata(
    call: Call, user_id_1: UserId, user_id_2: UserId, message_id: MessageId, body: ModerationMetadata
) -> None:
    """Set the moderation metadata of a message between two players.

    The new metadata replaces the metadata that the application set before."""
    if not changes.MODERATION_METADATA.is_active(call.now_ms):
        raise errors.NOT_FOUND()
    actions.moderate(call, user_id_1, user_id_2, message_id, body)


@handles(wire.GET_ACTIVITY_JOIN_SECRET, writes=True)
def get_activity_join_secret(
    call: Call, user_id: UserId, session_id: str, application_id: ApplicationId, query: wire.GetActivityJoinSecret
) -> wire.JoinSecret:
    """Get the join secret of an activity.

    If the request names an invite, it accepts the invite. Otherwise the activity must allow the caller to join directly. The
    secret is the current one of the host's session."""
    return wire.JoinSecret(secret=actions.get_join_secret(call, user_id, session_id, application_id, query))


@handles(wire.GET_ACTIVITY_METADATA)
def get_activity_metadata(
    call: Call, user_id: UserId, session_id: str, application_id: ApplicationId
) -> ActivityMetadata:
    """Get the button URLs of an activity.

    Only users who see the activity may request them: friends and members of a common guild."""
    rules.require_visible_activity(call, user_id, session_id, application_id)
    return ActivityMetadata(button_urls=call.presences.button_urls(user_id, session_id, application_id))


# Disclosures


@handles(wire.GET_DISCLOSURES)
def get_disclosures(call: Call, application_id: ApplicationId) -> wire.Disclosures:
    """Get the disclosures of an application.

    The response also lists the disclosures that the current user has acknowledged."""
    return _disclosures_view(call, _require_accessible(call, application_id))


@handles(wire.ACKNOWLEDGE_DISCLOSURES)
def acknowledge_disclosures(
    call: Call, application_id: ApplicationId, body: wire.AcknowledgeDisclosures
) -> wire.Disclosures:
    """Acknowledge disclosures of an application."""
    row = _require_accessible(call, application_id)
    disclosure_types = _disclosure_types(row)
    for index, disclosure in enumerate(body.disclosures):
        if disclosure not in disclosure_types:
            raise errors.invalid(("disclosures", index), *errors.bad_enum(disclosure))
    store.acknowledge_disclosures(call.tx, call.user_id, row.id, body.disclosures)
    return _disclosures_view(call, row)


def _require_accessible(call: Call, application_id: int) -> applications.ApplicationRow:
    """Return an application; raise MISSING_ACCESS if the caller's token belongs to another one."""
    row = applications.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.application_id not in (None, application_id):
        raise errors.MISSING_ACCESS()
    return row


def _disclosure_types(row: applications.ApplicationRow) -> list[int]:
    """Return the types of the disclosures that an application has to show to its users."""
    social_flags = ApplicationFlags.SOCIAL_LAYER_INTEGRATION | ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED
    return [DisclosureType.MESSAGE_DATA_VISIBLE_ON_PLATFORM] if row.flags & social_flags else []


def _disclosures_view(call: Call, row: applications.ApplicationRow) -> wire.Disclosures:
    disclosure_types = _disclosure_types(row)
    acknowledged_types = [
        disclosure
        for disclosure in store.list_acknowledged_disclosures(call.tx, call.user_id, row.id)
        if disclosure in disclosure_types
    ]
    return wire.Disclosures(
        disclosures=disclosure_types,
        acked_disclosures=acknowledged_types,
        all_acked=set(acknowledged_types) == set(disclosure_types),
    )
