"""Asking the person: on the agent's terminal, in their browser, or as they decided beforehand (rpc.md 7)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

from hubbub.sdk.aside import aside
from hubbub.sdk.loopback import Loopback

ANSWER_S: Final = 300.0
"""How long a person may think."""


class Question(NamedTuple):
    """What an application wants."""

    application: str
    """Its name."""
    person: str
    scopes: list[str]
    """What it wants to do, in words."""
    address: str
    """The platform's own page for the same question."""
    fields: dict[str, str]
    """What that page is asked with."""


class Answer(NamedTuple):
    """What the person said."""

    granted: bool
    returned: dict[str, str] | None = None
    """What the browser brought back, where the platform's page was answered and not we."""
    redirect_uri: str | None = None


NO: Final = Answer(granted=False)


class Consent(Protocol):
    """Somebody who can be asked."""

    async def ask(self, question: Question) -> Answer:
        """Whether the person agrees."""


class Decided:
    """The person decided beforehand: always for rehearsals, never for machines that nobody watches."""

    def __init__(self, granted: bool) -> None:
        self._answer = Answer(granted)

    async def ask(self, question: Question) -> Answer:
        """The same for everybody."""
        return self._answer


class OnTerminal:
    """Asks in words, for a yes or a no."""

    def __init__(self, ask: Callable[[str], Awaitable[str]], say: Callable[[str], Any] = print) -> None:
        self._ask = ask
        self._say = say
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> Answer:
        """One question at a time; anything but yes is a no, silence too."""
        async with self._turn:
            self._say(f"{question.application} asks {question.person} to let it:")
            for words in question.scopes:
                self._say(f"  - {words}")
            try:
                async with asyncio.timeout(ANSWER_S):
                    answer = await self._ask("Allow? [y/N] ")
            except (TimeoutError, EOFError):
                return NO
        return Answer(answer.strip().lower() in ("y", "yes"))


class InBrowser:
    """Opens the platform's consent page, and waits for the browser to come back to this machine."""

    def __init__(self, opener: Callable[[str], Any]) -> None:
        self._opener = opener

    async def ask(self, question: Question) -> Answer:
        """What the page was answered; an application without a loopback redirect cannot be asked about in this way."""
        async with Loopback() as loopback:
            fields = question.fields | {"redirect_uri": loopback.redirect_uri}
            await aside(self._opener, f"{question.address}?{urlencode(fields)}")
            try:
                async with asyncio.timeout(ANSWER_S):
                    returned = await loopback.answer
            except TimeoutError:
                return NO
            return Answer("code" in returned, returned, loopback.redirect_uri)
