"""Application attachments: temporary files that an application uploads to the CDN."""

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation, Uploads
from hubbub.protocol.resources.attachments import Attachment


class ApplicationAttachment(Struct, kw_only=True):
    """Response to an upload of an application's file."""

    attachment: Attachment
    """The uploaded file, with its CDN URL."""


UPLOAD_APPLICATION_ATTACHMENT = Operation(
    "POST",
    "/applications/{application_id}/attachment",
    result=ApplicationAttachment,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    uploads=Uploads(field="file", files_max=1),
    raises=(
        errors.UNKNOWN_APPLICATION,
        errors.NOT_AUTHORIZED_ON_APPLICATION,
        errors.INVALID_FORM_BODY,
        errors.REQUEST_ENTITY_TOO_LARGE,
        errors.FEATURE_DISABLED,
    ),
)
