"""Interactive terminal of the agent: consent questions and a few commands."""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TextIO

from hubbub.agent.commands.playing import join
from hubbub.agent.desk import Desk
from hubbub.protocol.rpc import RpcError

HELP: Final = """\
  games           list the connected games
  link ID         link your account with a game
  invites         list your invites
  accept MESSAGE  accept an invite
  quit            stop the agent"""


class Terminal:
    """Reads lines and passes them to the open question, or else runs them as commands."""

    def __init__(self, source: TextIO | None = None, say: Callable[[str], Any] = print) -> None:
        self._source = source or sys.stdin
        self.say = say
        self._asked: asyncio.Future[str] | None = None
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def start(self) -> None:
        """Start to read, on a thread, because not every system can read a terminal asynchronously."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                for line in self._source:
                    loop.call_soon_threadsafe(self._take, line.rstrip("\n"))
                loop.call_soon_threadsafe(self._take, None)
            except (RuntimeError, ValueError):
                # The agent has stopped.
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
        """Ask a question and return the answer; raise EOFError if the terminal is closed."""
        self.say(question)
        self._asked = asyncio.get_running_loop().create_future()
        try:
            return await self._asked
        finally:
            self._asked = None

    async def serve(self, desk: Desk) -> None:
        """Run the typed commands until `quit`."""
        while (line := await self._lines.get()) is not None:
            word, _, rest = line.strip().partition(" ")
            if word == "quit":
                return
            await self.obey(desk, word, rest.strip())
        # A closed terminal does not stop the agent, which may have been started by a script.
        await asyncio.Event().wait()

    async def obey(self, desk: Desk, word: str, rest: str) -> None:
        """Run one command."""
        if word == "games":
            linked = await desk.linked()
            for link in desk.links:
                offers = any(each.event == "AUTHORIZE_REQUEST" for each in link.subscriptions)
                note = ", linked" if link.application_id in linked else ", can be linked" if offers else ""
                self.say(f"  {link.application.name} ({link.application_id}){note}")
        elif word == "link":
            told = await desk.request_authorization(rest)
            self.say(
                "  The game will ask for access in a moment."
                if told
                else "  This game cannot be linked now. Type `games` to see which games can."
            )
        elif word == "invites":
            for message_id, invite in desk.invites.items():
                self.say(f"  {message_id}: {invite['user']['username']} invites you to {invite['application']}")
        elif word == "accept" and rest in desk.invites:
            await self._accept(desk, rest, desk.invites[rest])
        elif word:
            self.say(HELP)

    async def _accept(self, desk: Desk, message_id: str, invite: dict[str, Any]) -> None:
        where = {"channel_id": invite["channel_id"], "message_id": message_id}
        try:
            told = await join(desk, invite["user"]["id"], str(invite["session_id"]), invite["application_id"], where)
        except RpcError as error:
            self.say(f"  Could not accept the invite: {error.message}")
            return
        del desk.invites[message_id]
        self.say(
            "  The game is joining."
            if told
            else "  Invite accepted. The agent cannot start the game; start it yourself to join."
        )
