"""`hubbub agent`: its settings, and the program around the agent."""

import argparse
import asyncio
import contextlib
import getpass
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from hubbub.agent import addresses, signing_in
from hubbub.agent.account import Account, SignedOut
from hubbub.agent.agent import Agent
from hubbub.agent.consent import Consent, Decided, InBrowser, OnTerminal
from hubbub.agent.signing_in import SettingError
from hubbub.agent.terminal import Terminal
from hubbub.protocol import rpc
from hubbub.sdk.core import WEB_BASE

URL_VARIABLE: Final = "HUBBUB_AGENT_URL"
INDEX_VARIABLE: Final = "HUBBUB_AGENT_IPC_INDEX"
STATUSES: Final = ("online", "idle", "dnd", "invisible")
CONSENTS: Final = ("ask", "browser", "always", "never")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="hubbub agent",
        description="Let the games on this machine show what you play, invite friends and link your account.",
    )
    made.add_argument("--url", help=f"the platform (default {WEB_BASE}, or {URL_VARIABLE})")
    made.add_argument(
        "--token-file", metavar="FILE", help=f"holds your token; or {signing_in.TOKEN_VARIABLE}, or you are asked"
    )
    made.add_argument("--sign-out", action="store_true", help="forget the kept token of this platform, and end")
    made.add_argument(
        "--consent",
        choices=CONSENTS,
        default="ask",
        help="how a game gets your leave: ask on this terminal (in the browser without one), browser, always, never",
    )
    made.add_argument("--status", choices=STATUSES, default="online", help="how others see you (default online)")
    made.add_argument("--websocket", action="store_true", help="also serve pages whose origin a game registered")
    made.add_argument(
        "--ipc-index", metavar="N", help=f"the number of the socket (default the first free, or {INDEX_VARIABLE})"
    )
    made.add_argument("--verbose", action="store_true", help="say more")
    return made


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the agent; the number is the process's exit code."""
    arguments = parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        return asyncio.run(run(arguments, environ))
    except (SettingError, SignedOut, addresses.Taken, OSError) as error:
        print(f"hubbub: {error}", file=sys.stderr)
        return 2 if isinstance(error, SettingError) else 1
    except KeyboardInterrupt:
        return 130


async def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """From the settings to the end."""
    if sys.platform == "win32":
        raise SettingError("agent", "runs on Linux and macOS; named pipes are not served yet")
    url = checked_url(arguments.url or environ.get(URL_VARIABLE) or WEB_BASE)
    kept = signing_in.kept_path(environ)
    if arguments.sign_out:
        signing_in.keep(url, None, kept)
        return 0
    index = checked_index(arguments.ipc_index or environ.get(INDEX_VARIABLE))
    token = signing_in.given(arguments.token_file, environ)
    handed_over = token is not None
    token = token or signing_in.recall(url, kept)
    interactive = sys.stdin is not None and sys.stdin.isatty()
    if token is None:
        if not interactive:
            raise SettingError("token", f"give --token-file or {signing_in.TOKEN_VARIABLE}, or sign in on a terminal")
        token = await signing_in.sign_in(url, input, getpass.getpass)
        signing_in.keep(url, token, kept)
    account = Account(url, token, status=arguments.status)
    try:
        await _live(arguments, account, index, interactive)
    except SignedOut:
        if not handed_over:
            signing_in.keep(url, None, kept)
        raise
    return 0


async def _live(arguments: argparse.Namespace, account: Account, index: int | None, interactive: bool) -> None:
    terminal = Terminal()
    claimed = addresses.claim(addresses.directories(), index)
    agent = Agent(
        account,
        _consent(arguments.consent, terminal, interactive),
        _open_browser,
        addresses=claimed,
        websocket_ports=rpc.WEBSOCKET_PORTS if arguments.websocket else (),
    )
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    try:
        await agent.start()
        print(f"Signed in as {account.state.user.get('username')} at {account.web}", flush=True)
        print("Listening at " + ", ".join(str(address.path) for address in claimed), flush=True)
        if agent.websocket_port is not None:
            print(f"Listening at ws://127.0.0.1:{agent.websocket_port}", flush=True)
        waiting: list[asyncio.Task[Any]] = [
            asyncio.create_task(stopping.wait()),
            asyncio.create_task(account.ended.wait()),
        ]
        if interactive:
            terminal.start()
            waiting.append(asyncio.create_task(terminal.serve(agent.desk)))
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if account.ended.is_set():
            raise SignedOut("the platform ended the session: sign in again")
    finally:
        await agent.stop()


def _consent(mode: str, terminal: Terminal, interactive: bool) -> Consent:
    if mode in ("always", "never"):
        return Decided(mode == "always")
    if mode == "ask" and interactive:
        return OnTerminal(terminal.ask, terminal.say)
    return InBrowser(_open_browser)


def checked_url(url: str) -> str:
    """The platform's address, without a slash at its end."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError("url", f"{url} is no http or https address")
    return url.rstrip("/")


def checked_index(text: str | None) -> int | None:
    """The number of a socket."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) not in rpc.INDEXES:
        raise SettingError("ipc_index", f"{text} is no number from {rpc.INDEXES[0]} to {rpc.INDEXES[-1]}")
    return int(text)


def _open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
