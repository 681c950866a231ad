"""What a person sent with a form, and what was wrong with it, beside its fields."""

import base64
from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import Uploads
from hubbub.server.transports.http import forms as fields
from hubbub.server.transports.http import limits, multipart

BODY_MAX: Final = 64 * 1024
FILE_MAX: Final = 10 * 1024 * 1024
READ_S: Final = 30.0

CSRF_FIELD: Final = "form_token"


class Form:
    """The fields of a form; what is missing is empty."""

    def __init__(
        self, values: Mapping[str, Sequence[str]] | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        self.values = values or {}
        self.files = files or {}
        """What was chosen in file fields; a field left empty is not here."""

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        """One field, as it was typed."""
        given = self.values.get(name)
        return given[-1].replace("\x00", "").replace("\r\n", "\n") if given else ""

    def line(self, name: str) -> str:
        """One field without the blanks around it."""
        return self.text(name).strip()

    def optional(self, name: str) -> str | None:
        """One field, or None where it was left empty."""
        return self.line(name) or None

    def all(self, name: str) -> list[str]:
        """Every value of a field that may be ticked more than once."""
        return [value.replace("\x00", "") for value in self.values.get(name, ())]

    def lines(self, name: str) -> list[str]:
        """The lines of a text field that are not empty."""
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def ticked(self, name: str) -> bool:
        """Whether a box was ticked."""
        return bool(self.text(name))

    def data_uri(self, name: str) -> str | None:
        """A chosen picture as operations take it, or None."""
        data = self.files.get(name)
        if not data:
            return None
        kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), "image/webp")
        return f"data:{kind};base64,{base64.b64encode(data).decode()}"


_MAGIC: Final = ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"))


async def read(request: web.Request, file: str | None = None) -> Form:
    """The form of a POST; `file` names the one field that may hold a file."""
    content_type = request.headers.get("Content-Type", "")
    if content_type.partition(";")[0].strip().lower() == "multipart/form-data":
        bounds = multipart.Limits(total_bytes=FILE_MAX + BODY_MAX, file_bytes=FILE_MAX, field_bytes=BODY_MAX)
        uploads = None if file is None else Uploads(field=file, most=1, keep=False)
        read = await multipart.read(limits.chunks(request, READ_S), content_type, uploads, bounds)
        return Form(read.fields, {upload.field: upload.data for upload in read.files if upload.data})
    data = await limits.read_body(request, BODY_MAX, READ_S)
    return Form(fields.split_fields(data.decode("utf-8", "replace")))


class Problems:
    """What was wrong with a form: by field, and in general."""

    def __init__(self, error: ApiError | None = None) -> None:
        self.general: list[str] = []
        self.by_field: dict[str, list[str]] = {}
        if error is None:
            return
        if error.errors:
            for path, messages in error.by_field():
                self.by_field.setdefault(path, []).extend(messages)
            self.general = self.by_field.pop("", [])
        else:
            self.general = [in_words(error)]

    def __bool__(self) -> bool:
        return bool(self.general or self.by_field)

    def of(self, *names: str) -> list[str]:
        """What is wrong with a field, each said once; a form may call by one name what the API calls by another."""
        return list(dict.fromkeys(text for name in names for text in self.by_field.get(name, ())))

    def rename(self, names: Mapping[str, str]) -> "Problems":
        """The same, with the API's names of fields turned into the form's."""
        renamed = Problems()
        renamed.general = self.general
        for name, messages in self.by_field.items():
            renamed.by_field.setdefault(names.get(name, name), []).extend(messages)
        return renamed

    def gather(self, known: Sequence[str]) -> "Problems":
        """The same, with what belongs to no field of the form said in general, so that nothing goes unseen."""
        gathered = Problems()
        gathered.general = list(self.general)
        for name, messages in self.by_field.items():
            if name in known:
                gathered.by_field[name] = messages
            else:
                gathered.general += [f"{name}: {message}" for message in messages]
        return gathered


def in_words(error: ApiError) -> str:
    """A refusal as one sentence for a person."""
    if error.status == 429:
        retry_after = error.extra.get("retry_after")
        seconds = -(-float(retry_after) // 1) if isinstance(retry_after, int | float) else 60
        return f"That was a lot at once. Try again in {_span(int(seconds))}."
    if error.kind is errors.NOT_AUTHORIZED_ON_APPLICATION:
        return "This application is private: only its owner may install it."
    body = error.body()
    return str(body.get("error_description") or body.get("message") or error.kind.message)


def _span(seconds: int) -> str:
    if seconds < 90:
        return f"{max(seconds, 1)} seconds" if seconds != 1 else "a second"
    return f"{-(-seconds // 60)} minutes"
