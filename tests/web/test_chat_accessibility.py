"""Accessibility of the states of the chat client: views, menus, dialogs, popups, empty and error states, and calls.

Other files check the states of settings (`test_chat_settings_accessibility.py`, `test_chat_account_settings.py`), of the composer
(`test_chat_composer.py`) and of the pages outside of the client (`test_accessibility.py`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hubbub.protocol.enums import ChannelType, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.server.talk.uploads import PNG, send_files
from tests.web.calls import join_call, tone_microphone_script, wait_call
from tests.web.chat import ChatPlatform, general_path
from tests.web.conftest import DESKTOP_WIDTH, PHONE_WIDTH
from tests.web.settings import accessibility_problems
from tests.world import Actor, Guild, befriend

pytestmark = pytest.mark.timeout(600)

Step = Callable[[Any], Awaitable[None]]
"""One action of the user in a page."""

on_phone_and_desktop = pytest.mark.parametrize(("width", "scheme"), [(PHONE_WIDTH, "dark"), (DESKTOP_WIDTH, "light")])


def click(role: Any, name: str) -> Step:
    """Click an element with this role and exactly this name."""

    async def run(page: Any) -> None:
        await page.get_by_role(role, name=name, exact=True).first.click()

    return run


def click_on(selector: str) -> Step:
    """Click the first element that a selector matches."""

    async def run(page: Any) -> None:
        await page.locator(selector).first.click()

    return run


def open_context_menu(selector: str) -> Step:
    """Open the context menu of an element."""

    async def run(page: Any) -> None:
        await page.locator(selector).first.click(button="right")

    return run


def choose(name: str) -> Step:
    """Choose an entry of the open menu."""
    return click("menuitem", name)


def press(key: str) -> Step:
    """Press a key in the focused element."""

    async def run(page: Any) -> None:
        await page.keyboard.press(key)

    return run


def fill(role: Any, name: str, text: str) -> Step:
    """Fill in a field."""

    async def run(page: Any) -> None:
        await page.get_by_role(role, name=name).first.fill(text)

    return run


def type_in_composer(text: str) -> Step:
    """Type a text into the composer, in place of the draft that the browser keeps."""

    async def run(page: Any) -> None:
        await page.locator("textarea.compose").fill("")
        await page.locator("textarea.compose").press_sequentially(text)

    return run


def open_message_menu(text: str) -> Step:
    """Open the menu of the message that contains this text, with the keyboard."""

    async def run(page: Any) -> None:
        await page.locator(".message[data-message-id]").filter(has_text=text).first.focus()
        await page.get_by_role("button", name="More", exact=True).click()

    return run


def wait_visible(selector: str) -> Step:
    """Wait until an element is visible."""

    async def run(page: Any) -> None:
        await page.locator(selector).first.wait_for()

    return run


def wait_dialog(name: str) -> Step:
    """Wait until the dialog with this name is open."""

    async def run(page: Any) -> None:
        await page.get_by_role("dialog", name=name).first.wait_for()

    return run


async def show_side(page: Any) -> None:
    """Show the channels, which a phone hides."""
    if not await page.locator(".side-head").is_visible():
        await page.get_by_role("button", name="Channels and conversations", exact=True).click()


async def show_members(page: Any) -> None:
    """Show the members, which a phone hides."""
    if page.viewport_size["width"] == PHONE_WIDTH:
        await page.get_by_role("button", name="Members", exact=True).click()
    await page.locator(".members-area .member").first.wait_for()


@dataclass(frozen=True)
class State:
    """A state of the client: the place in which it occurs, and the steps that lead to it."""

    name: str
    steps: tuple[Step, ...]
    place: str = "general"


WAIT_MENU = wait_visible("[role=menu]")

STATES = (
    State("messages of every kind", (wait_visible(".message .poll"),)),
    State("message menu", (open_message_menu("Hello"), WAIT_MENU)),
    State("deletion of a message", (open_message_menu("Mine"), choose("Delete"), wait_dialog("Delete this message?"))),
    State("editing", (open_message_menu("Mine"), choose("Edit"), wait_visible(".message textarea"))),
    State("replying", (open_message_menu("Hello"), choose("Reply"), wait_visible(".reply-bar, .replying"))),
    State("reactions", (open_message_menu("Hello"), choose("Show reactions"), wait_dialog("Reactions"))),
    State("forwarding", (open_message_menu("Hello"), choose("Forward"), wait_dialog("Forward message"))),
    State("report", (open_message_menu("Hello"), choose("Report message"), wait_dialog("Report message"))),
    State("selection", (open_message_menu("Hello"), choose("Select messages"), wait_visible(".selection-bar"))),
    State("new thread", (open_message_menu("Hello"), choose("Create thread"), wait_dialog("New thread"))),
    State("image viewer", (click_on(".message img[alt='cat.png']"), wait_visible("dialog.viewer"))),
    State("threads", (click("button", "Threads"), wait_dialog("Threads"))),
    State("pins", (click("button", "Pinned messages"), wait_dialog("Pinned messages"))),
    State(
        "search results",
        (
            click("button", "Search"),
            fill("combobox", "Search messages", "Hello"),
            press("Enter"),
            wait_visible(".search-result-list li, .search-status"),
        ),
    ),
    State(
        "search filters",
        (click("button", "Search"), fill("combobox", "Search messages", "from:"), wait_visible("[role=option]")),
    ),
    State("channel menu", (click("button", "Channel options"), WAIT_MENU)),
    State("channel editor", (click("button", "Channel options"), choose("Edit channel"), wait_dialog("Edit channel"))),
    State(
        "channel settings",
        (
            click("button", "Channel options"),
            choose("Edit channel"),
            click("button", "All settings"),
            wait_visible(".settings-heading:text-is('general')"),
        ),
    ),
    State("channel deletion", (click("button", "Channel options"), choose("Delete"), wait_dialog("Delete #general?"))),
    State("lengths of a mute", (click("button", "Channel options"), choose("Mute…"), WAIT_MENU)),
    State(
        "notifications of a channel",
        (click("button", "Channel options"), choose("Notification settings"), wait_visible("dialog[open]")),
    ),
    State("quick switcher", (press("Control+k"), wait_dialog("Go to"))),
    State("shortcuts", (press("Control+/"), wait_dialog("Keyboard shortcuts"))),
    State("guild menu", (show_side, click("button", "Menu of Harbor"), WAIT_MENU)),
    State(
        "invite", (show_side, click("button", "Menu of Harbor"), choose("Invite people"), wait_visible("dialog[open]"))
    ),
    State("guild moves", (show_side, click("button", "Menu of Harbor"), choose("Move…"), WAIT_MENU)),
    State(
        "new channel",
        (show_side, click("button", "Menu of Harbor"), choose("Create channel"), wait_dialog("Create channel")),
    ),
    State("category menu", (show_side, open_context_menu(".category"), WAIT_MENU)),
    State("context menu of a channel", (show_side, open_context_menu(".side-nav a[href*='/channels/']"), WAIT_MENU)),
    State(
        "status menu",
        (show_side, wait_visible(".account-button"), click("button", "nora, Online: change status"), WAIT_MENU),
    ),
    State("account menu", (show_side, click("button", "Account menu"), WAIT_MENU)),
    State("joining", (show_side, click("button", "Join or create a guild"), wait_dialog("Join or create a guild"))),
    State("mentions", (show_side, click("button", "Mentions"), wait_dialog("Mentions"))),
    State("members", (show_members,)),
    State("member menu", (show_members, open_context_menu(".members-area .member"), WAIT_MENU)),
    State("profile", (show_members, click_on(".members-area .member"), wait_visible("dialog[open]"))),
    State(
        "settings of the own profile",
        (
            show_members,
            click_on(".members-area .member:has-text('nora')"),
            click("button", "Edit profile"),
            wait_dialog("User settings"),
        ),
    ),
    State("mention suggestions", (type_in_composer("@to"), wait_visible("[role=listbox] [role=option]"))),
    State("emoji suggestions", (type_in_composer(":tada"), wait_visible("[role=listbox] [role=option]"))),
    State("a text that is too long", (fill("textbox", "Message #general", "x" * 2_100),)),
    State("thread beside its channel", (wait_visible(".message"),), "thread"),
    State("thread menu", (wait_visible(".message"), click("button", "Channel options"), WAIT_MENU), "thread"),
    State("forum", (wait_visible(".posts li"),), "forum"),
    State("new post", (click("button", "New post"), wait_dialog("New post")), "forum"),
    State("empty forum", (wait_visible(".view-head"),), "empty forum"),
    State("voice channel", (wait_visible(".view-head"),), "lounge"),
    State("stage", (wait_visible(".view-head"),), "stage"),
    State("friends", (wait_visible(".view-head"), wait_visible(".friend, .friends li, .relationship")), "friends"),
    State("conversation", (wait_visible(".message"),), "conversation"),
    State(
        "conversation menu", (wait_visible(".message"), click("button", "Channel options"), WAIT_MENU), "conversation"
    ),
    State("group", (wait_visible(".view-head"),), "group"),
    State("new conversation", (show_side, click("button", "New message"), wait_dialog("New message")), "friends"),
)


async def create_places(platform: ChatPlatform, nora: Actor, tom: Actor) -> tuple[Guild, dict[str, str]]:
    """Create a guild with content of every kind, and return it with the paths of the places of the states."""
    guild = await platform.world.guild(nora, tom, name="Harbor")
    await befriend(nora, tom)
    category_id = await guild.channel("Piers", type=ChannelType.GUILD_CATEGORY)
    tags = [{"name": "Question", "emoji_name": "❓"}]
    forum_id = await guild.channel(
        "ideas", type=ChannelType.GUILD_FORUM, parent_id=str(category_id), available_tags=tags
    )
    empty_forum_id = await guild.channel("nothing", type=ChannelType.GUILD_FORUM)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    stage_channel_id = await guild.channel("concert", type=ChannelType.GUILD_STAGE_VOICE)
    post = {"name": "A longer pier", "message": {"content": "Ten meters"}}
    (await tom.post(f"/channels/{forum_id}/threads", json=post)).ok()

    await guild.send_message(
        nora, "# Heading\n## Second\n```python\nprint(1)\n```\n||secret|| `code` > quote\n- a\n- b"
    )
    poll = {
        "question": {"text": "When?"},
        "answers": [{"poll_media": {"text": "Now"}}, {"poll_media": {"text": "Later"}}],
    }
    await guild.send_message(tom, "", poll=poll)
    await guild.send_message(
        tom, f"Look <@{nora.id}>", embeds=[{"title": "Tides", "description": "High", "color": 0xFF8800}]
    )
    (await send_files(tom, f"/channels/{guild.general}/messages", ("cat.png", PNG), ("notes.txt", b"hello"))).ok()
    deleted_message = await guild.send_message(tom, "Deleted")
    await guild.send_message(nora, "A reply", message_reference={"message_id": deleted_message["id"]})
    (await tom.delete(f"/channels/{guild.general}/messages/{deleted_message['id']}")).ok()
    hello = await guild.send_message(tom, f"Hello <@{nora.id}>, see <#{lounge_id}>")
    (await tom.put(f"/channels/{guild.general}/messages/{hello['id']}/reactions/%F0%9F%8E%89/@me")).ok()
    (await nora.put(f"/channels/{guild.general}/messages/pins/{hello['id']}")).ok()
    own_message = await guild.send_message(nora, "Mine")
    thread_path = f"/channels/{guild.general}/messages/{own_message['id']}/threads"
    thread = (await nora.post(thread_path, json={"name": "Moorings"})).ok()
    await guild.send_message(tom, "In the thread", int(thread["id"]))

    conversation = (await nora.post("/users/@me/channels", json={"recipient_id": str(tom.id)})).ok()
    (await tom.post(f"/channels/{conversation['id']}/messages", json={"content": "Hello Nora"})).ok()
    zoe = await platform.world.user("zoe")
    await befriend(nora, zoe)
    recipients = {"recipients": [str(tom.id), str(zoe.id)]}
    group = (await nora.post("/users/@me/channels", json=recipients)).ok()
    path = f"/app/channels/{guild.id}"
    return guild, {
        "general": f"{path}/{guild.general}",
        "thread": f"{path}/{thread['id']}",
        "forum": f"{path}/{forum_id}",
        "empty forum": f"{path}/{empty_forum_id}",
        "lounge": f"{path}/{lounge_id}",
        "stage": f"{path}/{stage_channel_id}",
        "friends": "/app",
        "conversation": f"/app/channels/@me/{conversation['id']}",
        "group": f"/app/channels/@me/{group['id']}",
    }


@on_phone_and_desktop
async def test_every_state_is_accessible(platform: ChatPlatform, width: int, scheme: str) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    _, places = await create_places(platform, nora, tom)
    problems: list[str] = []
    async with platform.open_window(nora, width=width, scheme=scheme) as window:
        for state in STATES:
            await window.open(places[state.place])
            await window.page.locator(".view-head").first.wait_for()
            for step in state.steps:
                await step(window.page)
            problems += [f"{state.name}: {problem}" for problem in await accessibility_problems(window)]
    assert problems == []


READ_COLORS = """() => {
  const read = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
  return {
    current: read(".side-list .entry[aria-current]", "backgroundColor"),
    other: read(".side-list .entry:not([aria-current])", "backgroundColor"),
    mention: read(".message.mentions-user", "borderInlineStartColor"),
    message: read(".message:not(.mentions-user)", "borderInlineStartColor"),
    paper: read("body", "backgroundColor"),
    online: read(".members-area .status.online", "backgroundColor"),
  };
}"""


async def test_states_are_visible_with_forced_colors_and_content_fits_at_200_percent(platform: ChatPlatform) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    await guild.send_message(tom, f"Look <@{nora.id}>, a_very_long_word_{'x' * 120}")
    await guild.send_message(tom, "Hello")
    async with platform.open_window(nora, general_path(guild)) as window:
        page = window.page
        await page.emulate_media(forced_colors="active", reduced_motion="reduce")
        await window.wait_message("Hello")
        await page.locator(".members-area .status.online").first.wait_for()
        colors = await page.evaluate(READ_COLORS)
        assert colors["current"] != colors["other"]
        assert colors["mention"] != colors["message"] == colors["paper"]
        assert colors["online"] != colors["paper"]
        await press("Control+k")(page)
        await wait_dialog("Go to")(page)
        await page.keyboard.type("general")
        await page.locator("dialog [role=option][aria-selected=true]").wait_for()
        option_background = "getComputedStyle(document.querySelector('dialog [aria-selected=true]')).backgroundColor"
        assert await page.evaluate(option_background) == colors["current"]
        assert await page.evaluate("document.getAnimations().length") == 0, "users who reduce motion see no animation"
        await press("Escape")(page)
        # A zoom of 200 % halves the size of the viewport.
        await page.emulate_media(forced_colors="none", reduced_motion="reduce")
        await page.set_viewport_size({"width": DESKTOP_WIDTH // 2, "height": 400})
        assert await accessibility_problems(window) == []
        assert (await window.composer.bounding_box())["width"] > DESKTOP_WIDTH // 4


@on_phone_and_desktop
async def test_states_after_faults_and_moderation_are_accessible(
    platform: ChatPlatform, width: int, scheme: str
) -> None:
    nora, tom = await platform.world.user("nora"), await platform.world.user("tom")
    guild = await platform.world.guild(nora, tom)
    problems: list[str] = []
    async with platform.open_window(tom, general_path(guild), width=width, scheme=scheme) as window:
        window.expected_errors = ("Failed to load resource", "WebSocket")

        async def check(name: str, selector: str) -> None:
            await window.page.locator(selector).first.wait_for()
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(window))

        await check("empty channel", ".beginning")
        route = "/channels/{channel_id}/messages"
        await platform.inject_fault(transport="http", effect="status", status=503, method="POST", route=route)
        await window.send("fails")
        await check("failed message", "text=Try again")
        (await nora.patch(f"/channels/{guild.general}", json={"rate_limit_per_user": 30})).ok()
        await check("slow mode", "text=Slow mode: one message every 0:30.")
        await platform.inject_fault(transport="gateway", effect="close", code=4000, moment="identify", times=5)
        await platform.inject_fault(transport="gateway", effect="drop", user_id=str(tom.id))
        await check("lost connection", "text=Connection lost.")
        await platform.clear_faults()
        await window.page.get_by_text("Connection lost.").wait_for(state="hidden")
        await guild.overwrite(guild.general, guild.id, deny=Permissions.SEND_MESSAGES, target_type=OverwriteType.ROLE)
        await window.composer.wait_for(state="hidden")
        await check("read only", ".view-title")
        (await nora.delete(f"/guilds/{guild.id}/members/{tom.id}")).ok()
        await check("removed", "text=You are no longer a member of Guild.")
    assert problems == []


@on_phone_and_desktop
async def test_calls_are_accessible(call_platform: ChatPlatform, width: int, scheme: str) -> None:
    nora, tom = await call_platform.world.user("nora"), await call_platform.world.user("tom")
    guild = await call_platform.world.guild(nora, tom)
    await befriend(nora, tom)
    lounge_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    stage_channel_id = await guild.channel("concert", type=ChannelType.GUILD_STAGE_VOICE)
    channel = (await tom.post("/users/@me/channels", json={"recipient_id": str(nora.id)})).ok()
    problems: list[str] = []
    async with (
        call_platform.open_window(
            nora,
            f"/app/channels/{guild.id}/{lounge_id}",
            width=width,
            scheme=scheme,
            init_script=tone_microphone_script(440),
        ) as window,
        call_platform.open_window(
            tom, f"/app/channels/{guild.id}/{lounge_id}", init_script=tone_microphone_script(880)
        ) as tom_window,
    ):
        page = window.page

        async def check(name: str, *steps: Step) -> None:
            for step in steps:
                await step(page)
            problems.extend(f"{name}: {problem}" for problem in await accessibility_problems(window))

        await join_call(window)
        await join_call(tom_window)
        await wait_call(window, tom.id)
        await check("call", wait_visible(".tile"))
        await check("call details", click("button", "End-to-end encrypted"), wait_dialog("Call details"))
        await press("Escape")(page)
        await check("channels during a call", show_side, wait_visible(".side hubbub-call-bar [role=group]"))
        await window.open(f"/app/channels/{guild.id}/{stage_channel_id}")
        await check("stage", wait_visible(".view-head"))
        await tom_window.open(f"/app/channels/@me/{channel['id']}")
        await tom_window.page.get_by_role("button", name="Start call").click()
        await check("incoming call", wait_dialog("Incoming call"))
    assert problems == []
