"""Webhooks: making and keeping them, what they say in three forms, what they change afterwards, and who follows announcements."""

import base64
import json
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.github import GITHUB_EVENTS
from hubbub.server.core.config import Config
from hubbub.server.resources.webhooks import actions, github, slack, store, tokens
from hubbub.server.resources.webhooks.store import WebhookRow
from hubbub.server.transports.cdn import default_avatar
from tests.world import Actor, Answer, Guild, World, small_config

PNG = "data:image/png;base64," + base64.b64encode(default_avatar(0)).decode()
V2 = MessageFlags.IS_COMPONENTS_V2
MANAGE = Permissions.MANAGE_WEBHOOKS
NO_CONTENT = Intents.GUILDS | Intents.GUILD_MESSAGES
LINK: dict[str, Any] = {"type": 1, "components": [{"type": 2, "style": 5, "label": "go", "url": "https://example.com"}]}
BUTTON: dict[str, Any] = {"type": 1, "components": [{"type": 2, "style": 1, "label": "press", "custom_id": "a"}]}


class Hook:
    """A webhook in a test's hands."""

    def __init__(self, world: World, shown: dict[str, Any]) -> None:
        self.world = world
        self.shown = shown
        self.id = int(shown["id"])
        self.path = f"/webhooks/{shown['id']}/{shown.get('token')}"

    async def execute(self, content: str | None = None, query: str = "wait=true", **body: Any) -> Answer:
        """Say something."""
        if content is not None:
            body["content"] = content
        return await self.world.request("POST", f"{self.path}?{query}", json=body)

    async def say(self, content: str | None = None, query: str = "wait=true", **body: Any) -> Any:
        """Say something that is taken."""
        return (await self.execute(content, query, **body)).ok()


async def make(world: World, actor: Actor, channel: int, name: str = "hook", **body: Any) -> Hook:
    """A new webhook."""
    return Hook(world, (await actor.post(f"/channels/{channel}/webhooks", json={"name": name, **body})).ok())


async def run_jobs(world: World) -> None:
    """Let everything that is due happen."""
    assert world.app.worker is not None
    await world.app.worker.run_due()


async def entries(guild: Guild, action: int) -> list[Any]:
    """The audit log's entries of a kind, newest first."""
    found: list[Any] = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={action}")).ok()[
        "audit_log_entries"
    ]
    return found


# Keeping


async def test_a_webhook_is_made_told_and_written_down(world: World) -> None:
    guild = await world.guild()
    session = await guild.owner.connect()

    answer = await guild.owner.post(
        f"/channels/{guild.general}/webhooks",
        json={"name": "  News   desk ", "avatar": PNG},
        headers={"X-Audit-Log-Reason": "why%20not"},
    )

    made = answer.ok()
    assert (made["type"], made["name"]) == (1, "News desk")
    assert (made["channel_id"], made["guild_id"]) == (str(guild.general), str(guild.id))
    assert made["application_id"] is None
    assert made["user"]["id"] == str(guild.owner.id)
    assert len(made["avatar"]) == 32
    assert len(made["token"]) == 68
    assert made["url"] == f"{world.url}/api/webhooks/{made['id']}/{made['token']}"
    told = await session.next("WEBHOOKS_UPDATE")
    assert told == {"guild_id": str(guild.id), "channel_id": str(guild.general)}
    (entry,) = await entries(guild, 50)
    assert (entry["target_id"], entry["user_id"], entry["reason"]) == (made["id"], str(guild.owner.id), "why not")
    found = {change["key"]: change["new_value"] for change in entry["changes"]}
    assert found == {
        "type": 1,
        "name": "News desk",
        "channel_id": str(guild.general),
        "avatar_hash": made["avatar"],
    }
    page = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs")).ok()
    assert [each["id"] for each in page["webhooks"]] == [made["id"]]
    assert "token" not in page["webhooks"][0]
    async with world.client.get(f"{world.url}/cdn/avatars/{made['id']}/{made['avatar']}.png") as picture:
        assert picture.status == 200


async def test_webhooks_are_listed_by_channel_and_by_guild(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    first, second = await make(world, guild.owner, guild.general), await make(world, guild.owner, other)

    listed = (await guild.owner.get(f"/channels/{guild.general}/webhooks")).ok()
    assert [each["id"] for each in listed] == [str(first.id)]
    assert listed[0] == first.shown
    assert {each["id"] for each in (await guild.owner.get(f"/guilds/{guild.id}/webhooks")).ok()} == {
        str(first.id),
        str(second.id),
    }
    assert (await guild.owner.get(f"/webhooks/{first.id}")).ok() == first.shown


async def test_who_cannot_see_a_channel_is_not_told_of_its_webhooks(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    await guild.allow(bob, MANAGE)
    secret = await guild.channel("secret")
    hook = await make(world, guild.owner, secret)
    await guild.overwrite(secret, bob.id, deny=Permissions.VIEW_CHANNEL)

    assert (await bob.get(f"/guilds/{guild.id}/webhooks")).ok() == []
    (await bob.get(f"/webhooks/{hook.id}")).refused(403, 50001)
    (await bob.get(f"/channels/{secret}/webhooks")).refused(403, 50001)


@pytest.mark.parametrize("standing", ["outsider", "member", "manager"])
async def test_keeping_webhooks_needs_manage_webhooks(world: World, standing: str) -> None:
    bob = await world.user()
    guild = await world.guild(None, *([] if standing == "outsider" else [bob]))
    hook = await make(world, guild.owner, guild.general)
    if standing == "manager":
        await guild.allow(bob, MANAGE)

    answers = [
        await bob.get(f"/channels/{guild.general}/webhooks"),
        await bob.get(f"/guilds/{guild.id}/webhooks"),
        await bob.post(f"/channels/{guild.general}/webhooks", json={"name": "a"}),
        await bob.get(f"/webhooks/{hook.id}"),
        await bob.patch(f"/webhooks/{hook.id}", json={"name": "b"}),
        await bob.delete(f"/webhooks/{hook.id}"),
    ]

    for answer in answers:
        if standing == "manager":
            answer.ok()
        else:
            answer.refused(403, 50001 if standing == "outsider" else 50013)


async def test_unknown_webhooks_and_channels(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    for method in ("GET", "PATCH", "DELETE"):
        (await guild.owner.request(method, "/webhooks/1", json={})).refused(404, 10015)
        (await world.request(method, "/webhooks/1/token", json={})).refused(404, 10015)
        (await world.request(method, f"/webhooks/{hook.id}/{'x' * 68}", json={})).refused(401, 50027)
    (await world.request("POST", f"/webhooks/{hook.id}/x", json={"content": "a"})).refused(401, 50027)
    (await world.request("POST", "/webhooks/1/x", json={"content": "a"})).refused(404, 10015)
    (await guild.owner.post("/channels/1/webhooks", json={"name": "a"})).refused(404, 10003)
    (await guild.owner.get("/guilds/1/webhooks")).refused(404, 10004)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "BASE_TYPE_BAD_LENGTH"),
        ("   ", "BASE_TYPE_BAD_LENGTH"),
        ("a" * 81, "BASE_TYPE_BAD_LENGTH"),
        ("Mr Clyde", "USERNAME_INVALID_CONTAINS"),
        ("the HUBBUB team", "USERNAME_INVALID_CONTAINS"),
    ],
)
async def test_what_a_webhook_cannot_be_called(world: World, name: str, code: str) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    made = await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": name})
    assert made.errors("name") == [code]
    assert (await guild.owner.patch(f"/webhooks/{hook.id}", json={"name": name})).errors("name") == [code]
    assert (await world.request("PATCH", hook.path, json={"name": name})).errors("name") == [code]
    if name:
        assert (await hook.execute("hi", username=name)).errors("username") == [code]


