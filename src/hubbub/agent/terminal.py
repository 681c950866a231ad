"""The agent's own terminal: questions for the person, and a few words of theirs."""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TextIO

from hubbub.agent.commands.playing import join
from hubbub.agent.desk import Desk
from hubbub.protocol.rpc import RpcError

HELP: Final = """\
  games           who is connected, and whether it can be linked
  link ID         begin to link your account with a game that offers it
  invites         invitations to play
  accept MESSAGE  accept one of them
  quit            end the agent"""


class Terminal:
    """Lines that a person types, to whoever asked, or else to the agent."""

    def __init__(self, source: TextIO | None = None, say: Callable[[str], Any] = print) -> None:
        self._source = source or sys.stdin
        self.say = say
        self._asked: asyncio.Future[str] | None = None
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def start(self) -> None:
        """Read from now on; a thread does it, since a terminal cannot be read otherwise everywhere."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                for line in self._source:
                    loop.call_soon_threadsafe(self._take, line.rstrip("\n"))
                loop.call_soon_threadsafe(self._take, None)
            except (RuntimeError, ValueError):
                # The agent has ended meanwhile.
                return

        threading.Thread(target=read, name="hubbub-terminal", daemon=True).start()

    def _take(self, line: str | None) -> None:
        if self._asked is not None and not self._asked.done():
            if line is None:
                self._asked.set_exception(EOFError())
            else:
                self._asked.set_result(line)
        else:
            self._lines.put_nowait(line)

    async def ask(self, question: str) -> str:
        """What the person answers; EOFError if they closed the terminal."""
        self.say(question)
        self._asked = asyncio.get_running_loop().create_future()
        try:
            return await self._asked
        finally:
            self._asked = None

    async def serve(self, desk: Desk) -> None:
        """Do what the person types, until they want no more."""
        while (line := await self._lines.get()) is not None:
            word, _, rest = line.strip().partition(" ")
            if word == "quit":
                return
            await self.obey(desk, word, rest.strip())
        # A terminal that is closed ends no agent: it may have been started from a script.
        await asyncio.Event().wait()

    async def obey(self, desk: Desk, word: str, rest: str) -> None:
        """One line."""
        if word == "games":
            linked = await desk.linked()
            for link in desk.links:
                offers = any(each.event == "AUTHORIZE_REQUEST" for each in link.subscriptions)
                stands = ", linked" if link.application_id in linked else ", can be linked" if offers else ""
                self.say(f"  {link.application.name} ({link.application_id}){stands}")
        elif word == "link":
            told = await desk.request_authorization(rest)
            self.say("  It asks you in a moment." if told else "  No such game offers it now; see `games`.")
        elif word == "invites":
            for message_id, invite in desk.invites.items():
                self.say(f"  {message_id}: {invite['user']['username']} to {invite['application']}")
        elif word == "accept" and rest in desk.invites:
            await self._accept(desk, rest, desk.invites[rest])
        elif word:
            self.say(HELP)

    async def _accept(self, desk: Desk, message_id: str, invite: dict[str, Any]) -> None:
        where = {"channel_id": invite["channel_id"], "message_id": message_id}
        try:
            told = await join(desk, invite["user"]["id"], str(invite["session_id"]), invite["application_id"], where)
        except RpcError as error:
            self.say(f"  That did not work: {error.message}")
            return
        del desk.invites[message_id]
        self.say(
            "  The game joins."
            if told
            else "  Accepted, but the game does not run here, and never said how it is started."
        )
