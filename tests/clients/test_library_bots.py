"""The same bot with each unmodified client library: commands, components, modals, files, threads, forums, polls, and more.

Each bot is a process. docs/testing.md lists the features that each library supports.
`make client-libraries` installs each Python library in a virtual environment in `.venvs`, because several of them use the same
package name. `make client-deps` installs the JavaScript libraries in `js/node_modules`.
"""

import asyncio
import base64
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from hubbub.protocol.enums import CommandOptionType, ComponentType, InteractionType
from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.backends import ServerTls
from hubbub.server.core.clock import ControlledClock, RealClock
from tests import media
from tests.clients.app_user import AppUser
from tests.clients.client_setup import TIMEOUT_SECONDS, AbortableProxy, ClientSetup
from tests.clients.discord_js_bot import JS_FOLDER, requires_package
from tests.clients.voice_calls import FRAME_COUNT, authority_path, run_voice_bots, sent_frames, sort_frames
from tests.world import NOW_MS, World, small_config

BOTS_FOLDER: Final = Path(__file__).parent / "bots"
VENVS_FOLDER: Final = Path(__file__).parents[2] / ".venvs"

IMAGE: Final = media.png(320, 320)

RESULTS: Final[dict[str, Any]] = {
    "files": ["pixel.png", "one pixel", len(IMAGE)],
    "threads": ["story", True],
    "forums": ["first", "text", ["new"]],
    "polls": ["Lunch?", ["Soup", "Bread"]],
    "stickers": ["wave", ["wave"]],
    "catalog": [["Faces"], True],
    "events": ["Fair", "Park", 1],
    "auto_moderation": ["No fish", ["fish"]],
    "templates": ["Plan", True],
    "commands_registered": ["ask", "greet", "join", "leave", "panel", "sing"],
}
"""Results of the steps of a bot whose library supports all features."""

WITHOUT_AUDIO: Final[dict[str, Any]] = {"commands_registered": ["ask", "greet", "join", "leave", "panel"]}
"""Results that differ from `RESULTS` for a bot that joins calls without audio."""

WITHOUT_CATALOG: Final[dict[str, Any]] = {"catalog": None}
"""Results that differ from `RESULTS` for a bot whose library reads sticker packs and applications without required keys."""

WITHOUT_DESCRIPTION: Final[dict[str, Any]] = {"files": ["pixel.png", len(IMAGE)]}
"""Results that differ from `RESULTS` for a bot whose library cannot send the description of a file."""

EMOJI: Final = "🎉"
"""The emoji of the reaction for which a user gets the role."""

PYTHON_LIBRARIES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "disnake": ("disnake_bot.py", {}),
    # nextcord has no polls.
    "nextcord": ("nextcord_bot.py", {"polls": None} | WITHOUT_AUDIO),
    "py-cord": ("py_cord_bot.py", {"stages": ["Talk", True]}),
    "discord.py-interactions": ("interactions_bot.py", WITHOUT_AUDIO),
}
"""Program of each Python library, and the results that differ (None: no such step), by its name in the package index."""


def interpreter_path(library: str) -> str:
    """Return the path of the Python interpreter in the virtual environment of a library."""
    return str(VENVS_FOLDER / library / "bin" / "python")


class BotProcess:
    """A running bot, which writes a line of JSON for each step and for each warning of its library."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.log: list[str] = []

    async def read_results(self) -> dict[str, Any]:
        """Return the results of all steps; a failed step fails the test."""
        assert self._process.stdout is not None
        results: dict[str, Any] = {}
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while "done" not in results:
                line = await self._process.stdout.readline()
                assert line, f"the bot ended; steps: {results}, log: {self.log}"
                fields = json.loads(line)
                assert "error" not in fields, f"{fields['step']} failed: {fields['error']}"
                if "log" in fields:
                    self.log.append(fields["log"])
                else:
                    results[fields["step"]] = fields["result"]
        del results["done"]
        results.pop("version", None)
        return results

    async def close(self) -> None:
        """End the bot and assert that its library logged no unexpected warning."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        remaining_output = await asyncio.wait_for(self._process.stdout.read(), TIMEOUT_SECONDS)
        await self._process.wait()
        self.log += [json.loads(line).get("log", "") for line in remaining_output.splitlines()]
        unexpected_lines = [line for line in self.log if line and not line.startswith(EXPECTED_LOG_PREFIXES)]
        assert not unexpected_lines, unexpected_lines


EXPECTED_LOG_PREFIXES: Final = (
    # The libraries log these without their optional packages for voice.
    "disnake.client: PyNaCl is not installed",
    "nextcord.client: PyNaCl is not installed",
    "discord.client: PyNaCl is not installed",
    "disnake.voice_client:",
    "discord.voice",
    # py-cord expects one response to its discovery request. The server repeats it while a client does not continue, because
    # discord.py misses a response that arrives before it reads.
    "asyncio: Exception in callback Future.set_result(b'\\x00\\x02",
    # The clock of the tests is ahead of the machine's.
    "Your clock is",
)
"""Prefixes of log lines that show no defect of the server."""


