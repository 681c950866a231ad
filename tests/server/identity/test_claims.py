"""Imported guilds: claims of their placeholder accounts, and their features."""

from pathlib import Path
from typing import Any

import pytest

from hubbub.server.identity import imports
from hubbub.server.transfer.importer import Importer
from hubbub.server.transfer.sources import ArchiveSource
from tests.pages import Browser
from tests.server.archives import export_archive, fill_guild
from tests.world import Actor, Guild, World

pytestmark = pytest.mark.usefixtures("accented_pages")


async def import_guild(world: World, tmp_path: Path) -> tuple[Actor, int, dict[str, str]]:
    """Export a guild with content and import it; return the new owner, the new ID, and the claim codes by username."""
    guild: Guild = await world.guild()
    await fill_guild(world, guild)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")
    import_summary = await Importer(world.app, ArchiveSource(tmp_path / "guild.zip"), owner.id).run()
    claims = await world.write(lambda call: list(imports.claims.list_open(call.tx, import_summary.guild_id)))
    return owner, import_summary.guild_id, {claim.username: claim.code for claim in claims}


async def list_messages(owner: Actor, guild_id: int) -> list[Any]:
    """Return the messages of #general and of #paintings."""
    messages: list[Any] = []
    for channel in (await owner.get(f"/guilds/{guild_id}/channels")).ok():
        if channel["name"] in ("general", "paintings"):
            messages += (await owner.get(f"/channels/{channel['id']}/messages?limit=100")).ok()
    return messages


async def find_claim(world: World, guild_id: int) -> tuple[int, str]:
    """Return ID and code of the placeholder account with the nickname Bobby."""
    rows = await world.write(
        lambda call: [
            claim
            for claim in imports.claims.list_open(call.tx, guild_id)
            if call.tx.value("SELECT nick FROM members WHERE user_id = ?", claim.user_id) == "Bobby"
        ]
    )
    return rows[0].user_id, rows[0].code


async def test_a_claim_gives_a_user_the_membership_and_the_messages(world: World, tmp_path: Path) -> None:
    owner, guild_id, _ = await import_guild(world, tmp_path)
    placeholder_id, code = await find_claim(world, guild_id)
    bob = await world.user("realbob")
    session = await bob.connect()

    claimed_placeholder = (
        await bob.post("/users/@me/placeholders", json={"code": code.lower().replace("-", " ")})
    ).ok()

    assert (claimed_placeholder["guild_id"], claimed_placeholder["user_id"]) == (str(guild_id), str(placeholder_id))
    assert (await session.next("GUILD_CREATE"))["id"] == str(guild_id)
    member = (await owner.get(f"/guilds/{guild_id}/members/{bob.id}")).ok()
    assert (member["nick"], len(member["roles"])) == ("Bobby", 1)
    (await owner.get(f"/guilds/{guild_id}/members/{placeholder_id}")).rejected(404, 10007)
    await world.run_due_jobs()
    messages = await list_messages(owner, guild_id)
    authors = {message["author"]["id"] for message in messages}
    assert str(bob.id) in authors
    assert str(placeholder_id) not in authors
    (welcome,) = (message for message in messages if message["content"].startswith("Welcome"))
    assert f"<@{bob.id}>" in welcome["content"]
    assert [mention["id"] for mention in welcome["mentions"]] == [str(bob.id)]
    path = f"/channels/{welcome['channel_id']}/messages/{welcome['id']}/reactions/%F0%9F%91%8D"
    assert [user["id"] for user in (await owner.get(path)).ok()] == [str(bob.id)]
    assert str(placeholder_id) not in str(messages)


async def test_a_claim_of_many_messages_runs_in_batches(world: World, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(imports.claims, "REASSIGN_BATCH_SIZE", 1)
    owner, guild_id, _ = await import_guild(world, tmp_path)
    placeholder_id, code = await find_claim(world, guild_id)
    bob = await world.user("realbob")

    (await bob.post("/users/@me/placeholders", json={"code": code})).ok()
    await world.run_due_jobs()

    assert str(placeholder_id) not in str(await list_messages(owner, guild_id))


async def test_a_code_works_once_and_only_if_it_is_valid(world: World, tmp_path: Path) -> None:
    _, guild_id, _ = await import_guild(world, tmp_path)
    _, code = await find_claim(world, guild_id)
    bob, eve = await world.user("realbob"), await world.user("eve")

    (await bob.post("/users/@me/placeholders", json={"code": code})).ok()

    second_response = await eve.post("/users/@me/placeholders", json={"code": code})
    assert second_response.errors("code") == ["CLAIM_CODE_USED"]
    error_response = await eve.post("/users/@me/placeholders", json={"code": "AAAAAA-AAAAAA-AAAAAA-AAAAAA"})
    assert error_response.errors("code") == ["CLAIM_CODE_INVALID"]
    assert (await eve.post("/users/@me/placeholders", json={"code": ""})).errors("code") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await eve.get("/users/@me/guilds")).ok() == []


async def test_a_banned_user_cannot_claim(world: World, tmp_path: Path) -> None:
    owner, guild_id, _ = await import_guild(world, tmp_path)
    _, code = await find_claim(world, guild_id)
    bob = await world.user("realbob")
    (await owner.put(f"/guilds/{guild_id}/bans/{bob.id}", json={})).ok()

    (await bob.post("/users/@me/placeholders", json={"code": code})).rejected(403, 40007)


async def test_administrators_list_unclaimed_accounts_in_pages(world: World, tmp_path: Path) -> None:
    owner, guild_id, codes = await import_guild(world, tmp_path)
    path = f"/guilds/{guild_id}/placeholders"

    placeholders = (await owner.get(path)).ok()

    assert {account["username"]: account["code"] for account in placeholders} == codes
    first_page = (await owner.get(path, params={"limit": "1"})).ok()
    second_page = (await owner.get(path, params={"after": first_page[0]["user_id"]})).ok()
    assert first_page + second_page == placeholders
    _, code = await find_claim(world, guild_id)
    bob = await world.user("realbob")
    (await bob.get(path)).rejected(403, 50001)
    (await bob.post("/users/@me/placeholders", json={"code": code})).ok()
    (await bob.get(path)).rejected(403, 50013)
    assert code not in str((await owner.get(path)).ok())


async def test_a_user_claims_an_account_on_the_page_of_a_link(world: World, tmp_path: Path) -> None:
    owner, guild_id, _ = await import_guild(world, tmp_path)
    _, code = await find_claim(world, guild_id)
    bob = await world.user("realbob")
    browser = Browser(world)
    browser.sign_in_as(bob)

    page = await browser.submit(await browser.open("/claim"), "Claim account", code="AAAA")
    assert "The code is not valid." in page.text
    page = await browser.open(f"/claim/{code}")
    page = await browser.submit(page, "Claim account")

    assert "You claimed the account" in page.text
    assert (await owner.get(f"/guilds/{guild_id}/members/{bob.id}")).ok()["nick"] == "Bobby"


async def test_an_imported_guild_has_no_features_that_operators_grant(world: World, tmp_path: Path) -> None:
    guild = await world.guild()
    await world.grant_to_guild(guild, "VERIFIED", "PARTNERED", "INVITES_DISABLED", tier=3)
    await export_archive(world, guild.id, tmp_path / "guild.zip")
    owner = await world.user("mover")

    import_summary = await Importer(world.app, ArchiveSource(tmp_path / "guild.zip"), owner.id).run()

    imported_guild = (await owner.get(f"/guilds/{import_summary.guild_id}")).ok()
    assert (imported_guild["features"], imported_guild["premium_tier"]) == (["INVITES_DISABLED"], 0)
