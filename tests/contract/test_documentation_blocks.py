"""Every code block of the documentation is executed, or marked as output with the language `text`.

| Block | Test |
|---|---|
| `console` | Each command after `$ ` runs in a scratch checkout; output below it is compared, `...` stands for any text |
| first line `# name.ext` | Becomes that file of the scratch checkout; pytest runs the files `test_*.py` |
| any other language | The function in `CHECKS` for this page and language executes it |
| `text` | Output, a diagram or a template; compared where `CHECKS` has a function |
"""

import argparse
import asyncio
import contextlib
import functools
import importlib
import importlib.metadata
import itertools
import json
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import aiohttp
import jinja2
import pytest
import yaml

from hubbub.agent import cli as agent_cli
from hubbub.protocol.ids import ApplicationId, SkuId, UserId
from hubbub.server import cli
from hubbub.server.app import App
from hubbub.server.core import config
from hubbub.server.core.clock import ControlledClock, RealClock
from hubbub.server.core.payments import Charge, PaymentDeclined, open_payments
from hubbub.server.transports.web import server as web_server
from hubbub.server.transports.web import templating
from tests.contract.documentation import OUTPUT_LANGUAGE, Block, blocks, commands, inline_code, pages
from tests.contract.language import ROOT
from tests.contract.shell import NOT_RUN_COMMANDS, TIMEOUT_SECONDS, Shell, matches
from tests.contract.test_add_an_operation import BLOCK_COMMENT_PATTERN
from tests.pages import Browser
from tests.world import World, run_with_settings, small_config

PLUGIN_ARGUMENTS: Final = (
    ()
    if any(point.name == "hubbub" for point in importlib.metadata.entry_points(group="pytest11"))
    else ("-p", "hubbub.testing.plugin")
)
"""Arguments that load the plugin; empty if this checkout is installed, because pytest then finds it by its entry point."""

PYTEST_OPTIONS: Final = ("-p", "no:schemathesis", "-p", "no:cacheprovider", "-o", "hubbub_within=30")
"""Options of pytest that keep other plugins and slow machines from affecting the examples."""

VARIABLES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "README.md": {"TOKEN": ("users", "bob", "token"), "APPLICATION": ("applications", "demo-game", "id")},
    "docs/sdk.md": {"TOKEN": ("users", "alice", "token")},
}
"""Variables of a page's commands, which the page tells readers to take from the ready file."""


# Checks of blocks that are not commands


def check_readme_bot_is_the_example(shell: Shell, page_blocks: Sequence[Block]) -> None:
    """Require that the bot of the page is `examples/bot.py`, which the page's commands run."""
    [bot] = page_blocks
    _, code = (ROOT / "examples" / "bot.py").read_text().split("\n\n", 1)
    assert bot.text == code
    assert len([line for line in code.splitlines() if line]) <= 20


def check_guide_is_applied_elsewhere(shell: Shell, page_blocks: Sequence[Block]) -> None:
    """Require that each block has a comment with its target; `test_add_an_operation.py` applies the blocks."""
    assert [block.location for block in page_blocks if BLOCK_COMMENT_PATTERN.fullmatch(block.comment) is None] == []


def check_ci_jobs_use_the_recipes(shell: Shell, page_blocks: Sequence[Block]) -> None:
    """Require that the jobs use inputs, outputs and names of the recipes, which `tests/deploy/test_ci_recipes.py` runs."""
    github, gitlab = (yaml.safe_load(block.text) for block in page_blocks)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    [step] = [step for step in github["jobs"]["test"]["steps"] if step.get("id") == "platform"]
    assert set(step["with"]) <= set(action["inputs"])
    assert set(re.findall(r"steps\.platform\.outputs\.([\w-]+)", page_blocks[0].text)) <= set(action["outputs"])
    recipe = gitlab["include"][0]["remote"].partition("hubbub.example/")[2]
    assert gitlab["test"]["extends"] in yaml.safe_load((ROOT / recipe).read_text())


