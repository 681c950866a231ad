"""The SDK threads started by the current test, without threads that earlier tests left in the process."""

import threading

from hubbub.sdk.daemon_threads import THREAD_NAME

_existing_threads: set[threading.Thread] = set()


def ignore_existing() -> None:
    """Ignore all threads that exist now."""
    _existing_threads.clear()
    _existing_threads.update(threading.enumerate())


def network_threads() -> set[threading.Thread]:
    """Return the network threads of game loop clients."""
    return _new_threads("hubbub-network")


def background_threads() -> set[threading.Thread]:
    """Return the background threads of blocking calls."""
    return _new_threads(THREAD_NAME)


def _new_threads(name: str) -> set[threading.Thread]:
    return {
        thread for thread in threading.enumerate() if thread.name.startswith(name) and thread not in _existing_threads
    }
