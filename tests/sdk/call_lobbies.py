"""Lobbies with players in a call, for tests of calls over the real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from hubbub.sdk import CallStatus
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, VoiceConfig
from tests.oauth import Client as Application
from tests.sdk.audio import CallParticipant
from tests.sdk.players import Player, create_game, create_player
from tests.world import World


def with_voice_certificate(config: Config, path: Path) -> Config:
    """Return a configuration whose voice server has its own certificate, as `hubbub dev` sets it up."""
    certificate_files = certificates.issue(path / "voice", [])
    voice = VoiceConfig(
        certificate_file=str(certificate_files.certificate_path),
        key_file=str(certificate_files.key_path),
        ca_file=str(certificate_files.authority_path),
    )
    return msgspec.structs.replace(config, voice=voice)


class CallLobby:
    """A lobby and its players."""

    def __init__(self, world: World, application: Application) -> None:
        self.world = world
        self.application = application
        self.players: list[Player] = []
        self.lobby_id = 0

    async def add_player(self, name: str, **client_options: Any) -> Player:
        """Add a player to the lobby."""
        player = await create_player(self.world, self.application, name, threaded=False, **client_options)
        self.players.append(player)
        self.lobby_id = await player.client.create_or_join_lobby("secret")
        return player

    async def add_caller(self, name: str, hertz: float, **client_options: Any) -> CallParticipant:
        """Add a player to the lobby and to its call."""
        participant = CallParticipant(await self.add_player(name, **client_options), self.lobby_id, hertz)
        await participant.wait_for_status(CallStatus.CONNECTED)
        return participant


@asynccontextmanager
async def open_call_lobby(world: World) -> AsyncIterator[CallLobby]:
    """Create a lobby with its application, and disconnect its players at the end."""
    call_lobby = CallLobby(world, await create_game(world))
    yield call_lobby
    for player in call_lobby.players:
        await player.client.close()
