"""Proximity search: both stores return the same matches and count only matches."""

import random
from functools import partial

import pytest

from hubbub.protocol.resources import search as wire
from hubbub.server.core.store import Database
from hubbub.server.talk.search import results, store
from hubbub.server.talk.search.documents import Document
from hubbub.server.talk.search.store import Query
from hubbub.server.talk.search.tokens import is_near, parse_query
from tests.server.talk.message_search import create_indexed_guild, search_messages
from tests.world import World

GUILD_ID = 1 << 40
DISTANT_WORDS = "alpha one two three four beta"
"""Text in which four words separate "alpha" and "beta", more than the default slop."""


async def test_texts_with_distant_words_are_skipped_and_results_are_limited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "SEARCH_RESULTS_MAX", 5)
    guild = await create_indexed_guild(world)
    for text in ("alpha beta", *[DISTANT_WORDS] * 8):
        await guild.send_message(guild.owner, text)

    for order in ("asc", "desc"):
        for sort in ("timestamp", "relevance"):
            page = await search_messages(guild.owner, guild, content="alpha beta", sort_order=order, sort_by=sort)
            assert (page["total_results"], len(page["messages"])) == (1, 1)
    pages = [
        await search_messages(guild.owner, guild, content="beta alpha", slop=4, limit=2, offset=offset)
        for offset in (0, 2, 4, 6)
    ]
    assert [(page["total_results"], len(page["messages"])) for page in pages] == [(5, 2), (5, 2), (5, 1), (5, 0)]


async def test_matches_are_counted_up_to_a_maximum_or_the_end_of_the_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "COUNTED_HITS_MAX", 2)
    guild = await create_indexed_guild(world)
    for _ in range(4):
        await guild.send_message(guild.owner, "alpha beta")

    pages = [
        await search_messages(guild.owner, guild, content="alpha beta", limit=1, offset=offset) for offset in range(5)
    ]
    assert [(page["total_results"], len(page["messages"])) for page in pages] == [
        (2, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (4, 0),
    ]
    assert (await search_messages(guild.owner, guild, content="alpha", limit=1))["total_results"] == 2


@pytest.mark.parametrize("limit", [3, 1000])
async def test_both_stores_match_the_reference_function(database: Database, limit: int) -> None:
    """The reference is `tokens.is_near`; texts of few letters contain many adjacent and overlapping matches."""
    rng = random.Random(7)
    # Each alphabet has its own range of message IDs.
    words_by_id = {
        message_id: [rng.choice(letters) for _ in range(rng.randint(1, 12))]
        for letters in ("abcd", "abcdefghij", "東京都a", "日本ab")
        for message_id in range(1000 * len(letters) + ord(letters[0]), 1000 * len(letters) + ord(letters[0]) + 60)
    }
    documents = [Document(message_id, GUILD_ID, 1, " ".join(words), "c1") for message_id, words in words_by_id.items()]
    await database.write(lambda tx: store.replace_documents(tx, list(words_by_id), documents))

    for query_text in (
        "a b",
        "b a",
        "a b c",
        "d c b a",
        "a x",
        "東京",
        "東京 京都",
        "東京 東",
        "東 京 a",
        "日本 a",
        "a 日本 b",
    ):
        for slop in (0, 1, 2, 5, 100):
            query = Query(
                index_id=GUILD_ID, phrases=parse_query(query_text), slop=slop, required_groups=(("c1", "c2"),)
            )
            matches = [
                message_id
                for message_id in sorted(words_by_id)
                if is_near(words_by_id[message_id], query.phrases, slop)
            ]
            for newest_first in (False, True):
                found_ids = await database.read(
                    partial(store.find_message_ids, query=query, newest_first=newest_first, limit=limit)
                )
                expected = matches[::-1] if newest_first else matches
                assert found_ids == expected[:limit], (query_text, slop, newest_first)
