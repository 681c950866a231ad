"""The SDK threads started by the current test, without threads that earlier tests left in the process."""

import threading

from hubbub.sdk.aside import THREAD

_before: set[threading.Thread] = set()


def begin() -> None:
    """Ignore all threads that exist now."""
    _before.clear()
    _before.update(threading.enumerate())


def network() -> set[threading.Thread]:
    """Return the network threads of game loop clients."""
    return _own("hubbub-network")


def aside() -> set[threading.Thread]:
    """Return the background threads of blocking calls."""
    return _own(THREAD)


def _own(name: str) -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith(name) and each not in _before}
