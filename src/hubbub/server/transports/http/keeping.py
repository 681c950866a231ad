"""Pictures and sounds of a request, put into the file store before its operation runs.

They are kept under the hash of their bytes, so one that is there already, or whose operation then fails, does no harm. Pictures are
written anew first (`core.images`): what was sent is never what is served."""

from collections.abc import Sequence
from typing import Any

from hubbub.protocol import errors
from hubbub.protocol.images import ImageData, TooLargeError, in_words
from hubbub.protocol.sounds import SoundData
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Upload
from hubbub.server.core.dispatch import Endpoint
from hubbub.server.core.files import Files
from hubbub.server.core.images import Images, InvalidImageError


class Keeper:
    """Keeps what a body and its files hold."""

    def __init__(self, files: Files, images: Images) -> None:
        self._files = files
        self._images = images

    async def keep(self, endpoint: Endpoint, body: Any, uploads: Sequence[Upload]) -> None:
        """Put all of it into the store; a form error names every field whose picture cannot be read."""
        form = errors.FormErrors()
        for name in endpoint.media:
            value = getattr(body, name)
            if isinstance(value, ImageData):
                await self._keep_image(value, name, form)
            elif isinstance(value, SoundData):
                await self._files.put(cdn_urls.sound_key(value.hash), value.data, value.content_type or "")
        declared = endpoint.operation.uploads
        if declared is not None and declared.image is not None:
            for upload in uploads:
                try:
                    upload.image = declared.image.read(upload.data)
                except TooLargeError as error:
                    form.add((upload.field,), *errors.max_size(in_words(error.most)))
                except ValueError:
                    # The operation says what it takes.
                    continue
                else:
                    await self._keep_image(upload.image, upload.field, form)
        form.raise_if_any()

    async def _keep_image(self, image: ImageData, field: str, form: errors.FormErrors) -> None:
        try:
            if image.raster:
                await self._images.clean(image)
        except InvalidImageError:
            form.add((field,), *errors.bad_image())
            return
        except TooLargeError as error:
            # It was small enough when it came, and is not when written anew.
            raise errors.CANNOT_RESIZE_ASSET(
                message=f"Failed to resize asset below the maximum size: {error.most}"
            ) from None
        await self._files.put(cdn_urls.image_key(image.hash), image.data, image.content_type)
