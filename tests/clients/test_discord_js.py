"""Unmodified discord.js against the server: Node runs it in js/ and reports its events."""

import asyncio
import base64
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.scene import LARGE_GUILD_MEMBERS, ONE_PIXEL_PNG, TIMEOUT_SECONDS, ClientScene, Inbox

JS = Path(__file__).parent / "js"
NODE = shutil.which("node")

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="Node is not installed"),
    pytest.mark.skipif(
        not (JS / "node_modules" / "discord.js").is_dir(), reason="discord.js is not installed: make client-deps"
    ),
]

STREAMS = any((JS / "node_modules" / "zlib-sync" / "build" / "Release").glob("*.node"))
"""Whether the library finds zlib-sync, an optional package that is compiled when it is installed.

Without it the library has no stream compression and asks for compressed payloads instead.
"""

COMPRESSIONS = {
    False: "compression: none",
    True: "compression: zlib-stream" if STREAMS else "compression: identify",
}
"""The library's log line for each compression."""

REPLY = 19
"""The message type of a reply."""


class StepError(Exception):
    """A step failed; `code` and `status` are those of the library's error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.name: str = error["name"]
        self.code: int | str | None = error["code"]
        self.status: int | None = error["status"]


class Bot:
    """A discord.js client in its own process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.inbox = Inbox()
        self._process = process
        self._numbers = itertools.count()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            received = json.loads(line)
            self.inbox.put((received.get("event", received.get("id")), received))
        self.inbox.end()

    async def received(self, event: str, matches: Callable[[Any], bool] = lambda _: True) -> Any:
        """Return the data of an event."""
        _, received = await self.inbox.take(
            lambda received: received[0] == event and matches(received[1]["data"]), event
        )
        return received["data"]

    async def do(self, step: str, **args: Any) -> Any:
        """Run a step of steps.mjs and return its result."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        self._process.stdin.write(json.dumps({"id": number, "step": step, "args": args}).encode() + b"\n")
        _, received = await self.inbox.take(lambda received: received[0] == number, f"the answer to {step}")
        if "error" in received:
            raise StepError(received["error"])
        return received["result"]

    async def close(self) -> None:
        """End the client."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), TIMEOUT_SECONDS)
        except TimeoutError:
            self._process.kill()
            raise
        finally:
            await self._reader
        complaints = [received for received in self.inbox.events if received[0] in ("error", "warn", "shardDisconnect")]
        assert not complaints, complaints


@asynccontextmanager
async def running(
    town: ClientScene, token: str | None = None, environment: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Bot]:
    """Run a client that logs in, and end it afterwards."""
    settings = {
        "token": token or town.bot.token,
        "api": f"{town.world.url}/api",
        "cdn": f"{town.world.url}/cdn",
        "options": options,
    }
    process = await asyncio.create_subprocess_exec(
        "node",
        "driver.mjs",
        json.dumps(settings),
        cwd=JS,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
        env=os.environ | (environment or {}),
    )
    bot = Bot(process)
    try:
        yield bot
    finally:
        await bot.close()


@pytest.fixture
async def bot(town: ClientScene) -> AsyncIterator[Bot]:
    """The town's bot, ready."""
    async with running(town) as bot:
        await bot.received("clientReady")
        yield bot


async def test_login_fills_the_cache(bot: Bot, town: ClientScene) -> None:
    cache = await bot.do("cache", guild=str(town.guild.id))
    assert cache["user"].startswith("crier")
    assert cache["application"] == str(town.bot.application_id)
    assert (cache["name"], cache["owner"], cache["count"]) == ("Town Square", str(town.alice.id), 3)
    assert set(cache["channels"]) == {str(channel) for channel in town.guild.channels.values()}
    assert "@everyone" in cache["roles"]
    assert set(cache["members"]) == {str(town.alice.id), str(town.bob.id), str(town.bot.id)}
    assert cache["administrator"]
    assert await bot.do("about", user=str(town.bob.id)) == {"application": "crier", "user": "bob"}


async def test_a_wrong_token_fails_the_login(town: ClientScene) -> None:
    async with running(town, "MTIz.none.suchtoken") as bot:
        assert (await bot.received("loginFailed"))["code"] == "TokenInvalid"


