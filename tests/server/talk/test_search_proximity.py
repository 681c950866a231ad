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
from tests.server.talk.test_search import indexed_guild, search
from tests.world import World

GUILD = 1 << 40
DISTANT_WORDS = "alpha one two three four beta"


async def test_a_near_match_is_found_behind_any_number_of_distant_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "SEARCH_RESULTS_MAX", 5)
    guild = await indexed_guild(world)
    for text in ("alpha beta", *[DISTANT_WORDS] * 8):
        await guild.send_message(guild.owner, text)

    for order in ("asc", "desc"):
        for sort in ("timestamp", "relevance"):
            page = await search(guild.owner, guild, content="alpha beta", sort_order=order, sort_by=sort)
            assert (page["total_results"], len(page["messages"])) == (1, 1)
    pages = [await search(guild.owner, guild, content="beta alpha", slop=4, limit=2, offset=at) for at in (0, 2, 4, 6)]
    assert [(page["total_results"], len(page["messages"])) for page in pages] == [(5, 2), (5, 2), (5, 1), (5, 0)]


async def test_matches_are_counted_only_as_far_as_a_page_needs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "COUNTED_HITS_MAX", 2)
    guild = await indexed_guild(world)
    for _ in range(4):
        await guild.send_message(guild.owner, "alpha beta")

    pages = [await search(guild.owner, guild, content="alpha beta", limit=1, offset=at) for at in range(5)]
    assert [(page["total_results"], len(page["messages"])) for page in pages] == [
        (2, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (4, 0),
    ]
    assert (await search(guild.owner, guild, content="alpha", limit=1))["total_results"] == 2


@pytest.mark.parametrize("limit", [3, 1000])
async def test_both_stores_match_the_reference_function(database: Database, limit: int) -> None:
    """The reference is `words.is_near`; texts of few letters contain many adjacent and overlapping matches."""
    rng = random.Random(7)
    texts = {
        id: [rng.choice(letters) for _ in range(rng.randint(1, 12))]
        for letters in ("abcd", "abcdefghij", "東京都a", "日本ab")
        for id in range(1000 * len(letters) + ord(letters[0]), 1000 * len(letters) + ord(letters[0]) + 60)
    }
    new = [Document(id, GUILD, 1, " ".join(text), "c1") for id, text in texts.items()]
    await database.write(lambda tx: store.replace_documents(tx, list(texts), new))

    for text in (
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
            query = Query(guild_id=GUILD, phrases=parse_query(text), slop=slop, required_groups=(("c1", "c2"),))
            matches = [id for id in sorted(texts) if is_near(texts[id], query.phrases, slop)]
            for newest_first in (False, True):
                found = await database.read(
                    partial(store.find_message_ids, query=query, newest_first=newest_first, limit=limit)
                )
                expected = matches[::-1] if newest_first else matches
                assert found == expected[:limit], (text, slop, newest_first)
