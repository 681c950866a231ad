"""Every filter of message search, checked against one message of each kind."""

import json
from typing import Any
from urllib.parse import quote

import aiohttp

from hubbub.protocol import codec
from hubbub.protocol.enums import MessageReferenceType
from hubbub.protocol.resources import search as wire
from hubbub.protocol.resources.embeds import Embed, EmbedMedia, EmbedProvider
from hubbub.server.transports.cdn import default_avatar
from tests.media import png
from tests.world import Actor, Guild, World

PAGING_FIELDS = {"sort_by", "sort_order", "limit", "offset", "slop"}
"""Parameters that are not filters: order, paging and slop (tested in test_search.py)."""


class SearchSetup:
    """A guild in which each message has one distinct property."""

    def __init__(self, world: World, guild: Guild) -> None:
        self.world, self.guild, self.owner = world, guild, guild.owner
        self.ids_by_name: dict[str, str] = {}

    async def send_message(
        self, name: str, actor: Actor | None = None, channel_id: int | None = None, **body: Any
    ) -> str:
        """Create a message and store its ID by name."""
        path = f"/channels/{channel_id or self.guild.general}/messages"
        message = (await (actor or self.owner).post(path, json={"content": name, **body})).ok()
        self.ids_by_name[name] = message["id"]
        return str(message["id"])

    async def send_file(self, name: str, filename: str, data: bytes) -> None:
        """Create a message with a file and store its ID by name."""
        form = aiohttp.FormData(quote_fields=False)
        form.add_field("payload_json", json.dumps({"content": name}), content_type="application/json")
        form.add_field("files[0]", data, filename=filename, content_type="application/octet-stream")
        path = f"/channels/{self.guild.general}/messages"
        self.ids_by_name[name] = (await self.owner.post(path, data=form)).ok()["id"]

    async def send_embed(self, name: str, embed: Embed) -> None:
        """Create a message, and store an embed for it that only the server can create (decisions/0045)."""
        message = int(await self.send_message(name))
        text = codec.encode([embed]).decode()
        sql = "UPDATE messages SET embeds = ? WHERE channel_id = ? AND id = ?"
        await self.world.write(lambda call: call.tx.run(sql, text, self.guild.general, message))

    async def search(self, query: dict[str, Any]) -> set[str]:
        """Return the names of the found messages."""
        query_pairs = [
            (key, item) for key, value in query.items() for item in (value if isinstance(value, list) else [value])
        ]
        parameters = "&".join(f"{key}={quote(str(value))}" for key, value in query_pairs)
        results = (await self.owner.get(f"/guilds/{self.guild.id}/messages/search?{parameters}")).ok()
        names_by_id = {message_id: name for name, message_id in self.ids_by_name.items()}
        assert results["total_results"] == len(results["messages"])
        return {names_by_id[message["id"]] for (message,) in results["messages"]}


async def create_messages(world: World, bob: Actor) -> tuple[SearchSetup, dict[str, int]]:
    """Create and index one message of each kind; return the setup and the IDs that filters use."""
    guild = await world.guild(None, bob)
    setup, bot = SearchSetup(world, guild), await world.bot(guild)
    role_id, other_channel_id = await guild.role("readers", mentionable=True), await guild.channel("other")
    nsfw_channel_id = await guild.channel("nsfw", nsfw=True)
    form = aiohttp.FormData({"name": "sticker", "tags": "hello", "description": "words"})
    form.add_field("file", png(320, 320), filename="sticker.png", content_type="image/png")
    sticker_id = (await setup.owner.post(f"/guilds/{guild.id}/stickers", data=form)).ok()["id"]
    webhook = (await setup.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "hook"})).ok()
    webhook_path = f"/webhooks/{webhook['id']}/{webhook['token']}?wait=true"

    first_id = await setup.send_message("by bob", bob)
    await setup.send_message("by the bot", bot)
    setup.ids_by_name["by the webhook"] = (
        await world.request("POST", webhook_path, json={"content": "by the webhook"})
    ).ok()["id"]
    await setup.send_message(f"for <@{bob.id}>")
    await setup.send_message(f"for <@&{role_id}>")
    await setup.send_message("@everyone")
    await setup.send_message(
        "reply", message_reference={"message_id": first_id}, allowed_mentions={"replied_user": False}
    )
    pinned_message = await setup.send_message("pinned")
    (await setup.owner.put(f"/channels/{guild.general}/messages/pins/{pinned_message}")).ok()
    await setup.send_message("see https://www.example.com/a")
    await setup.send_message(
        "article embed", bot, embeds=[{"title": "article", "type": "video", "provider": {"name": "Claimed"}}]
    )
    await setup.send_message("image embed", bot, embeds=[{"image": {"url": "https://example.com/a.png"}}])
    media = EmbedMedia(url="https://example.com/a")
    await setup.send_embed("video embed", Embed(type="video", video=media, provider=EmbedProvider(name="Tube")))
    await setup.send_embed("gif embed", Embed(type="gifv", video=media, provider=EmbedProvider(name="Loops")))
    await setup.send_embed("sound embed", Embed(type="sound"))
    await setup.send_file("text file", "my letter.txt", b"hello")
    await setup.send_file("image file", "picture.png", default_avatar(0))
    await setup.send_file("video file", "film.mp4", b"\x00\x00\x00\x18ftypmp42")
    await setup.send_file("sound file", "song.ogg", b"OggS" + bytes(60))
    await setup.send_message("sticker", sticker_ids=[sticker_id])
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}, {"poll_media": {"text": "no"}}]}
    await setup.send_message("poll", poll=poll)
    forward = {"type": MessageReferenceType.FORWARD, "channel_id": str(guild.general), "message_id": first_id}
    await setup.send_message("", message_reference=forward)
    setup.ids_by_name["forwarded"] = setup.ids_by_name.pop("")
    await setup.send_message("other channel", channel_id=other_channel_id)
    await setup.send_message("nsfw channel", channel_id=nsfw_channel_id)
    (await setup.owner.get(f"/guilds/{guild.id}/messages/search")).rejected(202, 110000)
    assert world.app.worker is not None
    await world.app.worker.run_due()
    return setup, {"bot": bot.id, "role": role_id, "other": other_channel_id, "first": int(first_id)}


