"""A test world: the real App over real sockets, with users, bots, guilds and a controlled clock.

In tests, a `World` is a running server and an `Actor` is a user or a bot with its token. The glossary defines world
and actor differently.

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
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType, GatewayOpcode, OverwriteType, PremiumType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.protocol.scopes import expand_scopes
from hubbub.server.app import App
from hubbub.server.core import auth
from hubbub.server.core.call import Actor as Caller
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.core.event_dispatch import Dispatch, GuildAudience, UserAudience
from hubbub.server.identity import accounts, applications

PRIVILEGED_INTENT_FLAGS = (
    ApplicationFlags.GATEWAY_PRESENCE_LIMITED
    | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
    | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED
)

NOW_MS = 1_795_000_000_000
"""2026-11-18, later than every dated change that a test does not define itself."""

WAIT_TIMEOUT_SECONDS = 60.0
"""Timeout of every wait; it only ends a test that would otherwise hang."""


@dataclass
class ApiResponse:
    """An HTTP response whose body has been read."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded JSON body, or None if the body is empty."""
        return jsonlib.loads(self.body) if self.body else None

    @property
    def code(self) -> int:
        """The error code in the JSON body."""
        code: int = self.json["code"]
        return code

    def ok(self) -> Any:
        """Assert that the request succeeded and return the decoded body."""
        assert 200 <= self.status < 300, f"{self.status}: {self.body[:2000]!r}"
        return self.json

    def rejected(self, status: int, code: int) -> Any:
        """Assert that the request failed with this status and error code, and return the decoded body."""
        assert (self.status, self.json and self.json.get("code")) == (status, code), (
            f"{self.status}: {self.body[:2000]!r}"
        )
        return self.json

    def errors(self, path: str) -> list[str]:
        """Assert that the form was invalid and return the error constants at a dotted path."""
        self.rejected(400, 50035)
        node = self.json["errors"]
        for step in path.split(".") if path else ():
            node = node[step]
        return [error["code"] for error in node["_errors"]]


