"""How large the files of answers may be: as large as the app was told, on every route, and not a byte more."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.enums import PremiumType
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, HttpConfig
from tests.fixtures.validator import Watch
from tests.server.resources.test_interactions import Heard, Stage
from tests.world import NOW_MS, Answer, World

KIB = 1 << 10
PREMIUM = [PremiumType.NONE, PremiumType.TIER_1, PremiumType.TIER_2]
HTTP = HttpConfig(max_body_bytes=16 * KIB, max_upload_bytes=64 * KIB, max_file_bytes=10 * KIB)
"""A door for which the limits of those who pay are far too large."""


async def staged(world: World, premium: PremiumType) -> Stage:
    person = await world.user("asker")
    guild = await world.guild(None, person)
    made = Stage(world, guild, person, await world.bot(guild, name="answerer"))
    made.app = await made.bot.connect()
    if premium:
        await world.give_premium(person, premium)
    return made


@pytest.fixture
async def narrow_world(store_config: Config, watch: Watch) -> AsyncIterator[World]:
    config = msgspec.structs.replace(store_config, http=HTTP)
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


def file(size: int, payload: str = "{}") -> aiohttp.FormData:
    """A body with a file of so many bytes."""
    form = aiohttp.FormData()
    form.add_field("payload_json", payload, content_type="application/json")
    form.add_field("files[0]", b"x" * size, filename="x.bin")
    return form


async def first(heard: Heard, size: int) -> Answer:
    path = f"/interactions/{heard.told['id']}/{heard.told['token']}/callback?with_response=true"
    return await heard.stage.world.request("POST", path, data=file(size, '{"type": 4}'))


@pytest.mark.parametrize(("premium", "mib"), [*zip(PREMIUM, (10, 50, 100), strict=True)])
async def test_an_app_is_told_the_askers_limit_or_that_of_the_door(
    world: World, premium: PremiumType, mib: int
) -> None:
    stage = await staged(world, premium)

    heard = await stage.run(await stage.command())

    assert heard.told["attachment_size_limit"] == mib << 20


@pytest.mark.parametrize("premium", PREMIUM)
async def test_what_is_told_is_taken_and_a_byte_more_is_not(narrow_world: World, premium: PremiumType) -> None:
    stage = await staged(narrow_world, premium)
    command = await stage.command()
    heard, deferred = await stage.run(command), await stage.run(command)
    told: int = heard.told["attachment_size_limit"]
    assert told == (48 * KIB if premium else 10 * KIB)
    (await deferred.call(5)).ok()

    async def both(answer: Any) -> None:
        refused: Answer = await answer(told + 1)
        refused.refused(413, 50045)
        taken: Answer = await answer(told)
        shown = taken.ok()
        shown = shown.get("resource", {}).get("message", shown)
        assert [each["size"] for each in shown["attachments"]] == [told]

    await both(lambda size: first(heard, size))
    await both(lambda size: heard.request("POST", data=file(size)))
    await both(
        lambda size: heard.request("PATCH", "/messages/@original", data=file(size, '{"attachments":[{"id":0}]}'))
    )
    await both(lambda size: deferred.request("PATCH", "/messages/@original", data=file(size)))


async def test_what_the_asker_has_is_not_the_bots_elsewhere(narrow_world: World) -> None:
    stage = await staged(narrow_world, PremiumType.TIER_2)
    path = f"/channels/{stage.channel}/messages"

    (await stage.bot.post(path, data=file(10 * KIB + 1))).refused(413, 50045)
    (await stage.person.post(path, data=file(48 * KIB))).ok()
    (await stage.person.post(path, data=file(48 * KIB + 1))).refused(413, 50045)
