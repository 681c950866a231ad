"""The default storage quotas of the configuration for accounts, guilds and webhooks."""

import aiohttp
import msgspec
import pytest

from hubbub.server.core.config import Config
from hubbub.server.core.config_sections import StorageConfig
from tests.server.identity.operators import create_operator
from tests.server.talk.test_file_administration import get_storage, send_sized_file, set_quota
from tests.world import World


@pytest.fixture
def world_config(store_config: Config) -> Config:
    storage = StorageConfig(account_bytes_max=2048, guild_bytes_max=3072)
    return msgspec.structs.replace(store_config, storage=storage)


async def test_the_defaults_apply_to_accounts_and_guilds(world: World) -> None:
    ann = await create_operator(world, "ann")
    guild = await world.guild()
    bob = await guild.member()

    (await send_sized_file(guild.owner, guild.general, 2049)).rejected(413, 40005)
    (await send_sized_file(guild.owner, guild.general, 2048)).ok()
    response = await send_sized_file(bob, guild.general, 1025)
    assert "The files of this guild" in response.rejected(413, 40005)["message"]
    assert await get_storage(ann, "users", bob.id) == {
        "file_count": 0,
        "bytes": 0,
        "quota_bytes": 2048,
        "has_own_quota": False,
    }

    await set_quota(ann, "guilds", guild.id, 10_000)
    (await send_sized_file(bob, guild.general, 1025)).ok()


async def test_files_of_webhooks_count_only_toward_the_quota_of_their_guild(world: World) -> None:
    guild = await world.guild()
    webhook = (await guild.owner.post(f"/channels/{guild.general}/webhooks", json={"name": "news"})).ok()

    async def execute_webhook(size: int) -> int:
        form = aiohttp.FormData()
        form.add_field("files[0]", b"x" * size, filename="a.txt", content_type="text/plain")
        path = f"/webhooks/{webhook['id']}/{webhook['token']}"
        return (await world.request("POST", path, data=form)).status

    assert await execute_webhook(2500) in (200, 204)
    assert await execute_webhook(1000) == 413
