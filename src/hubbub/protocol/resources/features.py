"""Features of the server that operators switch on and off. The public API does not have these routes."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Timestamp
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.administration import READ_LIMIT, WRITE_LIMIT, Reason

FEATURE_MESSAGE_MAX: Final = 200
"""Maximum length of the message about a switched-off feature, in characters."""


class Feature(StrEnum):
    """A feature of the server that an operator can switch off."""

    REGISTRATION = "registration"
    """Registration of new users."""
    GUILD_CREATION = "guild_creation"
    """Creation of guilds, also from templates."""
    UPLOADS = "uploads"
    """Files in messages and attachments of applications."""
    VOICE = "voice"
    """Joining calls of guilds, private channels and lobbies. Running calls continue."""
    APPLICATIONS = "applications"
    """Creation, authorization and installation of applications."""
    PUSH = "push"
    """Push notifications of browsers."""
    LINK_PREVIEWS = "link_previews"
    """Previews of links in messages. Existing previews stay."""


class FeatureState(Struct, kw_only=True):
    """Whether a feature is switched on."""

    name: Feature
    """Name of the feature."""
    enabled: bool
    """Whether the feature is enabled."""
    message: str | None
    """Message of the operator about a switched-off feature; null for none."""


class AdministeredFeature(FeatureState, kw_only=True):
    """A feature with the time at which it was switched off."""

    changed_at: Timestamp | None
    """Time at which the feature was switched off; null if it is enabled."""


class SetFeature(Struct, kw_only=True):
    """Request body for switching a feature on or off."""

    enabled: bool
    """Whether the feature is enabled."""
    message: Annotated[str, Meta(min_length=1, max_length=FEATURE_MESSAGE_MAX)] | None = None
    """Message that users see while the feature is disabled; null or absent for none. It is ignored for an enabled feature."""
    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


LIST_FEATURES = Operation("GET", "/features", result=list[FeatureState], auth=Auth.NONE, limit=READ_LIMIT)

LIST_ADMINISTERED_FEATURES = Operation(
    "GET",
    "/admin/features",
    result=list[AdministeredFeature],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=(errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED),
    limit=READ_LIMIT,
)

SET_FEATURE = Operation(
    "PUT",
    "/admin/features/{feature_name}",
    body=SetFeature,
    result=AdministeredFeature,
    auth=Auth.USER,
    operator=OperatorRole.OWNER,
    raises=(errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)
