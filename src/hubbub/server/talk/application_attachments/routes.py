"""HTTP handler for temporary files that an application uploads to the CDN."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import application_attachments as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications, features
from hubbub.server.talk import attachments


@handles(wire.UPLOAD_APPLICATION_ATTACHMENT)
def upload_application_attachment(call: Call, application_id: ApplicationId) -> wire.ApplicationAttachment:
    """Upload an attachment of an application.

    The returned URL is valid for 24 hours. The attachment is not listed anywhere."""
    if call.actor.kind == "bearer" and call.actor.application_id != application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    applications.access.require_own_token_or_owner(call, application_id)
    if not call.files:
        raise errors.invalid("file", *errors.required())
    features.require_enabled(call, Feature.UPLOADS)
    attachment = attachments.build_attachment(call.files[0], None, is_spoiler_supported=False)
    # Create the signing key if it does not exist yet, because the signer only reads it.
    cdn_urls.find_or_create_signing_key(call.tx)
    # The URL contains the application ID in place of a channel ID (decisions/0025).
    view = attachments.AttachmentSigner(call).build_view(application_id, attachment)
    view.ephemeral = True
    view.description = UNSET
    return wire.ApplicationAttachment(attachment=view)
