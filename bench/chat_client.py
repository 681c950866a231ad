"""The chat client in Chromium while messages arrive: processor time per message, long tasks, and growth.

    python -m bench.chat_client [--seconds 60] [--profile]    50 messages per second in the open channel
    python -m bench.chat_client --growth 20000                many messages, with the memory at 25, 50 and 100 %

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
from typing import Any

import aiohttp

from bench.load import Subject

MESSAGES_PER_SECOND: int = 50
MEMBER_COUNT: int = 50
CHANNEL_COUNT: int = 40
FLOOD_CONCURRENCY: int = 8
FLOOD_LAG_MAX: int = 200
"""Messages that the page may lag behind during a flood."""
LONG_TASK_MS: int = 50
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
        self._page, self._devtools = page, devtools
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
        await self._page.evaluate(OBSERVE_SCRIPT)

    async def long_tasks(self) -> list[float]:
        durations: list[float] = await self._page.evaluate("window.longTasks")
        return durations

    async def wait_shown(self, text: str) -> None:
        """Wait until a message with this text is in the page."""
        await self._page.locator(".message[data-message-id]").filter(has_text=text).first.wait_for(state="attached")

    async def start_trace(self) -> None:
        config = {"includedCategories": ["disabled-by-default-devtools.timeline", "devtools.timeline"]}
        await self._devtools.send("Tracing.start", {"traceConfig": config, "transferMode": "ReportEvents"})

    async def stop_trace(self) -> list[float]:
        """Return the processor times of the tasks of the page's main thread, in milliseconds."""
        await self._devtools.send("Tracing.end")
        await self._trace_end.wait()
        layouts = Counter((event["pid"], event["tid"]) for event in self._trace if event["name"] == "Layout")
        [(main_thread, _)] = layouts.most_common(1)
        return [
            event.get("tdur", 0) / 1000
            for event in self._trace
            if event["name"] == "RunTask" and (event["pid"], event["tid"]) == main_thread
        ]

    async def start_profiler(self) -> None:
        await self._devtools.send("Profiler.enable")
        await self._devtools.send("Profiler.setSamplingInterval", {"interval": 500})
        await self._devtools.send("Profiler.start")

    async def stop_profiler(self) -> dict[str, Any]:
        profile: dict[str, Any] = (await self._devtools.send("Profiler.stop"))["profile"]
        return profile


@asynccontextmanager
async def open_chat_page(subject: Subject) -> AsyncIterator[ChatPage]:
    """Open the channel of the benchmark as its user."""
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
        page = await context.new_page()
        await page.goto(
            f"{connection_info['url']}/app/channels/{connection_info['guild']}/{connection_info['channel']}"
        )
        await page.locator("textarea.compose").wait_for()
        devtools = await context.new_cdp_session(page)
        await devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        yield ChatPage(page, devtools)
        await browser.close()


@asynccontextmanager
async def run_subject() -> AsyncIterator[Subject]:
    """Run the platform with a guild of `MEMBER_COUNT` members and `CHANNEL_COUNT` further channels."""
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            connection_info = subject.connection_info
        with Subject("hubbub-members", folder, connection_info["guild"], str(MEMBER_COUNT)) as subject:
            subject.connection_info = connection_info | subject.connection_info
            async with aiohttp.ClientSession(headers={"Authorization": connection_info["user_token"]}) as client:
                for number in range(CHANNEL_COUNT):
                    url = f"{subject.connection_info['url']}/api/v10/guilds/{connection_info['guild']}/channels"
                    async with client.post(url, json={"name": f"channel-{number}"}) as response:
                        response.raise_for_status()
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
        url = f"{self._connection_info['url']}/api/v10/channels/{self._connection_info['channel']}/messages"
        text = TEXTS[number % len(TEXTS)].format(number=number, user=self._connection_info["user_id"])
        headers = {"Authorization": tokens[number * 7 // 3 % len(tokens)]}
        async with self._client.post(url, json={"content": text}, headers=headers) as response:
            response.raise_for_status()

    async def send_last(self, page: ChatPage) -> None:
        """Send the next message and a message with a unique text, and wait until the page shows the latter."""
        await self.send()
        url = f"{self._connection_info['url']}/api/v10/channels/{self._connection_info['channel']}/messages"
        text = f"mark {self.count} end"
        headers = {"Authorization": self._connection_info["user_token"]}
        async with self._client.post(url, json={"content": text}, headers=headers) as response:
            response.raise_for_status()
        await page.wait_shown(text)

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
            names = ("JSHeapUsedSize", "Nodes", "JSEventListeners", "Documents")
            samples.append({"messages": sender.count} | {name: metrics[name] for name in names})
            print(samples[-1], flush=True)
    return samples


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
    arguments = parser.parse_args()
    if arguments.growth:
        asyncio.run(measure_growth(arguments.growth))
        return
    result = asyncio.run(measure_stream(arguments.seconds, has_profile=arguments.profile))
    for milliseconds, name in result.pop("profile", []):
        print(f"{milliseconds:10.1f} ms  {name}")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
