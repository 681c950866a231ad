"""Search for messages and threads: tokenization, index maintenance, query parameters and permissions."""

import json
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ChannelType, ComponentType, MessageReferenceType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.talk.search import index_jobs
from hubbub.server.talk.search.tokens import is_near, parse_query, score, tokenize
from hubbub.server.transports.cdn import default_avatar
from tests.fixtures.validator import ResponseMonitor
from tests.server.play.interaction_setup import InteractionSetup
from tests.server.talk.message_search import build_index, create_indexed_guild, search_messages, search_path
from tests.world import NOW_MS, Actor, ApiResponse, Guild, World, small_config

PUBLIC_THREAD, PRIVATE_THREAD = ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD


async def search_contents(actor: Actor, guild: Guild, **query: Any) -> list[str]:
    """Return the contents of the found messages."""
    return [message["content"] for (message,) in (await search_messages(actor, guild, **query))["messages"]]


async def send_file(actor: Actor, guild: Guild, filename: str, data: bytes, content: str) -> Any:
    """Send a message with a file."""
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", json.dumps({"content": content}), content_type="application/json")
    form.add_field("files[0]", data, filename=filename, content_type="application/octet-stream")
    return (await actor.request("POST", f"/channels/{guild.general}/messages", data=form)).ok()


# Tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, WORLD! it's 2026", ["hello", "world", "it", "s", "2026"]),
        ("Ünïcödé ﬁne Straße", ["unicode", "fine", "strasse"]),
        (
            "snake_case <:party:123> https://a.example/x",
            ["snake", "case", "party", "123", "https", "a", "example", "x"],
        ),
        ("日本語 text", ["日", "本", "語", "text"]),
        ("हिन्दी शब्द", ["हिन्दी", "शब्द"]),
        ("한국어 привет", ["한국어", "привет"]),
        ("🔥 ... --", []),
    ],
)
def test_text_is_split_into_words(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_a_query_contains_each_word_once_and_unspaced_runs_as_one_phrase() -> None:
    assert parse_query("to be or not to be") == (("to",), ("be",), ("or",), ("not",))
    assert parse_query("go 日本 東 x") == (("go",), ("日", "本"), ("東",), ("x",))


@pytest.mark.parametrize(
    ("text", "query_text", "slop", "expected"),
    [
        ("a b", "a b", 0, True),
        ("b a", "a b", 0, True),
        ("a x b", "a b", 0, False),
        ("a x b", "a b", 1, True),
        ("a x x b x a x b", "a b", 1, True),
        ("a b x c", "a b c", 1, True),
        ("a x b x c", "a b c", 1, False),
        ("a", "a b", 100, False),
        ("a 日 本 b", "日本", 0, True),
        ("a 日 x 本 b", "日本", 5, False),
    ],
)
def test_near_allows_at_most_slop_other_words(text: str, query_text: str, slop: int, expected: bool) -> None:
    assert is_near(tokenize(text), parse_query(query_text), slop) is expected


def test_the_score_grows_with_frequency_and_shrinks_with_length() -> None:
    phrases = parse_query("cat")
    assert (
        score(tokenize("cat cat"), phrases)
        > score(tokenize("cat dog"), phrases)
        > score(tokenize("cat" + " x" * 50), phrases)
    )


# The index


async def test_the_first_search_of_a_guild_starts_indexing(world: World) -> None:
    guild = await world.guild()
    await guild.send_message(guild.owner, "hello there")

    error = (await guild.owner.get(search_path(guild, content="hello"))).rejected(202, 110000)
    assert error == {
        "message": "Index not yet available. Try again later",
        "code": 110000,
        "documents_indexed": 0,
        "retry_after": 2,
    }
    assert world.app.worker is not None
    await world.app.worker.run_due()
    results = await search_messages(guild.owner, guild, content="hello")
    assert (results["total_results"], results["doing_deep_historical_index"]) == (1, False)
    assert results["messages"][0][0]["content"] == "hello there"
    assert results["messages"][0][0]["hit"] is True
    assert "threads" not in results


async def test_old_messages_are_indexed_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_jobs, "BATCH_SIZE", 3)
    monkeypatch.setattr(index_jobs, "CHANNELS_PER_STEP_MAX", 2)
    guild = await world.guild()
    other_channel_id = await guild.channel("other")
    for number in range(8):
        await guild.send_message(guild.owner, f"hello {number}", channel_id=other_channel_id if number % 2 else None)
    thread = (
        await guild.owner.post(f"/channels/{other_channel_id}/threads", json={"name": "t", "type": PUBLIC_THREAD})
    ).ok()
    await guild.send_message(guild.owner, "hello thread", channel_id=int(thread["id"]))
    await build_index(world, guild)
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 9


