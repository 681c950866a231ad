"""Every filter of message search, checked against one message of each kind."""

import json
from typing import Any
from urllib.parse import quote

import aiohttp

from hubbub.protocol import codec
from hubbub.protocol.resources import search as wire
from hubbub.protocol.resources.embeds import Embed, EmbedMedia, EmbedProvider
from hubbub.server.transports.cdn import default_avatar
from tests.media import png
from tests.world import Actor, Guild, World

PAGING_FIELDS = {"sort_by", "sort_order", "limit", "offset", "slop"}
"""Parameters for order and paging, which are not filters (tested in test_search.py)."""


class MessageBoard:
    """A guild in which each message has one distinct property."""

    def __init__(self, world: World, guild: Guild) -> None:
        self.world, self.guild, self.owner = world, guild, guild.owner
        self.ids: dict[str, str] = {}

    async def say(self, name: str, actor: Actor | None = None, channel: int | None = None, **body: Any) -> str:
        """Create a message and remember its id by name."""
        path = f"/channels/{channel or self.guild.general}/messages"
        made = (await (actor or self.owner).post(path, json={"content": name, **body})).ok()
        self.ids[name] = made["id"]
        return str(made["id"])

    async def send(self, name: str, filename: str, data: bytes) -> None:
        """Create a message with a file and remember its id by name."""
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("payload_json", json.dumps({"content": name}), content_type="application/json")
        form.add_field("files[0]", data, filename=filename, content_type="application/octet-stream")
        path = f"/channels/{self.guild.general}/messages"
        self.ids[name] = (await self.owner.post(path, data=form)).ok()["id"]

    async def embed(self, name: str, embed: Embed) -> None:
        """Create a message with an embed that only the server can create, not a client (decisions/0045)."""
        message = int(await self.say(name))
        text = codec.encode([embed]).decode()
        sql = "UPDATE messages SET embeds = ? WHERE channel_id = ? AND id = ?"
        await self.world.write(lambda call: call.tx.run(sql, text, self.guild.general, message))

    async def find(self, query: dict[str, Any]) -> set[str]:
        """Return the names of the found messages."""
        pairs = [
            (key, each) for key, value in query.items() for each in (value if isinstance(value, list) else [value])
        ]
        parameters = "&".join(f"{key}={quote(str(value))}" for key, value in pairs)
        found = (await self.owner.get(f"/guilds/{self.guild.id}/messages/search?{parameters}")).ok()
        names = {id: name for name, id in self.ids.items()}
        assert found["total_results"] == len(found["messages"])
        return {names[message["id"]] for (message,) in found["messages"]}


async def create_messages(world: World, bob: Actor) -> tuple[MessageBoard, dict[str, int]]:
    """Create and index one message of each kind; return the board and the ids that filters use."""
    guild = await world.guild(None, bob)
    board, bot = MessageBoard(world, guild), await world.bot(guild)
    role, other = await guild.role("readers", mentionable=True), await guild.channel("other")
    nsfw = await guild.channel("dark", nsfw=True)
    form = aiohttp.FormData({"name": "sticker", "tags": "hello", "description": "words"})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    sticker = (await board.owner.post(f"/guilds/{guild.id}/stickers", data=form)).ok()["id"]
    hook = (await board.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "hook"})).ok()
    by_hook = f"/webhooks/{hook['id']}/{hook['token']}?wait=true"

    first = await board.say("of bob", bob)
    await board.say("of the bot", bot)
    board.ids["of the hook"] = (await world.request("POST", by_hook, json={"content": "of the hook"})).ok()["id"]
    await board.say(f"for <@{bob.id}>")
    await board.say(f"for <@&{role}>")
    await board.say("@everyone")
    await board.say("answer", message_reference={"message_id": first}, allowed_mentions={"replied_user": False})
    pinned = await board.say("kept")
    (await board.owner.put(f"/channels/{guild.general}/messages/pins/{pinned}")).ok()
    await board.say("see https://www.example.com/a")
    await board.say("boxed", bot, embeds=[{"title": "article", "type": "video", "provider": {"name": "Claimed"}}])
    await board.say("pictured", bot, embeds=[{"image": {"url": "https://example.com/a.png"}}])
    media = EmbedMedia(url="https://example.com/a")
    await board.embed("filmed", Embed(type="video", video=media, provider=EmbedProvider(name="Tube")))
    await board.embed("moving", Embed(type="gifv", video=media, provider=EmbedProvider(name="Loops")))
    await board.embed("heard", Embed(type="sound"))
    await board.send("letter", "my letter.txt", b"hello")
    await board.send("picture", "picture.png", default_avatar(0))
    await board.send("film", "film.mp4", b"\x00\x00\x00\x18ftypmp42")
    await board.send("song", "song.ogg", b"OggS" + bytes(60))
    await board.say("stuck", sticker_ids=[sticker])
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}
    await board.say("asked", poll=poll)
    forward = {"type": 1, "channel_id": str(guild.general), "message_id": first}
    await board.say("", message_reference=forward)
    board.ids["forwarded"] = board.ids.pop("")
    await board.say("elsewhere", channel=other)
    await board.say("in the dark", channel=nsfw)
    (await board.owner.get(f"/guilds/{guild.id}/messages/search")).rejected(202, 110000)
    assert world.app.worker is not None
    await world.app.worker.run_due()
    return board, {"bot": bot.id, "role": role, "other": other, "first": int(first)}


