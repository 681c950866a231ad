"""Delivery trace: which sessions received an event, and why the other sessions did not. Unused while the trace is disabled."""

from collections.abc import Callable, Iterable

from hubbub.protocol import codec, intents
from hubbub.protocol.control.trace import Outcome
from hubbub.protocol.delivery_outcomes import DELIVERED, NOT_SENT_TO_SUBJECT, REDACTED
from hubbub.protocol.ids import UserId
from hubbub.protocol.permissions import permission_names
from hubbub.server.core import voice
from hubbub.server.core.event_dispatch import Dispatch, GuildAudience, UserAudience
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.session import GatewaySession, GuildSubscription


def deliver_traced(
    context: GatewayContext,
    dispatch: Dispatch,
    sessions: Iterable[GatewaySession],
    deliver: Callable[[], None],
    explain_miss: Callable[[GatewaySession], str],
) -> None:
    """Call `deliver` and record each session's outcome: delivered if its sequence number increased, else `explain_miss`."""
    previous_seqs = [(session, session.replay.last_seq) for session in sessions]
    deliver()
    audience = dispatch.audience
    guild_id, channel_id = (
        (audience.guild_id, audience.channel_id) if isinstance(audience, GuildAudience) else (None, None)
    )
    for session, previous_seq in previous_seqs:
        if session.replay.last_seq != previous_seq:
            used_intents = dispatch.intents | _content_intent(session, dispatch)
            context.trace.count_delivery(session.user_id, dispatch.event, used_intents)
    context.trace.add(
        codec.timestamp(context.clock.now_ms()),
        dispatch,
        guild_id,
        channel_id or (dispatch.subject_id if dispatch.event.startswith("CHANNEL_") else None),
        [
            Outcome(
                session_id=session.id,
                user_id=UserId(session.user_id),
                outcome=_delivered_form(session, dispatch)
                if session.replay.last_seq != previous_seq
                else explain_miss(session),
            )
            for session, previous_seq in previous_seqs
        ],
    )


def _content_intent(session: GatewaySession, dispatch: Dispatch) -> int:
    """Return the intent because of which the session received message content, or 0."""
    return intents.Intents.MESSAGE_CONTENT if dispatch.redacted is not None and session.sees_content else 0


def _delivered_form(session: GatewaySession, dispatch: Dispatch) -> str:
    """Return the outcome of a delivered event: with or without message content."""
    is_full = dispatch.redacted is None or session.sees_content or session.user_id in dispatch.unredacted_for
    return DELIVERED if is_full else REDACTED


def explain_missing_intents(session: GatewaySession, dispatch: Dispatch) -> str | None:
    """Return the reason if the session lacks all of the event's intents, or None."""
    if not dispatch.intents or session.intents & dispatch.intents:
        return None
    intent_names = [name for name, bit in intents.INTENTS_BY_NAME.items() if dispatch.intents & bit]
    return f"missing intent: {' or '.join(intent_names)}"


def explain_guild_miss(subscription: GuildSubscription, dispatch: Dispatch) -> str:
    """Return why a session in a guild did not receive an event of the guild."""
    session, standing, audience = subscription.session, subscription.standing, dispatch.audience
    assert isinstance(audience, GuildAudience)
    if standing is None:
        return "no longer a member of the guild"
    if not subscription.needs_event(dispatch):
        return "already contained in the session's GUILD_CREATE"
    if (reason := explain_missing_intents(session, dispatch)) is not None:
        return reason
    if audience.users and session.user_id not in audience.users:
        return "meant for other members only"
    if audience.voice_session_id and voice.derive_session_id(session.id) != audience.voice_session_id:
        return "meant for another session of the user"
    if audience.excluded_user_id == session.user_id:
        return NOT_SENT_TO_SUBJECT
    channel_id = audience.channel_id
    if channel_id is not None and channel_id not in standing.visible:
        return "missing permission: VIEW_CHANNEL in the channel"
    if audience.hidden_channel_id is not None:
        return "only for members who cannot see the user's new voice channel"
    permissions = standing.guild_permissions if channel_id is None else standing.permissions(channel_id)
    if audience.permission and not permissions & audience.permission:
        return f"missing permission: {' or '.join(permission_names(audience.permission))}"
    if audience.members is not None and session.user_id not in audience.members:
        return "not in the private thread"
    if dispatch.event.startswith("CHANNEL_"):
        return "the channel is hidden from the session and nothing visible changed"
    return "not delivered"


def explain_user_miss(session: GatewaySession, dispatch: Dispatch) -> str:
    """Return why a session of a user did not receive an event for the user."""
    audience = dispatch.audience
    assert isinstance(audience, UserAudience)
    if session.early_events is not None:
        return "waiting until READY is sent"
    if not session.needs_event(dispatch):
        return "already contained in the session's READY"
    if audience.session_id and audience.session_id != session.id:
        return "meant for another session of the user"
    if audience.voice_session_id and voice.derive_session_id(session.id) != audience.voice_session_id:
        return "meant for another session of the user"
    if dispatch.event == "GUILD_CREATE":
        return "GUILD_CREATE is being prepared for this session and follows"
    if not session.is_event_in_shard(audience.shard_guild_id):
        return (
            "belongs to another shard"
            if audience.shard_guild_id is not None
            else "events without a guild go to shard 0"
        )
    if (reason := explain_missing_intents(session, dispatch)) is not None:
        return reason
    families = audience.game_filter.families_by_user.get(session.user_id) if session.is_oauth2 else None
    if families is not None and session.actor.family_id not in families:
        return "the user unsubscribed from it in this application"
    if not session.accepts(dispatch):
        return "for another application, or not granted to this one"
    return "not delivered"