async def test_a_search_can_be_configured_to_wait_for_the_index(response_monitor: ResponseMonitor) -> None:
    app = App(small_config(search_waits_for_index=True), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        guild = await World(app, client).guild()
        await guild.send_message(guild.owner, "hello")
        assert await search_contents(guild.owner, guild) == ["hello"]
    await app.stop()


async def test_message_changes_are_searchable_immediately(world: World) -> None:
    guild = await create_indexed_guild(world)
    message = await guild.send_message(guild.owner, "first words")
    path = f"/channels/{guild.general}/messages/{message['id']}"
    assert await search_contents(guild.owner, guild, content="first") == ["first words"]

    (await guild.owner.patch(path, json={"content": "second words"})).ok()
    assert await search_contents(guild.owner, guild, content="first") == []
    assert await search_contents(guild.owner, guild, content="second") == ["second words"]
    assert await search_contents(guild.owner, guild, pinned=True) == []

    (await guild.owner.put(f"/channels/{guild.general}/messages/pins/{message['id']}")).ok()
    assert await search_contents(guild.owner, guild, pinned=True) == ["second words"]
    assert await search_contents(guild.owner, guild, pinned=False) == []

    (await guild.owner.delete(path)).ok()
    assert (await search_messages(guild.owner, guild, content="words"))["total_results"] == 0


async def test_changes_are_indexed_by_one_batch_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_jobs, "BATCH_SIZE", 4)
    guild = await create_indexed_guild(world)

    def count_pending(call: Any) -> tuple[int, int]:
        changed_count = call.tx.value("SELECT COUNT(*) FROM search_changes")
        return changed_count, call.tx.value("SELECT COUNT(*) FROM jobs WHERE kind = 'search.catch_up'")

    for number in range(10):
        await guild.send_message(guild.owner, f"hello {number}")
    assert await world.write(count_pending) == (10, 1)
    await world.clock.run_for(index_jobs.CATCH_UP_DELAY_MS)
    assert await world.write(count_pending) == (0, 0)
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 10
    await guild.send_message(guild.owner, "hello again")
    assert await world.write(count_pending) == (1, 1)


async def test_bulk_deletions_and_deleted_channels_are_removed_from_the_index(world: World) -> None:
    guild = await create_indexed_guild(world)
    other_channel_id = await guild.channel("other")
    message_ids = [
        (await guild.send_message(guild.owner, f"hello {number}", channel_id=other_channel_id))["id"]
        for number in range(5)
    ]
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 5
    (
        await guild.owner.post(f"/channels/{other_channel_id}/messages/bulk-delete", json={"messages": message_ids[:2]})
    ).ok()
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 3

    (await guild.owner.delete(f"/channels/{other_channel_id}")).ok()
    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 0

    def count_documents(call: Any) -> int:
        return int(call.tx.value("SELECT COUNT(*) FROM search_documents"))

    assert await world.write(count_documents) == 0


async def test_deleting_a_guild_deletes_its_index(world: World) -> None:
    guild = await create_indexed_guild(world)
    await guild.send_message(guild.owner, "hello")
    await search_messages(guild.owner, guild)
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    assert world.app.worker is not None
    await world.app.worker.run_due()

    def count_rows(call: Any) -> int:
        tables = ("search_documents", "search_guilds", "search_changes", "search_builds")
        return sum(call.tx.value(f"SELECT COUNT(*) FROM {table}") for table in tables)

    assert await world.write(count_rows) == 0