async def test_messages_are_sent_edited_replied_to_and_deleted(bot: Bot, town: ClientScene) -> None:
    channel = str(town.guild.general)
    message_sent = await town.guild.send_message(town.bob, f"ping <@{town.bot.id}>")
    incoming = await bot.received("messageCreate")
    assert (incoming["id"], incoming["author"], incoming["mentions"]) == (
        message_sent["id"],
        str(town.bob.id),
        [str(town.bot.id)],
    )
    reply = await bot.do("reply", channel=channel, message=message_sent["id"], content="pong")
    assert (reply["reference"], reply["type"]) == (message_sent["id"], REPLY)
    echo = await bot.received("messageCreate", lambda message: message["id"] == reply["id"])
    assert (echo["reference"], echo["mentions"]) == (message_sent["id"], [str(town.bob.id)])
    edited = await bot.do("edit", channel=channel, message=reply["id"], content="pong!")
    assert edited == {"content": "pong!", "edited": True}
    assert (await bot.received("messageUpdate", lambda message: message["edited"]))["content"] == "pong!"
    await bot.do("remove", channel=channel, message=reply["id"])
    assert (await bot.received("messageDelete"))["id"] == reply["id"]

    sent = [await bot.do("send", channel=channel, content=f"line {number}") for number in range(5)]
    assert await bot.do("history", channel=channel, limit=3) == ["line 4", "line 3", "line 2"]
    assert await bot.do("history", channel=channel, before=sent[2], limit=2) == ["line 1", "line 0"]
    assert set(await bot.do("removeMany", channel=channel, messages=sent[:3])) == set(sent[:3])
    assert set(await bot.received("messageDeleteBulk")) == set(sent[:3])


async def test_attachments_and_embeds_come_back_as_they_were_sent(bot: Bot, town: ClientScene) -> None:
    files = [
        {"name": "notes.txt", "data": base64.b64encode(b"text").decode(), "description": "my notes", "spoiler": False},
        {"name": "pixel.png", "data": base64.b64encode(ONE_PIXEL_PNG).decode(), "description": None, "spoiler": True},
    ]
    answer = await bot.do("attach", channel=str(town.guild.general), files=files)
    first, second = answer["attachments"]
    assert (first["name"], first["description"], first["size"], first["spoiler"]) == ("notes.txt", "my notes", 4, False)
    assert first["type"].startswith("text/plain")
    assert (second["name"], second["spoiler"], second["width"]) == ("SPOILER_pixel.png", True, 1)
    assert [one["data"] for one in answer["attachments"]] == [file["data"] for file in files]
    embed = answer["embed"]
    assert (embed["title"], embed["color"], embed["footer"]["text"]) == ("News", 0x336699, "the end")
    assert embed["fields"] == [{"name": "weather", "value": "fine", "inline": True}]
    assert answer["timestamp"].startswith("2026-12-01T12:00:00")


async def test_reactions_and_pins(bot: Bot, town: ClientScene) -> None:
    channel = str(town.guild.general)
    message = await bot.do("send", channel=channel, content="do you like it?")
    target = {"channel": channel, "message": message}
    await bot.do("react", **target, emoji="👍")
    assert await bot.received("messageReactionAdd") == {"emoji": "👍", "count": 1, "user": str(town.bot.id), "me": True}
    (await town.bob.put(f"/channels/{channel}/messages/{message}/reactions/👍/@me")).ok()
    added = await bot.received("messageReactionAdd")
    assert (added["count"], added["user"]) == (2, str(town.bob.id))
    assert set(await bot.do("reactors", **target, emoji="👍")) == {str(town.bot.id), str(town.bob.id)}
    await bot.do("unreact", **target, emoji="👍", user=str(town.bob.id))
    assert (await bot.received("messageReactionRemove"))["user"] == str(town.bob.id)
    await bot.do("unreactAll", **target)
    assert (await bot.received("messageReactionRemoveAll"))["id"] == message

    assert await bot.do("pin", **target) == {"pinned": [message], "left": 0}
    assert (await bot.received("channelPinsUpdate"))["id"] == channel


