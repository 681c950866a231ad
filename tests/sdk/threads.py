"""The SDK's threads that a test started itself: what those before it left in the process is none of its business."""

import threading

from hubbub.sdk.aside import THREAD

_before: set[threading.Thread] = set()


def begin() -> None:
    """From here on, threads are the next test's."""
    _before.clear()
    _before.update(threading.enumerate())


def network() -> set[threading.Thread]:
    """Those that clients of a game loop have for the network."""
    return _own("hubbub-network")


def aside() -> set[threading.Thread]:
    """Those with calls that block."""
    return _own(THREAD)


def _own(name: str) -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith(name) and each not in _before}
