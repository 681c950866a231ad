"""The cost of input that is written to be slow: twice the length must cost about twice the time, not four times.

Each figure is the worst ratio of a set of texts. The fastest of several tries counts: in CPU time, or in elapsed time for
the markdown parser, which runs in Node.
"""

import json
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable

RATIO_MAX = 3.0
"""Limit of the ratio: linear cost doubles with twice the length, and quadratic cost quadruples."""
TRY_COUNT = 5
LOG_TEXTS = ("a", "a-", "token:'", "Bot ", "://", "a.", "code:", "code=A")
MARKDOWN_DELIMITERS = (
    "*",
    "**",
    "_",
    "__",
    "~~",
    "||",
    "`",
    "[",
    "[](",
    "> ",
    "<",
    "\\",
    "- ",
    "https://",
    "***a",
    "||`",
)
TEXT_LENGTH_MAX = 4000
"""Length of the longest markdown text in characters: the maximum of all text displays of a message."""

MARKDOWN_TIMER_SCRIPT = """
import { readFileSync } from "node:fs";
const { module, texts, tries } = JSON.parse(readFileSync(0, "utf8"));
const { parseMarkdown } = await import(module);
const time = text => {
  const from = performance.now();
  parseMarkdown(text);
  return performance.now() - from;
};
console.log(JSON.stringify(texts.map(text => Math.min(...Array.from({ length: tries }, () => time(text))))));
"""
"""A Node program that prints the shortest time of several tries for each text, in milliseconds."""


async def run_hostile_input_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure the log filter, the keyword matcher, and the markdown parser of the chat client if Node is installed."""
    _measure_log_filter(record_figure, 50_000 if is_quick else 200_000)
    _measure_keyword_matcher(record_figure)
    if shutil.which("node") is not None:
        _measure_markdown_parser(record_figure)


def _record_worst_ratio(record_figure: Callable[..., None], name: str, ratios: Iterable[tuple[float, str]]) -> None:
    worst_ratio, detail = max(ratios)
    record_figure(f"{name}, twice the length, CPU", worst_ratio, RATIO_MAX, "x", detail)


def _min_cpu_seconds(function: Callable[[str], object], text: str) -> float:
    """Return the CPU seconds of the fastest try."""
    durations = []
    for _ in range(TRY_COUNT):
        started_at = time.thread_time()
        function(text)
        durations.append(time.thread_time() - started_at)
    return min(durations)


def _measure_log_filter(record_figure: Callable[..., None], length: int) -> None:
    from hubbub.server.core.logs import Secrets

    clean = Secrets().clean
    ratios = []
    for log_text in LOG_TEXTS:
        single_time, double_time = (
            _min_cpu_seconds(clean, log_text * (text_length // len(log_text))) for text_length in (length, 2 * length)
        )
        ratios.append(
            (
                double_time / single_time,
                f"{log_text!r}: {double_time * 1000:.0f} ms against {single_time * 1000:.0f} ms",
            )
        )
    _record_worst_ratio(record_figure, "removal of secrets from a hostile log text", ratios)


def _measure_keyword_matcher(record_figure: Callable[..., None]) -> None:
    from hubbub.server.talk.auto_moderation.triggers.keyword_matcher import Matcher

    rng = random.Random(7)
    noise = "".join(rng.choice("ab") for _ in range(8000))
    rules: dict[str, tuple[list[str], list[str], list[str], str]] = {
        "one letter": (["*a*"] * 1000, [], ["*a*"], "a" * 8000),
        "every length": ([f"*{'a' * length}*" for length in range(1, 58)], [], [f"*{'a' * 58}*"], "a" * 8000),
        "noise": (
            [f"*{noise[position : position + 1 + position % 18]}*" for position in range(1000)],
            [],
            [f"*{noise[position : position + 58]}*" for position in range(0, 8000, 40)],
            noise,
        ),
        "patterns": ([], ["(a+)+$", "(x+x+)+y", "(.*a){12}$"], [], "x" * 8000),
    }
    ratios = []
    for name, (keywords, patterns, allowed_keywords, text) in rules.items():
        find = Matcher(keywords, patterns, allowed_keywords).find
        single_time, double_time = _min_cpu_seconds(find, text[: len(text) // 2]), _min_cpu_seconds(find, text)
        ratios.append(
            (double_time / single_time, f"{name}: {double_time * 1000:.1f} ms against {single_time * 1000:.1f} ms")
        )
    _record_worst_ratio(record_figure, "keyword match of a hostile message", ratios)


def _measure_markdown_parser(record_figure: Callable[..., None]) -> None:
    from hubbub.server.transports.web import templating

    module = templating.PACKAGE_DIR / "static" / "app" / "content" / "markdown_parser.js"
    texts = [
        (delimiter * text_length)[:text_length]
        for delimiter in MARKDOWN_DELIMITERS
        for text_length in (TEXT_LENGTH_MAX // 2, TEXT_LENGTH_MAX)
    ]
    task = json.dumps({"module": module.as_uri(), "texts": texts, "tries": 4 * TRY_COUNT})
    command = ["node", "--input-type=module", "-e", MARKDOWN_TIMER_SCRIPT]
    times = json.loads(subprocess.run(command, input=task, capture_output=True, text=True, check=True).stdout)
    slowest = max(times)
    ratios = [
        (
            double_time / single_time,
            f"{delimiter!r}: {double_time:.1f} ms against {single_time:.1f} ms, the slowest text {slowest:.1f} ms",
        )
        for delimiter, single_time, double_time in zip(MARKDOWN_DELIMITERS, times[::2], times[1::2], strict=True)
    ]
    _record_worst_ratio(record_figure, "markdown of a hostile message", ratios)
