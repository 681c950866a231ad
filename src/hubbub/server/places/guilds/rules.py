"""Rules for creating, changing and owning guilds."""

from collections.abc import Iterable
from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import LOCALES, ChannelType, GuildFeature, PremiumType
from hubbub.protocol.images import ImageData
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.identity import features, users
from hubbub.server.places.guilds import store
from hubbub.server.places.guilds.store import GuildRow
from hubbub.server.places.standing import GuildAccess, access

BOT_GUILDS_MAX: Final = 10
"""Number of guilds from which on a bot cannot create a guild, until bots lose this ability (spec/dated-changes.md#2.3)."""

_FEATURE_PERMISSIONS: Final[dict[str, int]] = {
    GuildFeature.COMMUNITY: Permissions.ADMINISTRATOR,
    GuildFeature.DISCOVERABLE: Permissions.ADMINISTRATOR,
    GuildFeature.INVITES_DISABLED: Permissions.MANAGE_GUILD,
    GuildFeature.RAID_ALERTS_DISABLED: Permissions.MANAGE_GUILD,
}
"""Features that members can set, and the permission required for each."""

IMPORTED_FEATURES: Final = frozenset(_FEATURE_PERMISSIONS) | {
    GuildFeature.GUILD_ONBOARDING,
    GuildFeature.MEMBER_VERIFICATION_GATE_ENABLED,
    GuildFeature.MEMBER_VERIFICATION_MANUAL_APPROVAL,
    GuildFeature.WELCOME_SCREEN_ENABLED,
}
"""Features that an imported guild keeps. Operators grant other features, such as VERIFIED."""

_TEXT_TYPES: Final = frozenset({ChannelType.GUILD_TEXT, ChannelType.GUILD_ANNOUNCEMENT})
_CHANNEL_TYPES_BY_FIELD: Final = {
    "afk_channel_id": frozenset({ChannelType.GUILD_VOICE}),
    "system_channel_id": _TEXT_TYPES,
    "rules_channel_id": _TEXT_TYPES,
    "public_updates_channel_id": _TEXT_TYPES,
    "safety_alerts_channel_id": _TEXT_TYPES,
}
_COMMUNITY_CHANNEL_FIELDS: Final = ("rules_channel_id", "public_updates_channel_id")


def require_can_create(call: Call) -> None:
    """Reject a caller who may not create a guild or is already in too many."""
    features.require_enabled(call, Feature.GUILD_CREATION)
    if call.actor.is_bot:
        if changes.GUILD_CREATE_REMOVED_FOR_APPS.is_active(call.now_ms):
            raise errors.BOTS_CANNOT_USE_ENDPOINT()
        guild_count_max = BOT_GUILDS_MAX
    else:
        guild_count_max = guilds_max(call, call.user_id)
    if store.count_user_guilds(call.tx, call.user_id) >= guild_count_max:
        raise errors.MAX_GUILDS()


def guilds_max(call: Call, user_id: int) -> int:
    """Return the number of guilds a user may be in."""
    row = users.find(call.tx, user_id)
    return wire.PREMIUM_GUILDS_MAX if row is not None and row.premium_type == PremiumType.TIER_2 else wire.GUILDS_MAX


def clean_name(text: str) -> str:
    """Return the stored form of a guild name, or raise a form error."""
    name = text.strip()
    if not wire.GUILD_NAME_MIN <= len(name) <= wire.GUILD_NAME_MAX:
        raise errors.invalid("name", *errors.bad_length(wire.GUILD_NAME_MIN, wire.GUILD_NAME_MAX))
    return name


def require_owner(standing: GuildAccess) -> None:
    """Require that the caller owns the guild."""
    if not standing.is_owner:
        raise PermissionDenied(Denial(guild_id=standing.guild_id, reason="{caller} does not own the guild."))


def require_new_owner(call: Call, standing: GuildAccess, user_id: int) -> None:
    """Require that the caller may transfer the guild to the member `user_id`."""
    require_owner(standing)
    require_owner_candidate(call, standing.guild_id, user_id)


def require_owner_candidate(call: Call, guild_id: int, user_id: int) -> None:
    """Require that a user is a member who can own the guild."""
    is_pending = store.find_pending_flag(call.tx, guild_id, user_id)
    if is_pending is None:
        raise errors.UNKNOWN_MEMBER()
    row = users.find(call.tx, user_id)
    if row is None or row.bot:
        raise errors.OWNERSHIP_CANNOT_GO_TO_BOT()
    if is_pending:
        raise errors.OWNER_CANNOT_BE_PENDING()


def require_channel(call: Call, guild_id: int, field: str, channel_id: int) -> None:
    """Require a channel of the guild with a type that the field accepts."""
    channel = access.find_channel(call.tx, channel_id)
    if channel is None or channel.guild_id != guild_id:
        raise errors.UNKNOWN_CHANNEL()
    if channel.type not in _CHANNEL_TYPES_BY_FIELD[field]:
        raise (
            errors.COMMUNITY_CHANNELS_MUST_BE_TEXT()
            if field in _COMMUNITY_CHANNEL_FIELDS
            else errors.WRONG_CHANNEL_TYPE()
        )


def updated_features(
    standing: GuildAccess, old_features: Iterable[str], requested_features: Iterable[str]
) -> list[str]:
    """Return the sorted features of a guild with the features `old_features` after a request for `requested_features`.

    Changes of features that members cannot set are ignored (spec/http.md#3.5). Raise if the caller lacks the permission
    for a changed feature."""
    current_features, requested_features = set(old_features), set(requested_features)
    writable_features = set(_FEATURE_PERMISSIONS)
    for feature in (current_features ^ requested_features) & writable_features:
        standing.require(_FEATURE_PERMISSIONS[feature])
    return sorted(current_features - writable_features | requested_features & writable_features)


def require_community_channels(before: GuildRow, after: GuildRow) -> None:
    """Require that a change does not make a community guild lack a required channel (decisions/0010).

    A channel that the guild already lacked is not required."""
    if GuildFeature.COMMUNITY not in after.feature_names:
        return
    becomes_community = GuildFeature.COMMUNITY not in before.feature_names
    form = errors.FormErrors()
    for field in _COMMUNITY_CHANNEL_FIELDS:
        if getattr(after, field) is None and (becomes_community or getattr(before, field) is not None):
            form.add(field, *errors.required())
    form.raise_if_any()


def require_image_features(field: str, image: ImageData, features: Iterable[str]) -> None:
    """Require that the guild's `features` allow an image in `field`; an animated image may need a second feature."""
    feature_by_field = {
        "splash": GuildFeature.INVITE_SPLASH,
        "discovery_splash": GuildFeature.DISCOVERABLE,
        "banner": GuildFeature.BANNER,
    }
    animated_feature_by_field = {"icon": GuildFeature.ANIMATED_ICON, "banner": GuildFeature.ANIMATED_BANNER}
    required_features = {feature_by_field[field]} if field in feature_by_field else set()
    if image.is_animated and field in animated_feature_by_field:
        required_features.add(animated_feature_by_field[field])
    if not required_features <= set(features):
        raise errors.MORE_BOOSTS_NEEDED()


def require_locale(locale: str) -> str:
    """Return a supported locale, or raise a form error."""
    if locale not in LOCALES:
        raise errors.invalid("preferred_locale", *errors.choices(sorted(LOCALES)))
    return locale


def reject_guild_owner(call: Call, user_id: int) -> None:
    """Reject the deletion of a user who owns a guild."""
    if store.owns_any_guild(call.tx, user_id):
        raise errors.MUST_TRANSFER_OWNERSHIP()
