"""The chat client under many messages: the numbers of rows, nodes and event listeners stay the same."""

import asyncio
from typing import Any

from tests.web.chat import ChatPlatform, ChatWindow, general_path
from tests.world import Actor, Guild

FOLLOWED_ROW_COUNT = 100
"""Rows of a channel while the user follows it (`state/message_log.js`)."""
READ_ROWS_MAX = 250
"""Limit of rows while the user reads older messages."""
TOLERANCE = 1.05
"""Ratio for nodes that depend on time, such as the announcements of the last messages."""


async def send_messages(guild: Guild, sender: Actor, count: int, start: int) -> None:
    """Send messages, several at a time."""
    for first_number in range(start, start + count, 10):
        numbers = range(first_number, min(first_number + 10, start + count))
        await asyncio.gather(*(guild.send_message(sender, f"**message** number {number} end") for number in numbers))


async def wait_last_message(window: ChatWindow, guild: Guild, sender: Actor, text: str) -> None:
    """Send one more message and wait until the page shows it."""
    await guild.send_message(sender, text)
    await window.wait_message(text)


async def read_counts(devtools: Any) -> dict[str, float]:
    """Return the numbers of nodes and event listeners after a garbage collection."""
    for _ in range(2):
        await devtools.send("HeapProfiler.collectGarbage")
    metrics = (await devtools.send("Performance.getMetrics"))["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics if metric["name"] in ("Nodes", "JSEventListeners")}


async def test_a_followed_channel_does_not_grow(platform: ChatPlatform) -> None:
    nora, bo = await platform.world.user("nora"), await platform.world.user("bo")
    guild = await platform.world.guild(nora, bo)
    async with platform.open_window(nora, general_path(guild)) as window:
        devtools = await window.page.context.new_cdp_session(window.page)
        await devtools.send("Performance.enable")
        await send_messages(guild, bo, 150, 0)
        await wait_last_message(window, guild, bo, "first mark")
        assert await window.page.locator(".message[data-message-id]").count() == FOLLOWED_ROW_COUNT
        counts_before = await read_counts(devtools)

        await send_messages(guild, bo, 450, 150)
        await wait_last_message(window, guild, bo, "second mark")

        assert await window.page.locator(".message[data-message-id]").count() == FOLLOWED_ROW_COUNT
        counts_after = await read_counts(devtools)
        assert {
            name: counts_after[name] <= count * TOLERANCE for name, count in counts_before.items()
        } == dict.fromkeys(counts_before, True)


async def count_restyled_elements(window: ChatWindow, devtools: Any, guild: Guild, sender: Actor, text: str) -> int:
    """Send a message; return the number of elements whose style the browser computes until the page shows it."""
    events: list[dict[str, Any]] = []
    end_event = asyncio.Event()
    devtools.on("Tracing.dataCollected", lambda event: events.extend(event["value"]))
    devtools.on("Tracing.tracingComplete", lambda _: end_event.set())
    await devtools.send(
        "Tracing.start", {"traceConfig": {"includedCategories": ["devtools.timeline"]}, "transferMode": "ReportEvents"}
    )
    await wait_last_message(window, guild, sender, text)
    await devtools.send("Tracing.end")
    await end_event.wait()
    return sum(event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree")


async def test_a_new_message_does_not_restyle_the_other_messages(platform: ChatPlatform) -> None:
    nora, bo = await platform.world.user("nora"), await platform.world.user("bo")
    guild = await platform.world.guild(nora, bo)
    await send_messages(guild, bo, FOLLOWED_ROW_COUNT, 0)
    edited_message = await guild.send_message(bo, "first\n\nsecond")
    path = f"/channels/{guild.general}/messages/{edited_message['id']}"
    (await bo.patch(path, json={"content": "first\n# Title\nlast line"})).ok()
    async with platform.open_window(nora, general_path(guild)) as window:
        edited_row = await window.wait_message("last line")
        # The mark of an edited message follows the last line.
        line_box = await edited_row.locator(".message-text").last.bounding_box()
        mark_box = await edited_row.locator(".edited").bounding_box()
        assert line_box["y"] <= mark_box["y"] < line_box["y"] + line_box["height"]
        await send_messages(guild, bo, FOLLOWED_ROW_COUNT // 2, FOLLOWED_ROW_COUNT)
        await wait_last_message(window, guild, bo, "all rows are in the page")
        devtools = await window.page.context.new_cdp_session(window.page)
        count = await count_restyled_elements(window, devtools, guild, bo, "one more")
    assert 0 < count < FOLLOWED_ROW_COUNT


async def test_messages_in_view_stay_while_new_ones_arrive(platform: ChatPlatform) -> None:
    nora, bo = await platform.world.user("nora"), await platform.world.user("bo")
    guild = await platform.world.guild(nora, bo)
    await guild.send_message(bo, "read this")
    await send_messages(guild, bo, 40, 0)
    async with platform.open_window(nora, general_path(guild)) as window:
        row = await window.wait_message("read this")
        await window.page.locator(".scroller").hover()
        await window.page.mouse.wheel(0, -10_000)
        await window.wait_until("() => document.querySelector('.scroller').scrollTop === 0")

        await send_messages(guild, bo, 260, 40)
        await window.wait_until(
            f"() => document.querySelectorAll('.message[data-message-id]').length === {READ_ROWS_MAX}"
        )
        await guild.send_message(bo, "the newest one")

        assert await row.is_visible()
        assert await window.page.locator(".scroller").evaluate("scroller => scroller.scrollTop") == 0
        await window.page.get_by_role("button", name="Newest messages").click()
        await window.wait_message("the newest one")
