"""Changes of the tags of forum posts."""

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ChannelFlags
from tests.world import World


async def test_the_creator_of_a_post_changes_its_tags(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel(
        "ideas",
        type=ChannelType.GUILD_FORUM,
        available_tags=[{"name": "bug"}, {"name": "idea"}, {"name": "official", "moderated": True}],
        flags=int(ChannelFlags.REQUIRE_TAG),
    )
    bug, idea, official = [tag["id"] for tag in (await guild.get_channel(forum))["available_tags"]]
    bob, carol = await guild.member(), await guild.member()
    body = {"name": "lanterns", "message": {"content": "hi"}, "applied_tags": [bug]}
    post = (await bob.post(f"/channels/{forum}/threads", json=body)).ok()["id"]
    session = await (await world.bot(guild)).connect()

    assert (await bob.patch(f"/channels/{post}", json={"applied_tags": [idea]})).ok()["applied_tags"] == [idea]

    assert (await session.next("THREAD_UPDATE"))["applied_tags"] == [idea]
    (await bob.patch(f"/channels/{post}", json={"applied_tags": [idea, official]})).rejected(403, 50013)
    (await bob.patch(f"/channels/{post}", json={"applied_tags": []})).rejected(400, 40067)
    (await bob.patch(f"/channels/{post}", json={"applied_tags": [bug], "rate_limit_per_user": 5})).rejected(403, 50013)
    (await carol.patch(f"/channels/{post}", json={"applied_tags": [bug]})).rejected(403, 50013)
    (await guild.owner.patch(f"/channels/{post}", json={"applied_tags": [idea, official]})).ok()
    # Moderated tags stay when the creator changes the others.
    (await bob.patch(f"/channels/{post}", json={"applied_tags": [bug, official]})).ok()
    (await guild.owner.patch(f"/channels/{post}", json={"locked": True})).ok()
    (await bob.patch(f"/channels/{post}", json={"applied_tags": [idea, official]})).rejected(400, 160005)
