"""The examples of the API reference: every operation has them, and the verified ones work in the demo world."""

import asyncio
import base64
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from string import Template
from typing import Any

import aiohttp
import discord
import pytest
from yarl import URL

from hubbub.protocol import codec
from hubbub.protocol.permissions import Permissions
from hubbub.server import ready_document, worlds
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.transports.web.reference import examples, snippets
from tests.contract.tables import operations
from tests.reference_pages import read_resource_entries
from tests.world import NOW_MS, World, small_config

JS_FOLDER = Path(__file__).parents[3] / "clients" / "js"
NODE = shutil.which("node")
LANGUAGES = ["curl", "python", "javascript"]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

SYNTAX_CHECK_SCRIPT = """
import { readFileSync } from "node:fs";
import vm from "node:vm";
for (const [name, code] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  try { new vm.SourceTextModule(code); } catch (error) { console.log(`${name}: ${error.message}`); }
}
"""
"""A script that parses the modules in standard input, a JSON object of source by name, and prints the syntax errors."""

RUN_SCRIPT = """
for (const name of process.argv.slice(2)) {
  try { await import(`./${name}.mjs`); } catch (error) { process.stdout.write(`FAILED ${name}: ${error.message}\\n`); }
}
"""
"""A script that runs the modules that the arguments name, one after the other, and prints the errors."""


Demo = tuple[World, dict[str, str]]
"""The demo world, and the values of the variables in the examples."""


