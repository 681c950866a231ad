"""Consent of the user to an application: on the terminal, in the browser, or decided in advance (spec/rpc.md#7)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

from hubbub.sdk.daemon_threads import run_in_daemon_thread
from hubbub.sdk.loopback import LoopbackServer

RESPONSE_TIMEOUT_SECONDS: Final = 300.0
"""Maximum time for the user to respond."""


class ConsentRequest(NamedTuple):
    """A request of an application for access to the user's account."""

    application: str
    """Name of the application."""
    user_name: str
    """Name of the user."""
    scopes: list[str]
    """Descriptions of the requested scopes."""
    url: str
    """URL of the platform's consent page."""
    fields: dict[str, str]
    """Query parameters of the consent page."""


class ConsentResponse(NamedTuple):
    """The decision of the user."""

    granted: bool
    """Whether the user agreed."""
    redirect_query: dict[str, str] | None = None
    """Query parameters of the redirect if the user decided on the platform's consent page; None otherwise."""
    redirect_uri: str | None = None
    """Redirect URI of the consent page; None without it."""


DENIED: Final = ConsentResponse(granted=False)


class Consent(Protocol):
    """Interface for asking the user for consent."""

    async def ask(self, question: ConsentRequest) -> ConsentResponse:
        """Ask the user for consent and return the decision."""


class FixedConsent:
    """Consent with a fixed decision, for rehearsals and unattended machines."""

    def __init__(self, granted: bool) -> None:
        self._answer = ConsentResponse(granted)

    async def ask(self, question: ConsentRequest) -> ConsentResponse:
        """Return the fixed decision."""
        return self._answer


class TerminalConsent:
    """Consent on the terminal, by a yes/no question."""

    def __init__(self, ask: Callable[[str], Awaitable[str]], write_line: Callable[[str], Any] = print) -> None:
        self._ask = ask
        self._write = write_line
        self._lock = asyncio.Lock()

    async def ask(self, question: ConsentRequest) -> ConsentResponse:
        """Ask one question at a time; any answer but yes denies, and so does a timeout."""
        async with self._lock:
            self._write(f"{question.application} requests access to the account {question.user_name}:")
            for description in question.scopes:
                self._write(f"  - {description}")
            try:
                async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                    answer = await self._ask("Allow? [y/N] ")
            except (TimeoutError, EOFError):
                return DENIED
        return ConsentResponse(answer.strip().lower() in ("y", "yes"))


class BrowserConsent:
    """Consent in the browser, on the platform's consent page."""

    def __init__(self, opener: Callable[[str], Any]) -> None:
        self._opener = opener

    async def ask(self, question: ConsentRequest) -> ConsentResponse:
        """Open the consent page and wait for its redirect; the application must allow loopback redirects."""
        async with LoopbackServer() as loopback:
            fields = question.fields | {"redirect_uri": loopback.redirect_uri}
            await run_in_daemon_thread(self._opener, f"{question.url}?{urlencode(fields)}")
            try:
                async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                    redirect_query = await loopback.redirect_query
            except TimeoutError:
                return DENIED
            return ConsentResponse("code" in redirect_query, redirect_query, loopback.redirect_uri)
