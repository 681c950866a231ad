"""Every filter of message search, each with messages that fit and with all the others that do not."""

import json
from typing import Any
from urllib.parse import quote

import aiohttp

from hubbub.protocol import wire as protocol_wire
from hubbub.protocol.resources import search as wire
from hubbub.protocol.resources.embeds import Embed, EmbedMedia, EmbedProvider
from hubbub.server.transports.cdn import default_avatar
from tests.media import png
from tests.world import Actor, Guild, World

PAGES = {"sort_by", "sort_order", "limit", "offset", "slop"}
"""How results come, not which ones (test_search.py)."""


class Said:
    """A guild in which each message has one trait of its own."""

    def __init__(self, world: World, guild: Guild) -> None:
        self.world, self.guild, self.owner = world, guild, guild.owner
        self.ids: dict[str, str] = {}

    async def say(self, name: str, actor: Actor | None = None, channel: int | None = None, **body: Any) -> str:
        """Say something, and remember it by a name."""
        path = f"/channels/{channel or self.guild.general}/messages"
        made = (await (actor or self.owner).post(path, json={"content": name, **body})).ok()
        self.ids[name] = made["id"]
        return str(made["id"])

    async def send(self, name: str, filename: str, data: bytes) -> None:
        """Send a file."""
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("payload_json", json.dumps({"content": name}), content_type="application/json")
        form.add_field("files[0]", data, filename=filename, content_type="application/octet-stream")
        path = f"/channels/{self.guild.general}/messages"
        self.ids[name] = (await self.owner.post(path, data=form)).ok()["id"]

    async def embed(self, name: str, embed: Embed) -> None:
        """Say something with an embed as only the platform makes them: nobody can send one (decisions/0045)."""
        message = int(await self.say(name))
        text = protocol_wire.encode([embed]).decode()
        sql = "UPDATE messages SET embeds = ? WHERE channel_id = ? AND id = ?"
        await self.world.write(lambda call: call.tx.run(sql, text, self.guild.general, message))

    async def find(self, query: dict[str, Any]) -> set[str]:
        """The names of what is found."""
        pairs = [
            (key, each) for key, value in query.items() for each in (value if isinstance(value, list) else [value])
        ]
        parameters = "&".join(f"{key}={quote(str(value))}" for key, value in pairs)
        found = (await self.owner.get(f"/guilds/{self.guild.id}/messages/search?{parameters}")).ok()
        names = {id: name for name, id in self.ids.items()}
        assert found["total_results"] == len(found["messages"])
        return {names[message["id"]] for (message,) in found["messages"]}


async def everything(world: World, bob: Actor) -> tuple[Said, dict[str, int]]:
    """One message of each kind, indexed; and the ids of what filters name."""
    guild = await world.guild(None, bob)
    said, bot = Said(world, guild), await world.bot(guild)
    role, other = await guild.role("readers", mentionable=True), await guild.channel("other")
    dark = await guild.channel("dark", nsfw=True)
    form = aiohttp.FormData({"name": "sticker", "tags": "hello", "description": "words"})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    sticker = (await said.owner.post(f"/guilds/{guild.id}/stickers", data=form)).ok()["id"]
    hook = (await said.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "hook"})).ok()
    by_hook = f"/webhooks/{hook['id']}/{hook['token']}?wait=true"

    first = await said.say("of bob", bob)
    await said.say("of the bot", bot)
    said.ids["of the hook"] = (await world.request("POST", by_hook, json={"content": "of the hook"})).ok()["id"]
    await said.say(f"for <@{bob.id}>")
    await said.say(f"for <@&{role}>")
    await said.say("@everyone")
    await said.say("answer", message_reference={"message_id": first}, allowed_mentions={"replied_user": False})
    pinned = await said.say("kept")
    (await said.owner.put(f"/channels/{guild.general}/messages/pins/{pinned}")).ok()
    await said.say("see https://www.example.com/a")
    await said.say("boxed", bot, embeds=[{"title": "article", "type": "video", "provider": {"name": "Claimed"}}])
    await said.say("pictured", bot, embeds=[{"image": {"url": "https://example.com/a.png"}}])
    media = EmbedMedia(url="https://example.com/a")
    await said.embed("filmed", Embed(type="video", video=media, provider=EmbedProvider(name="Tube")))
    await said.embed("moving", Embed(type="gifv", video=media, provider=EmbedProvider(name="Loops")))
    await said.embed("heard", Embed(type="sound"))
    await said.send("letter", "my letter.txt", b"hello")
    await said.send("picture", "picture.png", default_avatar(0))
    await said.send("film", "film.mp4", b"\x00\x00\x00\x18ftypmp42")
    await said.send("song", "song.ogg", b"OggS" + bytes(60))
    await said.say("stuck", sticker_ids=[sticker])
    asked = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}
    await said.say("asked", poll=asked)
    forward = {"type": 1, "channel_id": str(guild.general), "message_id": first}
    await said.say("", message_reference=forward)
    said.ids["forwarded"] = said.ids.pop("")
    await said.say("elsewhere", channel=other)
    await said.say("in the dark", channel=dark)
    (await said.owner.get(f"/guilds/{guild.id}/messages/search")).refused(202, 110000)
    assert world.app.worker is not None
    await world.app.worker.run_due()
    return said, {"bot": bot.id, "role": role, "other": other, "first": int(first)}


