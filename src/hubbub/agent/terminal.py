"""Interactive terminal of the agent: consent questions and a few commands."""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, TextIO

from hubbub.agent.commands.activities import join_session
from hubbub.agent.context import AgentContext
from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources.user_messages import GetActivityJoinSecret
from hubbub.protocol.rpc import RpcError
from hubbub.protocol.rpc_names import RpcEvent

HELP: Final = """\
  games           list the connected games
  link ID         link your account with a game
  invites         list your invites
  accept MESSAGE  accept an invite
  quit            stop the agent"""


class Terminal:
    """Reads lines from the user. A line answers the open question; if there is none, it is a command."""

    def __init__(self, source: TextIO | None = None, write_line: Callable[[str], Any] = print) -> None:
        self._source = source or sys.stdin
        self.write_line = write_line
        self._open_question: asyncio.Future[str] | None = None
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._has_ended = False
        """Whether the input has ended, so that no question can be answered."""

    def start(self) -> None:
        """Start a thread that reads lines, because not every system can read a terminal asynchronously."""
        loop = asyncio.get_running_loop()

        def read_lines() -> None:
            try:
                try:
                    for line in self._source:
                        loop.call_soon_threadsafe(self._handle_line, line.rstrip("\n"))
                except ValueError:
                    # The input was closed, or is not text.
                    pass
                loop.call_soon_threadsafe(self._handle_line, None)
            except RuntimeError:
                # The event loop is closed: the agent has stopped.
                return

        threading.Thread(target=read_lines, name="hubbub-terminal", daemon=True).start()

    def _handle_line(self, line: str | None) -> None:
        self._has_ended = line is None
        if self._open_question is not None and not self._open_question.done():
            if line is None:
                self._open_question.set_exception(EOFError())
            else:
                self._open_question.set_result(line)
        else:
            self._lines.put_nowait(line)

    async def ask(self, question: str) -> str:
        """Ask a question and return the answer; raise EOFError if the input has ended or ends before the answer."""
        self.write_line(question)
        if self._has_ended:
            raise EOFError
        self._open_question = asyncio.get_running_loop().create_future()
        try:
            return await self._open_question
        finally:
            self._open_question = None

    async def serve(self, context: AgentContext) -> None:
        """Run the typed commands until `quit`; after the end of the input, wait until the task is canceled."""
        while (line := await self._lines.get()) is not None:
            command, _, argument = line.strip().partition(" ")
            if command == "quit":
                return
            await self.run_command(context, command, argument.strip())
        # A closed terminal does not stop the agent, which may have been started by a script.
        await asyncio.Event().wait()

    async def run_command(self, context: AgentContext, command: str, argument: str) -> None:
        """Run one command; write the help for an unknown command."""
        if command == "games":
            linked_ids = await context.fetch_linked_game_ids()
            for connection in context.connections:
                can_link = any(
                    subscription.event == RpcEvent.AUTHORIZE_REQUEST for subscription in connection.subscriptions
                )
                note = ", linked" if connection.application_id in linked_ids else ", can be linked" if can_link else ""
                self.write_line(f"  {connection.application.name} ({connection.application_id}){note}")
        elif command == "link":
            asked_program_count = await context.request_authorization(argument)
            self.write_line(
                "  The game will ask for access in a moment."
                if asked_program_count
                else "  This game cannot be linked now. Type `games` to see which games can."
            )
        elif command == "invites":
            for message_id, invite in context.invites.items():
                self.write_line(
                    f"  {message_id}: {invite['user']['username']} invites you to {invite['application_name']}"
                )
        elif command == "accept" and argument in context.invites:
            await self._accept_invite(context, argument, context.invites[argument])
        elif command:
            self.write_line(HELP)

    async def _accept_invite(self, context: AgentContext, message_id: str, invite: dict[str, Any]) -> None:
        query = GetActivityJoinSecret(channel_id=ChannelId(invite["channel_id"]), message_id=MessageId(message_id))
        try:
            is_joining = await join_session(
                context, invite["user"]["id"], str(invite["session_id"]), invite["application_id"], query
            )
        except RpcError as error:
            self.write_line(f"  Could not accept the invite: {error.message}")
            return
        del context.invites[message_id]
        self.write_line(
            "  The game is joining."
            if is_joining
            else "  Invite accepted. The agent cannot start the game; start it yourself to join."
        )
