"""Clients that use a cluster during faults and record the history of their operations."""

import asyncio
import contextlib
import itertools
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from hubbub.protocol.enums import ChannelType, GatewayOpcode, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.chaos.history import (
    Operation,
    Outcome,
    Read,
    RightChange,
    RightUse,
    Send,
    Stream,
    Use,
    check_client_state,
    check_messages,
    check_nonces,
    check_rights,
    check_stream,
    check_uses,
)
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, Server, create_guild, register_user
from tests.world import ApiResponse

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=8.0)
PAUSE_SECONDS = 0.05
"""Time between two operations of one client, in seconds."""
PAGE_MESSAGES_MAX = 100
"""Maximum number of messages of a channel that one request returns."""
CHANNEL_MESSAGES_MAX = 90
"""Number of messages after which a client continues in another channel, so that one request reads a whole channel."""
INVITE_USES_MAX = 2
DENY_VIEW_OVERWRITE = {"type": OverwriteType.MEMBER, "allow": "0", "deny": str(int(Permissions.VIEW_CHANNEL))}


@dataclass(frozen=True)
class Attempt:
    """One request: its times in seconds of the monotonic clock, its outcome, and the response if there was one."""

    started: float
    ended: float
    outcome: Outcome
    body: Any
    """The decoded response of an acknowledged request; None otherwise."""

    @property
    def times(self) -> dict[str, Any]:
        """The arguments that every operation of a history has."""
        return {"started": self.started, "ended": self.ended, "outcome": self.outcome}


async def attempt(request: Awaitable[ApiResponse]) -> Attempt:
    """Await a request and classify its outcome."""
    started_at = time.monotonic()
    outcome, body = Outcome.UNKNOWN, None
    try:
        response = await request
        if response.status < 300:
            outcome, body = Outcome.ACKNOWLEDGED, response.json if response.body else None
        elif response.status < 500:
            outcome = Outcome.FAILED
    except aiohttp.ClientConnectorError:
        # The request was not sent.
        outcome = Outcome.FAILED
    except (aiohttp.ClientError, OSError, TimeoutError):
        # The connection broke, so the request may have been handled.
        pass
    return Attempt(started_at, time.monotonic(), outcome, body)


