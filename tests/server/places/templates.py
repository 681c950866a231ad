"""Requests for guild templates, shared by the tests of the API and of the web pages."""

from typing import Any

from tests.world import Guild


async def create_template(guild: Guild, **body: Any) -> Any:
    """Create a template of a guild as its owner and return it."""
    return (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "shape", **body})).ok()
