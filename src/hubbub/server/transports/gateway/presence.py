"""Presence: what sessions say of their users, told to the guilds they share and to the other nodes.

Each node keeps the presences of all, also one without a gateway, whose operations count who is there. Changes of a node's own
sessions go to the others over the bus subject `presence`; a node that starts or that missed messages asks for all of it, and
one that falls silent is forgotten with its sessions.
"""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes, wire
from hubbub.protocol.enums import ActivityType, Status
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources.presence import (
    ACTIVITY_NAME_MAX,
    ACTIVITY_STATE_MAX,
    PRESENCE_UPDATE,
    SetActivity,
    SetPresence,
)
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.clock import Clock
from hubbub.server.core.dispatches import Audience, Dispatch
from hubbub.server.core.presences import Presence, Presences, SessionPresence

log = logging.getLogger(__name__)

SUBJECT: Final = "presence"
ALIVE_S: Final = 20.0
"""How often a node says that it is there."""
SILENT_S: Final = 70.0
"""After so long without a word from a node its sessions are offline."""

SAID: Final = "_PRESENCE"
ENDED: Final = "_PRESENCE_ENDED"
HELLO: Final = "_PRESENCE_HELLO"
ALIVE: Final = "_PRESENCE_ALIVE"
BYE: Final = "_PRESENCE_BYE"

STATUSES: Final = frozenset(Status)
ACTIVITIES_MOST: Final = 10
STREAMS: Final = ("twitch.tv", "www.twitch.tv", "youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")


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
        guild_ids: Callable[[int], Awaitable[list[int]]] | None = None,
        local: Callable[[Dispatch], None] | None = None,
        lost: Callable[[list[SessionPresence]], None] = lambda _: None,
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._presences = presences
        self._guild_ids = guild_ids
        """The guilds a user is in; none on a node without sessions, which has nobody to tell."""
        self._local = local
        """Delivers an event to this node's sessions only."""
        self._lost = lost
        """Called with the sessions of a node that fell silent."""
        self.node = secrets.token_hex(8)
        self._heard: dict[str, float] = {}
        self._changes: deque[tuple[int, Presence | None, bool]] = deque()
        self._telling: asyncio.Task[None] | None = None
        self._subscriptions: list[Subscription] = []
        self._said_at = 0.0

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
        if self._telling is not None:
            self._telling.cancel()

    def put(self, actor: Actor, session_id: str, device: str, wish: SetPresence) -> None:
        """A session's new presence; one with an unknown status is ignored (gateway.md 8)."""
        if wish.status not in STATUSES:
            return
        user_id = int(actor.user_id)
        activities = shown_activities(wish.shown, bot=actor.is_bot, now_ms=self._clock.now_ms())
        said = SessionPresence(
            user_id=user_id,
            session_id=session_id,
            device=device,
            status=wish.status,
            activities=activities,
            bot=actor.is_bot,
        )
        changed = self._presences.put(said)
        self._say(SAID, said=[said])
        if changed:
            self._tell(user_id, everywhere=True)

    def drop(self, user_id: int, session_id: str) -> None:
        """A session ended."""
        changed = self._presences.drop(user_id, session_id)
        self._say(ENDED, user_id=user_id, session_id=session_id)
        if changed:
            self._tell(user_id, everywhere=True)

    def tell_guild(self, user_id: int, guild_id: int) -> None:
        """Somebody who is online has just joined a guild."""
        if (presence := self._presences.find(user_id)) is not None:
            self._bus.publish(f"guild.{guild_id}", presence_update(user_id, guild_id, presence))

    def sweep(self, now: float) -> None:
        """Say that we are there, and forget nodes that do not."""
        if now - self._said_at >= ALIVE_S:
            self._said_at = now
            self._say(ALIVE)
        for node, heard in list(self._heard.items()):
            if now - heard >= SILENT_S:
                log.warning("a node fell silent; its sessions are over", extra={"node": node})
                self._lost(self._presences.sessions(node))
                self._forget(node)

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
        elif dispatch.event == ENDED:
            self._presences.drop(word.user_id, word.session_id)

    def _replace(self, node: str, said: list[SessionPresence]) -> None:
        """Take a node at its word; what changes by that nobody was told yet."""
        before = {one.session_id: one for one in self._presences.sessions(node)}
        changed: dict[int, None] = {}
        for one in said:
            known = before.pop(one.session_id, None)
            # Put again, an old presence would pass for the latest of its user.
            one = msgspec.structs.replace(one, node=node)
            if known != one and self._presences.put(one):
                changed[one.user_id] = None
        for gone in before.values():
            if self._presences.drop(gone.user_id, gone.session_id):
                changed[gone.user_id] = None
        for user_id in changed:
            self._tell(user_id, everywhere=False)

    def _ask_again(self) -> None:
        """Words were lost on the bus: every node says all of its own again."""
        self._say(HELLO)
        self._say(SAID, said=self._presences.sessions(), full=True)

    def _forget(self, node: str) -> None:
        self._heard.pop(node, None)
        # Every node that is left notices by itself, so each tells only its own sessions.
        for user_id in self._presences.drop_node(node):
            self._tell(user_id, everywhere=False)

    def _tell(self, user_id: int, *, everywhere: bool) -> None:
        """Queue PRESENCE_UPDATE for the user's guilds."""
        if self._guild_ids is None:
            return
        self._changes.append((user_id, self._presences.find(user_id), everywhere))
        if self._telling is None:
            self._telling = asyncio.get_running_loop().create_task(self._tell_all())

    async def _tell_all(self) -> None:
        assert self._guild_ids is not None
        try:
            while self._changes:
                user_id, presence, everywhere = self._changes.popleft()
                try:
                    guilds = await self._guild_ids(user_id)
                except Exception:
                    log.exception("a presence could not be told")
                    continue
                for guild_id in guilds:
                    dispatch = presence_update(user_id, guild_id, presence)
                    if everywhere:
                        self._bus.publish(f"guild.{guild_id}", dispatch)
                    elif self._local is not None:
                        self._local(dispatch)
        finally:
            self._telling = None


