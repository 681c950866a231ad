"""Conversion of bodies to models and files, for incoming requests and for responses to outgoing requests."""

from collections.abc import AsyncIterator, Callable, Sequence
from types import NoneType
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.operation import Operation
from hubbub.server.core.config import HttpConfig
from hubbub.server.transports.http import decoding, multipart, request_limits, responses

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

UPLOAD_BUDGET_FACTOR: Final = 4
"""Memory for uploads over all requests, as a multiple of the largest upload."""


class BodySource(Protocol):
    """A body to read."""

    @property
    def content_type(self) -> str:
        """The Content-Type header, or an empty string."""
        ...

    @property
    def length(self) -> int | None:
        """The declared length in bytes, or None."""
        ...

    async def read_all(self, bytes_max: int) -> bytes:
        """Read the whole body; raise 413 if it exceeds `bytes_max` bytes."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        ...


class IncomingBody:
    """The body of an incoming request."""

    def __init__(self, request: web.BaseRequest, timeout_seconds: float) -> None:
        self._request = request
        self._timeout_seconds = timeout_seconds
        self.content_type = request.headers.get("Content-Type", "")
        self.length = request.content_length

    async def read_all(self, bytes_max: int) -> bytes:
        """Read the whole body; raise 413 if it exceeds `bytes_max` bytes."""
        return await request_limits.read_body(self._request, bytes_max, self._timeout_seconds)

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        return request_limits.read_chunks(self._request, self._timeout_seconds)


class BufferedBody:
    """A body that is already in memory."""

    def __init__(self, content_type: str, data: bytes) -> None:
        self._data = data
        self.content_type = content_type
        self.length = len(data)

    async def read_all(self, bytes_max: int) -> bytes:
        """Read the whole body; raise 413 if it exceeds `bytes_max` bytes."""
        if len(self._data) > bytes_max:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        return self._data

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the whole body as one chunk."""
        yield self._data


class DecodedBody(NamedTuple):
    """A decoded body with its files."""

    model: Any
    """The body as declared by the operation; None if the operation declares no body or the body was discarded."""
    files: list[multipart.RawUpload]
    reserved_bytes: int
    """Bytes of the upload budget that the body holds until `BodyReader.release`."""


