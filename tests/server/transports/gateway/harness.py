"""A minimal platform around the real gateway: guilds in a SQLite store, a local bus, and clients over real sockets."""

import asyncio
import json
import types
import zlib
from collections.abc import Iterable
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from hubbub.protocol.enums import ChannelType, GatewayOpcode
from hubbub.protocol.flags import ApplicationFlags, ChannelFlags
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.channels import CHANNEL_CREATE, CHANNEL_DELETE, CHANNEL_UPDATE
from hubbub.protocol.resources.gateway import REQUEST_GUILD_MEMBERS, RequestGuildMembers
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_DELETE
from hubbub.protocol.resources.members import GUILD_MEMBER_UPDATE, GUILD_MEMBERS_CHUNK
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.protocol.resources.roles import GUILD_ROLE_UPDATE
from hubbub.protocol.resources.voice_states import SET_VOICE_STATE, VOICE_SERVER_UPDATE, SetVoiceState
from hubbub.server.core.bus import LocalBus
from hubbub.server.core.call import Actor, Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.core.event_dispatch import Audience, Dispatch, GuildAudience, UserAudience
from hubbub.server.core.gateway_queries import ChannelState, GuildState, GuildView, MemberState
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.presences import Presences
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.core.slices import Slice, handles_command
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Tx
from hubbub.server.transports.gateway import Gateway, etf
from hubbub.server.transports.gateway.limits import SessionStarts
from hubbub.server.transports.zstd import zstd
from tests.world import WAIT_TIMEOUT_SECONDS

START_MS = 1_785_000_000_000
"""2026-07-25: after the limit on member requests, before channel obfuscation."""

PRIVILEGED_INTENT_FLAGS = (
    ApplicationFlags.GATEWAY_PRESENCE_LIMITED
    | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED
    | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED
)
BOT_INTENTS = Intents.BOT_MASK & ~Intents.GUILD_PRESENCES
"""All bot intents except presences, which most tests do not want to receive."""
VIEW_CHANNEL = Permissions.VIEW_CHANNEL
VIEW_AND_SEND = VIEW_CHANNEL | Permissions.SEND_MESSAGES
GUILD_ID = 1000 << 22
RESUMABLE_CLOSE_CODE = 4900
"""A close code of the client after which the session can be resumed."""
PUBLIC_CHANNEL_ID = 10
STAFF_CHANNEL_ID = 20
STAFF_ROLE_ID = 77
"""The role that can view the staff channel of `sample_guild`."""


class Channel(msgspec.Struct):
    """A channel as stored in the test tables; `overwrites` maps role and user IDs to (allow, deny) bits."""

    id: int
    name: str = "general"
    type: int = ChannelType.GUILD_TEXT
    position: int = 0
    parent_id: int | None = None
    """ID of the category, or None."""
    overwrites: dict[int, tuple[int, int]] = {}

    def full_payload(self) -> dict[str, Any]:
        """Return the payload with the name of the channel."""
        return {
            "id": str(self.id),
            "name": self.name,
            "type": self.type,
            "position": self.position,
            "parent_id": self.parent_id and str(self.parent_id),
        }

    def obfuscated_payload(self) -> dict[str, Any]:
        """Return the payload with a placeholder as the name, and the flag of obfuscated channels."""
        return self.full_payload() | {"name": "___hidden___", "flags": ChannelFlags.CHANNEL_OBFUSCATED}


class GuildRow(msgspec.Struct):
    """A guild as stored in the test tables."""

    id: int
    owner_id: int = 1
    name: str = "Town Square"
    roles: dict[int, int] = {}
    channels: dict[int, Channel] = {}
    parent_ids_by_thread_id: dict[int, int] = {}