async def test_a_webhook_needs_a_name_and_a_real_picture(world: World) -> None:
    guild = await world.guild()
    path = f"/channels/{guild.general}/webhooks"

    assert (await guild.owner.post(path, json={})).errors("name") == ["BASE_TYPE_REQUIRED"]
    (await guild.owner.post(path, json={"name": "a", "avatar": "data:image/png;base64,AAAA"})).refused(400, 50035)


async def test_categories_and_threads_have_no_webhooks(world: World) -> None:
    guild = await world.guild()
    category = await guild.channel("boxes", type=4)
    thread = (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "t", "type": 11})).ok()["id"]

    for channel in (category, thread):
        (await guild.owner.post(f"/channels/{channel}/webhooks", json={"name": "a"})).refused(400, 50024)


async def test_a_channel_has_15_webhooks_and_a_guild_1000(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    for _ in range(wire.WEBHOOKS_PER_CHANNEL_MAX):
        await make(world, guild.owner, guild.general)
    elsewhere = await make(world, guild.owner, other)

    (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "a"})).refused(400, 30007)
    move = {"channel_id": str(guild.general)}
    (await guild.owner.patch(f"/webhooks/{elsewhere.id}", json=move)).refused(400, 30007)

    def fill(call: Any) -> None:
        for number in range(1, wire.WEBHOOKS_PER_GUILD_MAX - 15):
            store.insert(call.tx, WebhookRow(number, 1, guild.id, 1, None, "a"))

    await world.write(fill)
    (await guild.owner.post(f"/channels/{other}/webhooks", json={"name": "a"})).refused(400, 30058)