class BodyReader:
    """Reads bodies within the limits of this process."""

    def __init__(self, config: HttpConfig, record_rejection: Callable[[str], errors.ApiError]) -> None:
        """Create the reader. `record_rejection` is `Admission.record_rejection`."""
        self._config = config
        self._limits = multipart.MultipartLimits(
            total_bytes=config.upload_bytes_max, file_bytes=config.file_bytes_max, field_bytes=config.body_bytes_max
        )
        self._budget = request_limits.UploadBudget(UPLOAD_BUDGET_FACTOR * config.upload_bytes_max, record_rejection)

    def release(self, body: DecodedBody) -> None:
        """Release the upload budget of a body."""
        if body.reserved_bytes:
            self._budget.release(body.reserved_bytes)

    async def read(self, source: BodySource, operation: Operation[Any, Any], media_bytes: int = 0) -> DecodedBody:
        """Decode a body as the operation declares it; raise one error with all validation errors.

        `media_bytes` is the number of additional bytes allowed for images and sounds in a JSON body.
        """
        if operation.body is NoneType and operation.uploads is None:
            return DecodedBody(None, [], 0)
        content_type = source.content_type
        media_type = content_type if content_type == responses.JSON else content_type.partition(";")[0].strip().lower()
        if media_type == MULTIPART and not operation.is_form:
            return await self._read_multipart(source, operation)
        try:
            return await self._read_text(source, operation, media_type, media_bytes)
        except errors.ApiError as error:
            _add_missing_file_error(error, operation, ())
            raise

    async def _read_text(
        self, source: BodySource, operation: Operation[Any, Any], media_type: str, media_bytes: int
    ) -> DecodedBody:
        """Decode a body without files."""
        body_type = operation.body
        bytes_max, depth_max = self._config.body_bytes_max, self._config.depth_max
        if media_type == responses.JSON and not operation.is_form:
            if media_bytes and (source.length is None or source.length > bytes_max):
                return await self._read_with_images(source, operation, media_bytes)
            data = await source.read_all(bytes_max)
            if not data and operation.optional_body:
                data = b"{}"
            return DecodedBody(
                None if body_type is NoneType else decoding.decode(data, body_type, depth_max=depth_max), [], 0
            )
        if media_type == FORM:
            data = await source.read_all(bytes_max)
            fields = decoding.split_fields(data.decode("utf-8", "replace"))
            # py-cord sends `payload_json` in this encoding when a form has no files.
            payload = None if operation.is_form else fields.pop(multipart.PAYLOAD_FIELD, None)
            form = multipart.MultipartForm(
                payload=None if payload is None else payload[-1].encode(), fields=fields, files=[]
            )
            return DecodedBody(self._decode_form(operation, form), [], 0)
        if await source.read_all(bytes_max):
            raise errors.INVALID_FORM_BODY(message=_content_type_message(operation.is_form))
        return DecodedBody(None if body_type is NoneType else decoding.decode(b"{}", body_type), [], 0)

    async def discard(self, source: BodySource) -> DecodedBody:
        """Read and discard a body; raise 413 if it exceeds the size limit."""
        await source.read_all(self._config.body_bytes_max)
        return DecodedBody(None, [], 0)

    async def _read_with_images(
        self, source: BodySource, operation: Operation[Any, Any], media_bytes: int
    ) -> DecodedBody:
        """Decode a JSON body that may be large because of images or sounds; its memory counts against the upload budget."""
        config = self._config
        bytes_max = min(config.body_bytes_max + media_bytes, max(config.upload_bytes_max, config.body_bytes_max))
        if source.length is not None and source.length > bytes_max:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        reserved_bytes = bytes_max if source.length is None else source.length
        self._budget.reserve(reserved_bytes)
        try:
            data = await source.read_all(bytes_max)
            return DecodedBody(decoding.decode(data, operation.body, depth_max=config.depth_max), [], reserved_bytes)
        except BaseException:
            self._budget.release(reserved_bytes)
            raise

    async def _read_multipart(self, source: BodySource, operation: Operation[Any, Any]) -> DecodedBody:
        limits = self._limits
        file_bytes_max = (
            0
            if operation.uploads is None
            else min(operation.uploads.file_bytes_max, self._config.multipart_file_bytes_max)
        )
        if file_bytes_max > limits.file_bytes:
            limits = msgspec.structs.replace(limits, file_bytes=file_bytes_max)
        length = source.length
        if length is not None and length > limits.total_bytes:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        reserved_bytes = limits.total_bytes if length is None else length
        self._budget.reserve(reserved_bytes)
        try:
            form = await multipart.read_form(source.chunks(), source.content_type, operation.uploads, limits)
            try:
                model = self._decode_form(operation, form)
            except errors.ApiError as error:
                _add_missing_file_error(error, operation, form.files)
                raise
        except BaseException:
            self._budget.release(reserved_bytes)
            raise
        return DecodedBody(model, form.files, reserved_bytes)

    def _decode_form(self, operation: Operation[Any, Any], form: multipart.MultipartForm) -> Any:
        """Decode the fields of a multipart or urlencoded form that are not files."""
        if operation.body is NoneType:
            return None
        if form.payload is None and form.fields and decoding.is_flat(operation.body):
            return decoding.convert_fields(form.fields, operation.body)
        payload = b"{}" if form.payload is None else form.payload
        return decoding.decode(payload, operation.body, depth_max=self._config.depth_max)


def _add_missing_file_error(
    error: errors.ApiError, operation: Operation[Any, Any], files: Sequence[multipart.RawUpload]
) -> None:
    """Add the error for a missing required file to a form error."""
    if error.errors is not None and not files and operation.uploads is not None and operation.uploads.is_required:
        form = errors.FormErrors()
        form.tree = error.errors
        form.add(operation.uploads.field, *errors.required())


def _content_type_message(is_form: bool) -> str:
    media_types = [FORM] if is_form else [responses.JSON, FORM, MULTIPART]
    return f'Expected "Content-Type" header to be one of {{{", ".join(map(repr, media_types))}}}.'