class GuildTableReader:
    """Reader of guilds in the test tables."""

    def guild_state(self, tx: Tx, guild_id: int) -> GuildState | None:
        body = tx.value("SELECT body FROM test_guilds WHERE id = ?", guild_id)
        if body is None:
            return None
        row = msgspec.json.decode(body, type=GuildRow)
        count = tx.value("SELECT count(*) FROM test_members WHERE guild_id = ?", guild_id)
        return GuildState(
            id=row.id,
            owner_id=row.owner_id,
            roles=row.roles,
            channels={
                channel.id: ChannelState(
                    id=channel.id,
                    type=channel.type,
                    parent_id=channel.parent_id,
                    overwrites=channel.overwrites,
                    body=json.dumps(channel.full_payload()).encode(),
                    obfuscated_body=json.dumps(channel.obfuscated_payload()).encode(),
                )
                for channel in row.channels.values()
            },
            member_count=count,
            shared_fields={
                "id": str(row.id),
                "name": row.name,
                "parent_ids_by_thread_id": {
                    str(thread_id): str(parent_id) for thread_id, parent_id in row.parent_ids_by_thread_id.items()
                },
            },
        )

    def member_states(self, tx: Tx, guild_id: int, users: Iterable[int]) -> dict[int, MemberState]:
        members = {}
        for user in users:
            roles = tx.value("SELECT roles FROM test_members WHERE guild_id = ? AND user_id = ?", guild_id, user)
            if roles is not None:
                members[user] = MemberState(user_id=user, roles=tuple(json.loads(roles)), joined_at="2020-01-01")
        return members

    def guild_ids(self, tx: Tx, user_id: int) -> list[int]:
        return [
            row[0] for row in tx.all("SELECT guild_id FROM test_members WHERE user_id = ? ORDER BY guild_id", user_id)
        ]

    def guild_count(self, tx: Tx, user_id: int) -> int:
        return len(self.guild_ids(tx, user_id))

    def guild_names(self, tx: Tx, guild_ids: Iterable[int]) -> dict[int, str]:
        return {guild_id: f"guild {guild_id}" for guild_id in guild_ids}

    def friends(self, tx: Tx, user_id: int) -> list[tuple[int, int]]:
        return []

    def families(self, tx: Tx, user_id: int) -> set[int]:
        return set()


def _threads_part(call: Call, view: GuildView) -> dict[str, Any]:
    threads = []
    for thread, parent in view.guild.shared_fields["parent_ids_by_thread_id"].items():
        if int(parent) in view.visible:
            threads.append({"id": thread, "parent_id": parent, "member": {"flags": 0}})
    return {"threads": threads}


def _ready_part(call: Call) -> dict[str, Any]:
    return {"user": {"id": str(int(call.user_id)), "username": "user"}}


@handles_command(REQUEST_GUILD_MEMBERS)
def request_guild_members(call: Call, body: RequestGuildMembers) -> None:
    """Reply with `limit` chunks, at least one."""
    for index in range(max(1, body.limit or 1)):
        call.replies.append((GUILD_MEMBERS_CHUNK, {"chunk_index": index, "nonce": body.nonce or None}))


@handles_command(SET_VOICE_STATE, writes=True)
def set_voice_state(call: Call, body: SetVoiceState) -> None:
    """Reply with a voice server update that has the session ID as its token."""
    call.replies.append((VOICE_SERVER_UPDATE, {"token": call.session_id}))


ENDED_SESSIONS: list[tuple[int, str]] = []
"""(user ID, session ID) of the sessions that ended, in order."""


def _session_ended(call: Call, user_id: int, session_id: str) -> None:
    ENDED_SESSIONS.append((user_id, session_id))


def _slices() -> tuple[Slice, ...]:
    commands = types.ModuleType(__name__)
    vars(commands).update(request_guild_members=request_guild_members, set_voice_state=set_voice_state)
    return (
        Slice(name="users", modules=(), ready=_ready_part),
        Slice(name="threads", modules=(), guild=_threads_part),
        Slice(name="commands", modules=(commands,), session_ended=_session_ended),
    )


