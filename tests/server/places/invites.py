"""Requests for invites and member roles, shared by the tests of the API and of the web pages."""

from typing import Any

import aiohttp

from tests.world import Actor, Guild


async def create_invite(actor: Actor, channel_id: int, **body: Any) -> Any:
    """Create an invite to a channel and return it; `unique` is true unless `body` contains it."""
    return (await actor.post(f"/channels/{channel_id}/invites", json={"unique": True, **body})).ok()


def csv_form(text: str | bytes, **fields: str) -> aiohttp.FormData:
    """Return a multipart body with a CSV file of target users and these form fields."""
    form = aiohttp.FormData()
    for name, value in fields.items():
        form.add_field(name, value)
    file_bytes = text.encode() if isinstance(text, str) else text
    form.add_field("target_users_file", file_bytes, filename="users.csv", content_type="text/csv")
    return form


async def create_targeted_invite(actor: Actor, guild: Guild, *users: Actor, **fields: str) -> str:
    """Create an invite for target users and return its code."""
    csv_text = "\n".join(["user_id", *(str(user.id) for user in users)])
    invite = (await actor.post(f"/channels/{guild.general}/invites", data=csv_form(csv_text, **fields))).ok()
    return str(invite["code"])


async def list_member_roles(actor: Actor, guild: Guild) -> list[str]:
    """Return the role IDs of a member."""
    roles: list[str] = (await guild.owner.get(f"/guilds/{guild.id}/members/{actor.id}")).ok()["roles"]
    return roles
