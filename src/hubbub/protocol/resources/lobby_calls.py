"""Lobby calls: voice calls among the members of a lobby (spec/voice.md#1, spec/sdk.md#13.4)."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import LobbyId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Command, Event
from hubbub.protocol.resources.lobbies import LobbyVoiceState

LOBBY_CALL_PARTICIPANTS_MAX: Final = 99
"""Maximum number of participants in a call, as in a voice channel. The guide recommends at most 25 (spec/sdk.md#12.4)."""
LOBBY_CALLS_PER_SESSION_MAX: Final = 25
"""Maximum number of lobby calls that one session can be in."""


class SetLobbyVoiceState(Struct, kw_only=True):
    """A lobby call that a session joins or stays in."""

    lobby_id: LobbyId
    """ID of the lobby."""
    self_mute: bool = False
    """Whether the user muted themselves."""
    self_deaf: bool = False
    """Whether the user deafened themselves."""
    self_video: bool = False
    """Whether the user's camera is on."""
    preferred_region: str | None = None
    """Preferred voice region; accepted and ignored, because there is only one region (decisions/0021)."""
    preferred_regions: list[str] | None = None
    """Preferred voice regions, best first; accepted and ignored, because there is only one region."""


SetLobbyVoiceStates = Annotated[list[SetLobbyVoiceState], Meta(max_length=LOBBY_CALLS_PER_SESSION_MAX)]
"""All lobby calls of the session: it leaves every call that is not in the list."""


class PingLobbyVoiceServer(Struct, kw_only=True):
    """A lobby whose voice server does not respond."""

    lobby_id: LobbyId
    """ID of the lobby."""


class LobbyVoiceServer(Struct, kw_only=True):
    """The voice server of a lobby call."""

    token: str
    """Token with which the session identifies to the voice server."""
    lobby_id: LobbyId
    """ID of the lobby."""
    endpoint: str | None
    """Host and optional port of the voice server, without a scheme; null while no server is available."""


SET_LOBBY_VOICE_STATES = Command(
    "LOBBY_VOICE_STATES",
    GatewayOpcode.LOBBY_VOICE_STATES,
    SetLobbyVoiceStates,
    allows_bots=False,
)
"""Sets the complete list of lobby calls that the session is in."""
PING_LOBBY_VOICE_SERVER = Command(
    "LOBBY_VOICE_SERVER_PING", GatewayOpcode.LOBBY_VOICE_SERVER_PING, PingLobbyVoiceServer, allows_bots=False
)
"""Reports that the voice server of a lobby call does not respond."""

LOBBY_VOICE_STATE_UPDATE = Event(
    "LOBBY_VOICE_STATE_UPDATE",
    LobbyVoiceState,
    "Sent when a member joins or leaves a lobby call, or changes their voice state.",
    intents=Intents.LOBBIES,
)
LOBBY_VOICE_SERVER_UPDATE = Event(
    "LOBBY_VOICE_SERVER_UPDATE",
    LobbyVoiceServer,
    "Sent when a session joins a lobby call, and when the voice server of the call changes.",
)