class ConnectionClosed(Exception):
    """Raised when the server closed the connection."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


class GatewayClient:
    """A gateway client that records the dispatches it receives."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, compression: str, encoding: str = "json") -> None:
        self.socket = socket
        self.compression = compression
        self.encoding = encoding
        self._zlib = zlib.decompressobj()
        self._zstd = zstd.ZstdDecompressor()
        self.seq: int | None = None
        self.session_id = ""
        self.token = ""
        self.dispatches: list[dict[str, Any]] = []
        """Received dispatches, in order."""
        self.resume_url = ""

    def decode(self, message: aiohttp.WSMessage) -> dict[str, Any]:
        """Decompress and decode a frame. Fail if its payload does not have exactly the keys of the gateway."""
        data = message.data
        if self.compression == "zlib-stream":
            assert message.type is aiohttp.WSMsgType.BINARY
            assert data.endswith(b"\x00\x00\xff\xff")
            data = self._zlib.decompress(data)
        elif self.compression == "zstd-stream":
            assert message.type is aiohttp.WSMsgType.BINARY
            data = self._zstd.decompress(data)
        elif message.type is aiohttp.WSMsgType.BINARY and data[0] != etf.VERSION:
            data = zlib.decompress(data)
        payload: dict[str, Any] = etf.decode(data) if self.encoding == "etf" else json.loads(data)
        assert payload.keys() == {"op", "d", "s", "t"}
        return payload

    async def receive(self) -> dict[str, Any]:
        """Return the next payload, and record it if it is a dispatch. Raise ConnectionClosed after a close."""
        message = await asyncio.wait_for(self.socket.receive(), WAIT_TIMEOUT_SECONDS)
        if message.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            raise ConnectionClosed(self.socket.close_code)
        payload = self.decode(message)
        if payload["op"] == GatewayOpcode.DISPATCH:
            self.seq = payload["s"]
            self.dispatches.append(payload)
        return payload

    async def send(self, opcode: int, data: Any = None) -> None:
        """Send one frame in the encoding of the connection."""
        payload = {"op": opcode, "d": data}
        if self.encoding == "etf":
            await self.socket.send_bytes(etf.encode(payload))
        else:
            await self.socket.send_str(json.dumps(payload))

    async def next_event(self, event: str) -> dict[str, Any]:
        """Wait for the next event of this name and return its data. Fail if the session becomes invalid."""
        while True:
            payload = await self.receive()
            if payload["op"] == GatewayOpcode.INVALID_SESSION:
                raise AssertionError(f"invalid session while waiting for {event}")
            if payload["t"] == event:
                return payload["d"]  # type: ignore[no-any-return]

    async def next_payload(self, opcode: int) -> dict[str, Any]:
        """Wait for the next payload with this opcode."""
        while True:
            payload = await self.receive()
            if payload["op"] == opcode:
                return payload

    async def wait_close_code(self) -> int | None:
        """Wait until the server closes the connection and return the close code."""
        while True:
            try:
                await self.receive()
            except ConnectionClosed as closed:
                return closed.code

    async def identify(self, token: str, **fields: Any) -> dict[str, Any]:
        """Start a session and return the payload of READY."""
        await self.send_identify(token, **fields)
        ready = await self.next_event("READY")
        self.session_id, self.resume_url = ready["session_id"], ready["resume_gateway_url"]
        return ready

    async def send_identify(self, token: str, **fields: Any) -> None:
        """Send Identify without waiting for a response. A value of `...` omits the key."""
        self.token = token
        body: dict[str, Any] = {"token": token, "intents": BOT_INTENTS, "properties": {"os": "linux"}} | fields
        await self.send(GatewayOpcode.IDENTIFY, {key: value for key, value in body.items() if value is not ...})

    async def resume(self, session_id: str, token: str, seq: int) -> None:
        """Send Resume without waiting for a response."""
        await self.send(GatewayOpcode.RESUME, {"token": token, "session_id": session_id, "seq": seq})

    async def take_event_names(self) -> list[str]:
        """Return the names of all events received since the last call, and forget them."""
        await self.wait_processed()
        names = [payload["t"] for payload in self.dispatches]
        self.dispatches.clear()
        return names

    async def wait_processed(self) -> None:
        """Receive everything sent before now, by exchanging a heartbeat."""
        await self.send(GatewayOpcode.HEARTBEAT, None)
        await self.next_payload(GatewayOpcode.HEARTBEAT_ACK)

    def abort(self) -> None:
        """Abort the connection without a close frame."""
        transport = self.socket._response.connection.transport  # type: ignore[union-attr]
        transport.abort()  # type: ignore[union-attr]

    async def close(self, code: int = 1000) -> None:
        """Close the connection with a close frame."""
        await self.socket.close(code=code)


