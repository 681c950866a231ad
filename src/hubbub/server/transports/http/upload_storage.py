"""Storage of a request's images and sounds, before its operation runs.

Files are stored under the hash of their bytes, so storing one twice, or storing one whose operation then fails, is
harmless. Raster images are re-encoded first (`core.images`), so that their uploaded bytes are never served. Sounds and
Lottie animations are stored as uploaded.
"""

from collections.abc import Sequence
from typing import Any

from hubbub.protocol import errors
from hubbub.protocol.images import ImageData, TooLargeError, format_bytes
from hubbub.protocol.sounds import SoundData
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Upload
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.files import Files
from hubbub.server.core.images import ImageConverter, InvalidImageError


class UploadStorage:
    """Stores the images and sounds in request bodies and uploads."""

    def __init__(self, files: Files, images: ImageConverter) -> None:
        self._files = files
        self._images = images

    async def store(self, endpoint: Endpoint, body: Any, uploads: Sequence[Upload]) -> None:
        """Store all images and sounds; raise a form error that names every field with an invalid image."""
        form = errors.FormErrors()
        for name in endpoint.media:
            value = getattr(body, name)
            if isinstance(value, ImageData):
                await self._store_image(value, name, form)
            elif isinstance(value, SoundData):
                await self._files.put(cdn_urls.sound_key(value.hash), value.data, value.content_type or "")
        declared = endpoint.operation.uploads
        if declared is not None and declared.image is not None:
            for upload in uploads:
                try:
                    upload.image = declared.image.from_bytes(upload.data)
                except TooLargeError as error:
                    form.add((upload.field,), *errors.max_size(format_bytes(error.bytes_max)))
                except ValueError:
                    # The operation itself validates the file type.
                    continue
                else:
                    await self._store_image(upload.image, upload.field, form)
        form.raise_if_any()

    async def _store_image(self, image: ImageData, field: str, form: errors.FormErrors) -> None:
        try:
            if image.is_raster:
                await self._images.reencode(image)
        except InvalidImageError:
            form.add((field,), *errors.bad_image())
            return
        except TooLargeError as error:
            # The upload was within the size limit, but the re-encoded image is not.
            raise errors.CANNOT_RESIZE_ASSET(
                message=f"Failed to resize asset below the maximum size: {error.bytes_max}"
            ) from None
        await self._files.put(cdn_urls.image_key(image.hash), image.data, image.content_type)
