"""Rules for the initial response to an interaction: its token, its deadline and its type."""

from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import (
    InteractionCallbackType,
    InteractionType,
)
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core.call import Call
from hubbub.server.play.interactions import store
from hubbub.server.play.interactions.store import (
    InteractionApplication,
    InteractionRow,
    PendingInteraction,
    ResponseState,
)

_MESSAGE_INTERACTIONS: Final = frozenset(
    {InteractionType.APPLICATION_COMMAND, InteractionType.MESSAGE_COMPONENT, InteractionType.MODAL_SUBMIT}
)

_MODAL_OPENERS: Final = _MESSAGE_INTERACTIONS - {InteractionType.MODAL_SUBMIT}

_INTERACTION_TYPES_BY_CALLBACK: Final[dict[int, frozenset[InteractionType]]] = {
    InteractionCallbackType.PONG: frozenset({InteractionType.PING}),
    InteractionCallbackType.CHANNEL_MESSAGE_WITH_SOURCE: _MESSAGE_INTERACTIONS,
    InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE: _MESSAGE_INTERACTIONS,
    InteractionCallbackType.DEFERRED_UPDATE_MESSAGE: _MESSAGE_INTERACTIONS - {InteractionType.APPLICATION_COMMAND},
    InteractionCallbackType.UPDATE_MESSAGE: _MESSAGE_INTERACTIONS - {InteractionType.APPLICATION_COMMAND},
    InteractionCallbackType.APPLICATION_COMMAND_AUTOCOMPLETE_RESULT: frozenset(
        {InteractionType.APPLICATION_COMMAND_AUTOCOMPLETE}
    ),
    InteractionCallbackType.MODAL: _MODAL_OPENERS,
    InteractionCallbackType.PREMIUM_REQUIRED: _MESSAGE_INTERACTIONS,
    InteractionCallbackType.LAUNCH_ACTIVITY: _MESSAGE_INTERACTIONS,
}
"""Interaction types that each callback type may answer (spec/webhooks-and-interactions.md#3)."""

_UPDATE_CALLBACKS: Final = (InteractionCallbackType.DEFERRED_UPDATE_MESSAGE, InteractionCallbackType.UPDATE_MESSAGE)


def require_pending(call: Call, interaction_id: int, token: str) -> PendingInteraction:
    """Return an interaction that still accepts its initial response.

    Raise UNKNOWN_INTERACTION if the token is invalid or the deadline has passed, and INTERACTION_ALREADY_ACKNOWLEDGED if
    the application has already responded."""
    pending_interaction = store.find_pending(call.tx, token)
    if (
        pending_interaction is None
        or pending_interaction.row.id != interaction_id
        or call.now_ms - pending_interaction.row.created_ms > wire.TOKEN_LIFETIME_MS
    ):
        raise errors.UNKNOWN_INTERACTION()
    row = pending_interaction.row
    if row.callback_type is None and call.now_ms - row.created_ms <= wire.RESPONSE_TIMEOUT_MS:
        return pending_interaction
    is_expired = row.callback_type in (None, store.FAILED)
    raise (errors.UNKNOWN_INTERACTION if is_expired else errors.INTERACTION_ALREADY_ACKNOWLEDGED)()


def require_callback_type(
    call: Call, row: InteractionRow, state: ResponseState, callback_type: int, application: InteractionApplication
) -> None:
    """Raise an error unless the interaction can be answered with the InteractionCallbackType `callback_type`."""

    def is_allowed(candidate: int) -> bool:
        return (
            row.type in _INTERACTION_TYPES_BY_CALLBACK.get(candidate, ())
            and (candidate not in _UPDATE_CALLBACKS or state.message_id is not None)
            and (candidate != InteractionCallbackType.LAUNCH_ACTIVITY or _is_embedded(call, application))
            and (candidate != InteractionCallbackType.PREMIUM_REQUIRED or store.has_skus(call.tx, application.id))
        )

    if not is_allowed(callback_type):
        allowed_types = sorted(int(candidate) for candidate in _INTERACTION_TYPES_BY_CALLBACK if is_allowed(candidate))
        raise errors.invalid("type", *errors.choices(allowed_types))


def _is_embedded(call: Call, application: InteractionApplication) -> bool:
    return bool(application.flags & ApplicationFlags.EMBEDDED) and changes.ENTRY_POINT_COMMANDS.is_active(call.now_ms)