@asynccontextmanager
async def run_program(
    setup: ClientSetup, program: list[str], folder: Path, environment: dict[str, str] | None = None
) -> AsyncIterator[BotProcess]:
    """Run the program of a bot in the setup's guild, and end it on exit."""
    settings = {
        "token": setup.bot.token,
        "api": setup.world.api,
        "cdn": f"{setup.world.url}/cdn",
        "gateway": setup.world.gateway,
        "guild": str(setup.guild.id),
        "channel": str(setup.guild.general),
        "voice": str(setup.guild.channels["General"]),
        "role": str(await create_guest_role(setup)),
        "image": base64.b64encode(IMAGE).decode(),
    }
    process = await asyncio.create_subprocess_exec(
        *program,
        json.dumps(settings),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
        env=os.environ | (environment or {}),
    )
    bot = BotProcess(process)
    try:
        yield bot
    except BaseException:
        process.kill()
        assert process.stdout is not None
        print("Log of the bot:", bot.log, (await process.stdout.read()).decode())
        await process.wait()
        raise
    await bot.close()


async def create_guest_role(setup: ClientSetup) -> int:
    """Create the role that the bot gives."""
    return int((await setup.alice.post(f"/guilds/{setup.guild.id}/roles", json={"name": "guest"})).ok()["id"])


async def use_commands(setup: ClientSetup, bob: AppUser) -> None:
    """Run the commands of a bot as Bob, use its components, submit its modal and react to its message."""
    await bob.load_commands()
    greet_options = [{"type": CommandOptionType.STRING, "name": "name", "value": "Bob"}]
    await bob.run("greet", options=greet_options)
    assert (await bob.next_message())["content"] == "hello Bob"

    await bob.run("panel")
    panel = await bob.next_message()
    # Libraries register the components of a message when the request that sent it has completed, and ignore an earlier click.
    # A second command takes longer than the rest of that request.
    await bob.run("greet", options=greet_options)
    assert (await bob.next_message())["content"] == "hello Bob"
    await bob.use_component(panel, "press")
    assert (await bob.next_update())["content"] == "pressed"
    await bob.use_component(panel, "pick", ComponentType.STRING_SELECT, values=["b"])
    assert (await bob.next_message())["content"] == "picked b"

    path = f"/channels/{setup.guild.general}/messages/{panel['id']}/reactions/{EMOJI}/@me"
    (await setup.bob.put(path)).ok()
    member = await bob.session.next("GUILD_MEMBER_UPDATE")
    roles = {role["id"]: role["name"] for role in (await setup.bob.get(f"/guilds/{setup.guild.id}/roles")).ok()}
    assert (member["user"]["username"], [roles[role_id] for role_id in member["roles"]]) == ("bob", ["guest"])

    await bob.run("ask")
    modal = await bob.session.next("INTERACTION_MODAL_CREATE")
    text = {"type": ComponentType.TEXT_INPUT, "custom_id": "answer", "value": "42"}
    # A text input is in a label, or in an action row as older libraries send it.
    [layout_component] = modal["components"]
    layout_content = {"component": text} if layout_component["type"] == ComponentType.LABEL else {"components": [text]}
    modal_data = {
        "id": modal["id"],
        "custom_id": modal["custom_id"],
        "components": [{"type": layout_component["type"], **layout_content}],
    }
    await bob.interact(InteractionType.MODAL_SUBMIT, modal_data)
    assert (await bob.next_message())["content"] == "answer: 42"


async def use_call(setup: ClientSetup, bob: AppUser, *, has_audio: bool) -> None:
    """Let a bot join and leave a call; with `has_audio`, it plays audio that another bot receives."""
    lounge_id = setup.guild.channels["General"]
    state_path = f"/guilds/{setup.guild.id}/voice-states/{setup.bot.id}"
    async with AsyncExitStack() as stack:
        if has_audio:
            listener = await setup.world.bot(setup.guild, name="echo", permissions=Permissions.ADMINISTRATOR)
            voice_bots = await stack.enter_async_context(run_voice_bots(setup, listener))
            await voice_bots.run_step(0, "join", channel_id=lounge_id)
        await bob.run("join")
        assert (await bob.next_message())["content"] == "joined"
        assert (await setup.alice.get(state_path)).ok()["channel_id"] == str(lounge_id)
        if has_audio:
            await voice_bots.run_step(0, "wait_encrypted", channel_id=lounge_id, user_ids=[setup.bot.id, listener.id])
            await bob.run("sing")
            assert (await bob.next_message())["content"] == "sang"
            received_frames = await voice_bots.run_step(0, "receive_frames", user_id=setup.bot.id, count=FRAME_COUNT)
            assert sort_frames(received_frames) == sent_frames(setup.bot)
        await bob.run("leave")
        assert (await bob.next_message())["content"] == "left"
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while (await setup.alice.get(state_path)).status != 404:
                await asyncio.sleep(0.02)


