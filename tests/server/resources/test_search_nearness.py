"""Words near each other: both stores find the same, and what they count are hits."""

import random
from functools import partial

import pytest

from hubbub.protocol.resources import search as wire
from hubbub.server.core.store import Database
from hubbub.server.resources.search import found, store
from hubbub.server.resources.search.documents import Document
from hubbub.server.resources.search.store import Query
from hubbub.server.resources.search.words import near, units
from tests.server.resources.test_search import indexed, search
from tests.world import World

GUILD = 1 << 40
FAR = "alpha one two three four beta"


async def test_a_near_hit_is_found_behind_any_number_of_far_ones(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SEARCH_REACH", 5)
    guild = await indexed(world)
    for text in ("alpha beta", *[FAR] * 8):
        await guild.say(guild.owner, text)

    for order in ("asc", "desc"):
        for sort in ("timestamp", "relevance"):
            page = await search(guild.owner, guild, content="alpha beta", sort_order=order, sort_by=sort)
            assert (page["total_results"], len(page["messages"])) == (1, 1)
    pages = [await search(guild.owner, guild, content="beta alpha", slop=4, limit=2, offset=at) for at in (0, 2, 4, 6)]
    assert [(page["total_results"], len(page["messages"])) for page in pages] == [(5, 2), (5, 2), (5, 1), (5, 0)]


async def test_hits_are_counted_as_far_as_a_page_needs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "COUNTED", 2)
    guild = await indexed(world)
    for _ in range(4):
        await guild.say(guild.owner, "alpha beta")

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
async def test_both_stores_find_what_the_rule_of_nearness_says(database: Database, limit: int) -> None:
    """The rule is `words.near`; a few letters make many neighbours, and runs that overlap."""
    chance = random.Random(7)
    said = {
        id: [chance.choice(letters) for _ in range(chance.randint(1, 12))]
        for letters in ("abcd", "abcdefghij", "東京都a", "日本ab")
        for id in range(1000 * len(letters) + ord(letters[0]), 1000 * len(letters) + ord(letters[0]) + 60)
    }
    new = [Document(id, GUILD, 1, " ".join(text), "c1") for id, text in said.items()]
    await database.write(lambda tx: store.replace(tx, list(said), new))

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
            query = Query(guild_id=GUILD, units=units(text), slop=slop, every=(("c1", "c2"),))
            hits = [id for id in sorted(said) if near(said[id], query.units, slop)]
            for newest_first in (False, True):
                found = await database.read(partial(store.find, query=query, newest_first=newest_first, limit=limit))
                expected = hits[::-1] if newest_first else hits
                assert found == expected[:limit], (text, slop, newest_first)
