"""A platform for Python programs that are not pytest tests, such as scripts, notebooks and other test frameworks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

import hubbub
from hubbub.protocol.control.snapshots import RateLimitEnforcement
from hubbub.testing.platform import Platform, to_utc
from hubbub.testing.process import PlatformProcess, WorldChoice

DEFAULT_WITHIN_SECONDS = 10.0
"""Default time that expectations and interactions wait, in seconds."""


@contextmanager
def start_platform(
    *,
    world: str | Path | Mapping[str, Any] | None = None,
    now: datetime | str | None = None,
    rate_limits: RateLimitEnforcement = "report",
    seed: int = 0,
    within: float = DEFAULT_WITHIN_SECONDS,
) -> Iterator[Platform]:
    """Start a server process with a platform, and stop both at the end of the block.

    `world` is the path of a world file or a mapping of the same shape, by default the demo world. `now` is the platform's
    time at the start, by default that of the machine. Raise PlatformUnavailable if the server does not start, RequestRejected
    if the world is invalid, and AssertionError at the end if an action was never awaited and failed."""
    choice = WorldChoice(*read_world(world), seed, None if now is None else to_utc(now))
    process = PlatformProcess()
    try:
        platform = Platform(process, process.fork(choice, rate_limits), within)
        try:
            yield platform
        except BaseException:
            platform.has_failed_test = True
            platform.close()
            raise
        errors = platform.close()
        if errors:
            raise AssertionError("\n".join(errors))
    finally:
        process.close()


def read_world(world: str | Path | Mapping[str, Any] | None) -> tuple[bytes, str]:
    """Return the content of a world file and its media type; None is the demo world."""
    if isinstance(world, Mapping):
        return msgspec.json.encode(world), "application/json"
    path = Path(hubbub.__file__).parent / "server" / "worlds" / "demo.toml" if world is None else Path(world)
    return path.read_bytes(), "application/toml"