def presence_update(user_id: int, guild_id: int, presence: Presence | None) -> Dispatch:
    """PRESENCE_UPDATE for one guild; never told to the user themselves (gateway.md 5.1)."""
    body = {
        "user": {"id": UserId(user_id)},
        "guild_id": GuildId(guild_id),
        "status": "offline" if presence is None else presence.status,
        "activities": [] if presence is None else presence.activities,
        "client_status": {} if presence is None else presence.client_status,
    }
    return Dispatch(
        event=PRESENCE_UPDATE.name,
        body=wire.encode(body),
        audience=Audience.guild(guild_id, excluded=user_id),
        intents=PRESENCE_UPDATE.intents,
    )


def shown_activities(sent: list[SetActivity], *, bot: bool, now_ms: int) -> list[dict[str, Any]]:
    """Activities as others see them; what a bot may not set is dropped (gateway.md 8)."""
    shown = []
    for activity in sent[:ACTIVITIES_MOST]:
        if not 1 <= len(activity.name) <= ACTIVITY_NAME_MAX or activity.type not in range(ActivityType.COMPETING + 1):
            continue
        if activity.type != ActivityType.STREAMING or not _is_stream(activity.url):
            activity.url = UNSET
        if isinstance(activity.state, str) and len(activity.state) > ACTIVITY_STATE_MAX:
            activity.state = UNSET
        if bot:
            kept: dict[str, Any] = {"name": activity.name, "type": activity.type}
            kept |= {key: value for key in ("state", "url") if (value := getattr(activity, key))}
        else:
            kept = {
                key: value
                for key, value in msgspec.to_builtins(activity, builtin_types=(), enc_hook=str).items()
                if value is not None and key != "secrets"
            }
            if not changes.ACTIVITY_URLS.active(now_ms):
                _take_urls_off(kept)
            if isinstance(activity.buttons, list):
                kept["buttons"] = [b if isinstance(b, str) else str(b.get("label", "")) for b in activity.buttons[:2]]
        shown.append(kept | {"created_at": now_ms})
    return shown


def _take_urls_off(activity: dict[str, Any]) -> None:
    """dated-changes.md 3: before 17 July 2025 activities had no addresses and no choice of the line shown."""
    for key in ("state_url", "details_url", "status_display_type"):
        activity.pop(key, None)
    for key in ("large_url", "small_url"):
        activity.get("assets", {}).pop(key, None)


def _is_stream(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and parts.hostname in STREAMS
    except ValueError:
        return False


def device_of(actor: Actor, properties: dict[str, Any]) -> str:
    """Which kind of client a session is; bots are on the web (gateway.md 8)."""
    if actor.is_bot:
        return "web"
    words = " ".join(str(properties.get(key) or properties.get("$" + key) or "") for key in ("os", "browser", "device"))
    words = words.lower()
    if any(word in words for word in ("android", "ios", "mobile")):
        return "mobile"
    return "vr" if "vr" in words.split() else "desktop" if "client" in words or "console" in words else "web"
