"""Direct message channels and groups: opening them, and who is in them."""

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
"""In one group, whoever asks included."""
GROUPS_MAX: Final = 10
"""Active groups of one application or user."""


class CreateDm(Struct, kw_only=True):
    """With whom to open a channel: one user, or the owners of the tokens for a group."""

    recipient_id: UserId | None | UnsetType = UNSET
    recipients: Annotated[list[UserId], Meta(max_length=GROUP_RECIPIENTS_MAX)] | None | UnsetType = UNSET
    """How people name the members of a group."""
    access_tokens: list[str] | None | UnsetType = UNSET
    """Tokens with the scope gdm.join."""
    nicks: dict[str, str | None] | None | UnsetType = UNSET
    """By user id."""


class AddGroupDmUser(Struct, kw_only=True):
    """Whom to add to a group: the owner of a token with the scope gdm.join."""

    access_token: str | None | UnsetType = UNSET
    nick: str | None | UnsetType = UNSET


class ChannelRecipientChange(Struct, kw_only=True):
    """Who came to a group or left it."""

    channel_id: ChannelId
    user: User
    nick: str | UnsetType = UNSET


CHANNEL_RECIPIENT_ADD = Event("CHANNEL_RECIPIENT_ADD", ChannelRecipientChange, intents=Intents.PRIVATE_CHANNELS)
CHANNEL_RECIPIENT_REMOVE = Event("CHANNEL_RECIPIENT_REMOVE", ChannelRecipientChange, intents=Intents.PRIVATE_CHANNELS)

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

# http.md 5: the older address of the same, for people only.
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

# Absent from the OpenAPI file (http.md 5): bots get an empty list.
LIST_MY_CHANNELS = Operation("GET", "/users/@me/channels", result=list[PrivateChannel])

# http.md 4.2: 201 with the channel for who was not there, 204 for who already was.
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
    also=(204,),
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
