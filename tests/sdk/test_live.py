"""Handles see what others change, without asking anew."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hubbub.sdk import LinkedChannel
from tests.sdk.players import Heard, Player, game, player
from tests.world import Guild, World


class Linked:
    """A lobby that is linked to a channel, as the one sees it who did not link it."""

    def __init__(self, world: World, mary: Player, zoe: Player, guild: Guild, lobby_id: int, updated: Heard) -> None:
        self.world, self.mary, self.zoe, self.guild = world, mary, zoe, guild
        self.lobby_id = lobby_id
        self.updated = updated

    @property
    def seen(self) -> LinkedChannel | None:
        lobby = self.zoe.client.get_lobby_handle(self.lobby_id)
        assert lobby is not None
        return lobby.linked_channel


@asynccontextmanager
async def linked(world: World) -> AsyncIterator[Linked]:
    application = await game(world)
    mary, zoe = await player(world, application, "mary"), await player(world, application, "zoe")
    guild = await world.guild(mary.person)
    assert application.bot is not None
    body = {"members": [{"id": str(mary.id), "flags": 1}, {"id": str(zoe.id)}]}
    created, updated = [each.hears("lobby_created") for each in (mary, zoe)], zoe.hears("lobby_updated")
    lobby_id = int((await application.bot.post("/lobbies", json=body)).ok()["id"])
    for heard in created:
        await heard.next()
    house = Linked(world, mary, zoe, guild, lobby_id, updated)
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    await updated.next(lambda _: house.seen is not None)
    yield house
    await mary.client.close()
    await zoe.client.close()


async def test_another_member_unlinks_the_channel(world: World) -> None:
    async with linked(world) as house:
        await house.mary.client.unlink_channel_from_lobby(house.lobby_id)

        await house.updated.next(lambda _: house.seen is None)


async def test_the_channel_is_unlinked_from_its_own_side(world: World) -> None:
    async with linked(world) as house:
        (await house.mary.person.delete(f"/channels/{house.guild.general}/linked-lobby")).ok()

        await house.updated.next(lambda _: house.seen is None)


async def test_the_linked_channel_is_renamed_and_deleted(world: World) -> None:
    async with linked(world) as house:
        (await house.mary.person.patch(f"/channels/{house.guild.general}", json={"name": "pond"})).ok()

        await house.updated.next(lambda _: house.seen is not None and house.seen.name == "pond")

        (await house.mary.person.delete(f"/channels/{house.guild.general}")).ok()

        await house.updated.next(lambda _: house.seen is None)
