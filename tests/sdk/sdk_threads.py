"""The SDK threads started by the current test, without threads that earlier tests left in the process."""

import threading

from hubbub.sdk.daemon_threads import THREAD_NAME

_before: set[threading.Thread] = set()


def ignore_existing() -> None:
    """Ignore all threads that exist now."""
    _before.clear()
    _before.update(threading.enumerate())


def network_threads() -> set[threading.Thread]:
    """Return the network threads of game loop clients."""
    return _own("hubbub-network")


def background_threads() -> set[threading.Thread]:
    """Return the background threads of blocking calls."""
    return _own(THREAD_NAME)


def _own(name: str) -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith(name) and each not in _before}
