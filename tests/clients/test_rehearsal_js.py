"""The JavaScript rehearsal package: its generated files, its types, its tests, and its examples."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import hubbub
from tests.clients.discord_js_bot import NODE, requires_package
from tests.rehearsal import start_rehearsal
from tests.server.test_cli import running_server
from tests.server.test_control_traffic import fetch_details, general_channel_path, record_traffic
from tools import control_client

PACKAGE: Final = Path(__file__).parents[2] / "packages" / "rehearsal-js"
BINARIES: Final = PACKAGE / "node_modules" / ".bin"
TIMEOUT_SECONDS: Final = 240


def requires_program(name: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where a program of the package's development dependencies is not installed."""
    is_installed = NODE is not None and (BINARIES / name).exists()
    return pytest.mark.skipif(not is_installed, reason=f"{name} is not installed: make client-deps")


def run_program(*command: str, folder: Path = PACKAGE, **variables: str) -> None:
    """Run a program that starts servers from this source tree, and assert that it succeeds."""
    environment = (
        os.environ
        | variables
        | {
            "REHEARSAL_COMMAND": f"{sys.executable} -m hubbub.server.cli",
            "PYTHONPATH": str(Path(hubbub.__file__).parents[1]),
        }
    )
    process = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr


def link_package(folder: Path) -> None:
    """Make the package importable in a folder."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "hubbub-rehearsal").symlink_to(PACKAGE)


@pytest.mark.parametrize("name", control_client.generate_files())
def test_the_generated_file_is_up_to_date(name: str) -> None:
    text = (control_client.FOLDER / name).read_text()
    assert text == control_client.generate_files()[name], "run make generate"


def test_the_package_has_no_dependencies() -> None:
    assert '"dependencies"' not in (PACKAGE / "package.json").read_text()


@requires_program("tsc")
def test_the_package_has_valid_types() -> None:
    run_program(str(BINARIES / "tsc"), "--project", ".")


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
@pytest.mark.parametrize("name", sorted(path.name for path in PACKAGE.glob("test/*.test.mjs")))
def test_the_tests_of_the_package_pass(name: str) -> None:
    run_program("node", "--test", f"test/{name}")


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_the_first_test_of_the_readme_passes(tmp_path: Path) -> None:
    [block] = re.findall(r"```js\n// hello\.test\.mjs\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    (tmp_path / "hello.test.mjs").write_text(block)
    link_package(tmp_path)
    run_program("node", "--test", "hello.test.mjs", folder=tmp_path)


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
async def test_javascript_copies_of_traffic_pass(tmp_path: Path) -> None:
    summary = "POST /channels/{channel_id}/messages"
    async with start_rehearsal() as rehearsal:
        path = general_channel_path(rehearsal)
        alice, bot = rehearsal.actor("alice"), rehearsal.actor("demo-bot")
        await rehearsal.actor("bob").connect()
        await record_traffic(rehearsal)

        async def fetch_copy(summary: str) -> str:
            text: str = (await fetch_details(rehearsal, summary))["copies"]["javascript"]
            return text

        (await alice.post(path, json={"content": "hello"})).ok()
        copies = {"person": await fetch_copy(summary), "event": await fetch_copy("MESSAGE_CREATE")}
        (await alice.post(path, json={"content": ""})).rejected(400, 50006)
        copies["rejection"] = await fetch_copy(summary)
        (await bot.post(path, json={"content": "from a bot"})).ok()
        copies["bot"] = await fetch_copy(summary)

    action = 'await platform.person("alice").say("hello", { channel: "general" });'
    comment = "// Perform the action that causes the event here."
    assert comment in copies["event"]
    copies["event"] = copies["event"].replace(comment, action)
    for name, text in copies.items():
        (tmp_path / f"{name}.test.mjs").write_text(text)
    link_package(tmp_path)
    await asyncio.to_thread(run_program, "node", "--test", *(f"{name}.test.mjs" for name in copies), folder=tmp_path)


@requires_program("jest")
def test_the_example_for_node_test_passes() -> None:
    run_program("node", "--test", "examples/node-test/bot.test.mjs")


@requires_program("vitest")
def test_the_example_for_vitest_passes() -> None:
    run_program(str(BINARIES / "vitest"), "run", folder=PACKAGE / "examples" / "vitest")


@requires_program("jest")
def test_the_example_for_jest_passes() -> None:
    run_program(str(BINARIES / "jest"), folder=PACKAGE / "examples" / "jest", NODE_OPTIONS="--experimental-vm-modules")


LIBRARY_FOLDER: Final = Path(__file__).parent / "js"
SMALL_BOT_WORLD: Final = Path(__file__).parents[1] / "testing" / "project_files" / "small_bot.toml"


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=requires_package(name)) for name in ("discord.js", "oceanic.js")]
)
def test_the_small_bot_of_a_library(library: str) -> None:
    variables = {"BOT_LIBRARY": library, "SMALL_BOT_WORLD": str(SMALL_BOT_WORLD)}
    run_program("node", "--test", "small_bot.test.mjs", folder=LIBRARY_FOLDER, **variables)


@requires_package("eris")
def test_the_small_bot_of_eris_over_tls(tmp_path: Path) -> None:
    with running_server(tmp_path, "dev", "--tls", "--world", str(SMALL_BOT_WORLD)) as (_, ready):
        variables = {
            "BOT_LIBRARY": "eris",
            "REHEARSAL_READY_FILE": str(next(tmp_path.glob("ready-*.json"))),
            "NODE_EXTRA_CA_CERTS": ready["authority"],
        }
        run_program("node", "--test", "small_bot.test.mjs", folder=LIBRARY_FOLDER, **variables)