async def test_every_filter_finds_exactly_the_matching_messages(world: World) -> None:
    bob = await world.user()
    board, ids = await create_messages(world, bob)
    not_nsfw = {name for name in board.ids if name != "in the dark"}
    embeds = {"boxed", "pictured", "filmed", "moving", "heard"}
    files = {"letter", "picture", "film", "song"}
    by_bot = {"of the bot", "boxed", "pictured"}
    rows: list[tuple[dict[str, Any], set[str]]] = [
        ({}, not_nsfw),
        ({"content": "of bob"}, {"of bob", "forwarded"}),
        ({"content": "nothing"}, set()),
        ({"include_nsfw": True}, set(board.ids)),
        ({"include_nsfw": True, "content": "dark"}, {"in the dark"}),
        ({"content": "dark"}, set()),
        ({"min_id": board.ids["song"], "max_id": board.ids["asked"]}, {"stuck"}),
        ({"channel_id": ids["other"]}, {"elsewhere"}),
        ({"channel_id": [ids["other"], board.guild.general]}, not_nsfw),
        ({"author_id": bob.id}, {"of bob"}),
        ({"author_id": [bob.id, ids["bot"]]}, {"of bob"} | by_bot),
        ({"author_type": "user"}, not_nsfw - by_bot - {"of the hook"}),
        ({"author_type": "bot"}, by_bot),
        ({"author_type": "webhook"}, {"of the hook"}),
        ({"author_type": "-user"}, by_bot | {"of the hook"}),
        ({"author_type": "-bot"}, not_nsfw - by_bot),
        ({"author_type": "-webhook"}, not_nsfw - {"of the hook"}),
        ({"mentions": bob.id}, {f"for <@{bob.id}>"}),
        ({"mentions": ids["bot"]}, set()),
        ({"mentions_role_id": ids["role"]}, {f"for <@&{ids['role']}>"}),
        ({"mentions_role_id": 1}, set()),
        ({"mention_everyone": True}, {"@everyone"}),
        ({"mention_everyone": False}, not_nsfw - {"@everyone"}),
        ({"replied_to_user_id": bob.id}, {"answer"}),
        ({"replied_to_user_id": ids["bot"]}, set()),
        ({"replied_to_message_id": ids["first"]}, {"answer"}),
        ({"replied_to_message_id": 1}, set()),
        ({"pinned": True}, {"kept"}),
        ({"pinned": False}, not_nsfw - {"kept"}),
        ({"embed_type": "image"}, {"pictured"}),
        ({"embed_type": "video"}, {"filmed", "moving"}),
        ({"embed_type": "gif"}, {"moving"}),
        ({"embed_type": "sound"}, {"heard"}),
        ({"embed_type": "article"}, {"boxed"}),
        ({"embed_type": ["sound", "article"]}, {"boxed", "heard"}),
        ({"embed_provider": "tube"}, {"filmed"}),
        ({"embed_provider": ["Tube", "Loops"]}, {"filmed", "moving"}),
        # The provider of an embed cannot be set by the sender (spec/http.md#3.4).
        ({"embed_provider": "Claimed"}, set()),
        ({"link_hostname": "example.com"}, {"see https://www.example.com/a"}),
        ({"link_hostname": "example.org"}, set()),
        ({"attachment_filename": "my_letter.txt"}, {"letter"}),
        ({"attachment_filename": "letter"}, set()),
        ({"attachment_extension": ["txt", "png"]}, {"letter", "picture"}),
        ({"attachment_extension": "pdf"}, set()),
        ({"author_type": "bot", "has": "embed", "embed_type": "article"}, {"boxed"}),
    ]
    has = {
        "link": {"see https://www.example.com/a"},
        "embed": embeds,
        "file": files,
        "image": {"picture", "pictured"},
        "video": {"film", "filmed", "moving"},
        "sound": {"song"},
        "sticker": {"stuck"},
        "poll": {"asked"},
        "snapshot": {"forwarded"},
    }
    for value, matching in has.items():
        rows += [({"has": value}, matching), ({"has": f"-{value}"}, not_nsfw - matching)]
    rows.append(({"has": ["video", "embed", "-file"]}, {"filmed", "moving"}))

    failures = []
    for query, expected in rows:
        found = await board.find({"limit": 25, **query})
        if found != expected:
            failures.append(f"{query}: {sorted(found ^ expected)}")

    assert not failures, "\n".join(failures)
    filters = set(wire.SearchMessages.__struct_fields__) - PAGING_FIELDS
    assert filters - {name for query, expected in rows if expected for name in query} == set()
    assert {each.value.lstrip("-") for each in wire.ContentFilter} == set(has)
    kinds = {query["embed_type"] for query, _ in rows if isinstance(query.get("embed_type"), str)}
    assert {each.value for each in wire.SearchableEmbedType} == kinds
