"""The modules of the chat client: loading and source rules, markdown, permissions, and accessibility."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.transports.web import static_files
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.settings import accessibility_problems
from tests.world import befriend

MODULES_FOLDER = static_files.STATIC_FOLDER / "app"
SCRIPTS = sorted(MODULES_FOLDER.rglob("*.js"))
MODULE_LINES_MAX = 400
STORAGE_MODULE = MODULES_FOLDER / "network/browser_storage.js"
STORAGE_ACCESS_PATTERN = re.compile(r"localStorage|sessionStorage|indexedDB|document\.cookie")
"""Pattern of accesses to data that the browser stores; only one module has them (decisions/0121)."""
UNSAFE_CONSTRUCT_PATTERN = re.compile(
    r"\.(innerHTML|outerHTML|srcdoc|cssText)\b|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    r"|createContextualFragment|setAttribute\(\"(style|on)"
)
"""Pattern of constructs that could turn text into markup, script or style; no module needs them."""


def modules_url() -> str:
    """Return the URL under which the modules are served."""
    return static_files.ClientFiles()("main.js").rpartition("/")[0]


PARSE_SCRIPT = """import { readFileSync } from "node:fs";
import vm from "node:vm";
for (const path of JSON.parse(readFileSync(0, "utf8"))) {
  try { new vm.SourceTextModule(readFileSync(path, "utf8"), { identifier: path }); }
  catch (error) { console.log(`${path}: ${error}`); }
}"""
"""A Node program that parses every module without running it, and prints the syntax errors."""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_every_module_is_valid_strict_mode_code() -> None:
    command = ["node", "--experimental-vm-modules", "--no-warnings", "--input-type=module", "-e", PARSE_SCRIPT]
    names = json.dumps([str(script) for script in SCRIPTS])
    result = subprocess.run(command, input=names, capture_output=True, text=True, check=True)
    assert result.stdout == ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(MODULES_FOLDER).as_posix())
def test_a_module_is_short_documented_and_avoids_unsafe_constructs(script: Path) -> None:
    text = script.read_text()
    assert len(text.splitlines()) <= MODULE_LINES_MAX or script.parent.name == "generated"
    assert text.startswith(("/**", "// "))
    assert UNSAFE_CONSTRUCT_PATTERN.findall(text) == []
    assert script == STORAGE_MODULE or STORAGE_ACCESS_PATTERN.findall(text) == []


async def test_modules_are_served_as_immutable_under_a_versioned_url(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    cookie = {"Cookie": f"hubbub_session={nora.token}"}
    page = await platform.world.request("GET", f"{platform.url}/app", headers=cookie)
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "require-trusted-types-for 'script'; trusted-types voice-worker" in policy
    assert "unsafe" not in policy
    [main_path] = re.findall(r'<script type="module" src="([^"]+)">', page.body.decode())

    response = await platform.world.request("GET", platform.url + main_path)

    assert (response.status, response.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    revalidation = await platform.world.request(
        "GET", platform.url + main_path, headers={"If-None-Match": response.headers["ETag"]}
    )
    assert (revalidation.status, revalidation.body) == (304, b"")
    folder, _, name = main_path.rpartition("/")
    nested_response = await platform.world.request("GET", f"{platform.url}{folder}/state/state.js")
    assert (nested_response.status, nested_response.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    # Only the files that existed at startup are served.
    for missing_path in (
        f"{folder}/nothing.js",
        f"{folder}/state",
        f"{folder}/state/main.js",
        f"{folder}/../style.css",
        f"{folder}/%2e%2e/style.css",
        f"{folder}/state/..%2fmain.js",
        f"{folder}//state/state.js",
        f"/static/app/{'0' * 12}/{name}",
    ):
        assert (await platform.world.request("GET", platform.url + missing_path)).status == 404, missing_path
    # A page that needs no scripts allows none.
    assert (
        "script-src"
        not in (await platform.world.request("GET", f"{platform.url}/login")).headers["Content-Security-Policy"]
    )


async def test_every_module_loads_without_an_error(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    names = [
        script.relative_to(MODULES_FOLDER).as_posix()
        for script in SCRIPTS
        if script.name not in ("main.js", "bootstrap.js", "frame_worker.js")
    ]
    async with platform.open_window(nora) as nora_window:
        load = (
            "([folder, names]) => Promise.all(names.map(name => import(`${folder}/${name}`))).then(all => all.length)"
        )
        assert await nora_window.page.evaluate(load, [modules_url(), names]) == len(names)


MARKDOWN_CASES: list[tuple[str, str]] = [
    ("plain", "plain"),
    ("**bold** *i* _i_ __u__ ~~s~~", "<strong>bold</strong> <em>i</em> <em>i</em> <u>u</u> <s>s</s>"),
    ("***both*** **a *b* c**", "<em><strong>both</strong></em> <strong>a <em>b</em> c</strong>"),
    ("snake_case_name __init__", "snake_case_name <u>init</u>"),
    ("\\*not\\* **open", "*not* **open"),
    ("||hidden||", "<spoiler>hidden</spoiler>"),
    ("`a*b*` ``x`y``", "<code>a*b*</code> <code>x`y</code>"),
    ("```py\n1 < 2\n```", "<block py>1 < 2</block>"),
    ("a ```b``` c", "a <block>b</block> c"),
    ("> one\n> two\nthree", "<quote>one\ntwo</quote>three"),
    (">>> all\nof it", "<quote>all\nof it</quote>"),
    ("- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
    ("3. x\n4. y", "<ol 3><li>x</li><li>y</li></ol>"),
    ("# H\n### h\n-# small\n#no", "<h1>H</h1><h3>h</h3><sub>small</sub>#no"),
    ("see https://a.example/b_(c), or.", "see <a https://a.example/b_(c)>https://a.example/b_(c)</a>, or."),
    ('[text](https://a.example "t")', "<a https://a.example/>text</a>"),
    ("<https://a.example>", "<a https://a.example/>https://a.example</a>"),
    ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
    ("[x](data:text/html,y) vbscript:z", "[x](data:text/html,y) vbscript:z"),
    (
        "<@1> <@!2> <@&3> <#4> @everyone @heretic",
        "<user 1> <user 2> <role 3> <channel 4> <everyone @everyone> @heretic",
    ),
    ("<:wave:5> <a:dance:6> </say it:7>", "<emoji wave 5> <emoji dance 6> <command say it>"),
    ("<t:1700000000:R> <t:1>", "<time 1700000000 R> <time 1 f>"),
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ("مرحبا **جدا**", "مرحبا <strong>جدا</strong>"),
]

WRITE_TREES = """async ([folder, texts]) => {
  const { parseMarkdown } = await import(`${folder}/content/markdown_parser.js`);
  const writeNodes = nodes => nodes.map(node => {
    const writeChildren = () => writeNodes(node.children);
    switch (node.type) {
      case "text": return node.text;
      case "lines": return writeChildren();
      case "heading": return `<h${node.level}>${writeChildren()}</h${node.level}>`;
      case "subtext": return `<sub>${writeChildren()}</sub>`;
      case "code": return `<code>${node.text}</code>`;
      case "block": return `<block${node.language && ` ${node.language}`}>${node.text}</block>`;
      case "link": return `<a ${node.href}>${writeChildren()}</a>`;
      case "list": {
        const items = node.items.map(item => `<li>${writeNodes(item)}</li>`).join("");
        return node.ordered ? `<ol ${node.start}>${items}</ol>` : `<ul>${items}</ul>`;
      }
      case "everyone": return `<everyone ${node.text}>`;
      case "emoji": return `<emoji ${node.name} ${node.id}>`;
      case "command": return `<command ${node.name}>`;
      case "time": return `<time ${node.seconds} ${node.style}>`;
      default: return node.children ? `<${node.type}>${writeChildren()}</${node.type}>` : `<${node.type} ${node.id}>`;
    }
  }).join("");
  return texts.map(text => writeNodes(parseMarkdown(text)));
}"""
"""A JavaScript function that parses texts and returns each syntax tree as a readable line."""


async def test_markdown_is_parsed_as_in_the_table_and_long_hostile_texts_completely(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as nora_window:
        trees = await nora_window.page.evaluate(WRITE_TREES, [modules_url(), [text for text, _ in MARKDOWN_CASES]])
        assert dict(zip([text for text, _ in MARKDOWN_CASES], trees, strict=True)) == dict(MARKDOWN_CASES)
        marks = ("*", "**", "_", "__", "~~", "||", "`", "[", "[](", "> ", "<", "\\", "- ", "https://", "***a", "||`")
        # `make bench` measures that the time is linear in the length.
        trees = await nora_window.page.evaluate(
            WRITE_TREES, [modules_url(), [(mark * 4000)[:3999] + "a" for mark in marks]]
        )
        last_characters = {mark: re.sub(r"(</?\w+>)+$", "", text)[-1] for mark, text in zip(marks, trees, strict=True)}
        assert last_characters == dict.fromkeys(marks, "a")


COMPUTE_PERMISSIONS = """async ([folder, cases]) => {
  const { channelPermissions } = await import(`${folder}/state/permissions.js`);
  return cases.map(([guild, member, channel, parent]) => String(channelPermissions(guild, member, channel, parent ?? undefined)));
}"""


async def test_the_client_computes_the_same_permissions_as_the_server(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    view, send = Permissions.VIEW_CHANNEL, Permissions.SEND_MESSAGES
    everyone, threads = Permissions.MENTION_EVERYONE, Permissions.SEND_MESSAGES_IN_THREADS

    def guild(*roles: tuple[str, int]) -> dict[str, Any]:
        return {"id": "1", "owner_id": "9", "roles": [{"id": id, "permissions": str(bits)} for id, bits in roles]}

    def channel(*overwrites: tuple[str, int, int, int], type: int = ChannelType.GUILD_TEXT) -> dict[str, Any]:
        listed_entries = [
            {"id": id, "type": target_type, "allow": str(allow), "deny": str(deny)}
            for id, target_type, allow, deny in overwrites
        ]
        return {"id": "5", "type": type, "permission_overwrites": listed_entries}

    member, owner = {"user": {"id": "2"}, "roles": ["3"]}, {"user": {"id": "9"}, "roles": []}
    base = view | send | everyone
    thread = {"id": "6", "type": ChannelType.PUBLIC_THREAD}
    role, user = OverwriteType.ROLE, OverwriteType.MEMBER
    cases: list[tuple[list[Any], int]] = [
        ([guild(("1", base)), member, channel()], base),
        ([guild(("1", base)), member, channel(("1", role, 0, send))], view),
        ([guild(("1", base)), member, channel(("1", role, 0, send), ("3", role, send, 0))], base),
        ([guild(("1", base), ("3", 0)), member, channel(("3", role, 0, view))], 0),
        ([guild(("1", base)), member, channel(("3", role, 0, view), ("2", user, view, 0))], base),
        (
            [guild(("1", base), ("3", Permissions.ADMINISTRATOR)), member, channel(("1", role, 0, view))],
            Permissions.ALL,
        ),
        ([guild(("1", 0)), owner, channel()], Permissions.ALL),
        ([guild(("1", view | send)), member, channel(type=ChannelType.GUILD_VOICE)], view),
        ([guild(("1", view | threads)), member, thread, channel()], view | threads | send),
        ([guild(("1", view | send)), member, thread, channel()], view),
    ]
    async with platform.open_window(nora) as nora_window:
        permissions = await nora_window.page.evaluate(COMPUTE_PERMISSIONS, [modules_url(), [case for case, _ in cases]])
        assert [int(bits) for bits in permissions] == [bits for _, bits in cases]


FAIL_OUTDATED_REQUEST = """async folder => {
  const { liveList } = await import(`${folder}/settings/forms/live_list.js`);
  const requests = [], steps = [];
  const list = liveList({
    label: "Items",
    emptyText: "",
    fetchItems: () => new Promise((resolve, reject) => requests.push({ resolve, reject })),
    describeItem: key => ({ key, version: "1", build: () => document.createElement("li") }),
    onDraw: () => steps.push("drawn"),
  });
  const loaded = list.loaded.then(() => steps.push("loaded"));
  const refreshed = list.refresh();
  requests[0].reject(new Error("outdated"));
  // The failure is handled before the next task.
  await new Promise(resolve => setTimeout(resolve));
  requests[1].resolve(["item"]);
  await Promise.all([loaded, refreshed]);
  return [steps, list.nodes[0].textContent, list.nodes[1].children.length];
}"""
"""A JavaScript function that refreshes a list while its first request runs, which then fails."""


async def test_the_failure_of_an_outdated_request_does_not_end_the_loading_of_a_list(platform: ChatPlatform) -> None:
    nora = await platform.world.user("nora")
    async with platform.open_window(nora) as nora_window:
        outcome = await nora_window.page.evaluate(FAIL_OUTDATED_REQUEST, modules_url())
        assert outcome == [["drawn", "loaded"], "", 1]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])
async def test_the_client_is_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom, name="The Guild of All Harbours and Lighthouses")
    await befriend(nora, tom)
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    message = await guild.send_message(
        tom, f"**Hello** <@{nora.id}> {'unbroken' * 30} `code` https://example.com/{'a' * 200}"
    )
    await guild.send_message(
        nora, "> Yes.\n- a\n- b", message_reference={"message_id": message["id"]}, embeds=[{"title": "Tides"}]
    )
    (await tom.put(f"/channels/{guild.general}/messages/{message['id']}/reactions/%F0%9F%8E%89/@me")).ok()
    problems: list[str] = []
    async with platform.open_window(nora, general_path(guild), width=width, scheme=scheme) as nora_window:
        page = nora_window.page

        async def check_accessibility(name: str) -> None:
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(nora_window))

        await nora_window.wait_message("Hello")
        await check_accessibility("channel")
        await (await nora_window.wait_message("Hello")).focus()
        await page.get_by_role("button", name="More", exact=True).click()
        await page.get_by_role("menuitem", name="Pin").wait_for()
        await check_accessibility("menu")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Emoji").click()
        await page.get_by_role("dialog", name="Emoji").get_by_role("option").first.wait_for()
        await check_accessibility("emoji")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Search").click()
        await page.get_by_role("combobox", name="Search messages").wait_for()
        await check_accessibility("search")
        await page.get_by_role("button", name="Close search").click()
        if width == PHONE_WIDTH:
            await page.get_by_role("button", name="Channels and conversations").click()
            await check_accessibility("channels")
        for path in (f"/app/channels/{guild.id}/{forum_id}", f"/app/channels/{guild.id}/{lounge_id}", "/app"):
            await nora_window.open(path)
            await page.locator(".view-head").wait_for()
            await check_accessibility(path)
    assert problems == []
