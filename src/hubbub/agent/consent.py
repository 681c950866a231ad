"""Consent of the user to an application: on the terminal, in the browser, or decided in advance (spec/rpc.md#7)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.loopback import LoopbackServer

RESPONSE_TIMEOUT_SECONDS: Final = 300.0
"""Maximum time for the user to respond to a consent request."""


class ConsentRequest(NamedTuple):
    """A request of an application for access to the user's account."""

    application_name: str
    user_name: str
    scope_descriptions: list[str]
    consent_url: str
    """URL of the platform's consent page."""
    query: dict[str, str]
    """Query parameters of the consent page."""


class ConsentResponse(NamedTuple):
    """The user's decision on a consent request."""

    is_granted: bool
    """Whether the user agreed."""
    redirect_query: dict[str, str] | None = None
    """Query parameters of the redirect if the user decided on the platform's consent page; None otherwise."""
    redirect_uri: str | None = None
    """Redirect URI that was passed to the consent page; None if the user decided elsewhere."""


DENIED: Final = ConsentResponse(is_granted=False)


class Consent(Protocol):
    """Interface for asking the user for consent."""

    async def ask(self, request: ConsentRequest) -> ConsentResponse:
        """Ask the user for consent and return the decision."""


class FixedConsent:
    """Consent with a fixed decision, for rehearsals and unattended machines."""

    def __init__(self, *, is_granted: bool) -> None:
        self._response = ConsentResponse(is_granted)

    async def ask(self, request: ConsentRequest) -> ConsentResponse:
        """Return the fixed decision."""
        return self._response


class TerminalConsent:
    """Consent by a yes/no question on the terminal."""

    def __init__(self, ask: Callable[[str], Awaitable[str]], write_line: Callable[[str], Any] = print) -> None:
        self._ask = ask
        self._write_line = write_line
        self._lock = asyncio.Lock()

    async def ask(self, request: ConsentRequest) -> ConsentResponse:
        """Ask the user on the terminal, one request at a time. Any answer other than yes, and a timeout, deny the request."""
        async with self._lock:
            self._write_line(f"{request.application_name} requests access to the account {request.user_name}:")
            for description in request.scope_descriptions:
                self._write_line(f"  - {description}")
            try:
                async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                    answer = await self._ask("Allow? [y/N] ")
            except (TimeoutError, EOFError):
                return DENIED
        return ConsentResponse(answer.strip().lower() in ("y", "yes"))


class BrowserConsent:
    """Consent in the browser, on the platform's consent page."""

    def __init__(self, open_url: Callable[[str], Any]) -> None:
        self._open_url = open_url

    async def ask(self, request: ConsentRequest) -> ConsentResponse:
        """Open the consent page and wait for its redirect; a timeout denies the request.

        The application must allow loopback redirects."""
        async with LoopbackServer() as loopback:
            query = request.query | {"redirect_uri": loopback.redirect_uri}
            await run_in_daemon_thread(self._open_url, f"{request.consent_url}?{urlencode(query)}")
            try:
                async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                    redirect_query = await loopback.redirect_query
            except TimeoutError:
                return DENIED
            return ConsentResponse("code" in redirect_query, redirect_query, loopback.redirect_uri)