async def use_all_features(setup: ClientSetup, bot: BotProcess, differences: dict[str, Any]) -> None:
    """Compare the results of a bot's steps with the expected ones, and use its commands."""
    expected = {name: result for name, result in (RESULTS | differences).items() if result is not None}
    assert await bot.read_results() == expected
    # An application must respond within three seconds of platform time, which a busy machine may exceed.
    setup.world.clock.freeze()
    bob = AppUser(setup, await setup.bob.connect())
    await use_commands(setup, bob)
    await use_call(setup, bob, has_audio="sing" in expected["commands_registered"])


@pytest.mark.parametrize(
    "library",
    [pytest.param(library, marks=pytest.mark.program(interpreter_path(library))) for library in PYTHON_LIBRARIES],
)
async def test_a_bot_with_a_python_library_uses_all_features(setup: ClientSetup, library: str) -> None:
    program, differences = PYTHON_LIBRARIES[library]
    environment = {"SSL_CERT_FILE": authority_path(setup)}
    async with run_program(setup, [interpreter_path(library), program], BOTS_FOLDER, environment) as bot:
        await use_all_features(setup, bot, differences)


async def test_a_bot_with_discord_py_uses_all_features(setup: ClientSetup) -> None:
    environment = {"SSL_CERT_FILE": authority_path(setup)}
    async with run_program(setup, [sys.executable, "discord_py_bot.py"], BOTS_FOLDER, environment) as bot:
        await use_all_features(setup, bot, {})


async def test_a_bot_with_hikari_uses_all_features(setup: ClientSetup) -> None:
    async with run_program(setup, [sys.executable, "hikari_bot.py"], BOTS_FOLDER) as bot:
        await use_all_features(setup, bot, WITHOUT_DESCRIPTION | WITHOUT_AUDIO)


ENCODINGS: Final = [
    pytest.param("json", id="json"),
    pytest.param(
        "etf",
        id="etf",
        marks=pytest.mark.skipif(
            not any((JS_FOLDER / "node_modules" / "erlpack" / "build" / "Release").glob("*.node")),
            reason="erlpack is not installed: make client-deps",
        ),
    ),
]
"""Encodings of the gateway. The libraries use ETF if erlpack is installed, which needs a C++ compiler."""


def encoding_environment(encoding: str) -> dict[str, str]:
    """Return the variables with which a JavaScript library uses an encoding."""
    return {} if encoding == "etf" else {"NODE_OPTIONS": "--require ./without_erlpack.cjs"}


def assert_encoding(setup: ClientSetup, encoding: str) -> None:
    """Assert that the session of the bot uses an encoding."""
    gateway = setup.world.app.gateway
    assert gateway is not None
    [session] = [session for session in gateway.sessions if session.user_id == setup.bot.id]
    assert session.connection is not None
    assert session.connection.encoding.name.lower() == encoding


@requires_package("@discordjs/voice")
async def test_a_bot_with_discord_js_uses_all_features(setup: ClientSetup) -> None:
    environment = {"NODE_EXTRA_CA_CERTS": authority_path(setup)}
    async with run_program(setup, ["node", "discord_js_bot.mjs"], JS_FOLDER, environment) as bot:
        await use_all_features(setup, bot, {})


@requires_package("@discordjs/voice")
@requires_package("oceanic.js")
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_bot_with_oceanic_js_uses_all_features(setup: ClientSetup, encoding: str) -> None:
    environment = {"NODE_EXTRA_CA_CERTS": authority_path(setup), **encoding_environment(encoding)}
    async with run_program(setup, ["node", "oceanic_bot.mjs"], JS_FOLDER, environment) as bot:
        await use_all_features(setup, bot, WITHOUT_CATALOG)
        assert_encoding(setup, encoding)


@pytest.fixture
async def tls_setup(tmp_path: Path) -> AsyncIterator[tuple[ClientSetup, str]]:
    """A guild on a platform that serves HTTPS, and the path of the CA certificate that clients must trust."""
    certificate_files = certificates.issue(tmp_path / "certificates", [])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate_files.certificate_path, certificate_files.key_path)
    authority = str(certificate_files.authority_path)
    clock = ControlledClock(max(NOW_MS, RealClock().now_ms()))
    app = App(small_config(allow_private_targets=True), clock=clock, tls=ServerTls(context, authority))
    await app.start()
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=authority))
    async with aiohttp.ClientSession(connector=connector) as client:
        world = World(app, client)
        alice, bob = await world.user("alice"), await world.user("bob")
        guild = await world.guild(alice, bob, name="Town Square")
        bot = await world.bot(guild, name="crier", permissions=Permissions.ADMINISTRATOR)
        yield ClientSetup(world, AbortableProxy(), alice, bob, guild, bot), authority
        await world.close()
    await app.stop()


@requires_package("eris")
@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_bot_with_eris_uses_all_features_over_tls(tls_setup: tuple[ClientSetup, str], encoding: str) -> None:
    setup, authority = tls_setup
    environment = {"NODE_EXTRA_CA_CERTS": authority, **encoding_environment(encoding)}
    async with run_program(setup, ["node", "eris_bot.mjs"], JS_FOLDER, environment) as bot:
        await use_all_features(setup, bot, WITHOUT_CATALOG | WITHOUT_AUDIO)
        assert_encoding(setup, encoding)
