"""The response with the data export of a user: one JSON document that is streamed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from aiohttp import web

from hubbub.protocol import codec
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.accounts import DataExport
from hubbub.protocol.resources.data_exports import DATA_EXPORT_PAGE_MAX, DataExportMessage

FetchPage = Callable[[Mapping[str, Sequence[str]]], Awaitable[list[DataExportMessage]]]
"""Function that returns the page of messages of a query."""


def build_response(account: DataExport, fetch_page: FetchPage) -> web.Response:
    """Return the response with an account and its messages; the server holds one page of messages at a time."""
    headers = {
        "Content-Type": "application/json",
        "Content-Disposition": 'attachment; filename="hubbub-account.json"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return web.Response(body=_stream(codec.encode(account), fetch_page), headers=headers)


async def _stream(account: bytes, fetch_page: FetchPage) -> AsyncIterator[bytes]:
    yield account.removesuffix(b"}") + b',"messages":[\n'
    last_message_id, is_first = 0, True
    while True:
        query = {"after": [str(last_message_id)], "limit": [str(DATA_EXPORT_PAGE_MAX)]}
        try:
            messages = await fetch_page(query)
        except ApiError as error:
            if error.status != 429:
                raise
            await asyncio.sleep(float(error.extra.get("retry_after", 1)))
            continue
        if messages:
            yield (b"" if is_first else b",\n") + b",\n".join(codec.encode(message) for message in messages)
            last_message_id, is_first = int(messages[-1].id), False
        if len(messages) < DATA_EXPORT_PAGE_MAX:
            break
    yield b"\n]}\n"
