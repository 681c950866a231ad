"""Polling for a condition in a page.

`Page.wait_for_function` calls `eval` outside of the evaluation that the debugger protocol exempts, so a page whose policy
forbids `unsafe-eval` fails unless the condition holds at the first check. `evaluate` is exempt at every check.
"""

import asyncio
from typing import Any

TIMEOUT_SECONDS = 30.0
INTERVAL_SECONDS = 0.05


async def wait_until(frame: Any, script: str, argument: Any = None) -> None:
    """Evaluate a script in a page or frame until its result is true; raise TimeoutError after 30 seconds."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await frame.evaluate(script, argument):
            await asyncio.sleep(INTERVAL_SECONDS)