@dataclass
class Actor:
    """A user or a bot, with its token."""

    world: "World"
    id: int
    token: str
    name: str
    is_bot: bool = False
    application_id: int | None = None
    """ID of the application of a bot or an OAuth2 token; None for users with their own token."""
    uses_bearer_token: bool = False
    """Whether the token is an OAuth2 access token, with which an application acts for the user."""

    @property
    def header(self) -> str:
        """The value of the Authorization header."""
        return f"Bot {self.token}" if self.is_bot else f"Bearer {self.token}" if self.uses_bearer_token else self.token

    async def request(self, method: str, path: str, **options: Any) -> ApiResponse:
        """Send an API request with the actor's token."""
        headers = {"Authorization": self.header, **options.pop("headers", {})}
        return await self.world.request(method, path, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> ApiResponse:
        """Send a GET request."""
        return await self.request("GET", path, **options)

    async def post(self, path: str, **options: Any) -> ApiResponse:
        """Send a POST request."""
        return await self.request("POST", path, **options)

    async def put(self, path: str, **options: Any) -> ApiResponse:
        """Send a PUT request."""
        return await self.request("PUT", path, **options)

    async def patch(self, path: str, **options: Any) -> ApiResponse:
        """Send a PATCH request."""
        return await self.request("PATCH", path, **options)

    async def delete(self, path: str, **options: Any) -> ApiResponse:
        """Send a DELETE request."""
        return await self.request("DELETE", path, **options)

    async def create_thread(
        self, channel_id: int, thread_type: ChannelType = ChannelType.PUBLIC_THREAD, **body: Any
    ) -> int:
        """Create a thread without a message and return its ID."""
        body = {"name": "talk", "type": thread_type, **body}
        return int((await self.post(f"/channels/{channel_id}/threads", json=body)).ok()["id"])

    async def connect(self, intents: int = Intents.BOT_MASK, *, version: int = 10, **identify: Any) -> "Session":
        """Open a gateway session and identify; READY and the GUILD_CREATE events after it have been received on return."""
        session = Session(self, intents, identify, version)
        await session.open()
        self.world.sessions.append(session)
        return session


@dataclass
class Bearer(Actor):
    """An application that acts for a user with an OAuth2 access token."""

    uses_bearer_token: bool = True


class Session:
    """A gateway connection of an actor."""

    def __init__(self, actor: Actor, intents: int, identify: dict[str, Any], version: int = 10) -> None:
        self.actor = actor
        self.version = version
        self.intents = intents
        self.identify = identify
        self.dispatches: list[dict[str, Any]] = []
        """Every dispatch received, in order."""
        self.ready: dict[str, Any] = {}
        self.guilds: dict[str, dict[str, Any]] = {}
        """Payloads of the GUILD_CREATE events that follow READY, by guild ID."""
        self.acknowledged_count = 0
        """Number of heartbeat acknowledgements received."""
        self._position = 0
        """Index of the first unread dispatch."""
        self._arrived = asyncio.Condition()
        """Notified after every received frame and when the connection closes."""
        self._task: asyncio.Task[None] | None = None
        self.socket: Any = None
        self.close_code: int | None = None
        """Code with which the connection was closed; None while it is open."""

    async def open(self) -> None:
        """Connect, identify, and receive READY and the GUILD_CREATE events that follow it."""
        self.socket = await self.actor.world.client.ws_connect(
            f"{self.actor.world.gateway}?v={self.version}&encoding=json", max_msg_size=0
        )
        hello = await self.socket.receive_json(timeout=WAIT_TIMEOUT_SECONDS)
        assert hello["op"] == GatewayOpcode.HELLO, hello
        payload = {
            "token": self.actor.header,
            "properties": {"os": "linux", "browser": "test", "device": "test"},
            "intents": int(self.intents),
            **self.identify,
        }
        await self.socket.send_json({"op": GatewayOpcode.IDENTIFY, "d": payload})
        self._task = asyncio.create_task(self._read())
        self.ready = await self.next("READY")
        if not self.actor.uses_bearer_token and (self.intents & Intents.GUILDS or not self.actor.is_bot):
            for _ in self.ready["guilds"]:
                created_guild = await self.next("GUILD_CREATE")
                self.guilds[created_guild["id"]] = created_guild
        self._position = len(self.dispatches)

    async def _read(self) -> None:
        async for message in self.socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            frame = jsonlib.loads(message.data)
            async with self._arrived:
                if frame["op"] == GatewayOpcode.HEARTBEAT_ACK:
                    self.acknowledged_count += 1
                if frame["op"] == GatewayOpcode.DISPATCH:
                    self.dispatches.append(frame)
                    self.actor.world.report_event(frame["t"])
                self._arrived.notify_all()
        self.close_code = self.socket.close_code
        async with self._arrived:
            self._arrived.notify_all()

    async def next(self, event: str, matches: Any = None) -> Any:
        """Wait for the next event with this name that `matches` accepts, and return its data.

        Earlier dispatches are skipped and cannot be returned again."""

        def find() -> dict[str, Any] | None:
            for position in range(self._position, len(self.dispatches)):
                frame = self.dispatches[position]
                if frame["t"] == event and (matches is None or matches(frame["d"])):
                    self._position = position + 1
                    return frame
            return None

        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                async with self._arrived:
                    while (frame := find()) is None:
                        assert self.close_code is None, f"closed with {self.close_code} while waiting for {event}"
                        await self._arrived.wait()
        except TimeoutError:
            names = [frame["t"] for frame in self.dispatches[self._position :]]
            raise AssertionError(f"{event} was not received; unread events: {names}") from None
        return frame["d"]

    async def assert_not_received(self, *events: str) -> None:
        """Assert that none of these events is among the unread ones, after every event in flight has arrived."""
        await self.wait_delivered()
        unread_names = [frame["t"] for frame in self.dispatches[self._position :]]
        assert not set(events) & set(unread_names), unread_names

    async def wait_delivered(self) -> None:
        """Wait until every event published before this call has arrived."""
        marker = f"ping-{next(_numbers)}"
        expected = await self.actor.world.publish_ping(self.actor, marker)
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                async with self._arrived:
                    while (
                        sum(frame["t"] == "PING" and frame["d"]["nonce"] == marker for frame in self.dispatches)
                        < expected
                    ):
                        await self._arrived.wait()
        except TimeoutError:
            raise AssertionError("events published earlier did not arrive") from None

    async def wait_processed(self) -> None:
        """Wait until the server has processed every command sent so far.

        Commands are processed in order, so the acknowledgement of a heartbeat follows them."""
        count_before = self.acknowledged_count
        await self.send(GatewayOpcode.HEARTBEAT, None)
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS), self._arrived:
            while self.acknowledged_count == count_before:
                await self._arrived.wait()

    def unread_names(self) -> list[str]:
        """Return the names of the unread events, except PING."""
        return [frame["t"] for frame in self.dispatches[self._position :] if frame["t"] != "PING"]

    async def set_presence(self, status: str = "online", *activities: Any, **fields: Any) -> None:
        """Update the session's presence and wait until the server has processed it."""
        presence = {"since": None, "activities": list(activities), "status": status, "afk": False, **fields}
        await self.send(GatewayOpcode.PRESENCE_UPDATE, presence)
        await self.wait_processed()

    async def send_voice_state(self, guild: "Guild", channel_id: int | None, **fields: Any) -> None:
        """Send the gateway command Update Voice State."""
        state = {
            "guild_id": str(guild.id),
            "channel_id": None if channel_id is None else str(channel_id),
            "self_mute": False,
            "self_deaf": False,
        }
        await self.send(GatewayOpcode.VOICE_STATE_UPDATE, state | fields)

    async def join_voice(self, guild: "Guild", channel_id: int | None, **fields: Any) -> Any:
        """Join a voice channel, or leave the current one if `channel_id` is None; return the actor's new voice state."""
        await self.send_voice_state(guild, channel_id, **fields)
        return await self.next("VOICE_STATE_UPDATE", lambda state: state["user_id"] == str(self.actor.id))

    async def wait_closed(self) -> int | None:
        """Wait until the server closes the connection and return the close code."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS), self._arrived:
                while self.close_code is None:
                    await self._arrived.wait()
        except TimeoutError:
            raise AssertionError("the server did not close the connection") from None
        return self.close_code

    async def send(self, op: int, data: Any) -> None:
        """Send a command with an opcode and data."""
        await self.socket.send_json({"op": op, "d": data})

    async def close(self) -> None:
        """Close the connection with code 1000."""
        await self.socket.close(code=1000)
        if self._task is not None:
            await self._task


@dataclass
class Guild:
    """A guild with its owner and its channel IDs by name."""

    world: "World"
    id: int
    owner: Actor
    general: int
    channels: dict[str, int] = field(default_factory=dict)

    async def channel(self, name: str, **body: Any) -> int:
        """Create a channel as the owner and return its ID."""
        created_channel = (await self.owner.post(f"/guilds/{self.id}/channels", json={"name": name, **body})).ok()
        self.channels[name] = int(created_channel["id"])
        return int(created_channel["id"])

    async def role(self, name: str = "role", permissions: int = 0, **body: Any) -> int:
        """Create a role as the owner and return its ID."""
        created_webhook = (
            await self.owner.post(
                f"/guilds/{self.id}/roles", json={"name": name, "permissions": str(permissions), **body}
            )
        ).ok()
        return int(created_webhook["id"])

    async def add_role(self, actor: Actor, role_id: int) -> None:
        """Add a role to a member as the owner."""
        (await self.owner.put(f"/guilds/{self.id}/members/{actor.id}/roles/{role_id}")).ok()

    async def allow_permissions(self, actor: Actor, permissions: int) -> None:
        """Give a member permissions through a new role."""
        await self.add_role(actor, await self.role("allowed", permissions))

    async def member(self, permissions: int = 0) -> Actor:
        """Create a user who is a member, with these permissions through a role; 0 creates no role."""
        from hubbub.server.places import members

        actor = await self.world.user()
        await self.world.write(lambda call: members.membership.add(call, self.id, actor.id), actor=self.owner.id)
        if permissions:
            await self.allow_permissions(actor, permissions)
        return actor

    async def invited_member(self) -> Actor:
        """Create a user who joins with an invite to #general."""
        actor = await self.world.user()
        invite = (await self.owner.post(f"/channels/{self.general}/invites", json={})).ok()
        (await actor.post(f"/invites/{invite['code']}")).ok()
        return actor

    async def get_channel(self, channel_id: int) -> Any:
        """Return a channel or thread as the owner sees it."""
        return (await self.owner.get(f"/channels/{channel_id}")).ok()

    async def audit_entries(self, action_type: int) -> list[Any]:
        """Return the audit log entries with this action type, newest first."""
        log = (await self.owner.get(f"/guilds/{self.id}/audit-logs?action_type={action_type}")).ok()
        return list(log["audit_log_entries"])

    async def last_audit_entry(self, action_type: int) -> Any:
        """Return the newest audit log entry with this action type."""
        return (await self.audit_entries(action_type))[0]

    async def overwrite(
        self, channel_id: int, target: int, *, allow: int = 0, deny: int = 0, target_type: int = OverwriteType.MEMBER
    ) -> None:
        """Set a permission overwrite of a role or member as the owner."""
        body = {"type": target_type, "allow": str(allow), "deny": str(deny)}
        (await self.owner.put(f"/channels/{channel_id}/permissions/{target}", json=body)).ok()

    async def send_message(
        self, actor: Actor, content: str = "hello", channel_id: int | None = None, **body: Any
    ) -> Any:
        """Create a message and return it; `channel_id` defaults to #general."""
        return (
            await actor.post(f"/channels/{channel_id or self.general}/messages", json={"content": content, **body})
        ).ok()


