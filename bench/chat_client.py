"""The chat client in Chromium while messages arrive: processor time per message, long tasks, and growth.

    python -m bench.chat_client [--seconds 60] [--profile]    50 messages per second in the open channel
    python -m bench.chat_client --growth 20000                many messages, with the memory at 25, 50 and 100 %
    python -m bench.chat_client --minutes 30 [--rate 20]      a steady stream, with the memory every five minutes
    python -m bench.chat_client --large [--profile]           a guild of 10,000 members and 500 channels

`python -m bench client` measures the same with limits. Members of the guild send the messages over the HTTP API. The processor
time is that of the page's main thread, which does not depend on other programs; long tasks are measured by the clock too, so
other programs lengthen them.
"""

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import aiohttp

from bench.load import Subject
from hubbub.protocol.enums import ChannelType, GatewayOpcode

MESSAGES_PER_SECOND: int = 50
MEMBER_COUNT: int = 50
CHANNEL_COUNT: int = 40
CATEGORY_SIZE: int = 20
LARGE_MEMBER_COUNT: int = 10_000
LARGE_CHANNEL_COUNT: int = 490
"""Channels beside those of a new guild; a guild has at most 500."""
ONLINE_COUNT: int = 40
FLOOD_CONCURRENCY: int = 8
FLOOD_LAG_MAX: int = 200
"""Messages that the page may lag behind during a flood."""
LONG_TASK_MS: int = 50
WAIT_MS: int = 120_000
"""Timeout of every wait; it only ends a run that would otherwise hang."""
SAMPLE_SECONDS: int = 300
VISIT_SECONDS: int = 30
"""Time between two visits of another channel during a long stream."""
GROWTH_NAMES: tuple[str, ...] = ("JSHeapUsedSize", "Nodes", "JSEventListeners", "Documents")
TEXTS: tuple[str, ...] = (
    "message number {number} says hello",
    "**bold** and *italic* text in number {number}, with `code` and a link: https://example.com/{number}",
    "> a quote\nand an answer to <@{user}>, number {number}",
    "A longer message {number}: " + "the quick brown fox jumps over the lazy dog, " * 4,
    "- one\n- two\n- number {number} 🎉",
)
OBSERVE_SCRIPT = """
window.longTasks = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
}).observe({ type: "longtask", buffered: false });
"""