async def test_a_search_finds_only_messages_of_its_guild(world: World) -> None:
    alice = await world.user()
    first_guild, second_guild = await world.guild(alice), await world.guild(alice)
    for guild in (first_guild, second_guild):
        await build_index(world, guild)
        await guild.send_message(alice, f"hello from {guild.id}")
    assert await search_contents(alice, first_guild, content="hello") == [f"hello from {first_guild.id}"]
    assert await search_contents(alice, second_guild, author_id=alice.id) == [f"hello from {second_guild.id}"]


# Parameters


async def test_words_are_found_in_any_order_within_the_slop(world: World) -> None:
    guild = await create_indexed_guild(world)
    for text in ("the quick brown fox", "fox, the quick one", "quick and very very lazy fox", "only a Fóx"):
        await guild.send_message(guild.owner, text)
    assert await search_contents(guild.owner, guild, content="FOX", sort_order="asc") == [
        "the quick brown fox",
        "fox, the quick one",
        "quick and very very lazy fox",
        "only a Fóx",
    ]
    assert len(await search_contents(guild.owner, guild, content="quick fox")) == 2
    assert await search_contents(guild.owner, guild, content="quick fox", slop=0) == []
    assert len(await search_contents(guild.owner, guild, content="quick fox", slop=4)) == 3
    assert await search_contents(guild.owner, guild, content="the brown fox quick", slop=0) == ["the quick brown fox"]
    assert await search_contents(guild.owner, guild, content="!!!") == []
    assert await search_contents(guild.owner, guild, content='"fox" OR (quick AND') == []
    assert len(await search_contents(guild.owner, guild, content="  ")) == 4


async def test_embeds_components_polls_and_forwards_are_found_by_words_and_filters(world: World) -> None:
    guild = await create_indexed_guild(world)
    path = f"/channels/{guild.general}/messages"
    embed = {"title": "zebra", "fields": [{"name": "yak", "value": "xerus"}], "footer": {"text": "wombat"}}
    (await guild.owner.post(path, json={"embeds": [embed]})).ok()
    components = [
        {"type": ComponentType.CONTAINER, "components": [{"type": ComponentType.TEXT_DISPLAY, "content": "vulture"}]}
    ]
    (await guild.owner.post(path, json={"flags": MessageFlags.IS_COMPONENTS_V2, "components": components})).ok()
    poll = {"question": {"text": "unicorn?"}, "answers": [{"poll_media": {"text": "tapir"}}]}
    (await guild.owner.post(path, json={"poll": poll})).ok()
    message = await guild.send_message(guild.owner, "sloth")
    reference = {"type": MessageReferenceType.FORWARD, "channel_id": str(guild.general), "message_id": message["id"]}
    (await guild.owner.post(path, json={"message_reference": reference})).ok()
    for words, result_count in (("zebra yak", 1), ("wombat", 1), ("vulture", 1), ("unicorn tapir", 1), ("sloth", 2)):
        assert (await search_messages(guild.owner, guild, content=words))["total_results"] == result_count, words
    assert (await search_messages(guild.owner, guild, content="sloth", has="snapshot"))["total_results"] == 1
    assert (await search_messages(guild.owner, guild, content="sloth", has="-snapshot"))["total_results"] == 1
    assert (await search_messages(guild.owner, guild, has="poll"))["total_results"] == 1
    assert (await search_messages(guild.owner, guild, has=["embed", "-poll"]))["total_results"] == 1
    assert (await search_messages(guild.owner, guild, embed_type=["article", "video"]))["total_results"] == 1
    assert (await search_messages(guild.owner, guild, embed_type="gif"))["total_results"] == 0
    assert (await search_messages(guild.owner, guild, embed_provider="Example"))["total_results"] == 0


