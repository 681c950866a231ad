"""Presence: what sessions say of their users, told to the guilds they share, to friends and to the other nodes.

Each node keeps the presences of all, also one without a gateway, whose operations count who is there. Changes of a node's own
sessions go to the others over the bus subject `presence`; a node that starts or that missed messages asks for all of it, and
one that falls silent is forgotten with its sessions. What such a node had committed and did not get to say nobody knows: for
the others that is a gap, as if the bus had lost it. One that takes leave has said everything before.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import wire
from hubbub.protocol.enums import Scope, Status
from hubbub.protocol.resources.presence import PRESENCE_UPDATE, SESSIONS_REPLACE, SetPresence
from hubbub.server.core import presences
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.clock import Clock
from hubbub.server.core.dispatches import CROWD, Audience, Dispatch, dispatch
from hubbub.server.core.presences import EVERYBODY, Hidden, Presence, Presences, SessionPresence
from hubbub.server.transports.gateway.activities import shown
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.world import Reach

log = logging.getLogger(__name__)

SUBJECT: Final = "presence"
ALIVE_S: Final = 20.0
"""How often a node says that it is there."""
SILENT_S: Final = 70.0
"""After so long without a word from a node its sessions are offline."""

CHANGES_MOST: Final = 1000
"""Changes that wait to be told before those that a later one says anew are left out."""

SAID: Final = "_PRESENCE"
ENDED: Final = "_PRESENCE_ENDED"
HELLO: Final = "_PRESENCE_HELLO"
ALIVE: Final = "_PRESENCE_ALIVE"
BYE: Final = "_PRESENCE_BYE"

STATUSES: Final = frozenset(Status)
SHOWING: Final = frozenset({Scope.ACTIVITIES_WRITE.value, Scope.PRESENCES_WRITE.value})
"""Scopes that let a game show its player."""


class _Word(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What nodes tell each other."""

    node: str
    said: list[SessionPresence] = []
    full: bool = False
    """Whether `said` is all there is on the node."""
    user_id: int = 0
    session_id: str = ""