class ChatPage:
    """The chat client in a page of Chromium, with the channel of the benchmark open."""

    def __init__(self, page: Any, devtools: Any) -> None:
        self.page, self._devtools = page, devtools
        self._trace: list[dict[str, Any]] = []
        self._trace_end = asyncio.Event()
        devtools.on("Tracing.dataCollected", lambda event: self._trace.extend(event["value"]))
        devtools.on("Tracing.tracingComplete", lambda _: self._trace_end.set())

    async def metrics(self) -> dict[str, float]:
        """Return the counters of the page; durations are seconds of processor time."""
        reply = await self._devtools.send("Performance.getMetrics")
        return {metric["name"]: metric["value"] for metric in reply["metrics"]}

    async def collect_garbage(self) -> None:
        for _ in range(2):
            await self._devtools.send("HeapProfiler.collectGarbage")

    async def start_observing(self) -> None:
        await self.page.evaluate(OBSERVE_SCRIPT)

    async def long_tasks(self) -> list[float]:
        durations: list[float] = await self.page.evaluate("window.longTasks")
        return durations

    async def visit_other_channel(self) -> None:
        """Open another channel and return to the channel of the benchmark, like a user."""
        entry = self.page.locator(".side-nav a.entry[aria-current]")
        path = await entry.get_attribute("href")
        await self.page.locator(".side-nav a.entry[href*='/channels/']:not([aria-current])").first.click()
        await self.page.locator(f".side-nav a.entry[href='{path}']").click()
        await entry.and_(self.page.locator(f"[href='{path}']")).wait_for()

    async def wait_shown(self, text: str) -> None:
        """Wait until a message with this text is in the page."""
        await self.page.locator(".message[data-message-id]").filter(has_text=text).first.wait_for(state="attached")

    async def start_trace(self) -> None:
        config = {"includedCategories": ["disabled-by-default-devtools.timeline", "devtools.timeline"]}
        await self._devtools.send("Tracing.start", {"traceConfig": config, "transferMode": "ReportEvents"})

    async def stop_trace(self) -> list[float]:
        """Return the processor times of the tasks of the page's main thread, in milliseconds."""
        await self._devtools.send("Tracing.end")
        await self._trace_end.wait()
        self._trace_end.clear()
        trace, self._trace = self._trace, []
        main_threads = {
            (event["pid"], event["tid"])
            for event in trace
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks: dict[tuple[int, int], list[float]] = {thread: [] for thread in main_threads}
        for event in trace:
            thread = (event["pid"], event["tid"])
            if event["name"] == "RunTask" and thread in tasks:
                tasks[thread].append(event.get("tdur", 0) / 1000)
        # Chromium keeps a spare renderer, which is idle.
        return max(tasks.values(), key=sum)

    @asynccontextmanager
    async def measure(self, name: str, results: dict[str, dict[str, float]], count: int = 1) -> AsyncIterator[None]:
        """Measure what the user does in the block: processor time by action, and the longest task, in milliseconds."""
        await self.start_trace()
        yield
        await self.settle()
        tasks = await self.stop_trace()
        results[name] = {"cpu_ms": round(sum(tasks) / count, 1), "longest_ms": round(max(tasks), 1)}
        print(name, results[name], flush=True)

    async def settle(self) -> None:
        """Wait until the page has drawn its pending changes; large guilds draw their members with a delay."""
        await self.page.evaluate(
            "new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done)), 700))"
        )

    async def start_profiler(self) -> None:
        await self._devtools.send("Profiler.enable")
        await self._devtools.send("Profiler.setSamplingInterval", {"interval": 500})
        await self._devtools.send("Profiler.start")

    async def stop_profiler(self) -> dict[str, Any]:
        profile: dict[str, Any] = (await self._devtools.send("Profiler.stop"))["profile"]
        return profile


@asynccontextmanager
async def open_chat_page(subject: Subject, path: str | None = None) -> AsyncIterator[ChatPage]:
    """Open a path of the client as the user of the benchmark, by default its channel."""
    from playwright.async_api import async_playwright

    connection_info = subject.connection_info
    arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"), args=arguments
        )
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        await context.add_cookies(
            [{"name": "hubbub_session", "value": connection_info["user_token"], "url": connection_info["url"]}]
        )
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        if path is None:
            path = f"/app/channels/{connection_info['guild']}/{connection_info['channel']}"
        await page.goto(connection_info["url"] + path)
        await page.locator(".account-name").wait_for()
        devtools = await context.new_cdp_session(page)
        await devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        yield ChatPage(page, devtools)
        await browser.close()


@asynccontextmanager
async def run_subject(member_count: int = MEMBER_COUNT, channel_count: int = CHANNEL_COUNT) -> AsyncIterator[Subject]:
    """Run the platform with a guild with members and further channels, in categories of 20."""
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            connection_info = subject.connection_info
        with Subject("hubbub-members", folder, connection_info["guild"], str(member_count)) as subject:
            subject.connection_info = connection_info | subject.connection_info
            async with aiohttp.ClientSession(headers={"Authorization": connection_info["user_token"]}) as client:
                url = f"{subject.connection_info['url']}/api/v10/guilds/{connection_info['guild']}/channels"
                category: dict[str, Any] = {}
                for number in range(channel_count):
                    is_category = number % (CATEGORY_SIZE + 1) == 0
                    body = (
                        {"name": f"channel-{number}", "type": ChannelType.GUILD_CATEGORY}
                        if is_category
                        else {"name": f"channel-{number}", "parent_id": category["id"]}
                    )
                    async with client.post(url, json=body) as response:
                        response.raise_for_status()
                        category = await response.json() if is_category else category
            yield subject


