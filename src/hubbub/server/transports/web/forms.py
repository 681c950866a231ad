"""Reading submitted forms, and grouping API errors by form field."""

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import Uploads
from hubbub.server.core.translation import gettext, gettext_noop, ngettext
from hubbub.server.transports.http import decoding, multipart, request_limits
from hubbub.server.transports.web.error_texts import translate_error

BODY_BYTES_MAX: Final = 64 * 1024
"""Size limit of a form without its file, in bytes."""
FILE_BYTES_MAX: Final = 10 * 1024 * 1024
"""Size limit of an uploaded file, in bytes."""
READ_TIMEOUT_SECONDS: Final = 30.0
"""Timeout of reading a form, in seconds."""

CSRF_FIELD: Final = "form_token"
"""Name of the hidden field that protects a form against cross-site requests."""


FIELD_LABELS: Final = {
    "action": gettext_noop("Decision"),
    "art_image": gettext_noop("Image"),
    "art_name": gettext_noop("Key"),
    "audit_reason": gettext_noop("Reason for the audit log"),
    "channel_id": gettext_noop("Channel"),
    "clients": gettext_noop("Client IDs"),
    "code": gettext_noop("Code"),
    "confirm": gettext_noop("Confirmation"),
    "content": gettext_noop("Text"),
    "currency": gettext_noop("Currency"),
    "custom_install_url": gettext_noop("Custom install link"),
    "deletion_reason": gettext_noop("Reason for the deletion"),
    "description": gettext_noop("Description"),
    "email": gettext_noop("Email"),
    "emoji_image": gettext_noop("Image"),
    "emoji_name": gettext_noop("Name"),
    "ends_at": gettext_noop("Ends at"),
    "event_webhooks_url": gettext_noop("URL"),
    "expires_in_days": gettext_noop("Days"),
    "flags": gettext_noop("Privileged intents"),
    "global_name": gettext_noop("Display name"),
    "grace_days": gettext_noop("Grace period"),
    "guild_id": gettext_noop("Guild"),
    "guild_name": gettext_noop("Guild name"),
    "guild_scopes": gettext_noop("Scopes"),
    "icon": gettext_noop("Icon"),
    "interactions_endpoint_url": gettext_noop("Interactions endpoint URL"),
    "invite": gettext_noop("Invite"),
    "kind": gettext_noop("Type"),
    "level": gettext_noop("Level"),
    "login": gettext_noop("Username or email"),
    "message": gettext_noop("Message to the operators"),
    "name": gettext_noop("Name"),
    "new_owner": gettext_noop("Username of the new owner"),
    "new_password": gettext_noop("New password"),
    "note": gettext_noop("Note"),
    "oidc_issuer_url": gettext_noop("Issuer"),
    "owner": gettext_noop("Username of the new owner"),
    "password": gettext_noop("Password"),
    "permissions": gettext_noop("Permissions"),
    "price": gettext_noop("Price"),
    "privacy_policy_url": gettext_noop("Privacy policy"),
    "quota_mib": gettext_noop("Quota in MiB"),
    "reason": gettext_noop("Reason"),
    "redirect_uri": gettext_noop("Redirect URI"),
    "role": gettext_noop("Role"),
    "role_connections_verification_url": gettext_noop("Linked roles verification URL"),
    "starts_at": gettext_noop("Starts at"),
    "switch_at": gettext_noop("Time of the switch, in UTC"),
    "tags": gettext_noop("Tags"),
    "team_id": gettext_noop("Transfer to a team"),
    "terms_of_service_url": gettext_noop("Terms of service"),
    "test_username": gettext_noop("Username"),
    "text": gettext_noop("Text"),
    "type": gettext_noop("Provider"),
    "url": gettext_noop("URL"),
    "url_map": gettext_noop("Prefixes and targets"),
    "user_code": gettext_noop("Device code"),
    "user_id": gettext_noop("New owner"),
    "user_scopes": gettext_noop("Scopes"),
    "username": gettext_noop("Username"),
    "uses_max": gettext_noop("Uses"),
    "webhook_channel_id": gettext_noop("Channel"),
}
"""Labels of form fields, for the list of errors above a form."""


def field_label(name: str) -> str:
    """Return the label of a form field. A field that is not in `FIELD_LABELS` has a label that is derived from its name."""
    return gettext(FIELD_LABELS.get(name) or name.replace("_", " ").capitalize())


