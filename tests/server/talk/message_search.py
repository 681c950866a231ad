"""Functions that build the search index of a guild, and search messages of guilds and private channels."""

from typing import Any
from urllib.parse import quote

from tests.world import Actor, Guild, World


def search_path(guild: Guild, **query: Any) -> str:
    """Return the path of a message search with its query."""
    query_pairs = [
        (key, item) for key, value in query.items() for item in (value if isinstance(value, list) else [value])
    ]
    return f"/guilds/{guild.id}/messages/search?" + "&".join(f"{key}={quote(str(value))}" for key, value in query_pairs)


async def search_messages(actor: Actor, guild: Guild, **query: Any) -> Any:
    """Search messages, assert that the request succeeds and return the decoded body."""
    return (await actor.get(search_path(guild, **query))).ok()


async def create_indexed_guild(world: World, *members: Actor) -> Guild:
    """Create a guild and build its search index."""
    guild = await world.guild(None, *members)
    await build_index(world, guild)
    return guild


async def build_index(world: World, guild: Guild) -> None:
    """Build the index of a guild; the first search enqueues the job that builds it."""
    (await guild.owner.get(search_path(guild))).rejected(202, 110000)
    await world.run_due_jobs()


def private_search_path(private_id: object, /, **query: Any) -> str:
    """Return the path of a message search in a private channel with its query."""
    return f"/channels/{private_id}/messages/search?" + "&".join(
        f"{key}={quote(str(value))}" for key, value in query.items()
    )


async def search_private(actor: Actor, private_id: object, /, **query: Any) -> list[str]:
    """Return the contents of the messages that a search in a private channel finds."""
    results = (await actor.get(private_search_path(private_id, **query))).ok()
    return [message["content"] for (message,) in results["messages"]]