async def test_messages_are_found_by_their_author(world: World) -> None:
    bob = await world.user()
    guild = await create_indexed_guild(world, bob)
    bot = await world.bot(guild)
    await guild.send_message(guild.owner, "of the owner")
    await guild.send_message(bob, "of bob")
    await guild.send_message(bot, "of the bot")
    webhook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "hook"})).ok()
    (await world.request("POST", f"/webhooks/{webhook['id']}/{webhook['token']}", json={"content": "of the hook"})).ok()
    assert await search_contents(bob, guild, author_id=bob.id) == ["of bob"]
    assert await search_contents(bob, guild, author_id=[bob.id, bot.id]) == ["of the bot", "of bob"]
    assert await search_contents(bob, guild, author_type="bot") == ["of the bot"]
    assert await search_contents(bob, guild, author_type="webhook") == ["of the hook"]
    assert await search_contents(bob, guild, author_type=["user", "bot"]) == ["of the bot", "of bob", "of the owner"]
    assert await search_contents(bob, guild, author_type=["-user", "-webhook"]) == ["of the bot"]
    assert await search_contents(bob, guild, author_type="-bot", author_id=[bob.id, bot.id]) == ["of bob"]


async def test_interaction_responses_are_found_by_author_type_bot(world: World) -> None:
    bob = await world.user()
    guild = await create_indexed_guild(world, bob)
    interactions = InteractionSetup(world, guild, bob, await world.bot(guild))
    interactions.app_session = await interactions.bot.connect()
    await (await interactions.run_command(await interactions.create_command())).respond_with_message(
        content="of the bot"
    )
    assert await search_contents(bob, guild, author_type="bot") == ["of the bot"]
    assert await search_contents(bob, guild, author_type="webhook") == []


async def test_messages_are_found_by_mentions_and_replies(world: World) -> None:
    bob = await world.user()
    guild = await create_indexed_guild(world, bob)
    role_id = await guild.role("readers", mentionable=True)
    message = await guild.send_message(bob, f"ask <@{guild.owner.id}>")
    await guild.send_message(guild.owner, f"all <@&{role_id}>")
    await guild.send_message(guild.owner, "@everyone come")
    await guild.send_message(guild.owner, "yes", message_reference={"message_id": message["id"]})
    assert await search_contents(bob, guild, mentions=guild.owner.id) == [message["content"]]
    assert await search_contents(bob, guild, mentions=[guild.owner.id, bob.id]) == ["yes", message["content"]]
    assert await search_contents(bob, guild, mentions_role_id=role_id) == [f"all <@&{role_id}>"]
    assert await search_contents(bob, guild, mention_everyone=True) == ["@everyone come"]
    assert len(await search_contents(bob, guild, mention_everyone=False)) == 3
    assert await search_contents(bob, guild, replied_to_user_id=bob.id) == ["yes"]
    assert await search_contents(bob, guild, replied_to_user_id=guild.owner.id) == []
    assert await search_contents(bob, guild, replied_to_message_id=[message["id"], 5]) == ["yes"]


async def test_messages_are_found_by_their_files_and_links(world: World) -> None:
    guild = await create_indexed_guild(world)
    owner = guild.owner
    await send_file(owner, guild, "Holiday Plan.png", default_avatar(0), "picture")
    await send_file(owner, guild, "song.ogg", b"OggS" + bytes(60), "sound")
    await send_file(owner, guild, "film.mp4", b"\x00\x00\x00\x18ftypmp42", "film")
    await send_file(owner, guild, "notes.TXT", b"hello", "notes")
    await guild.send_message(owner, "see https://www.example.com/a and <http://other.example:8080>")
    await guild.send_message(owner, "no link://here")
    assert await search_contents(owner, guild, has="image") == ["picture"]
    assert await search_contents(owner, guild, has="sound") == ["sound"]
    assert await search_contents(owner, guild, has="video") == ["film"]
    assert len(await search_contents(owner, guild, has="file")) == 4
    assert await search_contents(owner, guild, has=["file", "-image", "-video", "-sound"]) == ["notes"]
    assert await search_contents(owner, guild, has=["file", "link"]) == []
    assert await search_contents(owner, guild, has="sticker") == []
    assert await search_contents(owner, guild, attachment_extension=["png", ".Txt"], sort_order="asc") == [
        "picture",
        "notes",
    ]
    assert await search_contents(owner, guild, attachment_filename="holiday_plan.PNG") == ["picture"]
    assert await search_contents(owner, guild, attachment_filename="song") == ["sound"]
    for host in ("example.com", "WWW.example.com", "other.example"):
        assert len(await search_contents(owner, guild, link_hostname=host)) == 1, host
    assert await search_contents(owner, guild, link_hostname=["example", "ample.com"]) == []
    assert len(await search_contents(owner, guild, has="link")) == 1
    assert len(await search_contents(owner, guild, has="-link")) == 5