RELATIONSHIPS_PATH = "/users/@me/relationships"
"""Path of the caller's relationships on the platform."""


async def befriend(sender: Actor, recipient: Actor, path: str = RELATIONSHIPS_PATH) -> None:
    """Make two users friends: one sends the request, the other accepts it."""
    (await sender.put(f"{path}/{recipient.id}", json={})).ok()
    (await recipient.put(f"{path}/{sender.id}", json={})).ok()


async def wait_until(condition: Callable[[], Any]) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def parse_utc_ms(text: str) -> int:
    """Return an ISO 8601 date, or date and time, in UTC as Unix milliseconds."""
    return codec.milliseconds(datetime.fromisoformat(text))


_numbers = itertools.count(1)


class World:
    """The App under test, with methods that create its users, bots and guilds."""

    response_hooks: list[Any] = []
    """Functions called with method, path and response of every request, such as the response validator."""

    event_hooks: list[Any] = []
    """Functions called with the name of every event that is published or received."""

    def __init__(self, app: App, client: aiohttp.ClientSession) -> None:
        self.app = app
        self.client = client
        self.sessions: list[Session] = []
        publish = app.database.on_commit

        def record_and_publish(dispatches: Iterable[Dispatch]) -> None:
            dispatches = list(dispatches)
            for dispatch in dispatches:
                self.report_event(dispatch.event)
            publish(dispatches)

        app.database.on_commit = record_and_publish

    @property
    def clock(self) -> ControlledClock:
        """The controlled clock of the App."""
        assert isinstance(self.app.clock, ControlledClock)
        return self.app.clock

    @property
    def url(self) -> str:
        """The public URL of the platform."""
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

    async def request(self, method: str, path: str, *, json: Any = None, **options: Any) -> ApiResponse:
        """Send a request without a token; `path` is relative to the API unless it is a whole URL."""
        if json is not None:
            options["data"] = jsonlib.dumps(json)
            options["headers"] = {"Content-Type": "application/json", **options.get("headers", {})}
        target = path if path.startswith("http") else self.api + path
        async with self.client.request(method, target, **options) as response:
            api_response = ApiResponse(response.status, response.headers, await response.read())
        for hook in self.response_hooks:
            hook(method, path, api_response)
        return api_response

    def report_event(self, event: str) -> None:
        """Report an event that was published, or received by a session."""
        for hook in self.event_hooks:
            hook(event)

    def record_signals(self, *signal_types: type) -> list[Any]:
        """Return a list that collects the signals of these types from now on, each after its transaction commits."""
        signals: list[Any] = []

        def record_signal(call: Call, signal: Any) -> None:
            # PostgreSQL may retry the transaction, so the signal is recorded only when it commits.
            call.tx.after_commit.append(lambda: signals.append(signal))

        for signal_type in signal_types:
            self.app.listeners.setdefault(signal_type, []).append(record_signal)
        return signals

    async def write(self, unit_of_work: Any, actor: int | None = None) -> Any:
        """Run `unit_of_work(call)` inside a write transaction, as the platform or as a user, and return its result.

        PostgreSQL may run the function more than once, because conflicting transactions are retried."""
        caller = None if actor is None else Caller(user_id=UserId(actor), kind="user")
        return await self.app.database.write(lambda tx: unit_of_work(self.app.make_call(tx, caller)))

    async def run_due_jobs(self) -> None:
        assert self.app.worker is not None
        await self.app.worker.run_due()

    async def user(self, name: str | None = None) -> Actor:
        """Create a user with a token."""
        name = name or f"person{next(_numbers)}"

        def create(call: Call) -> tuple[int, str]:
            row = accounts.create_user(call, name)
            return row.id, auth.issue(call.tx, kind="user", user_id=row.id, now=call.now_ms, ids=call.ids)

        user_id, token = await self.write(create)
        return Actor(self, user_id, token, name)

    async def bearer(self, user: Actor, application_id: int | None, scopes: str = "sdk.social_layer") -> Bearer:
        """Return an actor for an application that acts for a user, with a token of these space-separated scopes.

        Scopes that include others are expanded, as the authorization endpoint does."""
        token = await self.access_token(user, application_id, *expand_scopes(scopes.split()))
        return Bearer(self, user.id, token, user.name, application_id=application_id)

    async def bot(
        self, *guilds: Guild, name: str | None = None, permissions: int = 0, flags: int = PRIVILEGED_INTENT_FLAGS
    ) -> Actor:
        """Create an application with a bot and add the bot to these guilds, with `permissions` through a role.

        By default the bot may use all privileged intents."""
        from hubbub.server.places import members

        name = name or f"bot{next(_numbers)}"
        owner = await self.user()
        application = await self.write(
            lambda call: applications.management.create(call, name, UserId(owner.id), flags=flags)
        )
        bot = Actor(
            self, application.row.bot_id, application.bot_token, name, is_bot=True, application_id=application.row.id
        )
        for guild in guilds:
            await self.write(
                lambda call, guild=guild: members.membership.add(call, guild.id, bot.id), actor=guild.owner.id
            )
            if permissions:
                await guild.allow_permissions(bot, permissions)
        return bot

    async def guild(self, owner: Actor | None = None, *initial_members: Actor, name: str = "Guild") -> Guild:
        """Create a guild with a channel called general and these members. Join messages are off."""
        from hubbub.server.places import members

        owner = owner or await self.user()
        created_guild = (await owner.post("/guilds", json={"name": name})).ok()
        guild = Guild(self, int(created_guild["id"]), owner, 0)
        for channel in (await owner.get(f"/guilds/{guild.id}/channels")).ok():
            guild.channels[channel["name"]] = int(channel["id"])
        guild.general = guild.channels["general"]
        await self.write(lambda call: call.tx.run("UPDATE guilds SET system_channel_flags = 1 WHERE id = ?", guild.id))
        for member in initial_members:
            await self.write(
                lambda call, member=member: members.membership.add(call, guild.id, member.id), actor=owner.id
            )
        return guild

    async def access_token(self, user: Actor, application_id: int | None, *scopes: str) -> str:
        """Issue an OAuth2 access token of a user to an application, with exactly these scopes."""

        def issue(call: Call) -> str:
            return auth.issue(
                call.tx,
                kind="bearer",
                user_id=user.id,
                application_id=application_id,
                scopes=frozenset(scopes),
                now=call.now_ms,
                ids=call.ids,
            )

        token: str = await self.write(issue)
        return token

    async def grant_to_guild(self, guild: Guild, *features: str, tier: int | None = None) -> None:
        """Give a guild features and a boost tier, which only an operator can do."""
        from hubbub.server.places import guilds

        def update(call: Call) -> None:
            row = guilds.find(call.tx, guild.id)
            assert row is not None
            guilds.maintenance.set_tier_and_features(call, row, premium_tier=tier, features_to_add=features)

        await self.write(update)

    async def give_premium(self, user: Actor, premium_type: PremiumType = PremiumType.TIER_2) -> None:
        """Give a user a premium subscription."""
        from hubbub.server.identity import users

        def update(call: Call) -> None:
            row = users.find(call.tx, user.id)
            assert row is not None
            users.profiles.set_premium(call, row, premium_type)

        await self.write(update)

    async def publish_ping(self, actor: Actor, nonce: str) -> int:
        """Publish PING to every session of an actor, and return the number of PINGs that each session receives.

        One PING goes to the user, and one through each guild unless the actor uses an OAuth2 token. Each PING arrives
        after every event that was published earlier on the same path."""
        event = Event("PING", dict, scope="identify")

        def emit(call: Call) -> int:
            if actor.uses_bearer_token:
                # OAuth2 sessions receive no guild events.
                call.tx.emit(event, {"nonce": nonce}, UserAudience.of(actor.id))
                return 1
            guild_ids = [row[0] for row in call.tx.all("SELECT guild_id FROM members WHERE user_id = ?", actor.id)]
            for guild_id in guild_ids:
                call.tx.emit(event, {"nonce": nonce}, GuildAudience(guild_id, users=frozenset({actor.id})))
            call.tx.emit(event, {"nonce": nonce}, UserAudience.of(actor.id))
            return len(guild_ids) + 1

        await self.wait_gateway_idle()
        count: int = await self.write(emit)
        return count

    async def wait_gateway_idle(self) -> None:
        """Wait until the gateway's background tasks are done, such as publishing presences and session changes."""
        assert self.app.gateway is not None
        sessions = self.app.gateway.sessions
        while pending := {*sessions._tasks.running, *filter(None, [sessions.presence_feed.publish_task])}:
            await asyncio.wait(pending, timeout=WAIT_TIMEOUT_SECONDS)

    async def close(self) -> None:
        """Close every open session."""
        for session in self.sessions:
            if not session.socket.closed:
                await session.close()


@asynccontextmanager
async def run_with_settings(config: Config, clock: ControlledClock | None = None) -> AsyncIterator[World]:
    """Run a server with these settings and yield its World. Its clock stands still, unless another one is passed."""
    app = App(config, clock=clock or ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


def small_config(**overrides: Any) -> Config:
    """Return a configuration: by default in memory, on a free port, without rate limits and with the control API."""
    settings: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": 0,
        "rate_limits": "off",
        "control": True,
        "gateway": GatewayConfig(max_concurrency=100, drain_ms=0),
    }
    return Config(**(settings | overrides))
