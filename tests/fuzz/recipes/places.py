"""Recipes for guilds, join requests, sticker packs, SDK releases and invites."""

from tests.fuzz.platform import Platform
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.world import Actor


@recipe("create_guild")
async def _guild_name(platform: Platform) -> ValidRequest:
    return ValidRequest(await platform.world.user(), body={"name": "Town Square"})


@recipe("create_guild_from_template")
async def _template(platform: Platform) -> ValidRequest:
    guild = await platform.world.guild()
    template = (await guild.owner.post(f"/guilds/{guild.id}/templates", json={"name": "template"})).ok()
    return ValidRequest(await platform.world.user(), {"code": template["code"]}, {"name": "Copy"})


@recipe("delete_guild")
async def _own_guild(platform: Platform) -> ValidRequest:
    guild = await platform.world.guild()
    return ValidRequest(guild.owner, {"guild_id": guild.id})


async def _create_applicant(platform: Platform) -> tuple[Actor, dict[str, object]]:
    """Enable the join form and let a new user join; return the user and the body that submits the form."""
    guild_path = f"/guilds/{platform.guild.id}"
    form = (await platform.owner.patch(f"{guild_path}/member-verification", json={"enabled": True})).ok()
    applicant = await platform.world.user()
    path = f"/channels/{platform.guild.general}/invites"
    code = (await platform.owner.post(path, json={"unique": True})).ok()["code"]
    (await applicant.post(f"/invites/{code}")).ok()
    return applicant, {"version": form["version"], "form_fields": form["form_fields"]}


@recipe("create_guild_join_request")
async def _join_form(platform: Platform) -> ValidRequest:
    applicant, body = await _create_applicant(platform)
    return ValidRequest(applicant, body=body)


@recipe("get_my_guild_join_request", "delete_my_guild_join_request")
async def _join_request(platform: Platform) -> ValidRequest:
    applicant, body = await _create_applicant(platform)
    (await applicant.put(f"/guilds/{platform.guild.id}/requests/@me", json=body)).ok()
    return ValidRequest(applicant)


@recipe("get_sticker")
async def _sticker(platform: Platform) -> ValidRequest:
    pack = (await platform.owner.get("/sticker-packs")).ok()["sticker_packs"][0]
    return ValidRequest(platform.owner, {"sticker_id": pack["stickers"][0]["id"]})


@recipe("get_sticker_pack")
async def _sticker_pack(platform: Platform) -> ValidRequest:
    pack = (await platform.owner.get("/sticker-packs")).ok()["sticker_packs"][0]
    return ValidRequest(platform.owner, {"pack_id": pack["id"]})


@recipe("get_social_sdk_release")
async def _release(platform: Platform) -> ValidRequest:
    listing = (await platform.owner.get("/social-sdk/releases")).ok()
    releases = listing if isinstance(listing, list) else next(iter(listing.values()))
    return ValidRequest(platform.owner, {"version": releases[0]["version"]})


@recipe("accept_invite")
async def _invite(platform: Platform) -> ValidRequest:
    path = f"/channels/{platform.guild.general}/invites"
    code = (await platform.owner.post(path, json={"unique": True})).ok()["code"]
    return ValidRequest(await platform.world.user(), {"code": code}, {})
