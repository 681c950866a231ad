"""Static files of the pages and the chat client: compression, caching and the package of modules."""

import gzip
import re

import pytest

from hubbub.server.transports.web import start_package, static_files
from hubbub.server.transports.zstd import zstd
from tests.world import World

MAIN_PATH = static_files.ClientFiles().source_url(static_files.MAIN_MODULE)
MAIN_BODY = (static_files.STATIC_FOLDER / "app" / static_files.MAIN_MODULE).read_bytes()
FIRST_LOAD_BYTES_MAX = 200_000
"""Limit of the compressed files that a browser loads before it shows a channel."""


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


def test_only_modules_that_the_client_needs_to_start_are_in_the_package() -> None:
    names = set(static_files.ClientFiles().list_start_modules())

    assert {"main.js", "shell.js", "network/api.js", "generated/enums.js"} <= names
    assert not names & {"bootstrap.js", "settings/guild_settings.js", "voice/call.js", static_files.FRAME_WORKER}
    folders = {name.partition("/")[0] for name in names}
    assert not folders & {"account", "finding", "rehearsal", "settings", "third_party"}


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
async def test_the_files_of_the_first_load_are_small(world: World, encoding: str) -> None:
    nora = await world.user("nora")
    headers = {"Cookie": f"hubbub_session={nora.token}", "Accept-Encoding": encoding}
    async with world.client.get(f"{world.url}/app", headers=headers, auto_decompress=False) as response:
        page = await response.read()
    paths = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css|svg))"', page.decode())
    sizes = {"/app": len(page)}
    for path in paths:
        async with world.client.get(world.url + path, headers=headers, auto_decompress=False) as response:
            sizes[path] = len(await response.read())

    assert len(sizes) <= 8
    assert sum(sizes.values()) <= FIRST_LOAD_BYTES_MAX, sizes


SOURCES = {
    "main.js": 'import { greet, NAME as name } from "./ui/greeting.js";\nimport "./ui/side_effect.js";\ngreet(name);\n',
    "ui/greeting.js": (
        'import { shout } from "./voice.js";\n\nexport { shout as cry } from "./voice.js";\n'
        "export const { A: NAME, B } = VALUES;\nexport async function greet(name) {\n  shout(name);\n"
        '  await import("../later.js");\n}\n'
    ),
    "ui/voice.js": "export const shout = text => console.log(text);\nconst VALUES = await load();\n",
    "ui/side_effect.js": "console.log(1);\n",
    "later.js": 'import { greet } from "./ui/greeting.js";\nimport { other } from "./other.js";\n',
    "other.js": "export const other = 1;\n",
}


def test_a_package_runs_modules_in_the_order_of_their_imports() -> None:
    files = start_package.build_package(SOURCES, "main.js")

    package = files["start.js"]
    order = [line.removeprefix("// ") for line in package.splitlines() if line.startswith("// ")]
    assert order == ["ui/voice.js", "ui/greeting.js", "ui/side_effect.js", "main.js"]
    assert "const $0 = await (async () => {" in package
    assert "const { greet, NAME: name } = $1;" in package
    assert "return { NAME, B, greet, cry: $0.shout };" in package
    assert 'await import("./later.js");' in package
    assert package.endswith("export { $_shout as shout, $_NAME as NAME, $_B as B, $_greet as greet, $_cry as cry };\n")


def test_modules_outside_of_a_package_import_from_it() -> None:
    files = start_package.build_package(SOURCES, "main.js")

    assert files["later.js"] == 'import { greet } from "./start.js";\nimport { other } from "./other.js";\n'
    assert files["ui/greeting.js"] == 'export { NAME, B, greet, cry } from "../start.js";\n'
    assert files["other.js"] == SOURCES["other.js"]


@pytest.mark.parametrize(
    ("module", "text", "problem"),
    [
        ("ui/voice.js", 'import { greet } from "./greeting.js";\nexport const shout = 1;\n', "import each other"),
        ("ui/voice.js", "export const shout = import.meta.url;\n", "cannot be packaged"),
        ("ui/voice.js", "export default 1;\n", "cannot be packaged"),
        ("ui/voice.js", "export const shout = 1;\nexport const greet = 2;\n", "another module exports too"),
    ],
)
def test_modules_that_cannot_be_packaged_are_rejected(module: str, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        start_package.build_package(SOURCES | {module: text}, "main.js")
