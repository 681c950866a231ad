"""The modules of the chat client: they load without errors and follow their rules; the markdown table; accessibility."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hubbub.server.transports.web import templating
from tests.web.chat import ChatPlatform, general
from tests.web.conftest import DESK, PHONE
from tests.web.test_accessibility import AUDIT
from tests.web.test_chat import town
from tests.world import befriend

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.timeout(300)]

__all__ = ["town"]

FOLDER = templating.PACKAGE_DIR / "static" / "app"
SCRIPTS = sorted(FOLDER.rglob("*.js"))
LINES_MAX = 400
# Constructs that could turn text into markup, script or style, or store the token; no module needs them.
FORBIDDEN = re.compile(
    r"\.(innerHTML|outerHTML|srcdoc|cssText)\b|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
    r"|createContextualFragment|localStorage|sessionStorage|indexedDB|document\.cookie|setAttribute\(\"(style|on)"
)


def edition() -> str:
    """Return the URL under which the modules are served."""
    return templating.ClientFiles()("main.js").rpartition("/")[0]


# One process for all of them: each module is parsed as a module, and none is run.
PARSE = """import { readFileSync } from "node:fs";
import vm from "node:vm";
for (const path of JSON.parse(readFileSync(0, "utf8"))) {
  try { new vm.SourceTextModule(readFileSync(path, "utf8"), { identifier: path }); }
  catch (error) { console.log(`${path}: ${error}`); }
}"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
def test_every_module_can_be_read_by_a_strict_parser() -> None:
    command = ["node", "--experimental-vm-modules", "--no-warnings", "--input-type=module", "-e", PARSE]
    names = json.dumps([str(script) for script in SCRIPTS])
    done = subprocess.run(command, input=names, capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_module_is_short_documented_and_avoids_unsafe_constructs(script: Path) -> None:
    text = script.read_text()
    assert len(text.splitlines()) <= LINES_MAX
    assert text.startswith(("/**", "// "))
    assert FORBIDDEN.findall(text) == []


async def test_modules_are_served_as_immutable_under_their_edition(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    cookie = {"Cookie": f"hubbub_session={nora.token}"}
    page = await town.world.request("GET", f"{town.url}/app", headers=cookie)
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert "unsafe" not in policy
    [address] = re.findall(r'<script type="module" src="([^"]+)">', page.body.decode())

    served = await town.world.request("GET", town.url + address)

    assert (served.status, served.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert served.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    again = await town.world.request("GET", town.url + address, headers={"If-None-Match": served.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    folder, _, name = address.rpartition("/")
    nested = await town.world.request("GET", f"{town.url}{folder}/state/state.js")
    assert (nested.status, nested.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    # Only the files that were found at startup are served.
    for missing in (
        f"{folder}/nothing.js",
        f"{folder}/state",
        f"{folder}/state/main.js",
        f"{folder}/../style.css",
        f"{folder}/%2e%2e/style.css",
        f"{folder}/state/..%2fmain.js",
        f"{folder}//state/state.js",
        f"/static/app/{'0' * 12}/{name}",
    ):
        assert (await town.world.request("GET", town.url + missing)).status == 404, missing
    # Pages without the client allow no scripts.
    assert "script-src" not in (await town.world.request("GET", f"{town.url}/login")).headers["Content-Security-Policy"]


async def test_every_module_loads_without_an_error(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    names = [
        script.relative_to(FOLDER).as_posix() for script in SCRIPTS if script.name not in ("main.js", "bootstrap.js")
    ]
    async with town.window(nora) as hers:
        load = (
            "([folder, names]) => Promise.all(names.map(name => import(`${folder}/${name}`))).then(all => all.length)"
        )
        assert await hers.page.evaluate(load, [edition(), names]) == len(names)


MARKDOWN: list[tuple[str, Any]] = [
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

# Runs in the page: the tree as a readable line.
WRITTEN = """async ([folder, texts]) => {
  const { parseMarkdown } = await import(`${folder}/content/markdown_parser.js`);
  const write = nodes => nodes.map(node => {
    const inside = () => write(node.children);
    switch (node.type) {
      case "text": return node.text;
      case "lines": return inside();
      case "heading": return `<h${node.level}>${inside()}</h${node.level}>`;
      case "subtext": return `<sub>${inside()}</sub>`;
      case "code": return `<code>${node.text}</code>`;
      case "block": return `<block${node.language && ` ${node.language}`}>${node.text}</block>`;
      case "link": return `<a ${node.href}>${inside()}</a>`;
      case "list": {
        const items = node.items.map(item => `<li>${write(item)}</li>`).join("");
        return node.ordered ? `<ol ${node.start}>${items}</ol>` : `<ul>${items}</ul>`;
      }
      case "everyone": return `<everyone ${node.text}>`;
      case "emoji": return `<emoji ${node.name} ${node.id}>`;
      case "command": return `<command ${node.name}>`;
      case "time": return `<time ${node.seconds} ${node.style}>`;
      default: return node.children ? `<${node.type}>${inside()}</${node.type}>` : `<${node.type} ${node.id}>`;
    }
  }).join("");
  return texts.map(text => write(parseMarkdown(text)));
}"""


async def test_markdown_renders_as_in_the_table_and_long_hostile_texts_keep_their_end(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    async with town.window(nora) as hers:
        written = await hers.page.evaluate(WRITTEN, [edition(), [text for text, _ in MARKDOWN]])
        assert dict(zip([text for text, _ in MARKDOWN], written, strict=True)) == dict(MARKDOWN)
        marks = ("*", "**", "_", "__", "~~", "||", "`", "[", "[](", "> ", "<", "\\", "- ", "https://", "***a", "||`")
        # `make bench` measures that the time is linear in the length.
        written = await hers.page.evaluate(WRITTEN, [edition(), [(mark * 4000)[:3999] + "a" for mark in marks]])
        ends = {mark: re.sub(r"(</?\w+>)+$", "", text)[-1] for mark, text in zip(marks, written, strict=True)}
        assert ends == dict.fromkeys(marks, "a")


PERMISSIONS = """async ([folder, cases]) => {
  const { channelPermissions } = await import(`${folder}/state/permissions.js`);
  return cases.map(([guild, member, channel, parent]) => String(channelPermissions(guild, member, channel, parent ?? undefined)));
}"""


async def test_the_client_computes_the_same_permissions_as_the_server(town: ChatPlatform) -> None:
    nora = await town.world.user("nora")
    view, send, everyone, threads = 1 << 10, 1 << 11, 1 << 17, 1 << 38

    def guild(*roles: tuple[str, int]) -> dict[str, Any]:
        return {"id": "1", "owner_id": "9", "roles": [{"id": id, "permissions": str(bits)} for id, bits in roles]}

    def channel(*overwrites: tuple[str, int, int, int], type: int = 0) -> dict[str, Any]:
        found = [{"id": id, "type": kind, "allow": str(yes), "deny": str(no)} for id, kind, yes, no in overwrites]
        return {"id": "5", "type": type, "permission_overwrites": found}

    member, owner = {"user": {"id": "2"}, "roles": ["3"]}, {"user": {"id": "9"}, "roles": []}
    base = view | send | everyone
    thread = {"id": "6", "type": 11}
    cases: list[tuple[list[Any], int]] = [
        ([guild(("1", base)), member, channel()], base),
        ([guild(("1", base)), member, channel(("1", 0, 0, send))], view),
        ([guild(("1", base)), member, channel(("1", 0, 0, send), ("3", 0, send, 0))], base),
        ([guild(("1", base), ("3", 0)), member, channel(("3", 0, 0, view))], 0),
        ([guild(("1", base)), member, channel(("3", 0, 0, view), ("2", 1, view, 0))], base),
        ([guild(("1", base), ("3", 8)), member, channel(("1", 0, 0, view))], (1 << 53) - 1),
        ([guild(("1", 0)), owner, channel()], (1 << 53) - 1),
        ([guild(("1", view | send)), member, channel(type=2)], view),
        ([guild(("1", view | threads)), member, thread, channel()], view | threads | send),
        ([guild(("1", view | send)), member, thread, channel()], view),
    ]
    async with town.window(nora) as hers:
        found = await hers.page.evaluate(PERMISSIONS, [edition(), [case for case, _ in cases]])
        assert [int(each) for each in found] == [bits for _, bits in cases]


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
async def test_the_client_is_accessible(town: ChatPlatform, width: int, scheme: str) -> None:
    nora, tom = await town.world.user("nora"), await town.world.user("tom")
    guild = await town.world.guild(nora, tom, name="The Guild of All Harbours and Lighthouses")
    await befriend(nora, tom)
    forum = await guild.channel("ideas", type=15)
    lounge = await guild.channel("lounge", type=2)
    said = await guild.send_message(
        tom, f"**Hello** <@{nora.id}> {'unbroken' * 30} `code` https://example.com/{'a' * 200}"
    )
    await guild.send_message(
        nora, "> Yes.\n- a\n- b", message_reference={"message_id": said["id"]}, embeds=[{"title": "Tides"}]
    )
    (await tom.put(f"/channels/{guild.general}/messages/{said['id']}/reactions/%F0%9F%8E%89/@me")).ok()
    problems: list[str] = []
    async with town.window(nora, general(guild), width=width, scheme=scheme) as hers:
        page = hers.page

        async def look(where: str) -> None:
            # The client has landmarks of its own, where pages have a header and a footer.
            found = [each for each in await page.evaluate(AUDIT) if not each.startswith("landmark")]
            problems.extend(f"{where}: {each}" for each in found)

        await hers.sees("Hello")
        await look("channel")
        await (await hers.sees("Hello")).focus()
        await page.get_by_role("button", name="More", exact=True).click()
        await page.get_by_role("menuitem", name="Pin").wait_for()
        await look("menu")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Emoji").click()
        await look("emoji")
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Search").click()
        await look("search")
        await page.keyboard.press("Escape")
        if width == PHONE:
            await page.get_by_role("button", name="Channels and conversations").click()
            await look("channels")
        for where in (f"/app/channels/{guild.id}/{forum}", f"/app/channels/{guild.id}/{lounge}", "/app"):
            await hers.go(where)
            await page.locator(".view-head").wait_for()
            await look(where)
    assert problems == []
