"""The `hubbub agent` command."""

import argparse
import asyncio
import contextlib
import getpass
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from hubbub.agent import addresses, login
from hubbub.agent.account import Account, SignedOut
from hubbub.agent.agent import Agent
from hubbub.agent.consent import BrowserConsent, Consent, FixedConsent, TerminalConsent
from hubbub.agent.login import SettingError
from hubbub.agent.terminal import Terminal
from hubbub.protocol import rpc
from hubbub.sdk.core import WEB_BASE
from hubbub.sdk.system_audio import SystemAudio

URL_VARIABLE: Final = "HUBBUB_AGENT_URL"
IPC_INDEX_VARIABLE: Final = "HUBBUB_AGENT_IPC_INDEX"
STATUSES: Final = ("online", "idle", "dnd", "invisible")
CONSENT_MODES: Final = ("ask", "browser", "always", "never")
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def parser() -> argparse.ArgumentParser:
    """Build the argument parser."""
    result = argparse.ArgumentParser(
        prog="hubbub agent",
        description="Let games on this machine show your activity, invite your friends and link your account.",
    )
    result.add_argument("--url", help=f"URL of the platform (default: {URL_VARIABLE} or {WEB_BASE})")
    result.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"file with your token (default: {login.TOKEN_VARIABLE}, the stored token, or a login prompt)",
    )
    result.add_argument("--sign-out", action="store_true", help="delete the stored token of this platform and exit")
    result.add_argument(
        "--consent",
        choices=CONSENT_MODES,
        default="ask",
        help="how to approve account access: ask on this terminal (or in the browser if there is none), browser, "
        "always or never (default: ask)",
    )
    result.add_argument("--status", choices=STATUSES, default="online", help="your online status (default: online)")
    result.add_argument(
        "--websocket",
        action="store_true",
        help="also accept the chat client in your browser, and web pages from origins registered by games",
    )
    result.add_argument(
        "--ipc-index", metavar="N", help=f"index of the socket (default: {IPC_INDEX_VARIABLE} or the first free one)"
    )
    result.add_argument(
        "--no-audio",
        action="store_true",
        help="transmit no audio in the voice channels that games select",
    )
    result.add_argument(
        "--voice-authority",
        metavar="FILE",
        default="",
        help="certificate authority of the voice servers, if the system does not know it",
    )
    result.add_argument("--verbose", action="store_true", help="print debug messages")
    return result


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the command and return its exit code."""
    arguments = parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        return asyncio.run(run(arguments, environ))
    except (SettingError, SignedOut, addresses.AddressUnavailable, OSError) as error:
        print(f"hubbub: {error}", file=sys.stderr)
        return 2 if isinstance(error, SettingError) else 1
    except KeyboardInterrupt:
        return 130


async def run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Sign in and run the agent until it is stopped, for example by a signal; a second signal skips the cleanup.

    With `--sign-out`, only delete the stored token of the platform. Return the exit code."""
    task = asyncio.current_task()
    assert task is not None
    if sys.platform != "win32":
        for signal_number in STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(signal_number, task.cancel)
    try:
        return await _sign_in_and_serve(arguments, environ)
    except asyncio.CancelledError:
        return 0


async def _sign_in_and_serve(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if sys.platform == "win32":
        raise SettingError("agent", "requires Linux or macOS; Windows is not supported yet")
    url = parse_url(arguments.url or environ.get(URL_VARIABLE) or WEB_BASE)
    tokens_path = login.token_store_path(environ)
    if arguments.sign_out:
        login.store_token(url, None, tokens_path)
        return 0
    index = parse_index(arguments.ipc_index or environ.get(IPC_INDEX_VARIABLE))
    token = login.read_provided_token(arguments.token_file, environ)
    is_token_provided = token is not None
    token = token or login.load_token(url, tokens_path)
    is_interactive = sys.stdin is not None and sys.stdin.isatty()
    if token is None:
        if not is_interactive:
            raise SettingError(
                "token", f"set --token-file or {login.TOKEN_VARIABLE}, or run the command in a terminal to sign in"
            )
        token = await login.sign_in(url, _interruptible(input), _interruptible(getpass.getpass))
        login.store_token(url, token, tokens_path)
    account = Account(url, token, status=arguments.status)
    try:
        await _serve(arguments, account, index, is_interactive)
    except SignedOut:
        if not is_token_provided:
            login.store_token(url, None, tokens_path)
        raise
    return 0


async def _serve(arguments: argparse.Namespace, account: Account, index: int | None, is_interactive: bool) -> None:
    terminal = Terminal()
    listening_sockets = addresses.open_sockets(addresses.require_socket_directories(), index)
    agent = Agent(
        account,
        _new_consent(arguments.consent, terminal, is_interactive),
        _open_browser,
        listening_sockets=listening_sockets,
        websocket_ports=rpc.WEBSOCKET_PORTS if arguments.websocket else (),
        audio=None if arguments.no_audio else SystemAudio(),
        voice_authority=arguments.voice_authority,
    )
    try:
        await agent.start()
        print(f"Signed in as {account.state.user.get('username')} at {account.web_url}", flush=True)
        print("Listening at " + ", ".join(str(socket.path) for socket in listening_sockets), flush=True)
        if agent.websocket_port is not None:
            print(f"Listening at ws://127.0.0.1:{agent.websocket_port}", flush=True)
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(account.session_ended.wait())]
        if is_interactive:
            terminal.start()
            tasks.append(asyncio.create_task(terminal.serve(agent.context)))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if account.session_ended.is_set():
            raise SignedOut("The platform ended the session. Run the command again to sign in")
    finally:
        await agent.stop()


def _interruptible(prompt: Callable[[str], str]) -> Callable[[str], str]:
    """Wrap a blocking prompt so that a stop signal raises KeyboardInterrupt in it.

    The event loop, which handles the signals otherwise, does not run while the prompt blocks."""

    def ask(text: str) -> str:
        previous_handlers = {number: signal.signal(number, signal.default_int_handler) for number in STOP_SIGNALS}
        try:
            return prompt(text)
        finally:
            for number, handler in previous_handlers.items():
                signal.signal(number, handler)

    return ask


def _new_consent(mode: str, terminal: Terminal, is_interactive: bool) -> Consent:
    if mode in ("always", "never"):
        return FixedConsent(is_granted=mode == "always")
    if mode == "ask" and is_interactive:
        return TerminalConsent(terminal.ask, terminal.write_line)
    return BrowserConsent(_open_browser)


def parse_url(url: str) -> str:
    """Return the URL of the platform without a trailing slash; raise SettingError if it is invalid."""
    split_url = urlsplit(url)
    if split_url.scheme not in ("http", "https") or not split_url.hostname:
        raise SettingError("url", f"{url} is not an http or https URL")
    return url.rstrip("/")


def parse_index(text: str | None) -> int | None:
    """Return the index of the socket, or None if `text` is None; raise SettingError if it is invalid."""
    if text is None:
        return None
    if not text.isdecimal() or int(text) not in rpc.SOCKET_INDEXES:
        raise SettingError(
            "ipc_index", f"{text} is not a number from {rpc.SOCKET_INDEXES[0]} to {rpc.SOCKET_INDEXES[-1]}"
        )
    return int(text)


def _open_browser(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