async def test_every_filter_finds_exactly_the_matching_messages(world: World) -> None:
    bob = await world.user()
    setup, ids_by_object = await create_messages(world, bob)
    not_nsfw = {name for name in setup.ids_by_name if name != "nsfw channel"}
    embeds = {"article embed", "image embed", "video embed", "gif embed", "sound embed"}
    files = {"text file", "image file", "video file", "sound file"}
    bot_contents = {"by the bot", "article embed", "image embed"}
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, not_nsfw),
        ({"content": "by bob"}, {"by bob", "forwarded"}),
        ({"content": "nothing"}, set()),
        ({"include_nsfw": True}, set(setup.ids_by_name)),
        ({"include_nsfw": True, "content": "nsfw"}, {"nsfw channel"}),
        ({"content": "nsfw"}, set()),
        ({"min_id": setup.ids_by_name["sound file"], "max_id": setup.ids_by_name["poll"]}, {"sticker"}),
        ({"channel_id": ids_by_object["other"]}, {"other channel"}),
        ({"channel_id": [ids_by_object["other"], setup.guild.general]}, not_nsfw),
        ({"author_id": bob.id}, {"by bob"}),
        ({"author_id": [bob.id, ids_by_object["bot"]]}, {"by bob"} | bot_contents),
        ({"author_type": "user"}, not_nsfw - bot_contents - {"by the webhook"}),
        ({"author_type": "bot"}, bot_contents),
        ({"author_type": "webhook"}, {"by the webhook"}),
        ({"author_type": "-user"}, bot_contents | {"by the webhook"}),
        ({"author_type": "-bot"}, not_nsfw - bot_contents),
        ({"author_type": "-webhook"}, not_nsfw - {"by the webhook"}),
        ({"mentions": bob.id}, {f"for <@{bob.id}>"}),
        ({"mentions": ids_by_object["bot"]}, set()),
        ({"mentions_role_id": ids_by_object["role"]}, {f"for <@&{ids_by_object['role']}>"}),
        ({"mentions_role_id": 1}, set()),
        ({"mention_everyone": True}, {"@everyone"}),
        ({"mention_everyone": False}, not_nsfw - {"@everyone"}),
        ({"replied_to_user_id": bob.id}, {"reply"}),
        ({"replied_to_user_id": ids_by_object["bot"]}, set()),
        ({"replied_to_message_id": ids_by_object["first"]}, {"reply"}),
        ({"replied_to_message_id": 1}, set()),
        ({"pinned": True}, {"pinned"}),
        ({"pinned": False}, not_nsfw - {"pinned"}),
        ({"embed_type": "image"}, {"image embed"}),
        ({"embed_type": "video"}, {"video embed", "gif embed"}),
        ({"embed_type": "gif"}, {"gif embed"}),
        ({"embed_type": "sound"}, {"sound embed"}),
        ({"embed_type": "article"}, {"article embed"}),
        ({"embed_type": ["sound", "article"]}, {"article embed", "sound embed"}),
        ({"embed_provider": "tube"}, {"video embed"}),
        ({"embed_provider": ["Tube", "Loops"]}, {"video embed", "gif embed"}),
        # The provider of an embed cannot be set by the sender (spec/http.md#3.4).
        ({"embed_provider": "Claimed"}, set()),
        ({"link_hostname": "example.com"}, {"see https://www.example.com/a"}),
        ({"link_hostname": "example.org"}, set()),
        ({"attachment_filename": "my_letter.txt"}, {"text file"}),
        ({"attachment_filename": "letter"}, set()),
        ({"attachment_extension": ["txt", "png"]}, {"text file", "image file"}),
        ({"attachment_extension": "pdf"}, set()),
        ({"author_type": "bot", "has": "embed", "embed_type": "article"}, {"article embed"}),
    ]
    names_by_content_filter = {
        "link": {"see https://www.example.com/a"},
        "embed": embeds,
        "file": files,
        "image": {"image file", "image embed"},
        "video": {"video file", "video embed", "gif embed"},
        "sound": {"sound file"},
        "sticker": {"sticker"},
        "poll": {"poll"},
        "snapshot": {"forwarded"},
    }
    for content_type, expected_names in names_by_content_filter.items():
        cases += [({"has": content_type}, expected_names), ({"has": f"-{content_type}"}, not_nsfw - expected_names)]
    cases.append(({"has": ["video", "embed", "-file"]}, {"video embed", "gif embed"}))

    failures = []
    for query, expected in cases:
        found_names = await setup.search({"limit": 25, **query})
        if found_names != expected:
            failures.append(f"{query}: {sorted(found_names ^ expected)}")

    assert not failures, "\n".join(failures)
    filters = set(wire.SearchMessages.__struct_fields__) - PAGING_FIELDS
    assert filters - {name for query, expected in cases if expected for name in query} == set()
    assert {content_filter.value.lstrip("-") for content_filter in wire.ContentFilter} == set(names_by_content_filter)
    tested_embed_types = {query["embed_type"] for query, _ in cases if isinstance(query.get("embed_type"), str)}
    assert {embed_type.value for embed_type in wire.SearchableEmbedType} == tested_embed_types