async def test_a_webhook_is_renamed_and_moved(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    hook = await make(world, guild.owner, guild.general, avatar=PNG)
    session = await guild.owner.connect()

    body = {"name": "new", "avatar": None, "channel_id": str(other)}
    changed = (await guild.owner.patch(f"/webhooks/{hook.id}", json=body)).ok()

    assert (changed["name"], changed["avatar"], changed["channel_id"]) == ("new", None, str(other))
    assert changed["token"] == hook.shown["token"]
    told = [(await session.next("WEBHOOKS_UPDATE"))["channel_id"] for _ in range(2)]
    assert told == [str(guild.general), str(other)]
    (entry,) = await entries(guild, 51)
    found = {change["key"]: (change.get("old_value"), change.get("new_value")) for change in entry["changes"]}
    assert found == {
        "name": ("hook", "new"),
        "avatar_hash": (hook.shown["avatar"], None),
        "channel_id": (str(guild.general), str(other)),
    }
    assert (await hook.say("hi"))["channel_id"] == str(other)
    assert (await guild.owner.patch(f"/webhooks/{hook.id}", json={"channel_id": None})).ok() == changed
    assert len(await entries(guild, 51)) == 1


async def test_a_webhook_moves_only_where_its_mover_manages_webhooks(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    other = await guild.channel("other")
    foreign = await world.guild(bob)
    hook = await make(world, guild.owner, guild.general)
    await guild.overwrite(guild.general, bob.id, allow=MANAGE)

    (await bob.patch(f"/webhooks/{hook.id}", json={"channel_id": str(other)})).refused(403, 50013)
    (await bob.patch(f"/webhooks/{hook.id}", json={"channel_id": str(foreign.general)})).refused(404, 10003)
    (await bob.patch(f"/webhooks/{hook.id}", json={"channel_id": "1"})).refused(404, 10003)


async def test_a_webhook_is_deleted_and_its_address_is_dead(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    session = await guild.owner.connect()
    said = await hook.say("hi")

    assert (await guild.owner.delete(f"/webhooks/{hook.id}")).status == 204

    await session.next("WEBHOOKS_UPDATE")
    (entry,) = await entries(guild, 52)
    assert {change["key"]: change["old_value"] for change in entry["changes"]}["name"] == "hook"
    (await hook.execute("again")).refused(404, 10015)
    kept = (await guild.owner.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()
    assert kept["author"] == said["author"]


async def test_a_token_alone_reads_renames_and_deletes(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    hook = await make(world, guild.owner, guild.general)
    session = await guild.owner.connect()

    shown = (await world.request("GET", hook.path)).ok()
    assert shown == {key: value for key, value in hook.shown.items() if key != "user"}
    header = {"Authorization": "Bot nonsense"}
    changed = await world.request(
        "PATCH", hook.path, json={"name": "new", "avatar": PNG, "channel_id": str(other)}, headers=header
    )
    assert (changed.ok()["name"], changed.ok()["channel_id"]) == ("new", str(guild.general))
    assert "user" not in changed.ok()
    await session.next("WEBHOOKS_UPDATE")
    (entry,) = await entries(guild, 51)
    assert entry["user_id"] is None
    assert (await world.request("DELETE", hook.path)).status == 204
    await session.next("WEBHOOKS_UPDATE")
    assert len(await entries(guild, 52)) == 1
    (await world.request("GET", hook.path)).refused(404, 10015)


async def test_a_bots_webhook_is_its_applications(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE)
    hook = await make(world, bot, guild.general)

    assert hook.shown["application_id"] == str(bot.application_id)
    assert hook.shown["user"]["bot"]
    # Others who manage webhooks see it, but cannot speak through it.
    seen = (await guild.owner.get(f"/webhooks/{hook.id}")).ok()
    assert "token" not in seen
    assert "url" not in seen
    # Its own application sees it even without the permission.
    await guild.overwrite(guild.general, bot.id, deny=MANAGE)
    assert (await bot.get(f"/webhooks/{hook.id}")).ok()["token"] == hook.shown["token"]
    (await bot.delete(f"/webhooks/{hook.id}")).refused(403, 50013)


async def test_webhooks_go_with_their_channel(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    hook = await make(world, guild.owner, other)

    (await guild.owner.delete(f"/channels/{other}")).ok()

    (await world.request("GET", hook.path)).refused(404, 10015)
    assert (await guild.owner.get(f"/guilds/{guild.id}/webhooks")).ok() == []


async def test_webhooks_go_with_their_guild(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    assert (await guild.owner.delete(f"/guilds/{guild.id}")).status == 204

    (await hook.execute("hi")).refused(404, 10015)


async def test_no_token_is_kept(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    row = await world.write(lambda call: store.find(call.tx, hook.id))

    assert hook.shown["token"] not in map(str, row)
    key = await world.write(lambda call: store.find_key(call.tx))
    assert tokens.token(key, row) == hook.shown["token"]
    assert tokens.token(key, row._replace(salt=tokens.new_salt())) != hook.shown["token"]
    assert not tokens.fits(None, row, hook.shown["token"])
    assert not tokens.fits(key, row._replace(salt=None), hook.shown["token"])


# Speaking


async def test_a_webhook_speaks_under_its_own_name(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    session = await bot.connect()
    hook = await make(world, guild.owner, guild.general, "News", avatar=PNG)

    said = await hook.say("hello")

    assert said["author"] == {
        **said["author"],
        "id": str(hook.id),
        "username": "News",
        "discriminator": "0000",
        "avatar": hook.shown["avatar"],
        "bot": True,
        "global_name": None,
    }
    assert said["webhook_id"] == str(hook.id)
    assert "application_id" not in said
    told = await session.next("MESSAGE_CREATE")
    assert "member" not in told
    assert {key: told[key] for key in said} == said
    assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == [said]


async def test_without_wait_nothing_is_answered_and_the_message_is_there(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    answer = await hook.execute("quiet", "")

    assert (answer.status, answer.body) == (204, b"")
    (said,) = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert said["content"] == "quiet"


async def test_name_and_picture_can_be_of_one_message(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general, "News", avatar=PNG)

    other = await hook.say("a", username=" Some  body ", avatar_url="https://example.com/cat.png")
    again = await hook.say("b", avatar_url="https://example.com/cat.png")
    ours = await hook.say("c", avatar_url=f"{world.url}/cdn/avatars/{hook.id}/{hook.shown['avatar']}.png?size=64")

    assert other["author"]["username"] == "Some body"
    assert other["author"]["avatar"] not in (None, hook.shown["avatar"])
    assert (again["author"]["username"], again["author"]["avatar"]) == ("News", other["author"]["avatar"])
    assert ours["author"]["avatar"] == hook.shown["avatar"]
    assert (await hook.execute("d", avatar_url="cat.png")).errors("avatar_url") == ["URL_TYPE_INVALID_URL"]
    assert (await hook.execute("d", avatar_url="ftp://a/b")).errors("avatar_url") == ["URL_TYPE_INVALID_SCHEME"]
    # What was said stays as it was said.
    await world.request("PATCH", hook.path, json={"name": "Renamed"})
    kept = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert {each["author"]["username"] for each in kept} == {"News", "Some body"}


async def test_a_webhook_cannot_say_nothing_nor_too_much(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    (await hook.execute()).refused(400, 50006)
    (await hook.execute("  ")).refused(400, 50006)
    assert (await hook.execute("a" * 2001)).errors("content") == ["BASE_TYPE_MAX_LENGTH"]
    assert (await hook.execute(embeds=[{}])).errors("embeds.0.description") == ["BASE_TYPE_REQUIRED"]


async def test_a_webhook_mentions_users_and_no_others_unless_told(world: World) -> None:
    guild = await world.guild()
    role = await guild.role("herd", mentionable=True)
    hook = await make(world, guild.owner, guild.general)
    content = f"<@{guild.owner.id}> <@&{role}> @everyone"

    usual = await hook.say(content)
    asked = await hook.say(content, allowed_mentions={"parse": ["roles", "everyone"]})

    assert [each["id"] for each in usual["mentions"]] == [str(guild.owner.id)]
    assert (usual["mention_roles"], usual["mention_everyone"]) == ([], False)
    assert asked["mentions"] == []
    assert (asked["mention_roles"], asked["mention_everyone"]) == ([str(role)], True)


@pytest.mark.parametrize("maker", ["person", "bot"])
async def test_mentioning_everyone_is_asked_of_the_bot_or_of_everyone(world: World, maker: str) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE | Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES)
    bits = Permissions.MENTION_EVERYONE | Permissions.SEND_TTS_MESSAGES
    everyone = (await guild.owner.get(f"/guilds/{guild.id}/roles")).ok()[0]
    less = str(int(everyone["permissions"]) & ~bits)
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": less})).ok()
    hook = await make(world, guild.owner if maker == "person" else bot, guild.general)

    said = await hook.say("@everyone", allowed_mentions={"parse": ["everyone"]}, tts=True)

    assert said["mention_everyone"] is (maker == "bot")
    assert said["tts"] is (maker == "bot")


async def test_flags_that_a_webhook_may_set(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    said = await hook.say("a", flags=MessageFlags.SUPPRESS_NOTIFICATIONS | MessageFlags.CROSSPOSTED | 1 << 13)

    assert said["flags"] == MessageFlags.SUPPRESS_NOTIFICATIONS


async def test_a_webhook_asks_for_a_vote(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    poll = {"question": {"text": "tea?"}, "answers": [{"poll_media": {"text": "yes"}}]}

    said = await hook.say(poll=poll)

    assert said["poll"]["question"]["text"] == "tea?"
    change = await world.request("PATCH", f"{hook.path}/messages/{said['id']}", json={"content": "a"})
    change.refused(400, 520003)


async def test_components_of_webhooks_without_an_application(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    text = {"type": 10, "content": "hello"}

    unread = await hook.say("a", components=[LINK])
    read = await hook.say("a", "wait=true&with_components=true", components=[LINK])
    made = await hook.say(None, "wait=true&with_components=true", components=[text], flags=V2)

    assert unread["components"] == []
    assert read["components"][0]["components"][0]["url"] == "https://example.com"
    assert made["components"][0]["content"] == "hello"
    refused = await hook.execute("a", "with_components=true", components=[BUTTON])
    assert refused.errors("components.0.components.0.type") == ["COMPONENT_TYPE_INVALID"]
    section = {"type": 9, "components": [text], "accessory": BUTTON["components"][0]}
    refused = await hook.execute(None, "with_components=true", components=[section], flags=V2)
    assert refused.errors("components.0.accessory.type") == ["COMPONENT_TYPE_INVALID"]
    said = await hook.say("a")
    for kind in ([], {}, [2], {"a": 1}, "3", 3.5):
        answer = await hook.execute("a", "with_components=true", components=[{"type": kind}])
        assert answer.errors("components.0.type") == ["NUMBER_TYPE_COERCE"], kind
        path = f"{hook.path}/messages/{said['id']}?with_components=true"
        answer = await world.request("PATCH", path, json={"components": [{"type": 1, "components": [{"type": kind}]}]})
        assert answer.errors("components.0.components.0.type") == ["NUMBER_TYPE_COERCE"], kind
    (await hook.execute(None, "", components=[text], flags=V2)).refused(400, 50006)


async def test_an_applications_webhook_sends_any_component(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE)
    hook = await make(world, bot, guild.general)

    said = await hook.say("press", components=[BUTTON])

    assert said["components"][0]["components"][0]["custom_id"] == "a"
    assert said["application_id"] == str(bot.application_id)


async def test_a_bot_reads_what_its_own_webhook_says(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=MANAGE, flags=0)
    session = await bot.connect(NO_CONTENT)
    own, foreign = await make(world, bot, guild.general), await make(world, guild.owner, guild.general)

    said = await own.say("mine")
    assert (await session.next("MESSAGE_CREATE"))["content"] == "mine"
    await world.request("PATCH", f"{own.path}/messages/{said['id']}", json={"content": "mine too"})
    assert (await session.next("MESSAGE_UPDATE"))["content"] == "mine too"
    await foreign.say("theirs")
    assert (await session.next("MESSAGE_CREATE"))["content"] == ""
    read = [each["content"] for each in (await bot.get(f"/channels/{guild.general}/messages")).ok()]
    assert read == ["", "mine too"]


async def upload(world: World, path: str, size: int, method: str = "POST", name: str = "files[0]") -> Answer:
    """Send a file."""
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", json.dumps({"content": "look"}), content_type="application/json")
    form.add_field(name, bytes(size), filename="a.bin", content_type="application/octet-stream")
    return await world.request(method, path, data=form)


async def test_a_webhook_sends_files(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    said = (await upload(world, f"{hook.path}?wait=true", 3, name="file")).ok()

    assert [each["filename"] for each in said["attachments"]] == ["a.bin"]
    more = (await upload(world, f"{hook.path}/messages/{said['id']}", 4, "PATCH")).ok()
    assert [each["size"] for each in more["attachments"]] == [3, 4]


@pytest.mark.dated(changes.WEBHOOK_UPLOAD_10MIB)
async def test_how_large_a_webhooks_file_may_be(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    for moment, limit in ((-1, 25), (0, 10)):
        world.clock.set(changes.WEBHOOK_UPLOAD_10MIB.at_ms + moment)
        (await upload(world, f"{hook.path}?wait=true", limit << 20)).ok()
        (await upload(world, f"{hook.path}?wait=true", (limit << 20) + 1)).refused(413, 50045)


# Threads


async def thread_of(actor: Actor, channel: int) -> int:
    """A public thread."""
    body = {"name": "talk", "type": 11}
    return int((await actor.post(f"/channels/{channel}/threads", json=body)).ok()["id"])


async def test_a_webhook_speaks_in_a_thread_and_wakes_it(world: World) -> None:
    guild = await world.guild()
    other = await guild.channel("other")
    hook, elsewhere = await make(world, guild.owner, guild.general), await make(world, guild.owner, other)
    thread = await thread_of(guild.owner, guild.general)
    (await guild.owner.patch(f"/channels/{thread}", json={"archived": True})).ok()
    session = await guild.owner.connect()

    said = await hook.say("hi", f"wait=true&thread_id={thread}")

    assert said["channel_id"] == str(thread)
    assert said["position"] == 0
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is False
    assert (await session.next("MESSAGE_CREATE"))["id"] == said["id"]
    members = (await guild.owner.get(f"/channels/{thread}/thread-members")).ok()
    assert [each["user_id"] for each in members] == [str(guild.owner.id)]
    (await elsewhere.execute("hi", f"thread_id={thread}")).refused(404, 10003)
    (await hook.execute("hi", f"thread_id={other}")).refused(404, 10003)
    (await hook.execute("hi", "thread_id=1")).refused(404, 10003)
    (await hook.execute("hi", thread_name="post")).refused(400, 220003)
    (await guild.owner.patch(f"/channels/{thread}", json={"locked": True})).ok()
    (await hook.execute("hi", f"thread_id={thread}")).refused(400, 160005)


async def test_a_webhook_begins_a_post_in_a_forum(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel("ideas", type=15, available_tags=[{"name": "a"}, {"name": "b", "moderated": True}])
    tags = [each["id"] for each in (await guild.owner.get(f"/channels/{forum}")).ok()["available_tags"]]
    hook = await make(world, guild.owner, forum)
    session = await guild.owner.connect()

    said = await hook.say("first", thread_name=" Title ", applied_tags=tags[:1])

    opened = await session.next("THREAD_CREATE")
    assert said["id"] == said["channel_id"] == opened["id"]
    assert (opened["name"], opened["owner_id"], opened["newly_created"]) == ("Title", str(hook.id), True)
    assert opened["applied_tags"] == tags[:1]
    assert (await session.next("MESSAGE_CREATE"))["id"] == said["id"]
    more = await hook.say("second", f"wait=true&thread_id={said['channel_id']}")
    assert more["channel_id"] == said["channel_id"]
    assert [each["id"] for each in (await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()["threads"]] == [
        said["id"]
    ]
    (await hook.execute("a")).refused(400, 220001)
    (await hook.execute("a", f"thread_id={said['channel_id']}", thread_name="b")).refused(400, 220002)
    (await hook.execute("a", thread_name="b", applied_tags=["1"])).refused(404, 10087)
    (await hook.execute("a", thread_name="b", applied_tags=tags[1:])).refused(403, 50013)
    assert (await hook.execute("a", thread_name="  ")).errors("thread_name") == ["BASE_TYPE_BAD_LENGTH"]
    # A post whose first message is refused is not begun.
    (await hook.execute(" ", thread_name="empty")).refused(400, 50006)
    assert len((await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()["threads"]) == 1


# Its messages


async def test_a_webhook_reads_changes_and_removes_what_it_said(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    said = await hook.say(f"<@{guild.owner.id}>", embeds=[{"title": "t"}])
    session = await guild.owner.connect()
    path = f"{hook.path}/messages/{said['id']}"

    assert (await world.request("GET", path)).ok() == said
    changed = (await world.request("PATCH", path, json={"content": "@everyone", "embeds": None})).ok()
    assert (changed["content"], changed["embeds"], changed["mention_everyone"]) == ("@everyone", [], False)
    assert changed["edited_timestamp"] is not None
    assert changed["author"] == said["author"]
    told = await session.next("MESSAGE_UPDATE")
    assert (told["content"], told["webhook_id"]) == ("@everyone", str(hook.id))
    assert "member" not in told
    (await world.request("PATCH", path, json={"content": None})).refused(400, 50006)
    assert (await world.request("PATCH", path, json={"content": "a" * 2001})).errors("content")
    assert (await world.request("DELETE", path)).status == 204
    assert (await session.next("MESSAGE_DELETE"))["id"] == said["id"]
    for method in ("GET", "PATCH", "DELETE"):
        (await world.request(method, path, json={"content": "a"})).refused(404, 10008)
    assert await entries(guild, 72) == []


async def test_a_webhook_touches_no_messages_of_others(world: World) -> None:
    guild = await world.guild()
    one, other = await make(world, guild.owner, guild.general), await make(world, guild.owner, guild.general)
    said, spoken = await one.say("mine"), await guild.say(guild.owner)

    for message in (said["id"], spoken["id"]):
        for method in ("GET", "PATCH", "DELETE"):
            answer = await world.request(method, f"{other.path}/messages/{message}", json={"content": "a"})
            answer.refused(404, 10008)
    (await world.request("GET", f"/webhooks/{one.id}/x/messages/{said['id']}")).refused(401, 50027)
    # Nor does its maker speak for it.
    path = f"/channels/{guild.general}/messages/{said['id']}"
    (await guild.owner.patch(path, json={"content": "a"})).refused(403, 50005)
    assert (await guild.owner.delete(path)).status == 204
    (entry,) = await entries(guild, 72)
    assert entry["target_id"] == str(one.id)


async def test_messages_in_threads_are_found_with_the_thread(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    thread = await thread_of(guild.owner, guild.general)
    said = await hook.say("hi", f"wait=true&thread_id={thread}")
    path = f"{hook.path}/messages/{said['id']}"

    (await world.request("GET", path)).refused(404, 10008)
    assert (await world.request("GET", f"{path}?thread_id={thread}")).ok()["id"] == said["id"]
    (await world.request("PATCH", f"{path}?thread_id={thread}", json={"content": "b"})).ok()
    (await world.request("GET", f"{path}?thread_id=1")).refused(404, 10003)
    (await guild.owner.patch(f"/channels/{thread}", json={"archived": True})).ok()
    (await world.request("PATCH", f"{path}?thread_id={thread}", json={"content": "c"})).refused(400, 50083)
    (await world.request("DELETE", f"{path}?thread_id={thread}")).refused(400, 50083)


async def test_components_of_an_edit_are_read_when_asked_for(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    said = await hook.say("hi")
    path = f"{hook.path}/messages/{said['id']}"

    assert (await world.request("PATCH", path, json={"components": [LINK]})).ok()["components"] == []
    shown = (await world.request("PATCH", f"{path}?with_components=true", json={"components": [LINK]})).ok()
    assert len(shown["components"]) == 1
    body: dict[str, Any] = {"content": None, "components": [{"type": 10, "content": "new"}], "flags": V2}
    assert (await world.request("PATCH", f"{path}?with_components=true", json=body)).ok()["flags"] & V2


async def test_people_reply_to_forward_and_react_to_webhooks(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general, "News")
    said = await hook.say("hello")
    session = await guild.owner.connect()

    reply = await guild.say(guild.owner, "yes", message_reference={"message_id": said["id"]})
    (await guild.owner.put(f"/channels/{guild.general}/messages/{said['id']}/reactions/%F0%9F%91%8D/@me")).ok()

    assert reply["referenced_message"]["author"]["username"] == "News"
    assert reply["mentions"] == []
    assert "message_author_id" not in await session.next("MESSAGE_REACTION_ADD")


# Limits


class TestLimits:
    """With real limits."""

    @pytest.fixture
    def store_config(self) -> Config:
        """One store is enough to count."""
        return small_config(rate_limits="real")

    async def test_a_webhook_speaks_5_times_in_2_seconds_in_all_forms_together(self, world: World) -> None:
        guild = await world.guild()
        hook, other = await make(world, guild.owner, guild.general), await make(world, guild.owner, guild.general)

        for _ in range(4):
            await hook.say("a")
        (await world.request("POST", f"{hook.path}/slack", json={"text": "a"}))
        refused = await hook.execute("a")
        assert refused.status == 429
        assert refused.json["retry_after"] == 2.0
        await other.say("b")
        world.clock.advance(2000)
        await hook.say("c")

    async def test_a_channel_hears_30_webhook_messages_in_a_minute(self, world: World) -> None:
        guild = await world.guild()
        hooks = [await make(world, guild.owner, guild.general) for _ in range(4)]
        for number in range(30):
            if number == 20:
                world.clock.advance(2000)
            await hooks[number % 4].say("a")

        world.clock.advance(2000)
        refused = await hooks[0].execute("a")
        assert refused.status == 429
        assert refused.json["retry_after"] == 56.0
        world.clock.advance(56_000)
        await hooks[0].say("b")


# Slack


async def test_slack_is_answered_ok(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    body = {
        "text": "deployed",
        "username": "CI",
        "icon_url": "https://example.com/ci.png",
        "channel": "#ignored",
        "attachments": [
            {
                "title": "Build 7",
                "title_link": "https://example.com/7",
                "pretext": "All of it:",
                "text": "green",
                "color": "#36a64f",
                "ts": 1_700_000_000,
                "author_name": "bob",
                "author_link": "https://example.com/bob",
                "footer": "by CI",
                "image_url": "https://example.com/a.png",
                "thumb_url": "https://example.com/b.png",
                "fields": [{"title": "time", "value": "3 s", "short": True}],
            }
        ],
    }

    answer = await world.request("POST", f"{hook.path}/slack", json=body)

    assert (answer.status, answer.body) == (200, b"ok")
    (said,) = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert (said["content"], said["author"]["username"]) == ("deployed", "CI")
    (embed,) = said["embeds"]
    assert (embed["title"], embed["url"], embed["color"]) == ("Build 7", "https://example.com/7", 0x36A64F)
    assert embed["description"] == "All of it:\ngreen"
    assert embed["timestamp"] == "2023-11-14T22:13:20.000000+00:00"
    assert embed["author"]["name"] == "bob"
    assert embed["footer"]["text"] == "by CI"
    assert embed["fields"] == [{"name": "time", "value": "3 s", "inline": True}]
    assert (embed["image"]["url"], embed["thumbnail"]["url"]) == (
        "https://example.com/a.png",
        "https://example.com/b.png",
    )


async def test_slack_in_a_form_field(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    path = f"{hook.path}/slack"

    answer = await world.request("POST", path, data={"payload": json.dumps({"text": "old style"})})
    assert answer.body == b"ok"
    assert (await world.request("POST", path, data={"text": "flat"})).body == b"ok"
    said = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    assert [each["content"] for each in said] == ["flat", "old style"]
    for payload in ("{", '{"text": ' + "[" * 5000 + "]" * 5000 + "}", '{"more": ' + "[" * 5000 + "]" * 5000 + "}"):
        answer = await world.request("POST", path, data={"payload": payload})
        assert answer.errors("payload") == ["MODEL_TYPE_CONVERT"]


async def test_what_slack_may_not_send(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)
    path = f"{hook.path}/slack"

    (await world.request("POST", path, json={})).refused(400, 50006)
    (await world.request("POST", f"/webhooks/{hook.id}/x/slack", json={"text": "a"})).refused(401, 50027)
    answer = await world.request("POST", path, json={"attachments": [{"text": "a"}] * 11})
    assert answer.errors("attachments") == ["BASE_TYPE_BAD_LENGTH"]
    answer = await world.request("POST", path, json={"attachments": [{"text": "a", "color": "#zz"}]})
    assert answer.errors("attachments.0.color") == ["STRING_TYPE_REGEX"]
    answer = await world.request("POST", path, json={"attachments": [{"text": "a", "ts": "soon"}]})
    assert answer.errors("attachments.0.ts")
    assert (await world.request("POST", path, json={"text": "a" * 2001})).errors("text") == ["BASE_TYPE_MAX_LENGTH"]


def test_slacks_colors_and_long_texts() -> None:
    body = wire.SlackWebhook(
        username="u" * 100,
        attachments=[
            wire.SlackAttachment(text="t" * 5000, color="good"),
            wire.SlackAttachment(title="T" * 300, color="#abc"),
        ],
    )

    read = slack.read(body)

    assert isinstance(read.username, str)
    assert len(read.username) == 80
    assert read.embeds
    first, second = read.embeds
    assert first.description == "t" * 4093 + "..."
    assert (first.color, second.color) == (0x2EB886, 0xAABBCC)
    assert second.title == "T" * 253 + "..."


# GitHub

WHO = {
    "id": 1,
    "login": "octocat",
    "html_url": "https://github.com/octocat",
    "avatar_url": "https://avatars.example/1",
}
REPOSITORY = {"id": 2, "html_url": "https://github.com/o/r", "name": "r", "full_name": "o/r"}
ISSUE = {
    "id": 3,
    "number": 5,
    "html_url": "https://github.com/o/r/issues/5",
    "user": WHO,
    "title": "It hurts",
    "body": "here",
}
COMMENT = {
    "id": 4,
    "html_url": "https://github.com/o/r/c/4",
    "user": WHO,
    "body": "I see",
    "commit_id": "0123456789abcdef",
}
COMMIT = {
    "id": "0123456789abcdef",
    "url": "https://github.com/o/r/commit/0",
    "message": "Fix it\n\nreally",
    "author": {"name": "Octo", "username": "octocat"},
}
SUITE = {"head_sha": "0123456789", "head_branch": "main", "conclusion": "failure", "app": {"name": "CI"}}
DISCUSSION = {"title": "Why", "number": 9, "html_url": "https://github.com/o/r/d/9", "user": WHO, "body": "so"}

EVENTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "push",
        {"ref": "refs/heads/main", "commits": [COMMIT], "compare": "https://github.com/c"},
        "[r:main] 1 new commit",
    ),
    ("push", {"ref": "refs/heads/main", "commits": [COMMIT, COMMIT]}, "[r:main] 2 new commits"),
    (
        "push",
        {"ref": "refs/heads/main", "commits": [], "forced": True, "head_commit": COMMIT},
        "[r] Branch main was force-pushed to `0123456`",
    ),
    ("commit_comment", {"comment": COMMENT}, "[o/r] New comment on commit `0123456`"),
    ("create", {"ref": "dev", "ref_type": "branch"}, "[o/r] New branch created: dev"),
    ("delete", {"ref": "v1", "ref_type": "tag"}, "[o/r] Tag deleted: v1"),
    ("fork", {"forkee": {**REPOSITORY, "full_name": "x/r"}}, "[o/r] Fork created: x/r"),
    ("issues", {"action": "opened", "issue": ISSUE}, "[o/r] Issue opened: #5 It hurts"),
    ("issues", {"action": "closed", "issue": ISSUE}, "[o/r] Issue closed: #5 It hurts"),
    (
        "issue_comment",
        {"action": "created", "issue": ISSUE, "comment": COMMENT},
        "[o/r] New comment on issue #5: It hurts",
    ),
    (
        "issue_comment",
        {"action": "created", "issue": {**ISSUE, "pull_request": {}}, "comment": COMMENT},
        "[o/r] New comment on pull request #5: It hurts",
    ),
    ("member", {"action": "added", "member": WHO}, "[o/r] New collaborator added: octocat"),
    ("public", {}, "[o/r] Now open sourced!"),
    ("pull_request", {"action": "reopened", "pull_request": ISSUE}, "[o/r] Pull request reopened: #5 It hurts"),
    (
        "pull_request_review",
        {
            "action": "submitted",
            "pull_request": ISSUE,
            "review": {"user": WHO, "html_url": "https://github.com/r", "state": "approved", "body": None},
        },
        "[o/r] Pull request approved: #5 It hurts",
    ),
    (
        "pull_request_review_comment",
        {"action": "created", "pull_request": ISSUE, "comment": COMMENT},
        "[o/r] New review comment on pull request #5: It hurts",
    ),
    (
        "release",
        {
            "action": "published",
            "release": {"id": 1, "tag_name": "v2", "html_url": "https://github.com/v2", "author": WHO},
        },
        "[o/r] New release published: v2",
    ),
    ("watch", {"action": "started"}, "[o/r] New star added"),
    (
        "check_run",
        {
            "action": "completed",
            "check_run": {
                "name": "lint",
                "html_url": "https://github.com/l",
                "conclusion": "success",
                "check_suite": SUITE,
            },
        },
        "[o/r] lint success on main",
    ),
    ("check_suite", {"action": "completed", "check_suite": SUITE}, "[o/r] CI checks failure on main"),
    ("discussion", {"action": "created", "discussion": DISCUSSION}, "[o/r] New discussion #9: Why"),
    (
        "discussion",
        {"action": "answered", "discussion": DISCUSSION, "answer": COMMENT},
        "[o/r] Answer marked for discussion #9: Why",
    ),
    (
        "discussion_comment",
        {"action": "created", "discussion": DISCUSSION, "comment": COMMENT},
        "[o/r] New comment on discussion #9: Why",
    ),
]


async def from_github(world: World, hook: Hook, event: str | None, **body: Any) -> Answer:
    """What GitHub sends."""
    headers = {} if event is None else {"X-GitHub-Event": event}
    told = {"sender": WHO, "repository": REPOSITORY, **body}
    return await world.request("POST", f"{hook.path}/github", json=told, headers=headers)


async def test_what_happens_on_github_is_told(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    for event, body, title in EVENTS:
        assert (await from_github(world, hook, event, **body)).status == 204
        said = (await guild.owner.get(f"/channels/{guild.general}/messages?limit=1")).ok()[0]
        (embed,) = said["embeds"]
        assert embed["title"] == title
        assert embed["author"]["name"] == "octocat"
        assert said["webhook_id"] == str(hook.id)
    assert {event for event, _, _ in EVENTS} == set(github.FORMATTERS) == GITHUB_EVENTS


async def test_a_push_lists_its_commits(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    await from_github(world, hook, "push", ref="refs/heads/main", commits=[COMMIT], compare="https://github.com/c")

    (said,) = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()
    line = "[`0123456`](https://github.com/o/r/commit/0) Fix it - octocat"
    assert said["embeds"][0]["description"] == line


async def test_other_events_of_github_say_nothing(world: World) -> None:
    guild = await world.guild()
    hook = await make(world, guild.owner, guild.general)

    silent: list[tuple[str | None, dict[str, Any]]] = [
        ("ping", {}),
        (None, {}),
        ("issues", {"action": "labeled", "issue": ISSUE}),
        ("push", {"ref": "refs/heads/main", "commits": []}),
        ("check_run", {"action": "created"}),
        *(
            (event, {"action": "whatever"})
            for event in github.FORMATTERS
            if event not in ("create", "delete", "public", "watch")
        ),
    ]
    for event, body in silent:
        assert (await from_github(world, hook, event, **body)).status == 204
    # http.md 4.11: what is not supported is not judged by its form either.
    unknown = {"X-GitHub-Event": "security_advisory"}
    for odd in ({"action": "published"}, {"sender": WHO, "release": "v1", "member": []}, []):
        assert (await world.request("POST", f"{hook.path}/github", json=odd, headers=unknown)).status == 204
    (await world.request("POST", f"/webhooks/{hook.id}/x/github", json=[], headers=unknown)).refused(401, 50027)
    push = await world.request("POST", f"{hook.path}/github", json={"commits": 5}, headers={"X-GitHub-Event": "push"})
    assert push.errors("sender") == ["BASE_TYPE_REQUIRED"]
    assert (await guild.owner.get(f"/channels/{guild.general}/messages")).ok() == []
    (await world.request("POST", f"/webhooks/{hook.id}/x/github", json={"sender": WHO})).refused(401, 50027)
    assert (await world.request("POST", f"{hook.path}/github", json={})).errors("sender") == ["BASE_TYPE_REQUIRED"]


# Following


async def news(world: World) -> tuple[Guild, int]:
    """A guild with an announcement channel."""
    guild = await world.guild(name="Paper")
    channel = await guild.channel("news")
    await world.write(lambda call: call.tx.run("UPDATE channels SET type = 5 WHERE id = ?", channel))
    return guild, channel


async def follow(world: World, source: Guild, channel: int, target: Guild, where: int | None = None) -> int:
    """Follow, as somebody who is in both."""
    from hubbub.server.resources import members

    if source.owner.id != target.owner.id:
        await world.write(lambda call: members.add(call, source.id, target.owner.id), actor=source.owner.id)
    body = {"webhook_channel_id": str(where or target.general)}
    return int((await target.owner.post(f"/channels/{channel}/followers", json=body)).ok()["webhook_id"])


async def test_a_channel_follows_announcements(world: World) -> None:
    source, channel = await news(world)
    target = await world.guild()
    session = await target.owner.connect()

    webhook = await follow(world, source, channel, target)

    told = await session.next("WEBHOOKS_UPDATE")
    assert told == {"guild_id": str(target.id), "channel_id": str(target.general)}
    said = await session.next("MESSAGE_CREATE")
    assert (said["type"], said["content"]) == (12, "Paper #news")
    assert said["author"]["id"] == str(target.owner.id)
    assert said["message_reference"] == {"type": 0, "channel_id": str(channel), "guild_id": str(source.id)}
    (shown,) = (await target.owner.get(f"/channels/{target.general}/webhooks")).ok()
    assert (shown["id"], shown["type"], shown["name"]) == (str(webhook), 2, "Paper #news")
    assert shown["source_channel"] == {"id": str(channel), "name": "news"}
    assert shown["source_guild"] == {"id": str(source.id), "icon": None, "name": "Paper"}
    assert "token" not in shown
    (entry,) = await entries(target, 50)
    assert entry["target_id"] == str(webhook)
    # Who follows already goes on as before.
    assert await follow(world, source, channel, target) == webhook
    (await world.request("GET", f"/webhooks/{webhook}/None")).refused(401, 50027)


async def test_who_may_follow_what(world: World) -> None:
    source, channel = await news(world)
    bob = await world.user()
    target = await world.guild(None, bob)
    path = f"/channels/{channel}/followers"

    (await target.owner.post(path, json={"webhook_channel_id": str(target.general)})).refused(403, 50001)
    (await source.owner.post(path, json={"webhook_channel_id": str(target.general)})).refused(403, 50001)
    (await source.owner.post(path, json={"webhook_channel_id": "1"})).refused(404, 10003)
    assert (await source.owner.post(path, json={})).errors("webhook_channel_id") == ["BASE_TYPE_REQUIRED"]
    body = {"webhook_channel_id": str(channel)}
    (await source.owner.post(path, json=body)).refused(400, 50024)
    (await source.owner.post(f"/channels/{source.general}/followers", json=body)).refused(400, 50024)
    voice = await source.channel("voice", type=2)
    (await source.owner.post(path, json={"webhook_channel_id": str(voice)})).refused(400, 50024)
    from hubbub.server.resources import members

    await world.write(lambda call: members.add(call, source.id, bob.id), actor=source.owner.id)
    (await bob.post(path, json={"webhook_channel_id": str(target.general)})).refused(403, 50013)
    for _ in range(15):
        await make(world, source.owner, source.general)
    (await source.owner.post(path, json={"webhook_channel_id": str(source.general)})).refused(400, 30007)


async def test_a_published_message_comes_to_who_follows(world: World) -> None:
    source, channel = await news(world)
    target = await world.guild()
    webhook = await follow(world, source, channel, target)
    session = await target.owner.connect()
    said = await source.say(source.owner, f"extra! <@{source.owner.id}> @everyone", channel, embeds=[{"title": "t"}])
    path = f"/channels/{channel}/messages/{said['id']}"

    published = (await source.owner.post(f"{path}/crosspost")).ok()
    await run_jobs(world)

    assert published["flags"] == MessageFlags.CROSSPOSTED
    copy = await session.next("MESSAGE_CREATE", lambda each: each["channel_id"] == str(target.general))
    assert copy["content"] == said["content"]
    assert copy["embeds"] == said["embeds"]
    assert (copy["flags"], copy["webhook_id"], copy["type"]) == (MessageFlags.IS_CROSSPOST, str(webhook), 0)
    assert copy["author"]["username"] == "Paper #news"
    assert copy["message_reference"] == {
        "type": 0,
        "channel_id": str(channel),
        "message_id": said["id"],
        "guild_id": str(source.id),
    }
    assert "referenced_message" not in copy
    assert copy["mention_everyone"] is False

    (await source.owner.patch(path, json={"content": "corrected", "embeds": []})).ok()
    await run_jobs(world)
    changed = await session.next("MESSAGE_UPDATE", lambda each: each["id"] == copy["id"])
    assert (changed["content"], changed["embeds"]) == ("corrected", [])
    assert changed["edited_timestamp"] is not None

    (await source.owner.delete(path)).ok()
    await run_jobs(world)
    gone = await session.next("MESSAGE_UPDATE", lambda each: each["id"] == copy["id"])
    assert gone["content"] == actions.GONE
    assert gone["flags"] == MessageFlags.IS_CROSSPOST | MessageFlags.SOURCE_MESSAGE_DELETED
    left = await world.write(lambda call: store.crossposts(call.tx, channel, int(said["id"]), 0, 10))
    assert left == []


async def test_an_announcement_with_many_followers_is_brought_by_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "AT_ONCE", 2)
    source, channel = await news(world)
    places = [await source.channel(f"place{number}") for number in range(5)]
    for place in places:
        await follow(world, source, channel, source, place)
    said = await source.say(source.owner, "first", channel)
    path = f"/channels/{channel}/messages/{said['id']}"

    # What happens before the copies are made is in them, or follows.
    (await source.owner.post(f"{path}/crosspost")).ok()
    (await source.owner.patch(path, json={"content": "second"})).ok()
    await run_jobs(world)

    async def contents() -> set[str]:
        found = [(await source.owner.get(f"/channels/{place}/messages?limit=1")).ok() for place in places]
        return {each[0]["content"] for each in found}

    assert await contents() == {"second"}
    first = (await source.owner.get(f"/channels/{places[0]}/messages?limit=1")).ok()[0]
    (await source.owner.delete(f"/channels/{places[0]}/messages/{first['id']}")).ok()
    (await source.owner.delete(path)).ok()
    await run_jobs(world)
    assert {
        (await source.owner.get(f"/channels/{place}/messages?limit=1")).ok()[0]["content"] for place in places[1:]
    } == {actions.GONE}


async def test_a_poll_is_not_brought_to_who_follows(world: World) -> None:
    source, channel = await news(world)
    await follow(world, source, channel, source)
    poll = {"question": {"text": "tea?"}, "answers": [{"poll_media": {"text": "yes"}}]}
    said = await source.say(source.owner, "vote", channel, poll=poll)

    (await source.owner.post(f"/channels/{channel}/messages/{said['id']}/crosspost")).ok()
    await run_jobs(world)

    assert [each["type"] for each in (await source.owner.get(f"/channels/{source.general}/messages")).ok()] == [12]


async def test_who_stops_following_gets_nothing_more(world: World) -> None:
    source, channel = await news(world)
    target = await world.guild()
    webhook = await follow(world, source, channel, target)
    (await target.owner.delete(f"/webhooks/{webhook}")).ok()
    said = await source.say(source.owner, "extra!", channel)

    (await source.owner.post(f"/channels/{channel}/messages/{said['id']}/crosspost")).ok()
    await run_jobs(world)

    assert [each["type"] for each in (await target.owner.get(f"/channels/{target.general}/messages")).ok()] == [12]


async def test_a_follower_outlives_what_it_follows(world: World) -> None:
    source, channel = await news(world)
    target = await world.guild()
    webhook = await follow(world, source, channel, target)

    (await source.owner.delete(f"/channels/{channel}")).ok()

    shown = (await target.owner.get(f"/webhooks/{webhook}")).ok()
    assert "source_channel" not in shown
    assert (await target.owner.patch(f"/webhooks/{webhook}", json={"name": "old news"})).ok()["name"] == "old news"
