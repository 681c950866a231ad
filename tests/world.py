"""A small world for tests: the real App over real sockets, people and bots that act, and a clock one owns.

async def test_something(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    session = await bot.connect()
    await alice.post(f"/channels/{guild.general}/messages", json={"content": "hi"})
    assert (await session.next("MESSAGE_CREATE"))["content"] == "hi"
"""

import asyncio
import itertools
import json as jsonlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hubbub.protocol.enums import PremiumType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.protocol.scopes import expand
from hubbub.server.app import App
from hubbub.server.core import auth
from hubbub.server.core.call import Actor as Caller
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.core.dispatches import Audience, Dispatch
from hubbub.server.resources import accounts, applications

PRIVILEGED = (
    ApplicationFlags.GATEWAY_PRESENCE_LIMITED
    | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
    | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED
)

NOW_MS = 1_795_000_000_000
"""2026-11-18: every dated change but those of a test's own is behind us."""

PATIENCE = 60.0
"""Seconds to wait for what must come: no measure of anything, only the end of a test that would hang."""


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return jsonlib.loads(self.body) if self.body else None

    @property
    def code(self) -> int:
        """The platform's error code."""
        code: int = self.json["code"]
        return code

    def ok(self) -> Any:
        """The body of a success; fails loudly otherwise."""
        assert 200 <= self.status < 300, f"{self.status}: {self.body[:2000]!r}"
        return self.json

    def refused(self, status: int, code: int) -> Any:
        """The body of a refusal of this kind; fails loudly otherwise."""
        assert (self.status, self.json and self.json.get("code")) == (status, code), (
            f"{self.status}: {self.body[:2000]!r}"
        )
        return self.json

    def errors(self, path: str) -> list[str]:
        """The form error constants at a path."""
        self.refused(400, 50035)
        node = self.json["errors"]
        for step in path.split(".") if path else ():
            node = node[step]
        return [error["code"] for error in node["_errors"]]