class Sender:
    """Members who send messages in the channel of the benchmark."""

    def __init__(self, subject: Subject, client: aiohttp.ClientSession) -> None:
        self._connection_info, self._client = subject.connection_info, client
        self.count = 0

    async def send(self) -> None:
        """Send the next message as the next member."""
        number = self.count
        self.count += 1
        tokens = self._connection_info["member_tokens"]
        text = TEXTS[number % len(TEXTS)].format(number=number, user=self._connection_info["user_id"])
        await self._post(text, tokens[number * 7 // 3 % len(tokens)])

    async def send_last(self, page: ChatPage) -> None:
        """Send the next message and a message with a unique text, and wait until the page shows the latter."""
        await self.send()
        text = f"mark {self.count} end"
        await self._post(text, self._connection_info["user_token"])
        await page.wait_shown(text)

    async def _post(self, text: str, token: str) -> None:
        """Send a message; repeat it while the server rejects requests because it has too many."""
        url = f"{self._connection_info['url']}/api/v10/channels/{self._connection_info['channel']}/messages"
        while True:
            async with self._client.post(url, json={"content": text}, headers={"Authorization": token}) as response:
                if response.status != HTTPStatus.SERVICE_UNAVAILABLE:
                    response.raise_for_status()
                    return
            await asyncio.sleep(1.0)

    async def send_steadily(self, per_second: int, seconds: float) -> None:
        """Send messages at a rate, independent of the time that each of them takes."""
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        async with asyncio.TaskGroup() as group:
            for number in range(int(per_second * seconds)):
                await asyncio.sleep(max(0.0, started_at + number / per_second - loop.time()))
                group.create_task(self.send())

    async def flood(self, count: int, page: ChatPage) -> None:
        """Send many messages as fast as the page shows them."""
        for start in range(0, count, FLOOD_LAG_MAX):
            remaining = min(FLOOD_LAG_MAX, count - start)
            for _ in range(0, remaining, FLOOD_CONCURRENCY):
                await asyncio.gather(*(self.send() for _ in range(FLOOD_CONCURRENCY)))
            await self.send_last(page)


async def measure_stream(seconds: float, *, has_profile: bool = False) -> dict[str, Any]:
    """Measure the page while 50 messages per second arrive."""
    async with run_subject() as subject, aiohttp.ClientSession() as client, open_chat_page(subject) as page:
        sender = Sender(subject, client)
        # Fill the window of loaded messages, so that the number of rows stays constant.
        await sender.flood(300, page)
        await page.collect_garbage()
        await page.start_observing()
        if has_profile:
            await page.start_profiler()
        metrics_before, count_before = await page.metrics(), sender.count
        await page.start_trace()
        await sender.send_steadily(MESSAGES_PER_SECOND, seconds)
        await sender.send_last(page)
        tasks = await page.stop_trace()
        metrics_after = await page.metrics()
        profile = await page.stop_profiler() if has_profile else None
        long_tasks = await page.long_tasks()
    count = sender.count - count_before
    names = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    result: dict[str, Any] = {
        name: round((metrics_after[name] - metrics_before[name]) / count * 1000, 3) for name in names
    }
    result |= {"messages": count, "long_tasks": len(long_tasks), "longest_ms": max(long_tasks, default=0.0)}
    result |= {
        "long_tasks_cpu": sum(milliseconds > LONG_TASK_MS for milliseconds in tasks),
        "longest_cpu_ms": round(max(tasks), 1),
    }
    result["layouts_per_message"] = round((metrics_after["LayoutCount"] - metrics_before["LayoutCount"]) / count, 2)
    if profile is not None:
        result["profile"] = list_hot_functions(profile)
    return result


def list_hot_functions(profile: dict[str, Any]) -> list[tuple[float, str]]:
    """Return the functions with the most own time, in milliseconds."""
    names = {
        node["id"]: f"{node['callFrame']['functionName'] or '(anonymous)'} "
        f"{node['callFrame']['url'].rpartition('/')[2]}:{node['callFrame']['lineNumber'] + 1}"
        for node in profile["nodes"]
    }
    times: Counter[str] = Counter()
    for node_id, microseconds in zip(profile["samples"], profile["timeDeltas"], strict=True):
        times[names[node_id]] += microseconds
    return [(round(microseconds / 1000, 1), name) for name, microseconds in times.most_common(40)]


async def measure_growth(count: int) -> list[dict[str, float]]:
    """Send messages; return heap, DOM nodes and event listeners after 25, 50 and 100 % of them."""
    samples = []
    async with run_subject() as subject, aiohttp.ClientSession() as client, open_chat_page(subject) as page:
        sender = Sender(subject, client)
        for share in (1, 1, 2):
            await sender.flood(count * share // 4, page)
            await page.collect_garbage()
            metrics = await page.metrics()
            samples.append({"messages": sender.count} | {name: metrics[name] for name in GROWTH_NAMES})
            print(samples[-1], flush=True)
    return samples


async def measure_minutes(minutes: float, per_second: int) -> list[dict[str, float]]:
    """Send messages steadily while the user sometimes visits another channel; return the memory every five minutes."""
    samples: list[dict[str, float]] = []
    async with run_subject() as subject, aiohttp.ClientSession() as client, open_chat_page(subject) as page:
        sender = Sender(subject, client)
        await sender.flood(300, page)
        for _ in range(int(minutes * 60 // SAMPLE_SECONDS)):
            for _ in range(SAMPLE_SECONDS // VISIT_SECONDS):
                await sender.send_steadily(per_second, VISIT_SECONDS)
                await page.visit_other_channel()
                await sender.send_last(page)
            await page.collect_garbage()
            metrics = await page.metrics()
            samples.append({"messages": sender.count} | {name: metrics[name] for name in GROWTH_NAMES})
            print(samples[-1], flush=True)
    return samples


class OnlineMembers:
    """Gateway sessions of members, who change their presence."""

    def __init__(self, subject: Subject, client: aiohttp.ClientSession) -> None:
        self._connection_info, self._client = subject.connection_info, client
        self._sockets: list[aiohttp.ClientWebSocketResponse] = []
        self._readers: list[asyncio.Task[None]] = []

    async def connect(self, count: int) -> None:
        url = self._connection_info["url"].replace("http", "ws", 1) + "/gateway?v=10&encoding=json"
        for token in self._connection_info["member_tokens"][:count]:
            socket = await self._client.ws_connect(url, max_msg_size=0)
            await socket.receive_json()
            properties = {"os": "linux", "browser": "bench", "device": "bench"}
            await socket.send_json(
                {"op": GatewayOpcode.IDENTIFY, "d": {"token": token, "properties": properties, "intents": 0}}
            )
            await socket.receive_json()
            self._sockets.append(socket)
            self._readers.append(asyncio.create_task(self._discard(socket)))

    async def change_presence(self, rounds: int) -> None:
        """Change the status of every member, some times in a row."""
        for number in range(rounds):
            status = ("idle", "dnd", "online")[number % 3]
            for socket in self._sockets:
                presence: dict[str, Any] = {"since": None, "activities": [], "status": status, "afk": False}
                await socket.send_json({"op": GatewayOpcode.PRESENCE_UPDATE, "d": presence})
            await asyncio.sleep(0.3)

    async def close(self) -> None:
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        for socket in self._sockets:
            await socket.close()

    @staticmethod
    async def _discard(socket: aiohttp.ClientWebSocketResponse) -> None:
        async for _ in socket:
            pass


async def measure_large_guild(*, has_profile: bool = False) -> dict[str, dict[str, float]]:
    """Measure what users do in a guild of 10,000 members and 500 channels."""
    results: dict[str, dict[str, float]] = {}
    async with (
        run_subject(LARGE_MEMBER_COUNT, LARGE_CHANNEL_COUNT) as subject,
        aiohttp.ClientSession() as client,
        open_chat_page(subject, "/app") as chat_page,
    ):
        page, connection_info = chat_page.page, subject.connection_info
        sender, members = Sender(subject, client), OnlineMembers(subject, client)
        await members.connect(ONLINE_COUNT)
        channels = page.locator(".side-nav a.entry[href*='/channels/']")
        if has_profile:
            await chat_page.start_profiler()
        async with chat_page.measure("open the guild", results):
            await page.locator(f".rail-area a[href*='{connection_info['guild']}']").first.click()
            await page.locator("textarea.compose").wait_for()
        async with chat_page.measure("switch channels", results, 10):
            for index in range(1, 11):
                await channels.nth(index).click()
                await page.locator("textarea.compose").wait_for()
        async with chat_page.measure("scroll the channels", results, 20):
            await scroll(page, ".side-nav", 20)
        async with chat_page.measure("scroll the members, and load them", results, 20):
            await scroll(page, ".members-area aside", 20)
            await page.locator(".member-placeholder").first.wait_for(state="detached")
        async with chat_page.measure("scroll all members", results, 20):
            await scroll(page, ".members-area aside", 20)
        async with chat_page.measure("presence changes", results, ONLINE_COUNT * 6):
            await members.change_presence(6)
        async with chat_page.measure("role changes", results, 10):
            await change_roles(client, connection_info, 10)
        async with chat_page.measure("channel changes", results, 10):
            await change_channels(client, connection_info, 10)
        async with chat_page.measure("complete a mention", results, 10):
            await page.locator("textarea.compose").press_sequentially("@member999")
            await page.locator("[role=listbox] [role=option]").first.wait_for()
        await page.locator("textarea.compose").fill("")
        async with chat_page.measure("quick switcher", results, 10):
            await page.keyboard.press("Control+k")
            await page.keyboard.type("channel-48")
            await page.locator("dialog [role=option]").first.wait_for()
        await page.keyboard.press("Escape")
        async with chat_page.measure("messages in other channels", results, 200):
            await sender.send_steadily(20, 10)
        if has_profile:
            for milliseconds, name in list_hot_functions(await chat_page.stop_profiler()):
                print(f"{milliseconds:10.1f} ms  {name}")
        await members.close()
    return results


async def scroll(page: Any, selector: str, steps: int) -> None:
    """Scroll an element from its start to its end."""
    for step in range(steps + 1):
        await page.evaluate(
            "([selector, share]) => { const node = document.querySelector(selector);"
            " node.scrollTop = (node.scrollHeight - node.clientHeight) * share; }",
            [selector, step / steps],
        )
        await page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


async def change_roles(client: aiohttp.ClientSession, connection_info: dict[str, Any], count: int) -> None:
    """Create a role and change its color, as its owner."""
    url = f"{connection_info['url']}/api/v10/guilds/{connection_info['guild']}/roles"
    headers = {"Authorization": connection_info["user_token"]}
    async with client.post(url, json={"name": "crew", "hoist": True}, headers=headers) as response:
        role = await response.json()
    for number in range(count - 1):
        async with client.patch(f"{url}/{role['id']}", json={"color": number + 1}, headers=headers) as response:
            response.raise_for_status()


async def change_channels(client: aiohttp.ClientSession, connection_info: dict[str, Any], count: int) -> None:
    """Rename the channel of the benchmark."""
    url = f"{connection_info['url']}/api/v10/channels/{connection_info['channel']}"
    headers = {"Authorization": connection_info["user_token"]}
    for number in range(count):
        async with client.patch(url, json={"name": f"general-{number}"}, headers=headers) as response:
            response.raise_for_status()


async def run_client_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure the processor time per message, and growth over many messages."""
    result = await measure_stream(10 if is_quick else 60)
    detail = f"script {result['ScriptDuration']}, style {result['RecalcStyleDuration']}, layout {result['LayoutDuration']} ms"
    record_figure("chat client per message, CPU", result["TaskDuration"], 10.0, "ms", detail)
    detail = f"longest {result['longest_ms']:.0f} ms, {result['messages']} messages"
    record_figure("chat client: tasks above 50 ms by the clock", result["long_tasks"], None, "tasks", detail)
    detail = f"longest {result['longest_cpu_ms']:.0f} ms"
    record_figure("chat client: tasks above 50 ms, CPU", result["long_tasks_cpu"], 0, "tasks", detail)
    samples = await measure_growth(2_000 if is_quick else 20_000)
    for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners"):
        record_figure(f"chat client growth: {name} at 100 % / 25 %", samples[-1][name] / samples[0][name], 1.1, "x")


def main() -> None:
    """Measure, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m bench.chat_client", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--profile", action="store_true", help="print the functions with the most own time")
    parser.add_argument("--growth", type=int, metavar="MESSAGES", help="measure growth instead")
    parser.add_argument(
        "--large", action="store_true", help="measure a guild of 10,000 members and 500 channels instead"
    )
    parser.add_argument("--minutes", type=float, help="measure growth over this time instead")
    parser.add_argument("--rate", type=int, default=20, help="messages per second with --minutes")
    arguments = parser.parse_args()
    if arguments.large:
        asyncio.run(measure_large_guild(has_profile=arguments.profile))
        return
    if arguments.minutes:
        asyncio.run(measure_minutes(arguments.minutes, arguments.rate))
        return
    if arguments.growth:
        asyncio.run(measure_growth(arguments.growth))
        return
    result = asyncio.run(measure_stream(arguments.seconds, has_profile=arguments.profile))
    for milliseconds, name in result.pop("profile", []):
        print(f"{milliseconds:10.1f} ms  {name}")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
