"""Local HTTP server on a random port that receives the redirect of one authorization from the browser."""

import asyncio
from typing import Final, Self
from urllib.parse import parse_qsl, urlsplit

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"
REQUEST_BYTES_MAX: Final = 16_384
REQUEST_TIMEOUT_SECONDS: Final = 10.0
ACCEPT_ITERATIONS: Final = 5
"""Number of loop iterations from the arrival of a connection to the start of its task, plus one."""

_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    "<body style='font-family: sans-serif; margin: 4rem'><h1>{title}</h1><p>{text}</p></body></html>"
)


class LoopbackServer:
    """HTTP server on the loopback interface that waits for one redirect."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.redirect_query: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        """Query parameters of the redirect by name, set when it arrives."""
        self.redirect_uri = ""
        """URL of the server; empty until it runs."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, limit=REQUEST_BYTES_MAX)
        port = self._server.sockets[0].getsockname()[1]
        self.redirect_uri = f"http://{HOST}:{port}{PATH}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.redirect_query.cancel()
        # Browsers open spare connections that they may never use, so their tasks are canceled; a response that was
        # written is still sent. A connection that was just accepted has no task yet, so let the loop start it first.
        for _step in range(ACCEPT_ITERATIONS):
            await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request of a connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, title, text = self._handle_request(head)
            # A local import: loading the entity table would slow down the start of a game.
            from html import escape

            body = _PAGE.format(title=escape(title), text=escape(text)).encode()
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
                "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    def _handle_request(self, head: bytes) -> tuple[str, str, str]:
        """Accept a redirect; return the status with its reason phrase, and the title and the text of the response page."""
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        split_target = urlsplit(target)
        if split_target.path != PATH:
            return "404 Not Found", "Page not found", "You can close this window and return to the game."
        if method != "GET":
            return "405 Method Not Allowed", "Method not allowed", "You can close this window and return to the game."
        query = dict(parse_qsl(split_target.query))
        if not {"code", "error"} & set(query):
            return (
                "400 Bad Request",
                "Invalid response",
                "The redirect has neither a code nor an error. Try again in the game.",
            )
        if not self.redirect_query.done():
            self.redirect_query.set_result(query)
        if "error" in query:
            return "200 OK", "Not authorized", "You can close this window and return to the game."
        return "200 OK", "All set", "You can close this window and return to the game."