class PresenceFeed:
    """Takes presences from sessions and spreads them."""

    def __init__(
        self,
        bus: Bus[Dispatch],
        clock: Clock,
        presences: Presences,
        *,
        reach: Callable[..., Awaitable[Reach]] | None = None,
        local: Callable[[Dispatch], None] = lambda _: None,
        lost: Callable[[list[SessionPresence]], None] = lambda _: None,
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._presences = presences
        self._reach = reach
        """Who may see a user; None on a node without sessions, which has nobody to tell."""
        self._local = local
        """Delivers an event to this node's sessions only."""
        self._lost = lost
        """Called with the sessions of a node that fell silent."""
        self.node = secrets.token_hex(8)
        self._heard: dict[str, float] = {}
        self._changes: deque[_Change] = deque()
        self._merge_at = CHANGES_MOST
        self.telling: asyncio.Task[None] | None = None
        self._subscriptions: list[Subscription] = []
        self._said_at = 0.0
        self._several: set[int] = set()
        """People whose clients know that they have more than one session."""

    def start(self) -> None:
        """Listen to the other nodes, and ask what they have."""
        self._subscriptions = [self._bus.subscribe(SUBJECT, self._hear), self._bus.on_gap(self._ask_again)]
        self._say(HELLO)

    def close(self) -> None:
        """Take leave of the other nodes."""
        if self._subscriptions:
            for subscription in self._subscriptions:
                subscription.cancel()
            self._subscriptions = []
            self._say(BYE)
        if self.telling is not None:
            self.telling.cancel()

    def put(self, session: Session, wish: SetPresence) -> None:
        """A session's new presence; one with an unknown status is ignored (gateway.md 8)."""
        if wish.status not in STATUSES:
            return
        actor, status, activities, hidden = session.actor, wish.status, list[Any](), list[Hidden]()
        if session.is_game and actor.scopes.isdisjoint(SHOWING):
            # It may listen for its player, but not show them.
            status = Status.INVISIBLE
        else:
            activities, hidden = shown(
                wish.shown,
                actor,
                session_id=session.id,
                application_name=session.application_name,
                now_ms=self._clock.now_ms(),
                before=self._presences.session(session.user_id, session.id),
            )
        said = SessionPresence(
            user_id=session.user_id,
            session_id=session.id,
            device=session.device,
            status=status,
            activities=activities,
            bot=actor.is_bot,
            application_id=int(actor.application_id) if session.is_game and actor.application_id else None,
            family_id=int(actor.family_id) if session.is_game and actor.family_id else None,
            hidden=hidden,
            showing_chat=wish.showing_chat is True,
        )
        changed = self._presences.put(said)
        self._say(SAID, said=[said])
        self._tell_own(said.user_id)
        self._tell(said.user_id, changed, everywhere=True, bot=said.bot)

    def drop(self, user_id: int, session_id: str) -> None:
        """A session ended."""
        changed = self._presences.drop(user_id, session_id)
        self._say(ENDED, user_id=user_id, session_id=session_id)
        self._tell_own(user_id)
        self._tell(user_id, changed, everywhere=True)

    def tell_guild(self, user_id: int, guild_id: int) -> None:
        """Somebody who is online has just joined a guild."""
        if (presence := self._presences.find(user_id)) is not None:
            self._bus.publish(f"guild.{guild_id}", presence_update(user_id, guild_id, presence))

    def sweep(self, now: float) -> None:
        """Say that we are there, and forget nodes that do not."""
        if now - self._said_at >= ALIVE_S:
            self._said_at = now
            self._say(ALIVE)
        if not self._bus.healthy:
            # Whom one does not hear then may well be there.
            self._heard = dict.fromkeys(self._heard, now)
        silent = [node for node, heard in self._heard.items() if now - heard >= SILENT_S]
        for node in silent:
            log.warning("a node fell silent; its sessions are over", extra={"node": node})
            self._lost(self._presences.sessions(node))
            self._forget(node)
        if silent:
            self._bus.tell_of_gap()

    def _say(self, event: str, **more: Any) -> None:
        body = wire.encode(_Word(node=self.node, **more))
        self._bus.publish(SUBJECT, Dispatch(event=event, body=body, audience=Audience()))

    def _hear(self, dispatch: Dispatch) -> None:
        word = wire.decode(dispatch.body, _Word)
        if word.node == self.node:
            return
        if dispatch.event == BYE:
            self._forget(word.node)
            return
        if dispatch.event == HELLO or word.node not in self._heard:
            # It does not know ours, or we may have missed its own: the greeting is answered in full.
            self._say(SAID, said=self._presences.sessions(), full=True)
            if dispatch.event != HELLO and dispatch.event != SAID:
                self._say(HELLO)
        self._heard[word.node] = asyncio.get_running_loop().time()
        if dispatch.event == SAID and word.full:
            self._replace(word.node, word.said)
        elif dispatch.event == SAID:
            for one in word.said:
                self._presences.put(msgspec.structs.replace(one, node=word.node))
                self._tell_own(one.user_id)
        elif dispatch.event == ENDED:
            self._presences.drop(word.user_id, word.session_id)
            self._tell_own(word.user_id)

    def _replace(self, node: str, said: list[SessionPresence]) -> None:
        """Take a node at its word; what changes by that nobody was told yet."""
        before = {one.session_id: one for one in self._presences.sessions(node)}
        changed: dict[int, frozenset[int]] = {}
        for one in said:
            known = before.pop(one.session_id, None)
            # Put again, an old presence would pass for the latest of its user.
            one = msgspec.structs.replace(one, node=node)
            if known != one:
                changed[one.user_id] = changed.get(one.user_id, frozenset()) | self._presences.put(one)
        for gone in before.values():
            views = self._presences.drop(gone.user_id, gone.session_id)
            changed[gone.user_id] = changed.get(gone.user_id, frozenset()) | views
        for user_id, views in changed.items():
            self._tell_own(user_id)
            self._tell(user_id, views, everywhere=False)

    def _ask_again(self) -> None:
        """Words were lost on the bus: every node says all of its own again."""
        self._say(HELLO)
        self._say(SAID, said=self._presences.sessions(), full=True)

    def _forget(self, node: str) -> None:
        self._heard.pop(node, None)
        # Every node that is left notices by itself, so each tells only its own sessions.
        lost = {said.user_id for said in self._presences.sessions(node)}
        for user_id, views in self._presences.drop_node(node).items():
            self._tell(user_id, views, everywhere=False)
        for user_id in lost:
            self._tell_own(user_id)

    def _tell_own(self, user_id: int) -> None:
        """Tell a person's own clients on this node which sessions they have, once there are several. Every node hears of every
        session, so each tells its own."""
        if self._reach is None:
            return
        said = self._presences.sessions_of(user_id)
        if len(said) > 1:
            self._several.add(user_id)
        elif user_id in self._several:
            self._several.discard(user_id)
        else:
            return
        if said and not said[0].bot:
            body = wire.encode(presences.own(said))
            self._local(Dispatch(event=SESSIONS_REPLACE.name, body=body, audience=Audience.of_users(user_id)))

    def _tell(self, user_id: int, views: frozenset[int], *, everywhere: bool, bot: bool = False) -> None:
        """Queue PRESENCE_UPDATE for those who see a user and now see something else."""
        if self._reach is None or not views:
            return
        seen = {family_id: self._presences.find(user_id, family_id=family_id) for family_id in views}
        self._changes.append(_Change(user_id, seen, everywhere, bot))
        if len(self._changes) > self._merge_at:
            self._merge()
        if self.telling is None:
            self.telling = asyncio.get_running_loop().create_task(self._tell_all())

    def _merge(self) -> None:
        """Leave out what was overtaken while it waited, so that no more waits than there are users."""
        merged: dict[tuple[int, bool], _Change] = {}
        for change in self._changes:
            before = merged.pop((change.user_id, change.everywhere), None)
            if before is not None:
                change = change._replace(seen=before.seen | change.seen, bot=before.bot or change.bot)
            merged[change.user_id, change.everywhere] = change
        self._changes = deque(merged.values())
        self._merge_at = max(CHANGES_MOST, 2 * len(merged))

    async def _tell_all(self) -> None:
        assert self._reach is not None
        try:
            while self._changes:
                change = self._changes.popleft()
                try:
                    reach = await self._reach(change.user_id, friends=not change.bot)
                except Exception:
                    log.exception("a presence could not be told")
                    continue
                for dispatch in _updates(change, reach):
                    guild_id = dispatch.audience.guild_id
                    if not change.everywhere:
                        self._local(dispatch)
                    else:
                        self._bus.publish(CROWD if guild_id is None else f"guild.{guild_id}", dispatch)
        finally:
            self.telling = None


class _Change(NamedTuple):
    """Something that is to be told of a user."""

    user_id: int
    seen: dict[int, Presence | None]
    """By family of games what is seen inside it; under EVERYBODY what everybody sees."""
    everywhere: bool
    """Whether other nodes are told too."""
    bot: bool


def _updates(change: _Change, reach: Reach) -> Iterator[Dispatch]:
    """Who is told what: the user's guilds and friends all, and the friends of a game what is seen there (sdk.md 9.3)."""
    user_id, friends = change.user_id, {other for family_id, other in reach.friends if family_id == EVERYBODY}
    for view, presence in change.seen.items():
        if view == EVERYBODY:
            for guild_id in reach.guilds:
                yield presence_update(user_id, guild_id, presence)
            if friends:
                yield to_friends(user_id, presence, Audience.of_users(*friends), reach.families)
        elif fellows := {other for family_id, other in reach.friends if family_id == view} - friends:
            inside = Audience.of_users(*fellows, family_id=view, games_only=True)
            yield to_friends(user_id, presence, inside, reach.families)


def presence_update(user_id: int, guild_id: int, presence: Presence | None) -> Dispatch:
    """PRESENCE_UPDATE for one guild; never told to the user themselves (gateway.md 5.1)."""
    return Dispatch(
        event=PRESENCE_UPDATE.name,
        body=wire.encode(presences.shown(user_id, presence, guild_id=guild_id)),
        audience=Audience.guild(guild_id, excluded=user_id),
        intents=PRESENCE_UPDATE.intents,
    )


def to_friends(user_id: int, presence: Presence | None, audience: Audience, families: Iterable[int]) -> Dispatch:
    """PRESENCE_UPDATE for many friends at once, who are told whether the user plays their game."""
    return dispatch(
        PRESENCE_UPDATE,
        presences.shown(user_id, presence),
        audience,
        games=presences.for_games(user_id, presence, families),
    )


def device_of(actor: Actor, properties: dict[str, Any]) -> str:
    """Which kind of client a session is; bots are on the web (gateway.md 8)."""
    if actor.is_bot:
        return "web"
    words = " ".join(str(properties.get(key) or properties.get("$" + key) or "") for key in ("os", "browser", "device"))
    words = words.lower()
    if any(word in words for word in ("android", "ios", "mobile")):
        return "mobile"
    return "vr" if "vr" in words.split() else "desktop" if "client" in words or "console" in words else "web"
