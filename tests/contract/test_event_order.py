"""Every gateway event says what happens to it if an earlier event about the same object arrives late (decisions/0182).

A new event is added to one of the sets below. Repeat an event that sets the state of its object. Its family, and the families that
contain the same state, are in `server/transports/gateway/event_order.py`."""

import importlib
import pkgutil

from hubbub import protocol
from hubbub.protocol.operation import Event
from hubbub.server.transports.gateway.event_order import COUNTED_EVENTS, get_kind

NEW_OBJECTS = {
    "ACTIVITY_INVITE_CREATE",
    "GUILD_AUDIT_LOG_ENTRY_CREATE",
    "INTERACTION_CREATE",
    "INTERACTION_MODAL_CREATE",
    "LOBBY_MESSAGE_CREATE",
    "MESSAGE_CREATE",
}
"""Events of a new object that clients handle once and do not store, so that a repetition would have its effect twice."""
COUNTED = {"GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE"}
"""Events from which clients compute a number that READY or GUILD_CREATE contains: sessions start again instead."""
COUNTED_OUTSIDE_READY = {
    "GUILD_SCHEDULED_EVENT_USER_ADD",
    "GUILD_SCHEDULED_EVENT_USER_REMOVE",
    "MESSAGE_POLL_VOTE_ADD",
    "MESSAGE_POLL_VOTE_REMOVE",
    "MESSAGE_REACTION_ADD",
    "MESSAGE_REACTION_REMOVE",
    "MESSAGE_REACTION_REMOVE_ALL",
    "MESSAGE_REACTION_REMOVE_EMOJI",
}
"""Events from which clients compute a number that a new session does not correct."""
WITHOUT_STATE = {
    "APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE",
    "AUTO_MODERATION_ACTION_EXECUTION",
    "CHANNEL_INFO",
    "GUILD_MEMBERS_CHUNK",
    "INTERACTION_FAILURE",
    "INTERACTION_SUCCESS",
    "OAUTH2_TOKEN_REVOKE",
    "RATE_LIMITED",
    "READY",
    "READY_SUPPLEMENTAL",
    "RESUMED",
    "SOUNDBOARD_SOUNDS",
    "TYPING_START",
    "USER_MERGE_OPERATION_COMPLETED",
    "VOICE_CHANNEL_EFFECT_SEND",
}
"""Responses to one session and notices that change no stored object."""
OF_THE_NODE = {"SESSIONS_REPLACE", "THREAD_LIST_SYNC"}
"""Events that a gateway node creates from its own state."""
REPEATED_CHANGES = {
    "CHANNEL_RECIPIENT_ADD",
    "CHANNEL_RECIPIENT_REMOVE",
    "GAME_RELATIONSHIP_ADD",
    "GAME_RELATIONSHIP_REMOVE",
    "GUILD_BAN_ADD",
    "GUILD_BAN_REMOVE",
    "LOBBY_MEMBER_ADD",
    "LOBBY_MEMBER_CONNECT",
    "LOBBY_MEMBER_DISCONNECT",
    "LOBBY_MEMBER_REMOVE",
    "RELATIONSHIP_ADD",
    "RELATIONSHIP_REMOVE",
}
"""Events that add an object to a list or remove it: clients identify it by its ID, so a repetition changes nothing."""
REPEATED_STATES = {
    "CALL_CREATE",
    "CHANNEL_CREATE",
    "AUTO_MODERATION_RULE_CREATE",
    "ENTITLEMENT_CREATE",
    "GUILD_CREATE",
    "GUILD_JOIN_REQUEST_CREATE",
    "GUILD_ROLE_CREATE",
    "GUILD_SCHEDULED_EVENT_CREATE",
    "GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE",
    "GUILD_SOUNDBOARD_SOUND_CREATE",
    "INTEGRATION_CREATE",
    "INVITE_CREATE",
    "LOBBY_CREATE",
    "STAGE_INSTANCE_CREATE",
    "SUBSCRIPTION_CREATE",
    "THREAD_CREATE",
    "EMBEDDED_ACTIVITY_UPDATE_V2",
    "MESSAGE_ACK",
}
"""Events with the whole state of an object; all `_UPDATE` and `_DELETE` events that are in no other set are also such events."""
STATE_VERBS = ("_UPDATE", "_DELETE", "_DELETE_BULK")


def list_events() -> set[str]:
    """Return the names of all gateway events of the protocol, without internal ones."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(protocol.__path__, f"{protocol.__name__}.")
    ]
    events = {value.name for module in modules for value in vars(module).values() if isinstance(value, Event)}
    return {name for name in events if not name.startswith("_")}


def test_every_event_has_a_rule_for_late_events() -> None:
    listed_names = NEW_OBJECTS | COUNTED | COUNTED_OUTSIDE_READY | WITHOUT_STATE | OF_THE_NODE
    listed_names |= REPEATED_CHANGES | REPEATED_STATES
    states = {name for name in list_events() - listed_names if name.endswith(STATE_VERBS)}
    assert list_events() == listed_names | states

    for name in REPEATED_CHANGES | REPEATED_STATES | states:
        assert get_kind(name).family, name
        assert get_kind(name).is_later, name
    for name in NEW_OBJECTS:
        assert get_kind(name).family, name
        assert not get_kind(name).is_later, name
    for name in COUNTED_OUTSIDE_READY | WITHOUT_STATE | OF_THE_NODE:
        assert not get_kind(name).family, name
    assert COUNTED_EVENTS == COUNTED
