"""Files that an application puts on the CDN for a while, to show them somewhere else."""

from msgspec import Struct

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation, Uploads
from hubbub.protocol.resources.attachments import Attachment


class ApplicationAttachment(Struct, kw_only=True):
    """The file at its address."""

    attachment: Attachment


UPLOAD_APPLICATION_ATTACHMENT = Operation(
    "POST",
    "/applications/{application_id}/attachment",
    result=ApplicationAttachment,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    uploads=Uploads(field="file", most=1),
    raises=(
        errors.UNKNOWN_APPLICATION,
        errors.NOT_AUTHORIZED_ON_APPLICATION,
        errors.INVALID_FORM_BODY,
        errors.REQUEST_ENTITY_TOO_LARGE,
    ),
)