async def test_results_are_paged_in_both_orders(world: World) -> None:
    guild = await create_indexed_guild(world)
    messages = [await guild.send_message(guild.owner, f"number {number}") for number in range(30)]
    message_ids = [message["id"] for message in messages]

    async def page_ids(**query: Any) -> list[str]:
        results = await search_messages(guild.owner, guild, content="number", **query)
        assert results["total_results"] == 30
        return [message["id"] for (message,) in results["messages"]]

    assert await page_ids() == message_ids[:4:-1]
    assert await page_ids(offset=25) == message_ids[4::-1]
    assert await page_ids(sort_order="asc", limit=3, offset=2) == message_ids[2:5]
    assert await page_ids(offset=9975) == []
    results = await search_messages(guild.owner, guild, min_id=message_ids[3], max_id=message_ids[6])
    assert [message["id"] for (message,) in results["messages"]] == message_ids[5:3:-1]


async def test_results_are_sorted_by_relevance(world: World) -> None:
    guild = await create_indexed_guild(world)
    for text in ("tea " + "and many other things " * 5, "tea tea tea", "some tea", "tea tea", "coffee"):
        await guild.send_message(guild.owner, text)
    expected = ["tea tea tea", "tea tea", "some tea", "tea " + "and many other things " * 4 + "and many other things"]
    assert await search_contents(guild.owner, guild, content="tea", sort_by="relevance") == expected
    assert (
        await search_contents(guild.owner, guild, content="tea", sort_by="relevance", sort_order="asc")
        == expected[::-1]
    )
    assert len(await search_contents(guild.owner, guild, sort_by="relevance")) == 5


@pytest.mark.parametrize(
    ("query", "path", "code"),
    [
        ("limit=26", "limit", "NUMBER_TYPE_MAX"),
        ("limit=0", "limit", "NUMBER_TYPE_MIN"),
        ("offset=9976", "offset", "NUMBER_TYPE_MAX"),
        ("slop=101", "slop", "NUMBER_TYPE_MAX"),
        (f"content={'x' * 1025}", "content", "BASE_TYPE_MAX_LENGTH"),
        ("sort_by=size", "sort_by", "BASE_TYPE_CHOICES"),
        ("sort_order=up", "sort_order", "BASE_TYPE_CHOICES"),
        ("has=link&has=wings", "has.1", "BASE_TYPE_CHOICES"),
        ("author_type=-human", "author_type.0", "BASE_TYPE_CHOICES"),
        ("embed_type=rich", "embed_type.0", "BASE_TYPE_CHOICES"),
        ("author_id=bob", "author_id.0", "NUMBER_TYPE_COERCE"),
        ("min_id=x", "min_id", "NUMBER_TYPE_COERCE"),
        ("pinned=maybe", "pinned", "BOOLEAN_TYPE_CONVERT"),
        ("&".join(f"mentions={number}" for number in range(101)), "mentions", "BASE_TYPE_BAD_LENGTH"),
    ],
)
async def test_parameters_have_limits(world: World, query: str, path: str, code: str) -> None:
    guild = await world.guild()
    response = await guild.owner.get(f"/guilds/{guild.id}/messages/search?{query}")
    assert response.errors(path) == [code]


