"""A function that uploads files with a message, and an image for it."""

import json
from typing import Any

import aiohttp

from hubbub.server.transports.cdn import default_avatar
from tests.world import Actor, ApiResponse

PNG = default_avatar(0)
"""A PNG image of 128 by 128 pixels."""


async def send_files(
    actor: Actor, path: str, *files: tuple[str, bytes], method: str = "POST", field_name: str = "files[{}]", **body: Any
) -> ApiResponse:
    """Send a multipart request with `body` as JSON and these files; `method` PATCH edits a message."""
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    # The declared type is wrong, because the server has to detect the type from the content.
    for index, (filename, data) in enumerate(files):
        form.add_field(field_name.format(index), data, filename=filename, content_type="text/html")
    return await actor.request(method, path, data=form)
