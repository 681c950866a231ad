"""HTTP handler that refreshes signed attachment URLs."""

from hubbub.protocol import errors
from hubbub.protocol.resources import attachments as wire
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk.attachments import ports


@handles(wire.REFRESH_ATTACHMENT_URLS)
def refresh_attachment_urls(call: Call, body: wire.RefreshAttachmentUrls) -> wire.RefreshedUrls:
    """Refresh signed attachment URLs."""
    cdn_url = call.config.cdn_url
    signing_key = cdn_urls.find_signing_key(call.tx)
    form = errors.FormErrors()
    refreshed_urls = []
    for index, url in enumerate(body.attachment_urls):
        attachment_url = cdn_urls.parse(cdn_url, url)
        if attachment_url is None or signing_key is None or not _can_refresh(call, attachment_url, signing_key):
            form.add(("attachment_urls", index), *errors.bad_url())
        else:
            signed_url = cdn_url + cdn_urls.sign(signing_key, attachment_url.path, call.now_ms)
            refreshed_urls.append(wire.RefreshedUrl(original=url, refreshed=signed_url))
    form.raise_if_any()
    return wire.RefreshedUrls(refreshed_urls=refreshed_urls)


def _can_refresh(call: Call, url: cdn_urls.AttachmentUrl, signing_key: bytes) -> bool:
    """Return whether the caller can see the channel of a URL and the channel contains the attachment.

    A signature of this server, even an expired one, proves that the channel contains the attachment. For a URL without
    a signature (spec/http.md#1.12), the messages of the channel are searched."""
    if not _can_see_channel(call, url.channel_id):
        return False
    return url.was_signed(signing_key) or ports.has_attachment(call, url.channel_id, url.attachment_id, url.filename)


def _can_see_channel(call: Call, channel_id: int) -> bool:
    try:
        access.get_channel_standing(call, channel_id)
    except errors.ApiError:
        return False
    return True