async def test_every_filter_finds_what_fits_and_nothing_else(world: World) -> None:
    bob = await world.user()
    said, ids = await everything(world, bob)
    light = {name for name in said.ids if name != "in the dark"}
    embeds = {"boxed", "pictured", "filmed", "moving", "heard"}
    files = {"letter", "picture", "film", "song"}
    of_bot = {"of the bot", "boxed", "pictured"}
    rows: list[tuple[dict[str, Any], set[str]]] = [
        ({}, light),
        ({"content": "of bob"}, {"of bob", "forwarded"}),
        ({"content": "nothing"}, set()),
        ({"include_nsfw": True}, set(said.ids)),
        ({"include_nsfw": True, "content": "dark"}, {"in the dark"}),
        ({"content": "dark"}, set()),
        ({"min_id": said.ids["song"], "max_id": said.ids["asked"]}, {"stuck"}),
        ({"channel_id": ids["other"]}, {"elsewhere"}),
        ({"channel_id": [ids["other"], said.guild.general]}, light),
        ({"author_id": bob.id}, {"of bob"}),
        ({"author_id": [bob.id, ids["bot"]]}, {"of bob"} | of_bot),
        ({"author_type": "user"}, light - of_bot - {"of the hook"}),
        ({"author_type": "bot"}, of_bot),
        ({"author_type": "webhook"}, {"of the hook"}),
        ({"author_type": "-user"}, of_bot | {"of the hook"}),
        ({"author_type": "-bot"}, light - of_bot),
        ({"author_type": "-webhook"}, light - {"of the hook"}),
        ({"mentions": bob.id}, {f"for <@{bob.id}>"}),
        ({"mentions": ids["bot"]}, set()),
        ({"mentions_role_id": ids["role"]}, {f"for <@&{ids['role']}>"}),
        ({"mentions_role_id": 1}, set()),
        ({"mention_everyone": True}, {"@everyone"}),
        ({"mention_everyone": False}, light - {"@everyone"}),
        ({"replied_to_user_id": bob.id}, {"answer"}),
        ({"replied_to_user_id": ids["bot"]}, set()),
        ({"replied_to_message_id": ids["first"]}, {"answer"}),
        ({"replied_to_message_id": 1}, set()),
        ({"pinned": True}, {"kept"}),
        ({"pinned": False}, light - {"kept"}),
        ({"embed_type": "image"}, {"pictured"}),
        ({"embed_type": "video"}, {"filmed", "moving"}),
        ({"embed_type": "gif"}, {"moving"}),
        ({"embed_type": "sound"}, {"heard"}),
        ({"embed_type": "article"}, {"boxed"}),
        ({"embed_type": ["sound", "article"]}, {"boxed", "heard"}),
        ({"embed_provider": "tube"}, {"filmed"}),
        ({"embed_provider": ["Tube", "Loops"]}, {"filmed", "moving"}),
        # Senders do not say where an embed is from (http.md 3.4).
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
    for value, fitting in has.items():
        rows += [({"has": value}, fitting), ({"has": f"-{value}"}, light - fitting)]
    rows.append(({"has": ["video", "embed", "-file"]}, {"filmed", "moving"}))

    wrong = []
    for query, expected in rows:
        found = await said.find({"limit": 25, **query})
        if found != expected:
            wrong.append(f"{query}: {sorted(found ^ expected)}")

    assert not wrong, "\n".join(wrong)
    filters = set(wire.SearchMessages.__struct_fields__) - PAGES
    assert filters - {name for query, expected in rows if expected for name in query} == set()
    assert {each.value.lstrip("-") for each in wire.Has} == set(has)
    kinds = {query["embed_type"] for query, _ in rows if isinstance(query.get("embed_type"), str)}
    assert {each.value for each in wire.SearchableEmbedType} == kinds
