"""Static files of the pages and the chat client: compression, caching and preloaded modules."""

import gzip
import re

import pytest

from hubbub.server.transports.web import static_files
from hubbub.server.transports.zstd import zstd
from tests.world import World

MAIN_PATH = static_files.ClientFiles()(static_files.MAIN)
MAIN_BODY = (static_files.STATIC_FOLDER / "app" / static_files.MAIN).read_bytes()


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate, br", "gzip"),
        ("gzip;q=0, identity", None),
        ("ZSTD ; q=0.5", "zstd"),
        ("", None),
    ],
)
async def test_a_file_has_the_best_encoding_that_the_client_accepts(
    world: World, accepted: str, encoding: str | None
) -> None:
    async with world.client.get(
        world.url + MAIN_PATH, headers={"Accept-Encoding": accepted}, auto_decompress=False
    ) as response:
        body = await response.read()

    assert response.headers.get("Content-Encoding") == encoding
    assert response.headers["Vary"] == "Accept-Encoding"
    decoded = {"zstd": zstd.decompress, "gzip": gzip.decompress, None: bytes}[encoding](body)
    assert decoded == MAIN_BODY


async def test_a_cached_file_is_revalidated_by_its_encoding(world: World) -> None:
    async def fetch(accepted: str, etag: str = "") -> tuple[int, str]:
        headers = {"Accept-Encoding": accepted, "If-None-Match": etag}
        async with world.client.get(world.url + MAIN_PATH, headers=headers, auto_decompress=False) as response:
            return response.status, response.headers["ETag"]

    _, gzip_etag = await fetch("gzip")

    assert await fetch("gzip", gzip_etag) == (304, gzip_etag)
    assert (await fetch("identity", gzip_etag))[0] == 200


def test_only_modules_that_the_client_needs_to_start_are_preloaded() -> None:
    files = static_files.ClientFiles()
    folder = MAIN_PATH.rpartition("/")[0]
    names = {url.removeprefix(f"{folder}/") for url in files.scripts}

    assert {"shell.js", "network/api.js", "generated/enums.js"} <= names
    assert not names & {"main.js", "bootstrap.js", "settings/guild_settings.js", static_files.FRAME_WORKER}
    for name in names:
        text = (static_files.STATIC_FOLDER / "app" / name).read_text()
        assert not re.search(r"^import .*guild_settings", text, re.MULTILINE), name