class Watcher:
    """A gateway client that resumes after a lost connection and identifies after Invalid Session, as libraries do."""

    def __init__(self, user: ApiUser, server: Server) -> None:
        self.session = GatewaySession(user, server.gateway)
        self._starts: list[tuple[int, float]] = []
        """Index of the first dispatch of each session, and the time at which its READY had arrived."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> "Watcher":
        await self.session.open()
        self._starts.append((0, time.monotonic()))
        self._task = asyncio.create_task(self._run())
        return self

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.session.close()

    @property
    def restart_count(self) -> int:
        """Number of sessions that the platform ended with Invalid Session."""
        return len(self._starts) - 1

    @property
    def current_dispatches(self) -> list[dict[str, Any]]:
        """The dispatches of the current session."""
        return self.session.dispatches[self._starts[-1][0] :]

    def streams(self, channel_ids: set[str]) -> list[Stream]:
        """Return the dispatches of every session, with the messages of these channels."""
        ends = [*(index for index, _ in self._starts[1:]), len(self.session.dispatches)]
        return [
            Stream(
                started=started_at,
                is_open=number == self.restart_count,
                sequence_numbers=tuple(frame["s"] for frame in self.session.dispatches[first:end]),
                messages=tuple(
                    (frame["d"]["channel_id"], int(frame["d"]["id"]), frame["d"]["content"])
                    for frame in self.session.dispatches[first:end]
                    if frame["t"] == "MESSAGE_CREATE" and frame["d"]["channel_id"] in channel_ids
                ),
            )
            for number, ((first, started_at), end) in enumerate(zip(self._starts, ends, strict=True))
        ]

    def _is_invalid(self) -> bool:
        return any(frame["op"] == GatewayOpcode.INVALID_SESSION for frame in self.session.other_frames)

    def _has_ended(self) -> bool:
        """Return whether the session or its connection has ended."""
        return self._is_invalid() or self.session.close_code is not None

    async def _run(self) -> None:
        session = self.session
        while True:
            await session.wait_until(self._has_ended, float("inf"))
            try:
                if self._is_invalid():
                    await self._restart()
                else:
                    await session.resume()
            except (aiohttp.ClientError, OSError, AssertionError):
                # The node is not available, or it closed the connection again.
                await session.close()
                session.close_code = session.close_code or 1006
                await asyncio.sleep(PAUSE_SECONDS)

    async def _restart(self) -> None:
        """Start a new session, on a new connection if the old one was closed; return earlier if that fails."""
        if self.session.close_code is not None:
            await self.session.connect()
        self.session.other_frames.clear()
        first_index = len(self.session.dispatches)
        self.session.seq = 0
        # Until the session has started, nothing is expected of it.
        self._starts.append((first_index, math.inf))
        start_task = asyncio.create_task(self._start_session(first_index))
        end_task = asyncio.create_task(self.session.wait_until(self._has_ended, float("inf")))
        done_tasks, pending_tasks = await asyncio.wait({start_task, end_task}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending_tasks:
            task.cancel()
        await asyncio.gather(*pending_tasks, return_exceptions=True)
        for task in done_tasks:
            task.result()

    async def _start_session(self, first_index: int) -> None:
        await self.session.identify()
        for _ in self.session.ready["guilds"]:
            await self.session.wait_event("GUILD_CREATE", since=first_index)
        self._starts[-1] = (first_index, time.monotonic())


@dataclass
class Workload:
    """Users of one guild, their clients, and the history of what they did."""

    servers: list[Server]
    """The API processes; every client uses all of them in turn."""
    owner: ApiUser
    denied_user: ApiUser
    """The member from which channels are hidden."""
    joining_users: list[ApiUser]
    guild_id: str
    watcher: Watcher
    denied_watcher: Watcher
    operations: list[Operation] = field(default_factory=list)
    invite_guild_ids: dict[str, str] = field(default_factory=dict)
    """Guild ID of each limited invite, by code."""
    finished_count: int = 0
    """Number of finished requests, with any outcome."""
    acknowledged_counts: dict[str, int] = field(default_factory=dict)
    """Number of acknowledged requests by the URL of the server."""
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)
    """The running clients."""
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _is_stopping: bool = False

    def start(self) -> None:
        """Start all clients."""
        clients = (
            self.send_messages(has_nonces=False),
            self.send_messages(has_nonces=True),
            self.hide_channels(),
            self.use_invites(),
        )
        self.tasks = [asyncio.create_task(client) for client in clients]

    async def finish(self) -> None:
        """Let the clients finish their operations, so that the history contains every request that was sent."""
        self._is_stopping = True
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await asyncio.gather(*self.tasks)

    async def try_request(self, user: ApiUser, method: str, path: str, body: Any = None) -> Attempt:
        """Send a request to the next server and record that it finished."""
        user = user.at_server(self.servers[next(self._numbers) % len(self.servers)])
        result = await attempt(user.request(method, path, json=body, timeout=REQUEST_TIMEOUT))
        async with self._changed:
            self.finished_count += 1
            if result.outcome is Outcome.ACKNOWLEDGED:
                self.acknowledged_counts[user.url] = self.acknowledged_counts.get(user.url, 0) + 1
            self._changed.notify_all()
        await asyncio.sleep(PAUSE_SECONDS)
        return result

    async def repeat_request(self, user: ApiUser, method: str, path: str, body: Any = None) -> Attempt:
        """Repeat a request until it is acknowledged."""
        while (result := await self.try_request(user, method, path, body)).outcome is not Outcome.ACKNOWLEDGED:
            pass
        return result

    async def wait_finished(self, count: int) -> None:
        """Wait for a number of further requests to finish, with any outcome."""
        target = self.finished_count + count
        async with asyncio.timeout(TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self.finished_count >= target)

    async def wait_acknowledged(self, count: int) -> None:
        """Wait for a number of further acknowledged requests at every server."""
        targets = {server.url: self.acknowledged_counts.get(server.url, 0) + count for server in self.servers}
        async with asyncio.timeout(TIMEOUT_SECONDS), self._changed:
            await self._changed.wait_for(
                lambda: all(self.acknowledged_counts.get(url, 0) >= target for url, target in targets.items())
            )

    # Clients

    async def send_messages(self, *, has_nonces: bool) -> None:
        """Send messages and read the channel, in a new channel after `CHANNEL_MESSAGES_MAX` messages."""
        while not self._is_stopping:
            channel_id = await self._create_channel(self.guild_id)
            for _ in range(CHANNEL_MESSAGES_MAX):
                if not self._is_stopping:
                    await self._send(channel_id, has_nonce=has_nonces)
                    await self._read(channel_id)

    async def hide_channels(self) -> None:
        """Hide one channel after the other from a member, and check what the member can still read."""
        while not self._is_stopping:
            channel_id = await self._create_channel(self.guild_id)
            key = f"view {channel_id}"
            path = f"/channels/{channel_id}/permissions/{self.denied_user.id}"
            result = await self.try_request(self.owner, "PUT", path, DENY_VIEW_OVERWRITE)
            self.operations.append(RightChange(**result.times, key=key, is_granted=False))
            await self._send(channel_id, has_nonce=False)
            read_attempt = await self.try_request(self.denied_user, "GET", f"/channels/{channel_id}/messages")
            self.operations.append(RightUse(**read_attempt.times, key=key, description="a read"))

    async def use_invites(self) -> None:
        """Let more users join with an invite than it allows."""
        while not self._is_stopping:
            created_guild = await self.repeat_request(self.owner, "POST", "/guilds", {"name": "Limited"})
            guild_id = created_guild.body["id"]
            channel_id = await self._create_channel(guild_id)
            body = {"max_uses": INVITE_USES_MAX, "max_age": 0}
            code = (await self.repeat_request(self.owner, "POST", f"/channels/{channel_id}/invites", body)).body["code"]
            self.invite_guild_ids[code] = guild_id
            results = await asyncio.gather(
                *(self.try_request(user, "POST", f"/invites/{code}") for user in self.joining_users)
            )
            self.operations += [
                Use(**result.times, key=code, user_id=user.id)
                for user, result in zip(self.joining_users, results, strict=True)
            ]

    async def _create_channel(self, guild_id: str) -> str:
        body = {"name": "chaos", "type": ChannelType.GUILD_TEXT}
        channel = await self.repeat_request(self.owner, "POST", f"/guilds/{guild_id}/channels", body)
        return str(channel.body["id"])

    async def _send(self, channel_id: str, *, has_nonce: bool) -> None:
        """Send a message; with a nonce, repeat it until it is acknowledged, and once more."""
        content = f"message {next(self._numbers)}"
        nonce = content.removeprefix("message ") if has_nonce else ""
        body = {"content": content} | ({"nonce": nonce, "enforce_nonce": True} if has_nonce else {})
        acknowledged_count = 0
        while True:
            result = await self.try_request(self.owner, "POST", f"/channels/{channel_id}/messages", body)
            message_id = int(result.body["id"]) if result.outcome is Outcome.ACKNOWLEDGED else 0
            self.operations.append(
                Send(
                    **result.times,
                    channel_id=channel_id,
                    content=content,
                    author_id=self.owner.id,
                    nonce=nonce,
                    message_id=message_id,
                )
            )
            acknowledged_count += bool(message_id)
            if not has_nonce or acknowledged_count == 2:
                return

    async def _read(self, channel_id: str) -> Read | None:
        result = await self.try_request(self.owner, "GET", f"/channels/{channel_id}/messages?limit={PAGE_MESSAGES_MAX}")
        if result.outcome is not Outcome.ACKNOWLEDGED:
            return None
        messages = tuple((int(message["id"]), message["content"]) for message in reversed(result.body))
        read = Read(**result.times, channel_id=channel_id, messages=messages)
        self.operations.append(read)
        return read

    # Checks

    def of_kind(self, kind: type[Any]) -> list[Any]:
        """Return the recorded operations of a class."""
        return [operation for operation in self.operations if type(operation) is kind]

    def summary(self) -> str:
        """Return the number of operations by class and outcome, and the number of sessions that started again."""
        counts = Counter((type(operation).__name__, operation.outcome.value) for operation in self.operations)
        parts = [f"{kind} {outcome}: {count}" for (kind, outcome), count in sorted(counts.items())]
        restarts = self.watcher.restart_count + self.denied_watcher.restart_count
        return ", ".join([*parts, f"restarted sessions: {restarts}"])

    async def find_violations(self, gateway: Server, *, id_lead_seconds: float = 0.0) -> list[str]:
        """Read the final state, when all processes work again and the clients have ended, and check the history.

        `id_lead_seconds` is the time by which IDs of a process may be ahead of those of others."""
        sends: list[Send] = self.of_kind(Send)
        channel_ids = {send.channel_id for send in sends}
        final_reads = []
        for channel_id in sorted(channel_ids):
            while (read := await self._read(channel_id)) is None:
                pass
            final_reads.append(read)
        final_user_ids = {}
        for code, guild_id in self.invite_guild_ids.items():
            members = await self.repeat_request(self.owner, "GET", f"/guilds/{guild_id}/members?limit=100")
            final_user_ids[code] = {member["user"]["id"] for member in members.body} - {self.owner.id}
        limits = dict.fromkeys(self.invite_guild_ids, INVITE_USES_MAX)
        for watcher in (self.watcher, self.denied_watcher):
            await self._wait_delivered(watcher)
        violations = check_messages(sends, self.of_kind(Read), id_lead_seconds=id_lead_seconds)
        violations += check_nonces(sends, final_reads)
        violations += check_uses(self.of_kind(Use), limits, final_user_ids)
        violations += check_rights(self.of_kind(RightChange), [*self.of_kind(RightUse), *self._deliveries()])
        for stream in self.watcher.streams(channel_ids):
            violations += check_stream(stream, sends)
        for watcher in (self.watcher, self.denied_watcher):
            fresh_session = await GatewaySession(watcher.session.user, gateway.gateway).open()
            violations += check_client_state(watcher.current_dispatches, fresh_session.dispatches)
            await fresh_session.close()
        return violations

    async def _wait_delivered(self, watcher: Watcher) -> None:
        """Send messages through each server until the watcher has received one, and with it all events before it."""
        channel_id = await self._create_channel(self.guild_id)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            for server in self.servers:
                content = f"last of {server.port}"
                # A session that is just starting again does not receive the first of them.
                while content not in [
                    f["d"]["content"] for f in watcher.current_dispatches if f["t"] == "MESSAGE_CREATE"
                ]:
                    await self.owner.at_server(server).create_message(channel_id, content)
                    await asyncio.sleep(PAUSE_SECONDS)

    def _deliveries(self) -> list[RightUse]:
        """Return the messages that the member received from channels that were hidden."""
        sends = {(send.channel_id, send.content): send for send in self.of_kind(Send)}
        keys = {change.key for change in self.of_kind(RightChange)}
        uses = []
        for frame in self.denied_watcher.session.dispatches:
            if frame["t"] != "MESSAGE_CREATE" or (key := f"view {frame['d']['channel_id']}") not in keys:
                continue
            send = sends[frame["d"]["channel_id"], frame["d"]["content"]]
            # Hidden channels are never shown again, so the time of the arrival does not matter.
            uses.append(
                RightUse(
                    started=send.started,
                    ended=send.ended,
                    outcome=Outcome.ACKNOWLEDGED,
                    key=key,
                    description=f"the delivered {send.content!r}",
                )
            )
        return uses


@contextlib.asynccontextmanager
async def running_workload(
    client: aiohttp.ClientSession, servers: list[Server], gateway: Server
) -> AsyncIterator[Workload]:
    """Run clients against the API processes until the `async with` block ends, with two sessions at a gateway process."""
    owner, member, denied_user, *joining_users = [await register_user(client, servers[0], "user") for _ in range(7)]
    guild_id, _, _ = await create_guild(owner, member, denied_user)
    watchers = [await Watcher(user, gateway).start() for user in (member, denied_user)]
    workload = Workload(servers, owner, denied_user, joining_users, guild_id, *watchers)
    workload.start()
    try:
        yield workload
    finally:
        for task in workload.tasks:
            task.cancel()
        await asyncio.gather(*workload.tasks, return_exceptions=True)
        for watcher in watchers:
            await watcher.stop()
