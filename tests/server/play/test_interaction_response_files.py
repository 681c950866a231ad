"""The size limit for files in interaction responses, on every route."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.enums import InteractionCallbackType, PremiumType
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, HttpConfig
from tests.fixtures.validator import ResponseMonitor
from tests.server.play.interaction_setup import InteractionSetup, ReceivedInteraction
from tests.world import NOW_MS, ApiResponse, World

KIB = 1 << 10
PREMIUM_TYPES = [PremiumType.NONE, PremiumType.TIER_1, PremiumType.TIER_2]
LOW_HTTP_LIMITS = HttpConfig(body_bytes_max=16 * KIB, upload_bytes_max=64 * KIB, file_bytes_max=10 * KIB)
"""HTTP limits far below the attachment limits of premium users."""


async def create_setup(world: World, premium: PremiumType) -> InteractionSetup:
    """Create a user with this premium type and an app in a guild."""
    user = await world.user("invoker")
    guild = await world.guild(None, user)
    setup = InteractionSetup(world, guild, user, await world.bot(guild, name="responder"))
    setup.app_session = await setup.bot.connect()
    if premium:
        await world.give_premium(user, premium)
    return setup


@pytest.fixture
async def low_limit_world(store_config: Config, response_monitor: ResponseMonitor) -> AsyncIterator[World]:
    """A world with HTTP limits far below the attachment limits of premium users."""
    config = msgspec.structs.replace(store_config, http=LOW_HTTP_LIMITS)
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


def file_form(size: int, payload: str = "{}") -> aiohttp.FormData:
    """Return a multipart body with a file of `size` bytes."""
    form = aiohttp.FormData()
    form.add_field("payload_json", payload, content_type="application/json")
    form.add_field("files[0]", b"x" * size, filename="x.bin")
    return form


async def respond_with_file(interaction: ReceivedInteraction, size: int) -> ApiResponse:
    """Send the initial response, with a file of `size` bytes."""
    path = f"/interactions/{interaction.payload['id']}/{interaction.payload['token']}/callback?with_response=true"
    return await interaction.setup.world.request("POST", path, data=file_form(size, '{"type": 4}'))


@pytest.mark.parametrize(("premium", "mib"), [*zip(PREMIUM_TYPES, (10, 50, 100), strict=True)])
async def test_an_interaction_states_the_users_attachment_size_limit(
    world: World, premium: PremiumType, mib: int
) -> None:
    setup = await create_setup(world, premium)

    interaction = await setup.run_command(await setup.create_command())

    assert interaction.payload["attachment_size_limit"] == mib << 20


@pytest.mark.parametrize("premium", PREMIUM_TYPES)
async def test_files_up_to_the_stated_limit_are_accepted_on_every_route(
    low_limit_world: World, premium: PremiumType
) -> None:
    setup = await create_setup(low_limit_world, premium)
    command = await setup.create_command()
    interaction, deferred_interaction = await setup.run_command(command), await setup.run_command(command)
    limit: int = interaction.payload["attachment_size_limit"]
    assert limit == (48 * KIB if premium else 10 * KIB)
    (await deferred_interaction.respond(InteractionCallbackType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE)).ok()

    async def check_limit(send_file: Any) -> None:
        rejected_response: ApiResponse = await send_file(limit + 1)
        rejected_response.rejected(413, 50045)
        accepted_response: ApiResponse = await send_file(limit)
        message = accepted_response.ok()
        message = message.get("resource", {}).get("message", message)
        assert [attachment["size"] for attachment in message["attachments"]] == [limit]

    await check_limit(lambda size: respond_with_file(interaction, size))
    await check_limit(lambda size: interaction.webhook_request("POST", data=file_form(size)))
    await check_limit(
        lambda size: interaction.webhook_request(
            "PATCH", "/messages/@original", data=file_form(size, '{"attachments":[{"id":0}]}')
        )
    )
    await check_limit(
        lambda size: deferred_interaction.webhook_request("PATCH", "/messages/@original", data=file_form(size))
    )


async def test_the_users_limit_does_not_apply_to_other_messages_of_the_bot(low_limit_world: World) -> None:
    setup = await create_setup(low_limit_world, PremiumType.TIER_2)
    path = f"/channels/{setup.channel_id}/messages"

    (await setup.bot.post(path, data=file_form(10 * KIB + 1))).rejected(413, 50045)
    (await setup.user.post(path, data=file_form(48 * KIB))).ok()
    (await setup.user.post(path, data=file_form(48 * KIB + 1))).rejected(413, 50045)