class GatewayPlatform:
    """The gateway and its dependencies."""

    def __init__(self, **settings: Any) -> None:
        rate_limits = settings.pop("rate_limits", "real")
        counts_starts = "max_concurrency" in settings or "session_starts_max" in settings
        self.config = Config(gateway=GatewayConfig(**settings), rate_limits=rate_limits)
        self.clock = ControlledClock(START_MS)
        self.metrics = Metrics()
        self.db = SqliteDatabase(None)
        self.bus: LocalBus[Dispatch] = LocalBus(self.metrics)
        self.presences = Presences()
        self.ids = SnowflakeFactory(self.clock)
        self.tokens: dict[str, Actor] = {}
        self.gateway = self.make_gateway(self.presences, self.metrics)
        if not counts_starts:
            # Most tests start several sessions of one bot without a pause.
            self.gateway.session_starts = SessionStarts(self.config, self.clock, RateLimits(self.clock.now_ms, "off"))
        self.url = ""
        self.clients: list[GatewayClient] = []

    def make_gateway(self, presences: Presences, metrics: Metrics | None = None) -> Gateway:
        """Create a gateway node that shares the database and the bus."""
        return Gateway(
            db=self.db,
            bus=self.bus,
            clock=self.clock,
            config=self.config,
            metrics=metrics or Metrics(),
            ids=self.ids,
            presences=presences,
            guild_reader=GuildTableReader(),
            slices=_slices(),
            authenticate=self._authenticate,
        )

    async def _authenticate(self, token: str) -> Actor | None:
        return self.tokens.get(token)

    async def __aenter__(self) -> "GatewayPlatform":
        await self.db.start()
        self.db.on_commit = self._publish
        self.db.publication_scope = self.gateway.frame_batch
        await self.bus.start()
        await self.db.write(self._create_tables)
        await self.gateway.start()
        app = web.Application()
        app.router.add_get("/gateway", self.gateway.handle)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"ws://127.0.0.1:{port}/gateway"
        self._http = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()
        await self.gateway.close()
        await self._runner.cleanup()
        await self.bus.close()
        await self.db.close()

    @staticmethod
    def _create_tables(tx: Tx) -> None:
        tx.run("CREATE TABLE test_guilds (id BIGINT PRIMARY KEY, body TEXT NOT NULL)")
        tx.run(
            "CREATE TABLE test_members (guild_id BIGINT, user_id BIGINT, roles TEXT, PRIMARY KEY (guild_id, user_id))"
        )

    def _publish(self, dispatches: list[Dispatch]) -> None:
        for dispatch in dispatches:
            for subject in dispatch.subjects:
                self.bus.publish(subject, dispatch)

    # Actors and clients

    def create_bot(self, user_id: int, *, flags: int = PRIVILEGED_INTENT_FLAGS, **fields: Any) -> str:
        """Create a bot and return its token."""
        token = f"bot-{user_id}-{len(self.tokens)}"
        self.tokens[token] = Actor(
            user_id=UserId(user_id),
            kind="bot",
            application_id=ApplicationId(user_id),
            application_flags=flags,
            token_id=len(self.tokens) + 1,
            **fields,
        )
        return token

    def create_user(self, user_id: int, kind: str = "user", scopes: frozenset[str] = frozenset()) -> str:
        """Create a user and return a token."""
        token = f"user-{user_id}-{len(self.tokens)}"
        self.tokens[token] = Actor(user_id=UserId(user_id), kind=kind, scopes=scopes, token_id=len(self.tokens) + 1)
        return token

    async def connect(
        self, compression: str = "", url: str = "", receives_hello: bool = True, encoding: str = "json"
    ) -> GatewayClient:
        """Open a connection to `url`, or by default to the gateway, and receive Hello unless `receives_hello` is False."""
        default_url = f"{self.url}?v=10&encoding={encoding}{'&compress=' + compression if compression else ''}"
        socket = await self._http.ws_connect(url or default_url, max_msg_size=0, autoclose=True)
        client = GatewayClient(socket, compression, encoding)
        self.clients.append(client)
        if receives_hello:
            payload = await client.receive()
            assert payload["op"] == GatewayOpcode.HELLO
        return client

    async def start_session(
        self, token: str, compression: str = "", guild_count: int = 1, **identify_fields: Any
    ) -> GatewayClient:
        """Start a session and receive its guilds, so that only later events are recorded."""
        client = await self.connect(compression)
        await client.identify(token, **identify_fields)
        for _ in range(guild_count):
            await client.next_event("GUILD_CREATE")
        await self.wait_idle()
        await client.wait_processed()
        client.dispatches.clear()
        return client

    # Guilds and events

    async def create_guild(self, row: GuildRow, member_roles: dict[int, list[int]]) -> None:
        """Create a guild; `member_roles` maps the user IDs of its members to their role IDs."""

        def change(tx: Tx) -> None:
            tx.run("INSERT INTO test_guilds VALUES (?, ?)", row.id, msgspec.json.encode(row).decode())
            for user, roles in member_roles.items():
                tx.run("INSERT INTO test_members VALUES (?, ?, ?)", row.id, user, json.dumps(roles))

        await self.db.write(change)

    def store_guild(self, tx: Tx, row: GuildRow) -> None:
        """Store a changed guild."""
        tx.run("UPDATE test_guilds SET body = ? WHERE id = ?", msgspec.json.encode(row).decode(), row.id)

    async def emit(self, event: Event[Any], payload: Any, audience: Audience, **options: Any) -> None:
        """Run a transaction that only publishes an event."""
        await self.db.write(lambda tx: tx.emit(event, payload, audience, **options))

    async def publish_message(self, channel_id: int, content: str, guild_id: int = GUILD_ID, **options: Any) -> None:
        await self.emit(MESSAGE_CREATE, {"content": content}, GuildAudience(guild_id, channel_id), **options)

    async def update_channel(self, row: GuildRow, channel: Channel, event: Event[Any] = CHANNEL_UPDATE) -> None:
        """Store the channel, or delete it if `event` is CHANNEL_DELETE, and publish the event."""

        def change(tx: Tx) -> None:
            if event is CHANNEL_DELETE:
                del row.channels[channel.id]
            else:
                row.channels[channel.id] = channel
            self.store_guild(tx, row)
            tx.emit(event, channel.full_payload(), GuildAudience(row.id), refresh="channels", subject_id=channel.id)

        await self.db.write(change)

    async def create_channel(self, row: GuildRow, channel: Channel) -> None:
        await self.update_channel(row, channel, CHANNEL_CREATE)

    async def delete_channel(self, row: GuildRow, channel: Channel) -> None:
        await self.update_channel(row, channel, CHANNEL_DELETE)

    async def set_role_permissions(self, row: GuildRow, role_id: int, permissions: int) -> None:
        def change(tx: Tx) -> None:
            row.roles[role_id] = permissions
            self.store_guild(tx, row)
            tx.emit(GUILD_ROLE_UPDATE, {"role": str(role_id)}, GuildAudience(row.id), refresh="guild")

        await self.db.write(change)

    async def set_member_roles(self, guild_id: int, user_id: int, role_ids: list[int]) -> None:
        def change(tx: Tx) -> None:
            tx.run(
                "UPDATE test_members SET roles = ? WHERE guild_id = ? AND user_id = ?",
                json.dumps(role_ids),
                guild_id,
                user_id,
            )
            audience = GuildAudience(guild_id, intent_exempt_user_id=user_id)
            tx.emit(GUILD_MEMBER_UPDATE, {"user": str(user_id)}, audience, refresh="member", subject_id=user_id)

        await self.db.write(change)

    async def add_member(self, guild_id: int, user_id: int) -> None:
        def change(tx: Tx) -> None:
            tx.run("INSERT INTO test_members VALUES (?, ?, '[]')", guild_id, user_id)
            tx.emit(GUILD_CREATE, {"id": str(guild_id)}, UserAudience.of(user_id))

        await self.db.write(change)

    async def remove_member(self, guild_id: int, user_id: int) -> None:
        def change(tx: Tx) -> None:
            tx.run("DELETE FROM test_members WHERE guild_id = ? AND user_id = ?", guild_id, user_id)
            tx.emit(GUILD_DELETE, {"id": str(guild_id)}, UserAudience.of(user_id))

        await self.db.write(change)

    async def wait_idle(self) -> None:
        """Wait until pending database and clock tasks have finished and their events were delivered."""
        for _ in range(6):
            await self.db.read(lambda tx: None)
            await self.clock.settle()


def sample_guild(**fields: Any) -> GuildRow:
    """Return a guild with a public channel and a channel that only members with the staff role can view."""
    return GuildRow(
        id=GUILD_ID,
        roles={GUILD_ID: VIEW_AND_SEND, STAFF_ROLE_ID: 0},
        channels={
            PUBLIC_CHANNEL_ID: Channel(PUBLIC_CHANNEL_ID, "general"),
            STAFF_CHANNEL_ID: Channel(
                STAFF_CHANNEL_ID,
                "staff",
                position=1,
                overwrites={GUILD_ID: (0, VIEW_CHANNEL), STAFF_ROLE_ID: (VIEW_CHANNEL, 0)},
            ),
        },
        **fields,
    )
