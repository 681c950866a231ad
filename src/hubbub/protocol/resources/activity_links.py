"""Activity links: quick links, which expire after 30 days, and managed links, which the application's managers maintain."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.resources.applications import PublicApplication

LINK_TITLE_MAX = 32
LINK_DESCRIPTION_MAX = 64
LINK_CUSTOM_ID_MAX = 256
"""Maximum length of the `custom_id` of a link, in characters."""
QUICK_LINK_LIFETIME_DAYS = 30
"""Lifetime of a quick link in days."""
QUICK_LINKS_MAX = 10_000
"""Maximum number of quick links per application that have not expired."""
MANAGED_LINKS_MAX = 100
"""Maximum number of managed links per application."""

LINK_TYPE_MANAGED = 0
"""Type of a managed link, which is the first part of its ID (spec/activities.md#9)."""
LINK_TYPE_QUICK = 1
"""Type of a quick link, which is the first part of its ID (spec/activities.md#9)."""

LinkTitle = Annotated[str, Meta(min_length=1, max_length=LINK_TITLE_MAX)]
LinkDescription = Annotated[str, Meta(min_length=1, max_length=LINK_DESCRIPTION_MAX)]
CustomId = Annotated[str, Meta(min_length=1, max_length=LINK_CUSTOM_ID_MAX)]


class LinkImage(ImageData):
    """Image of an activity link, displayed at an aspect ratio of 43:24."""

    side_pixels_max = 1024
    animated_types = frozenset()


class ActivityLink(Struct, kw_only=True):
    """A link that opens an activity."""

    application_id: ApplicationId
    """ID of the application."""
    link_id: str
    """ID of the link, in the form `{type}-{id}`; the type is 0 for managed links and 1 for quick links."""
    title: str
    """Title of the link, 1 to 32 characters."""
    description: str
    """Description of the link, 1 to 64 characters."""
    custom_id: str | None
    """Value passed to the activity, unless the URL has its own `custom_id`; null if the link has none."""
    asset_path: str | UnsetType = UNSET
    """CDN path of the image; absent for managed links."""
    asset_id: str | UnsetType = UNSET
    """ID of the image at CDN path `activity-links/{application_id}/{asset_id}.png`; absent for quick links."""


class CreateActivityLink(Struct, kw_only=True):
    """Request body for creating an activity link."""

    title: LinkTitle
    """Title of the link, 1 to 32 characters."""
    description: LinkDescription
    """Description of the link, 1 to 64 characters."""
    image: LinkImage
    """Image of the link as a data URI, displayed at an aspect ratio of 43:24."""
    custom_id: CustomId | None | UnsetType = UNSET
    """Value passed to the activity; absent or null for none."""


class UpdateActivityLink(Struct, kw_only=True):
    """Request body for updating a managed link; absent fields keep their value."""

    title: LinkTitle | UnsetType = UNSET
    """New title, 1 to 32 characters."""
    description: LinkDescription | UnsetType = UNSET
    """New description, 1 to 64 characters."""
    image: LinkImage | UnsetType = UNSET
    """New image as a data URI, displayed at an aspect ratio of 43:24."""
    custom_id: CustomId | None | UnsetType = UNSET
    """New value passed to the activity; null removes it."""


class ActivityLinkQuery(Struct, kw_only=True):
    """Query parameters of an activity URL."""

    link_id: str | UnsetType = UNSET
    """ID of the link to open; if absent, the activity opens without a link."""
    custom_id: CustomId | UnsetType = UNSET
    """Value passed to the activity; if absent, the `custom_id` of the link is passed."""
    referrer_id: str | UnsetType = UNSET
    """ID of the user who shared the link; absent if unknown, ignored if it is not a snowflake."""


class ResolvedActivityLink(Struct, kw_only=True):
    """The activity that an activity URL opens."""

    application: PublicApplication
    """Application of the activity."""
    link: ActivityLink | None
    """Link of the URL; null if the URL has no `link_id`, or if the link does not exist or has expired."""
    custom_id: str | None
    """Value passed to the activity; null if neither the URL nor the link has one."""
    referrer_id: UserId | None
    """ID of the user who shared the link; null if unknown."""


# Operations (spec/activities.md#9)

_ANY_CALLER = Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS
_APPLICATION_ERRORS = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

CREATE_QUICK_LINK = Operation(
    "POST",
    "/applications/{application_id}/quick-links/",
    body=CreateActivityLink,
    result=ActivityLink,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    raises=_APPLICATION_ERRORS,
)

GET_QUICK_LINK = Operation(
    "GET",
    "/applications/{application_id}/quick-links/{link_id}",
    result=ActivityLink,
    auth=_ANY_CALLER,
    raises=(errors.NOT_FOUND,),
)

LIST_MANAGED_LINKS = Operation(
    "GET",
    "/applications/{application_id}/managed-links/",
    result=list[ActivityLink],
    raises=_APPLICATION_ERRORS,
)

CREATE_MANAGED_LINK = Operation(
    "POST",
    "/applications/{application_id}/managed-links/",
    body=CreateActivityLink,
    result=ActivityLink,
    raises=_APPLICATION_ERRORS,
)

GET_MANAGED_LINK = Operation(
    "GET",
    "/applications/{application_id}/managed-links/{link_id}",
    result=ActivityLink,
    auth=_ANY_CALLER,
    raises=(errors.NOT_FOUND,),
)

UPDATE_MANAGED_LINK = Operation(
    "PATCH",
    "/applications/{application_id}/managed-links/{link_id}",
    body=UpdateActivityLink,
    result=ActivityLink,
    raises=(*_APPLICATION_ERRORS, errors.NOT_FOUND),
)

DELETE_MANAGED_LINK = Operation(
    "DELETE",
    "/applications/{application_id}/managed-links/{link_id}",
    raises=(*_APPLICATION_ERRORS, errors.NOT_FOUND),
)

OPEN_ACTIVITY_LINK = Operation(
    "GET",
    "/activities/{application_id}/link",
    query=ActivityLinkQuery,
    result=ResolvedActivityLink,
    auth=_ANY_CALLER,
    raises=(errors.UNKNOWN_APPLICATION,),
)