SDK_PROGRAM: Final = """
import asyncio

{names}

async def main():
{awaited}
    return tokens.access_token

token = asyncio.run(main())
playing, frames = True, 0

def draw():
    global playing, frames
    frames += 1
    asyncio.run(asyncio.sleep(1 / 30))
    playing = frames < 900 and client.get_status().name != "READY"

{looped}
assert frames < 900

{talking}

async def talk():
    options = ClientCreateOptions(web_base=PLATFORM, voice_authority=world["voice"]["authority"])
    async with Client(options) as client:
        await client.update_token(AuthorizationTokenType.BEARER, token)
        await client.connect()
        lobby_id = await client.create_or_join_lobby("secret")
        call = start_talking(client, lobby_id, lambda *frame: None, lambda *frame: False)
        async with asyncio.timeout(30):
            while call.get_status().label != "Connected":
                await asyncio.sleep(0.05)
        assert start_talking(client, lobby_id, lambda *frame: None, lambda *frame: False) is None

asyncio.run(talk())
"""
"""A program around the code blocks of docs/sdk.md."""

SDK_BROWSER: Final = """
import json, sys, urllib.request
from urllib.parse import urlsplit

world = json.load(open("hubbub-data/ready.json"))
headers = {"Authorization": world["users"]["alice"]["token"], "Content-Type": "application/json"}
url = f"{world['api']}/oauth2/authorize?{urlsplit(sys.argv[1]).query}"
response = json.load(urllib.request.urlopen(urllib.request.Request(url, b'{"authorize": true}', headers)))
urllib.request.urlopen(response["url"]).close()
"""
"""A browser: a program that opens an authorization page, given as its argument, and authorizes as Alice."""


def check_sdk_program_runs(shell: Shell, page_blocks: Sequence[Block]) -> None:
    names, awaiting_program, looping_program, talking_program = (block.text for block in page_blocks)
    (shell.folder / "browser.py").write_text(SDK_BROWSER)
    program = SDK_PROGRAM.format(
        names=names, awaited=textwrap.indent(awaiting_program, "    "), looped=looping_program, talking=talking_program
    )
    completed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shell.folder,
        env=shell.variables | {"BROWSER": f"{sys.executable} browser.py %s &"},
        capture_output=True,
        text=True,
        timeout=4 * TIMEOUT_SECONDS,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "Connected" in completed.stdout


