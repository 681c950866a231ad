"""A sticker upload and a sound, shared by several tests."""

import aiohttp

from tests import media
from tests.world import Actor, ApiResponse, Guild

OGG_DATA_URI = media.data_uri(media.ogg(), "audio/ogg")
"""Data URI of a short sound."""


async def upload_sticker(actor: Actor, guild: Guild, file: bytes | None = None, **fields: str) -> ApiResponse:
    """Send the form that creates a sticker; `file` is a PNG image by default, and empty bytes omit the file."""
    form = aiohttp.FormData()
    for name, value in ({"name": "wave", "tags": "hello, hi", "description": "a hand"} | fields).items():
        form.add_field(name, value)
    file_bytes = media.png(400, 400) if file is None else file
    if file_bytes:
        form.add_field("file", file_bytes, filename="x.png", content_type="image/png")
    return await actor.post(f"/guilds/{guild.id}/stickers", data=form)
