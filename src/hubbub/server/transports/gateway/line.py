"""A user's line: events for the user rather than for a guild, and the guilds they come to and leave."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from hubbub.protocol import wire
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_DELETE
from hubbub.server.core.auth import ACTOR_CHANGED, ActorChanged
from hubbub.server.core.bus import Subscription
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.transports.gateway import tracing
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.world import World


class _GuildId(msgspec.Struct):
    id: str


class Floor(Protocol):
    """What a line asks of the gateway."""

    def enter(self, session: Session, guild_id: int) -> None:
        """The user joined a guild."""

    def leave(self, session: Session, guild_id: int) -> None:
        """The user left a guild."""

    def revoke(self, session: Session) -> None:
        """The session's token is no longer good."""


class Line:
    """The sessions of one user on this node."""

    __slots__ = ("_floor", "_packet", "_world", "sessions", "subscription")

    def __init__(self, floor: Floor, packet: Callable[[str, bytes], Packet], world: World) -> None:
        self._floor = floor
        self._world = world
        self._packet = packet
        self.sessions: list[Session] = []
        self.subscription: Subscription | None = None

    def hear(self, dispatch: Dispatch) -> None:
        """An event for the user, from the bus."""
        if dispatch.event == ACTOR_CHANGED.name:
            revoked = set(wire.decode(dispatch.body, ActorChanged).revoked)
            for session in list(self.sessions):
                if session.actor.token_id in revoked:
                    self._floor.revoke(session)
        elif not dispatch.event.startswith("_"):
            self.share(dispatch, {})

    def share(self, dispatch: Dispatch, made: dict[int, Packet]) -> None:
        """An event for many users, of whom this is one; `made` keeps packets for the others."""
        if self._world.trace.on:
            tracing.watch(
                self._world,
                dispatch,
                list(self.sessions),
                lambda: self._tell_all(dispatch, made),
                lambda session: tracing.why_not_to_user(session, dispatch),
            )
        else:
            self._tell_all(dispatch, made)

    def _tell_all(self, dispatch: Dispatch, made: dict[int, Packet]) -> None:
        for session in list(self.sessions):
            if session.early is not None:
                session.early.append(dispatch)
            else:
                self.tell(session, dispatch, made)

    def tell(self, session: Session, dispatch: Dispatch, made: dict[int, Packet]) -> None:
        """One session's share; `made` keeps packets for the others, by which of the dispatch's bodies they hold."""
        audience = dispatch.audience
        if not session.missed(dispatch) or (audience.session_id and audience.session_id != session.id):
            return
        if audience.guild_id is None and dispatch.event == GUILD_CREATE.name:
            self._floor.enter(session, int(wire.decode(dispatch.body, _GuildId).id))
            return
        if audience.guild_id is None and dispatch.event == GUILD_DELETE.name:
            guild_id = int(wire.decode(dispatch.body, _GuildId).id)
            if not session.in_shard(guild_id):
                return
            self._floor.leave(session, guild_id)
        elif audience.guild_id is None and not audience.session_id and not session.in_shard_of(audience.shard_of):
            return
        if dispatch.intents and not session.intents & dispatch.intents:
            return
        if session.is_game:
            if not session.admits(dispatch) or dispatch.event in self._world.config.gateway.disabled_gateway_events:
                return
            games = dispatch.games
            body = (
                games.get(int(session.actor.family_id or 0)) or games.get(0) or dispatch.body
                if games
                else dispatch.body
            )
        elif audience.games_only:
            return
        elif (
            dispatch.redacted is not None
            and not session.sees_content
            and session.user_id not in dispatch.unredacted_for
        ):
            body = dispatch.redacted
        else:
            body = dispatch.body
        packet = made.get(id(body))
        if packet is None:
            packet = made[id(body)] = self._packet(dispatch.event, body)
        session.send(packet)
