"""Bodies to models and files, whether they are sent to us or come as an answer to a call of ours."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from types import NoneType
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.operation import Operation
from hubbub.server.core.config import HttpConfig
from hubbub.server.transports.http import answers, forms, limits, multipart

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

UPLOADS_AT_ONCE: Final = 4
"""So many times the largest upload may be in memory, over all requests."""


class Source(Protocol):
    """A body, wherever it comes from."""

    @property
    def content_type(self) -> str:
        """The header."""
        ...

    @property
    def length(self) -> int | None:
        """How long it says it is."""
        ...

    async def whole(self, most: int) -> bytes:
        """All of it; 413 if that is more than allowed."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """All of it, as it arrives."""
        ...


class Sent:
    """The body of a request."""

    def __init__(self, request: web.BaseRequest, timeout_s: float) -> None:
        self._request = request
        self._timeout_s = timeout_s
        self.content_type = request.headers.get("Content-Type", "")
        self.length = request.content_length

    async def whole(self, most: int) -> bytes:
        """All of it; 413 if that is more than allowed."""
        return await limits.read_body(self._request, most, self._timeout_s)

    def chunks(self) -> AsyncIterator[bytes]:
        """All of it, as it arrives."""
        return limits.chunks(self._request, self._timeout_s)


class Held:
    """A body that is here already."""

    def __init__(self, content_type: str, data: bytes) -> None:
        self._data = data
        self.content_type = content_type
        self.length = len(data)

    async def whole(self, most: int) -> bytes:
        """All of it; 413 if that is more than allowed."""
        if len(self._data) > most:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        return self._data

    async def chunks(self) -> AsyncIterator[bytes]:
        """All of it, at once."""
        yield self._data


class Body(NamedTuple):
    """What was understood."""

    model: Any
    files: list[multipart.RawUpload]
    reserved: int
    """How much of the upload budget the files hold, until it is given back."""


class Bodies:
    """Reads bodies within the limits of this process."""

    def __init__(self, config: HttpConfig) -> None:
        self._config = config
        self._bounds = multipart.Limits(
            total_bytes=config.max_upload_bytes, file_bytes=config.max_file_bytes, field_bytes=config.max_body_bytes
        )
        self._budget = limits.Budget(UPLOADS_AT_ONCE * config.max_upload_bytes)

    def give_back(self, body: Body) -> None:
        """The files are no longer held."""
        if body.reserved:
            self._budget.give_back(body.reserved)

    async def read(self, source: Source, operation: Operation[Any, Any], media_bytes: int = 0) -> Body:
        """The body as the operation declares it; every mistake in it at once. `media_bytes` is what pictures in it may take."""
        if operation.body is NoneType and operation.uploads is None:
            return Body(None, [], 0)
        content_type = source.content_type
        media_type = content_type if content_type == answers.JSON else content_type.partition(";")[0].strip().lower()
        if media_type == MULTIPART and not operation.form:
            return await self._read_multipart(source, operation)
        with _missing_file(operation, ()):
            return await self._read_text(source, operation, media_type, media_bytes)

    async def _read_text(
        self, source: Source, operation: Operation[Any, Any], media_type: str, media_bytes: int
    ) -> Body:
        """A body without files."""
        kind = operation.body
        most, depth = self._config.max_body_bytes, self._config.max_depth
        if media_type == answers.JSON and not operation.form:
            if media_bytes and (source.length is None or source.length > most):
                return await self._read_pictures(source, operation, media_bytes)
            data = await source.whole(most)
            if not data and operation.optional_body:
                data = b"{}"
            return Body(None if kind is NoneType else forms.decode(data, kind, max_depth=depth), [], 0)
        if media_type == FORM and forms.is_flat(kind):
            data = await source.whole(most)
            return Body(forms.read_fields(forms.split_fields(data.decode("utf-8", "replace")), kind), [], 0)
        if await source.whole(most):
            raise errors.INVALID_FORM_BODY(message=_expected(operation.form))
        return Body(None if kind is NoneType else forms.decode(b"{}", kind), [], 0)

    async def skip(self, source: Source) -> Body:
        """A body that nobody wants to know, as long as it is not too long."""
        await source.whole(self._config.max_body_bytes)
        return Body(None, [], 0)

    async def _read_pictures(self, source: Source, operation: Operation[Any, Any], media_bytes: int) -> Body:
        """A JSON body that may be long for the pictures in it; it shares the memory that uploads have."""
        config = self._config
        most = min(config.max_body_bytes + media_bytes, max(config.max_upload_bytes, config.max_body_bytes))
        if source.length is not None and source.length > most:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        reserved = most if source.length is None else source.length
        self._budget.take(reserved)
        try:
            data = await source.whole(most)
            return Body(forms.decode(data, operation.body, max_depth=config.max_depth), [], reserved)
        except BaseException:
            self._budget.give_back(reserved)
            raise

    async def _read_multipart(self, source: Source, operation: Operation[Any, Any]) -> Body:
        bounds = self._bounds
        largest = 0 if operation.uploads is None else min(operation.uploads.largest, self._config.largest_file_bytes)
        if largest > bounds.file_bytes:
            bounds = msgspec.structs.replace(bounds, file_bytes=largest)
        length = source.length
        if length is not None and length > bounds.total_bytes:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        reserved = bounds.total_bytes if length is None else length
        self._budget.take(reserved)
        try:
            form = await multipart.read(source.chunks(), source.content_type, operation.uploads, bounds)
            with _missing_file(operation, form.files):
                model = self._model(operation, form)
        except BaseException:
            self._budget.give_back(reserved)
            raise
        return Body(model, form.files, reserved)

    def _model(self, operation: Operation[Any, Any], form: multipart.Form) -> Any:
        """What the parts of a form say beside its files."""
        if operation.body is NoneType:
            return None
        if form.payload is None and form.fields and forms.is_flat(operation.body):
            return forms.read_fields(form.fields, operation.body)
        payload = b"{}" if form.payload is None else form.payload
        return forms.decode(payload, operation.body, max_depth=self._config.max_depth)


@contextmanager
def _missing_file(operation: Operation[Any, Any], files: Sequence[multipart.RawUpload]) -> Iterator[None]:
    """A file that must be there and is not is told with whatever else is wrong."""
    try:
        yield
    except errors.ApiError as error:
        if error.errors is not None and not files and operation.uploads is not None and operation.uploads.required:
            form = errors.FormErrors()
            form.tree = error.errors
            form.add(operation.uploads.field, *errors.required())
        raise


def _expected(form: bool) -> str:
    kinds = [FORM] if form else [answers.JSON, FORM, MULTIPART]
    return f'Expected "Content-Type" header to be one of {{{", ".join(map(repr, kinds))}}}.'