@dataclass
class Actor:
    """A person or a bot, with its token."""

    world: "World"
    id: int
    token: str
    name: str
    bot: bool = False
    application_id: int | None = None
    player: bool = False
    """Whether a game acts for the person, with an access token."""

    @property
    def header(self) -> str:
        """The Authorization header."""
        return f"Bot {self.token}" if self.bot else f"Bearer {self.token}" if self.player else self.token

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        """Any call of the API."""
        headers = {"Authorization": self.header, **options.pop("headers", {})}
        return await self.world.request(method, path, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> Answer:
        """GET."""
        return await self.request("GET", path, **options)

    async def post(self, path: str, **options: Any) -> Answer:
        """POST."""
        return await self.request("POST", path, **options)

    async def put(self, path: str, **options: Any) -> Answer:
        """PUT."""
        return await self.request("PUT", path, **options)

    async def patch(self, path: str, **options: Any) -> Answer:
        """PATCH."""
        return await self.request("PATCH", path, **options)

    async def delete(self, path: str, **options: Any) -> Answer:
        """DELETE."""
        return await self.request("DELETE", path, **options)

    async def connect(self, intents: int = Intents.BOT_MASK, **identify: Any) -> "Session":
        """A gateway session that has identified; READY is read."""
        session = Session(self, intents, identify)
        await session.open()
        self.world.sessions.append(session)
        return session


class Session:
    """One gateway connection of an actor."""

    def __init__(self, actor: Actor, intents: int, identify: dict[str, Any]) -> None:
        self.actor = actor
        self.intents = intents
        self.identify = identify
        self.seen: list[dict[str, Any]] = []
        """Every dispatch, in order."""
        self.ready: dict[str, Any] = {}
        self.guilds: dict[str, dict[str, Any]] = {}
        """GUILD_CREATE payloads of the start, by id."""
        self.acknowledged = 0
        """Heartbeats that were answered."""
        self._position = 0
        self._arrived = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self.socket: Any = None
        self.closed_with: int | None = None

    async def open(self) -> None:
        """Connect, identify, read READY and the guilds."""
        self.socket = await self.actor.world.client.ws_connect(
            f"{self.actor.world.gateway}?v=10&encoding=json", max_msg_size=0
        )
        hello = await self.socket.receive_json(timeout=PATIENCE)
        assert hello["op"] == 10, hello
        payload = {
            "token": self.actor.header,
            "properties": {"os": "linux", "browser": "test", "device": "test"},
            "intents": int(self.intents),
            **self.identify,
        }
        await self.socket.send_json({"op": 2, "d": payload})
        self._task = asyncio.create_task(self._read())
        self.ready = await self.next("READY")
        if not self.actor.player and (self.intents & Intents.GUILDS or not self.actor.bot):
            for _ in self.ready["guilds"]:
                created = await self.next("GUILD_CREATE")
                self.guilds[created["id"]] = created
        self._position = len(self.seen)

    async def _read(self) -> None:
        async for message in self.socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            frame = jsonlib.loads(message.data)
            async with self._arrived:
                if frame["op"] == 11:
                    self.acknowledged += 1
                if frame["op"] == 0:
                    self.seen.append(frame)
                    self.actor.world.heard(frame["t"])
                self._arrived.notify_all()
        self.closed_with = self.socket.close_code
        async with self._arrived:
            self._arrived.notify_all()

    async def next(self, event: str, matches: Any = None) -> Any:
        """The next dispatch of this name (and shape) not yet taken; skips others."""

        def find() -> dict[str, Any] | None:
            for position in range(self._position, len(self.seen)):
                frame = self.seen[position]
                if frame["t"] == event and (matches is None or matches(frame["d"])):
                    self._position = position + 1
                    return frame
            return None

        try:
            async with asyncio.timeout(PATIENCE):
                async with self._arrived:
                    while (frame := find()) is None:
                        assert self.closed_with is None, f"closed with {self.closed_with} while waiting for {event}"
                        await self._arrived.wait()
        except TimeoutError:
            names = [frame["t"] for frame in self.seen[self._position :]]
            raise AssertionError(f"{event} did not come; since the last one taken: {names}") from None
        return frame["d"]

    async def none_of(self, *events: str) -> None:
        """None of these came since the last one taken. Asks the server for something and waits for its answer, so what was
        under way has arrived."""
        await self.settle()
        came = [frame["t"] for frame in self.seen[self._position :]]
        assert not set(events) & set(came), came

    async def settle(self) -> None:
        """Wait until everything sent to us before now has arrived."""
        marker = f"settle-{next(_numbers)}"
        expected = await self.actor.world.ping(self.actor, marker)
        try:
            async with asyncio.timeout(PATIENCE):
                async with self._arrived:
                    while sum(f["t"] == "PING" and f["d"]["nonce"] == marker for f in self.seen) < expected:
                        await self._arrived.wait()
        except TimeoutError:
            raise AssertionError("the session did not settle") from None

    async def obeyed(self) -> None:
        """Wait until the server has done all that we said: it answers a heartbeat in its turn."""
        before = self.acknowledged
        await self.send(1, None)
        async with asyncio.timeout(PATIENCE), self._arrived:
            while self.acknowledged == before:
                await self._arrived.wait()

    def names(self) -> list[str]:
        """The names of all dispatches since READY's guilds that nobody took."""
        return [frame["t"] for frame in self.seen[self._position :] if frame["t"] != "PING"]

    async def closed(self) -> int | None:
        """Wait until the server closes the connection; the code it gave."""
        try:
            async with asyncio.timeout(PATIENCE), self._arrived:
                while self.closed_with is None:
                    await self._arrived.wait()
        except TimeoutError:
            raise AssertionError("the connection stayed open") from None
        return self.closed_with

    async def send(self, op: int, d: Any) -> None:
        """Say something."""
        await self.socket.send_json({"op": op, "d": d})

    async def close(self) -> None:
        """Leave."""
        await self.socket.close(code=1000)
        if self._task is not None:
            await self._task


@dataclass
class Guild:
    """A guild of the world."""

    world: "World"
    id: int
    owner: Actor
    general: int
    channels: dict[str, int] = field(default_factory=dict)

    async def channel(self, name: str, **body: Any) -> int:
        """A new channel, by the owner."""
        made = (await self.owner.post(f"/guilds/{self.id}/channels", json={"name": name, **body})).ok()
        self.channels[name] = int(made["id"])
        return int(made["id"])

    async def role(self, name: str = "role", permissions: int = 0, **body: Any) -> int:
        """A new role, by the owner."""
        made = (
            await self.owner.post(
                f"/guilds/{self.id}/roles", json={"name": name, "permissions": str(permissions), **body}
            )
        ).ok()
        return int(made["id"])

    async def give(self, actor: Actor, role: int) -> None:
        """Give somebody a role."""
        (await self.owner.put(f"/guilds/{self.id}/members/{actor.id}/roles/{role}")).ok()

    async def allow(self, actor: Actor, permissions: int) -> None:
        """Give somebody permissions, by a role of their own."""
        await self.give(actor, await self.role("allowed", permissions))

    async def member(self, permissions: int = 0) -> Actor:
        """Create a user who is a member, with these permissions through a role."""
        from hubbub.server.resources import members

        actor = await self.world.user()
        await self.world.write(lambda call: members.add(call, self.id, actor.id), actor=self.owner.id)
        if permissions:
            await self.allow(actor, permissions)
        return actor

    async def last_audit_entry(self, action: int) -> Any:
        """Return the newest audit log entry with this action type."""
        log = (await self.owner.get(f"/guilds/{self.id}/audit-logs?action_type={action}")).ok()
        return log["audit_log_entries"][0]

    async def overwrite(self, channel: int, target: int, *, allow: int = 0, deny: int = 0, kind: int = 1) -> None:
        """Set an overwrite; kind 0 is a role, 1 a member."""
        body = {"type": kind, "allow": str(allow), "deny": str(deny)}
        (await self.owner.put(f"/channels/{channel}/permissions/{target}", json=body)).ok()

    async def say(self, actor: Actor, content: str = "hello", channel: int | None = None, **body: Any) -> Any:
        """Post a message."""
        return (
            await actor.post(f"/channels/{channel or self.general}/messages", json={"content": content, **body})
        ).ok()


RELATIONSHIPS = "/users/@me/relationships"


async def befriend(one: Actor, other: Actor, path: str = RELATIONSHIPS) -> None:
    """Make two users friends: one sends the request, the other accepts it."""
    (await one.put(f"{path}/{other.id}", json={})).ok()
    (await other.put(f"{path}/{one.id}", json={})).ok()


_numbers = itertools.count(1)


class World:
    """The App under test and everybody in it."""

    def __init__(self, app: App, client: aiohttp.ClientSession) -> None:
        self.app = app
        self.client = client
        self.sessions: list[Session] = []
        publish = app.database.on_commit

        def say(dispatches: Iterable[Dispatch]) -> None:
            dispatches = list(dispatches)
            for dispatch in dispatches:
                self.heard(dispatch.event)
            publish(dispatches)

        app.database.on_commit = say

    @property
    def clock(self) -> ControlledClock:
        """The clock of the world."""
        assert isinstance(self.app.clock, ControlledClock)
        return self.app.clock

    @property
    def url(self) -> str:
        """Where the platform is."""
        assert self.app.config.public_url is not None
        return self.app.config.public_url

    @property
    def api(self) -> str:
        """The base URL of the API."""
        return f"{self.url}/api/v10"

    @property
    def gateway(self) -> str:
        """The gateway's URL."""
        return f"{self.url}/gateway".replace("http", "ws", 1)

    async def request(self, method: str, path: str, *, json: Any = None, **options: Any) -> Answer:
        """A call without a token of its own."""
        if json is not None:
            options["data"] = jsonlib.dumps(json)
            options["headers"] = {"Content-Type": "application/json", **options.get("headers", {})}
        target = path if path.startswith("http") else self.api + path
        async with self.client.request(method, target, **options) as response:
            answer = Answer(response.status, response.headers, await response.read())
        for watcher in self.watchers:
            watcher(method, path, answer)
        return answer

    watchers: list[Any] = []
    """Functions that see every answer (the validator against the public description)."""

    listeners: list[Any] = []
    """Functions that are told the name of every event."""

    def heard(self, event: str) -> None:
        """An event was said, or came to a session."""
        for listener in self.listeners:
            listener(event)

    async def write(self, step: Any, actor: int | None = None) -> Any:
        """Run a step inside a write transaction, as the platform itself or as a user."""
        caller = None if actor is None else Caller(user_id=UserId(actor), kind="user")
        return await self.app.database.write(lambda tx: step(self.app.make_call(tx, caller)))

    async def user(self, name: str | None = None) -> Actor:
        """A person with a token."""
        name = name or f"person{next(_numbers)}"

        def make(call: Call) -> tuple[int, str]:
            row = accounts.create(call, name)
            return row.id, auth.issue(call.tx, kind="user", user_id=row.id, now=call.now, ids=call.ids)

        user_id, token = await self.write(make)
        return Actor(self, user_id, token, name)

    async def player(self, person: Actor, application_id: int, scopes: str = "sdk.social_layer") -> Actor:
        """A game that acts for a person, with an access token of these scopes."""

        def make(call: Call) -> str:
            return auth.issue(
                call.tx,
                kind="bearer",
                user_id=person.id,
                now=call.now,
                ids=call.ids,
                application_id=application_id,
                scopes=expand(scopes.split()),
            )

        token = await self.write(make)
        return Actor(self, person.id, token, person.name, application_id=application_id, player=True)

    async def bot(
        self, *guilds: Guild, name: str | None = None, permissions: int = 0, flags: int = PRIVILEGED
    ) -> Actor:
        """A bot with its application and all privileged intents, in these guilds."""
        from hubbub.server.resources import members

        name = name or f"bot{next(_numbers)}"
        owner = await self.user()
        made = await self.write(lambda call: applications.create(call, name, UserId(owner.id), flags=flags))
        bot = Actor(self, made.row.bot_id, made.bot_token, name, bot=True, application_id=made.row.id)
        for guild in guilds:
            await self.write(lambda call, guild=guild: members.add(call, guild.id, bot.id), actor=guild.owner.id)
            if permissions:
                await guild.allow(bot, permissions)
        return bot

    async def guild(self, owner: Actor | None = None, *members_: Actor, name: str = "Guild") -> Guild:
        """A guild with a channel called general, and these people in it. Nobody is welcomed there, so that it is quiet."""
        from hubbub.server.resources import members

        owner = owner or await self.user()
        made = (await owner.post("/guilds", json={"name": name})).ok()
        guild = Guild(self, int(made["id"]), owner, 0)
        for channel in (await owner.get(f"/guilds/{guild.id}/channels")).ok():
            guild.channels[channel["name"]] = int(channel["id"])
        guild.general = guild.channels["general"]
        await self.write(lambda call: call.tx.run("UPDATE guilds SET system_channel_flags = 1 WHERE id = ?", guild.id))
        for person in members_:
            await self.write(lambda call, person=person: members.add(call, guild.id, person.id), actor=owner.id)
        return guild

    async def access_token(self, person: Actor, application_id: int | None, *scopes: str) -> str:
        """Issue an OAuth2 access token of a user to an application."""

        def issue(call: Call) -> str:
            return auth.issue(
                call.tx,
                kind="bearer",
                user_id=person.id,
                application_id=application_id,
                scopes=frozenset(scopes),
                now=call.now,
                ids=call.ids,
            )

        token: str = await self.write(issue)
        return token

    async def grant(self, guild: Guild, *features: str, tier: int | None = None) -> None:
        """Give a guild what only the operator gives: features, a boost tier."""
        from hubbub.server.resources import guilds

        def step(call: Call) -> None:
            row = guilds.find(call.tx, guild.id)
            assert row is not None
            guilds.grant(call, row, premium_tier=tier, add=features)

        await self.write(step)

    async def give_premium(self, person: Actor, level: PremiumType = PremiumType.TIER_2) -> None:
        """Give a person premium."""
        from hubbub.server.resources import users

        def step(call: Call) -> None:
            row = users.find(call.tx, person.id)
            assert row is not None
            users.set_premium(call, row, level)

        await self.write(step)

    async def ping(self, actor: Actor, nonce: str) -> int:
        """Send an event to every session of an actor, behind everything said before: by name, and through each of their guilds.
        Answers how many are under way."""
        event = Event("PING", dict, scope="identify")

        def say(call: Call) -> int:
            if actor.player:
                # Games are in no guild.
                call.tx.emit(event, {"nonce": nonce}, Audience.of_users(actor.id))
                return 1
            guilds = [row[0] for row in call.tx.all("SELECT guild_id FROM members WHERE user_id = ?", actor.id)]
            for guild in guilds:
                call.tx.emit(event, {"nonce": nonce}, Audience.guild(guild, users=frozenset({actor.id})))
            call.tx.emit(event, {"nonce": nonce}, Audience.of_users(actor.id))
            return len(guilds) + 1

        await self.told()
        count: int = await self.write(say)
        return count

    async def told(self) -> None:
        """Wait until the gateway has done what it does by itself: telling presences, and of sessions that came and went."""
        assert self.app.gateway is not None
        sessions = self.app.gateway.sessions
        while under_way := {*sessions._tasks, *filter(None, [sessions.feed.telling])}:
            await asyncio.wait(under_way, timeout=PATIENCE)

    async def close(self) -> None:
        """Let everybody go."""
        for session in self.sessions:
            if not session.socket.closed:
                await session.close()


def small_config(**more: Any) -> Config:
    """An App in memory, with a clock one owns and limits that do not get in the way."""
    settings: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": 0,
        "rate_limits": "off",
        "control": True,
        "gateway": GatewayConfig(max_concurrency=100, drain_ms=0),
    }
    return Config(**(settings | more))
