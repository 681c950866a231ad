"""HTTP handlers for activity links."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ActivityLinkId, ApplicationId, UserId, parse_wide
from hubbub.protocol.resources import activity_links as wire
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications, oauth2
from hubbub.server.places.activity_links import store, views
from hubbub.server.places.activity_links.store import LinkRow


@handles(wire.CREATE_QUICK_LINK)
def create_quick_link(call: Call, application_id: ApplicationId, body: wire.CreateActivityLink) -> wire.ActivityLink:
    """Create a quick link that expires after 30 days."""
    applications.access.require_own_token_or_owner(call, application_id)
    store.delete_expired(call.tx, application_id, call.now_ms)
    expires_ms = call.now_ms + wire.QUICK_LINK_LIFETIME_DAYS * DAY_MS
    return _create_link(call, application_id, wire.LINK_TYPE_QUICK, body, wire.QUICK_LINKS_MAX, expires_ms)


@handles(wire.GET_QUICK_LINK)
def get_quick_link(call: Call, application_id: ApplicationId, link_id: str) -> wire.ActivityLink:
    """Get a quick link."""
    return views.link(_require_link(call, application_id, wire.LINK_TYPE_QUICK, link_id))


@handles(wire.LIST_MANAGED_LINKS)
def list_managed_links(call: Call, application_id: ApplicationId) -> list[wire.ActivityLink]:
    """List the managed links of an application."""
    applications.access.require_manager(call, application_id)
    return [views.link(row) for row in store.list_application_links(call.tx, application_id, wire.LINK_TYPE_MANAGED)]


@handles(wire.CREATE_MANAGED_LINK)
def create_managed_link(call: Call, application_id: ApplicationId, body: wire.CreateActivityLink) -> wire.ActivityLink:
    """Create a managed link.

    A managed link does not expire."""
    applications.access.require_manager(call, application_id)
    return _create_link(call, application_id, wire.LINK_TYPE_MANAGED, body, wire.MANAGED_LINKS_MAX, None)


@handles(wire.GET_MANAGED_LINK)
def get_managed_link(call: Call, application_id: ApplicationId, link_id: str) -> wire.ActivityLink:
    """Get a managed link."""
    return views.link(_require_link(call, application_id, wire.LINK_TYPE_MANAGED, link_id))


@handles(wire.UPDATE_MANAGED_LINK)
def update_managed_link(
    call: Call, application_id: ApplicationId, link_id: str, body: wire.UpdateActivityLink
) -> wire.ActivityLink:
    """Update a managed link."""
    applications.access.require_manager(call, application_id)
    row = _require_link(call, application_id, wire.LINK_TYPE_MANAGED, link_id)
    if body.title is not UNSET:
        row = row._replace(title=body.title)
    if body.description is not UNSET:
        row = row._replace(description=body.description)
    if body.image is not UNSET:
        row = row._replace(image=body.image.hash)
    if body.custom_id is not UNSET:
        row = row._replace(custom_id=body.custom_id)
    store.update(call.tx, row)
    return views.link(row)


@handles(wire.DELETE_MANAGED_LINK)
def delete_managed_link(call: Call, application_id: ApplicationId, link_id: str) -> None:
    """Delete a managed link."""
    applications.access.require_manager(call, application_id)
    store.delete(call.tx, _require_link(call, application_id, wire.LINK_TYPE_MANAGED, link_id).id)


@handles(wire.OPEN_ACTIVITY_LINK)
def open_activity_link(
    call: Call, application_id: ApplicationId, query: wire.ActivityLinkQuery
) -> wire.ResolvedActivityLink:
    """Resolve the parameters of an activity URL.

    The web page and the chat client use this for the URL `{web_url}/activities/{application_id}`. The custom ID of
    the URL overrides the custom ID of the link. A referrer that is not a user ID is dropped.
    """
    row = applications.find(call.tx, application_id)
    if row is None or not row.flags & ApplicationFlags.EMBEDDED:
        raise errors.UNKNOWN_APPLICATION()
    link_row = None if query.link_id is UNSET else _find_link(call, application_id, query.link_id)
    (application,) = oauth2.public_applications(call.tx, [row], call.now_ms)
    custom_id = (
        query.custom_id if query.custom_id is not UNSET else link_row.custom_id if link_row is not None else None
    )
    return wire.ResolvedActivityLink(
        application=application,
        link=None if link_row is None else views.link(link_row),
        custom_id=custom_id,
        referrer_id=_parse_referrer_id(query.referrer_id) if query.referrer_id is not UNSET else None,
    )


def _create_link(
    call: Call,
    application_id: int,
    link_type: int,
    body: wire.CreateActivityLink,
    links_max: int,
    expires_ms: int | None,
) -> wire.ActivityLink:
    if store.count(call.tx, application_id, link_type) >= links_max:
        raise errors.invalid(
            "title", "ACTIVITY_LINK_LIMIT", f"An application can have at most {links_max} links of this kind."
        )
    row = LinkRow(
        id=call.new_id(ActivityLinkId),
        application_id=application_id,
        type=link_type,
        title=body.title,
        description=body.description,
        custom_id=None if body.custom_id is UNSET else body.custom_id,
        image=body.image.hash,
        expires_ms=expires_ms,
    )
    store.insert(call.tx, row)
    return views.link(row)


def _require_link(call: Call, application_id: int, link_type: int, link_id: str) -> LinkRow:
    """Return an unexpired link of a type by its full ID (`type-number`) or its number, or raise 404."""
    row = _find_link(call, application_id, link_id if "-" in link_id else f"{link_type}-{link_id}")
    if row is None or row.type != link_type:
        raise errors.NOT_FOUND()
    return row


def _find_link(call: Call, application_id: int, link_id: str) -> LinkRow | None:
    """Return an unexpired link by its full ID (`type-number`), or None."""
    link_type, _, link_number = link_id.partition("-")
    if link_type not in (str(wire.LINK_TYPE_MANAGED), str(wire.LINK_TYPE_QUICK)):
        return None
    try:
        return store.find(call.tx, application_id, int(link_type), parse_wide(ActivityLinkId, link_number), call.now_ms)
    except ValueError:
        return None


def _parse_referrer_id(referrer_id: str) -> UserId | None:
    """Return the referrer's user ID, or None if the text is not an ID."""
    try:
        return parse_wide(UserId, referrer_id)
    except ValueError:
        return None