async def test_threads_and_forum_posts_are_created_joined_and_archived(bot: Bot, town: ClientScene) -> None:
    channel = str(town.guild.general)
    message = await bot.do("send", channel=channel, content="a long story")
    thread = await bot.do("thread", channel=channel, message=message, name="story")
    assert thread == {"id": message, "cached": [message]}
    created = await bot.received("threadCreate")
    assert (created["id"], created["parent"]) == (message, channel)
    people = await bot.do("threadMember", thread=message, user=str(town.bob.id))
    assert set(people) == {str(town.bot.id), str(town.bob.id)}
    await bot.received("threadMembersUpdate", lambda received: received["added"] == [str(town.bob.id)])
    assert await bot.do("archive", thread=message, name="tale") == [message]
    assert (await bot.received("threadUpdate", lambda thread: thread["archived"]))["name"] == "tale"

    post = await bot.do("post", guild=str(town.guild.id), name="a fountain", content="in the middle")
    assert post["starter"] == "in the middle"
    created = await bot.received("threadCreate")
    assert (created["id"], created["parent"], created["tags"]) == (post["id"], post["forum"], [post["tag"]])


async def test_roles_and_channels_are_created_edited_and_deleted(bot: Bot, town: ClientScene) -> None:
    guild, bob = str(town.guild.id), str(town.bob.id)
    role = await bot.do("role", guild=guild, user=bob)
    assert role["worn"]
    created = await bot.received("roleCreate")
    assert (created["id"], created["color"], created["permissions"]) == (role["id"], 0xFF0000, ["KickMembers"])
    await bot.received("roleUpdate", lambda role: role["name"] == "watch")
    await bot.received("guildMemberUpdate", lambda member: role["id"] in member["roles"])
    await bot.received("guildMemberUpdate", lambda member: role["id"] not in member["roles"])
    entry = await bot.received("guildAuditLogEntryCreate", lambda entry: entry["reason"] == "brave")
    assert entry["target"] == bob
    assert (await bot.received("roleDelete"))["id"] == role["id"]

    channel = await bot.do("channel", guild=guild, hide=bob)
    assert (channel["topic"], channel["hidden"], channel["shown"]) == ("gold", True, True)
    assert (await bot.received("channelCreate"))["id"] == channel["id"]
    await bot.received("channelUpdate", lambda channel: channel["name"] == "treasury")
    assert (await bot.received("channelDelete"))["id"] == channel["id"]
    assert await bot.do("renameGuild", guild=guild, name="Market Square") == "Market Square"
    assert (await bot.received("guildUpdate"))["name"] == "Market Square"


async def test_members_are_renamed_timed_out_kicked_and_banned(bot: Bot, town: ClientScene) -> None:
    person = {"guild": str(town.guild.id), "user": str(town.bob.id)}
    assert await bot.do("nick", **person, nick="Bobby") == "Bobby"
    await bot.received("guildMemberUpdate", lambda member: member["name"] == "Bobby")
    await bot.do("timeout", **person, until=town.world.clock.now_ms() + 3_600_000)
    await bot.received("guildMemberUpdate", lambda member: member["timed"])
    await bot.do("kick", **person)
    assert (await bot.received("guildMemberRemove"))["id"] == person["user"]
    with pytest.raises(StepError) as missing:
        await bot.do("fetchMember", **person)
    assert (missing.value.code, missing.value.status) == (10007, 404)
    assert await bot.do("ban", **person) == [[person["user"], "for good"]]
    assert await bot.received("guildBanAdd") == {"user": person["user"]}
    assert await bot.received("guildBanRemove") == {"user": person["user"]}
    assert await bot.do("auditLog", guild=person["guild"]) == [23, 22, 20]


async def test_error_responses_become_the_librarys_errors(town: ClientScene) -> None:
    humble = await town.world.bot(town.guild, name="humble")
    async with running(town, humble.token) as bot:
        await bot.received("clientReady")
        with pytest.raises(StepError) as refused:
            await bot.do("role", guild=str(town.guild.id), user=str(town.bob.id))
        assert (refused.value.code, refused.value.status) == (50013, 403)
        with pytest.raises(StepError) as missing:
            await bot.do("reply", channel=str(town.guild.general), message="1", content="?")
        assert (missing.value.code, missing.value.status) == (10008, 404)
        with pytest.raises(StepError) as wrong:
            await bot.do("send", channel=str(town.guild.general), content="x" * 2001)
        assert (wrong.value.code, wrong.value.status) == (50035, 400)
        assert "content[BASE_TYPE_MAX_LENGTH]" in str(wrong.value)