def check_faults_are_accepted(shell: Shell, page_blocks: Sequence[Block]) -> None:
    [block] = page_blocks
    for line in block.text.splitlines():
        headers = {"Authorization": f"Bearer {shell.variables['TOKEN']}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{shell.url}/control/faults", line.encode(), headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            assert set(json.load(response)) == {"affected_sessions", "active_fault"}


def check_ready_file_has_the_documented_shape(shell: Shell, page_blocks: Sequence[Block]) -> None:
    [block] = page_blocks
    documented_file, written_file = json.loads(block.text), shell.ready_document()
    assert list(written_file) == list(documented_file)
    assert_contains(written_file, documented_file, block.location)


def assert_contains(written: Any, documented: Any, where: str) -> None:
    """Require that the written document has every key of the shown one, with values of the same types."""
    if isinstance(documented, dict):
        for key, value in documented.items():
            assert key in written, f"{where}: {key} is not in {list(written)}"
            assert_contains(written[key], value, f"{where}.{key}")
    else:
        assert type(written) is type(documented), where


def check_misspelled_world_is_rejected(shell: Shell, page_blocks: Sequence[Block]) -> None:
    [block] = page_blocks
    village = shell.folder / "village.toml"
    text = village.read_text()
    assert text.count('"MANAGE_MESSAGES"') == 1
    village.write_text(text.replace('"MANAGE_MESSAGES"', '"MANAGE_MESAGES"'))
    completed = subprocess.run(
        ["hubbub", "dev", "--world", "village.toml"],
        cwd=shell.folder,
        env=shell.variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert (completed.returncode, completed.stderr) == (2, block.text)


TEST_WITH_REPORT: Final = """
def test_the_bot_greets(hubbub):
    bot, staff = hubbub.bots["demo-bot"], hubbub.guilds["Town Square"].channels["staff"]
    bot.connect()
    hubbub.users["alice"].send_message("staff", "hello")
    bot.request("POST", f"/channels/{staff}/messages", {"content": "hello"})
"""
"""A test of a bot that cannot see the channel."""


def check_failure_report_looks_as_shown(shell: Shell, page_blocks: Sequence[Block]) -> None:
    [block] = page_blocks
    (shell.folder / "reported.py").write_text(TEST_WITH_REPORT)
    printed_text = run_pytest(shell, "reported.py", status=1)
    expected = re.sub(r"\d\d:\d\d:\d\d\.\d{3}|:\d{5},|2\d{3}-\d\d-\d\d|\d{3}\+00:00", "...", block.text)
    assert matches(f"...{expected}...", printed_text), printed_text


def check_payment_provider_charges_and_refunds(shell: Shell, page_blocks: Sequence[Block]) -> None:
    [block] = page_blocks
    (shell.folder / "bank.py").write_text(block.text)
    requests: list[tuple[str, dict[str, Any]]] = []

    class BankApi:
        async def post(self, path: str, **fields: Any) -> Any:
            requests.append((path, fields))
            return SimpleNamespace(declined=fields.get("amount") == 1, reason="no funds")

    def charge(amount: int) -> Charge:
        return Charge(
            key=f"purchase/{amount}",
            user_id=UserId(1),
            application_id=ApplicationId(2),
            sku_id=SkuId(3),
            amount=amount,
            currency="usd",
        )

    async def pay() -> None:
        provider: Any = open_payments("bank:Bank", is_rehearsal=False)
        provider.api = BankApi()
        assert provider.enabled
        await provider.charge(charge(499))
        with pytest.raises(PaymentDeclined, match="no funds"):
            await provider.charge(charge(1))
        await provider.refund(charge(499))

    with make_importable(shell.folder, "bank"):
        asyncio.run(pay())
    assert [(path, fields["idempotency_key"]) for path, fields in requests] == [
        ("/payments", "purchase/499"),
        ("/payments", "purchase/1"),
        ("/refunds", "refund/purchase/499"),
    ]


@contextlib.contextmanager
def make_importable(folder: Path, name: str) -> Iterator[None]:
    """Make a module of a folder importable during the block."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)


PAGE_MODULE: Final = "name_page.py"


def write_page_functions(shell: Shell, page_blocks: Sequence[Block]) -> None:
    """Write the functions of the page to a module, which `check_page_of_the_guide_works` runs."""
    [block] = page_blocks
    (shell.folder / PAGE_MODULE).write_text(block.text)


def check_page_of_the_guide_works(shell: Shell, page_blocks: Sequence[Block]) -> None:
    [template] = page_blocks
    module = ModuleType("name_page")
    exec((shell.folder / PAGE_MODULE).read_text(), vars(module))

    def environment(*arguments: Any) -> jinja2.Environment:
        environment = templating.template_environment(*arguments)
        assert environment.loader is not None
        loader = jinja2.ChoiceLoader([environment.loader, jinja2.DictLoader({"name.html": template.text})])
        return environment.overlay(loader=loader)

    async def visit() -> None:
        app = App(small_config())
        await app.start()
        try:
            async with aiohttp.ClientSession() as client:
                world = World(app, client)
                browser = Browser(world)
                browser.sign_in_as(await world.user("ann"))
                page = await browser.open("/settings/name")
                saved_page = await browser.submit(page, "Save", name="Ann")
                assert "Name saved." in saved_page.text
                assert dict(saved_page.form("Save").values)["name"] == "Ann"
                rejected_page = await browser.submit(saved_page, "Save", name="n" * 33)
                assert rejected_page.status == 400
                assert "32" in rejected_page.text
                await world.close()
        finally:
            await app.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web_server, "PAGE_MODULES", (*web_server.PAGE_MODULES, module))
        patch.setattr(web_server, "template_environment", environment)
        asyncio.run(visit())


def check_settings_are_accepted(shell: Shell, toml_blocks: Sequence[Block]) -> None:
    """Load each block as a settings file."""
    for block in toml_blocks:
        path = shell.folder / "settings.toml"
        path.write_text(block.text)
        config.load(file=path)


def check_nightly_backup_runs(shell: Shell, page_blocks: Sequence[Block]) -> None:
    """Run the script of the page with the folders of the scratch checkout."""
    [block] = page_blocks
    settings, backups = shell.folder / "nightly.toml", shell.folder / "nightly"
    backups.mkdir()
    settings.write_text(f'data = "{shell.folder}/srv/hubbub"\n')
    script = block.text.replace("/etc/hubbub/hubbub.toml", str(settings)).replace("/backups/", f"{backups}/")
    completed = subprocess.run(
        ["sh", "-c", script],
        cwd=shell.folder,
        env=shell.variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "No problems found." in completed.stdout
    assert len(list(backups.iterdir())) == 1


CHECKS: Final[dict[tuple[str, str], Callable[[Shell, Sequence[Block]], None]]] = {
    ("README.md", "python"): check_readme_bot_is_the_example,
    ("docs/add-a-page.md", "html"): check_page_of_the_guide_works,
    ("docs/add-a-page.md", "python"): write_page_functions,
    ("docs/add-an-operation.md", "python"): check_guide_is_applied_elsewhere,
    ("docs/control.md", "json"): check_faults_are_accepted,
    ("docs/operating.md", "toml"): check_settings_are_accepted,
    ("docs/payments.md", "python"): check_payment_provider_charges_and_refunds,
    ("docs/sdk.md", "python"): check_sdk_program_runs,
    ("docs/testing.md", OUTPUT_LANGUAGE): check_failure_report_looks_as_shown,
    ("docs/testing.md", "yaml"): check_ci_jobs_use_the_recipes,
    ("docs/upgrades.md", "sh"): check_nightly_backup_runs,
    ("docs/worlds.md", "json"): check_ready_file_has_the_documented_shape,
    ("docs/worlds.md", OUTPUT_LANGUAGE): check_misspelled_world_is_rejected,
}
"""Functions that execute the blocks of a page in one language, when the last of them is reached."""


# Tests


def is_executed(block: Block) -> bool:
    """Return whether a test executes the block."""
    if block.file_name is not None:
        return is_used(block.file_name, block)
    return block.language == "console" or (block.page, block.language) in CHECKS


def is_used(name: str, block: Block) -> bool:
    """Return whether pytest reads the file of a block, or another block of the page uses the file."""
    other_texts = "".join(
        other.text for other in blocks(block.page) if other != block and other.language != OUTPUT_LANGUAGE
    )
    imported_name = Path(name).stem if name.endswith(".py") else name
    return (
        name.startswith("test_") or name == "pytest.ini" or re.search(rf"\b{imported_name}\b", other_texts) is not None
    )


def test_every_block_is_executed_or_marked_as_output() -> None:
    page_blocks = [block for page in pages() for block in blocks(page)]

    problems = [
        f"{block.location}: no test executes this block; write its commands as `console`, name its file in the first "
        f"line, add a function to CHECKS, or mark it as `{OUTPUT_LANGUAGE}`"
        for block in page_blocks
        if not is_executed(block) and block.language != OUTPUT_LANGUAGE
    ]
    assert not problems, "\n".join(problems)
    assert set(CHECKS) <= {(block.page, block.language) for block in page_blocks}
    assert set(NOT_RUN_COMMANDS) <= {
        command.text.strip() for block in page_blocks if block.language == "console" for command in commands(block)
    }


def test_blocks_of_output_contain_no_commands() -> None:
    hidden_commands = [
        f"{block.location}: write the command as `console`: {line}"
        for page in pages()
        for block in blocks(page)
        if block.language == OUTPUT_LANGUAGE
        for line in block.text.splitlines()
        if line.startswith(("$ ", "hubbub "))
    ]
    assert not hidden_commands, "\n".join(hidden_commands)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [page for page in pages() if any(map(is_executed, blocks(page)))])
def test_the_blocks_of_a_page_work(page: str, request: pytest.FixtureRequest) -> None:
    page_blocks = blocks(page)
    with Shell(service_urls(page_blocks, request)) as shell:
        for block in page_blocks:
            if block.file_name is not None:
                (shell.folder / block.file_name).write_text(block.text)
        if page in DATA_FOLDERS:
            shell.replacements["GUILD_ID"] = str(asyncio.run(create_data(shell.folder / DATA_FOLDERS[page])))
        for block in page_blocks:
            if block.language == "console":
                shell.run_block(block)
                set_variables(shell, page)
            elif (check := CHECKS.get((page, block.language))) is not None:
                same = [other for other in page_blocks if other.language == block.language and other.file_name is None]
                if block == same[-1]:
                    check(shell, same)
        run_test_files(shell, page)


DATA_FOLDERS: Final = {"docs/deploy.md": "var/lib/hubbub", "docs/moving.md": "srv/hubbub"}
"""Data folders of existing servers that the commands of a page use, below the scratch folder."""


async def create_data(folder: Path) -> int:
    """Create a data folder with the user ann, who owns a guild with a message, and return the ID of the guild."""
    async with run_with_settings(small_config(data=str(folder)), ControlledClock(RealClock().now_ms())) as world:
        guild = await world.guild(await world.user("ann"))
        await guild.send_message(guild.owner, "hello")
        return guild.id


def service_urls(page_blocks: Sequence[Block], request: pytest.FixtureRequest) -> dict[str, str]:
    """Return a URL or folder for each service that the commands of a page use, by the URL on the page."""
    text = "".join(block.text for block in page_blocks if block.language == "console")
    fixtures = {"postgresql://...": "postgres_database", "nats://...": "nats_url", "s3://...": "tmp_path"}
    return {page_url: str(request.getfixturevalue(name)) for page_url, name in fixtures.items() if page_url in text}


def set_variables(shell: Shell, page: str) -> None:
    """Set the variables of a page, the token file and the lines that its reader types, from the ready file."""
    document = shell.ready_document()
    if not document:
        return
    for name, path in VARIABLES.get(page, {}).items():
        field_value: Any = document
        for key in path:
            field_value = field_value[key]
        shell.variables[name] = field_value
    if "alice" in document["users"]:
        alice = document["users"]["alice"]
        token_file = Path(shell.variables["HOME"]) / ".hubbub-token"
        token_file.touch(mode=0o600)
        token_file.write_text(alice["token"])
        shell.typed_lines["agent --url"] = ("Username or email: ", "alice\n", "Password: ", f"{alice['password']}\n")
        shell.typed_lines["input()"] = ("", "\n")


def run_test_files(shell: Shell, page: str) -> None:
    """Run the test files of a page with pytest and require that every test of the page passes."""
    test_blocks = [block for block in blocks(page) if (block.file_name or "").startswith("test_")]
    if not test_blocks:
        return
    if page == "README.md":
        (shell.folder / "conftest.py").write_text("from examples.test_bot import bot\n")
    printed_text = run_pytest(shell, *(str(block.file_name) for block in test_blocks), status=0)
    count = sum(len(re.findall(r"^(?:async )?def test_", block.text, re.MULTILINE)) for block in test_blocks)
    assert re.search(rf"^{count} passed", printed_text, re.MULTILINE), printed_text


def run_pytest(shell: Shell, *arguments: str, status: int) -> str:
    """Run pytest in the scratch checkout like a project of its own, assert its exit status, and return its output."""
    # The settings of this repository are not those of the reader's project.
    (shell.folder / "pyproject.toml").unlink(missing_ok=True)
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGIN_ARGUMENTS, *PYTEST_OPTIONS, *arguments],
        cwd=shell.folder,
        env=shell.variables | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=4 * TIMEOUT_SECONDS,
    )
    assert completed.returncode == status, completed.stdout + completed.stderr
    return completed.stdout


# Commands in the text


@functools.cache
def main_parser() -> argparse.ArgumentParser:
    """Return the parser of the `hubbub` command."""
    return cli.build_parser()


def hubbub_parser(words: Sequence[str]) -> tuple[argparse.ArgumentParser, list[str]]:
    """Return the parser of a subcommand and the remaining words."""
    parser, remaining_words = main_parser(), list(words)
    if remaining_words[:1] == ["agent"]:
        return agent_cli.parser(), remaining_words[1:]
    while remaining_words and not remaining_words[0].startswith("-"):
        actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not actions:
            break
        name = remaining_words.pop(0)
        assert name in actions[0].choices, f"{name} is not one of {', '.join(actions[0].choices)}"
        parser = actions[0].choices[name]
    return parser, remaining_words


def unknown_parts(command: str) -> list[str]:
    """Return the subcommands, flags and values of a `hubbub` command that its parser does not know."""
    words = shlex.split(re.sub(r"[\[\]]", " ", command.replace("\\|", "|")))[1:]
    try:
        parser, remaining_words = hubbub_parser(words)
    except AssertionError as error:
        return [str(error)]
    problems = []
    for word, next_word in itertools.pairwise([*remaining_words, ""]):
        if not word.startswith("--"):
            continue
        action = parser._option_string_actions.get(word)
        if action is None:
            problems.append(f"{word} is not an option")
        elif action.choices is not None and not is_choice(next_word, [str(choice) for choice in action.choices]):
            problems.append(f"{word} {next_word} is not one of {list(action.choices)}")
    return problems


def is_choice(documented_value: str, choices: Sequence[str]) -> bool:
    """Return whether a value, `a|b` or a range `0-3` consists of allowed values."""
    return all(choice in choices for choice in re.split(r"\||(?<=\d)-(?=\d)", documented_value))


def every_command() -> Iterator[tuple[str, str]]:
    """Yield the inline code and the commands of console blocks of all pages but the changelog, with their locations."""
    for page in pages():
        if page == "CHANGELOG.md":
            continue  # Describes earlier versions.
        for line, code in inline_code(page):
            yield f"{page}:{line}", code
        for block in blocks(page):
            if block.language == "console":
                yield from ((block.location, command.text) for command in commands(block))


def test_commands_use_existing_subcommands_options_targets_and_files() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    problems = []
    for location, command in every_command():
        problems += [
            f"{location}: {command}: {problem}"
            for hubbub in re.findall(r"^(?:\w+=\S+ )?(?:\.venv/bin/)?(hubbub [^#]*)", command)
            for problem in unknown_parts(hubbub)
        ]
        names = [
            *((name, targets) for name in re.findall(r"^make ([a-z-]+)", command)),
            *(
                (name, extras)
                for text in re.findall(r"pip install .*\[([\w,]+)\]", command)
                for name in text.split(",")
            ),
        ]
        problems += [f"{location}: {command}: {name} does not exist" for name, choices in names if name not in choices]
        if command.startswith(("make ", ".venv/", "python", "/opt/hubbub/bin/pip", "pip ")):
            files = re.findall(r"(?<![\w./-])(?:src|tests|examples|docs|bench)/[\w./-]+|constraints\.txt", command)
            problems += [f"{location}: {command}: no file {name}" for name in files if not (ROOT / name).exists()]

    assert not problems, "\n".join(problems)