class Form:
    """The fields of a submitted form. A missing field has the value of an empty one."""

    def __init__(
        self, values: Mapping[str, Sequence[str]] | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        self.values = values or {}
        self.files = files or {}
        """Contents of the uploaded files by field; a file field that was left empty is absent."""

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        """Return a field without NUL characters and with normalized line breaks."""
        values = self.values.get(name)
        return values[-1].replace("\x00", "").replace("\r\n", "\n") if values else ""

    def trimmed(self, name: str) -> str:
        """Return a field without leading and trailing whitespace."""
        return self.text(name).strip()

    def optional(self, name: str) -> str | None:
        """Return a trimmed field, or None if it is empty."""
        return self.trimmed(name) or None

    def all(self, name: str) -> list[str]:
        """Return all values of a field that can be selected more than once."""
        return [value.replace("\x00", "") for value in self.values.get(name, ())]

    def lines(self, name: str) -> list[str]:
        """Return the non-empty lines of a text area."""
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def checked(self, name: str) -> bool:
        """Return whether a checkbox is checked."""
        return bool(self.text(name))

    def data_uri(self, name: str) -> str | None:
        """Return an uploaded image as a data URI, or None. Content of an unknown type is declared as WebP."""
        file_content = self.files.get(name)
        if not file_content:
            return None
        media_type = next(
            (media_type for magic, media_type in _MEDIA_TYPES_BY_PREFIX if file_content.startswith(magic)), "image/webp"
        )
        return f"data:{media_type};base64,{base64.b64encode(file_content).decode()}"


_MEDIA_TYPES_BY_PREFIX: Final = ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"))


async def read(request: web.Request, file_field: str | None = None) -> Form:
    """Read the form of a POST. `file_field` names the one field that accepts a file."""
    content_type = request.headers.get("Content-Type", "")
    if content_type.partition(";")[0].strip().lower() == "multipart/form-data":
        form_limits = multipart.MultipartLimits(
            total_bytes=FILE_BYTES_MAX + BODY_BYTES_MAX, file_bytes=FILE_BYTES_MAX, field_bytes=BODY_BYTES_MAX
        )
        uploads = None if file_field is None else Uploads(field=file_field, files_max=1, stores_files=False)
        form = await multipart.read_form(
            request_limits.read_chunks(request, READ_TIMEOUT_SECONDS), content_type, uploads, form_limits
        )
        return Form(form.fields, {upload.field: upload.data for upload in form.files if upload.data})
    body = await request_limits.read_body(request, BODY_BYTES_MAX, READ_TIMEOUT_SECONDS)
    return Form(decoding.split_fields(body.decode("utf-8", "replace")))


class FormProblems:
    """Error messages of a form, by field and in general."""

    def __init__(self, error: ApiError | None = None) -> None:
        self.general: list[str] = []
        self.by_field: dict[str, list[str]] = {}
        if error is None:
            return
        if error.errors:
            for path, messages in error.messages_by_field():
                self.by_field.setdefault(path, []).extend(translate_error(message) for message in messages)
            self.general = self.by_field.pop("", [])
        else:
            self.general = [error_text(error)]

    def __bool__(self) -> bool:
        return bool(self.general or self.by_field)

    def messages_for(self, *names: str) -> list[str]:
        """Return the distinct messages of a field; the API may use several names for one form field."""
        return list(dict.fromkeys(text for name in names for text in self.by_field.get(name, ())))

    def rename(self, names: Mapping[str, str]) -> "FormProblems":
        """Return a copy with API field names replaced by form field names."""
        renamed_problems = FormProblems()
        renamed_problems.general = self.general
        for name, messages in self.by_field.items():
            renamed_problems.by_field.setdefault(names.get(name, name), []).extend(messages)
        return renamed_problems

    def generalize_unknown(self, field_names: Sequence[str]) -> "FormProblems":
        """Return a copy in which messages of fields that the form lacks are general, so that all messages are shown."""
        problems = FormProblems()
        problems.general = list(self.general)
        for name, messages in self.by_field.items():
            if name in field_names:
                problems.by_field[name] = messages
            else:
                problems.general += [f"{field_label(name)}: {message}" for message in messages]
        return problems


def error_text(error: ApiError) -> str:
    """Return an API error as one sentence for users."""
    if error.status == 429:
        retry_after = error.extra.get("retry_after")
        seconds = math.ceil(retry_after) if isinstance(retry_after, int | float) else 60
        return gettext("Too many attempts. Try again in {duration}.", duration=_duration_text(seconds))
    if error.kind is errors.NOT_AUTHORIZED_ON_APPLICATION:
        return gettext("This application is private. Only its owner can install it.")
    body = error.body()
    return translate_error(str(body.get("error_description") or body.get("message") or error.kind.message))


def _duration_text(seconds: int) -> str:
    if seconds < 90:
        return ngettext("{count} second", "{count} seconds", max(seconds, 1))
    return ngettext("{count} minute", "{count} minutes", math.ceil(seconds / 60))