async def test_invites_typing_and_direct_messages(bot: Bot, town: ClientScene) -> None:
    channel, guild = str(town.guild.general), str(town.guild.id)
    invite = await bot.do("invite", channel=channel)
    assert invite["guild"] == guild
    assert (await bot.received("inviteCreate"))["code"] == invite["code"]
    carol = await town.world.user("carol")
    (await carol.post(f"/invites/{invite['code']}", json={})).ok()
    assert (await bot.received("guildMemberAdd"))["id"] == str(carol.id)
    assert await bot.do("endInvite", guild=guild, code=invite["code"]) == 1
    assert (await bot.received("inviteDelete"))["code"] == invite["code"]

    (await town.bob.post(f"/channels/{channel}/typing")).ok()
    assert await bot.received("typingStart") == {"channel": channel, "user": str(town.bob.id)}
    watcher = await town.bob.connect()
    await bot.do("typing", channel=channel)
    assert (await watcher.next("TYPING_START"))["user_id"] == str(town.bot.id)

    sent = await bot.do("directMessage", user=str(town.bob.id), content="psst")
    path = f"/channels/{sent['channel']}/messages"
    assert [message["content"] for message in (await town.bob.get(path)).ok()] == ["psst"]
    (await town.bob.post(path, json={"content": "what?"})).ok()
    incoming = await bot.received("messageCreate", lambda message: message["author"] == str(town.bob.id))
    assert (incoming["content"], incoming["guild"]) == ("what?", None)


async def test_presences_and_voice_states_are_received_and_sent(bot: Bot, town: ClientScene) -> None:
    watcher = await town.bob.connect()
    seen = await bot.received("presenceUpdate", lambda presence: presence["user"] == str(town.bob.id))
    assert seen["status"] == "online"
    await bot.do("presence", status="idle", activity="chess")
    shown = await watcher.next(
        "PRESENCE_UPDATE", lambda shown: shown["user"]["id"] == str(town.bot.id) and shown["status"] == "idle"
    )
    assert [activity["name"] for activity in shown["activities"]] == ["chess"]

    lounge = str(town.guild.channels["General"])
    received = await bot.do("joinVoice", guild=str(town.guild.id), channel=lounge)
    assert (received["state"]["channel_id"], received["state"]["self_mute"]) == (lounge, True)
    assert received["server"]["token"]
    assert received["server"]["endpoint"]
    assert (await bot.received("voiceStateUpdate"))["after"] == lounge
    assert (await bot.received("voiceStateUpdate"))["after"] is None


@pytest.mark.parametrize("compresses", [False, True], ids=["plain", "compressed"])
async def test_a_cut_connection_resumes_without_missed_events(town: ClientScene, compresses: bool) -> None:
    async with running(town, compresses=compresses) as bot:
        await bot.received("clientReady")
        assert await bot.received("debug") == COMPRESSIONS[compresses]
        expected = []
        for round in range(3):
            expected += [
                (await town.guild.send_message(town.bob, f"{round}.{number} " + "é" * 500))["id"] for number in range(5)
            ]
            assert town.proxy.cut() == 1
            expected += [
                (await town.guild.send_message(town.bob, f"{round}.{number} while away"))["id"] for number in range(5)
            ]
            await bot.received("shardResume")
        incoming = [(await bot.received("messageCreate"))["id"] for _ in expected]
        await town.guild.send_message(town.bob, "the end")
        assert (await bot.received("messageCreate"))["content"] == "the end"
        assert incoming == expected


async def test_guilds_are_spread_over_two_shards(town: ClientScene) -> None:
    shards = await town.guilds_on_both_shards()
    async with running(town, client={"shards": [0, 1], "shardCount": 2}) as bot:
        await bot.received("clientReady")
        assert await bot.do("shards") == {str(guild): shard for shard, guilds in shards.items() for guild in guilds}


async def test_all_members_of_a_large_guild_are_chunked(town: ClientScene) -> None:
    await town.add_members()
    async with running(town) as bot:
        await bot.received("clientReady")
        members = await bot.do("allMembers", guild=str(town.guild.id))
        assert members["large"]
        assert members["cached"] < 10
        assert (members["all"], members["some"]) == (LARGE_GUILD_MEMBERS + 3, 100)
