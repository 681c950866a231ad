"""Direct messages: private channels between two users, and groups."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.resources import channels, messages
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.protocol.resources.users import User

GROUP_RECIPIENTS_MAX: Final = 10
"""Maximum number of users in a group, its creator included."""
GROUPS_MAX: Final = 10
"""Maximum number of active groups that an application or user owns."""


class CreateDm(Struct, kw_only=True):
    """Request body for opening a direct message channel or creating a group."""

    recipient_id: UserId | None | UnsetType = UNSET
    """ID of the user to open a direct message channel with; absent or null to create a group."""
    recipients: Annotated[list[UserId], Meta(max_length=GROUP_RECIPIENTS_MAX)] | None | UnsetType = UNSET
    """IDs of the users to create a group with, at most 10 with the caller; a single user opens a direct message channel.

    Absent or null for bots, which use `access_tokens`."""
    access_tokens: list[str] | None | UnsetType = UNSET
    """OAuth2 access tokens, with the scope `gdm.join`, of the users to create a group with; absent or null for users."""
    nicks: dict[str, str | None] | None | UnsetType = UNSET
    """Nicknames in the group, by user ID; absent or null for none."""


class AddGroupDmUser(Struct, kw_only=True):
    """Request body for adding a user to a group."""

    access_token: str | None | UnsetType = UNSET
    """OAuth2 access token of the user, with the scope `gdm.join`; required for bots, ignored for other callers."""
    nick: str | None | UnsetType = UNSET
    """Nickname of the user in the group; absent or null for none."""


class ChannelRecipientChange(Struct, kw_only=True):
    """A user who was added to or removed from a group."""

    channel_id: ChannelId
    """ID of the group."""
    user: User
    """User who was added to or removed from the group."""
    nick: str | UnsetType = UNSET
    """Nickname of the user in the group; absent if none."""


CHANNEL_RECIPIENT_ADD = Event(
    "CHANNEL_RECIPIENT_ADD",
    ChannelRecipientChange,
    "Sent when a user is added to a group.",
    intents=Intents.PRIVATE_CHANNELS,
)
CHANNEL_RECIPIENT_REMOVE = Event(
    "CHANNEL_RECIPIENT_REMOVE",
    ChannelRecipientChange,
    "Sent when a user leaves or is removed from a group.",
    intents=Intents.PRIVATE_CHANNELS,
)

CREATE_DM = Operation(
    "POST",
    "/users/@me/channels",
    body=CreateDm,
    result=PrivateChannel,
    raises=(
        errors.UNKNOWN_USER,
        errors.INVALID_RECIPIENTS,
        errors.INVALID_OAUTH2_ACCESS_TOKEN,
        errors.MISSING_OAUTH2_SCOPE,
        errors.MAX_RECIPIENTS,
        errors.MAX_GROUP_DMS,
        errors.INVALID_FORM_BODY,
    ),
    emits=(channels.CHANNEL_CREATE,),
    limit=RateLimit(10, 600.0, bucket="direct messages", code=errors.OPENING_DMS_TOO_FAST),
)

# This operation has the older path of CREATE_DM, with the caller's own user ID, for users only (spec/http.md#5).
CREATE_DM_BY_USER = Operation(
    "POST",
    "/users/{user_id}/channels",
    body=CreateDm,
    result=PrivateChannel,
    auth=Auth.USER,
    raises=(*CREATE_DM.raises, errors.MISSING_ACCESS),
    emits=CREATE_DM.emits,
    limit=CREATE_DM.limit,
)

# The public API description does not contain this operation; bots receive an empty list (spec/http.md#5).
LIST_MY_CHANNELS = Operation("GET", "/users/@me/channels", result=list[PrivateChannel])

# The status is 201 with the channel for a new recipient, and 204 for a user who is already in the group (spec/http.md#4.2).
ADD_GROUP_DM_USER = Operation(
    "PUT",
    "/channels/{channel_id}/recipients/{user_id}",
    body=AddGroupDmUser,
    result=PrivateChannel,
    status=201,
    optional_body=True,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_USER,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.WRONG_CHANNEL_TYPE,
        errors.INVALID_RECIPIENTS,
        errors.INVALID_OAUTH2_ACCESS_TOKEN,
        errors.MISSING_OAUTH2_SCOPE,
        errors.MAX_RECIPIENTS,
    ),
    emits=(CHANNEL_RECIPIENT_ADD, channels.CHANNEL_CREATE, messages.MESSAGE_CREATE),
    other_statuses=(204,),
)

DELETE_GROUP_DM_USER = Operation(
    "DELETE",
    "/channels/{channel_id}/recipients/{user_id}",
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_USER,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.WRONG_CHANNEL_TYPE,
    ),
    emits=(CHANNEL_RECIPIENT_REMOVE, channels.CHANNEL_DELETE, channels.CHANNEL_UPDATE, messages.MESSAGE_CREATE),
)
