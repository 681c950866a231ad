"""Links that open an activity: quick ones, which end, and managed ones, which their application's owner keeps."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.resources.applications import PublicApplication

LINK_TITLE_MAX = 32
LINK_DESCRIPTION_MAX = 64
CUSTOM_ID_MAX = 256
QUICK_LINK_DAYS = 30
QUICK_LINKS_MAX = 10_000
MANAGED_LINKS_MAX = 100

MANAGED = 0
QUICK = 1
"""Types of links (activities.md 9)."""

LinkTitle = Annotated[str, Meta(min_length=1, max_length=LINK_TITLE_MAX)]
LinkDescription = Annotated[str, Meta(min_length=1, max_length=LINK_DESCRIPTION_MAX)]
CustomId = Annotated[str, Meta(min_length=1, max_length=CUSTOM_ID_MAX)]


class LinkImage(ImageData):
    """The picture of a link, shown at 43:24."""

    side_max = 1024
    moving = frozenset()


class ActivityLink(Struct, kw_only=True):
    """A link that opens an activity."""

    application_id: ApplicationId
    link_id: str
    """`{type}-{id}`: 0 for managed links, 1 for quick ones."""
    title: str
    description: str
    custom_id: str | None
    """What the activity is told, unless the address says otherwise."""
    asset_path: str | UnsetType = UNSET
    """Where the picture of a quick link is, below the CDN."""
    asset_id: str | UnsetType = UNSET
    """The picture of a managed link, at `activity-links/{application_id}/{asset_id}.png` below the CDN."""


class CreateActivityLink(Struct, kw_only=True):
    """A new link."""

    title: LinkTitle
    description: LinkDescription
    image: LinkImage
    custom_id: CustomId | None | UnsetType = UNSET


class UpdateActivityLink(Struct, kw_only=True):
    """What of a managed link to change."""

    title: LinkTitle | UnsetType = UNSET
    description: LinkDescription | UnsetType = UNSET
    image: LinkImage | UnsetType = UNSET
    custom_id: CustomId | None | UnsetType = UNSET


class OpenLinkQuery(Struct, kw_only=True):
    """What an activity's address carries."""

    link_id: str | UnsetType = UNSET
    custom_id: CustomId | UnsetType = UNSET
    referrer_id: str | UnsetType = UNSET


class OpenedLink(Struct, kw_only=True):
    """What an activity's address comes to."""

    application: PublicApplication
    link: ActivityLink | None
    """None where the address names none, or one that has ended."""
    custom_id: str | None
    referrer_id: UserId | None


# activities.md 9; the SDK and the platform's own portal call them.

_EVERYBODY = Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE
_MANAGED = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

CREATE_QUICK_LINK = Operation(
    "POST",
    "/applications/{application_id}/quick-links/",
    body=CreateActivityLink,
    result=ActivityLink,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    raises=_MANAGED,
)

GET_QUICK_LINK = Operation(
    "GET",
    "/applications/{application_id}/quick-links/{link_id}",
    result=ActivityLink,
    auth=_EVERYBODY,
    raises=(errors.NOT_FOUND,),
)

LIST_MANAGED_LINKS = Operation(
    "GET",
    "/applications/{application_id}/managed-links/",
    result=list[ActivityLink],
    raises=_MANAGED,
)

CREATE_MANAGED_LINK = Operation(
    "POST",
    "/applications/{application_id}/managed-links/",
    body=CreateActivityLink,
    result=ActivityLink,
    raises=_MANAGED,
)

GET_MANAGED_LINK = Operation(
    "GET",
    "/applications/{application_id}/managed-links/{link_id}",
    result=ActivityLink,
    auth=_EVERYBODY,
    raises=(errors.NOT_FOUND,),
)

UPDATE_MANAGED_LINK = Operation(
    "PATCH",
    "/applications/{application_id}/managed-links/{link_id}",
    body=UpdateActivityLink,
    result=ActivityLink,
    raises=(*_MANAGED, errors.NOT_FOUND),
)

DELETE_MANAGED_LINK = Operation(
    "DELETE",
    "/applications/{application_id}/managed-links/{link_id}",
    raises=(*_MANAGED, errors.NOT_FOUND),
)

OPEN_ACTIVITY_LINK = Operation(
    "GET",
    "/activities/{application_id}/link",
    query=OpenLinkQuery,
    result=OpenedLink,
    auth=_EVERYBODY,
    raises=(errors.UNKNOWN_APPLICATION,),
)
"""Ours: what the page behind `{web_url}/activities/{application_id}` shows, and a chat client opens."""
