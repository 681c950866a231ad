"""A session: one totally ordered stream of events for one client, over any number of connections."""

import secrets
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from hubbub.protocol.enums import CloseCode
from hubbub.protocol.intents import Intents
from hubbub.server.core.call import Actor
from hubbub.server.core.clock import Timer
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.connection import Connection
from hubbub.server.transports.gateway.limits import Window
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.replay import Replay

if TYPE_CHECKING:
    from hubbub.server.transports.gateway.seats import Seat


class Kind:
    """Sessions of one game with the same intents and scopes: an event is for all of them or for none."""

    __slots__ = ("__weakref__",)


AT_ONCE: Final = 256
"""Frames that are made before they are written: few enough to stay in a processor's cache."""
_kinds: Final[WeakValueDictionary[tuple[object, ...], Kind]] = WeakValueDictionary()


class Session:
    """Who listens, to what, and how far they are."""

    __slots__ = (
        "acknowledged",
        "actor",
        "application_name",
        "began_at",
        "capabilities",
        "connection",
        "device",
        "early",
        "ended",
        "expiry",
        "id",
        "intents",
        "is_game",
        "kind",
        "large_threshold",
        "obfuscates",
        "presences",
        "replay",
        "resuming",
        "seats",
        "sees_content",
        "shard",
        "snapshot",
        "user_id",
        "version",
    )

    def __init__(
        self,
        actor: Actor,
        *,
        intents: int,
        shard: tuple[int, int],
        large_threshold: int,
        obfuscates: bool,
        capabilities: int = 0,
        version: int,
        device: str,
        replay: Replay,
        presences: Window,
        now: float,
    ) -> None:
        self.id = secrets.token_hex(16)
        self.actor = actor
        self.user_id = int(actor.user_id)
        self.is_game = actor.kind == "bearer"
        """Whether a game holds it for its player, by an OAuth2 token."""
        self.intents = intents
        kind = (actor.kind, actor.application_id, actor.family_id, actor.scopes, intents)
        self.kind = _kinds.get(kind) or _kinds.setdefault(kind, Kind())
        self.shard = shard
        self.large_threshold = large_threshold
        self.obfuscates = obfuscates
        """Whether channels it may not see are hidden from it even before changes.CHANNEL_OBFUSCATION."""
        self.capabilities = capabilities
        self.application_name = ""
        """Of the game, where the session is one's."""
        self.sees_content = not actor.is_bot or bool(intents & Intents.MESSAGE_CONTENT)
        self.version = version
        self.device = device
        self.began_at = now
        """By the event loop's time."""
        self.replay = replay
        self.presences = presences
        self.connection: Connection | None = None
        self.resuming: Connection | None = None
        """The connection that is being told what it missed."""
        self.seats: dict[int, Seat] = {}
        """Its place in each of its guilds."""
        self.early: list[Dispatch] | None = []
        """Events for the user that came before READY was made; None afterwards."""
        self.snapshot: Snapshot | None = None
        """The moment READY was read; forgotten when no event from before it can be on its way any more."""
        self.acknowledged = 0
        self.expiry: Timer | None = None
        self.ended = False

    def send(self, packet: Packet) -> None:
        """Number an event, keep it for a resume, and write it if somebody is there."""
        send_all([self], packet)

    def admits(self, dispatch: Dispatch) -> bool:
        """Whether an event that names its users is for this session of theirs: games hear what is theirs, and what the person
        let them hear."""
        if not self.is_game:
            return not dispatch.audience.games_only
        audience, actor = dispatch.audience, self.actor
        named = audience.application_id or audience.family_id or audience.session_id or dispatch.games
        if not (dispatch.intents or dispatch.scope or named):
            # Nobody thought of games: what needs neither an intent nor a scope is a person's own business.
            return False
        return (
            (audience.application_id is None or audience.application_id == actor.application_id)
            and (audience.family_id is None or audience.family_id == actor.family_id)
            and (not dispatch.scope or dispatch.scope in actor.scopes)
            and (not audience.lacking or audience.lacking not in actor.scopes)
            and (not audience.granted or audience.granted in actor.scopes)
        )

    def in_shard(self, guild_id: int) -> bool:
        """Whether a guild's events belong to this session's shard (gateway.md 4.2)."""
        return (guild_id >> 22) % self.shard[1] == self.shard[0]

    def in_shard_of(self, guild_id: int | None) -> bool:
        """The same for what names a guild or none; what belongs to no guild goes to shard 0 only."""
        return self.shard[0] == 0 if guild_id is None else self.in_shard(guild_id)

    def missed(self, dispatch: Dispatch) -> bool:
        """Whether an event happened after READY was read."""
        return self.snapshot is None or not dispatch.stamp or not self.snapshot.covers(dispatch.stamp)


def send_all(sessions: list[Session], packet: Packet) -> None:
    """`Session.send` for many.

    Frames are made for a good number of sessions before the first is written: a system call costs little more than itself, but
    leaves the processor's caches cold for whoever works between two of them. What was given is counted once for all.
    """
    faces, given = packet.faces, 0
    for start in range(0, len(sessions), AT_ONCE):
        writes = []
        for session in sessions[start : start + AT_ONCE]:
            seq = session.replay.append(packet)
            connection = session.connection
            if connection is None:
                continue
            transport = connection.transport
            if transport.get_write_buffer_size() > connection.buffer_most:
                # Slow consumer (gateway.md 11): the session stays and may be resumed.
                session.connection = None
                connection.close(CloseCode.UNKNOWN_ERROR, "Too slow")
            else:
                face = faces[connection.compression] or packet.face(connection.compression)
                writes.append((transport, face.frame(seq)))
        given += len(writes)
        for transport, frame in writes:
            try:
                transport.write(frame)
            except RuntimeError:
                # As sockets.GONE says; others must hear the event all the same.
                continue
    packet.given(given)
