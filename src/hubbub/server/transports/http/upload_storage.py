"""Scanning of a request's files, and storage of its images and sounds, before its operation runs.

Images and sounds are stored under the hash of their bytes, so storing one twice, or storing one whose operation then
fails, is harmless. Raster images are re-encoded first (`core.images`), so that their uploaded bytes are never served.
Sounds and Lottie animations are stored as uploaded.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from hubbub.protocol import errors
from hubbub.protocol.ids import AttachmentId
from hubbub.protocol.images import ImageData, TooLargeError, format_bytes
from hubbub.protocol.sounds import SoundData
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Actor, Upload
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.files import Files, FileStoreError, describe_store_error
from hubbub.server.core.images import ImageConverter, InvalidImageError
from hubbub.server.core.upload_scanners import ForbiddenFile, RejectedUpload, UploadedContent, UploadScanners
from hubbub.server.transports.http.multipart import RawUpload

log = logging.getLogger(__name__)


class UploadStorage:
    """Scans the files of requests, and stores the images and sounds among them."""

    def __init__(
        self,
        files: Files,
        images: ImageConverter,
        scanners: UploadScanners | None = None,
    ) -> None:
        self._files = files
        self._images = images
        self._scanners = scanners

    async def store(self, endpoint: Endpoint, body: Any, uploads: Sequence[Upload], actor: Actor | None) -> None:
        """Scan all files, then store all images and sounds.

        Raise a form error that names every field with a forbidden file, or every field with an invalid image. Raise
        CANNOT_RESIZE_ASSET if a re-encoded image is too large, and UNAVAILABLE if the file store fails. `actor` is the
        caller, or None.
        """
        if self._scanners is not None and self._scanners.is_enabled:
            await self._scan(self._scanners, endpoint, body, uploads, actor)
        form = errors.FormErrors()
        for name in endpoint.media:
            media_field = getattr(body, name)
            if isinstance(media_field, ImageData):
                await self._store_image(media_field, name, form)
            elif isinstance(media_field, SoundData):
                with _reject_during_outage():
                    await self._files.put(
                        cdn_urls.sound_key(media_field.hash), media_field.data, media_field.content_type or ""
                    )
        declared_uploads = endpoint.operation.uploads
        if declared_uploads is not None and declared_uploads.image is not None:
            for upload in uploads:
                try:
                    upload.image = declared_uploads.image.from_bytes(upload.data)
                except TooLargeError as error:
                    form.add((upload.field,), *errors.max_size(format_bytes(error.bytes_max)))
                except ValueError:
                    # The operation itself validates the file type.
                    continue
                else:
                    await self._store_image(upload.image, upload.field, form)
        form.raise_if_any()

    async def store_files(self, uploads: Sequence[Upload]) -> None:
        """Store the files of a message under their keys. Raise UNAVAILABLE if the file store fails."""
        with _reject_during_outage():
            await asyncio.gather(*(self._files.put(upload.key, upload.data, upload.content_type) for upload in uploads))

    async def _scan(
        self, scanners: UploadScanners, endpoint: Endpoint, body: Any, uploads: Sequence[Upload], actor: Actor | None
    ) -> None:
        form = errors.FormErrors()
        for path, content in _list_contents(endpoint, body, uploads):
            try:
                await scanners.check(content)
            except ForbiddenFile as rejection:
                form.add(path, "FILE_REJECTED", "This server does not accept this file: a scanner found it harmful.")
                await scanners.report(
                    RejectedUpload(
                        user_id=None if actor is None else actor.user_id,
                        filename=content.filename or str(path[0]),
                        size=len(content.data),
                        scanner=rejection.scanner,
                        finding=rejection.finding,
                    )
                )
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
        with _reject_during_outage():
            await self._files.put(cdn_urls.image_key(image.hash), image.data, image.content_type)


@contextlib.contextmanager
def _reject_during_outage() -> Iterator[None]:
    """Log an error of the file store, such as an outage or wrong credentials, and raise UNAVAILABLE instead."""
    try:
        yield
    except FileStoreError as error:
        log.error("The file store failed: %s", describe_store_error(error))
        raise errors.UNAVAILABLE(message="Files cannot be stored at the moment. Try again later.") from error


def new_upload(file: RawUpload, endpoint: Endpoint, attachment_id: AttachmentId) -> Upload:
    """Return a file of a multipart body with an attachment ID. Its key is empty unless the operation stores files."""
    is_stored = endpoint.operation.uploads is not None and endpoint.operation.uploads.stores_files
    return Upload(
        field=file.field,
        index=file.index,
        filename=file.filename,
        content_type=file.content_type,
        size=len(file.data),
        attachment_id=attachment_id,
        key=cdn_urls.attachment_key(attachment_id) if is_stored else "",
        data=file.data,
    )


def _list_contents(
    endpoint: Endpoint, body: Any, uploads: Sequence[Upload]
) -> Iterator[tuple[tuple[str | int, ...], UploadedContent]]:
    """Yield the path of the field and the content of every file, image and sound of a request."""
    for name in endpoint.media:
        media_field = getattr(body, name)
        if isinstance(media_field, ImageData | SoundData):
            yield (
                (name,),
                UploadedContent(filename="", content_type=media_field.content_type or "", data=media_field.data),
            )
    for upload in uploads:
        path = (upload.field,) if upload.index is None else (upload.field, upload.index)
        yield path, UploadedContent(filename=upload.filename, content_type=upload.content_type, data=upload.data)
