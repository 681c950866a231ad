"""Changes of the tags of forum posts."""

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ChannelFlags
from tests.world import World


async def test_the_creator_of_a_post_changes_its_tags(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel(
        "ideas",
        type=ChannelType.GUILD_FORUM,
        available_tags=[{"name": "bug"}, {"name": "idea"}, {"name": "official", "moderated": True}],
        flags=int(ChannelFlags.REQUIRE_TAG),
    )
    bug_tag_id, idea_tag_id, official_tag_id = [
        tag["id"] for tag in (await guild.get_channel(forum_id))["available_tags"]
    ]
    bob, carol = await guild.member(), await guild.member()
    body = {"name": "lanterns", "message": {"content": "hi"}, "applied_tags": [bug_tag_id]}
    post_id = (await bob.post(f"/channels/{forum_id}/threads", json=body)).ok()["id"]
    session = await (await world.bot(guild)).connect()

    assert (await bob.patch(f"/channels/{post_id}", json={"applied_tags": [idea_tag_id]})).ok()["applied_tags"] == [
        idea_tag_id
    ]

    assert (await session.next("THREAD_UPDATE"))["applied_tags"] == [idea_tag_id]
    (await bob.patch(f"/channels/{post_id}", json={"applied_tags": [idea_tag_id, official_tag_id]})).rejected(
        403, 50013
    )
    (await bob.patch(f"/channels/{post_id}", json={"applied_tags": []})).rejected(400, 40067)
    (await bob.patch(f"/channels/{post_id}", json={"applied_tags": [bug_tag_id], "rate_limit_per_user": 5})).rejected(
        403, 50013
    )
    (await carol.patch(f"/channels/{post_id}", json={"applied_tags": [bug_tag_id]})).rejected(403, 50013)
    (await guild.owner.patch(f"/channels/{post_id}", json={"applied_tags": [idea_tag_id, official_tag_id]})).ok()
    # Moderated tags stay when the creator changes the others.
    (await bob.patch(f"/channels/{post_id}", json={"applied_tags": [bug_tag_id, official_tag_id]})).ok()
    (await guild.owner.patch(f"/channels/{post_id}", json={"locked": True})).ok()
    (await bob.patch(f"/channels/{post_id}", json={"applied_tags": [idea_tag_id, official_tag_id]})).rejected(
        400, 160005
    )
