"""Lobby calls: players of a game who speak with each other in a lobby (voice.md 1, sdk.md 13.4)."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import LobbyId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Command, Event
from hubbub.protocol.resources.lobbies import LobbyVoiceState

LOBBY_CALL_MAX: Final = 99
"""In one call, as in a voice channel. The guide advises 25 or fewer (sdk.md 12.4)."""
LOBBY_CALLS_PER_SESSION_MAX: Final = 25
"""That one session can be in at once."""


class SetLobbyVoiceState(Struct, kw_only=True):
    """A lobby whose call a session wants to be in, and how."""

    lobby_id: LobbyId
    self_mute: bool = False
    self_deaf: bool = False
    self_video: bool = False
    preferred_region: str | None = None
    """There is one region (decisions/0021), so that nothing comes of it."""
    preferred_regions: list[str] | None = None


SetLobbyVoiceStates = Annotated[list[SetLobbyVoiceState], Meta(max_length=LOBBY_CALLS_PER_SESSION_MAX)]
"""All that the session wants to be in: a call that is left out is left."""


class PingLobbyVoiceServer(Struct, kw_only=True):
    """A lobby whose voice server does not answer."""

    lobby_id: LobbyId


class LobbyVoiceServer(Struct, kw_only=True):
    """Where to open the voice connection of a lobby's call."""

    token: str
    lobby_id: LobbyId
    endpoint: str | None
    """host[:port] without a scheme; null while there is no voice server."""


SET_LOBBY_VOICE_STATES = Command(
    "LOBBY_VOICE_STATES",
    GatewayOpcode.LOBBY_VOICE_STATES,
    SetLobbyVoiceStates,
    bots=False,
)
PING_LOBBY_VOICE_SERVER = Command(
    "LOBBY_VOICE_SERVER_PING", GatewayOpcode.LOBBY_VOICE_SERVER_PING, PingLobbyVoiceServer, bots=False
)

LOBBY_VOICE_STATE_UPDATE = Event("LOBBY_VOICE_STATE_UPDATE", LobbyVoiceState, intents=Intents.LOBBIES)
LOBBY_VOICE_SERVER_UPDATE = Event("LOBBY_VOICE_SERVER_UPDATE", LobbyVoiceServer)
