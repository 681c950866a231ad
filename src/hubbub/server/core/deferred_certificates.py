"""TLS contexts that load the certificate authorities of the system when they open their first connection.

aiohttp creates two contexts when it is imported, and loading the authorities takes longer than the rest of its import.
Most rehearsals never connect to another host.
"""

import contextlib
import ssl
from collections.abc import Iterator
from typing import Any


class _DeferredContext(ssl.SSLContext):
    """A context that has not loaded the certificate authorities yet; it becomes an ordinary one when it loads them.

    asyncio and uvloop open connections with `wrap_bio`, blocking programs with `wrap_socket`."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        self._load_authorities()
        # The object is now an ordinary context, so this calls the method of SSLContext.
        return self.wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        self._load_authorities()
        # The object is now an ordinary context, so this calls the method of SSLContext.
        return self.wrap_socket(*args, **kwargs)

    def _load_authorities(self) -> None:
        """Make this object an ordinary context, and load the authorities into it."""
        self.__class__ = ssl.SSLContext  # type: ignore[assignment]
        self.set_default_verify_paths()


@contextlib.contextmanager
def defer_certificate_authorities() -> Iterator[None]:
    """Make contexts that are created in this block load the system's authorities at their first connection.

    No other thread may create a context meanwhile."""
    contexts: list[ssl.SSLContext] = []

    def record_context(context: ssl.SSLContext) -> None:
        # The context is recorded instead of loading the authorities.
        contexts.append(context)

    setattr(ssl.SSLContext, "set_default_verify_paths", record_context)  # noqa: B010 - a type checker rejects the assignment
    try:
        yield
    finally:
        # SSLContext inherits the method, so deleting the attribute restores it.
        delattr(ssl.SSLContext, "set_default_verify_paths")
        for context in contexts:
            context.__class__ = _DeferredContext