async def test_found_messages_omit_reactions(world: World) -> None:
    guild = await create_indexed_guild(world)
    message = await guild.send_message(guild.owner, "hello")
    (await guild.owner.put(f"/channels/{guild.general}/messages/{message['id']}/reactions/{quote('🔥')}/@me")).ok()
    ((message_view,),) = (await search_messages(guild.owner, guild))["messages"]
    assert "reactions" not in message_view
    assert "reactions" in (await guild.owner.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()


# Permissions


async def test_only_readable_channels_are_searched(world: World) -> None:
    bob = await world.user()
    guild = await create_indexed_guild(world, bob)
    hidden_channel_id, unreadable_channel_id = await guild.channel("hidden"), await guild.channel("unreadable")
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    for channel in (guild.general, hidden_channel_id, unreadable_channel_id, voice_channel_id):
        await guild.send_message(guild.owner, f"hello {channel}", channel_id=channel)
    await guild.overwrite(hidden_channel_id, bob.id, deny=Permissions.VIEW_CHANNEL)
    await guild.overwrite(unreadable_channel_id, bob.id, deny=Permissions.READ_MESSAGE_HISTORY)
    await guild.overwrite(voice_channel_id, bob.id, deny=Permissions.CONNECT)
    assert await search_contents(bob, guild, content="hello") == [f"hello {guild.general}"]
    results = await search_messages(
        bob, guild, content="hello", channel_id=[hidden_channel_id, unreadable_channel_id, voice_channel_id]
    )
    assert (results["total_results"], results["messages"]) == (0, [])
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 4
    assert await search_contents(guild.owner, guild, channel_id=hidden_channel_id) == [f"hello {hidden_channel_id}"]
    assert len(await search_contents(guild.owner, guild, channel_id=[hidden_channel_id, voice_channel_id, 5])) == 2

    # With many hidden channels the query lists the readable channels instead of the hidden ones.
    for name in ("a", "b", "c", "d"):
        channel = await guild.channel(name)
        await guild.send_message(guild.owner, f"hello {name}", channel_id=channel)
        await guild.overwrite(channel, bob.id, deny=Permissions.VIEW_CHANNEL)
    assert await search_contents(bob, guild, content="hello") == [f"hello {guild.general}"]


async def test_age_restricted_channels_are_searched_on_request(world: World) -> None:
    bob = await world.user()
    guild = await create_indexed_guild(world, bob)
    adult_channel_id = await guild.channel("adult", nsfw=True)
    await guild.send_message(bob, "hello", channel_id=adult_channel_id)
    thread = (await bob.post(f"/channels/{adult_channel_id}/threads", json={"name": "t", "type": PUBLIC_THREAD})).ok()
    await guild.send_message(bob, "hello thread", channel_id=int(thread["id"]))
    assert await search_contents(bob, guild, content="hello") == []
    assert await search_contents(bob, guild, content="hello", include_nsfw=True) == ["hello thread", "hello"]
    assert await search_contents(bob, guild, channel_id=adult_channel_id) == []


async def test_private_threads_are_searched_by_their_members_and_moderators(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await create_indexed_guild(world, bob, carol)
    created_thread = (
        await bob.post(f"/channels/{guild.general}/threads", json={"name": "secret", "type": PRIVATE_THREAD})
    ).ok()
    thread = int(created_thread["id"])
    await guild.send_message(bob, "hello in private", channel_id=thread)
    await guild.send_message(bob, "hello in public")
    results = await search_messages(bob, guild, content="hello")
    assert results["total_results"] == 2
    assert [thread["id"] for thread in results["threads"]] == [created_thread["id"]]
    assert [member["user_id"] for member in results["members"]] == [str(bob.id)]
    assert await search_contents(carol, guild, content="hello") == ["hello in public"]
    assert await search_contents(carol, guild, channel_id=thread) == []
    assert (await search_messages(guild.owner, guild, content="hello"))["total_results"] == 2
    await guild.allow_permissions(carol, Permissions.MANAGE_THREADS)
    results = await search_messages(carol, guild, channel_id=thread)
    assert (results["total_results"], results["members"]) == (1, [])


async def test_searching_requires_a_member_who_can_read_a_channel(world: World) -> None:
    bob = await world.user()
    guild = await create_indexed_guild(world, bob)
    (await (await world.user()).get(search_path(guild))).rejected(403, 50001)
    (await bob.get("/guilds/1/messages/search")).rejected(404, 10004)
    permissions = str(int(Permissions.VIEW_CHANNEL))
    (await guild.owner.patch(f"/guilds/{guild.id}/roles/{guild.id}", json={"permissions": permissions})).ok()
    (await bob.get(search_path(guild))).rejected(403, 50001)
    await guild.overwrite(guild.general, bob.id, allow=Permissions.READ_MESSAGE_HISTORY)
    (await bob.get(search_path(guild))).ok()


async def test_bots_require_the_message_content_intent(world: World) -> None:
    guild = await create_indexed_guild(world)
    await guild.send_message(guild.owner, "hello")
    (await (await world.bot(guild, flags=0)).get(search_path(guild))).rejected(403, 50001)
    assert await search_contents(await world.bot(guild), guild) == ["hello"]


@pytest.mark.dated(changes.MESSAGE_SEARCH_FOR_APPS)
async def test_bots_cannot_search_before_the_release_date(world: World) -> None:
    world.clock.set(changes.MESSAGE_SEARCH_FOR_APPS.at_ms - 60_000)
    guild = await create_indexed_guild(world)
    bot = await world.bot(guild)
    (await bot.get(search_path(guild))).rejected(403, 20001)
    await search_messages(guild.owner, guild)
    world.clock.set(changes.MESSAGE_SEARCH_FOR_APPS.at_ms)
    await search_messages(bot, guild)


# Threads


async def create_forum(world: World, *members: Actor) -> tuple[Guild, int, list[int]]:
    """Create an indexed guild with a forum that has two tags; return the guild, the forum's ID and the tag IDs."""
    guild = await create_indexed_guild(world, *members)
    tags = [{"name": "bug"}, {"name": "idea"}]
    created_forum = (
        await guild.owner.post(
            f"/guilds/{guild.id}/channels",
            json={"name": "ideas", "type": ChannelType.GUILD_FORUM, "available_tags": tags},
        )
    ).ok()
    return guild, int(created_forum["id"]), [int(tag["id"]) for tag in created_forum["available_tags"]]


async def create_post(world: World, actor: Actor, channel_id: int, name: str, *tags: int) -> str:
    """Advance the clock by one second, create a forum post, and return its ID."""
    world.clock.advance(1000)
    body = {"name": name, "message": {"content": f"about {name}"}, "applied_tags": [str(tag) for tag in tags]}
    post_id: str = (await actor.post(f"/channels/{channel_id}/threads", json=body)).ok()["id"]
    return post_id


def thread_names(response: ApiResponse) -> list[str]:
    """Return the names of the found threads."""
    return [thread["name"] for thread in response.ok()["threads"]]


async def test_threads_are_found_by_name_tag_and_state(world: World) -> None:
    bob = await world.user()
    guild, channel, (bug, idea) = await create_forum(world, bob)
    await create_post(world, bob, channel, "login is slow", bug)
    post_id_with_both_tags = await create_post(world, bob, channel, "a slow and quiet login", bug, idea)
    await create_post(world, bob, channel, "dark mode", idea)
    path = f"/channels/{channel}/threads/search"
    assert thread_names(await bob.get(f"{path}?name=LOGIN")) == ["a slow and quiet login", "login is slow"]
    assert thread_names(await bob.get(f"{path}?name=slow+login&slop=1")) == ["login is slow"]
    assert thread_names(await bob.get(f"{path}?tag={bug}&tag={idea}&tag_setting=match_all")) == [
        "a slow and quiet login"
    ]
    assert len(thread_names(await bob.get(f"{path}?tag={bug},{idea}"))) == 3
    assert thread_names(await bob.get(f"{path}?tag={idea}&name=mode")) == ["dark mode"]
    (await guild.owner.patch(f"/channels/{post_id_with_both_tags}", json={"archived": True})).ok()
    assert thread_names(await bob.get(f"{path}?archived=true")) == ["a slow and quiet login"]
    assert thread_names(await bob.get(f"{path}?archived=false&tag={bug}")) == ["login is slow"]
    assert len(thread_names(await bob.get(path))) == 3
    assert thread_names(await bob.get(f"{path}?max_id={post_id_with_both_tags}")) == ["login is slow"]
    assert thread_names(await bob.get(f"{path}?min_id={post_id_with_both_tags}")) == ["dark mode"]


async def test_found_threads_are_sorted_and_paged(world: World) -> None:
    bob = await world.user()
    guild, channel, _ = await create_forum(world, bob)
    first_post_id = await create_post(world, bob, channel, "one fish")
    await create_post(world, bob, channel, "two fish fish")
    third_post_id = await create_post(world, guild.owner, channel, "red fish and blue fish")
    world.clock.advance(1000)
    await guild.send_message(bob, "bump", channel_id=int(first_post_id))
    path = f"/channels/{channel}/threads/search"
    order = ["one fish", "red fish and blue fish", "two fish fish"]
    assert thread_names(await bob.get(f"{path}?sort_by=last_message_time")) == order
    assert thread_names(await bob.get(f"{path}?sort_by=last_message_time&sort_order=asc")) == order[::-1]
    assert thread_names(await bob.get(f"{path}?sort_by=creation_time"))[0] == "red fish and blue fish"
    assert thread_names(await bob.get(f"{path}?name=fish&sort_by=relevance"))[0] == "two fish fish"
    world.clock.advance(1000)
    (await guild.owner.patch(f"/channels/{first_post_id}", json={"archived": True})).ok()
    assert thread_names(await bob.get(f"{path}?sort_by=archive_time"))[0] == "one fish"

    page = (await bob.get(f"{path}?sort_by=creation_time&limit=2")).ok()
    assert (page["total_results"], page["has_more"], len(page["threads"])) == (3, True, 2)
    assert [message["id"] for message in page["first_messages"]] == [thread["id"] for thread in page["threads"]]
    assert page["threads"][0]["id"] == third_post_id
    assert {member["user_id"] for member in page["members"]} == {str(bob.id)}
    last_page = (await bob.get(f"{path}?sort_by=creation_time&limit=2&offset=2")).ok()
    assert (last_page["has_more"], len(last_page["threads"])) == (False, 1)


async def test_thread_search_finds_private_threads_only_for_members_and_moderators(world: World) -> None:
    bob, carol = await world.user(), await world.user()
    guild = await create_indexed_guild(world, bob, carol)
    path = f"/channels/{guild.general}/threads"
    for thread_type in (PUBLIC_THREAD, PRIVATE_THREAD):
        (await bob.post(path, json={"name": f"talk {thread_type}", "type": thread_type})).ok()
    assert len(thread_names(await bob.get(f"{path}/search"))) == 2
    assert thread_names(await carol.get(f"{path}/search")) == [f"talk {PUBLIC_THREAD}"]
    assert len(thread_names(await guild.owner.get(f"{path}/search"))) == 2


async def test_thread_search_requires_an_index_a_readable_channel_and_valid_parameters(world: World) -> None:
    bob = await world.user()
    guild = await world.guild(None, bob)
    path = f"/channels/{guild.general}/threads/search"
    (await bob.get(path)).rejected(202, 110000)
    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert (await bob.get(path)).ok() == {"threads": [], "members": [], "has_more": False, "total_results": 0}
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    (await bob.get(f"/channels/{voice_channel_id}/threads/search")).rejected(400, 50024)
    private_channel_id = (await bob.post("/users/@me/channels", json={"recipient_id": str(guild.owner.id)})).ok()["id"]
    (await bob.get(f"/channels/{private_channel_id}/threads/search")).rejected(400, 50003)
    (await bob.get("/channels/1/threads/search")).rejected(404, 10003)
    (await (await world.user()).get(path)).rejected(403, 50001)
    await guild.overwrite(guild.general, bob.id, deny=Permissions.READ_MESSAGE_HISTORY)
    (await bob.get(path)).rejected(403, 50013)
    assert (await guild.owner.get(f"{path}?limit=26")).errors("limit") == ["NUMBER_TYPE_MAX"]
    assert (await guild.owner.get(f"{path}?tag_setting=all")).errors("tag_setting") == ["BASE_TYPE_CHOICES"]
    assert (await guild.owner.get(f"{path}?name={'x' * 101}")).errors("name") == ["BASE_TYPE_MAX_LENGTH"]