@pytest.fixture
async def demo() -> AsyncIterator[Demo]:
    """The demo world with a bot that has all permissions, and the values of the variables in the examples."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    built_world = await worlds.load_initial(app, worlds.demo_world(), 0)
    await make_administrator(app, built_world)
    document = codec.decode(codec.encode(ready_document.build_document(app.config, built_world)), dict[str, Any])
    values = {name: look_up(document, path) for name, path in examples.VARIABLES.items()}
    async with aiohttp.ClientSession() as client:
        yield World(app, client), values
    await app.stop()


async def make_administrator(app: App, built: worlds.BuiltWorld) -> None:
    """Give the demo bot a role with all permissions, because the examples in Python and JavaScript are sent by it."""
    async with aiohttp.ClientSession(headers={"Authorization": built.users["alice"].token}) as alice:
        guild_url = f"{app.config.web_url}/api/v10/guilds/{built.guilds['Town Square'].id}"
        role = {"name": "admins", "permissions": str(int(Permissions.ADMINISTRATOR))}
        async with alice.post(f"{guild_url}/roles", json=role, raise_for_status=True) as response:
            role_id = (await response.json())["id"]
        await alice.patch(f"{guild_url}/roles", json=[{"id": role_id, "position": 3}], raise_for_status=True)
        bot = built.applications["demo-bot"].bot
        assert bot is not None
        await alice.put(f"{guild_url}/members/{bot.id}/roles/{role_id}", raise_for_status=True)


def look_up(document: Any, path: tuple[str, ...]) -> str:
    for step in path:
        document = document[step]
    return str(document)


def verified_endpoints(world: World) -> dict[str, Endpoint]:
    """Return the endpoints whose examples work in the demo world, reading operations first."""
    endpoints = [endpoint for endpoint in world.app.table if examples.is_verified(endpoint)]
    return {
        endpoint.name: endpoint
        for endpoint in sorted(endpoints, key=lambda endpoint: endpoint.operation.method != "GET")
    }


def example_code(endpoint: Endpoint, language: str, root: str) -> str:
    """Return the example of an operation in one language."""
    found_snippets = snippets.snippets(examples.request(endpoint), root)
    return next(snippet.code for snippet in found_snippets if snippet.language == language)


async def send_curl_request(world: World, command: str, values: dict[str, str]) -> tuple[int, str]:
    arguments = shlex.split(Template(command.replace("\\\n", " ")).substitute(values))
    assert arguments[0] == "curl"
    headers, method, body = {}, "GET", None
    for option, value in zip(arguments[1::2], arguments[2::2], strict=False):
        if option == "-H":
            name, _, content = value.partition(": ")
            headers[name] = content
        elif option == "-X":
            method = value
        elif option == "-d":
            body = value
    async with world.client.request(method, URL(arguments[-1], encoded=True), headers=headers, data=body) as response:
        return response.status, await response.text("utf-8", "replace")


async def test_every_operation_has_examples_in_all_languages(demo: Demo) -> None:
    entries = await read_resource_entries(demo[0])

    assert entries.keys() == operations().keys()
    for name, entry in entries.items():
        assert [language for language, _ in entry.examples[:3]] == LANGUAGES, name
        for language, text in entry.examples:
            method = operations()[name].method
            expected = {"curl": f"-X {method}", "python": "asyncio.run(main())", "javascript": "await "}[language]
            assert expected in text or (language == "curl" and method == "GET"), name
        has_file = operations()[name].uploads is not None
        assert has_file == any("@" in text and "-F" in text for language, text in entry.examples if language == "curl")


async def test_every_example_is_valid_source_code(demo: Demo) -> None:
    modules: dict[str, str] = {}
    commands: list[str] = []
    for name, entry in (await read_resource_entries(demo[0])).items():
        for number, (language, text) in enumerate(entry.examples):
            if language == "python":
                compile(text, name, "exec")
            elif language == "javascript":
                modules[f"{name} {number}"] = text
            else:
                commands.append(text)
                assert shlex.split(text.replace("\\\n", " "))[0] == "curl", name

    if shutil.which("bash") is not None:
        subprocess.run(["bash", "-n"], input="\n".join(commands), text=True, check=True, timeout=60)
    if NODE is None:
        pytest.skip("Node.js is not installed")
    arguments = [NODE, "--experimental-vm-modules", "--no-warnings", "--input-type=module", "-e", SYNTAX_CHECK_SCRIPT]
    completed = subprocess.run(arguments, input=json.dumps(modules), capture_output=True, text=True, timeout=60)
    assert (completed.stdout, completed.returncode) == ("", 0), completed.stderr


async def test_every_verified_example_works_in_the_demo_world(demo: Demo) -> None:
    world, values = demo
    endpoints = verified_endpoints(world)
    assert len(endpoints) > 100
    assert {"create_message", "list_messages", "get_guild", "create_dm"} <= endpoints.keys()

    problems = []
    for name, endpoint in endpoints.items():
        operation = endpoint.operation
        status, body = await send_curl_request(world, example_code(endpoint, "curl", world.url), values)
        if status not in (operation.success, *operation.other_statuses):
            problems.append(f"{name}: {status} {body[:200]}")
    assert problems == [], "list operations without sample data in examples.UNVERIFIED"


async def test_unverified_examples_fail_in_the_demo_world(demo: Demo) -> None:
    world, values = demo
    endpoints_by_name: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in world.app.table}

    for name in examples.UNVERIFIED & endpoints_by_name.keys():
        status, _ = await send_curl_request(world, example_code(endpoints_by_name[name], "curl", world.url), values)
        assert 400 <= status < 500, f"{name} works"


@pytest.mark.program("bash")
@pytest.mark.program("curl")
async def test_examples_run_in_a_shell(demo: Demo, tmp_path: Path) -> None:
    world, values = demo
    endpoints_by_name = {endpoint.name: endpoint for endpoint in world.app.table}
    (tmp_path / "picture.png").write_bytes(PNG)
    upload = examples.upload_request(endpoints_by_name["create_message"])
    assert upload is not None
    scripts = {
        example_code(endpoints_by_name["create_dm"], "curl", world.url): '"recipients"',
        example_code(endpoints_by_name["create_message"], "curl", world.url): "Hello, all of you",
        snippets.curl_command(upload, world.url): "picture.png",
    }

    for script, expected in scripts.items():
        completed = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", script.replace("curl", "curl -s", 1)],
            env=values | {"PATH": "/usr/bin:/bin"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert expected in completed.stdout, completed.stderr


async def test_python_examples_run(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, values = demo
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.png").write_bytes(PNG)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    # The examples change the base URL of the library; monkeypatch restores it.
    monkeypatch.setattr(discord.http.Route, "BASE", discord.http.Route.BASE)
    programs = {
        name: example_code(endpoint, "python", world.url) for name, endpoint in verified_endpoints(world).items()
    }
    upload = examples.upload_request(
        next(endpoint for endpoint in world.app.table if endpoint.name == "create_message")
    )
    assert upload is not None
    programs["create_message with a file"] = snippets.discord_py_program(upload, world.url)

    def run() -> list[str]:
        problems = []
        for name, program in programs.items():
            try:
                exec(compile(program, name, "exec"), {"__name__": "__main__"})
            except Exception as error:
                problems.append(f"{name}: {error!r}")
        return problems

    assert await asyncio.to_thread(run) == []


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
@pytest.mark.skipif(
    not (JS_FOLDER / "node_modules" / "discord.js").is_dir(), reason="discord.js is not installed: make client-deps"
)
async def test_javascript_examples_run(demo: Demo, tmp_path: Path) -> None:
    world, values = demo
    (tmp_path / "picture.png").write_bytes(PNG)
    (tmp_path / "node_modules").symlink_to((JS_FOLDER / "node_modules").resolve())
    (tmp_path / "run.mjs").write_text(RUN_SCRIPT)
    endpoints = verified_endpoints(world)
    for name, endpoint in endpoints.items():
        (tmp_path / f"{name}.mjs").write_text(example_code(endpoint, "javascript", world.url))
    upload = examples.upload_request(
        next(endpoint for endpoint in world.app.table if endpoint.name == "create_message")
    )
    assert upload is not None
    (tmp_path / "upload.mjs").write_text(snippets.discord_js_program(upload, world.url))

    assert NODE is not None
    completed = await asyncio.to_thread(
        subprocess.run,
        [NODE, "run.mjs", *endpoints, "upload"],
        cwd=tmp_path,
        env=values | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert [line for line in completed.stdout.splitlines() if line.startswith("FAILED")] == []
    assert completed.returncode == 0, completed.stderr
    assert "picture.png" in completed.stdout
